"""`ag.check.…` and `ag.tag`: what the author states about data flow. They stay in the IR and make no code.

ag.check.conform(ag.mfma, "K")             every multiplied pair agrees on K
ag.check.race_free(sA, sB)
ag.check.fresh(sA, sB, K="kt*BK")          a string is an index expression over the names of the kernel
ag.check.reduced(acc, K=(0, K))
W = ag.tag(W, expert="E")                  tag a tensor's elements; also on tiles, with an index
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from argus.ir.ops import Memory, Shared, Tag, Tensor
from argus.ir.types import Value
from argus.lang import arithmetic
from argus.lang.context import ReadContext
from argus.lang.values import Builtin, NameScope, Ring, SharedTile, Slot, TensorView, Tile, Unavailable
from argus.layout import expr as E
from argus.layout.expr import Expr, var

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions

RULES = (
    "conform", "race_free", "bank_free", "fresh", "in_bounds", "covers", "reduced", "vector", "coalesced", "aligned",
    "same", "distinct", "invariant",
)  # fmt: skip

ABOUT_INDICES = ("same", "distinct", "invariant")

Target = Value | Memory | str


def check(interp: Expressions, /, *targets: object, rule: str, **facts: object) -> None:
    """One assertion per named axis; without axis names a single one."""
    ctx = interp.ctx
    found: list[Target] = []
    axes: list[str] = []
    exprs: list[Expr] = []
    for t in targets:
        if isinstance(t, str):
            axes.append(t)
        elif isinstance(t, (Expr, int)) and rule in ABOUT_INDICES:
            exprs.append(E.as_expr(t))
        else:
            found += _targets(ctx, rule, t)
    args: dict[str, Expr | str | int | tuple[Expr, ...]] = {}
    for name, fact in facts.items():
        args[name] = _fact(interp, rule, name, fact)
    if exprs:
        args["exprs"] = tuple(exprs)
    for axis in axes or [""]:
        ctx.b.check(rule, *found, **({**args, "axis": axis} if axis else args))


def _targets(ctx: ReadContext, rule: str, target: object) -> list[Target]:
    match target:
        case Tile():
            return list(target.pieces)
        case SharedTile():
            return [target.buffer]
        case Ring():
            return list(target.buffers)
        case Slot():
            return [m.buffer for m in target.members.values()]
        case Tensor() | Shared():
            return [target]
        case TensorView():
            return [target.tensor]
        case Builtin() if target.name == "ag.mfma":
            return ["mfma"]
        case list() | tuple():
            return [x for t in target for x in _targets(ctx, rule, t)]
        case _:
            raise ctx.error("AG606", rule=rule, got=arithmetic.describe(target))


def _fact(interp: Expressions, rule: str, name: str, fact: object) -> Expr | str | int | tuple[Expr, ...]:
    ctx = interp.ctx
    if isinstance(fact, str):
        try:
            node = ast.parse(fact, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ctx.error("AG607", rule=rule, text=fact) from None
        place = ctx.span
        for part in ast.walk(node):
            if isinstance(part, ast.expr):
                part.lineno, part.col_offset = place.line, place.col
                part.end_lineno, part.end_col_offset = place.end_line, place.end_col
        outer = interp.scope
        interp.scope = NameScope(outer, _visible(interp))
        fact = interp.evaluate(node)
        interp.scope = outer
    if isinstance(fact, bool):
        return int(fact)
    if isinstance(fact, (int, Expr)):
        return fact
    if isinstance(fact, tuple) and all(isinstance(f, (int, Expr)) for f in fact):
        return tuple(E.as_expr(f) for f in fact)
    raise ctx.error("AG607", rule=rule, text=f"{name} = {arithmetic.describe(fact)}")


def _visible(interp: Expressions) -> dict[str, object]:
    """Loop variables that have no value here any more: an assertion may still speak of them."""
    made: dict[str, object] = {}
    for name, variable in interp.ctx.loop_variables.items():
        holder = interp.scope.holder(name)
        if holder is not None and isinstance(holder.names[name], Unavailable):
            made[name] = variable
    return made


def tag(interp: Expressions, target: object, /, **tags: object) -> object:
    """Name a property of every element; returns its target."""
    ctx = interp.ctx
    if not isinstance(target, (Tile, Tensor)):
        raise ctx.error("AG606", rule="tag", got=arithmetic.describe(target))
    for name, value in tags.items():
        if isinstance(target, Tensor):
            params = tuple(var(f"at_{axis}", 0, None) for axis in target.axes)
            by_name = dict(zip(target.axes, params, strict=True))
            if isinstance(value, str) and value in by_name:
                ctx.b.append(Tag(target=target, name=name, params=params, exprs=(by_name[value],)))
                continue
            made = _fact(interp, "tag", name, value)
            exprs = made if isinstance(made, tuple) else (E.as_expr(made),) if not isinstance(made, str) else ()
            ctx.b.append(Tag(target=target, name=name, params=params, exprs=exprs))
            continue
        made = _fact(interp, "tag", name, value)
        exprs = made if isinstance(made, tuple) else (E.as_expr(made),) if not isinstance(made, str) else ()
        for piece in target.pieces:
            ctx.b.append(Tag(target=piece, name=name, params=(), exprs=exprs))
    return target
