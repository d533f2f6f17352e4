"""Waits in branches without an access: used where the object's conditions show that they stand in the kernel's place.

LLVM lays `if c + 1 < C: copy; wait` / `else: wait` out as two branches in a row that test one condition. The changed
objects below have two that do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from argus import machine
from argus.check import check
from argus.compile import Compiled, compile_kernel
from argus.compile.decoded import Decoded, decode
from argus.compile.matching import match
from argus.compile.object.agreement import agree
from argus.compile.object.control_flow import Edge, control_flow
from argus.compile.object.order import PlacedInstruction, in_order
from argus.compile.recheck import recheck
from argus.gfx942.inst import Inst
from argus.ir import ops
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import read
from bench.object_faults import S_NOP, Fault, branches, changed, conditions, decodes, seen, waits

HEAD = """import argus as ag
from argus import f32

O = ag.Owner(t=256, w="t")
R = ag.Owner(t=256, w="255 - t")

"""
SUMS = """@ag.kernel(threads=256, requires="{requires}", computes="Y[n, w] = sum(X[n, c, {read}], c)")
def k(X: ag.In["N C W", f32{strides}], Y: ag.Out["N W", f32]):
    n, b = ag.grid(N, ag.cdiv(W, 256))
    ring = ag.ring(2, x=(ag.Layout(w=(256, 4)), f32))
    X[n, 0, 256 * b{shift}].copy(ring[0].x, O, width=4{guard})
    s = ag.zeros(R, f32)
    for c in ag.range(C):
{arms}
        ag.barrier()
        s = s + ring[c].x.load(R, width=4)
        ag.barrier()
    Y[n, 256 * b].store(s, width=4{guard})
"""
NEXT = "            X[n, c + 1, 256 * b{shift}].copy(ring[c + 1].x, O, width=4{guard})\n            ag.wait(vm={vm})\n"
LAST = "            ag.wait(vm=0)\n"
THEN_NEXT = "        if c + 1 < C:\n" + NEXT + "        else:\n" + LAST
THEN_LAST = "        if c + 1 >= C:\n" + LAST + "        else:\n" + NEXT


def sums(arms: str, vm: int, guarded: bool, shifted: bool = False) -> str:
    """A sum over c through two slots, the next one filled while one is read."""
    guard, shift = ', guard="shape"' if guarded else "", " - 1" if shifted else ""
    return SUMS.format(
        requires="C >= 1" if guarded else "C >= 1 and W % 256 == 0",
        read=f"w{shift}",
        strides=', "sN sC 1"' if shifted else "",
        shift=shift,
        guard=guard,
        arms=arms.format(shift=shift, guard=guard, vm=vm).rstrip(),
    )


RIGHT = {
    "one in flight": sums(THEN_NEXT, 1, guarded=False),
    "none in flight": sums(THEN_NEXT, 0, guarded=True),
    "one in flight, shifted": sums(THEN_NEXT, 1, guarded=True, shifted=True),
    "none in flight, shifted": sums(THEN_NEXT, 0, guarded=True, shifted=True),
    "the last one first": sums(THEN_LAST, 1, guarded=False),
}
TURNED = """@ag.kernel(threads=256, requires="C >= 1", example=dict(N=1, C=3))
def k(X: ag.In["N r=4 w=256", f32], Y: ag.Out["N C w=256", f32]):
    n = ag.grid(N)
    ring = ag.ring(2, x=(ag.Layout(w=(256, 4)), f32))
    X[n, 0].copy(ring[0].x, O, width=4)
    s = ag.zeros(R, f32)
    for c in ag.range(C):
        if c + 1 < C:
            X[n, (c + 1) % 4].copy(ring[c + 1].x, O, width=4)
            ag.wait(vm=1)
        else:
            ag.wait(vm=0)
        ag.barrier()
        s = s + ring[c].x.load(R, width=4)
        ag.barrier()
    Y[n, 0].store(s, width=4)
"""
MASKED = """@ag.kernel(threads=256, example=dict(N=2))
def k(X: ag.In["N w=256", f32], Y: ag.Out["N w=256", f32]):
    n = ag.grid(N)
    p = ag.shared(ag.Layout(w=(256, 4)), f32)
    X[n].copy(p, O, width=4)
    u = X[n].load(R, width=4)
    if ag.thread() > 70:
        u = u * 3 + 1
        u = u * u + 2
        u = u * 5 + u
        u = u * u + 7
    ag.wait(vm=0)
    ag.barrier(bare=True)
    Y[n].store(p.load(R, width=4) + u, width=4)
