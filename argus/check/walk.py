"""The walk of tags through a kernel: abstract interpretation of the whole workgroup at once.

Each op's transfer is exact for every (wave, lane, element) and symbolic in blocks, loop variables and sizes:

    Load A[m, k]            element tags from the access's coordinates
    Store to LDS, Load      through the array of LDS contents (`lds_contents`)
    Registers, Lanes        gathers
    Convert, Map            coordinates kept where operands agree (`elementwise`)
    Mfma                    pairing, contraction, accumulation (`matrix`)
    If                      guarded alternatives; finite conditions (on wave or lane) just select threads
    For                     what a certificate claims of its head, shown by induction (`induction`)

`Listener`s hear of every memory access and matrix product on the final pass, with the path that leads there; rules are
listeners. The facts of the path are `facts`; `rename` replaces loop variables while a ring is unrolled by residue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, reduce
from math import prod
from typing import Any, TypeVar, assert_never, cast

import numpy as np

from argus.check.certificate import Certificate, CertificateError, LoopPath, ReplayedCertificate
from argus.check.domain.access_order import AccessOrder, LiveAccess, Touch
from argus.check.domain.lds_contents import SharedMemory
from argus.check.domain.records import Tables
from argus.check.domain.tags import Case, Tags, both, merge, product, uniform, unwieldy
from argus.check.domain.threads import Threads, conditions
from argus.check.events import Event, Listener, Mask, ProgramPoint, RuleEvents
from argus.check.invariant import induction
from argus.check.obligations import Ledger, deciding
from argus.check.solve.limits import spend
from argus.check.solve.prover import Prover
from argus.check.spec.coordinates import SpecCoordinates, Unreadable, spec_of
from argus.check.terms.atoms import Number
from argus.check.terms.close_numbers import held
from argus.check.terms.elementwise_terms import Standing
from argus.check.terms.integer_terms import RING
from argus.check.transfer import (
    branches,
    conversions,
    elementwise,
    instructions,
    masks,
    memory_accesses,
    ordering,
    shift_amounts,
    stated_bounds,
    symbols,
)
from argus.check.transfer.matrix_product import multiply
from argus.check.transfer.narrowed_values import NarrowedValues
from argus.check.vocabulary import LoadedData
from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Op
from argus.ir.passes.insert_waits import PendingLoads
from argus.ir.passes.liveness import emitted
from argus.ir.semantics import grid_limits
from argus.ir.specified import stating
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.spec.tree import ResultSpec

T = TypeVar("T")


def launch_facts(kernel: Kernel) -> tuple[Expr, ...]:
    """What holds for every launch: the kernel's requirements, a grid that can be launched, and blocks inside it."""
    facts = list(kernel.requires)
    for block, extent in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), kernel.grid, strict=True):
        facts.append(block.lt(extent))
    facts += grid_limits(kernel)
    return tuple(f for f in facts if f is not E.TRUE)


@lru_cache(maxsize=8)
def emitted_ops(kernel: Kernel) -> frozenset[int]:
    """Ops that are in the code."""
    return emitted(kernel)


