"""Conversions between any two types of numbers, cut off or not, rounded to nearest or toward zero.

    z[i] = minimum(maximum(X[i], -240), 240)      x.to(fp8, saturate=True).to(f32) of an x of bf16
    z[i] = X[i]                                   the same kernel, wrong beyond 240

The numbers are drawn around the ends of the target; without `saturate` within them, as the premises of proofs say.
Of i64 to floats they have 31 bits: beyond them the object rounds by integer arithmetic, which exact algebra computes.
To integers they have 61, which a specification can compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.program import (
    BF8,
    BF16,
    F16,
    F32,
    FP8,
    I8,
    I16,
    I32,
    U8,
    Arrays,
    Draw,
    ElementType,
    Generated,
    Sizes,
    around,
    header,
    pick,
)  # fmt: skip

F64, I64 = ElementType("f64", 8), ElementType("i64", 8, False)
U32, U16 = ElementType("u32", 4, False), ElementType("u16", 2, False)
TYPES = (F64, F32, F16, BF16, FP8, BF8, I64, I32, I16, I8, U32, U16, U8)


@dataclass(frozen=True)
class Numbers:
    """What a type holds: its ends, its digits (of an integer type all bits), and its least normal number."""

    low: float
    high: float
    digits: int
    least: float = 0.0


def _float(digits: int, least: int, largest: float) -> Numbers:
    return Numbers(-largest, largest, digits, 2.0**least)


def _whole(bits: int, signed: bool) -> Numbers:
    return Numbers(-(2 ** (bits - 1)) if signed else 0, 2 ** (bits - signed) - 1, bits - signed)


HOLDS = {
    "f64": _float(53, -1022, float(np.finfo(np.float64).max)),
    "f32": _float(24, -126, float(np.finfo(np.float32).max)),
    "f16": _float(11, -14, 65504.0),
    "bf16": _float(8, -126, (2 - 2.0**-7) * 2.0**127),
    "fp8": _float(4, -7, 240.0),
    "bf8": _float(3, -15, 57344.0),
    **{f"{sign}{bits}": _whole(bits, sign == "i") for sign, bits in product("iu", (8, 16, 32, 64))},
}


def conversions(dice: Random) -> Generated:
    """One conversion, of which the output is the result or the result as f32."""
    given = dice.choice(TYPES)
    made = dice.choice([t for t in TYPES if t != given and (t.real or not given.real)])
    ours, theirs = HOLDS[given.name], HOLDS[made.name]
    saturate, toward_zero = pick(dice, 0.7), pick(dice, 0.3) and made in (F32, F16, BF16)
    beyond = ours.low < theirs.low or ours.high > theirs.high
    cut = saturate and beyond
    mistaken = pick(dice, 0.3) and (made.real or not saturate)
    stated = beyond and cut != mistaken
    wider = F32 if made.real and made.size < 4 else F64 if made == F32 else made
    seen = wider if pick(dice, 0.6) else made
    arguments = [made.name, *(["saturate=True"] if saturate else []), *(['rounding="rtz"'] if toward_zero else [])]
    converted = f"x.to({', '.join(arguments)})" + (f".to({seen.name})" if seen != made else "")
    threads, each = dice.choice((64, 128)), dice.choice((1, 1, 2, 4))
    span = threads * each
    wide, narrow = (min(16, each * t.size) if pick(dice, 0.5) else t.size for t in (given, seen))
    source = (
        header(given, made, seen) + f'PART = ag.Owner(t={threads}, e={each}, i="t*{each} + e")\n\n\n'
        f'@ag.kernel(threads={threads}, requires="N >= 1 and N % {each} == 0", '
        f'computes="z[i] = {_clamp(theirs) if stated else "X[i]"}", example=dict(N={2 * span}))\n'
        f'def k(X: ag.In["N", {given.name}], z: ag.Out["N", {seen.name}]):\n'
        f"    at = {span} * ag.grid(ag.cdiv(N, {span}))\n"
        f'    x = X[at].load(PART, width={wide}, guard="shape")\n'
        f'    z[at].store({converted}, width={narrow}, guard="shape")\n'
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = arrays["X"].astype(np.float64)
        value = np.clip(x, theirs.low, theirs.high) if stated else x
        error = np.abs(value) * 2.0 ** (1 - theirs.digits) + theirs.least if made.real else np.zeros_like(x)
        whole = not made.real and np.abs(value) > 2.0**52
        premise = (x >= theirs.low) & (x <= theirs.high) | saturate | (not made.real)
        return {"z": Real(value, np.where(premise & ~np.bool_(whole), error, np.inf))}

    most = min(ours.high, 2.0**31 if made.real else 2.0**61) if given == I64 else ours.high
    most = min(most, theirs.high) if made.real and not saturate else most
    drawn = _drawn(given, Numbers(max(ours.low, -most), most, ours.digits), theirs)
    sizes = tuple({"N": -(-n // each) * each} for n in around(span))
    constructs = ("conversions", given.name, made.name, *(["saturate"] if saturate else []))
    wrong = stated != cut and (saturate or not made.real)  # floats beyond their type are outside of the premises
    return Generated("conversions", source, constructs, sizes, meaning, draws={"X": drawn}, mistaken=wrong)


def _clamp(theirs: Numbers) -> str:
    low, high = (repr(int(n)) if abs(n) < 2**63 else repr(float(n)) for n in (theirs.low, theirs.high))
    return f"minimum(maximum(X[i], {low}), {high})"


def _drawn(given: ElementType, ours: Numbers, theirs: Numbers) -> Draw:
    """Small numbers, and those around the ends of the target that the source has."""

    def draw(dice: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> NDArray[Any]:
        ends = np.array([theirs.low, theirs.high, theirs.high / 2, theirs.high / 1.02, ours.high / 4, 1.0, 0.0])
        with np.errstate(over="ignore"):
            beside = dice.choice(ends, shape) * dice.choice(np.array([1.0, 0.99, 1.01, 3.0, -1.0]), shape)
        some = np.where(dice.random(shape) < 0.5, dice.normal(0.0, 50.0, shape), beside)
        kept = np.where((some > ours.low) & (some < ours.high), some, 1.0)
        return kept if given.real else np.rint(kept)

    return draw
