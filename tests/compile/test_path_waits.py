"""Waits of an object on every path: against random walks through random code, and on kernels that wait in loops.

The oracle walks: it takes branches at random and notes, at each event, what was waited for since the event before.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from argus.check import check
from argus.compile import CompileError, compile_kernel
from argus.compile.decoded import Decoded, kind
from argus.compile.object.control_flow import Irregular, control_flow
from argus.compile.object.path_waits import path_waits
from argus.compile.recheck import recheck
from argus.gfx942.inst import Inst, InstOperand
from argus.gfx942.waits import LGKM_MAX, VM_MAX, decode, encode
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import read

WALKS, STEPS = 300, 60


def random_code(random: Random) -> Decoded:
    size = random.randrange(6, 16)
    insts = []
    for n in range(size):
        op = random.choice(("s_waitcnt", "s_waitcnt", "s_barrier", "s_nop", "s_cbranch_scc1", "s_branch"))
        target, operands = None, ()
        if n == size - 1:
            op = "s_endpgm"
        elif op == "s_waitcnt":
            operands = (InstOperand("imm", encode(vm=random.choice((0, 1, 5, 63)), lgkm=random.choice((0, 3, 15)))),)
        elif op in ("s_cbranch_scc1", "s_branch"):
            target = 4 * random.randrange(size)
        insts.append(Inst(4 * n, 4, op, "sopp", operands, target=target))
    return Decoded(insts, [kind(inst) for inst in insts], {})


def walked(code: Decoded, made_by: list[int], random: Random) -> dict[int, tuple[int, int]]:
    """Op -> the weakest waits seen before it."""
    seen: dict[int, tuple[int, int]] = {}
    at = {inst.pc: n for n, inst in enumerate(code.insts)}
    for _ in range(WALKS):
        n, vm, lgkm, last = 0, VM_MAX, LGKM_MAX, -1
        for _ in range(STEPS):
            inst = code.insts[n]
            if inst.op == "s_endpgm":
                break
            if inst.op == "s_waitcnt":
                waits = decode(inst.operands[0].value)
                vm, lgkm = min(vm, waits.vm), min(lgkm, waits.lgkm)
            elif inst.op == "s_barrier":
                op = made_by[n]
                if last != op:
                    worst = seen.get(op, (0, 0))
                    seen[op] = max(worst[0], vm), max(worst[1], lgkm)
                vm, lgkm, last = VM_MAX, LGKM_MAX, op
            jumps = inst.target is not None and (inst.op == "s_branch" or random.random() < 0.5)
            n = at[inst.target] if jumps and inst.target is not None else n + 1
    return seen


def test_random_walks_see_no_weaker_wait() -> None:
    random, equal, met = Random(5), 0, 0
    for _ in range(400):
        code = random_code(random)
        try:
            control_flow(code)
        except Irregular:
            continue
        numbers = [random.randrange(3) for _ in code.insts]
        claimed = path_waits(code, numbers, lambda n, code=code: decode(code.insts[n].operands[0].value))  # type: ignore[misc]
        for op, (vm, lgkm) in walked(code, numbers, random).items():
            waits = claimed.get(op)
            have = (VM_MAX, LGKM_MAX) if waits is None else (waits.vm, waits.lgkm)
            assert have[0] >= vm
            assert have[1] >= lgkm
            met, equal = met + 1, equal + (have == (vm, lgkm))
    assert met > 200
    assert equal > 0.8 * met


SOURCE = """
import argus as ag
from argus import i32
OWN = ag.Owner(t=128, i="t")
REV = ag.Owner(t=128, i="127 - t")
LAY = ag.Layout(i=(128, 4))
@ag.kernel(threads=128, computes="Y[i] = X[3, 128 * (i // 128) + i % 128]", requires="N % 128 == 0 and K >= 4",
    example=dict(N=256, K=4))
def k(X: ag.In["K N", i32], Y: ag.Out["N", i32]):
    b = ag.grid(N // 128)
    p = ag.shared(LAY, i32)
    X[3, 128 * b].copy(p, OWN, width=4)
{wait}
    ag.barrier(bare=True)
    Y[128 * b].store(p.load(REV, width=4), width=4)
"""
RIGHT = {
    "in a loop": ["for j in ag.range(2):", "    ag.wait(vm=0)"],
    "with a load nobody uses": [
        "for j in ag.range(3):",
        "    x = X[0, 128 * b].load(REV, width=4)",
        "    ag.wait(vm=0)",
    ],
    "in a loop by a size": ["for j in ag.range(K):", "    ag.wait(vm=0)"],
    "before an empty loop": ["ag.wait(vm=0)", "for j in ag.range(K):", "    z = j + 1"],
}
WRONG = {
    "in a loop that may not run": ["for j in ag.range(K - 4):", "    ag.wait(vm=0)"],
    "in one arm": ["if b % 2 == 0:", "    ag.wait(vm=0)"],
    "for too many": ["for j in ag.range(2):", "    ag.wait(vm=1)"],
}


def kernel(folder: Path, lines: list[str]) -> Path:
    (folder / "k.py").write_text(SOURCE.format(wait="\n".join(f"    {line}" for line in lines)))
    return folder / "k.py"


@pytest.mark.parametrize("lines", RIGHT.values(), ids=RIGHT.keys())
def test_a_wait_on_every_path_is_found_in_the_object(tmp_path: Path, lines: list[str]) -> None:
    program = scheduled(read(kernel(tmp_path, lines)))
    assert all(v.status == "proved" for v in check(program).verdicts if v.rule == "race_free")
    assert recheck(program, compile_kernel(program)).proved


def accepted(program: Scheduled) -> bool:
    """The object is made, and its re-check proves it."""
    try:
        return recheck(program, compile_kernel(program)).proved
    except CompileError as error:
        return error.code != "C308"


@pytest.mark.parametrize("lines", WRONG.values(), ids=WRONG.keys())
def test_a_wait_on_some_paths_is_none(tmp_path: Path, lines: list[str]) -> None:
    program = scheduled(read(kernel(tmp_path, lines)))
    assert any(v.status != "proved" for v in check(program).verdicts if v.rule == "race_free")
    assert not accepted(program)
