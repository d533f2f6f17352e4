"""Reading and writing operands in the interpreter: an operand becomes a function of the wave.

    read = vector_source(InstOperand("s", 4), "f32", mods, 0)
    read(wave)          # np.uint32 scalar of s4; a row for a VGPR, a constant for an inline value

Everything that depends only on the instruction (register numbers, modifiers, constants, DPP lanes) is decided once,
when the kernel is prepared; what is left is a closure of one or two list lookups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from argus.gfx942.inst import EXEC, VCC, InstOperand, Mod
from argus.machine.semantics.lanes import NO_LANE, dpp_sources
from argus.machine.semantics.modifiers import SIXTEEN, WIDE, constant_bits, source_modifiers
from argus.machine.semantics.numpy_backend import NumpyBuilder
from argus.machine.state import PRIVATE_BASE, SHARED_BASE, Wave, bits_of, lanes_of

Row = Any
Reader = Callable[[Wave], Row]
Writer = Callable[[Wave, Row], None]

_PLAIN = NumpyBuilder()
_C32, _C64 = NumpyBuilder.const32, NumpyBuilder.const64
_HALF, _MASK16 = np.uint32(16), np.uint32(0xFFFF)
_H32 = np.uint64(32)
U32, U64, I32 = np.uint32, np.uint64, np.int32

SCC, VCCZ, EXECZ = 253, 251, 252
_APERTURES = {
    235: SHARED_BASE,
    236: SHARED_BASE | 0xFFFFFFFF,
    237: PRIVATE_BASE,
    238: PRIVATE_BASE | 0xFFFFFFFF,
}


class UnsupportedForm(Exception):
    """This form of an instruction cannot be executed; the message says why."""


def special_value(w: Wave, code: int) -> int:
    """A hardware source by its encoding."""
    if code == SCC:
        return int(w.scc)
    if code == VCCZ:
        return int(w.pair(VCC) == 0)
    if code == EXECZ:
        return int(w.exec == 0)
    if code in _APERTURES:
        return _APERTURES[code]
    raise UnsupportedForm(f"source operand number {code} is not supported")


def scalar_source(operand: InstOperand, word: str) -> Callable[[Wave], int]:
    """A scalar argument as a Python int."""
    if operand.kind == "s":
        n = operand.value
        if word in WIDE:
            return lambda w: w.s[n] | w.s[n + 1] << 32
        return lambda w: w.s[n]
    if operand.kind == "special":
        code = operand.value
        mask = 0xFFFFFFFFFFFFFFFF if word in WIDE else 0xFFFFFFFF
        return lambda w: special_value(w, code) & mask
    if operand.kind in ("imm", "fimm", "lit"):
        value = constant_bits(word, operand)
        return lambda w: value
    raise UnsupportedForm(f"a scalar instruction cannot read operand kind {operand.kind}")


def register(operand: InstOperand, accum_offset: int) -> int:
    """Physical number of a vector or accumulation register."""
    n = operand.value + (accum_offset if operand.kind == "a" else 0)
    if n + operand.count > 512:
        raise UnsupportedForm(f"register {operand.kind}{operand.value} is beyond the 512 registers of a wave")
    return n


def _raw(operand: InstOperand, word: str, accum_offset: int) -> Reader:
    """The operand's bits before modifiers: a w64 for wide words, else the whole w32."""
    wide = word in WIDE
    if operand.kind in ("v", "a"):
        n = register(operand, accum_offset)
        if wide:
            return lambda w: w.v[n].astype(U64) | (w.v[n + 1].astype(U64) << _H32)
        return lambda w: w.v[n]
    if operand.kind == "s":
        n = operand.value
        if wide:
            return lambda w: _C64(w.s[n] | w.s[n + 1] << 32)
        return lambda w: _C32(w.s[n])
    if operand.kind == "special":
        code = operand.value
        return (lambda w: _C64(special_value(w, code))) if wide else (lambda w: _C32(special_value(w, code)))
    if operand.kind in ("imm", "fimm", "lit"):
        value = constant_bits(word, operand)
        constant: Row = _C64(value) if wide else _C32(value)
        return lambda w: constant
    raise UnsupportedForm(f"a vector instruction cannot read operand kind {operand.kind}")


