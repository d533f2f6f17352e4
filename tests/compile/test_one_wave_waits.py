"""In a kernel of one wave the object has no `s_barrier`; the waits of the kernel's barriers are held all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.compile.compiler import compile_kernel
from argus.compile.decoded import decode
from argus.compile.matching import match
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from bench.object_faults import S_NOP, Fault, changed, seen

SOURCE = """
import argus as ag
from argus import i32
O = ag.Owner(t={threads}, i="t")
@ag.kernel(threads={threads}, computes="y[m, i] = x[m, i]", example=dict(M=2))
def k(x: ag.In["M i={threads}", i32], y: ag.Out["M i={threads}", i32]):
    m = ag.grid(M)
    s = ag.shared(ag.Layout(i=({threads}, 4)), i32)
    s.store(ag.zeros(O, i32), width=4)
    {order}
    x[m].copy(s, O, width=4)
    ag.wait(vm=0)
    y[m].store(s.load(O, width=4), width=4)
"""


@pytest.mark.parametrize("threads", [64, 128])
@pytest.mark.parametrize("order", ["ag.barrier()", "ag.wait(lgkm=0)"])
def test_a_wait_left_out_is_seen(threads: int, order: str, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(SOURCE.format(threads=threads, order=order))
    program = scheduled(read(tmp_path / "k.py"))
    compiled = compile_kernel(program)
    assert not seen(program, compiled)
    code = decode(compiled.object, compiled.name)
    made_by = match(program.kernel, code, [(pc, op) for pc, op in compiled.sidecar["pcs"]]).op_of
    stores = [n for n, inst in enumerate(code.insts) if inst.op == "ds_write_b32"]
    waits = [n for n in range(stores[0], len(code.insts)) if code.insts[n].op == "s_waitcnt"]
    assert seen(program, changed(compiled, code, Fault("wait", waits[0], 1, (S_NOP,), (made_by[waits[0]],))))
