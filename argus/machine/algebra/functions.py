"""Instructions that are one function of a number, whatever sequence of operations defines their bits.

    v_exp_f32      numbers.exp2        not the polynomial by which the machine computes it
    v_rsq_f32      1 / numbers.sqrt
    v_cvt_pk_fp8_f32                   two values, one on each byte; likewise back
    v_div_fixup_f32                    the quotient, if its bits are the result up to sign
    v_bfi_b32                          with the mask of a magnitude: that number with another sign
    v_perm_b32                         with a constant selector: bytes and their ids move

`CARRYING` is the machine's table with these entries replaced; signatures and bits are the machine's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from argus.machine.algebra import numbers
from argus.machine.algebra.carried import Row, bits_of, ids_of
from argus.machine.algebra.carrying_builder import CarryingBuilder, Law
from argus.machine.algebra.float_reading import FORMATS
from argus.machine.algebra.numbers import AlgebraNumbers
from argus.machine.semantics.table import MachineOp, Table
from argus.machine.semantics.valu import VALU


def _rsqrt(x: AlgebraNumbers) -> AlgebraNumbers:
    return numbers.inverse(numbers.sqrt(x))


def _unknown(name: str) -> Law:
    return lambda x: numbers.unknown_function(x, name, x.real)


_UNARY: dict[str, Law] = {
    "exp": numbers.exp2,
    "log": numbers.log2,
    "rcp": numbers.inverse,
    "sqrt": numbers.sqrt,
    "rsq": _rsqrt,
    "sin": _unknown("sin"),
    "cos": _unknown("cos"),
}
_SUFFIXES = ("_f16", "_f32", "_f64", "_legacy_f32", "_iflag_f32")


def _unary(op: MachineOp, law: Law, form: str) -> MachineOp:
    plain = op.fn

    def run(b: CarryingBuilder, x: Row) -> Row:
        return b.computed(law, FORMATS[form], FORMATS[form], plain(b.plain, bits_of(x)), x)

    return replace(op, fn=run)


def _identity(x: AlgebraNumbers) -> AlgebraNumbers:
    return x


def _narrow_pair(op: MachineOp, form: str) -> MachineOp:
    """Two f32 to two bytes of a half."""
    plain, low, eight = op.fn, np.uint32(0xFF), np.uint32(8)

    def run(b: CarryingBuilder, x: Row, y: Row) -> Row:
        bits = plain(b.plain, bits_of(x), bits_of(y))
        parts = [
            b.computed(_identity, FORMATS["f32"], FORMATS[form], part & low, word)
            for part, word in ((bits, x), (bits >> eight, y))
        ]
        return b.or_(parts[0], b.shl32(parts[1], b.const32(8)))

    return replace(op, fn=run)


def _narrow_one(op: MachineOp, form: str) -> MachineOp:
    plain = op.fn

    def run(b: CarryingBuilder, x: Row, random: Row) -> Row:
        bits = plain(b.plain, bits_of(x), bits_of(random))
        return b.computed(_identity, FORMATS["f32"], FORMATS[form], bits, x)

    return replace(op, fn=run)


def _widen_one(op: MachineOp, form: str) -> MachineOp:
    plain = op.fn

    def run(b: CarryingBuilder, x: Row) -> Row:
        return b.computed(_identity, FORMATS[form], FORMATS["f32"], plain(b.plain, bits_of(x)), x)

    return replace(op, fn=run)


def _widen_pair(op: MachineOp, form: str) -> MachineOp:
    plain = op.fn

    def run(b: CarryingBuilder, x: Row) -> Row:
        bits = plain(b.plain, bits_of(x))
        halves = (b.trunc(bits), x), (b.high(bits), b.lshr32(x, b.const32(8)))
        low, high = (b.computed(_identity, FORMATS[form], FORMATS["f32"], part, word) for part, word in halves)
        return b.pair(low, high)

    return replace(op, fn=run)


def _fixup(op: MachineOp) -> MachineOp:
    """The quotient where the bits are its own up to sign. Where the steps before gave no number (a numerator that is 0
    in the real run), the result of carried operands is lost: they need not be 0 in the fields."""
    plain = op.fn

    def run(b: CarryingBuilder, quotient: Row, den: Row, num: Row) -> Row:
        bits = plain(b.plain, bits_of(quotient), bits_of(den), bits_of(num))
        made = b.home.mixed(lambda *unused: bits, quotient, den, num)
        given = ids_of(made)
        if given is None:
            return bits
        own = ids_of(quotient)
        ids = np.zeros_like(given) if own is None else np.broadcast_to(own, given.shape)
        none = ~ids.any(axis=-1, keepdims=True) & given.any(axis=-1, keepdims=True)
        ids = np.where(none, np.uint32(b.home.lost()), ids) if none.any() else ids
        return b.home.row(np.broadcast_to(bits, (len(ids),)), ids)

    return replace(op, fn=run)


MAGNITUDE = 0x7FFFFFFF


def _insert(op: MachineOp) -> MachineOp:
    """A sign on a magnitude is that number up to sign, which is what reading a float asks."""
    plain = op.fn

    def run(b: CarryingBuilder, mask: Row, x: Row, y: Row) -> Row:
        ids = ids_of(x)
        if ids is None or not bool((np.asarray(bits_of(mask)) == MAGNITUDE).all()):
            return plain(b, mask, x, y)
        bits = plain(b.plain, bits_of(mask), bits_of(x), bits_of(y))
        return b.home.row(np.broadcast_to(bits, (len(ids),)), ids)

    return replace(op, fn=run)


def _permute(op: MachineOp) -> MachineOp:
    """Selector bytes 0..3 take a byte of y, 4..7 of x, 12 and above are literals; others go the long way."""
    plain = op.fn

    def run(b: CarryingBuilder, x: Row, y: Row, selectors: Row) -> Row:
        parts = [ids_of(x), ids_of(y)]
        chosen = np.unique(np.asarray(bits_of(selectors))) if ids_of(selectors) is None else np.empty(0)
        taken = [int(chosen[0]) >> 8 * i & 0xFF for i in range(4)] if len(chosen) == 1 else [8]
        if (parts[0] is None and parts[1] is None) or any(7 < t < 12 for t in taken):
            return plain(b, x, y, selectors)
        bits = plain(b.plain, bits_of(x), bits_of(y), bits_of(selectors))
        none = np.zeros((len(bits), 4), np.uint32)
        high, low = (none if part is None else np.broadcast_to(part, none.shape) for part in parts)
        both = np.concatenate([low, high, none], axis=1)
        return b.home.row(bits, both[:, [min(t, 8) for t in taken]])

    return replace(op, fn=run)


def _entries() -> dict[str, MachineOp]:
    made: dict[str, MachineOp] = {}
    for stem, law in _UNARY.items():
        for suffix in _SUFFIXES:
            name = f"v_{stem}{suffix}"
            if name in VALU:
                made[name] = _unary(VALU[name], law, suffix[-3:])
    kinds: tuple[tuple[str, Callable[[MachineOp, str], Any]], ...] = (
        ("v_cvt_pk_{}_f32", _narrow_pair),
        ("v_cvt_sr_{}_f32", _narrow_one),
        ("v_cvt_f32_{}", _widen_one),
        ("v_cvt_pk_f32_{}", _widen_pair),
    )
    for form in ("fp8", "bf8"):
        for pattern, make in kinds:
            name = pattern.format(form)
            made[name] = make(VALU[name], form)
    for name in ("v_div_fixup_f16", "v_div_fixup_f32", "v_div_fixup_f64"):
        if name in VALU:
            made[name] = _fixup(VALU[name])
    made["v_bfi_b32"] = _insert(VALU["v_bfi_b32"])
    made["v_perm_b32"] = _permute(VALU["v_perm_b32"])
    return made


CARRYING: Table = {**VALU, **_entries()}
