"""Single-point mutants of a kernel at the level of the IR.

Each mutant is the kernel with one change of the kind people make: a wrong lane, row or swizzle on one side, an
iteration too early, a missing or bare barrier, a lost store, swapped operands, a wrong loop bound, guard, grid or
requirement (a tail that trusts the linear address), a missing wait; `mutants_structure` adds changes of rings, loops,
masks and functions, and a few that change nothing. Whether a mutant is really wrong is for the interpreter to say
(`truth`), not for its maker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count, pairwise

from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, LANE, Kernel, wave_variable
from argus.ir.ops import Access, Op, Shared
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr, const
from tests.check.mutants_structure import structure

Change = Callable[[Op], list[Op] | None]


@dataclass(frozen=True)
class Mutant:
    """`kind` names the family for the table; `name` says what exactly was changed where."""

    kind: str
    name: str
    kernel: Kernel


def rewrite(block: list[Op], victim: int, change: Change) -> list[Op]:
    """The block with the op `victim`, wherever it is nested, replaced by what `change` makes of it."""
    made: list[Op] = []
    for op in block:
        if op.id == victim:
            made += change(op) or []
        elif isinstance(op, ops.For | ops.Schedule):
            made.append(replace(op, body=rewrite(op.body, victim, change)))
        elif isinstance(op, ops.If):
            then, orelse = rewrite(op.then, victim, change), rewrite(op.orelse, victim, change)
            made.append(replace(op, then=then, orelse=orelse))
        else:
            made.append(op)
    return made


def mutants(kernel: Kernel) -> Iterator[Mutant]:
    """All mutants, in program order within each family."""
    numbers = count(1 + max(op.id for op in ops.walk(kernel.body)))

    def changed(kind: str, text: str, victim: Op, change: Change) -> Mutant:
        where = "".join(f" {n}={v}" for n, v in victim.site)
        name = f"{text} at line {victim.span.line}{where}"
        return Mutant(kind, name, replace(kernel, body=rewrite(kernel.body, victim.id, change)))

    loops = [op for op in ops.walk(kernel.body) if isinstance(op, ops.For)]
    for op in list(ops.walk(kernel.body)):
        if isinstance(op, ops.Load | ops.Store | ops.Atomic):
            for kind, text, access in _accesses(kernel, op.access, loops):
                yield changed(kind, text, op, lambda o, a=access: [replace(o, access=a)])  # type: ignore[misc]
        if isinstance(op, ops.CopyToLds):
            yield changed("address", "copy 4 bytes further", op, lambda o: [replace(o, lds_base=o.lds_base + 4)])  # type: ignore
            for kind, text, access in _accesses(kernel, op.access, loops):
                yield changed(kind, text, op, lambda o, a=access: [replace(o, access=a)])  # type: ignore[misc]
        if isinstance(op, ops.Store | ops.CopyToLds | ops.Atomic):
            yield changed("lost store", "store dropped", op, lambda o: [])
        if isinstance(op, ops.Barrier):
            yield changed("barrier", "barrier dropped", op, lambda o: [])
            yield changed("barrier", "barrier bare", op, lambda o: [replace(o, bare=True)])  # type: ignore[call-arg]
        if isinstance(op, ops.Wait):
            yield changed("wait", "wait dropped", op, lambda o: [])
        if isinstance(op, ops.Mfma):
            yield changed("operand", "operands swapped", op, lambda o: [replace(o, a=o.b, b=o.a)])  # type: ignore
            yield changed("contraction", "MFMA dropped", op, lambda o: [_keep(o)])
            yield changed("contraction", "MFMA done twice", op, lambda o: _twice(o, next(numbers)))
        if isinstance(op, ops.Registers) and len(op.pick) > 1:
            turned = (*op.pick[1:], op.pick[0])
            yield changed("register", "registers rotated", op, lambda o, p=turned: [replace(o, pick=p)])  # type: ignore
        if isinstance(op, ops.For):
            yield changed("loop", "loop starts one late", op, lambda o: [replace(o, lo=o.lo + 1)])  # type: ignore
            yield changed("loop", "loop ends one early", op, lambda o: [replace(o, hi=o.hi - 1)])  # type: ignore
            yield changed("loop", "loop ends one late", op, lambda o: [replace(o, hi=o.hi + 1)])  # type: ignore
            yield changed("loop", "every second iteration", op, lambda o: [replace(o, step=2)])  # type: ignore
        if isinstance(op, ops.If):
            yield changed("guard", "condition always true", op, lambda o: [replace(o, cond=E.TRUE)])  # type: ignore
            yield changed("guard", "condition one stricter", op, lambda o: [replace(o, cond=_stricter(o.cond))])  # type: ignore
    yield from _launches(kernel)
    yield from _waits(kernel)
    yield from _exchanges(kernel)
    for kind, name, changed_kernel in structure(kernel):
        yield Mutant(kind, name, changed_kernel)


def spread(made: Iterable[Mutant], total: int) -> list[Mutant]:
    """`total` mutants, of every family as many as of the others where there are enough, evenly spread over the program,
    in their order."""
    families: dict[str, list[tuple[int, Mutant]]] = {}
    for n, mutant in enumerate(made):
        families.setdefault(mutant.kind, []).append((n, mutant))
    each = 1
    while sum(min(each, len(f)) for f in families.values()) < total and each < max(map(len, families.values())):
        each += 1
    chosen: list[tuple[int, Mutant]] = []
    for family in families.values():
        count = min(each, len(family))
        chosen += [family[i * len(family) // count] for i in range(count)]
    order = [mutant for _, mutant in sorted(chosen, key=lambda pair: pair[0])]
    total = min(total, len(order))
    return [order[i * len(order) // total] for i in range(total)]


def _accesses(kernel: Kernel, access: Access, loops: list[ops.For]) -> Iterator[tuple[str, str, Access]]:
    wave = wave_variable(kernel.waves)
    size = access.memory.dtype.bytes
    in_lds = isinstance(access.memory, Shared)

    def moved(mapping: dict[Expr, Expr | int]) -> Access:
        guard = None if access.guard is None else access.guard.subst(mapping)
        coords = tuple(c.subst(mapping) for c in access.coords)
        return replace(access, address=access.address.subst(mapping), coords=coords, guard=guard)

    yield "lane", "lane ^ 1", moved({LANE: LANE ^ 1})
    yield "lane", "lane ^ 32", moved({LANE: LANE ^ 32})
    if kernel.waves > 1:
        yield "lane", "next wave", moved({wave: (wave + 1) % kernel.waves})
    yield "address", "one element further", replace(access, address=access.address + size)
    yield "address", "double stride", replace(access, address=access.address * 2)
    if in_lds:
        plain = _without_xor(access.address)
        if plain is not access.address:
            yield "swizzle", "no swizzle", replace(access, address=plain)
        yield "address", "next row of LDS", replace(access, address=access.address + 32)
    else:
        yield "block", "blocks swapped", moved({BLOCK_X: BLOCK_Y, BLOCK_Y: BLOCK_X})
        for axis in range(len(access.coords)):
            coords = tuple(c + (n == axis) for n, c in enumerate(access.coords))
            stride = access.memory.strides[axis]  # type: ignore[union-attr]
            text = f"one further on axis {axis}"
            yield "coordinate", text, replace(access, coords=coords, address=access.address + stride * size)
    for loop in loops:
        if loop.var in access.address.free():
            yield "iteration", "one iteration ahead", moved({loop.var: loop.var + 1})
            yield "iteration", "one iteration behind", moved({loop.var: loop.var - 1})
    if access.guard is not None:
        yield "guard", "guard dropped", replace(access, guard=None)
        yield "guard", "guard one wider", replace(access, guard=_wider(access.guard))


def _without_xor(e: Expr) -> Expr:
    for node in E.postorder(e):
        if node.op == "xor":
            return e.subst({node: node.args[0]})
    return e


def _wider(guard: Expr) -> Expr:
    return guard.args[0].le(guard.args[1]) if guard.op == "lt" else E.TRUE


def _stricter(condition: Expr) -> Expr:
    return (condition.args[0] + 1).lt(condition.args[1]) if condition.op == "lt" else E.FALSE


def _keep(op: Op) -> Op:
    assert isinstance(op, ops.Mfma)
    pick = tuple((0, n) for n in range(op.c.count))
    return ops.Registers(id=op.id, span=op.span, site=op.site, result=op.result, args=(op.c,), pick=pick)


def _twice(op: Op, number: int) -> list[Op]:
    assert isinstance(op, ops.Mfma)
    between = Value(10_000 + number, op.result.dtype, op.result.count)
    return [replace(op, result=between), replace(op, id=number, c=between)]


def _launches(kernel: Kernel) -> Iterator[Mutant]:
    x, y, z = kernel.grid
    yield Mutant("grid", "one block fewer in x", replace(kernel, grid=(E.maximum(x - 1, 0), y, z)))
    yield Mutant("grid", "one block fewer in y", replace(kernel, grid=(x, E.maximum(y - 1, 0), z)))
    yield Mutant("grid", "one block more in x", replace(kernel, grid=(x + 1, y, z)))
    yield Mutant("grid", "one block more in y", replace(kernel, grid=(x, y + 1, z)))
    yield Mutant("grid", "two blocks in z", replace(kernel, grid=(x, y, const(2))))
    yield Mutant("grid", "grid swapped", replace(kernel, grid=(y, x, z)))
    for n, condition in enumerate(kernel.requires):
        rest = tuple(c for m, c in enumerate(kernel.requires) if m != n)
        yield Mutant("tail", f"requirement {condition} dropped", replace(kernel, requires=rest))


def _waits(kernel: Kernel) -> Iterator[Mutant]:
    """Mutants of the waits, made after wait insertion."""
    waited = insert_waits(kernel)
    for op in ops.walk(waited.body):
        if not isinstance(op, ops.Wait):
            continue
        text = f"at line {op.span.line}"
        dropped = rewrite(waited.body, op.id, lambda o: [])
        yield Mutant("wait", f"inserted wait dropped {text}", replace(waited, body=dropped))
        later = replace(
            op, vm=None if op.vm is None else op.vm + 1, lgkm=None if op.lgkm is None else op.lgkm + 1
        )  # fmt: skip
        body = rewrite(waited.body, op.id, lambda o, new=later: [new])  # type: ignore[misc]
        yield Mutant("wait", f"wait for one fewer {text}", replace(waited, body=body))


def _exchanges(kernel: Kernel) -> Iterator[Mutant]:
    """Neighbouring stores with their values exchanged; a barrier before the store it follows."""
    blocks = [kernel.body, *(op.body for op in ops.walk(kernel.body) if isinstance(op, ops.For))]
    for block in blocks:
        for x, y in pairwise(block):
            if isinstance(x, ops.Store) and isinstance(y, ops.Barrier):
                body = rewrite(kernel.body, x.id, lambda o, b=y: [b, o])  # type: ignore[misc]
                body = _without_second(body, y.id)
                yield Mutant("barrier", f"barrier early at line {y.span.line}", replace(kernel, body=body))
        stores = [op for op in block if isinstance(op, ops.Store)]
        for x, y in pairwise(stores):
            if x.value.type == y.value.type and x.access.memory is y.access.memory:
                body = rewrite(kernel.body, x.id, lambda o, v=y.access: [replace(o, access=v)])  # type: ignore
                body = rewrite(body, y.id, lambda o, v=x.access: [replace(o, access=v)])  # type: ignore[misc]
                name = f"stores exchanged at lines {x.span.line}, {y.span.line}"
                yield Mutant("coordinate", name, replace(kernel, body=body))


def _without_second(block: list[Op], number: int) -> list[Op]:
    seen = False
    made: list[Op] = []
    for op in block:
        if op.id == number:
            if seen:
                continue
            seen = True
        made.append(replace(op, body=_without_second(op.body, number)) if isinstance(op, ops.For) else op)
    return made
