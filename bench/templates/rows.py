"""Lengths of rows that cover every remainder of the row kernels' pieces, and the cases made of them."""

from __future__ import annotations

from argus.ir.kernel import KnobValue
from bench.templates.template import Case, Step, step

Knobs = dict[str, KnobValue]

WAVE: Knobs = {"DTYPE": "f32", "WAVES": 1, "CHUNKS": 1, "WIDTH": 4}
"""A wave holds a row of at most 256; four rows to a workgroup."""
FOUR: Knobs = {"DTYPE": "f32", "WAVES": 4, "CHUNKS": 1, "WIDTH": 4}
"""Four waves hold, or walk in pieces of, 1024."""
NARROW: Knobs = {"DTYPE": "bf16", "WAVES": 2, "CHUNKS": 1, "WIDTH": 16}
LARGE: Knobs = {"DTYPE": "f32", "WAVES": 4, "CHUNKS": 2, "WIDTH": 16}

HELD_WAVE = (1, 2, 3, 5, 63, 64, 65, 127, 129, 255, 256)
HELD_FOUR = (1, 255, 257, 1023, 1024)
WALKED = (1, 3, 255, 257, 1023, 1024, 1025, 2047, 2048, 2049, 3000)


def held(file: str, kernel: str, knobs: Knobs) -> list[Step]:
    """Rows held in registers: every remainder of lanes, vectors and pieces; rows beside a multiple of four."""
    return [
        *(step(file, kernel, WAVE | knobs, M=m, N=n) for n in HELD_WAVE for m in (1, 4 + n % 3)),
        *(step(file, kernel, FOUR | knobs, M=m, N=n) for n in HELD_FOUR for m in (1, 3)),
        step(file, kernel, NARROW | knobs, M=3, N=1000),
    ]


def walked(file: str, kernel: str, knobs: Knobs) -> list[Step]:
    """Rows walked in pieces of 1024, and of 256 by one wave."""
    return [
        *(step(file, kernel, FOUR | knobs, M=2, N=n) for n in WALKED),
        *(step(file, kernel, WAVE | knobs, M=5, N=n) for n in (255, 256, 257, 511, 513)),
        step(file, kernel, NARROW | knobs, M=3, N=2040),
    ]


def only_walked(file: str, kernel: str, knobs: Knobs) -> list[Step]:
    """Enough cases for a kernel that always walks."""
    rows = [*(step(file, kernel, FOUR | knobs, M=m, N=n) for n in WALKED for m in (1, 3))]
    few = [
        *(step(file, kernel, WAVE | knobs, M=m, N=n) for n in (1, 255, 256, 257, 511, 512, 513, 700) for m in (4, 7))
    ]
    return [*rows, *few, *(step(file, kernel, NARROW | knobs, M=3, N=n) for n in (8, 1024, 2040))]


def alone(steps: list[Step]) -> tuple[Case, ...]:
    """Each launch as a case."""
    return tuple((found,) for found in steps)
