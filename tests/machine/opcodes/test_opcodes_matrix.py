"""Every matrix instruction: layouts against the closed forms of AMD's calculator, arithmetic against exact sums.

The layouts are written out here again (lane = M * group + i and so on), not taken from `argus.gfx942.mfma`."""

from __future__ import annotations

import json
import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from opcode_harness import wave
from opcode_softfloat import F32

from argus.gfx942.inst import Inst, InstOperand
from argus.machine.interp_matrix import compile_mfma
from argus.machine.semantics.matrix import MATRIX

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "xf32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp8": ml_dtypes.float8_e4m3fnuz,
    "bf8": ml_dtypes.float8_e5m2fnuz,
    "i8": np.int8,
    "i32": np.int32,
}
FORM = re.compile(r"v_mfma_(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_(\w+?)(?:_(fp8|bf8))?$")


class Form:
    def __init__(self, op: str) -> None:
        match = FORM.match(op)
        assert match is not None, op
        self.c, self.a = match[1], match[6]
        self.b = match[7] or match[6]
        self.m, self.n, self.k = int(match[2]), int(match[3]), int(match[4])
        self.blocks = int(match[5] or 1)

    @property
    def per_lane(self) -> int:
        return self.m * self.k * self.blocks // 64

    def a_place(self, i: int, k: int, block: int) -> tuple[int, int]:
        """(lane, element) of A[i, k]; B[k, j] is the same with j."""
        if self.c == "f64" and self.blocks > 1:
            return 16 * k + 4 * block + i, 0
        group, element = (block, k) if self.blocks > 1 else divmod(k, self.per_lane)
        return self.m * group + i, element

    def d_place(self, i: int, j: int, block: int) -> tuple[int, int]:
        """(lane, element) of D[i, j]."""
        if self.c == "f64":
            return (16 * i + 4 * block + j, 0) if self.blocks > 1 else (16 * (i % 4) + j, i // 4)
        if self.m == 32:
            return 32 * (i // 4 % 2) + j, 16 * block + 4 * (i // 8) + i % 4
        if self.m == 16:
            return 16 * (i // 4) + j, 4 * block + i % 4
        return 4 * block + j, i


def pack(values: np.ndarray) -> np.ndarray:
    """(64, elements) of some type to (registers, 64) words."""
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(64, -1)
    return np.ascontiguousarray(np.ascontiguousarray(raw).view(np.uint32).T)


def fill(form: Form, matrix: np.ndarray, dtype: Any) -> np.ndarray:
    """A (blocks, rows, k) matrix in the registers of 64 lanes."""
    lanes = np.zeros((64, form.per_lane), dtype)
    for block in range(form.blocks):
        for i in range(matrix.shape[1]):
            for k in range(form.k):
                lane, element = form.a_place(i, k, block)
                lanes[lane, element] = matrix[block, i, k]
    return pack(lanes)


def execute(op: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, **mods: int) -> np.ndarray:
    """D of A (blocks, m, k), B (blocks, n, k), C (blocks, m, n)."""
    form, w = Form(op), wave()
    ra, rb = fill(form, a, DTYPES[form.a]), fill(form, b, DTYPES[form.b])
    accumulators = np.zeros((64, form.m * form.n * form.blocks // 64), DTYPES[form.c])
    for block in range(form.blocks):
        for i in range(form.m):
            for j in range(form.n):
                lane, element = form.d_place(i, j, block)
                accumulators[lane, element] = c[block, i, j]
    rc = pack(accumulators)
    w.registers[0 : len(ra)], w.registers[8 : 8 + len(rb)] = ra, rb
    w.registers[32 : 32 + len(rc)] = rc
    operands = (
        InstOperand("v", 64, len(rc)),
        InstOperand("v", 0, len(ra)),
        InstOperand("v", 8, len(rb)),
        InstOperand("v", 32, len(rc)),
    )
    w.set_exec(0)
    compile_mfma(Inst(0, 8, op, "", operands, mods), 256)(w)
    words = np.ascontiguousarray(w.registers[64 : 64 + len(rc)].T)
    values = words.view(DTYPES[form.c])
    d = np.zeros(c.shape, DTYPES[form.c])
    for block in range(form.blocks):
        for i in range(form.m):
            for j in range(form.n):
                lane, element = form.d_place(i, j, block)
                d[block, i, j] = values[lane, element]
    return d


def small_integers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(-7, 8, shape).astype(np.float64)


@pytest.mark.parametrize("op", sorted(MATRIX))
def test_products_of_small_integers_are_exact(op: str) -> None:
    form, rng = Form(op), np.random.default_rng(len(op))
    a, b = small_integers(rng, (form.blocks, form.m, form.k)), small_integers(rng, (form.blocks, form.n, form.k))
    c = rng.integers(-50, 50, (form.blocks, form.m, form.n)).astype(np.float64)
    want = np.einsum("xik,xjk->xij", a, b) + c
    assert np.array_equal(execute(op, a, b, c).astype(np.float64), want)


def test_every_instruction_of_the_fact_sheet_is_implemented() -> None:
    facts = Path("/work/shared/facts/mfma_gfx942.json")
    if facts.exists():
        assert {row["name"] for row in json.loads(facts.read_text())} == set(MATRIX)
    assert len(MATRIX) == 32


@pytest.mark.parametrize("op", ["v_mfma_f32_32x32x8_bf16", "v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x32_fp8_bf8"])
def test_rounding_is_a_chain_of_fused_multiply_adds_in_the_order_of_k(op: str) -> None:
    form, rng = Form(op), np.random.default_rng(5)
    a = rng.standard_normal((1, form.m, form.k)).astype(DTYPES[form.a]).astype(np.float64)
    b = rng.standard_normal((1, form.n, form.k)).astype(DTYPES[form.b]).astype(np.float64)
    c = rng.standard_normal((1, form.m, form.n)).astype(np.float32).astype(np.float64)
    d = execute(op, a, b, c)
    picks = random.Random(1)
    for _ in range(40):
        i, j = picks.randrange(form.m), picks.randrange(form.n)
        acc = int(np.float32(c[0, i, j]).view(np.uint32))
        for k in range(form.k):
            exact = Fraction(float(a[0, i, k])) * Fraction(float(b[0, j, k])) + F32.signed(acc)
            acc = F32.encode((exact < 0, abs(exact)))
        assert int(d[0, i, j].view(np.uint32)) == acc


def test_denormals_and_overflow_use_the_exact_chain() -> None:
    op = "v_mfma_f32_16x16x16_bf16"
    a, b = np.zeros((1, 16, 16)), np.zeros((1, 16, 16))
    a[0, 0, :2], b[0, 0, :2] = [2.0**-80, 2.0**-70], [2.0**-66, 2.0**-79]
    a[0, 1, :2], b[0, 1, :2] = [2.0**100, 2.0**100], [2.0**40, -(2.0**40)]
    d = execute(op, a, b, np.zeros((1, 16, 16)))
    assert float(d[0, 0, 0]) == 2.0**-146 + 2.0**-149
    assert not np.isfinite(d[0, 1, 1])


def test_xf32_rounds_its_operands_to_ten_bits() -> None:
    a, b = np.zeros((1, 16, 8)), np.zeros((1, 16, 8))
    a[0, 0, 0], b[0, 0, 0] = 1 + 2.0**-10 + 2.0**-11 + 2.0**-20, 1.0
    d = execute("v_mfma_f32_16x16x8_xf32", a, b, np.zeros((1, 16, 16)))
    assert float(d[0, 0, 0]) == 1 + 2.0**-9


def test_i8_accumulation_wraps() -> None:
    a, b = np.full((1, 16, 32), -128.0), np.full((1, 16, 32), -128.0)
    c = np.full((1, 16, 16), float(2**31 - 1))
    d = execute("v_mfma_i32_16x16x32_i8", a, b, c)
    assert int(d[0, 0, 0]) == (2**31 - 1 + 32 * 128 * 128) - 2**32


def test_broadcast_of_an_a_block_and_permutation_of_b_lanes() -> None:
    op, rng = "v_mfma_f32_16x16x1_4b_f32", np.random.default_rng(2)
    a, b = small_integers(rng, (4, 16, 1)), small_integers(rng, (4, 16, 1))
    c = np.zeros((4, 16, 16))
    d = execute(op, a, b, c, cbsz=1, abid=1)
    assert np.array_equal(d, np.einsum("xik,xjk->xij", a[[1, 1, 3, 3]], b))
    d = execute(op, a, b, c, blgp=1)
    assert np.array_equal(d, np.einsum("xik,xjk->xij", a, b[[0, 1, 0, 1]]))
    d = execute(op, a, b, c, blgp=3)
    assert np.array_equal(d, np.einsum("xik,xjk->xij", a, b[[1, 2, 3, 0]]))
    d = execute(op, a, b, c, blgp=6)
    assert np.array_equal(d, np.einsum("xik,xjk->xij", a, b[[2, 2, 2, 2]]))


def test_f64_signs() -> None:
    rng = np.random.default_rng(3)
    a, b, c = small_integers(rng, (1, 16, 4)), small_integers(rng, (1, 16, 4)), small_integers(rng, (1, 16, 16))
    d = execute("v_mfma_f64_16x16x4_f64", a, b, c, blgp=0b101)
    assert np.array_equal(d, np.einsum("xik,xjk->xij", -a, b) - c)