def _selected(read: Reader, selection: str, sext: bool) -> Reader:
    """SDWA source selection."""
    if selection == "DWORD":
        return read
    size = 8 if selection.startswith("BYTE") else 16
    shift, up = U32(size * int(selection[-1])), I32(32 - size)
    if sext:
        return lambda w: ((((read(w) >> shift) << up.view(U32)).view(I32)) >> up).view(U32)
    mask = U32((1 << size) - 1)
    return lambda w: (read(w) >> shift) & mask


def _low_half(read: Reader, word: str, high: bool) -> Reader:
    if word == "i16":
        up = I32(0 if high else 16)

        def signed(w: Wave) -> Row:
            return ((read(w) << up.view(U32)).view(I32) >> I32(16)).view(U32)

        return signed
    if high:
        return lambda w: read(w) >> _HALF
    return lambda w: read(w) & _MASK16


def dpp_reader(read: Reader, mods: Mapping[str, Mod]) -> tuple[Reader, Callable[[Wave], Row]]:
    """(reader of the moved source, lanes whose source is valid)."""
    sources = np.array(dpp_sources(mods))
    exists = sources != NO_LANE
    index = np.where(exists, sources, 0)
    zero = U32(0)

    def valid(w: Wave) -> Row:
        return exists if w.full else exists & w.lanes[index]

    def moved(w: Wave) -> Row:
        row = np.broadcast_to(read(w), (64,))[index]
        return np.where(valid(w), row, row.dtype.type(zero))

    return moved, valid


def vector_source(
    operand: InstOperand, word: str, accum_offset: int, mods: Mapping[str, Mod], position: int, enc: str
) -> Reader:
    """An argument of a plain vector instruction, all modifiers applied."""
    read = _raw(operand, word, accum_offset)
    if enc == "sdwa":
        selection = mods.get(f"src{position}_sel", "DWORD")
        read = _selected(read, str(selection), operand.sext)
    elif enc == "dpp" and position == 0:
        read, _ = dpp_reader(read, mods)
    if word in SIXTEEN:
        op_sel = mods.get("op_sel", ())
        high = isinstance(op_sel, tuple) and position < len(op_sel) and bool(op_sel[position])
        read = _low_half(read, word, high)
    return with_signs(read, word, operand)


def with_signs(read: Reader, word: str, operand: InstOperand) -> Reader:
    """`neg` and `abs`."""
    if not (operand.neg or operand.abs):
        return read
    neg, absolute, inner = operand.neg, operand.abs, read
    return lambda w: source_modifiers(_PLAIN, word, inner(w), neg=neg, absolute=absolute)


def mask_source(operand: InstOperand) -> Reader:
    """A lane mask in a scalar pair."""
    if operand.kind == "s":
        n = operand.value
        return lambda w: lanes_of(w.s[n] | w.s[n + 1] << 32)
    if operand.kind in ("imm", "lit", "fimm"):
        row = lanes_of(constant_bits("u64", operand))
        return lambda w: row
    raise UnsupportedForm(f"a lane mask cannot be operand kind {operand.kind}")


def mask_writer(operand: InstOperand) -> Writer:
    """Write a lane mask to a scalar pair; inactive lanes give 0."""
    n = operand.value

    def write(w: Wave, row: Row) -> None:
        bits = bits_of(np.broadcast_to(row, (64,))) & w.exec
        w.s[n] = bits & 0xFFFFFFFF
        w.s[n + 1] = bits >> 32

    if n == EXEC:
        return lambda w, row: w.set_exec(bits_of(np.broadcast_to(row, (64,))) & w.exec)
    return write


def row_writer(n: int) -> Writer:
    """Write a row to register n in the active lanes."""

    def write(w: Wave, row: Row) -> None:
        if w.full:
            w.v[n][...] = row
        else:
            np.copyto(w.v[n], row, where=w.lanes)

    return write


def pair_writer(n: int) -> Writer:
    """Write a w64 row to registers n and n + 1 in the active lanes."""
    low, high = row_writer(n), row_writer(n + 1)

    def write(w: Wave, row: Row) -> None:
        low(w, row.astype(U32))
        high(w, (row >> _H32).astype(U32))

    return write


def masked_row_writer(n: int, allowed: Callable[[Wave], Row]) -> Writer:
    """Write a row where both exec and `allowed` permit."""

    def write(w: Wave, row: Row) -> None:
        where = allowed(w)
        np.copyto(w.v[n], row, where=where if w.full else where & w.lanes)

    return write
