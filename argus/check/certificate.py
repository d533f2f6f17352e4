"""Certificates: what is claimed about the loops of a kernel, by content, to be replayed by the proof.

A claim belongs to one loop on one path (`LoopPath`): the op, the iterations of the loops around, the facts of the path
and the active threads. It says, at the head of every round of `period` iterations:

    slots      what each carried value and every granule of LDS holds: alternatives of guard, record and offset
    live       accesses to LDS that nothing has ordered, with their bytes by wave, age and facts; `pending` registers
    never      slots that are never -inf; `settled`: not from the second iteration on

Records and terms are tables of the certificate's own; numbers in claims point into them, and expressions are
expressions. Nothing refers to the walk that made it. `ReplayedCertificate` writes the content into the tables of
another walk, and refuses what has no meaning (`CertificateError`): marks of a guess, terms that are not in normal form,
arrays of another shape, variables that the kernel does not have. That a claim is *true* is shown by
`invariant.induction`, not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.access_order import AccessOrder, LiveAccess, Touch
from argus.check.domain.record_numbers import distinct, relabelled
from argus.check.domain.records import ABSENT, CONFLICT, REDUCED, Record, Tables
from argus.check.domain.reduction_footprint import FootprintPart, ReducedFootprint
from argus.check.domain.tags import MAX_CASES, Case, Tags
from argus.check.solve.lemmas import Lemma
from argus.check.terms.atoms import (
    ONE,
    UNKNOWN,
    ZERO,
    Apply,
    Atom,
    Carried,
    Leaf,
    Mono,
    Number,
    Power,
    Reduce,
    Where,
    parts_of,
)
from argus.check.vocabulary import Vocabulary
from argus.ir.kernel import Kernel
from argus.ir.ops import Counter, Op, Shared
from argus.ir.passes.insert_waits import COUNTERS, PendingLoads
from argus.ir.types import Value
from argus.layout.expr import Expr

LoopPath = tuple[int, tuple[Expr, ...], tuple[Expr, ...], bytes]
"""Op of the loop, iterations of the loops around, facts of the path, active threads."""
Poly = tuple[tuple[Mono, float], ...]
TermChange = Callable[[int], int]
T = TypeVar("T")
FIRST = 3
"""Terms 0, 1 and 2 are UNKNOWN, ZERO and ONE everywhere."""


class KernelNames(Protocol):
    """What a certificate refers to by number or name."""

    kernel: Kernel

    def op_numbered(self, number: int) -> Op | None: ...

    def value_numbered(self, number: int) -> Value | None: ...


class CertificateError(ValueError):
    """The certificate says something that has no meaning for this kernel."""


@dataclass(frozen=True, slots=True)
class RecordContent:
    """A record whose term points into the certificate, and whose rests are the expressions themselves."""

    record: Record
    rests: tuple[Expr | int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SlotCase:
    """One alternative of a slot: numbers in `record` point into the certificate's records."""

    guard: Expr
    record: NDArray[np.int32]
    offset: NDArray[np.int32]
    site: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AccessClaim:
    """One live access, its op by number."""

    op: int
    rest: Expr
    start: int
    waves: NDArray[np.uint32]
    younger: int
    retired: bool
    facts: tuple[Expr, ...]
    loops: tuple[tuple[Expr, Expr], ...]
    passed: int
    lags: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LoopClaim:
    """What holds at the head of every round of one loop on one path."""

    period: int
    slots: tuple[tuple[SlotCase, ...], ...]
    never: frozenset[int] = frozenset()
    settled: frozenset[int] = frozenset()
    live: tuple[AccessClaim, ...] = ()
    pending: tuple[tuple[int, str, int], ...] = ()
    """Value, counter, accesses surely issued after its load."""
    unordered: tuple[tuple[str, str], ...] = ()
    """Buffers (by name; all: "") of whose live accesses nothing is said, and why."""


