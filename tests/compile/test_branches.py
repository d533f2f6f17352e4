"""Branches and loops around arithmetic: held in right objects, seen where one instruction of them was changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from argus.compile import Compiled, compile_kernel
from argus.compile.decoded import Decoded, decode
from argus.compile.matching import match
from argus.compile.object.first_active import first_active
from argus.compile.object.result_halves import dependence
from argus.compile.recheck import recheck
from argus.gfx942.inst import Inst
from argus.ir.kernel import KnobValue
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import read
from argus.machine.symbolic.evaluation import Evaluation
from argus.machine.symbolic.words import Words
from bench.object_faults import S_NOP, Fault, changed, decodes, seen

KERNELS = Path(__file__).parents[2] / "argus/kernels"
HEAD = """import argus as ag
from argus import i32

P = ag.Owner(t=64, i="t")
W = ag.Owner(t=128, i="t")
L = ag.Layout(s=(4, 1024), i=(256, 4))
O = ag.Owner(t=256, i="t")
R = ag.Owner(t=256, i="255 - t")

"""
PAIR = 'x: ag.In["N", i32], w: ag.In["N", i32], y: ag.Out["N", i32]'
OF_TWO = f"""@ag.kernel(threads=64, example=dict(N=200))
def k({PAIR}):
    b = 64 * ag.grid(ag.cdiv(N, 64))
    u = x[b].load(P, width=4)
    v = w[b].load(P, width=4)
"""
CHOSEN = OF_TWO + "    if N > 3:\n        u = v * 3\n    y[b].store(u, width=4)\n"
ADDED = OF_TWO + "    if N > 3:\n        u = u + 1\n    y[b].store(u + v, width=4)\n"
BOTH_ARMS = OF_TWO + "    if b < N - 64:\n        u = u + v\n    else:\n        u = u * 5\n    y[b].store(u, width=4)\n"
WAITED = OF_TWO + "    if N > 3:\n        ag.wait(vm=0)\n    y[b].store(u + v, width=4)\n"
MULTIPLIED = OF_TWO + "    y[b].store((u * 3 + v) * 3 + u, width=4)\n"
OF_LANES = OF_TWO + "    if ag.lane() < 5:\n        u = u + 1\n    y[b].store(u + v, width=4)\n"
TURNS = """@ag.kernel(threads=64, requires="N >= 1", example=dict(N=5))
def k(x: ag.In["N i=64", i32], y: ag.Out["i=64", i32]):
    ag.grid(1)
    u = x.load(P, width=4)
    acc = ag.zeros(P, i32)
    for n in ag.range(N):
        acc = acc ^ (u + n)
    y.store(acc, width=4)
"""
LATE_THREADS = f"""@ag.kernel(threads=128, example=dict(N=200))
def k({PAIR}):
    b = 128 * ag.grid(ag.cdiv(N, 128))
    u = x[b].load(W, width=4)
    if ag.thread() > 70:
        u = u * 3 + 1
        u = u ^ 77
        u = u * 5 + 2
        u = u ^ 99
    y[b].store(u, width=4)
"""
LOADED_IN_ARMS = """@ag.kernel(threads=64, requires="N >= 1", example=dict(N=3))
def k(x: ag.In["N i=64", i32], w: ag.In["N i=64", i32], y: ag.Out["N i=64", i32]):
    b = ag.grid(N)
    v = w[b].load(P, width=4)
    s = v
    if b == 1:
        v = x[b].load(P, width=4) + v
        v = v * 7
    else:
        s = x[b].load(P, width=4) ^ v
        s = s * 5
    y[b].store(v - s, width=4)
"""

BOTH_OF_TWO = """@ag.kernel(threads=128, requires="N >= 1", example=dict(N=3))
def k(x: ag.In["N i=128", i32], w: ag.In["N i=128", i32], y: ag.Out["N i=128", i32]):
    b = ag.grid(N)
    u = x[b].load(W, width=4)
    r = u
    if b % 2 == 0:
        r = u * 3 + w[b].load(W, width=4)
    else:
        r = u - w[b].load(W, width=4)
    y[b].store(r, width=4)
