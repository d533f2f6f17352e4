"""Vector arithmetic in the interpreter: a table entry and an instruction become one closure.

    run = compile_valu(inst, accum_offset)      run(wave) executes it

Encodings differ only in how sources are fetched and where the result goes: e32/e64 plainly, SDWA with byte and word
selections on both sides, DPP with a moved first source and a write mask, VOP3P twice on halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from argus.gfx942.inst import VCC, Inst, InstOperand
from argus.machine.interp_operands import (
    Reader,
    Row,
    UnsupportedForm,
    Writer,
    dpp_reader,
    mask_source,
    mask_writer,
    masked_row_writer,
    pair_writer,
    register,
    row_writer,
    vector_source,
)
from argus.machine.semantics.lanes import dpp_enabled, number
from argus.machine.semantics.modifiers import output_modifiers
from argus.machine.semantics.table import IMPLICIT, MachineOp, Table
from argus.machine.semantics.valu import SATURATING, VALU
from argus.machine.state import Wave, lanes_of

Run = Callable[[Wave], Any]

U32, U64 = np.uint32, np.uint64
_LANE = np.arange(64, dtype=U32)
_HIGH, _LOW16, _HIGH16 = U32(16), U32(0xFFFF), U32(0xFFFF0000)


def compile_valu(inst: Inst, accum_offset: int, table: Table = VALU) -> Run:
    """The closure that executes a vector arithmetic instruction of shape plain or dot."""
    op = table[inst.op]
    operands = iter(inst.operands)
    results = [next(operands) for word in op.results if word not in IMPLICIT]
    readers = list(_readers(inst, op, operands, results, accum_offset))
    fn = SATURATING[inst.op] if inst.mods.get("clamp") and inst.op in SATURATING else op.fn
    compute = _computation(fn, readers)
    if len(op.results) > 1:
        return _several(inst, op, compute, results, accum_offset)
    word = op.results[0]
    if word == "mask":
        write_mask = mask_writer(results[0])
        return lambda w: write_mask(w, compute(w))
    finish = _output(inst, word, compute)
    write = result_writer(inst, word, results[0], accum_offset)
    return lambda w: write(w, finish(w))


def _readers(
    inst: Inst, op: MachineOp, operands: Iterator[InstOperand], results: list[InstOperand], accum_offset: int
) -> Iterator[Reader]:
    position = 0
    for word in op.args:
        if word == "old":
            n = register(results[0], accum_offset)
            yield _row(n)
        elif word == "old64":
            n = register(results[0], accum_offset)
            yield _row_pair(n)
        elif word == "vcc":
            yield lambda w: lanes_of(w.s[VCC] | w.s[VCC + 1] << 32)
        elif word == "lane":
            yield lambda w: _LANE
        elif word == "mask":
            yield mask_source(next(operands))
        else:
            yield vector_source(next(operands), word, accum_offset, inst.mods, position, inst.enc)
            position += 1


def _row(n: int) -> Reader:
    return lambda w: w.v[n]


def _row_pair(n: int) -> Reader:
    return lambda w: w.v[n].astype(U64) | w.v[n + 1].astype(U64) << U64(32)


def _computation(fn: Callable[..., Any], readers: list[Reader]) -> Callable[[Wave], Any]:
    if len(readers) == 1:
        (a,) = readers
        return lambda w: fn(w.builder, a(w))
    if len(readers) == 2:
        a, b = readers
        return lambda w: fn(w.builder, a(w), b(w))
    if len(readers) == 3:
        a, b, c = readers
        return lambda w: fn(w.builder, a(w), b(w), c(w))
    return lambda w: fn(w.builder, *[read(w) for read in readers])


def _several(
    inst: Inst, op: MachineOp, compute: Callable[[Wave], Any], results: list[InstOperand], accum_offset: int
) -> Run:
    writers: list[Writer] = []
    explicit = iter(results)
    for word in op.results:
        if word == "exec":
            writers.append(lambda w, row: w.set_exec(_bits(row) & w.exec))
        elif word == "mask":
            writers.append(mask_writer(next(explicit)))
        else:
            writers.append(result_writer(inst, word, next(explicit), accum_offset))

    def run(w: Wave) -> None:
        values = compute(w)
        for write, value in zip(writers, values, strict=True):
            write(w, value)

    return run


def _bits(row: Row) -> int:
    return int.from_bytes(np.packbits(np.broadcast_to(row, (64,)), bitorder="little").tobytes(), "little")


def _output(inst: Inst, word: str, compute: Callable[[Wave], Any]) -> Callable[[Wave], Any]:
    """Output scale and clamp of float results."""
    scale = number(inst.mods, "mul", 1) / number(inst.mods, "div", 1)
    clamp = bool(inst.mods.get("clamp"))
    if not clamp and scale == 1.0:
        return compute
    if word not in ("f32", "f64", "f16", "h16"):
        if inst.op in SATURATING:
            return compute
        raise UnsupportedForm(f"clamp on {inst.op}")
    return lambda w: output_modifiers(w.builder, word, compute(w), clamp=clamp, scale=scale, nan_to_zero=w.dx10_clamp)


def result_writer(inst: Inst, word: str, operand: InstOperand, accum_offset: int) -> Writer:
    """Where and how a vector result is written."""
    n = register(operand, accum_offset)
    if inst.enc == "dpp":
        return _dpp_writer(inst, word, n, accum_offset)
    if inst.enc == "sdwa" and inst.mods.get("dst_sel", "DWORD") != "DWORD":
        return _sdwa_writer(inst, n)
    if word in ("u64", "f64"):
        return pair_writer(n)
    if word == "h16":
        return half_writer(n, _half_of(inst))
    if word == "b8":
        op_sel = inst.mods.get("op_sel", ())
        bits = tuple(op_sel) if isinstance(op_sel, tuple) else ()
        bits = bits + (0,) * (4 - len(bits))
        return _field_writer(n, 8 * (bits[2] + 2 * bits[3]), 0xFF)
    return row_writer(n)


def _half_of(inst: Inst) -> bool:
    """Whether a 16-bit result goes to the high half."""
    if inst.op == "v_fma_mixhi_f16":
        return True
    if inst.op == "v_fma_mixlo_f16":
        return False
    sources = sum(1 for word in VALU[inst.op].args if word not in IMPLICIT)
    op_sel = inst.mods.get("op_sel", ())
    return isinstance(op_sel, tuple) and len(op_sel) > sources and bool(op_sel[-1])


def _field_writer(n: int, shift: int, field: int) -> Writer:
    write, keep, up = row_writer(n), U32(~(field << shift) & 0xFFFFFFFF), U32(shift)
    return lambda w, row: write(w, (w.v[n] & keep) | (row << up))


def half_writer(n: int, high: bool) -> Writer:
    """Write one half of a register and keep the other."""
    return _field_writer(n, 16 if high else 0, 0xFFFF)


def _sdwa_writer(inst: Inst, n: int) -> Writer:
    selection, unused = str(inst.mods["dst_sel"]), inst.mods.get("dst_unused", "UNUSED_PAD")
    size = 8 if selection.startswith("BYTE") else 16
    shift = size * int(selection[-1])
    field = (1 << size) - 1
    if unused == "UNUSED_PRESERVE":
        insert = _field_writer(n, shift, field)
        return lambda w, row: insert(w, row & U32(field))
    write, up = row_writer(n), U32(shift)
    if unused == "UNUSED_SEXT":
        spread = np.int32(32 - size)

        def sign_extended(w: Wave, row: Row) -> None:
            wide = ((row << spread.view(U32)).view(np.int32) >> spread).view(U32)
            write(w, wide << up)

        return sign_extended
    return lambda w, row: write(w, (row & U32(field)) << up)


def _dpp_writer(inst: Inst, word: str, n: int, accum_offset: int) -> Writer:
    enabled = np.array(dpp_enabled(inst.mods))
    bound = bool(inst.mods.get("bound_ctrl"))
    if bound and enabled.all():
        return pair_writer(n) if word in ("u64", "f64") else row_writer(n)
    _, valid = dpp_reader(lambda w: _LANE, inst.mods)

    def allowed(w: Wave) -> Row:
        return enabled if bound else enabled & valid(w)

    if word in ("u64", "f64"):
        low, high = masked_row_writer(n, allowed), masked_row_writer(n + 1, allowed)

        def both(w: Wave, row: Row) -> None:
            low(w, row.astype(U32))
            high(w, (row >> U64(32)).astype(U32))

        return both
    return masked_row_writer(n, allowed)
