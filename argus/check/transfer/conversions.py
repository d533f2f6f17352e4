"""Tag transfer of conversions between element types and of bit casts.

    float to float         the number: rounding is not looked at, and that nothing overflows is a premise of the proof;
                           `saturate` cuts it to the type's largest numbers, as minimum and maximum do, unless every
                           number of the source lies between them. A written infinity becomes NaN in a type without it
    integer to integer     modulo 2^bits of a type that is not wider; to a wider type the number itself
    integer to float       the number itself, cut off by `saturate`; to a type of less than 32 bits where that has all
                           the numbers it may be, else a function
    float to integer       a function of its own, by rounding and `saturate`

What a register of an integer type holds is known modulo 2^bits (`integer_terms`); `itself` is the number.
"""

from __future__ import annotations

from dataclasses import replace
from math import isinf
from typing import Literal

import numpy as np

from argus.check.domain.record_numbers import distinct, relabelled
from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import Case, each_record
from argus.check.terms.atoms import UNKNOWN
from argus.check.terms.integer_terms import numbers_of
from argus.ir.conversions import cut_at, exact
from argus.ir.float_formats import FINITE, FORMATS
from argus.ir.ops import Convert
from argus.ir.types import DType

EXACT = {name: 2**row.digits for name, row in FORMATS.items()}
"""Up to where a float type has all whole numbers."""
_WORTH_SOMETHING = frozenset({"element", "value", "plain"})
"""Kinds of records with a worth of their own, and with different halves; zeros have not."""


def converted(case: Case, op: Convert, tables: Tables) -> Case:
    """A change of element type."""
    source, target, saturate = op.value.dtype, op.result.dtype, op.saturate
    if source.kind == "bool":
        return case
    if source.kind == "float":
        return _from_float(case, op, tables)
    holds = _holds(target, source)
    if target.kind in ("int", "uint") and target.bits <= source.bits and not saturate:
        return case if holds else each_record(tables, case, lambda record: _residue(record, target, tables))
    case = itself(case, source, tables)
    if target.kind == "float":
        case = _cut(case, op, tables)
        rounded = each_record(tables, case, lambda record: _rounded(record, case, target))
        return rounded if target.bits >= 32 else each_record(tables, rounded, lambda r: _in_narrow(r, op, tables))
    if target.kind == "bool":
        return opaque("to bool", case, tables)
    return case if holds or not saturate else each_record(tables, case, lambda r: _saturated(r, target, tables))


def _function(op: Convert) -> str:
    """The name of a conversion that is a function of its own: different ones have different names."""
    target = op.result.dtype
    cut = op.saturate and target.kind != "float" and target.bits < 32  # wider ones are cut off without being asked
    return f"to {target.name}" + f" {op.rounding}" * (op.rounding != "rne") + " saturated" * cut


def _from_float(case: Case, op: Convert, tables: Tables) -> Case:
    source, target = op.value.dtype, op.result.dtype
    if target.kind != "float":
        return opaque(_function(op), case, tables)
    if exact(source, target):
        return case
    if target.name in FINITE and source.name not in FINITE and not op.saturate:
        case = each_record(tables, case, lambda record: _without_infinity(record, tables))
    case = _cut(case, op, tables)
    return each_record(tables, case, lambda record: _rounded(record, case, target))


def _cut(case: Case, op: Convert, tables: Tables) -> Case:
    """Not beyond a float type's largest numbers, of a conversion that saturates."""
    limit = cut_at(op.value.dtype, op.result.dtype) if op.saturate else None
    return case if limit is None else each_record(tables, case, lambda record: _clamped(record, limit, tables))


def _without_infinity(record: Record, tables: Tables) -> Record:
    """In a type without infinities: what one was written into is not known."""
    if record.kind not in _WORTH_SOMETHING or record.term == UNKNOWN:
        return record
    infinite = any(map(isinf, tables.terms.coefficients(record.term)))
    return replace(record, kind=_computed(record), label="", expr=None, term=UNKNOWN) if infinite else record


def itself(case: Case, of: DType, tables: Tables) -> Case:
    """The numbers that registers of an integer type hold."""

    def number(record: Record) -> Record:
        if record.kind not in _WORTH_SOMETHING or record.part != (0, 1):
            return record
        term = tables.terms.wrapped(of.name, record.term)
        return record if term == record.term else replace(record, term=term)

    return each_record(tables, case, number)


def _residue(record: Record, target: DType, tables: Tables) -> Record:
    """In a type that does not have all numbers: known modulo 2^bits, and no index any more."""
    if record.kind not in _WORTH_SOMETHING:
        return record
    label = "" if record.kind == "plain" else record.label
    term = UNKNOWN if record.term == UNKNOWN else tables.terms.residue(record.term, target.bits)
    return replace(record, kind=_computed(record), label=label, expr=None, term=term)


def _computed(record: Record) -> Literal["value", "plain"]:
    return "plain" if record.kind == "plain" else "value"


def _saturated(record: Record, target: DType, tables: Tables) -> Record:
    found = tables.terms.whole_range(record.term)
    low, high = numbers_of(target.name)
    if found is not None and low <= found[0] and found[1] <= high:
        return record
    return _opaque(f"cut to {target.name}", record, tables, _WORTH_SOMETHING)


def _in_narrow(record: Record, op: Convert, tables: Tables) -> Record:
    """A whole number in a float type of less than 32 bits: itself if the type has all it may be, else a function of it.
    Of wider types the rounding is not looked at, as everywhere."""
    found, most = tables.terms.whole_range(record.term), EXACT.get(op.result.dtype.name, 0)
    if found is not None and -most <= found[0] and found[1] <= most:
        return record
    return _opaque(_function(op), record, tables, _WORTH_SOMETHING)