@dataclass(slots=True)
class Certificate:
    """All claims of one kernel, with the tables they point into."""

    claims: dict[LoopPath, LoopClaim] = field(default_factory=dict)
    records: list[RecordContent] = field(default_factory=list)
    terms: list[Poly] = field(default_factory=list)
    atoms: list[Atom] = field(default_factory=list)
    lemmas: dict[str, Lemma] = field(default_factory=dict)
    """By the names of questions: what to try first."""


def with_parts(atom: Atom, change: TermChange) -> Atom:
    """The atom with other terms as its parts."""
    match atom:
        case Apply(args=args):
            return replace(atom, args=tuple(change(arg) for arg in args))
        case Power(base=base):
            return replace(atom, base=change(base))
        case Where(yes=yes, no=no):
            return replace(atom, yes=change(yes), no=change(no))
        case Reduce(body=body):
            return atom._replace(body=change(body))
        case _:
            return atom


def _in_atom(atom: Atom) -> tuple[Expr, ...]:
    """Expressions of an atom."""
    match atom:
        case Leaf(at=at):
            return at
        case Number(name=Expr() as e):
            return (e,)
        case Where(condition=condition):
            return (condition,)
        case Reduce(footprint=footprint, domain=domain):
            return (*_in_taken(footprint), *(() if domain is None else (domain,)))
        case Carried(counter=Expr() as counter, around=around):
            return (counter, *around)
        case _:
            return ()


def _in_taken(items: ReducedFootprint) -> tuple[Expr, ...]:
    found: list[Expr] = []
    for item in items:
        if isinstance(item, FootprintPart):
            found.append(item.rest)
        else:
            found += [item.var, item.lo, item.hi, *_in_taken(item.items)]
    return tuple(found)


