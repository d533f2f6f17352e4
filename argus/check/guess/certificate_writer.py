"""Certificates are written here: a claim by content, from the tables of the walk that guessed it.

writer = CertificateWriter(walk.tables)
LoopClaim(period, writer.slots(head), never, settled, *order_claim(order))
"""

from __future__ import annotations

from dataclasses import replace

from argus.check.certificate import FIRST, AccessClaim, Certificate, RecordContent, SlotCase, with_parts
from argus.check.domain.access_order import AccessOrder
from argus.check.domain.record_numbers import distinct, relabelled
from argus.check.domain.records import Tables
from argus.check.domain.tags import Case, Tags
from argus.check.terms.atoms import ONE, UNKNOWN, ZERO


def order_claim(
    order: AccessOrder,
) -> tuple[tuple[AccessClaim, ...], tuple[tuple[int, str, int], ...], tuple[tuple[str, str], ...]]:
    """The content of what is not ordered: live accesses, pending registers, buffers of which nothing is known."""
    live = tuple(
        AccessClaim(
            x.touch.op.id, x.touch.rest, x.touch.start, x.touch.waves, x.younger, x.retired, x.facts, x.loops,
            x.passed, x.lags,
        )
        for x in order.live.values()
    )  # fmt: skip
    pending = tuple(
        (value.id, counter, younger)
        for value in order.pending.at
        for counter, younger in order.pending.younger(value).items()
    )
    return live, pending, tuple(("" if b is None else b.name, why) for b, why in order.lost.items())


class CertificateWriter:
    """Adds claims to a certificate, from the tables of the walk that guessed them."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.certificate = Certificate()
        self._records: dict[int, int] = {}
        self._terms: dict[int, int] = {UNKNOWN: UNKNOWN, ZERO: ZERO, ONE: ONE}
        self._atoms: dict[int, int] = {}

    def slots(self, head: list[Tags]) -> tuple[tuple[SlotCase, ...], ...]:
        """The head's content."""
        return tuple(tuple(self._case(case) for case in tags.cases) for tags in head)

    def _case(self, case: Case) -> SlotCase:
        change = {n: self._record(n) for n in distinct(case.record)}
        return SlotCase(case.guard, relabelled(case.record, change), case.offset, case.site)

    def _record(self, number: int) -> int:
        if number not in self._records:
            record = self.tables[number]
            rests = tuple(self.tables.rests[r] if r >= 0 else r for r in record.rests)
            content = RecordContent(replace(record, rests=(), term=self._term(record.term)), rests)
            self._records[number] = len(self.certificate.records)
            self.certificate.records.append(content)
        return self._records[number]

    def _term(self, term: int) -> int:
        if term not in self._terms:
            poly = tuple(
                ((tuple((self._atom(n), twice) for n, twice in factors), self._term(exponent)), c)
                for (factors, exponent), c in self.tables.terms[term]
            )
            self._terms[term] = FIRST + len(self.certificate.terms)
            self.certificate.terms.append(poly)
        return self._terms[term]

    def _atom(self, number: int) -> int:
        if number not in self._atoms:
            atom = with_parts(self.tables.terms.atoms[number], self._term)
            self._atoms[number] = len(self.certificate.atoms)
            self.certificate.atoms.append(atom)
        return self._atoms[number]