def _clamped(record: Record, largest: float, tables: Tables) -> Record:
    """The number, not beyond the type's largest ones."""
    if record.kind not in _WORTH_SOMETHING or record.term == UNKNOWN:
        return record
    terms = tables.terms
    found = terms.whole_range(record.term)
    if found is not None and -largest <= found[0] and found[1] <= largest:
        return record
    term = terms.extreme(
        "min", (terms.constant(largest), terms.extreme("max", (terms.constant(-largest), record.term)))
    )
    return replace(record, kind=_computed(record), label="", expr=None, term=term)


def _rounded(record: Record, case: Case, target: DType) -> Record:
    """An index in a float type no longer orders as the index does, unless all its values are numbers of the type."""
    if record.label != "index" or record.expr is None:
        return record
    low, high, finite = record.expr.lo, record.expr.hi, case.offset[..., 0]
    most = EXACT.get(target.name, 0)
    if low is not None and high is not None and -most < low + int(finite.min()) and high + int(finite.max()) < most:
        return record
    return replace(record, label="", expr=None)


def _holds(target: DType, source: DType) -> bool:
    """Whether an integer type has every number of another type."""
    if source.kind == target.kind:
        return target.bits >= source.bits
    return source.kind == "uint" and target.bits > source.bits


def opaque(fn: str, case: Case, tables: Tables, kinds: frozenset[str] = _WORTH_SOMETHING) -> Case:
    """Coordinates stay; what it is worth is a function nothing is known about."""
    return each_record(tables, case, lambda record: _opaque(fn, record, tables, kinds))


def _opaque(fn: str, record: Record, tables: Tables, kinds: frozenset[str]) -> Record:
    if record.kind not in kinds:
        return record
    label = "" if record.kind == "plain" else record.label
    return replace(record, label=label, expr=None, term=tables.terms.apply(fn, (record.term,)))


def retyped(case: Case, source: DType, target: DType, count: int, tables: Tables, op: int) -> Case:
    """A bit cast: pieces of elements are tracked when they are cut or put together again to what they were."""
    if source.bits == target.bits:
        return case if source is target else opaque(f"bits as {target.name}", case, tables)
    if source.bits > target.bits:
        pieces = source.bits // target.bits
        record = np.stack([_parts(case.record, p, pieces, tables, op) for p in range(pieces)], axis=-1)
        return _reshaped(case, record, np.repeat(case.offset, pieces, axis=-2), np.repeat(case.site, pieces, -1), count)
    pieces = target.bits // source.bits
    groups = case.record.reshape(*case.record.shape[:-1], count, pieces)
    offsets = case.offset.reshape(*groups.shape, tables.width)
    whole = assemble([groups[..., p] for p in range(pieces)], [offsets[..., p, :] for p in range(pieces)], tables, op)
    made = Case(case.guard, whole, offsets[..., 0, :], case.site.reshape(groups.shape)[..., 0])
    types = {tensor.name: tensor.dtype for tensor in tables.tensor_axes}

    def again(record: Record) -> Record:
        known = record.kind == "element" and types.get(record.label) is target
        return record if known else _opaque(f"bits as {target.name}", record, tables, _WORTH_SOMETHING)

    return each_record(tables, made, again)


def _reshaped(case: Case, record: np.ndarray, offset: np.ndarray, site: np.ndarray, count: int) -> Case:
    shape = (*case.record.shape[:-1], count)
    return Case(case.guard, record.reshape(shape), offset, site)


def _parts(record: np.ndarray, piece: int, pieces: int, tables: Tables, op: int) -> np.ndarray:
    changed = {}
    for n in distinct(record):
        one = tables[n]
        if one.kind in _WORTH_SOMETHING:
            index, of = one.part
            one = replace(one, part=(index * pieces + piece, of * pieces))
        elif one.kind == "incoming":
            one = tables[tables.lost("a carried value is cut into pieces", op)]
        changed[n] = tables.intern(one)
    return relabelled(record, changed)


def assemble(parts: list[np.ndarray], offsets: list[np.ndarray], tables: Tables, op: int) -> np.ndarray:
    """Whole elements from consecutive pieces; lost where the pieces are not one element's, in order."""
    pieces = len(parts)
    if pieces == 1:
        return parts[0]
    numbers, inverse = np.unique(parts[0], return_inverse=True)
    whole, follow = [], []
    lost = tables.lost("read with another element width than it was written with", op)
    for n in numbers:
        one = tables[int(n)]
        if one.kind not in _WORTH_SOMETHING:
            whole.append(int(n) if one.kind != "incoming" else lost)
            follow.append([int(n)] * pieces)
        elif one.part[1] % pieces == 0 and one.part[0] % pieces == 0:
            whole.append(tables.intern(replace(one, part=(one.part[0] // pieces, one.part[1] // pieces))))
            follow.append([tables.intern(replace(one, part=(one.part[0] + p, one.part[1]))) for p in range(pieces)])
        else:
            whole.append(lost)
            follow.append([int(n)] * pieces)
    where = inverse.reshape(parts[0].shape)
    good = np.ones(parts[0].shape, dtype=bool)
    expected = np.array(follow, dtype=np.int32)[where]
    for p in range(1, pieces):
        good &= (parts[p] == expected[..., p]) & (offsets[p] == offsets[0]).all(axis=-1)
    return np.where(good, np.array(whole, dtype=np.int32)[where], lost).astype(np.int32)