"""
Made = tuple[Scheduled, Compiled, Decoded]


def made(source: str, folder: Path) -> Made:
    file = folder / "k.py"
    file.write_text(HEAD + source)
    program = scheduled(read(str(file)))
    compiled = compile_kernel(program)
    return program, compiled, decode(compiled.object, compiled.name)


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(TURNED, tmp_path_factory.mktemp("turned"))


def altered(one: Made, first: int, *words: tuple[int, ...]) -> Compiled:
    """The object with other instructions from `first` on."""
    program, compiled, code = one
    pcs = [(pc, op) for pc, op in compiled.sidecar["pcs"]]
    op_of = match(program.kernel, code, pcs).op_of[first : first + len(words)]
    flat = tuple(word for each in words for word in each)
    return changed(compiled, code, Fault("branch", first, len(words), flat, tuple(op_of)))


def placed(program: Scheduled, compiled: Compiled) -> dict[int, int]:
    """The waits that are shown to stand where the kernel has them."""
    code = decode(compiled.object, compiled.name)
    matched = match(program.kernel, code, [(pc, op) for pc, op in compiled.sidecar["pcs"]])
    return agree(program.kernel, compiled.object, code, matched).waits


def only(code: Decoded, op: str, within: range) -> int:
    found = [n for n in within if code.insts[n].op == op]
    assert len(found) == 1
    return found[0]


def two_branches(code: Decoded) -> range:
    """From the comparison to the wait of the arm with the copy."""
    loads = [n for n, kind in enumerate(code.kinds) if kind == "load_lds"]
    compare = max(n for n in range(loads[1]) if code.insts[n].op.startswith("s_cmp_"))
    found = range(compare, loads[1] + 2)
    assert [code.insts[n].op for n in found if code.kinds[n] == "branch"] == ["s_cbranch_scc0", "s_cbranch_vccnz"]
    return found


@pytest.mark.parametrize("source", RIGHT.values(), ids=RIGHT)
def test_two_branches_on_one_condition_are_followed(source: str, tmp_path: Path) -> None:
    program, compiled, _ = made(source, tmp_path)
    assert {v.status for v in check(program).verdicts} == {"proved"}
    assert recheck(program, compiled).proved
    stated = {op.id for op in ops.walk(program.kernel.body) if isinstance(op, ops.Wait)}
    assert set(placed(program, compiled).values()) == stated
    assert len(stated) == 2


def test_the_object_is_right_on_the_machine(turned: Made) -> None:
    program, compiled, code = turned
    two_branches(code)
    found = recheck(program, compiled)
    assert found.proved
    assert not found.lines
    x, y = np.arange(1024, dtype=np.float32).reshape(1, 4, 256), np.zeros((1, 3, 256), np.float32)
    run = machine.load(compiled.object).kernel("k")
    outcome = run((1, 1, 1), (256, 1, 1), x, y, np.int32(1), np.int32(3), checks="all")
    assert not outcome.reports
    np.testing.assert_array_equal(y[0, 0], x[0, :3].sum(axis=0))


def faults(inst: Inst) -> Iterator[tuple[int, ...]]:
    """Other branches, comparisons, waits, and constants in the register between the two branches."""
    yield from branches(inst)
    yield from conditions(inst)
    yield from waits(inst)
    if inst.op == "s_mov_b64":
        yield (inst.words[0] ^ 128 ^ 193,)
        yield (inst.words[0] & ~0xFF | 12,)
    if inst.op == "s_andn2_b64":
        yield (inst.words[0] & ~0xFF00 | 12 << 8,)
        yield (inst.words[0] - (6 << 23),)


def test_changed_branches_are_seen(turned: Made) -> None:
    program, _, code = turned
    within, count = two_branches(code), 0
    for n in within:
        inst = code.insts[n]
        for words in faults(inst):
            if not decodes(words):
                continue
            count += 1
            assert seen(program, altered(turned, n, words)) != "", (inst, [hex(word) for word in words])
    assert count >= 14


LESS, GREATER, EQUAL, LESS_OR_EQUAL = 4, 2, 0, 5
SCC0, SCC1 = 4, 5


def compared_twice(one: Made, compare: int = LESS, branch: int = SCC0, limit: int | None = None) -> Compiled:
    """The second branch compares by itself, `c < limit`, instead of reading a register that the first arm sets."""
    _, _, code = one
    within = two_branches(code)
    first = code.insts[within[0]]
    counter, known = first.operands[0].value, first.operands[1].value
    at = only(code, "s_andn2_b64", within)
    jump = code.insts[at + 1].words[0] & 0xFFFF
    again = 0xBF000000 | compare << 16 | (known if limit is None else limit) << 8 | counter
    return altered(one, at, (again,), (0xBF800000 | branch << 16 | jump,))


def test_the_same_comparison_made_twice_is_followed(turned: Made) -> None:
    program, _, _ = turned
    found = recheck(program, compared_twice(turned))
    assert found.proved
    assert not found.lines
    assert len(placed(program, compared_twice(turned))) == 2


@pytest.mark.parametrize("compare", [GREATER, EQUAL, LESS_OR_EQUAL])
def test_another_second_comparison_is_seen(turned: Made, compare: int) -> None:
    assert seen(turned[0], compared_twice(turned, compare)) != ""


def test_a_second_branch_the_other_way_is_seen(turned: Made) -> None:
    assert seen(turned[0], compared_twice(turned, branch=SCC1)) != ""


@pytest.mark.parametrize("limit", [7, 128, 129, 193])
def test_a_second_comparison_with_another_limit_is_seen(turned: Made, limit: int) -> None:
    """With s7, which is C where the first has C - 1, and with constants."""
    assert seen(turned[0], compared_twice(turned, limit=limit)) != ""


@pytest.mark.parametrize("operand", [129, 193])
def test_a_counter_that_changes_between_the_branches_is_seen(turned: Made, operand: int) -> None:
    program, _, code = turned
    within = two_branches(code)
    twice = compared_twice(turned)
    assert recheck(program, twice).proved
    counter = code.insts[within[0]].operands[0].value
    arm = max(n for n in within if code.insts[n].op == "s_mov_b64")
    add = 0x81000000 | counter << 16 | operand << 8 | counter
    again = altered((program, twice, decode(twice.object, twice.name)), arm, (add,))
    assert seen(program, again) != ""


def test_the_first_branch_the_other_way_loses_its_wait(turned: Made) -> None:
    """The wait for all copies would stand where c + 1 < C, and the copy still where it was."""
    program, _, code = turned
    twice = compared_twice(turned)
    branch = only(code, "s_cbranch_scc0", two_branches(code))
    again = altered(
        (program, twice, decode(twice.object, twice.name)), branch, (code.insts[branch].words[0] ^ 1 << 16,)
    )
    kept = placed(program, again)
    assert len(kept) == 1
    assert seen(program, again) == "C308"


def test_a_wait_that_idle_waves_jump_over_is_not_used(tmp_path: Path) -> None:
    program, compiled, code = made(MASKED, tmp_path)
    assert recheck(program, compiled).proved
    wait = next(n for n in placed(program, compiled))
    skip = next(n for n in range(wait) if code.insts[n].op == "s_cbranch_execz")
    distance = (code.insts[wait].pc - code.insts[skip].pc) // 4
    again = altered((program, compiled, code), skip, (code.insts[skip].words[0] & ~0xFFFF | distance,))
    assert wait not in placed(program, again)
    assert seen(program, again) != ""


def test_a_wait_on_the_wrong_side_of_a_copy_is_not_used(turned: Made) -> None:
    """vmcnt(1) before the copy instead of behind it."""
    program, compiled, code = turned
    copy = two_branches(code)[-2]
    words = code.insts[copy].words
    pcs = [(pc, op) for pc, op in compiled.sidecar["pcs"]]
    ops_ = match(program.kernel, code, pcs).op_of
    fault = Fault("order", copy, 2, (*code.insts[copy + 1].words, *words), (ops_[copy + 1], ops_[copy]))
    assert len(placed(program, changed(compiled, code, fault))) == 1


def test_order_beside_events() -> None:
    """Two blocks in a row: an instruction belongs between the events that the kernel has around it."""
    insts = [Inst(4 * n, 4, "s_nop", "sopp", ()) for n in range(6)]
    insts[2] = Inst(8, 4, "s_cbranch_scc1", "sopp", (), target=12)
    insts[5] = Inst(20, 4, "s_endpgm", "sopp", ())
    flow = control_flow(Decoded(insts, ["nop"] * 6, {}))
    op = ops.Wait(id=0, span=None, site=(), vm=0, lgkm=None)

    def at(n: int, *arms: tuple[int, int]) -> PlacedInstruction:
        return PlacedInstruction(n, flow.block_of[n], op, arms)

    events = [at(0), at(1), at(4)]
    for n, before in ((3, 2), (2, 2)):
        assert [k for k in range(4) if in_order(flow, events, k, at(n))] == [before]
    apart = [replace(event, arms=((7, 0),)) for event in events]
    assert all(in_order(flow, apart, k, at(3, (7, 1))) for k in range(4))
    assert flow.past(Edge(0, 1, True)) == set()


def test_nothing_is_known_of_a_wait_that_is_not_there(turned: Made) -> None:
    program, _, code = turned
    for n in [n for n in two_branches(code) if code.insts[n].op == "s_waitcnt"]:
        assert n not in placed(program, altered(turned, n, (S_NOP,)))