class KernelWalk:
    """One walk over a kernel. `results` are the names of tensors that some specification speaks of."""

    def __init__(
        self,
        kernel: Kernel,
        prover: Prover,
        listeners: Iterable[Listener] = (),
        results: frozenset[str] = frozenset(),
        certificate: Certificate | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.kernel = kernel
        self.results = results
        self.prover = prover
        self.tables = Tables(kernel)
        self.spec: SpecCoordinates | None = None
        self.unread = ""
        try:
            self.spec = spec_of(kernel, self.tables)
        except Unreadable as error:
            self.unread = str(error)
        if self.spec is not None:
            self.tables.tied = frozenset(self.spec.placed)
            self.tables.hints = self.spec.hints
        self.threads = Threads(kernel.waves)
        self.memory = SharedMemory(kernel, self.tables)
        self.narrowed = NarrowedValues(kernel)
        self.values: dict[Value, Tags] = {}
        self.facts: tuple[Expr, ...] = ()
        self.loops: tuple[tuple[Expr, Expr], ...] = ()
        self.rename: dict[Expr, Expr] = {}
        self.active: Mask = np.ones(self.threads.shape, dtype=np.bool_)
        self.listeners = tuple(listeners)
        self.ledger = ledger or Ledger()
        self.order = AccessOrder({}, (0,) * kernel.waves, PendingLoads(kernel.target))
        """Accesses that nothing has ordered yet."""
        self.emitted = emitted_ops(kernel)
        """Ops that are in the code."""
        self.arms: tuple[list[LiveAccess], ...] = ()
        """Accesses made so far in the arms that are being walked."""
        self.loaded: set[LoadedData] = set()
        """Functions that stand for loaded data, with the bounds that the author states."""
        self.touches: dict[tuple[object, ...], Touch | None] = {}
        self.loops_left = 0
        """How many loops were left, for names of their variables afterwards."""
        self.registers_arrive = False
        """Somebody else shows that registers are waited for."""
        self.replay = ReplayedCertificate(certificate or Certificate(), kernel, self.tables)
        self.problems: list[tuple[Op, str]] = []
        self.agreed: set[tuple[int, tuple[Expr, ...]]] = set()
        """Stores (op, facts of the path) whose value was proved equal to the specification's."""
        self.agreed_by_element: set[tuple[int, tuple[Expr, ...]]] = set()
        """Of these, the ones for which that was proved at the element that is stored to: what is stored is in place."""
        self.contract = frozenset(
            self.tables.axes[str(name)]
            for op in ops.walk(kernel.body)
            if isinstance(op, ops.Check) and op.rule == "conform"
            for name in _names(op.args.get("axis"), op.args.get("axes"))
            if str(name) in self.tables.axes
        )
        self._ops = {op.id: op for op in ops.walk(kernel.body)}
        made = [v for op in self._ops.values() for v in (*op.results, *(one for one, _ in op.sources))]
        self._defined = {value.id: value for value in made}
        self._feasible: dict[tuple[tuple[Expr, ...], Expr], bool] = {}
        self._once: dict[tuple[object, ...], tuple[Mask, object]] = {}
        self.first: dict[int, Expr] = {}
        """First value of the counter of every loop that is being walked, by its op."""
        self.symbol_data: dict[Expr, Tags] = {}
        """The data that symbols stand for."""
        self.stated_facts: set[Expr] = set()
        """Facts that are the author's word about data."""
        self.guards: set[Expr] = set()
        """Conditions of paths that were walked."""
        self.everywhere_facts: tuple[Expr, ...] = ()
        """What is said, in every block, about data that the kernel itself does not use, only its specification."""
        self.used = stated_bounds.used(kernel)
        self.entangled: tuple[Expr, ...] = ()
        """Conditions of the branches around that only some threads take, depending on sizes or data."""
        self.never: set[tuple[int, int]] = set()
        """Slots of loops (op, slot) that are claimed to be never -inf."""
        self.settled: set[tuple[int, int]] = set()
        """Slots of loops (op, slot) that are claimed not to be -inf from the second iteration on."""
        self.names_used: set[tuple[int, int, tuple[int, ...], str]] = set()
        """Names of other loops' slots (op, slot, axes, kind) that claims speak of."""
        self.names_shown: set[tuple[int, int, tuple[int, ...], str]] = set()
        """Names of slots that were shown to be what they say."""
        self.tables.terms.positive = frozenset(s.name for s in kernel.scalars if s.positive)
        for scalar in kernel.scalars:
            record = self.tables.plain(self.tables.terms.atom(Number(scalar.name)))
            self.values[scalar.value] = uniform(self.shape(scalar.value), record, self.tables.width)

    def run(self) -> None:
        """Walk the whole kernel. Raises ClaimFails or CertificateError where the certificate does not hold."""
        self.block(self.kernel.body)
        self.ledger.finish()
        if not self.replay.vocabulary.loaded <= self.loaded:
            raise CertificateError("a claim bounds loaded data as nobody has stated")
        if not self.names_used <= self.names_shown:
            raise CertificateError("a claim uses a name that no loop has shown")

    def block(self, block: list[Op]) -> None:
        for op in block:
            self.step(op)

    def loop(self, op: ops.For) -> None:
        """A loop, by what the certificate claims of it."""
        induction.walk_loop(self, op)

    def order_step(self, op: Op) -> None:
        """What the op does to the order of accesses."""
        ordering.step(self, op)

    def body(self, op: ops.For) -> None:
        """One iteration."""
        self.block(op.body)

    def yielded(self, op: ops.For, carried: list[Tags]) -> list[Tags]:
        """What an iteration hands to the next one; `carried` is what it was given."""
        del carried
        return [self.values[v] for v in op.yields]

    def op_numbered(self, number: int) -> Op | None:
        return self._ops.get(number)

    def value_numbered(self, number: int) -> Value | None:
        return self._defined.get(number)

    def path(self, op: ops.For) -> LoopPath:
        """How the walk has come to a loop."""
        return op.id, tuple(value for _, value in self.loops), self.facts, self.active.tobytes()

    # -- small questions -------------------------------------------------------------------------------------------

    def here(self, e: Expr) -> Expr:
        return e.subst(self.rename) if self.rename else e

    def is_stated(self, fact: Expr) -> bool:
        """It is the author's word about data, and not the condition of a path as well."""
        return fact in self.stated_facts and fact not in self.guards

    def feasible(self, guard: Expr) -> bool:
        if guard is E.TRUE:
            return True
        key = (self.facts, guard)
        if key not in self._feasible:
            self._feasible[key] = self.prover.possible((*self.facts, guard)) is not False
        return self._feasible[key]

    def equal(self, x: Expr, y: Expr) -> bool | None:
        return self.prover.holds(self.facts, x.eq(y))

    def prune(self, tags: Tags) -> Tags:
        """Only alternatives that can happen on this path."""
        if len(tags.cases) == 1:
            return tags
        if any(unwieldy(c.guard) for c in tags.cases):
            why = "it has a long history of alternatives"
            return uniform(tags.shape, self.tables.lost(why, -1), self.tables.width)
        kept = tuple(c for c in tags.cases if self.feasible(c.guard))
        return merge(Tags(kept)) if kept else tags

    def place(self) -> ProgramPoint:
        return ProgramPoint(self.facts, self.loops, self.active)

    def shape(self, value: Value) -> tuple[int, int, int]:
        return (*self.threads.shape, value.count)

    def lost(self, value: Value, why: str, op: Op) -> Tags:
        return uniform(self.shape(value), self.tables.lost(why, op.id), self.tables.width)

    def combined(
        self, op: Op, result: Value, operands: tuple[Tags, ...], combine: Callable[[tuple[Case, ...]], Case]
    ) -> Tags:
        spend(prod(len(tags.cases) for tags in operands))
        made = product(operands, combine, self.feasible)
        return made if made is not None else self.lost(result, "too many alternatives", op)

    def once(self, what: tuple[object, ...], make: Callable[[], T]) -> T:
        """What `make` gives here: made once for each path, renaming, loaded data and set of active threads."""
        key = (what, self.facts, tuple(self.rename.items()), self.threads.defined)
        known = self._once.get(key)
        if known is None or known[0] is not self.active:
            known = self._once[key] = (self.active, make())
        return cast(T, known[1])

    def tell(self, event: Event, heard: Callable[[RuleEvents], None]) -> None:
        """All listeners hear of it."""
        for listener in self.listeners:
            listener.hear(event, heard)

    # -- ops -------------------------------------------------------------------------------------------------------

    def step(self, op: Op) -> None:
        spend()
        if branches.by_slot(self, op):
            return
        numbers = deciding(op)
        self.ledger.visit(op)
        self.order_step(op)
        if self.listeners and numbers:
            place, here = self.place(), tuple(map(self.here, numbers))
            self.tell("counted", lambda rule: rule.counted(op, place, here))
        match op:
            case ops.Constant():
                terms = self.tables.terms
                value = held(op.value, op.result.dtype)
                record = Tables.ZERO if value == 0 else self.tables.plain(terms.constant(value))
                self.values[op.result] = uniform(self.shape(op.result), record, self.tables.width)
            case ops.Index():
                self.values[op.result] = masks.index(self.threads, self.here(op.expr), op.result.count, self.tables)
            case ops.Symbol():
                self.tell("indexed", lambda rule: rule.indexed(op, self.place()))
                symbols.transfer(self, op)
            case ops.Load():
                self.values[op.result] = memory_accesses.load(self, op)
            case ops.Store() | ops.Atomic():
                memory_accesses.store(self, op)
            case ops.CopyToLds():
                memory_accesses.copy(self, op)
            case ops.Map():
                self.values[op.result] = self.narrowed.of_map(op, self.map(op), self.tables)
            case ops.Convert():
                found = self.values[op.value].each(lambda c: conversions.converted(c, op, self.tables))
                self.values[op.result] = self.narrowed.of_conversion(op, found, self.tables)
            case ops.Bitcast():
                types = op.value.dtype, op.result.dtype
                self.values[op.result] = self.values[op.value].each(
                    lambda c: conversions.retyped(c, *types, op.result.count, self.tables, op.id)
                )
            case ops.Registers():
                self.values[op.result] = self.registers(op)
            case ops.Lanes():
                self.values[op.result] = self.lanes(op)
            case ops.Mfma():
                self.values[op.result] = self.mfma(op)
            case ops.Instruction():
                instructions.transfer(self, op)
            case ops.For():
                self.loop(op)
            case ops.If():
                branches.branch(self, op)
            case ops.Schedule():
                self.block(op.body)
            case ops.Check():
                values = {v: self.prune(self.values[v]) for v in op.operands}
                self.tell("stated", lambda rule: rule.stated(op, self.place(), values))
            case ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag():
                pass  # nothing that a value or LDS holds depends on it
            case _:
                assert_never(op)

    def condition(self, guard: Expr | None) -> tuple[Mask | None, Expr | None, bool]:
        """(active threads, shared condition, entangled): one of the first two, or entangled."""
        if guard is None:
            return self.active, None, False
        truth, shared = conditions(self.threads, self.here(guard))
        if truth is not None:
            return self.active & truth, None, False
        return (None, shared, False) if shared is not None else (None, None, True)

    def map(self, op: ops.Map) -> Tags:
        operands = tuple(self._operand(op, n) for n in range(len(op.args)))
        if len(operands) == 1:
            return operands[0].each(lambda c: elementwise.unary(op.fn, c, self.tables, self.standing))
        return self.combined(op, op.result, operands, lambda cases: elementwise.several(op.fn, cases, self.tables))

    def _operand(self, op: ops.Map, n: int) -> Tags:
        """An operand of an elementwise function; of an integer the number itself, unless residues do."""
        value = op.args[n]
        if op.fn in RING or (op.fn == "select" and n > 0) or (op.fn == "shl" and n == 0):
            return self.values[value]
        number = self._number(value)
        of_shift = n == 1 and op.fn in shift_amounts.SHIFTS
        return number.each(lambda c: shift_amounts.reduced(c, value.dtype, self.tables)) if of_shift else number

    def _number(self, value: Value) -> Tags:
        tags = self.values[value]
        if value.dtype.kind not in ("int", "uint"):
            return tags
        return tags.each(lambda c: conversions.itself(c, value.dtype, self.tables))

    def standing(self, case: Case, number: int) -> Standing:
        """Where the elements with this record stand, and what is known there."""
        here = case.record == number
        coordinates: dict[int, Expr] = {}
        for axis, rest in enumerate(self.tables[number].rests):
            if rest >= 0:
                offsets = case.offset[..., axis][here]
                low, high = int(offsets.min()), int(offsets.max())
                part = E.const(low) if low == high else E.var(f"offset_{axis}", low, high)
                coordinates[axis] = self.tables.rests[rest] + part
        facts = (*self.facts, case.guard) if case.guard is not E.TRUE else self.facts

        def holds(more: Iterable[Expr], goal: Expr) -> bool:
            return self.prover.holds((*facts, *more), goal) is True

        return Standing(coordinates, holds, self.first, frozenset(self.never), frozenset(self.settled))

    def registers(self, op: ops.Registers) -> Tags:
        operands = tuple(self.values[v] for v in op.args)

        def pick(cases: tuple[Case, ...]) -> Case:
            if len(cases) == 1:
                return cases[0].columns(tuple(j for _, j in op.pick))
            record = np.stack([cases[i].record[:, :, j] for i, j in op.pick], axis=-1)
            offset = np.stack([cases[i].offset[:, :, j] for i, j in op.pick], axis=-2)
            return Case(E.TRUE, record, offset, np.stack([cases[i].site[:, :, j] for i, j in op.pick], axis=-1))

        return self.combined(op, op.result, operands, pick)

    def lanes(self, op: ops.Lanes) -> Tags:
        source = self.threads.spread(self.here(op.source)).constant()
        if source is None:
            return self.lost(op.result, "the lane to read from is not known", op)
        wave = np.broadcast_to(np.arange(self.threads.waves)[:, None], source.shape)
        return self.values[op.value].gather((wave, source % 64))

    def mfma(self, op: ops.Mfma) -> Tags:
        factors = [self.prune(self._number(v)) for v in op.operands[:2]]
        operands = (*factors, *(self.prune(self.values[v]) for v in op.operands[2:]))

        def combine(cases: tuple[Case, ...]) -> Case:
            before = self.facts
            if any(c.guard is not E.TRUE for c in cases):
                self.facts = (*before, reduce(both, (c.guard for c in cases)))
            a, b, c = cases
            equal = self.equal if self.listeners else None
            found = multiply(op.inst, a, b, c, self.tables, equal, self.contract)
            self.tell("matrix", lambda rule: rule.matrix(op, self.place(), cases, found))
            self.facts = before
            return found.case

        return self.combined(op, op.result, operands, combine)


def _names(*given: object) -> list[str]:
    found: list[str] = []
    for item in given:
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, tuple):
            found.extend(str(x) for x in item)
    return found


class OtherStatement(KernelWalk):
    """The same walk, seen by rules that speak of another statement of its specification."""

    def __init__(self, flow: KernelWalk, statement: ResultSpec) -> None:
        self._flow = flow
        self.kernel = stating(flow.kernel, statement)
        self.spec = spec_of(self.kernel, flow.tables)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flow, name)