"""


def copied(condition: str) -> str:
    """A direct copy in a branch of lanes, to an LDS address that is computed there."""
    return f"""@ag.kernel(threads=256, example=dict(B=2))
def k(x: ag.In["B i=256", i32], y: ag.Out["B i=256", i32]):
    b = ag.grid(B)
    buf = ag.shared(L, i32)
    zero = ag.zeros(O, i32)
    buf.store(zero, s=1, width=4)
    ag.barrier()
    if {condition}:
        x[b].copy(buf, O, s=1, width=4)
    ag.wait(vm=0)
    ag.barrier()
    y[b].store(buf.load(R, s=1, width=4), width=4)
"""


Made = tuple[Scheduled, Compiled, Decoded, list[int]]


def made(source: str, folder: Path) -> Made:
    file = folder / "k.py"
    file.write_text(HEAD + source)
    program = scheduled(read(str(file)))
    compiled = compile_kernel(program)
    code = decode(compiled.object, compiled.name)
    pcs = [(pc, op) for pc, op in compiled.sidecar["pcs"]]
    return program, compiled, code, match(program.kernel, code, pcs).op_of


def altered(one: Made, n: int, words: tuple[int, ...]) -> str:
    """How the object with other words for instruction n is seen."""
    program, compiled, code, op_of = one
    return seen(program, changed(compiled, code, Fault("branch", n, 1, words, (op_of[n],))))


RIGHT = {
    "chosen": CHOSEN,
    "added": ADDED,
    "both arms": BOTH_ARMS,
    "waited": WAITED,
    "multiplied": MULTIPLIED,
    "of lanes": OF_LANES,
    "turns": TURNS,
    "late threads": LATE_THREADS,
    "loaded in arms": LOADED_IN_ARMS,
    "both of two": BOTH_OF_TWO,
    "odd lanes copy": copied("ag.lane() % 2 == 1"),
    "late threads copy": copied("ag.thread() > 70"),
}


@pytest.mark.parametrize("source", RIGHT.values(), ids=RIGHT)
def test_right_objects_are_held(source: str, tmp_path: Path) -> None:
    program, compiled, _, _ = made(source, tmp_path)
    found = recheck(program, compiled)
    assert not found.lines
    assert found.proved


def test_arithmetic_in_the_branch_that_alone_reads_it_is_held() -> None:
    """LLVM moves the last sum over lanes into the branch of the guarded store to LDS."""
    knobs: dict[str, KnobValue] = {"DTYPE": "bf16", "WAVES": 4, "CHUNKS": 4, "WIDTH": 16, "OP": "sum"}
    program = scheduled(read(str(KERNELS / "rowreduce.py"), settings=knobs, kernel="rowreduce"))
    assert not recheck(program, compile_kernel(program)).lines


def control(inst: Inst) -> Iterator[tuple[int, ...]]:
    """Other branches and comparisons in place of one: each changes where a wave goes."""
    word = inst.words[0]
    if inst.op.startswith(("s_cbranch_scc", "s_cbranch_vcc")):
        yield (word ^ 1 << 16,)
        yield (S_NOP,)
        for back in (1, 2, 3):
            yield (word & ~0xFFFF | 0x10000 - back,)
    elif inst.op.startswith("s_cmp_lt"):
        yield (word ^ 1 << 16, *inst.words[1:])
        yield (word ^ 2 << 16, *inst.words[1:])
        yield (S_NOP,) * len(inst.words)


@pytest.mark.parametrize("source", [CHOSEN, ADDED, BOTH_ARMS, WAITED, TURNS])
def test_changed_branches_are_seen(source: str, tmp_path: Path) -> None:
    one = made(source, tmp_path)
    code, passed, count = one[2], list[str](), 0
    for n in range(code.entry, len(code.insts)):
        for words in control(code.insts[n]):
            if words == code.insts[n].words or not decodes(words[:1]):
                continue
            count += 1
            if not altered(one, n, words):
                passed.append(f"{code.insts[n]} -> {words[0]:#x}")
    assert not passed
    assert count >= 5


def test_a_branch_into_the_middle_of_the_other_arm_is_seen(tmp_path: Path) -> None:
    """The arm's arithmetic would run on both ways, over what the other arm has left."""
    one = made(LOADED_IN_ARMS, tmp_path)
    insts, kinds, op_of = one[2].insts, one[2].kinds, one[3]
    count = 0
    for n, inst in enumerate(insts):
        if inst.op != "s_branch" or inst.target is None or inst.target <= inst.pc:
            continue
        over = [m for m in range(n + 1, len(insts)) if insts[m].pc < inst.target]
        for m in over:
            if not any(kinds[k] == "valu" and op_of[k] >= 0 for k in over if k >= m):
                continue
            count += 1
            distance = (insts[m].pc - inst.pc) // 4 - 1
            assert altered(one, n, (inst.words[0] & ~0xFFFF | distance,)) != "", insts[m]
    assert count >= 3


