"""Interleaving inside `schedule` regions: a list scheduler that keeps every dependence and the order inside each class.

    with ag.schedule(mfma=4, ds_read=1, buffer_load=1):    4 matrix instructions, 1 LDS read, 1 global load, and again

Rounds follow the pattern. In a round each class gives up to its ratio of operations, always its *first* remaining
one, and only when everything that one depends on has been placed; a class that cannot go waits for a later round. So
operations of one class never overtake each other (the wait counters count in order), and a region full of independent
work comes out in exactly the ratio asked for. Operations of classes the pattern does not name, barriers among them,
stay where they were relative to the first class it names. Register slices, constants and casts have no class: they
go directly before their first use.

The ratio of `valu` counts issue slots of 4 clocks: an exponential takes four of them, a pair of f32 rounded to bf16
five. What a round takes too much is taken off the next. Wide arithmetic is cut into single registers
(`split_wide_ops`).

An explicit pattern, `order="mfma*2 ds_read mfma ds_write"`, is the same with classes repeated.

Dependences: values; index symbols; accesses of the same memory of which one writes, unless their address ranges are
disjoint; memory accesses against barriers, while arithmetic may pass them; and everything against waits, priorities,
loops and branches, which therefore stay in place.

The result is kernel IR again, with the regions gone: the order checked is the order emitted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from argus.gfx942.chip import WAVE_LANES
from argus.ir import ops
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.known_ops import unknown_ops
from argus.ir.maps import MAPS
from argus.ir.passes.split_wide_ops import Numbers, split_wide
from argus.ir.stages import Scheduled
from argus.ir.types import Span
from argus.ir.verify import IrError

CLASSES = ("mfma", "valu", "salu", "ds_read", "ds_write", "buffer_load", "buffer_store")
ROUNDING_SLOTS = {
    ("bf16", "rne", True): 2.5,
    ("bf16", "rne", False): 4.5,
    ("bf16", "rtz", True): 0.5,
    ("bf16", "rtz", False): 2.5,
}
"""f32 to bf16, per element, as `argus.compile.convert` writes it."""
_TOKEN = re.compile(r"([a-z_]+)(?:\*(\d+))?")


def scheduled(kernel: Kernel) -> Scheduled:
    """The program with every schedule region replaced by its operations in final order. A kernel with ops that nobody
    knows stays as it is: the checker calls it unknown, the compiler refuses it. One that does not fit its target's LDS
    is refused here: nothing is proved of it."""
    if kernel.lds_bytes > kernel.target.lds_bytes:
        needs, has = kernel.lds_bytes, kernel.target.lds_bytes
        raise IrError(f"{kernel.name} needs {needs} bytes of LDS; {kernel.target.name} has {has}")
    if unknown_ops(kernel):
        return Scheduled(kernel, kernel)
    return Scheduled(replace(kernel, body=_flatten(kernel.body, Numbers(kernel))), kernel)


def _flatten(block: list[ops.Op], numbers: Numbers) -> list[ops.Op]:
    result: list[ops.Op] = []
    for op in block:
        match op:
            case ops.Schedule():
                rows = pattern(op.policy, op.span)
                inner = _flatten(op.body, numbers)
                if any(name == "valu" for name, _ in rows):
                    inner = split_wide(inner, numbers)
                result += interleave(inner, rows)
            case ops.For():
                result.append(replace(op, body=_flatten(op.body, numbers)))
            case ops.If():
                result.append(replace(op, then=_flatten(op.then, numbers), orelse=_flatten(op.orelse, numbers)))
            case (
                ops.Constant() | ops.Index() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Bitcast() |
                ops.Registers() | ops.Lanes() | ops.Mfma() | ops.Instruction() | ops.Load() | ops.Store() |
                ops.CopyToLds() | ops.Atomic() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() |
                ops.Check()
            ):  # fmt: skip
                result.append(op)
            case _:
                assert_never(op)
    return result


def pattern(policy: dict[str, int | str], span: Span) -> list[tuple[str, int]]:
    """(class, how many) in the order of one round."""
    rows: list[tuple[str, int]] = []
    for name, value in policy.items():
        if name != "order":
            rows.append((name, int(value)))
            continue
        for word in str(value).replace(",", " ").split():
            match = _TOKEN.fullmatch(word)
            if match is None:
                raise CompileError("C150", f"`{word}` in a schedule order is not a class or class*count", span)
            rows.append((match[1], int(match[2] or 1)))
    unknown = [name for name, _ in rows if name not in CLASSES]
    if unknown:
        raise CompileError("C150", f"a schedule has no class {unknown[0]!r}; there are {', '.join(CLASSES)}", span)
    return rows


def slots(op: ops.Op) -> int:
    """Issue slots of 4 clocks that the arithmetic of one operation takes; 1 for everything that is not `valu`."""
    match op:
        case ops.Map():
            return op.result.count * MAPS[op.fn].slots
        case ops.Convert():
            one = ROUNDING_SLOTS.get((op.result.dtype.name, op.rounding, op.finite), 1.0)
            return max(1, round(op.result.count * one))
        case (
            ops.Constant() | ops.Index() | ops.Symbol() | ops.Bitcast() | ops.Registers() | ops.Lanes() | ops.Mfma() |
            ops.Instruction() | ops.Load() | ops.Store() | ops.CopyToLds() | ops.Atomic() | ops.Barrier() |
            ops.Wait() | ops.SetPrio() | ops.For() | ops.If() | ops.Schedule() | ops.Tag() | ops.Check()
        ):  # fmt: skip
            return 1
        case _:
            assert_never(op)


def interleave(block: list[ops.Op], rows: list[tuple[str, int]]) -> list[ops.Op]:
    """The operations in scheduled order; pieces between fixed operations are scheduled one by one."""
    result: list[ops.Op] = []
    piece: list[ops.Op] = []
    for op in block:
        if op.ordering is ops.Ordering.FIXED:
            result += [*_Piece(piece, rows).order(), op]
            piece = []
        else:
            piece.append(op)
    return result + _Piece(piece, rows).order()


class _Piece:
    """Straight-line operations without fixed ones between them."""

    def __init__(self, block: list[ops.Op], rows: list[tuple[str, int]]) -> None:
        self.block = block
        self.rows = rows
        self.needs = dependences(block)
        self.placed: list[int] = []
        self.done: set[int] = set()
        listed = {name for name, _ in rows}
        self.queues: dict[str, list[int]] = {name: [] for name in listed}
        self.others: list[int] = []
        self.debt = dict.fromkeys(listed, 0)
        for n, op in enumerate(block):
            name = op.issue_class
            if name in listed and name is not None:
                self.queues[name].append(n)
            elif name is not None:
                self.others.append(n)

    def order(self) -> list[ops.Op]:
        while any(self.queues.values()) or self.others:
            before = len(self.done)
            for name, count in self.rows:
                taken = self._take(self.queues[name], count - self.debt[name], self._ready)
                self.debt[name] = max(0, self.debt[name] + taken - count)
            self._take(self.others, len(self.others), self._others_may_go)
            if len(self.done) == before and not any(self.debt.values()):
                heads = [queue for queue in (*self.queues.values(), self.others) if queue]
                self._take(min((q for q in heads if self._ready(q[0])), key=lambda q: q[0]), 1, self._ready)
        for n in range(len(self.block)):
            self._place(n)
        return [self.block[n] for n in self.placed]

    def _take(self, queue: list[int], count: int, may: Callable[[int], bool]) -> int:
        """Place operations of at least `count` slots, as far as they may go; how many slots they took."""
        taken = 0
        while taken < count and queue and may(queue[0]):
            taken += slots(self.block[queue[0]])
            self._place(queue.pop(0))
        return taken

    def _others_may_go(self, n: int) -> bool:
        """Classes without a ratio keep their place relative to the first class of the pattern."""
        leading = self.queues[self.rows[0][0]] if self.rows else []
        return self._ready(n) and not (leading and leading[0] < n)

    def _ready(self, n: int) -> bool:
        """Everything with a class that it depends on, directly or through free operations, has been placed."""
        pending = list(self.needs[n])
        while pending:
            m = pending.pop()
            if m in self.done:
                continue
            if self.block[m].issue_class is not None:
                return False
            pending += self.needs[m]
        return True

    def _place(self, n: int) -> None:
        if n in self.done:
            return
        for m in self.needs[n]:
            self._place(m)
        self.done.add(n)
        self.placed.append(n)


def dependences(block: list[ops.Op]) -> list[list[int]]:
    """For each operation, the earlier ones that must stay before it."""
    maker: dict[object, int] = {}
    accesses: list[tuple[int, ops.Memory, int | None, int | None, bool]] = []
    needs: list[list[int]] = []
    meetings: list[int] = []
    fixed: list[int] = []
    for n, op in enumerate(block):
        before: set[int] = {maker[value] for value in op.operands if value in maker} | set(fixed)
        for e in op.expressions:
            before |= {maker[v.name] for v in e.free() if v.name in maker}
        for memory, lo, hi, writes in _touches(op):
            before |= {
                m
                for m, memory_, lo_, hi_, writes_ in accesses
                if (writes or writes_) and _overlap(memory, lo, hi, memory_, lo_, hi_)
            }
            accesses.append((n, memory, lo, hi, writes))
        match op.ordering:
            case ops.Ordering.MEETING:
                before |= {m for m, *_ in accesses} | set(meetings)
                meetings.append(n)
            case ops.Ordering.ACCESS:
                before |= set(meetings)
            case ops.Ordering.FIXED:
                before |= set(range(n))
                fixed = [n]
            case ops.Ordering.FREE:
                pass
            case _:
                assert_never(op.ordering)
        for value in op.results:
            maker[value] = n
        for variable in op.binds:
            maker[variable.name] = n
        needs.append(sorted(before))
    return needs


def _touches(op: ops.Op) -> list[tuple[ops.Memory, int | None, int | None, bool]]:
    """(memory, first byte, last byte, writes) of an operation's accesses; bytes None where not known."""
    found: list[tuple[ops.Memory, int | None, int | None, bool]] = []
    for f in op.footprints:
        lo, hi = f.address.bounds()
        found.append((f.memory, lo, None if hi is None else hi + f.wave_bytes(WAVE_LANES) - 1, f.writes))
    return found


def _overlap(
    a: ops.Memory, a_lo: int | None, a_hi: int | None, b: ops.Memory, b_lo: int | None, b_hi: int | None
) -> bool:
    if isinstance(a, ops.Shared) and isinstance(b, ops.Shared):
        a_lo, a_hi = _in_lds(a, a_lo, a_hi)
        b_lo, b_hi = _in_lds(b, b_lo, b_hi)
    elif a is not b:
        return False
    disjoint = (a_hi is not None and b_lo is not None and a_hi < b_lo) or (
        b_hi is not None and a_lo is not None and b_hi < a_lo
    )
    return not disjoint


def _in_lds(buffer: ops.Shared, lo: int | None, hi: int | None) -> tuple[int, int]:
    first = 0 if lo is None else lo
    last = buffer.bytes - 1 if hi is None else hi
    return buffer.base + first, buffer.base + last
