"""A register that paths load from different memories: both counters are waited for, and a lowered wait is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.compile.arrivals import early_uses
from argus.compile.compiler import compile_kernel
from argus.compile.decoded import decode
from argus.compile.matching import match
from argus.gfx942.inst import Inst
from argus.gfx942.waits import LGKM_MAX, VM_MAX, encode
from argus.gfx942.waits import decode as decode_wait
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from bench.object_faults import Fault, changed

SOURCE = """
import argus as ag
from argus import i32
O = ag.Owner(t=64, i="t")
Q = ag.Owner(t=64, i="63 - t")
@ag.kernel(threads=64, computes="y[b, i] = x[b, i]", example=dict(B=2))
def k(x: ag.In["B i=64", i32], y: ag.Out["B i=64", i32]):
    b = ag.grid(B)
    s = ag.shared(ag.Layout(i=(64, 4)), i32)
    s.store(x[b].load(O, width=4), width=4)
    ag.barrier()
    w = {first}.load(Q, width=4)
    if b % 2 == 0:
        w = {second}.load(Q, width=4)
    y[b].store(w, width=4)
"""


def weakened(inst: Inst) -> list[int]:
    """The wait with one of its counters left out."""
    waits = decode_wait(inst.operands[0].value)
    found = []
    if waits.vm < VM_MAX:
        found.append(encode(lgkm=waits.lgkm))
    if waits.lgkm < LGKM_MAX:
        found.append(encode(vm=waits.vm))
    return found


@pytest.mark.parametrize(("first", "second"), [("x[b]", "s"), ("s", "x[b]")])
def test_each_counter_of_the_last_wait_is_needed(first: str, second: str, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(SOURCE.format(first=first, second=second))
    program = scheduled(read(tmp_path / "k.py"))
    compiled = compile_kernel(program)
    code = decode(compiled.object, compiled.name)
    assert not early_uses(code)
    made_by = match(program.kernel, code, [(pc, op) for pc, op in compiled.sidecar["pcs"]]).op_of
    waits = [n for n, inst in enumerate(code.insts) if n >= code.entry and inst.op == "s_waitcnt"]
    joined = [n for n in waits if len(weakened(code.insts[n])) == 2]
    assert joined
    for n in joined:
        for simm in weakened(code.insts[n]):
            word = 0xBF8C0000 | simm
            wrong = changed(compiled, code, Fault("wait", n, 1, (word,), (made_by[n],)))
            assert early_uses(decode(wrong.object, wrong.name)), (hex(code.insts[n].pc), hex(simm))
