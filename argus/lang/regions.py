"""Loops and branches of the machine code: which names they carry, and what names mean after them.

A loop over `ag.range` becomes one `For`. The names its body assigns and that held tiles before it are the values the
loop carries; the reader finds them from the syntax tree, so an author writes `acc[i, j] = …` and nothing else:

    for kt in ag.range(K // BK):       %9 = for kt in 0 .. K//64 carry %5 = %4
        acc[0] = ag.mfma(a, b, acc[0])     ... %8 = mfma a, b, %5 ... yield %8

A name that held something static (a number, an index, a layout) and is assigned in the body has no single value in the
loop; using it there, or after it, is an error that says so. The same holds for names that only one way through a branch
assigns. Tiles assigned on one or both ways through a branch are merged, indices too (as `select`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import gcd

from argus.ir.ops import Op
from argus.ir.types import Value
from argus.lang import arithmetic, tiles
from argus.lang.carried import kind_text, shape_of, tiles_in, with_values
from argus.lang.context import ReadContext
from argus.lang.expressions import Expressions
from argus.lang.values import Coordinates, FileFunction, NameScope, Range, Tile, Unavailable
from argus.layout import expr as E
from argus.layout.expr import Expr

State = list[tuple[NameScope, dict[str, object]]]


class Regions(Expressions):
    """Reads loops and branches that stay in the machine code."""

    def __init__(self, ctx: ReadContext, scope: NameScope) -> None:
        super().__init__(ctx, scope)
        self.barred: list[str] = []
        self.active: list[NameScope] = [scope]

    def run(self, body: list[ast.stmt]) -> None:
        raise NotImplementedError

    def loop(self, node: ast.For, items: Range) -> None:
        ctx = self.ctx
        if not isinstance(node.target, ast.Name):
            raise ctx.error("AG517", node.target, names=len(getattr(node.target, "elts", [])), values=1)
        low, high = items.lo.bounds()[0], items.hi.bounds()[1]
        top = None if high is None else max(high - 1, low if low is not None else high - 1)
        var = ctx.fresh_variable(node.target.id, low, top)
        ctx.loop_variables[node.target.id] = var
        ctx.multiples[var] = gcd(items.step, ctx.divisor(items.lo))
        carried, lost = self._assigned_before(node)
        span = ctx.span_of(node)
        flat: list[Value] = []
        for scope, name in carried:
            flat += [v for t in tiles_in(scope.names[name]) for v in t.pieces]
        with ctx.b.loop(var, items.lo, items.hi, tuple(flat), items.step) as loop:
            inside = iter(loop.args)
            before: dict[tuple[int, str], object] = {}
            for scope, name in carried:
                before[id(scope), name] = scope.names[name] = with_values(scope.names[name], inside)
            for scope, name in lost:
                scope.names[name] = Unavailable("AG501", {"name": name}, span)
            old_names = {name for name, value in self.scope.names.items() if not isinstance(value, Unavailable)}
            self.scope.names[node.target.id] = var
            self.barred.append("a loop over ag.range")
            self.run(node.body)
            self.barred.pop()
            yields: list[Value] = []
            for scope, name in carried:
                yields += self._matching(scope.names[name], before[id(scope), name], name, node)
            loop.yields(*yields)
        after = iter(loop.outs)
        for scope, name in carried:
            scope.names[name] = with_values(before[id(scope), name], after)
        for scope, name in lost:
            scope.names[name] = Unavailable("AG501", {"name": name}, span)
        for name in set(self.scope.names) - old_names:
            if not isinstance(self.scope.names[name], Unavailable):
                self.scope.names[name] = Unavailable("AG502", {"name": name, "where": "the loop"}, span)
        self.scope.names[node.target.id] = Unavailable("AG502", {"name": node.target.id, "where": "the loop"}, span)

    def _assigned_before(self, node: ast.For) -> tuple[list[tuple[NameScope, str]], list[tuple[NameScope, str]]]:
        """Names the body may assign that had a value before: those with tiles (carried) and the others (lost)."""
        carried: list[tuple[NameScope, str]] = []
        lost: list[tuple[NameScope, str]] = []
        seen: set[tuple[int, str]] = set()
        for scope, name in self._assignments(node.body, self.scope, set()):
            if (id(scope), name) in seen:
                continue
            seen.add((id(scope), name))
            value = scope.names[name]
            if tiles_in(value):
                carried.append((scope, name))
            elif not isinstance(value, Unavailable):
                lost.append((scope, name))
        return carried, lost

    def _assignments(
        self, body: list[ast.stmt], scope: NameScope, visited: set[int]
    ) -> Iterator[tuple[NameScope, str]]:
        for part in (n for statement in body for n in ast.walk(statement)):
            root = part
            while isinstance(root, (ast.Subscript, ast.Attribute)) and root is not None:
                root = root.value
            if isinstance(root, ast.Name):
                stores = isinstance(getattr(part, "ctx", None), ast.Store)
                appends = isinstance(part, ast.Attribute) and part.attr == "append"
                holder = scope.holder(root.id)
                if (stores or appends) and holder is not None:
                    plain = isinstance(part, ast.Name)
                    if holder is scope or not plain or root.id in scope.nonlocals:
                        yield holder, root.id
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                holder = scope.holder(part.id)
                found = holder.names[part.id] if holder is not None else None
                if (
                    isinstance(found, FileFunction)
                    and isinstance(found.node, ast.FunctionDef)
                    and id(found) not in visited
                ):
                    visited.add(id(found))
                    yield from self._outer_assignments(found, visited)

    def _outer_assignments(self, function: FileFunction, visited: set[int]) -> Iterator[tuple[NameScope, str]]:
        """What a function changes outside itself: parts of outer tiles, and names it declares nonlocal."""
        assert isinstance(function.node, ast.FunctionDef)
        inner = NameScope(function.scope)
        inner.names.update({a.arg: None for a in function.node.args.args})
        for part in ast.walk(function.node):
            if isinstance(part, ast.Nonlocal):
                inner.nonlocals.update(part.names)
        for part in ast.walk(function.node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id not in inner.nonlocals:
                inner.names.setdefault(part.id, None)
        for holder, name in self._assignments(function.node.body, inner, visited):
            if holder is not inner:
                yield holder, name

    def _matching(self, value: object, before: object, name: str, node: ast.AST) -> list[Value]:
        """The registers of `value`, in the shape of `before`."""
        new, old = tiles_in(value), tiles_in(before)
        if isinstance(value, Unavailable):
            raise self.ctx.error(value.code, node, **value.words)
        if len(new) != len(old) or shape_of(value) != shape_of(before):
            raise self.ctx.error("AG503", node, name=name, before=kind_text(before), after=kind_text(value))
        made: list[Value] = []
        for a, b in zip(new, old, strict=True):
            if a.dtype != b.dtype or a.count != b.count or not a.dist.same_as(b.dist):
                raise self.ctx.error("AG503", node, name=name, before=kind_text(b), after=kind_text(a))
            made += tiles.regroup(self.ctx, a, b.chunk).pieces
        return made

    def branch(self, node: ast.If) -> None:
        ctx = self.ctx
        test = self.evaluate(node.test)
        if isinstance(test, (Tile, Coordinates)):
            raise ctx.error("AG505", node.test, what=arithmetic.describe(test))
        if not isinstance(test, Expr):
            self.run(node.body if test else node.orelse)
            return
        cond = arithmetic.condition(ctx, test)
        level = ctx.level(cond)
        ways: list[tuple[list[Op], State]] = []
        start, known = self._state(), len(ctx.read_indices)
        for body in (node.body, node.orelse):
            block: list[Op] = []
            with ctx.b.into(block):
                ctx.divergence.append((level, ctx.span_of(node.test)))
                self.barred.append("an `if` that is decided on the machine")
                self.run(body)
                self.barred.pop()
                ctx.divergence.pop()
            ways.append((block, self._state()))
            for scope, names in start:
                scope.names = dict(names)
        self._merge(node, cond, level, start, ways, frozenset(ctx.read_indices[known:]))

    def _state(self) -> State:
        return [(s, dict(s.names)) for s in self.active]

    def _merge(
        self,
        node: ast.If,
        cond: Expr,
        level: str,
        start: State,
        ways: list[tuple[list[Op], State]],
        inner: frozenset[Expr],
    ) -> None:
        """What names mean after the branch; `inner` are the indices read from memory inside it."""
        ctx, span = self.ctx, self.ctx.span_of(node)
        (then, then_state), (orelse, else_state) = ways
        then_yields: list[Value] = []
        else_yields: list[Value] = []
        merged: list[tuple[NameScope, str, object]] = []
        for (scope, _), (_, first), (_, second) in zip(start, then_state, else_state, strict=True):
            for name in dict.fromkeys((*first, *second)):
                if name not in first or name not in second:
                    scope.names[name] = Unavailable("AG502", {"name": name, "where": "the `if`"}, span)
                    continue
                a, b = first[name], second[name]
                if a is b:
                    scope.names[name] = a
                elif arithmetic.is_index(a) and arithmetic.is_index(b):
                    if inner & (E.as_expr(a).free() | E.as_expr(b).free()):
                        scope.names[name] = Unavailable("AG525", {"name": name}, span)
                        continue
                    scope.names[name] = arithmetic.folded(E.select(cond, E.as_expr(a), E.as_expr(b)))
                elif tiles_in(a) and shape_of(a) == shape_of(b) and self._alike(a, b):
                    then_yields += [v for t in tiles_in(a) for v in t.pieces]
                    with ctx.b.into(orelse):
                        else_yields += self._matching(b, a, name, node)
                    merged.append((scope, name, a))
                else:
                    words: dict[str, object] = {"name": name, "before": kind_text(a), "after": kind_text(b)}
                    scope.names[name] = Unavailable("AG520", words, span)
        outs = ctx.b.branch(cond, level != "lane", then, orelse, tuple(then_yields), tuple(else_yields))
        values = iter(outs)
        for scope, name, a in merged:
            scope.names[name] = with_values(a, values)

    @staticmethod
    def _alike(a: object, b: object) -> bool:
        pairs = zip(tiles_in(a), tiles_in(b), strict=True)
        return all(x.dtype == y.dtype and x.count == y.count and x.dist.same_as(y.dist) for x, y in pairs)
