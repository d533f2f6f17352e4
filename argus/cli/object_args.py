"""Arguments of a foreign code object on the command line.

--arg f32[4096]:normal      an array of seeded normal values     (also :zeros, :ones, :iota)
--arg bf16[128,256]         an array the kernel fills; starts as NaN
--arg @weights.npy          an array from a file
--arg i32=4096              a scalar (i32, u32, i64, f32)
--arg null                  a null pointer
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from argus.cli.usage import UsageError
from argus.device.guards import numpy_dtype
from argus.ir.types import DTYPES

MAX_ELEMENTS = 1 << 28
_ARRAY = re.compile(r"(?P<type>\w+)\[(?P<shape>[\d,\s]+)\](?::(?P<fill>\w+))?")
_SCALAR = re.compile(r"(?P<type>i32|u32|i64|f32)=(?P<value>[-+.\w]+)")
_SCALARS: dict[str, type[np.generic]] = {"i32": np.int32, "u32": np.uint32, "i64": np.int64, "f32": np.float32}


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument as given: its text and what is passed."""

    text: str
    value: npt.NDArray[np.generic] | np.generic | None


def parse_arguments(texts: list[str], seed: int) -> list[Argument]:
    """Every `--arg`, in order."""
    rng = np.random.default_rng(seed)
    return [_parse(text.strip(), rng) for text in texts]


def _parse(text: str, rng: np.random.Generator) -> Argument:
    if text == "null":
        return Argument(text, None)
    if text.startswith("@"):
        return Argument(text, _file(text[1:]))
    if scalar := _SCALAR.fullmatch(text):
        kind = _SCALARS[scalar["type"]]
        try:
            return Argument(text, kind(float(scalar["value"]) if kind is np.float32 else int(scalar["value"], 0)))
        except (ValueError, OverflowError) as error:
            raise UsageError(f"--arg {text}: not a value of type {scalar['type']}") from error
    if array := _ARRAY.fullmatch(text):
        if array["type"] not in DTYPES:
            raise UsageError(f"--arg {text}: unknown type {array['type']}; known are {', '.join(DTYPES)}")
        shape = tuple(int(n) for n in array["shape"].replace(" ", "").strip(",").split(","))
        if int(np.prod(shape, dtype=np.int64)) > MAX_ELEMENTS:
            raise UsageError(f"--arg {text}: more than {MAX_ELEMENTS} elements")
        return Argument(text, _filled(array["type"], shape, array["fill"], rng))
    raise UsageError(f"--arg {text}: expected type[shape][:fill], type=value, @file.npy or null")


def _file(path: str) -> npt.NDArray[np.generic]:
    try:
        loaded = np.load(Path(path), allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"--arg @{path}: {error}") from error
    if not isinstance(loaded, np.ndarray):
        raise UsageError(f"--arg @{path}: holds several arrays; give one .npy file per argument")
    return np.ascontiguousarray(loaded)


def _filled(name: str, shape: tuple[int, ...], fill: str | None, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    kind, dtype = DTYPES[name], numpy_dtype(DTYPES[name])
    if fill is None:
        blank: float | int = np.nan if kind.kind == "float" else 0 if kind.kind != "int" else -(2 ** (kind.bits - 1))
        return np.full(shape, blank).astype(dtype)
    if fill == "normal":
        return rng.standard_normal(shape).astype(dtype)
    if fill == "iota":
        return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    if fill in ("zeros", "ones"):
        return np.full(shape, float(fill == "ones")).astype(dtype)
    raise UsageError(f"unknown fill {fill!r}; use normal, zeros, ones or iota")
