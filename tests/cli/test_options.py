"""`--set`, `--shape` and `--arg` mean what they say, and what they do not say is an error."""

from __future__ import annotations

import argparse

import numpy as np
import pytest

from argus.cli.object_args import parse_arguments
from argus.cli.options import settings
from argus.cli.usage import UsageError


def given(*texts: str) -> argparse.Namespace:
    return argparse.Namespace(set=list(texts), shape=[])


def test_settings_are_typed() -> None:
    assert settings(given("BM=64,BK=0x20", "swizzle=false", "order=grouped")) == {
        "BM": 64,
        "BK": 32,
        "swizzle": False,
        "order": "grouped",
    }


@pytest.mark.parametrize("text", ["BM", "BM=", "=3", "B M=3", "BM=1,BM=2"])
def test_unreadable_settings(text: str) -> None:
    with pytest.raises(UsageError):
        settings(given(text))


def test_arguments() -> None:
    array, out, scalar, null = parse_arguments(["f32[4,2]:iota", "bf16[3]", "i32=-7", "null"], seed=0)
    np.testing.assert_array_equal(array.value, np.arange(8, dtype=np.float32).reshape(4, 2))
    assert np.isnan(np.asarray(out.value).astype(np.float32)).all()
    assert scalar.value == np.int32(-7)
    assert null.value is None


def test_seed_decides_the_data() -> None:
    first, second = (parse_arguments(["f32[64]:normal"], seed=s)[0].value for s in (1, 1))
    other = parse_arguments(["f32[64]:normal"], seed=2)[0].value
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    "text", ["f33[4]", "f32[4]:nine", "f32", "i32=x", "@/does/not/exist.npy", "f32[99999999999]", ""]
)
def test_unreadable_arguments(text: str) -> None:
    with pytest.raises(UsageError):
        parse_arguments([text], seed=0)
