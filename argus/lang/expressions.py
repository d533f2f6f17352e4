"""Reading expressions: every node kind of the Python subset has one method here; a kind without one is refused.

Nothing is looked up in Python itself. A name is what the file bound it to, or one of the few static functions below
(`range`, `len`, `min`, …); an attribute is one that `argus.lang.members` lists for that kind of value.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from argus.ir.ops import Tensor
from argus.ir.types import DType
from argus.lang import arithmetic, compute, members, pythonic, tiles
from argus.lang.context import MAX_DEPTH, MAX_LENGTH, ReadContext
from argus.lang.errors import Note
from argus.lang.invoke import invoke
from argus.lang.values import (
    Annotation,
    Builtin,
    Coordinates,
    FileFunction,
    NameScope,
    Namespace,
    Range,
    Ring,
    TensorView,
    Tile,
    Unavailable,
    Unroll,
)
from argus.layout import expr as E
from argus.layout.expr import Expr

_FORBIDDEN_BUILTINS = frozenset(
    [
        "open",
        "exec",
        "eval",
        "compile",
        "print",
        "input",
        "getattr",
        "setattr",
        "delattr",
        "globals",
        "locals",
        "vars",
        "type",
        "object",
        "super",
        "dir",
        "id",
        "hash",
        "__import__",
        "breakpoint",
        "memoryview",
        "help",
        "exit",
        "quit",
        "isinstance",
        "issubclass",
        "callable",
        "iter",
        "next",
    ]
)


class Expressions:
    """Evaluates expressions in a scope; statements are in `argus.lang.statements`."""

    def __init__(self, ctx: ReadContext, scope: NameScope) -> None:
        self.ctx = ctx
        self.scope = scope
        self.depth = 0

    def evaluate(self, node: ast.expr) -> object:
        self.ctx.spend()
        method: Callable[[Any], object] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.ctx.error("AG108", node, what=_kind_of(node))
        with self.ctx.at(node):
            return method(node)

    def call_function(self, function: FileFunction, args: list[object], keywords: dict[str, object]) -> object:
        raise NotImplementedError

    def _constant(self, node: ast.Constant) -> object:
        value = node.value
        if value is None or isinstance(value, (bool, float, str)):
            return value
        if isinstance(value, int):
            return arithmetic.checked_number(self.ctx, value)
        raise self.ctx.error("AG108", node, what=f"a {type(value).__name__} constant")

    def _name(self, node: ast.Name) -> object:
        holder = self.scope.holder(node.id)
        if holder is not None:
            return self.usable(holder.names[node.id], node)
        if node.id in pythonic.STATIC:
            return Builtin(node.id, pythonic.STATIC[node.id])
        if node.id in _FORBIDDEN_BUILTINS:
            raise self.ctx.error("AG119", node, name=node.id)
        known = [n for s in self.scope.chain() for n in s.names]
        raise self.ctx.error("AG106", node, *near(node.id, known), name=node.id)

    def usable(self, value: object, node: ast.expr) -> object:
        if isinstance(value, Unavailable):
            raise self.ctx.error(value.code, node, Note("because of this statement", value.span), **value.words)
        return value

    def _attribute(self, node: ast.Attribute) -> object:
        if node.attr.startswith("_"):
            raise self.ctx.error("AG107", node, name=node.attr)
        owner = self.evaluate(node.value)
        return members.member(self.ctx, owner, node.attr)

    def _binop(self, node: ast.BinOp) -> object:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return arithmetic.binary(self.ctx, node.op, left, right)

    def _unaryop(self, node: ast.UnaryOp) -> object:
        return arithmetic.unary(self.ctx, node.op, self.evaluate(node.operand))

    def _boolop(self, node: ast.BoolOp) -> object:
        seen: list[object] = []
        stop = isinstance(node.op, ast.Or)
        for part in node.values:
            value = self.evaluate(part)
            if not isinstance(value, (Expr, Tile, Coordinates)):
                if bool(value) == stop and not seen:
                    return value
                if part is node.values[-1] and not seen:
                    return value
                if bool(value) != stop:
                    continue
            seen.append(value)
        return arithmetic.conjunction(self.ctx, node.op, seen)

    def _compare(self, node: ast.Compare) -> object:
        left = self.evaluate(node.left)
        results: list[object] = []
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node)
            results.append(arithmetic.compare(self.ctx, op, left, right))
            left = right
        if len(results) == 1:
            return results[0]
        if any(isinstance(r, (Tile, Coordinates)) for r in results):
            raise self.ctx.error("AG416", node, word="a chain of comparisons", symbol="&")
        return arithmetic.conjunction(self.ctx, ast.And(), results)

    def _ifexp(self, node: ast.IfExp) -> object:
        test = self.evaluate(node.test)
        if isinstance(test, (Tile, Coordinates)):
            raise self.ctx.error("AG505", node, what=arithmetic.describe(test))
        if isinstance(test, Expr):
            chosen, other = self.evaluate(node.body), self.evaluate(node.orelse)
            if arithmetic.is_index(chosen) and arithmetic.is_index(other):
                cond = arithmetic.condition(self.ctx, test)
                return arithmetic.folded(E.select(cond, E.as_expr(chosen), E.as_expr(other)))
            raise self.ctx.error("AG514", node)
        return self.evaluate(node.body if test else node.orelse)

    def _tuple(self, node: ast.Tuple) -> object:
        return tuple(self._sequence(node.elts))

    def _list(self, node: ast.List) -> object:
        return self._sequence(node.elts)

    def _sequence(self, parts: list[ast.expr]) -> list[object]:
        made: list[object] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                made.extend(self.static_items(self.evaluate(part.value), part))
            else:
                made.append(self.evaluate(part))
        return made

    def _dict(self, node: ast.Dict) -> object:
        made: dict[object, object] = {}
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            if key_node is None:
                raise self.ctx.error("AG108", node, what="`**` inside a dictionary")
            key = self.evaluate(key_node)
            if not isinstance(key, (str, int, tuple)):
                raise self.ctx.error("AG108", key_node, what=f"{arithmetic.describe(key)} as a dictionary key")
            made[key] = self.evaluate(value_node)
        return made

    def _joinedstr(self, node: ast.JoinedStr) -> object:
        parts: list[str] = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts.append(str(value.value))
            elif isinstance(value, ast.FormattedValue) and value.format_spec is None and value.conversion == -1:
                part = self.evaluate(value.value)
                if not isinstance(part, (int, str)):
                    raise self.ctx.error("AG108", value, what=f"{arithmetic.describe(part)} inside a string")
                parts.append(str(part))
            else:
                raise self.ctx.error("AG108", value, what="a format specification")
        text = "".join(parts)
        if len(text) > MAX_LENGTH:
            raise self.ctx.error("AG115", node, what="a string", limit=f"{MAX_LENGTH:,} characters")
        return text

    def _lambda(self, node: ast.Lambda) -> object:
        return FileFunction("lambda", node, self.scope, self.ctx.file)

    def _listcomp(self, node: ast.ListComp) -> object:
        made: list[object] = []
        for _ in self._generate(node.generators, 0):
            made.append(self.evaluate(node.elt))
            if len(made) > MAX_LENGTH:
                raise self.ctx.error("AG115", node, what="a list", limit=f"{MAX_LENGTH:,} entries")
        return made

    def _generatorexp(self, node: ast.GeneratorExp) -> object:
        return [self.evaluate(node.elt) for _ in self._generate(node.generators, 0)]

    def _dictcomp(self, node: ast.DictComp) -> object:
        made: dict[object, object] = {}
        for _ in self._generate(node.generators, 0):
            key = self.evaluate(node.key)
            if not isinstance(key, (str, int, tuple)):
                raise self.ctx.error("AG108", node.key, what=f"{arithmetic.describe(key)} as a dictionary key")
            made[key] = self.evaluate(node.value)
        return made

    def _generate(self, generators: list[ast.comprehension], level: int) -> Iterator[None]:
        if level == len(generators):
            yield
            return
        generator = generators[level]
        outer = self.scope
        items = self.static_items(self.evaluate(generator.iter), generator.iter)
        for position, item in enumerate(items):
            self.ctx.spend()
            self.scope = NameScope(outer)
            self.bind(generator.target, item)
            with self.site(generator.target, item, position):
                kept = [self.evaluate(test) for test in generator.ifs]
                for test, node in zip(kept, generator.ifs, strict=True):
                    if isinstance(test, (Expr, Tile, Coordinates)):
                        raise self.ctx.error("AG505", node, what=arithmetic.describe(test))
                if all(kept):
                    yield from self._generate(generators, level + 1)
            self.scope = outer

    @contextmanager
    def site(self, target: ast.expr, item: object, position: int) -> Iterator[None]:
        """Ops made inside are the copy of their source line for this item."""
        names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        items = item if isinstance(item, tuple) and len(names) > 1 else (item,)
        before = self.ctx.b.site
        extra = []
        for name, value in zip(names, items, strict=False):
            if isinstance(name, ast.Name):
                extra.append((name.id, value if isinstance(value, int) else position))
        self.ctx.b.site = (*before, *extra)
        yield
        self.ctx.b.site = before

    def bind(self, target: ast.expr, value: object) -> None:
        raise NotImplementedError

    def static_items(self, value: object, node: ast.AST | None) -> list[Any]:
        """The items of something whose length is known while reading."""
        if isinstance(value, Unroll):
            return list(value.points)
        if isinstance(value, Range):
            raise self.ctx.error("AG515", node)
        if isinstance(value, (list, tuple, range)):
            if len(value) > MAX_LENGTH:
                raise self.ctx.error("AG115", node, what="a range", limit=f"{MAX_LENGTH:,} steps")
            return list(value)
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, Tile) and value.dist.digits:
            return [tiles.fix(self.ctx, value, (i,)) for i in range(value.dist.digits[0][1])]
        raise self.ctx.error("AG516", node, what=arithmetic.describe(value))

    def _subscript(self, node: ast.Subscript) -> object:
        container = self.evaluate(node.value)
        return self.item(container, self.index_of(node), node)

    def index_of(self, node: ast.Subscript) -> object:
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            bounds = [None if p is None else self.evaluate(p) for p in parts]
            if any(b is not None and not isinstance(b, int) for b in bounds):
                raise self.ctx.error("AG414", node, name="a slice")
            if bounds[2] == 0:
                raise self.ctx.error("AG414", node, name="the step of a slice")
            return slice(*bounds)
        return self.evaluate(node.slice)

    def item(self, container: object, index: object, node: ast.AST) -> object:
        ctx = self.ctx
        if isinstance(container, Tile):
            if isinstance(index, slice):
                raise ctx.error("AG414", node, name="the index")
            key = index if isinstance(index, tuple) else (index,)
            return tiles.fix(ctx, container, tiles.check_index(ctx, container, key))
        if isinstance(container, (Tensor, TensorView)):
            return members.view(ctx, container, index if isinstance(index, tuple) else (index,))
        if isinstance(container, Ring):
            return members.slot(ctx, container, index)
        if isinstance(container, (list, tuple, str)):
            if not isinstance(index, (int, slice)):
                raise ctx.error("AG414", node, name=arithmetic.describe(container))
            try:
                return container[index]
            except IndexError:
                raise ctx.error(
                    "AG403",
                    node,
                    problem=f"{index} is outside 0..{len(container) - 1}",
                    shape=f"{len(container)} entries",
                ) from None
        if isinstance(container, dict):
            if not isinstance(index, (str, int, tuple)) or index not in container:
                raise ctx.error(
                    "AG403", node, problem="there is no such key", shape=", ".join(map(str, container)) or "nothing"
                )
            return container[index]
        if isinstance(container, Annotation):
            return members.annotate(ctx, container, index)
        raise ctx.error("AG417", node, what=arithmetic.describe(container))

    def _call(self, node: ast.Call) -> object:
        called = self.evaluate(node.func)
        args = self._sequence(node.args)
        keywords: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is None:
                if not isinstance(value, dict) or not all(isinstance(k, str) for k in value):
                    raise self.ctx.error(
                        "AG112", node, function="a call", problem="`**` needs a dictionary with names as keys"
                    )
                keywords.update(value)
            else:
                keywords[keyword.arg] = value
        with self.ctx.at(node):
            return self.apply(called, args, keywords, node)

    def apply(self, called: object, args: list[object], keywords: dict[str, object], node: ast.AST) -> object:
        ctx = self.ctx
        if isinstance(called, FileFunction):
            if self.depth >= MAX_DEPTH:
                raise ctx.error("AG114", node, name=called.name, limit=MAX_DEPTH)
            self.depth += 1
            result = self.call_function(called, args, keywords)
            self.depth -= 1
            return result
        if isinstance(called, Builtin):
            return invoke(self, called, args, keywords)
        if isinstance(called, DType):
            return invoke(self, Builtin(called.name, compute.number_of(called)), args, keywords)
        matrix = members.as_matrix_call(called)
        if matrix is not None:
            return invoke(self, matrix, args, keywords)
        what = f"`{called.name}`" if isinstance(called, Namespace) else arithmetic.describe(called)
        raise ctx.error("AG111", node, what=what)


def near(name: str, known: list[str]) -> list[str]:
    found = difflib.get_close_matches(name, known, 1)
    return [f"did you mean `{found[0]}`?"] if found else []


_KINDS = {
    "NamedExpr": "`:=`",
    "Await": "`await`",
    "Yield": "`yield`",
    "YieldFrom": "`yield from`",
    "Set": "a set",
    "SetComp": "a set",
    "Starred": "`*` here",
    "FormattedValue": "a formatted value",
}


def _kind_of(node: ast.AST) -> str:
    name = type(node).__name__
    return _KINDS.get(name, f"`{name}`")
