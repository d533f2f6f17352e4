"""Every vector instruction against its second statement, lane by lane, on special values and random bits."""

from __future__ import annotations

import zlib

import pytest
from opcode_harness import batches, run
from opcode_oracles_convert import ORACLES
from opcode_softfloat import F16, F32, F64, Format

from argus.machine.semantics import VALU

FLOATS: dict[str, Format] = {"f32": F32, "f64": F64, "f16": F16}
TRANSCENDENTAL = {op for op in VALU if op.split("_")[1] in ("exp", "log", "rcp", "rsq", "sqrt", "sin", "cos")}
ELSEWHERE = {
    *TRANSCENDENTAL,
    *(op for op, entry in VALU.items() if entry.shape in ("pk16", "pk32", "pkmov", "mix")),
    "v_mbcnt_lo_u32_b32",
    "v_mbcnt_hi_u32_b32",
    "v_cvt_sr_fp8_f32",
    "v_cvt_sr_bf8_f32",
}
"""Tested in test_opcodes_transcendental, test_opcodes_packed and test_opcodes_forms."""


def test_every_instruction_is_stated_twice() -> None:
    assert set(VALU) == set(ORACLES) | ELSEWHERE


HALVES: dict[str, Format] = {
    "v_cvt_pkrtz_f16_f32": F16,
    "v_pk_fmac_f16": F16,
    "v_cvt_pk_f32_fp8": F32,
    "v_cvt_pk_f32_bf8": F32,
}
"""Results that are two floats side by side; a NaN may have any payload."""


def _same_halves(form: Format, got: int, want: int) -> bool:
    mask = (1 << form.bits) - 1
    pairs = [(got >> k & mask, want >> k & mask) for k in (0, form.bits)]
    return all(a == b or (form.is_nan(a) and form.is_nan(b)) for a, b in pairs)


def _same(word: str, got: object, want: object) -> bool:
    if word == "h16" and isinstance(got, int) and isinstance(want, int):
        return got & 0xFFFF == want or (F16.is_nan(got & 0xFFFF) and F16.is_nan(want))
    form = FLOATS.get(word)
    if form is not None and isinstance(got, int) and isinstance(want, int) and got != want:
        return form.is_nan(got) and form.is_nan(want)
    return got == want


@pytest.mark.parametrize("op", sorted(ORACLES))
def test_vector_instruction(op: str) -> None:
    signature, oracle = ORACLES[op]
    left, right = (side.split() for side in signature.split("="))
    for rows in batches([w for w in right if w != "lane"], zlib.crc32(op.encode()), count=3 if len(right) < 3 else 4):
        results = run(op, signature, rows)
        columns = results if len(left) > 1 else [results]
        for lane in range(64):
            args = [row[lane] for row in rows]
            want = oracle(*args)
            wanted = want if len(left) > 1 else (want,)
            for word, column, expected in zip(left, columns, wanted, strict=True):
                shown = ", ".join(hex(a) if not isinstance(a, bool) else str(a) for a in args)
                good = (
                    _same_halves(HALVES[op], column[lane], expected)
                    if op in HALVES
                    else _same(word, column[lane], expected)
                )
                assert good, f"{op}({shown}): {column[lane]:#x}, expected {expected:#x}"
