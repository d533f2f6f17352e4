"""Mutants that change how a program is put together rather than one of its accesses.

slice       a fragment of LDS taken from another slice of the unrolled line (K slice, row, column)
ring        a ring of another depth, for all accesses of a buffer or for one side of them
carried     what a loop carries: an iteration too old, or two slots exchanged
prologue    all that was put into LDS before the loop is missing; a value prefetched there is zero
epilogue    what happens to a result after the loop is missing
mask        the edge of a mask moved, turned round, or gone
function    another elementwise function, operands turned round
exchange    a lane exchange with another partner, or none
barrier     moved up or down past the nearest access to LDS
trip        loads that trust an address beyond the last tile (a guard by iteration dropped everywhere)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, LANE, Kernel
from argus.ir.ops import Access, Op, Shared
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr, const

Change = Callable[[Op], list[Op] | None]
Made = tuple[str, str, Kernel]
"""Family, what was changed, the kernel."""
_OTHER = {"max": "min", "min": "max", "add": "sub", "sub": "add", "mul": "add", "div": "mul", "exp2": "neg"}
_EDGES = {"le": "lt", "lt": "le", "ge": "gt", "gt": "ge"}
_TURNED = {"le": "ge", "lt": "gt", "ge": "le", "gt": "lt"}


def rewritten(block: list[Op], change: Change) -> list[Op]:
    """Every op, wherever nested, replaced by what `change` makes of it; None keeps it."""
    made: list[Op] = []
    for op in block:
        new = change(op)
        if new is not None:
            made += new
        elif isinstance(op, ops.For | ops.Schedule):
            made.append(replace(op, body=rewritten(op.body, change)))
        elif isinstance(op, ops.If):
            made.append(replace(op, then=rewritten(op.then, change), orelse=rewritten(op.orelse, change)))
        else:
            made.append(op)
    return made


def structure(kernel: Kernel) -> Iterator[Made]:
    """All of them, family by family."""
    for family in (_slices, _rings, _carried, _around, _functions, _exchanges, _barriers, _trips, _maps, _extra):
        yield from family(kernel)


def _one(kernel: Kernel, victim: Op, **fields: Any) -> Kernel:
    """The kernel with fields of one op changed."""
    return _instead(kernel, victim, replace(victim, **fields))


def _instead(kernel: Kernel, victim: Op, new: Op) -> Kernel:
    """The kernel with one op replaced."""
    return replace(kernel, body=rewritten(kernel.body, lambda op: [new] if op.id == victim.id else None))


def _passed(op: ops.Map | ops.Mfma, source: Value) -> Op:
    """The op's result is just this value."""
    pick = tuple((0, n) for n in range(op.result.count))
    return ops.Registers(id=op.id, span=op.span, site=op.site, result=op.result, args=(source,), pick=pick)


def _where(op: Op) -> str:
    return f"at line {op.span.line}" + "".join(f" {n}={v}" for n, v in op.site)


def _slices(kernel: Kernel) -> Iterator[Made]:
    """A load from LDS with the address of its neighbour in one unrolled direction."""
    loads = [op for op in ops.walk(kernel.body) if isinstance(op, ops.Load) and isinstance(op.access.memory, Shared)]
    for op in loads:
        mine = dict(op.site)
        for other in loads:
            theirs = dict(other.site)
            if other.span != op.span or theirs.keys() != mine.keys() or other.access.memory is not op.access.memory:
                continue
            apart = [n for n in mine if mine[n] != theirs[n]]
            if len(apart) == 1 and theirs[apart[0]] == mine[apart[0]] + 1:
                text = f"slice {apart[0]}={theirs[apart[0]]} taken {_where(op)}"
                yield "slice", text, _one(kernel, op, access=other.access)


def _in_lds(op: Op) -> Access | None:
    found = isinstance(op, ops.Load | ops.Store) and isinstance(op.access.memory, Shared)
    return op.access if found and isinstance(op, ops.Load | ops.Store) else None


def _rings(kernel: Kernel) -> Iterator[Made]:
    variables = {op.var for op in ops.walk(kernel.body) if isinstance(op, ops.For)}
    buffers: dict[Shared, int] = {}
    for op in ops.walk(kernel.body):
        access = _in_lds(op)
        slot = None if access is None else _slot(access.address, variables)
        if slot is not None and access is not None and isinstance(access.memory, Shared):
            buffers[access.memory] = slot.args[1].value

    for buffer, depth in buffers.items():
        for chosen, side in (((ops.Load, ops.Store), "ring"), ((ops.Load,), "reads"), ((ops.Store,), "writes")):
            for other in (depth - 1, depth + 1):
                text = f"{side} of {buffer.name} {other} deep"
                yield (
                    "ring",
                    text,
                    replace(kernel, body=rewritten(kernel.body, _deep(buffer, chosen, other, variables))),
                )
        for op in ops.walk(kernel.body):
            access = _in_lds(op)
            slot = None if access is None or access.memory is not buffer else _slot(access.address, variables)
            if slot is not None and access is not None:
                following = access.address.subst({slot: (slot.args[0] + 1) % slot.args[1]})
                yield "ring", f"next slot {_where(op)}", _one(kernel, op, access=replace(access, address=following))


