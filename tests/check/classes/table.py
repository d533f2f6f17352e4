"""The attack classes: kernels that an unsound rule proves, beside right siblings that must stay proved.

A kernel file holds the variants of one class, chosen by its knob CASE. `right` are the variants that are right on every
execution the semantics allows (`docs/semantics.md`), and must be proved. Every other variant may be refuted, unknown or
refused; it may be proved only if the machine agrees at every launch. `never` are variants whose result the semantics
leaves open: whatever the machine does, they must not be proved. `exact` are variants that must be right on the machine,
whatever the checker says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Arrays = Mapping[str, Any]
KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class AttackClass:
    """One kernel file: its number of variants, launches to try, and the reference of each output."""

    name: str
    variants: int
    launches: tuple[dict[str, int], ...]
    reference: Callable[[Arrays], dict[str, Any]]
    right: frozenset[int] = frozenset()
    never: frozenset[int] = frozenset()
    exact: frozenset[int] = frozenset()

    @property
    def path(self) -> Path:
        return KERNELS / f"{self.name}.py"


def _same(source: str, target: str) -> Callable[[Arrays], dict[str, Any]]:
    return lambda arrays: {target: arrays[source]}


def _later(source: str, target: str, shift: int) -> Callable[[Arrays], dict[str, Any]]:
    """The result at n is the source at n - shift on its outermost axis, zero before its start."""

    def moved(arrays: Arrays) -> dict[str, Any]:
        given = arrays[source]
        return {target: np.concatenate([np.zeros_like(given[:1]).repeat(shift, axis=0), given])[: len(given)]}

    return moved


def _diagonal(source: str, target: str) -> Callable[[Arrays], dict[str, Any]]:
    """The result is the source one row and one column before, zero outside of an image."""

    def moved(arrays: Arrays) -> dict[str, Any]:
        made = np.zeros_like(arrays[source])
        made[..., 1:, 1:] = arrays[source][..., :-1, :-1]
        return {target: made}

    return moved


def _sizes(name: str, *values: int) -> tuple[dict[str, int], ...]:
    return tuple({name: value} for value in values)


ALL = frozenset(range(24))
SIZES = (1, 2, 3, 253, 254, 255, 256, 1021, 1023, 1025)

CLASSES = (
    AttackClass(
        "arms", 24, _sizes("S", 1, 32, 33, 64), _same("y", "z"),
        right=frozenset({12, 15, 16, 17, 18, 19, 23}), never=frozenset({*range(12), 13, 22}),
    ),
    AttackClass("tails", 24, _sizes("N", *SIZES), _same("x", "y"), right=ALL - {16}, exact=ALL),
    AttackClass(
        "tail_sums", 12, _sizes("N", 1, 2, 3, 254, 255, 256, 1021, 1023, 1024),
        lambda a: {"y": np.asarray([a["x"].astype(np.float64).sum()])}, exact=frozenset(range(12)),
    ),
    AttackClass(
        "issued", 24, _sizes("S", 1, 3, 6, 7), _same("X", "Y"),
        right=frozenset({15, 16, 17, 18, 20, 23}), never=frozenset({*range(13), 14, 22}),
    ),
    AttackClass(
        "register_waits", 20, ({"N": 128, "K": 2}, {"N": 384, "K": 2}), lambda a: {"y": a["x"].sum(axis=0)},
        right=frozenset(range(10, 15)), never=frozenset({*range(10), *range(16, 19)}), exact=frozenset({15}),
    ),
    AttackClass(
        "rings", 18, _sizes("K", 2, 3, 4), _same("X", "Y"),
        right=frozenset({3}), never=frozenset({0, 2, 5, 6, 8, 12, 13, 14, 16}),
    ),
    AttackClass(
        "shifts", 18, tuple({"N": n, "S": s} for n in (1, 64) for s in (7, 20, 31, 32, 33, 70)), _same("x", "y"),
        right=frozenset({12, 15}),
    ),
    AttackClass(
        "shift_amounts", 32, _sizes("N", 1, 100), _same("x", "y"),
        right=frozenset(range(22)), exact=frozenset(range(22)), never=frozenset(range(22, 32)),
    ),
    AttackClass(
        "wraps", 24,
        tuple(
            {"N": 63, "M": 1, "sA": s, "sB": t}
            for s, t in ((1, 1), (10000, 9999), (65536, 65536), (2**26, 3), (2**31 - 1, 1), (2**31 - 1, 2**31 - 1))
        ),
        _same("x", "y"), right=frozenset({18, 19, 20}),
    ),
    AttackClass("copies", 16, ({},), _same("X", "Y"), right=frozenset({6, 9, 10, 11, 13, 15})),
    AttackClass(
        "blocks", 16, _sizes("N", 1, 63, 64), _same("x", "y"), right=frozenset({15}), exact=frozenset(range(16)) - {5},
    ),
    AttackClass(
        "tall", 4, ({"M": 1, "N": 3}, {"M": 3, "N": 2}, {"M": 512, "N": 2}),
        _same("x", "y"), right=frozenset({0, 1, 2, 3}),
    ),
    AttackClass(
        "before", 22, _sizes("N", *SIZES), _later("x", "y", 4), right=frozenset({*range(11), 18}),
        never=frozenset({11, 12, 13, 17, 19, 20, 21}), exact=frozenset({*range(11), 18}),
    ),
    AttackClass(
        "before_rows", 10, ({"M": 1, "N": 32}, {"M": 2, "N": 64}, {"M": 13, "N": 96}, {"M": 16, "N": 32}),
        _later("x", "y", 2), right=frozenset(range(4)), never=frozenset(range(4, 10)) - {6}, exact=frozenset(range(4)),
    ),
    AttackClass(
        "padded_images", 20, tuple({"Z": 2, "C": c, "H": h, "W": w} for c, h, w in ((1, 1, 1), (3, 4, 16), (2, 5, 33))),
        _diagonal("x", "y"), right=frozenset(range(4)), never=frozenset(range(5, 19)) - {16},
        exact=frozenset({*range(5), 16, 19}),
    ),
    AttackClass(
        "turns", 16, ({"M": 8, "N": 32}, {"M": 24, "N": 96}, {"M": 40, "N": 64}, {"M": 16, "N": 160}),
        _same("x", "y"), right=frozenset({0, 1, 2, 4, 5}), never=frozenset(range(6, 16)), exact=frozenset(range(6)),
    ),
    AttackClass(
        "last_slot", 16, _sizes("K", 1, 2, 3, 4, 5, 7), _same("X", "Y"),
        never=frozenset({4, *range(6, 10), *range(11, 16)}), exact=frozenset({0, 1, 2, 3, 5}),
    ),
)  # fmt: skip
