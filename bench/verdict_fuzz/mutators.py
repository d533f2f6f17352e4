"""Single-point mutants of a kernel file: one change of the kind people make, in the syntax tree.

    for mutant in mutants(source): mutant.kind, mutant.line, mutant.source

A place is a node of the tree and one way to change it. Places lie in functions, owners, layouts and `requires`; the
signature and `computes` stay, so the meaning stays. Many mutants do not read, some are still right: the machine says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, cast

Change = Callable[[Any], ast.AST | None]
SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitXor: ast.Add,
}  # fmt: skip
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,),
}  # fmt: skip
FUNCTIONS = {
    "max": "min", "min": "max", "exp": "exp2", "exp2": "exp", "sqrt": "rsqrt", "rsqrt": "sqrt", "log": "log2",
    "log2": "log", "tanh": "erf", "erf": "tanh", "rcp": "rsqrt", "floor": "abs", "sigmoid": "tanh",
    "atomic_add": "atomic_max", "atomic_max": "atomic_min", "atomic_min": "atomic_max", "sum": "max", "zeros": "",
}  # fmt: skip
TYPES = {"f32": "bf16", "bf16": "f16", "f16": "bf16", "i32": "i16", "i16": "i8", "i8": "u8", "u8": "i8", "fp8": "bf8"}
MOVES = frozenset({"load", "store", "copy", "atomic_add", "atomic_max", "atomic_min"})


@dataclass(frozen=True)
class SourceMutant:
    kind: str
    line: int
    source: str


def mutants(source: str, dice: Random, most: int) -> Iterator[SourceMutant]:
    """Up to `most` different mutants, kinds drawn evenly."""
    places = list(_places(ast.parse(source)))
    by_kind: dict[str, list[tuple[int, Change]]] = {}
    for number, kind, change in places:
        by_kind.setdefault(kind, []).append((number, change))
    seen = {ast.unparse(ast.parse(source))}
    for _ in range(6 * most):
        if len(seen) > most or not by_kind:
            return
        kind = dice.choice(sorted(by_kind))
        number, change = dice.choice(by_kind[kind])
        made = _changed(source, number, change)
        if made is not None and made[1] not in seen:
            seen.add(made[1])
            yield SourceMutant(kind, *made)


def _changed(source: str, number: int, change: Change) -> tuple[int, str] | None:
    tree: ast.AST = ast.parse(source)
    node = list(ast.walk(tree))[number]
    line = getattr(node, "lineno", 0)
    new = change(node)
    if new is None:
        return None
    if new is not node:
        tree = _Replace(node, new).visit(tree)
    try:
        return line, ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, AttributeError):
        return None


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.old:
            return self.new
        return super().generic_visit(node)


def _places(tree: ast.Module) -> Iterator[tuple[int, str, Change]]:
    numbers = {id(node): n for n, node in enumerate(ast.walk(tree))}
    owners = [t.id for s in tree.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)]
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            for decorator in statement.decorator_list:
                yield from _requirement(decorator, numbers)
            for inner in statement.body:
                for node in ast.walk(inner):
                    for kind, change in _of_node(node, owners):
                        yield numbers[id(node)], kind, change
            yield from _bodies(statement, numbers)
        elif isinstance(statement, ast.Assign):
            for node in ast.walk(statement.value):
                for kind, change in _of_static(node):
                    yield numbers[id(node)], kind, change


def _requirement(decorator: ast.expr, numbers: dict[int, int]) -> Iterator[tuple[int, str, Change]]:
    for node in ast.walk(decorator):
        if isinstance(node, ast.keyword) and node.arg == "requires" and isinstance(node.value, ast.Constant):
            parts = str(node.value.value).split(" and ")
            for n in range(len(parts)):
                yield numbers[id(node.value)], "requirement dropped", _without_part(n)


def _without_part(n: int) -> Change:
    def change(node: Any) -> ast.AST | None:
        assert isinstance(node, ast.Constant)
        parts = str(node.value).split(" and ")
        size = re.match(r"\w+", parts[n])
        parts[n] = f"{size.group()} >= 1" if size else "1 >= 1"
        return ast.Constant(" and ".join(parts))

    return change


def _of_static(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Constant(value=str() as text) if re.search(r"[a-z]", text):
            for n, _ in enumerate(re.finditer(r"\d+", text)):
                yield "owner or layout formula", _other_number(n)
            for old, new in (("//", "%"), ("%", "//"), ("+", "-")):
                if old in text:
                    yield "owner or layout formula", _replaced(old, new)
        case ast.Call(func=ast.Attribute(attr="xor" | "pad")):
            yield "no swizzle", lambda n: n.func.value
        case ast.Tuple(elts=[ast.Constant(value=int()), ast.Constant(value=int() as step)]) if step is not True:
            yield "layout stride", _stride
        case _:
            pass


def _stride(node: ast.AST) -> ast.AST | None:
    assert isinstance(node, ast.Tuple)
    extent, step = node.elts
    assert isinstance(step, ast.Constant)
    return ast.Tuple([extent, ast.Constant(max(1, int(str(step.value)) // 2))], ast.Load())


def _other_number(n: int) -> Change:
    def change(node: Any) -> ast.AST | None:
        assert isinstance(node, ast.Constant)
        found = list(re.finditer(r"\d+", str(node.value)))[n]
        text = str(node.value)
        return ast.Constant(text[: found.start()] + str(int(found.group()) + 1) + text[found.end() :])

    return change


def _replaced(old: str, new: str) -> Change:
    return lambda node: ast.Constant(str(node.value).replace(old, new, 1))


def _of_node(node: ast.AST, owners: list[str]) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.BinOp():
            if type(node.op) in SWAPPED:
                yield "operator", _operator
            if isinstance(node.op, ast.Add | ast.Mult | ast.Sub | ast.Div):
                yield "dropped operand", lambda n: n.left
                yield "dropped operand", lambda n: n.right
            if isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.LShift | ast.RShift):
                yield "swapped operands", lambda n: ast.BinOp(n.right, n.op, n.left)
        case ast.UnaryOp(op=ast.USub()):
            yield "sign", lambda n: n.operand
        case ast.Compare():
            for other in COMPARED.get(type(node.ops[0]), ()):
                yield "comparison", _comparison(other)
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int() as value):
            for new in {value + 1, value - 1, value * 2} - {value}:
                yield "constant", _constant(new)
        case ast.Constant(value=float() as number):
            for other_number in (number + 1, number * 1.01, -number, number * (1 + 1e-5)):
                yield "constant", _constant(other_number)
        case ast.Subscript(slice=index):
            if not isinstance(index, ast.Constant):
                yield "index off by one", _index(1)
                yield "index off by one", _index(-1)
        case ast.Call():
            yield from _of_call(node, owners)
        case ast.Name(id=name) if name in TYPES:
            yield "type", lambda n: ast.Name(TYPES[n.id])
        case ast.If():
            yield "branch", _inverted
        case ast.IfExp():
            yield "branch", lambda n: n.body
            yield "branch", lambda n: n.orelse
        case _:
            pass


def _operator(node: ast.AST) -> ast.AST | None:
    assert isinstance(node, ast.BinOp)
    return ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)


def _comparison(other: type[ast.cmpop]) -> Change:
    return lambda n: ast.Compare(n.left, [other()], n.comparators)


def _constant(value: float) -> Change:
    return lambda n: ast.Constant(value)


def _index(by: int) -> Change:
    def change(node: Any) -> ast.AST | None:
        assert isinstance(node, ast.Subscript)
        index = node.slice
        parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
        parts[-1] = ast.BinOp(parts[-1], ast.Add() if by > 0 else ast.Sub(), ast.Constant(1))
        new = ast.Tuple(parts, ast.Load()) if isinstance(index, ast.Tuple) else parts[0]
        return ast.Subscript(node.value, new, node.ctx)

    return change


def _inverted(node: ast.AST) -> ast.AST | None:
    assert isinstance(node, ast.If)
    return ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)


def _of_call(node: ast.Call, owners: list[str]) -> Iterator[tuple[str, Change]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if FUNCTIONS.get(name):
        yield "function", _renamed(FUNCTIONS[name])
    for n, word in enumerate(node.keywords):
        if word.arg == "guard":
            yield "guard dropped", _without_keyword(n)
        if word.arg == "width":
            yield "width", _keyword(n, lambda v: ast.BinOp(v, ast.Mult(), ast.Constant(2)))
            yield "width", _keyword(n, lambda v: ast.BinOp(v, ast.FloorDiv(), ast.Constant(2)))
        if word.arg in ("vm", "lgkm"):
            yield "wait count", _keyword(n, lambda v: ast.BinOp(v, ast.Add(), ast.Constant(1)))
        if word.arg not in (None, "guard", "width", "vm", "lgkm", "within", "at", "tiles", "name", "order"):
            yield "offset of an LDS access", _keyword(n, lambda v: ast.BinOp(v, ast.Add(), ast.Constant(1)))
    if name in MOVES and node.args:
        for n, arg in enumerate(node.args):
            if isinstance(arg, ast.Name) and arg.id in owners:
                for other in owners:
                    if other != arg.id:
                        yield "other owner", _argument(n, other)
    if name == "barrier" and not node.keywords:
        yield "bare barrier", lambda c: ast.Call(c.func, [], [ast.keyword("bare", ast.Constant(True))])
    if name in ("mfma", "where", "fma") and len(node.args) >= 3:
        yield "swapped operands", _swap_arguments(0, 1)
        yield "swapped operands", _swap_arguments(1, 2)
    if name == "cdiv" and len(node.args) == 2:
        yield "rounding down", lambda c: ast.BinOp(c.args[0], ast.FloorDiv(), c.args[1])
    if name == "ring" and node.args:
        yield "ring depth", _grown_argument(0, -1)
        yield "ring depth", _grown_argument(0, 1)
    if name == "range" and node.args:
        yield "loop bounds", _grown_argument(-1 if len(node.args) < 3 else 1, -1)
        yield "loop bounds", _grown_argument(-1 if len(node.args) < 3 else 1, 1)
        if len(node.args) == 1:
            yield "loop bounds", lambda c: ast.Call(c.func, [ast.Constant(1), *c.args], [])
    if name == "zeros" and len(node.args) == 2:
        yield (
            "neutral element",
            lambda c: ast.Call(
                ast.Attribute(c.func.value, "full", ast.Load()),
                [*c.args, ast.Constant(1.0)],
                c.keywords,
            ),
        )
    if name == "full" and len(node.args) == 3:
        yield "neutral element", lambda c: ast.Call(c.func, [*c.args[:2], ast.Constant(0.0)], c.keywords)
    if name == "where" and len(node.args) == 3:
        yield "mask dropped", lambda c: c.args[1]
        yield "neutral element", lambda c: ast.Call(c.func, [*c.args[:2], ast.Constant(0.0)], [])
        yield "neutral element", lambda c: ast.Call(c.func, [*c.args[:2], ast.Constant(1.0)], [])
    if name == "to":
        yield "conversion dropped", lambda c: c.func.value
    if name == "order" and len(node.args) == 2:
        yield "order of registers", _swap_arguments(0, 1)


def _renamed(name: str) -> Change:
    return lambda c: ast.Call(ast.Attribute(c.func.value, name, ast.Load()), c.args, c.keywords)


def _without_keyword(n: int) -> Change:
    return lambda c: ast.Call(c.func, c.args, [k for i, k in enumerate(c.keywords) if i != n])


def _keyword(n: int, make: Callable[[ast.expr], ast.expr]) -> Change:
    def change(node: Any) -> ast.AST | None:
        assert isinstance(node, ast.Call)
        words = list(node.keywords)
        words[n] = ast.keyword(words[n].arg, make(words[n].value))
        return ast.Call(node.func, node.args, words)

    return change


def _argument(n: int, name: str) -> Change:
    return lambda c: ast.Call(c.func, [*c.args[:n], ast.Name(name), *c.args[n + 1 :]], c.keywords)


def _swap_arguments(i: int, j: int) -> Change:
    def change(node: Any) -> ast.AST | None:
        assert isinstance(node, ast.Call)
        args = list(node.args)
        args[i], args[j] = args[j], args[i]
        return ast.Call(node.func, args, node.keywords)

    return change


def _grown_argument(n: int, by: int) -> Change:
    def change(node: Any) -> ast.AST | None:
        assert isinstance(node, ast.Call)
        args = list(node.args)
        args[n] = ast.BinOp(args[n], ast.Add() if by > 0 else ast.Sub(), ast.Constant(1))
        return ast.Call(node.func, args, node.keywords)

    return change


def _bodies(function: ast.AST, numbers: dict[int, int]) -> Iterator[tuple[int, str, Change]]:
    """Statements dropped, exchanged or done twice."""
    for node in ast.walk(function):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for n, statement in enumerate(body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                kind = _statement_kind(statement.value)
                if len(body) > 1:
                    yield numbers[id(node)], f"dropped {kind}", _body(lambda b, n=n: [*b[:n], *b[n + 1 :]])
                yield numbers[id(node)], f"doubled {kind}", _body(lambda b, n=n: [*b[: n + 1], *b[n:]])
            if n + 1 < len(body):
                yield (
                    numbers[id(node)],
                    "statements exchanged",
                    _body(lambda b, n=n: [*b[:n], b[n + 1], b[n], *b[n + 2 :]]),
                )
            if isinstance(statement, ast.If) and statement.orelse:
                yield numbers[id(statement)], "arm dropped", lambda s: ast.If(s.test, s.body, [])


def _statement_kind(call: ast.Call) -> str:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else "call"
    return {"barrier": "barrier", "wait": "wait"}.get(name, "access" if name in MOVES else "statement")


def _body(make: Callable[..., list[ast.stmt]]) -> Change:
    def change(node: Any) -> ast.AST | None:
        node.body = make(node.body)
        return cast(ast.AST, node)

    return change
