"""One generated kernel: its text, the launches to try, and what it means in numpy.

`meaning(arrays, sizes)` gives, for each written tensor, the value of every element and how far a right kernel may be
from it. It knows nothing of Argus: it is written beside the text by the generator that wrote the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.verdict_fuzz.bounded import Real

Arrays = Mapping[str, NDArray[Any]]
Sizes = Mapping[str, int]
Meaning = Callable[[Arrays, Sizes], dict[str, Real]]
Draw = Callable[[np.random.Generator, tuple[int, ...], Sizes], NDArray[Any]]


@dataclass(frozen=True)
class Generated:
    """`constructs` are the features of the language it uses, for the tables. `draws` are inputs that are not free:
    indices of a gather. Arrays the meaning does not name are not judged."""

    family: str
    source: str
    constructs: tuple[str, ...]
    launches: tuple[dict[str, int], ...]
    meaning: Meaning
    scalars: Mapping[str, float] = field(default_factory=dict)
    draws: Mapping[str, Draw] = field(default_factory=dict)
    kernel: str = "k"
    settings: Mapping[str, Any] = field(default_factory=dict)
    unused: frozenset[str] = frozenset()
    others: tuple[Generated, ...] = ()
    """The same program with other scalars."""
    mistaken: bool = False
    """The specification says something else on purpose; `meaning` is its."""


@dataclass(frozen=True)
class ElementType:
    """An element type of the language, as the generator writes it."""

    name: str
    size: int
    real: bool = True


F32, BF16, F16 = ElementType("f32", 4), ElementType("bf16", 2), ElementType("f16", 2)
FP8, BF8 = ElementType("fp8", 1), ElementType("bf8", 1)
I32, I16, I8, U8 = (ElementType(n, s, False) for n, s in (("i32", 4), ("i16", 2), ("i8", 1), ("u8", 1)))
FLOATS = (F32, F32, F32, BF16, BF16, F16)


def widths(kind: ElementType, neighbours: int) -> list[int]:
    """Bytes one access may move when so many elements of a thread lie next to each other."""
    return [w for w in (1, 2, 4, 8, 16) if w % kind.size == 0 and neighbours * kind.size % w == 0]


def around(span: int, least: int = 1) -> tuple[int, ...]:
    """Sizes around multiples of a tile."""
    return tuple(n for n in dict.fromkeys((span, span + 1, span - 1, 1, 2 * span + 3, 2 * span)) if n >= least)


def as_f32(tile: str, kind: ElementType) -> str:
    return tile if kind == F32 else f"{tile}.to(f32)"


def as_kind(text: str, kind: ElementType) -> str:
    return text if kind == F32 else f"({text}).to({kind.name})"


def header(*types: ElementType, also: str = "") -> str:
    names = sorted({"f32", *(t.name for t in types)})
    return f"import argus as ag\nfrom argus import {', '.join(names)}\n{also}\n"


def pick(dice: Random, chance: float) -> bool:
    return dice.random() < chance
