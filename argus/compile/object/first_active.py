"""What `v_readfirstlane_b32` reads: the value of the first active lane of each wave.

    if lane % 2 == 1:                   exec is 0 in lane 0
        v_add_u32 v0, 0x400, v3         v0 is v3 + 0x400 in odd lanes, what it was in even ones
        v_readfirstlane_b32 s2, v0      the value of lane 1: v3 + 0x400

Where exec depends on the thread alone the lane is known. Else a value on which all lanes that may be active agree is
looked for, in the cases of the conditions in exec, and shown: `exec * (value - found)` is 0.

What it cannot do: a value that differs between lanes that may be active. A wave without an active lane reads lane 0;
where exec depends on sizes or data that is left open, since such a wave accesses nothing with what it has read.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from argus.machine.symbolic.lanes import WAVE
from argus.machine.symbolic.sums import Coefficient, Monomial, Rows, WordSum
from argus.machine.symbolic.words import Words

MOST_BITS = 3
"""Conditions of exec whose cases are tried."""


def first_active(space: Words, value: WordSum, active: WordSum) -> WordSum | None:
    """`value` of the first lane in which `active` is 1, for all lanes of its wave; None where it is not known."""
    if value.uniform:
        return value
    if active.constant == 1:
        return space.first_lane(value)
    if space.threads % WAVE:
        return None
    if active.plain:
        lanes = space.row(active).reshape(-1, WAVE).argmax(axis=1)
        found = _picked(space, value, lanes)
        return space.first_lane(value) if found is None and not lanes.any() else found
    bits = sorted({a for a in active.atoms if a.bit}, key=lambda a: a.number)
    if len(bits) > MOST_BITS:
        return None
    for case in product((1, 0), repeat=len(bits)):
        mask, held = active, value
        for bit, chosen in zip(bits, case, strict=True):
            mask, held = space.with_bit(mask, bit, chosen), space.with_bit(held, bit, chosen)
        if not mask.plain or not mask.terms:
            continue
        found = _picked(space, held, space.row(mask).reshape(-1, WAVE).argmax(axis=1))
        if found is not None and not space.mul(active, space.sub(value, found)).terms:
            return found
    return None


def _picked(space: Words, value: WordSum, lanes: np.ndarray) -> WordSum | None:
    """The value in one lane of each wave; None where it has symbols that differ between lanes."""
    terms: dict[Monomial, Coefficient] = {}
    for mono, c in value.terms.items():
        if isinstance(c, int):
            picked: Coefficient = c
        else:
            each: Rows = c.reshape(-1, WAVE)[np.arange(len(lanes)), lanes]
            if not each.any():
                continue
            picked = np.repeat(each, WAVE)
        if not all(a.uniform for a in mono):
            return None
        terms[mono] = picked
    return space.made(value.width, terms)
