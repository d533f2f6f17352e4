"""Composite functions on the machine: the object gives the interpreter's bits, in every type and count."""

from __future__ import annotations

import numpy as np
import pytest

from argus.ir.interp.numbers import elementwise
from argus.ir.maps import MAPS
from argus.ir.types import DTYPES
from bench.elementwise_error import differing
from tests.compile.harness import NUMPY, WAVE, run
from tests.compile.test_ops import SPECIAL

NEW = [name for name, row in MAPS.items() if row.program is not None]
PARTS = ("ldexp", "mantissa", "exponent", "copysign")


@pytest.mark.parametrize("name", [*NEW, *PARTS])
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_same_bits(name: str, dtype: str) -> None:
    """Against the interpreter; NaNs of any payload."""
    if dtype != "f32" and name in PARTS:
        pytest.skip("parts of numbers are taken in f32")
    rng = np.random.default_rng(7)
    for count in (1, 4):
        args = []
        for n in range(MAPS[name].arity):
            x = rng.standard_normal((WAVE, count)) * 2.0 ** rng.integers(-9, 9, (WAVE, count))
            x = np.where(rng.random(x.shape) < 0.3, rng.choice(SPECIAL, x.shape), x)
            x = np.rint(x) if name == "ldexp" and n else x
            with np.errstate(over="ignore"):
                args.append(x.astype(np.float32).astype(NUMPY[dtype]))
        got = run(lambda b, *values: b.map(name, *values), *args)
        want = elementwise(name, tuple(args), DTYPES[dtype])
        nan = np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32))
        word = f"u{got.itemsize}"
        assert ((got.view(word) == want.view(word)) | nan).all()


@pytest.mark.parametrize("name", NEW)
def test_same_bits_over_all_exponents(name: str) -> None:
    assert differing(MAPS[name], 1 << 13, seed=5) == 0
