"""Every dense matrix instruction on the JIT: against the interpreter bit for bit, and against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from jit_programs import Program, inputs, same_words

from argus.gfx942.mfma import MFMA, MfmaShape
from argus.machine.jit.lower_matrix import SLOTS

NAMES = sorted(MFMA)
ONE_OF_EACH = sorted({(m.a, m.b, m.blocks > 1): m.name for m in MFMA.values()}.values())


def registers(first: int, count: int, file: str = "v") -> str:
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def text_of(m: MfmaShape, target: int, a: int, b: int, c: str, modifiers: str = "") -> str:
    sources = f"{registers(a, m.a_registers)}, {registers(b, m.b_registers)}"
    return f"{m.name} {registers(target, m.c_registers)}, {sources}, {c} {modifiers}".rstrip()


def cases(m: MfmaShape) -> list[str]:
    """A fresh accumulator, a constant one, operands used twice, the result over its own accumulator, modifiers."""
    c = registers(8, m.c_registers)
    d = registers(104, m.c_registers)
    lines = [text_of(m, 40, 30, 34, c), text_of(m, 72, 30, 36, "1.0" if m.c != "i32" else "7")]
    lines += [f"v_mov_b32 v{104 + i}, v{8 + i}" for i in range(m.c_registers)]
    lines += [text_of(m, 104, 30, 34, d), text_of(m, 104, 36, 34, d)]
    if m.cbsz:
        lines.append(text_of(m, 136, 30, 34, c, "cbsz:1 abid:1"))
    if m.blgp == "permute":
        lines.append(text_of(m, 168, 30, 34, c, "blgp:2"))
    return lines


def assert_agrees(name: str) -> None:
    program = Program(cases(MFMA[name]))
    mine, theirs = program.run("jit", 3), program.run("checking", 3)
    wrong = np.nonzero(~same_words(mine.vector[0], theirs.vector[0]).all(-1))[0]
    assert len(wrong) == 0, (name, [f"v{40 + r}" for r in wrong])


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_one_instruction_of_each_kind_agrees_with_the_interpreter(name: str) -> None:
    assert_agrees(name)


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_agrees_with_the_interpreter(name: str) -> None:
    assert_agrees(name)


def test_more_operands_than_slots_beside_one_that_stays() -> None:
    """The slot of an operand that is used again and again is never given to the other one of the same instruction.
    Factors are bf16 from 1 to 2, so that no sum is NaN."""
    m = MFMA["v_mfma_f32_16x16x16_bf16"]
    kept, first = 40, 42
    others = range(first, first + 2 * (SLOTS + 4), 2)
    lines = []
    for row in (kept, *others):
        for half in range(2):
            lines.append(f"v_and_b32 v{row + half}, 0x7f007f, v{8 + (row // 2 + 5 * half) % 24}")
            lines.append(f"v_or_b32 v{row + half}, 0x3f803f80, v{row + half}")
    lines += [f"v_mov_b32 v{232 + i}, 0" for i in range(4)]
    lines += [text_of(m, 232, kept, row, registers(232, 4)) for row in others]
    overlap(lines, slice(232 - 40, 236 - 40))


def overlap(lines: list[str], rows: slice) -> None:
    program = Program(lines)
    mine, theirs = program.run("jit", 2), program.run("checking", 2)
    assert same_words(mine.vector[0, rows], theirs.vector[0, rows]).all()


def test_results_over_their_sources() -> None:
    """D over A and B, and D beside C but not equal to it: sources are read before results are written."""
    moves = [f"v_mov_b32 v{40 + i}, v{8 + i}" for i in range(32)]
    overlap([*moves, "v_mfma_f32_16x16x4_f32 v[40:43], v41, v42, v[44:47]"], slice(0, 8))
    overlap([*moves, "v_mfma_f32_32x32x8_f16 v[40:55], v[42:43], v[44:45], v[40:55]"], slice(0, 16))


def test_bf16_product_matches_numpy() -> None:
    data = inputs(9)
    data[:] = np.random.default_rng(9).standard_normal(len(data)).astype(np.float32).view(np.uint32) >> 16
    data |= data << 16
    m = MFMA["v_mfma_f32_32x32x8_bf16"]
    program = Program([text_of(m, 40, 8, 10, "0")])
    out = run_on(program, data)
    lanes = np.arange(64)
    values = (data.astype(np.uint64) << 16).astype(np.uint32).view(np.float32)[: 36 * 64].reshape(36, 64)
    a = np.zeros((32, 8))
    b = np.zeros((8, 32))
    for e in range(4):
        i, k, _ = m.a_index(lanes, e)
        a[i, k] = values[e // 2]
        b[k, i] = values[2 + e // 2]
    expected = a @ b
    for r in range(16):
        i, j, _ = m.d_index(lanes, r)
        assert np.allclose(out[r].view(np.float32), expected[i, j], rtol=1e-5, atol=1e-5)


def run_on(program: Program, data: np.ndarray) -> np.ndarray:
    from argus.machine import load

    out = np.zeros((1, 264, 64), np.uint32)
    load(program.code).kernel()(1, 64, data, out, executor="jit")
    return out[0]
