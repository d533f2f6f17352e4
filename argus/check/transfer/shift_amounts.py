"""Amounts of shifts: what a shift takes of them (rule `shift-amount`), before the shift itself is read as a product.

    x << 9        of i8: by 9, in 32 bits, cut to i8               X * 2**9
    x << 40       of i32: by 8                                     X * 2**8;  of i64 X * 2**40
    x << n        of i32, n from data: by n & 31                   shl(X, n & 31), or shl(X, n) where 0 <= n <= 31

So the function `shl` of two terms means the same number for elements of any type.
"""

from __future__ import annotations

from dataclasses import replace

from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import Case, each_record
from argus.ir.types import DType

SHIFTS = frozenset({"shl", "shr"})
LEAST = 32
"""Bits in which elements of 8 and 16 bits are shifted."""


def reduced(case: Case, of: DType, tables: Tables) -> Case:
    """The amounts of shifts of elements of a type, modulo its bits."""

    def amount(record: Record) -> Record:
        if record.kind not in ("element", "value", "plain") or record.part != (0, 1):
            return record
        term = tables.terms.amount(record.term, max(of.bits, LEAST))
        return record if term == record.term else replace(record, label="", expr=None, term=term)

    return each_record(tables, case, amount)
