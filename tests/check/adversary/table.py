"""What each adversary kernel computes and whether it is right, decided by its author before any checker saw it.

A kernel file holds variants of one kernel, chosen by its knob CASE. Here each variant has a line: `right`, `wrong`, or
`refused` (the reader must not even accept it), what is special about it, and the launches at which the interpreter
executes it. The reference is numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = Mapping[str, Array]
KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Family:
    """One kernel file: launches to try, the reference of each output, and the tolerance of comparisons."""

    name: str
    launches: tuple[dict[str, int], ...]
    reference: Callable[[Arrays], dict[str, Array]]
    variants: tuple[tuple[str, str], ...]
    """(`right`, `wrong` or `refused`, what is special), in the order of CASE."""
    tolerance: float = 0.0
    atomic: bool = False
    """Elements of the output may be written more than once."""


@dataclass(frozen=True)
class Adversary:
    """One variant of a family."""

    family: Family
    case: int
    label: str
    what: str

    @property
    def path(self) -> Path:
        return KERNELS / f"{self.family.name}.py"

    def __str__(self) -> str:
        return f"{self.family.name}-{self.case}"


def _product(arrays: Arrays) -> Array:
    return arrays["A"].astype(np.float64) @ arrays["B"].astype(np.float64).T


def _softmax(arrays: Arrays) -> dict[str, Array]:
    x = arrays["X"].astype(np.float64)
    e = np.exp(x - x.max(-1, keepdims=True))
    return {"Y": e / e.sum(-1, keepdims=True)}


def _rmsnorm(arrays: Arrays) -> dict[str, Array]:
    x = arrays["X"].astype(np.float64)
    return {"Y": x / np.sqrt((x * x).sum(-1, keepdims=True) / 512) * arrays["W"]}


def _attention(arrays: Arrays) -> dict[str, Array]:
    q, k, v = (arrays[n].astype(np.float64) for n in "QKV")
    s = np.where(np.arange(len(k)) <= np.arange(len(q))[:, None], q @ k.T, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return {"O": e / e.sum(-1, keepdims=True) @ v}


def _sizes(names: str, *rows: tuple[int, ...]) -> tuple[dict[str, int], ...]:
    return tuple(dict(zip(names.split(), row, strict=True)) for row in rows)


FAMILIES = (
    Family(
        "gemm",
        _sizes("M N K", (64, 64, 64), (128, 64, 96)),
        lambda a: {"C": _product(a)},
        (
            ("right", "plain"),
            ("right", "operands exchanged together with the accumulator's axes"),
            ("right", "a second barrier and priorities"),
            ("wrong", "no barrier before the next tile is stored"),
            ("wrong", "no barrier before the tile is read"),
            ("wrong", "A read 8 wide, B read 4 wide: other k in the same slot"),
            ("wrong", "the loop starts with the second tile"),
            ("wrong", "the loop does one tile too many: it reads the next row"),
            ("wrong", "every second K slice counted twice, the others never"),
            ("wrong", "B's K slice lags behind A's every second turn"),
            ("wrong", "A's fragment of the column's wave number"),
            ("wrong", "a bare barrier does not wait for the stores"),
            ("wrong", "neighbouring lanes exchange their rows of A"),
            ("right", "another order of k in both operands"),
            ("wrong", "another order of k in A only"),
            ("wrong", "the barrier stands between the two stores"),
            ("wrong", "halves of B's fragment exchanged"),
        ),
    ),
    Family(
        "ktail",
        _sizes("M N K", (64, 64, 40), (64, 128, 8), (64, 64, 72)),
        lambda a: {"C": _product(a)},
        (
            ("right", "guard by the k coordinate"),
            ("right", "guard by the shape"),
            ("wrong", "the buffer's end trusted: the tail reads the next row"),
            ("wrong", "guard in bytes of another type"),
            ("wrong", "trip count rounded down"),
            ("wrong", "guard includes K itself"),
            ("wrong", "guard by the tile, not by the element"),
            ("right", "guard written as a distance"),
        ),
    ),
    Family(
        "ntail",
        _sizes("M N K", (64, 50, 16), (64, 7, 32), (128, 65, 16)),
        lambda a: {"C": _product(a)},
        (
            ("right", "guard by the shape"),
            ("wrong", "the buffer's end trusted: the tail writes the next row"),
            ("wrong", "guard compares a column with the number of rows"),
            ("wrong", "grid rounded down"),
            ("right", "guard by the column"),
            ("wrong", "guard forgets where the tile starts"),
            ("wrong", "guard one too wide"),
        ),
        tolerance=1e-6,
    ),
    Family(
        "ring",
        _sizes("M N K", (64, 64, 128), (64, 64, 224)),
        lambda a: {"C": _product(a)},
        (
            ("right", "two slots, one ahead"),
            ("right", "three slots, two ahead"),
            ("wrong", "two slots, two ahead"),
            ("wrong", "the next slot is read"),
            ("wrong", "no barrier"),
            ("wrong", "the prologue fills the wrong slot"),
            ("wrong", "the last tile is never put into its slot"),
            ("right", "past the end zeros are stored that nobody reads"),
            ("wrong", "a barrier every second turn only"),
            ("wrong", "three slots, three ahead"),
            ("wrong", "the tile put into the next slot is this turn's"),
            ("wrong", "the slot being read is refilled"),
            ("right", "slot j + 2 of two is slot j"),
        ),
    ),
    Family(
        "direct",
        _sizes("M", (8,), (24,)),
        lambda a: {"Y": a["X"]},
        (
            ("right", "wait, then barrier"),
            ("wrong", "no wait"),
            ("wrong", "one of the two copies is waited for"),
            ("wrong", "the wait after the barrier"),
            ("wrong", "no barrier"),
            ("wrong", "halves of the tile exchanged"),
            ("right", "the copies have been waited for, so the barrier may be bare"),
        ),
    ),
    Family(
        "transpose",
        _sizes("M N", (64, 96), (32, 32)),
        lambda a: {"Y": a["X"].T},
        (
            ("right", "padded rows"),
            ("right", "swizzled rows"),
            ("wrong", "no barrier"),
            ("wrong", "blocks not transposed"),
            ("wrong", "stored under other rows than it was read from"),
            ("right", "rows taken in another order, kept with their coordinates"),
            ("wrong", "rows taken in another order, stored in the usual one"),
            ("refused", "a barrier only wave 0 reaches"),
            ("wrong", "the last wave stores nothing"),
        ),
    ),
    Family(
        "softmax",
        _sizes("M N", (2, 500), (4, 4), (2, 512)),
        _softmax,
        (
            ("right", "plain"),
            ("wrong", "the mask includes N"),
            ("wrong", "the mask excludes the last column"),
            ("wrong", "columns past the end count as exp(0)"),
            ("right", "a shift that cancels"),
            ("wrong", "half of the lanes summed"),
            ("right", "butterfly by hand"),
            ("wrong", "one step of the butterfly done twice, one never"),
            ("right", "rotations by hand"),
            ("wrong", "an element left out of the sum"),
            ("wrong", "stores reach the next row"),
        ),
        tolerance=1e-5,
    ),
    Family(
        "rmsnorm",
        _sizes("M", (2,), (3,)),
        _rmsnorm,
        (
            ("right", "two waves, parts exchanged through LDS"),
            ("wrong", "one wave's part only"),
            ("wrong", "mean of half the row's length"),
            ("wrong", "sum of the elements instead of their squares"),
            ("wrong", "no barrier between the exchange's halves"),
            ("wrong", "one part twice, the other never"),
            ("wrong", "the weight forgotten"),
            ("wrong", "the weight taken twice"),
            ("wrong", "the own part counted twice"),
        ),
        tolerance=1e-5,
    ),
    Family(
        "vector",
        _sizes("N", (1000,), (4,), (4096,)),
        lambda a: {"z": a["x"] - a["y"]},
        (
            ("right", "plain"),
            ("wrong", "x - x"),
            ("wrong", "neighbouring lanes exchange x"),
            ("right", "neighbouring lanes exchange x twice"),
            ("wrong", "x one vector further"),
            ("wrong", "grid rounded down"),
            ("right", "two tiles per workgroup"),
            ("wrong", "two overlapping tiles per workgroup, half of the vector never"),
            ("wrong", "y - x"),
            ("wrong", "x - 2 y"),
            ("wrong", "x"),
            ("right", "-(y - x)"),
            ("wrong", "stored in the opposite order within a thread"),
            ("right", "a workgroup too many, which the buffer's end makes idle"),
        ),
    ),
    Family(
        "splitk",
        _sizes("M N K", (32, 32, 64), (64, 32, 96), (32, 32, 48)),
        lambda a: {"C": a["C"] + _product(a)},
        (
            ("right", "consecutive shares"),
            ("wrong", "shares overlap by one step"),
            ("wrong", "shares rounded down lose the rest of K"),
            ("wrong", "plain stores overwrite each other"),
            ("right", "interleaved shares"),
            ("wrong", "all take the first share"),
            ("wrong", "added at transposed coordinates"),
        ),
        tolerance=1e-6,
        atomic=True,
    ),
    Family(
        "parts",
        _sizes("M S K", (64, 1, 2), (64, 3, 6), (128, 2, 4)),
        lambda a: {"Y": a["A"].astype(np.float64).reshape(-1, 2, a["A"].shape[1]).sum(1)},
        (
            ("right", "begun anew in every turn"),
            ("wrong", "never begun anew: sums of all rows so far"),
            ("wrong", "every other row, never begun anew"),
            ("wrong", "one row twice, the other never"),
            ("wrong", "a row of the next part too"),
            ("wrong", "stored in the opposite order"),
            ("wrong", "doubled"),
            ("wrong", "the last part stored twice"),
        ),
        tolerance=1e-6,
    ),
    Family(
        "edges",
        _sizes("M P", (64, 3), (100, 1), (192, 70)),
        lambda a: {"Y": a["X"]},
        (
            ("right", "the buffer's end"),
            ("wrong", "elements before P are never stored"),
            ("wrong", "elements before a loaded number are never stored"),
            ("right", "a branch that only leaves out what is outside"),
            ("wrong", "a branch that leaves out the last element"),
            ("right", "both sides store"),
        ),
    ),
    Family(
        "rowsum",
        _sizes("M N", (2, 300), (3, 4), (1, 1024)),
        lambda a: {"s": a["X"].astype(np.float64).sum(-1)},
        (
            ("right", "guard by the column"),
            ("wrong", "tiles rounded down"),
            ("wrong", "the buffer's end trusted"),
            ("wrong", "guard forgets the tile's start"),
            ("wrong", "the first tile counted twice"),
            ("wrong", "tiles overlap by four columns"),
            ("wrong", "only the last tile counts"),
            ("wrong", "one register of four left out"),
            ("right", "guard by the shape"),
        ),
        tolerance=1e-5,
    ),
    Family(
        "bias",
        _sizes("M N K", (64, 96, 16), (128, 32, 32)),
        lambda a: {"C": _product(a) + a["b"]},
        (
            ("right", "plain"),
            ("wrong", "the bias of the row"),
            ("wrong", "the bias of the first columns"),
            ("right", "workgroups numbered by hand"),
            ("wrong", "workgroups numbered by the other extent"),
            ("right", "workgroups numbered by columns"),
            ("right", "grouped order"),
            ("right", "chiplet order"),
            ("wrong", "the bias twice"),
            ("wrong", "no bias"),
        ),
        tolerance=1e-6,
    ),
    Family(
        "gather",
        _sizes("P B", (8, 3), (2, 5)),
        lambda a: {"out": a["cache"][a["table"]]},
        (
            ("right", "plain"),
            ("wrong", "the table one further"),
            ("wrong", "half of the lanes one row further"),
            ("wrong", "stored at the page's own number"),
        ),
    ),
    Family(
        "reuse",
        _sizes("N", (256,), (512,)),
        lambda a: {"z": a["x"] + a["y"]},
        (
            ("right", "barriers on both sides of the second use"),
            ("wrong", "no barrier before the slot is used again"),
            ("wrong", "no barrier after the second store"),
            ("wrong", "slots 0 and 2 of two are the same memory"),
            ("right", "two slots"),
            ("right", "two slots, one barrier"),
        ),
    ),
    Family(
        "attention",
        _sizes("Sq Sk", (64, 64), (128, 128)),
        _attention,
        (
            ("right", "plain"),
            ("wrong", "the diagonal masked too"),
            ("wrong", "the accumulator is not rescaled"),
            ("wrong", "the denominator is not rescaled"),
            ("wrong", "one step too few"),
            ("wrong", "the mask one key too wide"),
            ("wrong", "keys counted from the start of each step"),
            ("wrong", "no barrier before the next keys are stored"),
            ("wrong", "queries and keys meet at different head coordinates"),
            ("wrong", "the maximum kept is the first one"),
            ("wrong", "no mask"),
        ),
        tolerance=2e-2,
    ),
    Family(
        "taps",
        _sizes("M N K", (64, 64, 32), (64, 64, 96)),
        lambda a: {"C": np.einsum("rmk,rnk->mn", a["A"].astype(np.float64), a["B"].astype(np.float64))},
        (
            ("right", "taps and channels summed in one accumulator"),
            ("wrong", "no barrier before the next tap's first tile is stored"),
        ),
    ),
    Family(
        "roundtrip",
        _sizes("N", (512,), (256,)),
        lambda a: {"z": a["x"] * 2},
        (
            ("right", "stored, waited for, met, loaded again"),
            ("wrong", "loaded again from other waves without a barrier"),
            ("wrong", "a barrier that does not wait for the global store"),
            ("right", "a barrier on either side of a branch of the workgroup"),
            ("refused", "a barrier only half of the waves reach"),
            ("wrong", "every second workgroup stores nothing"),
            ("wrong", "half of the lanes store nothing"),
        ),
    ),
    Family(
        "barriers",
        _sizes("N", (256,), (1024,), (2304,)),
        lambda a: {"z": a["x"]},
        (
            ("right", "a barrier on either side of a branch"),
            ("wrong", "a barrier in even workgroups only"),
            ("wrong", "no barrier in the last workgroup"),
            ("wrong", "no barrier for small sizes"),
            ("right", "a loop with a barrier on either side of a branch"),
            ("wrong", "a barrier in the first turns only"),
            ("wrong", "no barrier in the last turn"),
            ("wrong", "barriers in an inner loop that does not run in the first turn"),
            ("wrong", "a barrier in odd turns only"),
            ("wrong", "barriers in an inner loop that does not run for small sizes"),
            ("right", "barriers in an inner loop that runs at least once"),
            ("wrong", "a barrier in three turns of four"),
            ("wrong", "every third turn stores what the third turn after it loads"),
            ("right", "every third turn, with a barrier after the store"),
            ("wrong", "stored, loaded and met in different turns"),
            ("wrong", "every second turn stores what the second turn after it loads"),
        ),
    ),
    Family(
        "narrow",
        _sizes("N", (256,), (1000,)),
        lambda a: {"z": a["x"].astype(np.int64) * 64},
        (
            ("right", "widened, then multiplied"),
            ("wrong", "multiplied, then widened"),
            ("wrong", "shifted, then widened"),
            ("right", "widened, then shifted"),
            ("wrong", "the product wraps in eight bits"),
            ("wrong", "the product is clamped to eight bits"),
            ("wrong", "the product wraps in eight bits without a sign"),
            ("right", "sixteen bits hold every product"),
            ("wrong", "the sign is lost"),
            ("right", "multiplied as f32, which is exact here"),
        ),
    ),
    Family(
        "factors",
        _sizes("N", (256,), (516,), (3000,)),
        lambda a: {"z": a["X"]},
        (
            ("right", "doubled and halved"),
            ("wrong", "square root times itself: negative numbers"),
            ("wrong", "multiplied and divided by what may be zero"),
            ("wrong", "root of the square: the sign"),
            ("wrong", "exponential of the logarithm"),
            ("wrong", "through an integer"),
            ("wrong", "negative numbers become zero"),
            ("wrong", "another tensor at one size"),
            ("wrong", "another tensor in one workgroup"),
            ("right", "added and subtracted"),
            ("wrong", "the first lane's number"),
            ("wrong", "another tensor in one lane of 64"),
            ("wrong", "another tensor in the last row of lanes"),
            ("wrong", "another tensor in the last register"),
        ),
        tolerance=1e-6,
    ),
    Family(
        "blocks",
        _sizes("N", (256,), (1024,), (2304,), (2560,)),
        lambda a: {"z": a["x"]},
        (
            ("right", "rotated by one"),
            ("wrong", "eight chiplets, but not a multiple of eight tiles"),
            ("wrong", "modulo eight"),
            ("wrong", "modulo one less than there are"),
            ("wrong", "pairs exchanged, but an odd number of tiles"),
            ("right", "from the end"),
            ("wrong", "at most the eighth"),
            ("wrong", "every second tile twice"),
            ("right", "strides of the grid, rounded up"),
            ("wrong", "strides of the grid, rounded down"),
            ("right", "chiplet order of the language"),
            ("wrong", "the tenth workgroup repeats the ninth before it"),
        ),
    ),
    Family(
        "turns",
        _sizes("M N", (2, 256), (3, 100), (2, 1028), (2, 2560)),
        lambda a: {"s": a["X"].astype(np.float64).sum(-1)},
        (
            ("right", "first half, then second half"),
            ("wrong", "the halves overlap by one tile if their number is odd"),
            ("wrong", "one tile is left out if their number is odd"),
            ("wrong", "every second tile"),
            ("wrong", "the first eight tiles"),
            ("wrong", "nothing for long rows"),
            ("right", "added on either side of a branch"),
            ("wrong", "tile i is added i + 1 times"),
            ("right", "pairs in an inner loop, the odd one afterwards"),
            ("wrong", "pairs in an inner loop, the odd one never"),
            ("wrong", "at most eight turns"),
            ("wrong", "the sum of a row starts with the row before"),
            ("right", "several rows, each starting with zero"),
            ("wrong", "stored in every turn"),
            ("wrong", "the first tile twice"),
            ("right", "starts with the first tile"),
            ("wrong", "tiles drift apart by one column each turn"),
            ("wrong", "the ragged tile is guarded as a whole"),
            ("wrong", "the last but one tile again and again"),
            ("right", "from the end"),
            ("wrong", "from the end, one too far"),
            ("wrong", "the eighth tile again and again"),
            ("wrong", "the tenth tile of the next row"),
            ("wrong", "two tiles a turn, the last one twice if their number is odd"),
            ("wrong", "the tenth tile counts nothing"),
            ("wrong", "odd tiles of another tensor"),
            ("right", "two tiles a turn"),
        ),
        tolerance=1e-5,
    ),
    Family(
        "orders",
        tuple({"M": 8 * rows, "N": 32 * columns} for rows, columns in ((1, 1), (3, 2), (5, 3), (7, 5))),
        lambda arrays: {"y": arrays["x"]},
        (
            ("right", "by chiplet"),
            ("wrong", "by chiplet, the remainder forgotten"),
            ("wrong", "by chiplet, the share for the remainder"),
            ("wrong", "by chiplet, chiplet and turn exchanged"),
            ("right", "groups of three rows, the last one smaller"),
            ("wrong", "groups of three rows, the last one not smaller"),
            ("wrong", "groups of three rows, two apart"),
            ("right", "from the last row"),
            ("wrong", "from behind the last row"),
            ("right", "to and fro"),
            ("wrong", "to and fro, one too far"),
            ("wrong", "digits of different bases"),
        ),
    ),
    Family(
        "lazy",
        tuple({"M": 2, "N": n} for n in (256, 257, 700, 1024)),
        lambda arrays: {"s": np.log2(np.exp2(arrays["R"].astype(np.float64)).sum(-1))},
        (
            ("right", "the maximum of every tile"),
            ("right", "a maximum that lags behind"),
            ("wrong", "the sum is not rescaled"),
            ("wrong", "rescaled by the maximum, weights by what lags behind"),
            ("wrong", "weights by the maximum, rescaled by what lags behind"),
            ("wrong", "added to the maximum instead of what was subtracted"),
            ("wrong", "twice the sum"),
            ("wrong", "one column past the end"),
            ("wrong", "zeros past the end count"),
            ("wrong", "the last tile is lost"),
        ),
        tolerance=1e-5,
    ),
    Family(
        "stages",
        tuple({"M": 2, "T": t} for t in (1, 2, 5)),
        lambda arrays: {"y": arrays["x"].sum(axis=1)},
        (
            ("right", "ring of three, one barrier"),
            ("right", "ring of two, one barrier"),
            ("wrong", "one slot, one barrier"),
            ("right", "ring of three, two tiles ahead"),
            ("wrong", "ring of two, two tiles ahead"),
            ("wrong", "reads the next slot"),
            ("wrong", "the second slot is not filled before the loop"),
            ("wrong", "ends one tile early"),
            ("wrong", "no barrier"),
            ("right", "a second barrier in every turn"),
        ),
    ),
)

ALWAYS = frozenset(
    {"barriers-1", "barriers-12", "narrow-1", "narrow-4", "factors-1", "factors-2", "parts-1", "edges-1", "edges-3"}
)
"""Variants once proved although wrong: they run with the other tests in any case."""

ADVERSARIES = tuple(
    Adversary(family, case, label, what) for family in FAMILIES for case, (label, what) in enumerate(family.variants)
)
