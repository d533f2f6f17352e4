"""Matrix instructions in exact algebra: D = A B + C in every field, by the machine's lane maps.

A row of A or a column of B that holds a value which is not followed makes its results so. Integer matrices carry
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.inst import Inst, InstOperand
from argus.gfx942.mfma import BITS, MFMA
from argus.machine.algebra import fields
from argus.machine.algebra.carrying_wave import CarryingWave
from argus.machine.algebra.float_reading import FORMATS, FloatReader
from argus.machine.algebra.numbers import AlgebraNumbers, negate
from argus.machine.algebra.value_table import Ids
from argus.machine.interp_matrix import lane_tables
from argus.machine.interp_operands import register
from argus.machine.semantics.lanes import number
from argus.machine.semantics.matrix import a_block_source, b_lane_source
from argus.machine.semantics.modifiers import constant_bits
from argus.machine.state import LANES

Read = tuple[AlgebraNumbers, Ids]
_WORD = 32


class CarryingMatrix:
    """One matrix instruction."""

    def __init__(self, inst: Inst, accum_offset: int, reader: FloatReader) -> None:
        self.inst, self._reader = inst, reader
        m = self.m = MFMA[inst.op]
        self._tables = lane_tables(m.name)
        cbsz, abid, blgp = (number(inst.mods, name) for name in ("cbsz", "abid", "blgp"))
        self._d, self._a, self._b = (register(o, accum_offset) for o in inst.operands[:3])
        self._c = inst.operands[3]
        self.targets = tuple(range(self._d, self._d + m.c_registers))
        self._c_register = register(self._c, accum_offset) if self._c.kind in ("v", "a") else -1
        a_at = self._tables.a_at
        self._a_at = a_at[list(a_block_source(m.blocks, cbsz, abid))] if cbsz else a_at
        self._b_at = np.ascontiguousarray(a_at.transpose(0, 2, 1))
        self._lanes = np.array(b_lane_source(blgp)) if m.blgp == "permute" and blgp else None
        self._signs = [m.blgp == "negate" and bool(blgp >> k & 1) for k in range(3)]

    def _elements(self, w: CarryingWave, first: int, count: int, kind: str, lanes: Any = None) -> Read:
        """The elements of registers, (elements * 64)."""
        form = FORMATS["f32" if kind == "xf32" else kind]
        none = np.zeros((LANES, 4), np.uint32)
        rows = [w.v[n] for n in range(first, first + count)]
        bits = np.stack([row.bits for row in rows], axis=1)
        ids = np.stack([none if row.ids is None else row.ids for row in rows], axis=1)
        if lanes is not None:
            bits, ids = bits[lanes], ids[lanes]
        size = form.bytes
        values = np.ascontiguousarray(bits).view(f"u{size}").reshape(LANES, -1).T
        parts = ids.reshape(LANES, -1, size).transpose(1, 0, 2)
        real = form.values(np.ascontiguousarray(values).reshape(-1))
        return self._reader.of_bytes(real, np.ascontiguousarray(parts).reshape(-1, size), form)

    def _accumulator(self, w: CarryingWave) -> Read:
        m, operand = self.m, self._c
        if self._c_register >= 0:
            return self._elements(w, self._c_register, m.c_registers, m.c)
        return self._constant(operand)

    def _constant(self, operand: InstOperand) -> Read:
        form = FORMATS[self.m.c]
        bits = constant_bits("f64" if self.m.c == "f64" else "u32", operand)
        row = np.full(self.m.d_elements * LANES, bits, f"u{form.bytes}")
        return self._reader.read(row, form)

    def run(self, w: CarryingWave, execute: Callable[[Any], Any]) -> Any:
        """Execute the instruction on the real wave, and its law on the values."""
        m, t = self.m, self._tables
        everywhere = np.ones(LANES, np.bool_)
        if m.c == "i32":
            result = execute(w.wave)
            for n in self.targets:
                w.write(n, None, everywhere)
            return result
        a, lost_a = self._signed(self._elements(w, self._a, m.a_registers, m.a), 0)
        b, lost_b = self._signed(self._elements(w, self._b, m.b_registers, m.b, self._lanes), 1)
        c, lost_c = self._signed(self._accumulator(w), 2)
        made = _product(a.at(self._a_at), b.at(self._b_at), c.at(t.d_from), (m.blocks, m.m, m.n))
        lost = np.maximum(lost_a[self._a_at].max(2)[:, :, None], lost_b[self._b_at].max(1)[:, None, :])
        own = lost_c[t.d_from].reshape(m.blocks, m.m, m.n)
        lost = np.where(own > 0, own, lost)
        result = execute(w.wave)
        at = t.d_at.reshape(-1)
        spread = made.at(at)
        real = self._results(w)
        ids = w.builder.entered(spread.with_real(real), lost.reshape(-1)[at], literals=False)
        words = BITS[m.c] // _WORD
        for k, n in enumerate(self.targets):
            part = None if ids is None else ids.reshape(m.d_elements, LANES)[k // words]
            w.write(n, None if part is None else np.repeat(part[:, None], 4, axis=1), everywhere)
        return result

    def _results(self, w: CarryingWave) -> NDArray[np.float64]:
        rows = w.wave.registers[self._d : self._d + self.m.c_registers]
        if self.m.c == "f64":
            pairs = rows[0::2].astype(np.uint64) | rows[1::2].astype(np.uint64) << np.uint64(32)
            return pairs.view(np.float64).reshape(-1)
        return np.ascontiguousarray(rows).view(np.float32).astype(np.float64).reshape(-1)

    def _signed(self, given: Read, which: int) -> Read:
        return (negate(given[0]), given[1]) if self._signs[which] else given


def _product(a: AlgebraNumbers, b: AlgebraNumbers, c: AlgebraNumbers, shape: tuple[int, int, int]) -> AlgebraNumbers:
    """a (blocks, m, k) times b (blocks, k, n) plus c, in every field."""
    q = fields.orders(3)
    total = c.residue.reshape(-1, *shape)
    for k in range(a.real.shape[2]):
        total = (total + a.residue[:, :, :, k, None] * b.residue[:, :, k, None, :]) % q
    present = np.bitwise_and.reduce(a.present, axis=2)[:, :, None] & np.bitwise_and.reduce(b.present, axis=1)[:, None]
    taint = np.bitwise_or.reduce(a.taint, axis=2)[:, :, None] | np.bitwise_or.reduce(b.taint, axis=1)[:, None]
    present, taint = present & c.present.reshape(shape), taint | c.taint.reshape(shape)
    flat = (total.reshape(len(total), -1), present.reshape(-1), taint.reshape(-1))
    return AlgebraNumbers(*flat, np.zeros(present.size))
