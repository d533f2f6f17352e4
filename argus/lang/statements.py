"""Reading statements: assignment, static and real loops, static and real branches, functions read in place.

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
from typing import Any

from argus.ir.ops import Op
from argus.ir.types import Value
from argus.lang import arithmetic, members, tiles
from argus.lang.context import Context
from argus.lang.expressions import Expressions
from argus.lang.values import Coordinates, Function, Policy, Range, Scope, SharedTile, Tile, Unavailable
from argus.layout import expr as E
from argus.layout.expr import Expr

State = list[tuple[Scope, dict[str, object]]]

_REFUSED = {
    "ClassDef": "a class",
    "AsyncFunctionDef": "`async`",
    "AsyncFor": "`async`",
    "AsyncWith": "`async`",
    "Delete": "`del`",
    "While": "`while`",
    "Match": "`match`",
    "Raise": "`raise`",
    "Try": "`try`",
    "TryStar": "`try`",
    "Global": "`global`",
    "Import": "an import inside a kernel",
    "ImportFrom": "an import inside a kernel",
    "AnnAssign": "an annotated assignment",
}


class Returned(Exception):
    """Leaves the function being read with its value."""

    def __init__(self, value: object) -> None:
        self.value = value


class Interpreter(Expressions):
    """Reads statements in a scope."""

    def __init__(self, ctx: Context, scope: Scope) -> None:
        super().__init__(ctx, scope)
        self.barred: list[str] = []
        self.active: list[Scope] = [scope]

    def run_kernel(self, node: ast.FunctionDef) -> None:
        """The body of a kernel; its return value, if any, must be nothing."""
        try:
            self.run(node.body)
        except Returned as returned:
            if returned.value is not None:
                raise self.ctx.error("AG523", node)

    def run(self, body: list[ast.stmt]) -> None:
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        self.ctx.spend()
        kind = type(node).__name__
        with self.ctx.at(node):
            match node:
                case ast.Assign():
                    value = self.evaluate(node.value)
                    for target in node.targets:
                        self.bind(target, value)
                case ast.AugAssign():
                    self._augmented(node)
                case ast.Expr():
                    self._expression(node)
                case ast.For():
                    self._for(node)
                case ast.If():
                    self._if(node)
                case ast.With():
                    self._with(node)
                case ast.FunctionDef():
                    if node.decorator_list:
                        raise self.ctx.error("AG105", node, what="a decorator inside a kernel")
                    self.scope.names[node.name] = Function(node.name, node, self.scope)
                case ast.Return():
                    if self.barred:
                        raise self.ctx.error("AG508", node, where=self.barred[-1])
                    raise Returned(None if node.value is None else self.evaluate(node.value))
                case ast.Assert():
                    self._assert(node)
                case ast.Nonlocal():
                    self.scope.nonlocals.update(node.names)
                case ast.Pass():
                    pass
                case ast.Break() | ast.Continue():
                    raise self.ctx.error("AG509", node, word=kind.lower())
                case _:
                    raise self.ctx.error("AG105", node, what=_REFUSED.get(kind, f"`{kind}`"))

    # -- assignment -------------------------------------------------------------------------------------------------

    def bind(self, target: ast.expr, value: object) -> None:
        match target:
            case ast.Name():
                if isinstance(value, SharedTile) and value.buffer in self.ctx.unnamed:
                    self.ctx.unnamed.remove(value.buffer)
                    value = SharedTile(self.ctx.rename_buffer(value.buffer, target.id), value.layout, value.shift)
                scope = self.scope
                if target.id in scope.nonlocals and scope.parent is not None:
                    scope = scope.parent.holder(target.id) or scope
                    if scope not in self.active:
                        raise self.ctx.error("AG522", target, name=target.id)
                scope.names[target.id] = value
            case ast.Tuple() | ast.List():
                self._unpack(target, value)
            case ast.Subscript():
                with self.ctx.at(target):
                    container = self.evaluate(target.value)
                    self._rebind(target.value, self._updated(container, self.index_of(target), value, target))
            case _:
                raise self.ctx.error("AG105", target, what="assignment to this")

    def _unpack(self, target: ast.Tuple | ast.List, value: object) -> None:
        items = self.static_items(value, target)
        if any(isinstance(t, ast.Starred) for t in target.elts):
            raise self.ctx.error("AG108", target, what="`*` in an assignment")
        if len(items) != len(target.elts):
            raise self.ctx.error("AG517", target, names=len(target.elts), values=len(items))
        for part, item in zip(target.elts, items, strict=True):
            self.bind(part, item)

    def _rebind(self, node: ast.expr, value: object) -> None:
        """Give the name at the root of `x[i][j]` its changed value, in the scope that holds it."""
        match node:
            case ast.Name():
                holder = self.scope.holder(node.id) or self.scope
                if holder not in self.active:
                    raise self.ctx.error("AG522", node, name=node.id)
                holder.names[node.id] = value
            case ast.Subscript():
                self._rebind(node.value, self._updated(self.evaluate(node.value), self.index_of(node), value, node))
            case _:
                raise self.ctx.error("AG105", node, what="assignment into this")

    def _updated(self, container: object, index: object, value: object, node: ast.AST) -> object:
        if isinstance(container, Tile):
            key = tiles.check_index(self.ctx, container, index if isinstance(index, tuple) else (index,))
            part = tiles.fix(self.ctx, container, key)
            return tiles.update(self.ctx, container, key, arithmetic.to_tile(self.ctx, value, part))
        if isinstance(container, list) and isinstance(index, int):
            if not -len(container) <= index < len(container):
                raise self.ctx.error(
                    "AG403",
                    node,
                    problem=f"{index} is outside 0..{len(container) - 1}",
                    shape=f"{len(container)} entries",
                )
            return [value if i == index % len(container) else old for i, old in enumerate(container)]
        if isinstance(container, dict) and isinstance(index, (str, int, tuple)):
            return {**container, index: value}
        raise self.ctx.error("AG418", node, what=arithmetic.describe(container))

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Attribute):
            raise self.ctx.error("AG105", node.target, what="assignment to this")
        old = self.evaluate(node.target)
        value = arithmetic.binary(self.ctx, node.op, old, self.evaluate(node.value))
        self.bind(node.target, value)

    def _expression(self, node: ast.Expr) -> None:
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "append"
            and len(call.args) == 1
            and isinstance(items := self.evaluate(call.func.value), list)
        ):
            self._rebind(call.func.value, [*items, self.evaluate(call.args[0])])
            return
        self.evaluate(call)

    def _assert(self, node: ast.Assert) -> None:
        test = self.evaluate(node.test)
        if isinstance(test, (Expr, Tile, Coordinates)):
            raise self.ctx.error("AG518", node, what=arithmetic.describe(test))
        if not test:
            message = self.evaluate(node.msg) if node.msg is not None else ast.unparse(node.test)
            raise self.ctx.error("AG519", node, message=message)

    # -- functions --------------------------------------------------------------------------------------------------

    def call_function(self, function: Function, args: list[object], keywords: dict[str, object]) -> object:
        scope = Scope(function.scope)
        self._bind_arguments(function, scope, args, keywords)
        outer, self.scope = self.scope, scope
        barred, self.barred = self.barred, []
        self.active.append(scope)
        result: object = None
        if isinstance(function.node, ast.Lambda):
            result = self.evaluate(function.node.body)
        else:
            try:
                self.run(function.node.body)
            except Returned as returned:
                result = returned.value
        self.scope, self.barred = outer, barred
        self.active.pop()
        return result

    def _bind_arguments(
        self, function: Function, scope: Scope, args: list[object], keywords: dict[str, object]
    ) -> None:
        spec, ctx = function.node.args, self.ctx
        if spec.vararg or spec.kwarg:
            raise ctx.error("AG108", function.node, what="`*` or `**` in the arguments of a function")
        positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        names = [*positional, *(a.arg for a in spec.kwonlyargs)]
        if len(args) > len(positional):
            raise ctx.error(
                "AG112", function=function.name, problem=f"it takes {len(positional)} arguments, {len(args)} are given"
            )
        bound: dict[str, object] = dict(zip(positional, args, strict=False))
        for name, value in keywords.items():
            if name not in names:
                raise ctx.error("AG112", function=function.name, problem=f"it has no argument `{name}`")
            if name in bound:
                raise ctx.error("AG112", function=function.name, problem=f"`{name}` is given twice")
            bound[name] = value
        defaults = dict(zip(reversed(positional), reversed(spec.defaults), strict=False))
        defaults |= {a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
        for name in names:
            if name not in bound:
                if name not in defaults:
                    raise ctx.error("AG112", function=function.name, problem=f"the argument `{name}` is missing")
                outer, self.scope = self.scope, function.scope
                bound[name] = self.evaluate(defaults[name])
                self.scope = outer
        scope.names.update(bound)

    # -- loops ------------------------------------------------------------------------------------------------------

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.ctx.error("AG105", node, what="`else` after a loop")
        items = self.evaluate(node.iter)
        if isinstance(items, Range):
            self._loop(node, items)
            return
        for position, item in enumerate(self.static_items(items, node.iter)):
            self.ctx.spend()
            self.bind(node.target, item)
            with self.site(node.target, item, position):
                self.run(node.body)

    def _loop(self, node: ast.For, items: Range) -> None:
        ctx = self.ctx
        if not isinstance(node.target, ast.Name):
            raise ctx.error("AG517", node.target, names=len(getattr(node.target, "elts", [])), values=1)
        low, high = items.lo.bounds()[0], items.hi.bounds()[1]
        top = None if high is None else max(high - 1, low if low is not None else high - 1)
        var = ctx.fresh_variable(node.target.id, low, top)
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
            old_names = set(self.scope.names)
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
            self.scope.names[name] = Unavailable("AG502", {"name": name, "where": "the loop"}, span)
        self.scope.names[node.target.id] = Unavailable("AG502", {"name": node.target.id, "where": "the loop"}, span)

    def _assigned_before(self, node: ast.For) -> tuple[list[tuple[Scope, str]], list[tuple[Scope, str]]]:
        """Names the body may assign that had a value before: those with tiles (carried) and the others (lost)."""
        carried: list[tuple[Scope, str]] = []
        lost: list[tuple[Scope, str]] = []
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

    def _assignments(self, body: list[ast.stmt], scope: Scope, visited: set[int]) -> Iterator[tuple[Scope, str]]:
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
                if isinstance(found, Function) and isinstance(found.node, ast.FunctionDef) and id(found) not in visited:
                    visited.add(id(found))
                    yield from self._outer_assignments(found, visited)

    def _outer_assignments(self, function: Function, visited: set[int]) -> Iterator[tuple[Scope, str]]:
        """What a function changes outside itself: parts of outer tiles, and names it declares nonlocal."""
        assert isinstance(function.node, ast.FunctionDef)
        inner = Scope(function.scope)
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

    # -- branches ---------------------------------------------------------------------------------------------------

    def _if(self, node: ast.If) -> None:
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
        start = self._state()
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
        self._merge(node, cond, level, start, ways)

    def _state(self) -> State:
        return [(s, dict(s.names)) for s in self.active]

    def _merge(self, node: ast.If, cond: Expr, level: str, start: State, ways: list[tuple[list[Op], State]]) -> None:
        ctx, span = self.ctx, self.ctx.span_of(node)
        (then, then_state), (orelse, else_state) = ways
        then_yields: list[Value] = []
        else_yields: list[Value] = []
        merged: list[tuple[Scope, str, object]] = []
        for (scope, _), (_, first), (_, second) in zip(start, then_state, else_state, strict=True):
            for name in dict.fromkeys((*first, *second)):
                if name not in first or name not in second:
                    scope.names[name] = Unavailable("AG502", {"name": name, "where": "the `if`"}, span)
                    continue
                a, b = first[name], second[name]
                if a is b:
                    scope.names[name] = a
                elif arithmetic.is_index(a) and arithmetic.is_index(b):
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

    def _with(self, node: ast.With) -> None:
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise self.ctx.error("AG105", node, what="this form of `with`")
        policy = self.evaluate(node.items[0].context_expr)
        if not isinstance(policy, Policy) or policy.kind != "schedule":
            raise self.ctx.error("AG521", node.items[0].context_expr, what=arithmetic.describe(policy))
        block: list[Op] = []
        with self.ctx.b.into(block):
            self.run(node.body)
        members.schedule(self.ctx, policy, block)


def tiles_in(value: object) -> list[Tile]:
    """The tiles of a value, in order."""
    if isinstance(value, Tile):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tiles_in(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in tiles_in(v)]
    return []


def with_values(value: object, new: Iterator[Value]) -> Any:
    """The same value with the registers of its tiles replaced, in order."""
    if isinstance(value, Tile):
        return Tile(value.dtype, value.dist, tuple(next(new) for _ in value.pieces))
    if isinstance(value, (list, tuple)):
        return type(value)([with_values(v, new) for v in value])
    if isinstance(value, dict):
        return {k: with_values(v, new) for k, v in value.items()}
    return value


def shape_of(value: object) -> object:
    """Nesting of a value, with everything that is not a tile compared as it is."""
    if isinstance(value, Tile):
        return "tile"
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(shape_of(v) for v in value))
    if isinstance(value, dict):
        return ("dict", tuple((k, shape_of(v)) for k, v in value.items()))
    return value


def kind_text(value: object) -> str:
    if isinstance(value, Tile):
        digits = "×".join(str(n) for _, n in value.dist.digits) or "1"
        return f"a {value.dtype} tile of {digits} over ({', '.join(value.dist.axes)})"
    return arithmetic.describe(value)