class ReplayedCertificate:
    """The content of a certificate in the tables of a walk."""

    def __init__(self, certificate: Certificate, kernel: Kernel, tables: Tables) -> None:
        self.certificate = certificate
        self.tables = tables
        self.vocabulary = Vocabulary(kernel, tables.width)
        self._records: dict[int, int] = {}
        self._terms: dict[int, int] = {UNKNOWN: UNKNOWN, ZERO: ZERO, ONE: ONE}
        self._atoms: dict[int, Atom] = {}
        self._pending: set[int] = set()

    def claim(self, path: LoopPath) -> LoopClaim | None:
        return self.certificate.claims.get(path)

    def head(self, claim: LoopClaim, shapes: list[tuple[int, ...]]) -> list[Tags]:
        """The claimed state. Raises CertificateError."""
        if len(claim.slots) != len(shapes):
            raise CertificateError("a claim about another number of slots")
        return [Tags(tuple(self._cases(cases, shape))) for cases, shape in zip(claim.slots, shapes, strict=True)]

    def order(self, claim: LoopClaim, before: AccessOrder, walk: KernelNames) -> AccessOrder:
        """The claimed order of accesses. Raises CertificateError."""
        at: dict[Value, dict[Counter, int]] = {}
        for number, name, younger in claim.pending:
            value = walk.value_numbered(number)
            counter = next((c for c in COUNTERS if c == name), None)
            if value is None or counter is None or younger < 0:
                raise CertificateError("a register that no load fills")
            at.setdefault(value, {})[counter] = -younger
        buffers: dict[str, Shared | None] = {"": None, **{b.name: b for b in walk.kernel.shared}}
        if any(name not in buffers for name, _ in claim.unordered):
            raise CertificateError("a buffer that the kernel does not have")
        made = AccessOrder({}, before.lag, PendingLoads(before.pending.target, at=at))
        made = replace(made, lost={buffers[name]: why for name, why in claim.unordered})
        return made.with_live(self._access(one, walk, len(before.lag)) for one in claim.live)

    def _access(self, one: AccessClaim, walk: KernelNames, waves: int) -> LiveAccess:
        op = walk.op_numbered(one.op)
        touched = None if op is None else next((part for part in op.footprints if part.space == "lds"), None)
        if op is None or touched is None or op.counter is None or not isinstance(touched.memory, Shared):
            raise CertificateError("a live access that is none to LDS")
        if one.waves.ndim != 1 or one.passed < 0 or (one.passed and len(one.lags) != waves):
            raise CertificateError("a live access without meaning")
        self._look_at(one.rest, *one.facts, *(e for pair in one.loops for e in pair))
        touch = Touch(op, touched.memory, touched.writes, one.rest, one.start, one.waves, one.waves.tobytes())
        return LiveAccess(touch, op.counter, one.younger, one.retired, one.facts, one.loops, one.passed, one.lags)

    def _cases(self, cases: tuple[SlotCase, ...], shape: tuple[int, ...]) -> Iterator[Case]:
        if not 1 <= len(cases) <= 2 * MAX_CASES:
            raise CertificateError("a slot without alternatives, or with too many")
        for case in cases:
            arrays = ((case.record, shape), (case.offset, (*shape, self.tables.width)), (case.site, shape))
            if any(array.shape != wanted for array, wanted in arrays) or not case.guard.boolean:
                raise CertificateError("a slot of another shape")
            self._look_at(case.guard)
            change = {n: self._record(n) for n in distinct(case.record)}
            yield Case(case.guard, relabelled(case.record, change), case.offset, case.site)

    def _record(self, number: int) -> int:
        if number not in self._records:
            content = self._of(self.certificate.records, number)
            record = content.record
            if record.kind == "incoming" or len(content.rests) != self.tables.width:
                raise CertificateError("a record that only guesses have")
            if any(isinstance(r, int) and r not in (ABSENT, CONFLICT, REDUCED) for r in content.rests):
                raise CertificateError("a coordinate that is no expression")
            self._look_at(*(r for r in content.rests if not isinstance(r, int)))
            self._look_at(*() if record.expr is None else (record.expr,))
            rests = tuple(r if isinstance(r, int) else self.tables.rest(r) for r in content.rests)
            made = replace(record, rests=rests, term=self._term(record.term))
            self._records[number] = self.tables.intern(made)
        return self._records[number]

    def _term(self, term: int) -> int:
        if term not in self._terms:
            if term in self._pending:
                raise CertificateError("a term that is a part of itself")
            self._pending.add(term)
            made = self._made(self._of(self.certificate.terms, term - FIRST))
            terms = self.tables.terms
            if terms.rewritten(made, lambda _: None, {}) != made:
                raise CertificateError("a term that is not in normal form")
            self._terms[term] = made
        return self._terms[term]

    def _made(self, poly: Poly) -> int:
        terms = self.tables.terms
        parts: dict[Mono, float] = {}
        for (factors, exponent), c in poly:
            powers = sorted((terms.number_of(self._atom(n)), twice) for n, twice in factors)
            mono = (tuple(powers), self._known(exponent))
            if isnan(c) or mono in parts or any(twice == 0 for _, twice in powers):
                raise CertificateError("a term with a coefficient that is no number")
            parts[mono] = c
        return terms.made(parts)

    def _known(self, term: int) -> int:
        made = self._term(term)
        if made == UNKNOWN:
            raise CertificateError("a term with an unknown part")
        return made

    def _atom(self, number: int) -> Atom:
        if number not in self._atoms:
            content = self._of(self.certificate.atoms, number)
            if isinstance(content, Carried) and content.counter is None:
                raise CertificateError("a mark that only guesses have")
            self._look_at(*_in_atom(content))
            atom = with_parts(content, self._known)
            if isinstance(atom, Apply) and atom.fn in ("max", "min"):
                atom = replace(atom, args=tuple(sorted(atom.args)))
            if any(part == UNKNOWN for part in parts_of(atom)):
                raise CertificateError("a term with an unknown part")
            self._atoms[number] = atom
        return self._atoms[number]

    def _look_at(self, *expressions: Expr) -> None:
        if not self.vocabulary.knows(expressions):
            raise CertificateError("a variable that the kernel does not have")

    @staticmethod
    def _of(table: list[T], number: int) -> T:
        if not 0 <= number < len(table):
            raise CertificateError("a number that points nowhere")
        return table[number]