def test_a_source_that_one_arm_loses_is_seen(tmp_path: Path) -> None:
    """The other arm still has it, so the sources of both together are the same."""
    one = made(BOTH_OF_TWO, tmp_path)
    insts, count = one[2].insts, 0
    for n, inst in enumerate(insts):
        if inst.op != "v_sub_u32" or len(inst.words) != 1:
            continue
        word = inst.words[0]
        first, second = word & 0x1FF, word >> 9 & 0xFF
        for other in (word & ~0x1FF | second + 256, word & ~(0xFF << 9) | (first - 256) << 9):
            count += 1
            assert altered(one, n, (other,)) != ""
    assert count >= 2


def test_a_loop_that_does_not_count_is_seen(tmp_path: Path) -> None:
    one = made(TURNS, tmp_path)
    steps = [n for n, inst in enumerate(one[2].insts) if inst.op == "s_add_i32" and n > one[2].entry]
    assert [altered(one, n, (S_NOP,)) for n in steps] == ["unknown"] * len(steps)
    assert steps


def test_a_skip_to_the_end_is_seen(tmp_path: Path) -> None:
    """Waves without an active lane would leave out the store that follows the branch of lanes."""
    one = made(LATE_THREADS, tmp_path)
    insts = one[2].insts
    skips = [n for n, inst in enumerate(insts) if inst.op == "s_cbranch_execz" and inst.words[0] & 0xFFFF]
    end = next(inst.pc for inst in insts if inst.op == "s_endpgm")
    assert skips
    for n in skips:
        distance = (end - insts[n].pc) // 4 - 1
        assert altered(one, n, (insts[n].words[0] & ~0xFFFF | distance,)) != ""


def test_the_lower_half_of_a_sum_depends_on_lower_halves() -> None:
    draw = random.Random(1)
    lower, upper = dependence("v_mad_u64_u32", (None, None, None)) or (frozenset(), frozenset())
    assert lower == {(0, 0), (1, 0), (2, 0)}
    assert upper == lower | {(2, 1)}
    for _ in range(200):
        a, b, low, high, other = (draw.getrandbits(32) for _ in range(5))
        sums = [(a * b + low + (half << 32)) % (1 << 32) for half in (high, other)]
        assert sums[0] == sums[1]
    shifted = dependence("v_lshlrev_b64", (3, None))
    assert shifted is not None
    assert shifted[0] == {(1, 0)}


def test_the_first_active_lane_by_brute_force() -> None:
    draw = np.random.default_rng(2)
    space = Words(128)
    size = space.atom("size", "N", uniform=True)
    for _ in range(200):
        old, mask = draw.integers(0, 1 << 20, 128), draw.random(128) < draw.random()
        agreed = np.repeat(draw.integers(0, 1 << 20, 2), 64)
        active = space.rows(mask.astype(np.uint64))
        new = space.add(space.rows(agreed.astype(np.uint64)), space.word(size))
        value = space.select(active, new, space.rows(old.astype(np.uint64)))
        found = first_active(space, value, active)
        numbers = Evaluation(space, {size: 1000})
        row = numbers.rows(value)
        lanes = [64 * wave + int(mask[64 * wave : 64 * wave + 64].argmax()) for wave in range(2)]
        assert found is not None
        assert found.uniform
        assert list(numbers.rows(found)[::64]) == [row[lane] for lane in lanes]