def _slot(e: Expr, variables: set[Expr]) -> Expr | None:
    """The part of an address that picks the slot of a ring."""
    for node in E.postorder(e):
        if node.op == "mod" and node.args[1].op == "const" and node.free() & variables:
            return node
    return None


def _deep(buffer: Shared, kinds: tuple[type[Op], ...], depth: int, variables: set[Expr]) -> Change:
    def change(op: Op) -> list[Op] | None:
        if not isinstance(op, kinds) or not isinstance(op, ops.Load | ops.Store) or op.access.memory is not buffer:
            return None
        slot = _slot(op.access.address, variables)
        if slot is None:
            return None
        address = op.access.address.subst({slot: slot.args[0] % depth})
        return [replace(op, access=replace(op.access, address=address))]

    return change


def _carried(kernel: Kernel) -> Iterator[Made]:
    for loop in [op for op in ops.walk(kernel.body) if isinstance(op, ops.For)]:
        for n, (arg, value) in enumerate(zip(loop.args, loop.yields, strict=True)):
            if arg is not value:
                kept = (*loop.yields[:n], arg, *loop.yields[n + 1 :])
                yield "carried", f"slot {n} kept {_where(loop)}", _one(kernel, loop, yields=kept)
            if n + 1 < len(loop.yields) and loop.yields[n + 1].type == value.type:
                turned = (*loop.yields[:n], loop.yields[n + 1], value, *loop.yields[n + 2 :])
                yield "carried", f"slots {n} and {n + 1} exchanged {_where(loop)}", _one(kernel, loop, yields=turned)


def _around(kernel: Kernel) -> Iterator[Made]:
    """Prologue and epilogue of the loops in the body."""
    places = [n for n, op in enumerate(kernel.body) if isinstance(op, ops.For)]
    if not places:
        return
    before, after = kernel.body[: places[0]], kernel.body[places[-1] + 1 :]
    stores = {op.id for op in ops.walk(before) if _in_lds(op) is not None and isinstance(op, ops.Store)}
    copies = {op.id for op in ops.walk(before) if isinstance(op, ops.CopyToLds)}
    if stores or copies:
        gone = stores | copies
        body = rewritten(kernel.body, lambda op: [] if op.id in gone else None)
        yield "prologue", "nothing is put into LDS before the loop", replace(kernel, body=body)
    for op in ops.walk(before):
        if isinstance(op, ops.Load):
            zero = ops.Constant(id=op.id, span=op.span, site=op.site, result=op.result, value=0)
            yield "prologue", f"load missing, zero instead {_where(op)}", _instead(kernel, op, zero)
    for op in ops.walk(after):
        if isinstance(op, ops.Map) and op.args[0].type == op.result.type:
            yield "epilogue", f"{op.fn} missing {_where(op)}", _instead(kernel, op, _passed(op, op.args[0]))
        if isinstance(op, ops.Mfma):
            yield "epilogue", f"matrix instruction missing {_where(op)}", _instead(kernel, op, _passed(op, op.c))


def _functions(kernel: Kernel) -> Iterator[Made]:
    for op in ops.walk(kernel.body):
        if isinstance(op, ops.Index):
            for step in (1, -1):
                moved = op.expr + step
                text = f"index {step:+d} {_where(op)}"
                yield "mask", text, _one(kernel, op, expr=moved)
        if not isinstance(op, ops.Map):
            continue
        for table, word in ((_EDGES, "edge"), (_TURNED, "turned")):
            if op.fn in table:
                text = f"mask {op.fn} -> {table[op.fn]} ({word}) {_where(op)}"
                yield "mask", text, _one(kernel, op, fn=table[op.fn])
        if op.fn == "select":
            yield "mask", f"mask missing {_where(op)}", _instead(kernel, op, _passed(op, op.args[1]))
        if op.fn in _OTHER:
            text = f"{op.fn} -> {_OTHER[op.fn]} {_where(op)}"
            yield "function", text, _one(kernel, op, fn=_OTHER[op.fn])
        if op.fn in ("sub", "div"):
            turned = (op.args[1], op.args[0])
            text = f"{op.fn} turned round {_where(op)}"
            yield "operand", text, _one(kernel, op, args=turned)


def _exchanges(kernel: Kernel) -> Iterator[Made]:
    for op in ops.walk(kernel.body):
        if isinstance(op, ops.Lanes):
            sources = (("none", LANE), ("lane ^ 16", LANE ^ 16), ("lane ^ 1", LANE ^ 1), ("lane 0", const(0)))
            for text, source in sources:
                yield "exchange", f"exchange with {text} {_where(op)}", _one(kernel, op, source=source)


