"""Specifications of arrays at hand, without a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argus.spec import ResultSpec, Specification, of_arrays, read_specification


def specification(
    text: str, arrays: Mapping[str, np.ndarray[Any, Any]], symbols: Mapping[str, float] | None = None
) -> Specification:
    """The text over these arrays; a result that is none of them is a tensor with an axis for each of its indices."""
    results = {
        head.split("[")[0].strip(): np.zeros((1,) * (head.count(",") + 1))
        for head in (statement.split("]")[0] for statement in text.split(";"))
        if "[" in head
    }
    return read_specification(text, of_arrays({**results, **arrays}, symbols))


def stated(
    text: str, arrays: Mapping[str, np.ndarray[Any, Any]], symbols: Mapping[str, float] | None = None
) -> ResultSpec:
    """The only result of a text."""
    (found,) = specification(text, arrays, symbols).results
    return found
