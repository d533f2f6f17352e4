"""The audit refuses objects that are not what the IR says: each rule is broken once, in machine code or in the IR."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from argus.compile import CompileError, compile_kernel, wait_states
from argus.compile.arrivals import early_uses
from argus.compile.audit import audit
from argus.compile.decoded import decode
from argus.compile.objects import read_object
from argus.compile.registers import plan
from argus.gfx942 import elf
from argus.gfx942.hazards import violations
from argus.gfx942.inst import Inst
from argus.gfx942.waits import decode as decode_wait
from argus.gfx942.waits import encode
from argus.ir import ops
from argus.ir.build import IrBuilder
from argus.ir.kernel import LANE, Kernel
from argus.ir.ops import Access, Shared
from argus.ir.passes.schedule import scheduled
from argus.ir.types import bf16, f32, i32
from argus.layout.expr import const, var
from tests.compile.harness import kernel, lane_rows, launch, tensor
from tests.ir import samples

NOP = 0xBF800000


@cache
def good() -> tuple[bytes, tuple[tuple[int, int], ...]]:
    made = compile_kernel(scheduled(samples.gemm()))
    return made.object, tuple(made.audit.pcs)


def patched(change: Callable[[Inst], bytes | None], original: bytes | None = None, name: str = "gemm") -> bytes:
    """An object (the GEMM's) with instructions replaced by `change` (None keeps one)."""
    code_object = bytearray(original or good()[0])
    source = read_object(bytes(code_object), elf.ET_DYN)
    symbol = next(s for s in source.symbols if s.name == name)
    section = source.sections[symbol.section]
    start = bytes(code_object).index(bytes(section.data)) + symbol.value - section.address
    for inst in decode(bytes(code_object), name).insts:
        new = change(inst)
        if new is not None:
            assert len(new) == inst.size
            code_object[start + inst.pc : start + inst.pc + inst.size] = new
    return bytes(code_object)


def refused(code: str, code_object: bytes, made: Kernel | None = None) -> str:
    subject = made or samples.gemm()
    with pytest.raises(CompileError) as caught:
        audit(subject, plan(samples.gemm()), code_object, list(good()[1]))
    assert caught.value.code == code
    return caught.value.message


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def test_the_untouched_object_passes() -> None:
    found = audit(samples.gemm(), plan(samples.gemm()), patched(lambda inst: None), list(good()[1]))
    assert found.pcs


def test_a_missing_barrier() -> None:
    assert "barrier" in refused("C302", patched(lambda inst: words(NOP) if inst.op == "s_barrier" else None))


def test_a_missing_store() -> None:
    last = max(i.pc for i in decode(good()[0], "gemm").insts if i.op.startswith("buffer_store"))
    assert "store" in refused("C302", patched(lambda inst: words(NOP, NOP) if inst.pc == last else None))


def test_two_instructions_swapped() -> None:
    insts = decode(good()[0], "gemm").insts
    write = next(n for n, i in enumerate(insts) if i.op.startswith("ds_write"))
    read = next(n for n, i in enumerate(insts) if i.op.startswith("ds_read") and n > write)
    a, b = insts[write], insts[read]
    swap = {a.pc: words(*b.words), b.pc: words(*a.words)}
    assert refused("C302", patched(lambda inst: swap.get(inst.pc)))


def test_a_surplus_matrix_instruction() -> None:
    insts = decode(good()[0], "gemm").insts
    product = next(i for i in insts if i.op.startswith("v_mfma"))
    victim = next(i for i in insts if i.size == 8 and i.op.startswith("v_") and i.pc > product.pc + 2000)
    assert refused("C302", patched(lambda inst: words(*product.words) if inst.pc == victim.pc else None))


def test_a_weaker_wait_before_a_barrier() -> None:
    def weaker(inst: Inst) -> bytes | None:
        return words(0xBF8C0000 | encode(lgkm=15)) if inst.op == "s_waitcnt" else None

    assert "lgkm" in refused("C305", patched(weaker))


@pytest.mark.parametrize("name", ["vm", "lgkm"])
def test_every_wait_that_registers_need_is_noticed_when_it_is_gone(name: str) -> None:
    """Waits are removed one by one; those whose counter guards registers must each be missed."""
    waits = [i for i in decode(good()[0], "gemm").insts if i.op == "s_waitcnt"]
    limits = {i.pc: getattr(decode_wait(i.operands[0].value), name) for i in waits}
    removed = [pc for pc, limit in limits.items() if limit < (63 if name == "vm" else 15) and pc >= 256]
    unnoticed = []
    for pc in removed:
        broken = patched(lambda inst, pc=pc: words(NOP) if inst.pc == pc else None)
        if not early_uses(decode(broken, "gemm")):
            unnoticed.append(pc)
    before_barriers = {
        a.pc for a, b in pairwise(decode(good()[0], "gemm").insts) if b.op == "s_barrier" and a.op == "s_waitcnt"
    }
    assert set(unnoticed) <= before_barriers, "only the waits that publish LDS writes guard no register"
    assert len(removed) > len(unnoticed)


def test_a_missing_register_wait_is_refused() -> None:
    def without_vm(inst: Inst) -> bytes | None:
        if inst.op != "s_waitcnt":
            return None
        return words(0xBF8C0000 | encode(lgkm=decode_wait(inst.operands[0].value).lgkm))

    assert "vmcnt" in refused("C307", patched(without_vm))


def test_an_accumulator_move_in_the_loop() -> None:
    code = decode(good()[0], "gemm")
    first, last = code.loops[-1]
    target = next(i for i in code.insts[first:last] if i.op.startswith("v_mfma"))
    move = words(0xD3D94000, 0x18000080)

    def swapped(inst: Inst) -> bytes | None:
        return move if inst.pc == target.pc else None

    broken = patched(swapped)
    assert any(i.op.startswith("v_accvgpr") for i in decode(broken, "gemm").insts)
    refused("C303", broken)


def test_other_lds_than_planned() -> None:
    made = samples.gemm()
    bigger = replace(made, shared=(*made.shared, Shared("more", f32, 1024, 32768)))
    assert "32768" in refused("C304", good()[0], bigger)


def test_a_load_left_out_where_the_kernel_counts() -> None:
    """(x if x == y else y) is y, so x is not loaded: fine, unless a wait counts on it."""

    def build(counting: bool) -> Kernel:
        x, y, z = tensor("x", i32, 64), tensor("y", i32, 64), tensor("z", i32, 64, written=True)
        b = IrBuilder()
        a, c = b.load(lane_rows(x, 1)), b.load(lane_rows(y, 1))
        if counting:
            b.wait(vm=1)
        b.store(lane_rows(z, 1), b.map("select", b.map("eq", a, c), a, c))
        return kernel("algebra", [x, y, z], b)

    assert compile_kernel(scheduled(build(False))).audit.unneeded == (0,)
    with pytest.raises(CompileError, match="C302"):
        compile_kernel(scheduled(build(True)))


def matrix_then_loop() -> Kernel:
    """A matrix result whose first reader is arithmetic at the head of a loop."""
    x, z = tensor("x", bf16, 256), tensor("z", f32, 1024, written=True)
    step = var("i", 0, 8)
    b = IrBuilder()
    a = b.load(lane_rows(x, 4))
    total = b.mfma("mfma_32x32x8_bf16", a, a, b.constant(1.0, f32, 16))
    with b.loop(step, 0, const(4), (total,)) as loop:
        number = b.convert(b.index(step * 4 + LANE % 3), f32)
        loop.yields(b.map("add", loop.args[0], b.registers((number,), ((0, 0),) * 16)))
    b.store(lane_rows(z, 16), loop.outs[0])
    return kernel("head", [x, z], b)


def test_wait_states_hold_on_every_path() -> None:
    made = compile_kernel(scheduled(matrix_then_loop()))
    assert not violations(decode(made.object, "head").insts)


def test_wait_states_that_are_missing_are_asked_for_before_the_reader() -> None:
    made = compile_kernel(scheduled(matrix_then_loop()))
    code = decode(made.object, "head")
    assert wait_states.wanted(made.object, "head", made.audit.pcs, {}) == {}
    padding = {i.pc for i in code.insts[code.entry :] if i.op == "s_nop"}
    assert padding, "the loop reads the matrix result behind s_nop"
    broken = patched(lambda inst: words(NOP) if inst.pc in padding else None, made.object, "head")
    short = wait_states.wanted(broken, "head", made.audit.pcs, {})
    readers = {op.id for op in ops.walk(matrix_then_loop().body) if isinstance(op, ops.Map | ops.Convert)}
    assert short
    assert set(short) <= readers
    assert str(wait_states.failure(matrix_then_loop(), broken)).startswith("error C306")


def test_results_behind_the_repaired_loop_are_right() -> None:
    import ml_dtypes
    import numpy as np

    from argus.gfx942.mfma import mfma

    x = np.random.default_rng(0).integers(-3, 4, (64, 4)).astype(ml_dtypes.bfloat16)
    out = np.zeros((64, 16), np.float32)
    launch(matrix_then_loop(), x, out, checks=("wait-states", "waits"))
    row = mfma("mfma_32x32x8_bf16")
    lane, e = np.meshgrid(np.arange(64), np.arange(4), indexing="ij")
    i, k, _ = row.a_index(lane, e)
    a = np.zeros((32, 8))
    a[i, k] = x.astype(np.float64)
    lane, r = np.meshgrid(np.arange(64), np.arange(16), indexing="ij")
    i, j, _ = row.d_index(lane, r)
    want = (a @ a.T + 1)[i, j] + sum(4 * n + lane % 3 for n in range(4))
    np.testing.assert_array_equal(out, want)


def test_a_kernel_that_counts_its_waits_is_held_to_them() -> None:
    s = Shared("s", f32, 1024, 0)
    x, z = tensor("x", f32, 256), tensor("z", f32, 256, written=True)
    b = IrBuilder()
    first = b.load(lane_rows(x, 4))
    b.wait(vm=0)
    b.store(Access(s, LANE * 16, 4), first)
    b.wait(lgkm=0)
    b.store(lane_rows(z, 4), b.load(Access(s, LANE * 16, 4)))
    made = compile_kernel(scheduled(kernel("waits", [x, z], b, shared=(s,))))
    code = decode(made.object, "waits")
    assert [i.op for i in code.insts].count("s_waitcnt") >= 2