def _barriers(kernel: Kernel) -> Iterator[Made]:
    """A barrier moved past the nearest access to LDS on either side, in its own block."""
    blocks = [kernel.body, *(b for op in ops.walk(kernel.body) for b in op.blocks)]
    for block in blocks:
        for n, op in enumerate(block):
            if not isinstance(op, ops.Barrier):
                continue
            up = next((m for m in range(n - 1, -1, -1) if _touches(block[m])), None)
            down = next((m for m in range(n + 1, len(block)) if _touches(block[m])), None)
            if up is not None:
                order = [*block[:up], op, *block[up:n], *block[n + 1 :]]
                yield "barrier", f"barrier above line {block[up].span.line} {_where(op)}", _with(kernel, block, order)
            if down is not None:
                order = [*block[:n], *block[n + 1 : down + 1], op, *block[down + 1 :]]
                yield "barrier", f"barrier below line {block[down].span.line} {_where(op)}", _with(kernel, block, order)


def _touches(op: Op) -> bool:
    return any(_in_lds(o) is not None or isinstance(o, ops.CopyToLds) for o in ops.walk([op]))


def _with(kernel: Kernel, block: list[Op], order: list[Op]) -> Kernel:
    def replaced(current: list[Op]) -> list[Op]:
        made: list[Op] = []
        for op in order if current is block else current:
            if isinstance(op, ops.For | ops.Schedule):
                made.append(replace(op, body=replaced(op.body)))
            elif isinstance(op, ops.If):
                made.append(replace(op, then=replaced(op.then), orelse=replaced(op.orelse)))
            else:
                made.append(op)
        return made

    return replace(kernel, body=replaced(kernel.body))


def _trips(kernel: Kernel) -> Iterator[Made]:
    """All guards of one line's loads dropped at once, or one step wider."""
    lines = sorted(
        {op.span.line for op in ops.walk(kernel.body) if isinstance(op, ops.Load) and op.access.guard is not None}
    )
    for line in lines:
        for word in ("dropped", "one wider"):
            change = _unguarded(line, word == "one wider")
            yield "guard", f"guards of line {line} {word}", replace(kernel, body=rewritten(kernel.body, change))


def _unguarded(line: int, wider: bool) -> Change:
    def change(op: Op) -> list[Op] | None:
        if not isinstance(op, ops.Load) or op.span.line != line or op.access.guard is None:
            return None
        guard = op.access.guard
        new = guard.args[0].le(guard.args[1]) if wider and guard.op == "lt" else None
        return [replace(op, access=replace(op.access, guard=new))]

    return change


def _maps(kernel: Kernel) -> Iterator[Made]:
    for block, extent in zip((BLOCK_X, BLOCK_Y), kernel.grid, strict=False):
        orders: dict[str, Expr] = {"backwards": extent - 1 - block, "rotated": (block + 1) % extent}
        for word, order in orders.items():
            for side, kinds in (("everywhere", None), ("in loads", ops.Load), ("in stores", ops.Store | ops.Atomic)):
                text = f"{block.name} {word} {side}"
                yield "map", text, replace(kernel, body=rewritten(kernel.body, _replaced({block: order}, kinds)))


def _replaced(mapping: dict[Expr, Expr | int], kinds: Any) -> Change:
    """Variables replaced in all index expressions, or only in accesses of some kind."""

    def change(op: Op) -> list[Op] | None:
        if kinds is not None and not isinstance(op, kinds):
            return None
        match op:
            case ops.Load() | ops.Store() | ops.Atomic():
                return [replace(op, access=_moved(op.access, mapping))]
            case ops.CopyToLds():
                return [replace(op, access=_moved(op.access, mapping), lds_base=op.lds_base.subst(mapping))]
            case ops.Index():
                return [replace(op, expr=op.expr.subst(mapping))]
            case ops.For():
                body = rewritten(op.body, change)
                return [replace(op, lo=op.lo.subst(mapping), hi=op.hi.subst(mapping), body=body)]
            case ops.If():
                then, orelse = rewritten(op.then, change), rewritten(op.orelse, change)
                return [replace(op, cond=op.cond.subst(mapping), then=then, orelse=orelse)]
            case _:
                return None

    return change


def _moved(access: Access, mapping: dict[Expr, Expr | int]) -> Access:
    guard = None if access.guard is None else access.guard.subst(mapping)
    coords = tuple(c.subst(mapping) for c in access.coords)
    return replace(access, address=access.address.subst(mapping), coords=coords, guard=guard)


def _extra(kernel: Kernel) -> Iterator[Made]:
    number = 1 + max(op.id for op in ops.walk(kernel.body))
    for op in ops.walk(kernel.body):
        if isinstance(op, ops.For):
            more: tuple[Op, ...] = (ops.Barrier(id=number, span=op.span), ops.Wait(id=number, span=op.span, vm=0))
            for one in more:
                body = [*op.body, one]
                yield "extra", f"one more {type(one).__name__.lower()} {_where(op)}", _one(kernel, op, body=body)
