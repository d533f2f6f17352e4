"""Matrix instructions in the interpreter.

Operands are widened to (row, k) and (k, column) matrices by index tables made from the lane maps, multiplied and added
in the order of k, and scattered back to the lanes. Products of 16- and 8-bit floats are exact in f32, so a chain of f32
additions equals the chain of fused multiply-adds; NumPy's floating-point flags tell when a product left the range, and
only then the exact chain is computed step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.inst import Inst, InstOperand
from argus.gfx942.mfma import BITS, MFMA, MfmaShape
from argus.machine.interp_operands import UnsupportedForm, register
from argus.machine.semantics.fma import add_rounding_to_f32, fma64
from argus.machine.semantics.lanes import number
from argus.machine.semantics.matrix import a_block_source, b_lane_source
from argus.machine.semantics.modifiers import constant_bits
from argus.machine.semantics.numpy_backend import NumpyBuilder
from argus.machine.semantics.valu_convert import BF8, FP8
from argus.machine.state import Wave

Array = NDArray[Any]
Run = Callable[[Wave], Any]
U32 = np.uint32


@lru_cache(maxsize=2)
def _byte_values(bf8: bool) -> NDArray[np.float32]:
    codes = np.arange(256, dtype=U32)
    bits: NDArray[np.uint32] = (BF8 if bf8 else FP8).widen(NumpyBuilder(), codes)
    return bits.view(np.float32)


def _round_to_xf32(x: Array) -> Array:
    """f32 bits with the mantissa rounded to 10 bits, nearest even; NaN and infinity kept."""
    rounded = (x + U32(0xFFF) + ((x >> U32(13)) & U32(1))) & U32(0xFFFFE000)
    return np.where((x & U32(0x7F800000)) == U32(0x7F800000), x, rounded)


def elements(kind: str, block: Array) -> Array:
    """Registers (r, 64) to numbers (elements per lane, 64)."""
    if kind == "f32":
        return block.view(np.float32)
    if kind == "xf32":
        return _round_to_xf32(block).view(np.float32)
    if kind == "bf16":
        return np.stack([block << U32(16), block & U32(0xFFFF0000)], 1).reshape(-1, 64).view(np.float32)
    if kind == "f64":
        pairs = block[0::2].astype(np.uint64) | block[1::2].astype(np.uint64) << np.uint64(32)
        return pairs.view(np.float64)
    lanes = np.ascontiguousarray(block.T)
    if kind == "f16":
        return np.ascontiguousarray(lanes.view(np.float16).T).astype(np.float32)
    if kind == "i8":
        return np.ascontiguousarray(lanes.view(np.int8).T).astype(np.int32)
    return _byte_values(kind == "bf8")[np.ascontiguousarray(lanes.view(np.uint8).T)]


class LaneTables:
    """Index tables of one matrix instruction: from (block, row, k) to (element, lane), and back for D."""

    def __init__(self, m: MfmaShape) -> None:
        self.m = m
        lane = np.arange(64)
        a_at = np.zeros((m.blocks, m.m, m.k), np.int64)
        for e in range(m.a_elements):
            i, k, block = m.a_index(lane, e)
            a_at[block, i, k] = e * 64 + lane
        self.a_at = a_at
        d_at = np.zeros((m.d_elements, 64), np.int64)
        for r in range(m.d_elements):
            i, j, block = m.d_index(lane, r)
            d_at[r] = (block * m.m + i) * m.n + j
        self.d_at = d_at
        self.d_from = np.empty(m.d_elements * 64, np.int64)
        self.d_from[d_at.ravel()] = np.arange(m.d_elements * 64)


@lru_cache(maxsize=64)
def lane_tables(name: str) -> LaneTables:
    """The index tables of an instruction."""
    return LaneTables(MFMA[name])


def _chain_f32(a: Array, b: Array, c: Array) -> Array:
    """acc = fma(a[:, k], b[k], acc) over k; a (blocks, m, k), b (blocks, k, n), c (blocks, m, n)."""
    steps = a.shape[2]
    try:
        with np.errstate(over="raise", under="raise"):
            terms = np.empty((steps + 1, *c.shape), np.float32)
            np.multiply(a.transpose(2, 0, 1)[..., None], b.transpose(1, 0, 2)[:, :, None, :], out=terms[1:])
    except FloatingPointError:
        return _chain_exact(a, b, c)
    terms[0] = c
    total: Array = np.add.reduce(terms, axis=0)
    return total


def _chain_exact(a: Array, b: Array, c: Array) -> Array:
    wide_a, wide_b, acc = a.astype(np.float64), b.astype(np.float64), c
    for k in range(a.shape[2]):
        product = wide_a[:, :, k, None] * wide_b[:, k, None, :]
        acc = add_rounding_to_f32(product, acc.astype(np.float64))
    return acc


def _chain_f64(a: Array, b: Array, c: Array) -> Array:
    acc = c
    for k in range(a.shape[2]):
        acc = fma64(a[:, :, k, None], b[:, k, None, :], acc)
    return acc


def _chain_i32(a: Array, b: Array, c: Array) -> Array:
    product = np.matmul(a.astype(np.int64), b.astype(np.int64))
    total: Array = (product + c).astype(np.int32)
    return total


def _product(m: MfmaShape) -> Callable[[Array, Array, Array], Array]:
    if m.c == "i32":
        return _chain_i32
    if m.c == "f64":
        return _chain_f64
    return _chain_exact if BITS[m.a] == 32 else _chain_f32


def compile_mfma(inst: Inst, accum_offset: int) -> Run:
    """The closure that executes a dense matrix instruction."""
    m = MFMA[inst.op]
    shape, multiply = lane_tables(m.name), _product(m)
    cbsz, abid, blgp = (number(inst.mods, name) for name in ("cbsz", "abid", "blgp"))
    if (cbsz and not m.cbsz) or (blgp and m.blgp == "none"):
        raise UnsupportedForm(f"cbsz or blgp on {m.name}")
    d, a, b = (register(o, accum_offset) for o in inst.operands[:3])
    read_c = _accumulator(m, inst.operands[3], accum_offset)
    a_at = shape.a_at[list(a_block_source(m.blocks, cbsz, abid))] if cbsz else shape.a_at
    b_at = np.ascontiguousarray(shape.a_at.transpose(0, 2, 1))
    lanes = np.array(b_lane_source(blgp)) if m.blgp == "permute" and blgp else None
    signs = [-1.0 if m.blgp == "negate" and blgp >> k & 1 else 1.0 for k in range(3)]
    d_at, count = shape.d_at, m.c_registers
    c_shape = (m.blocks, m.m, m.n)

    def run(w: Wave) -> None:
        va = elements(m.a, w.registers[a : a + m.a_registers])
        block = w.registers[b : b + m.b_registers]
        vb = elements(m.b, block if lanes is None else block[:, lanes])
        c = read_c(w).reshape(-1)[shape.d_from].reshape(c_shape)
        if signs != [1.0, 1.0, 1.0]:
            va, vb, c = va * signs[0], vb * signs[1], c * signs[2]
        result = multiply(va.reshape(-1)[a_at], vb.reshape(-1)[b_at], c).reshape(-1)[d_at]
        if m.c == "f64":
            bits = result.view(np.uint64)
            w.registers[d : d + count : 2] = bits.astype(U32)
            w.registers[d + 1 : d + count : 2] = (bits >> np.uint64(32)).astype(U32)
        else:
            w.registers[d : d + count] = result.view(U32)

    return run


_NUMBER = {"f32": np.float32, "i32": np.int32, "f64": np.float64}


def _accumulator(m: MfmaShape, operand: InstOperand, accum_offset: int) -> Callable[[Wave], Array]:
    number: Any = _NUMBER[m.c]
    if operand.kind in ("v", "a"):
        n = register(operand, accum_offset)
        if m.c == "f64":
            return lambda w: elements("f64", w.registers[n : n + m.c_registers])
        return lambda w: w.registers[n : n + m.c_registers].view(number)
    bits = constant_bits("f64" if m.c == "f64" else "u32", operand)
    unsigned: Any = np.uint64 if m.c == "f64" else U32
    constant = np.full((m.d_elements, 64), bits, unsigned).view(number)
    return lambda w: constant
