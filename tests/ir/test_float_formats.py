"""`nearest` against numpy and ml_dtypes, over all magnitudes."""

from __future__ import annotations

import numpy as np
import pytest

from argus.ir.float_formats import FORMATS, nearest
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.types import DTYPES


@pytest.mark.parametrize("name", sorted(FORMATS.keys() & DTYPES.keys()))
def test_the_nearest_number_is_the_converted_one(name: str) -> None:
    dtype, dice = DTYPES[name], np.random.default_rng(5)
    row = FORMATS[name]
    drawn = dice.uniform(1, 2, 4000) * 2.0 ** dice.integers(row.least - row.digits - 2, 140, 4000)
    ties = np.arange(1, 600) * 2.0 ** (row.least - row.digits)
    numbers = np.concatenate([drawn, ties, np.arange(300.0), [row.largest]])
    numbers = np.concatenate([numbers, -numbers])
    numbers = numbers[np.abs(numbers) <= row.largest] if name in ("fp8", "bf8") else numbers
    with np.errstate(over="ignore"):
        want = numbers.astype(numpy_dtype(dtype)).astype(np.float64)
    assert [nearest(float(n), dtype) for n in numbers] == want.tolist()
