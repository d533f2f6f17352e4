"""A kernel file as transformations see it: one kernel, its constants, its accesses and its loops.

    source = Source(text)
    source.sizes()                  {"bm": Blocked("M", 32), "bn": Blocked("N", 32)}  from  ag.grid(M // 32, N // 32)
    source.loads()                  every  name = T[…].load(owner, …)  of the kernel, wherever it stands
    source.define("BLOCK_M = 256")  a constant in front of the kernel
    source.text()                   the file again

Nothing here decides whether a kernel is right: a question that finds no answer raises `NotApplicableError`, which means
that a technique has no place in this source, never that the source is wrong.
"""

from __future__ import annotations

import ast
import copy
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from argus.agent.lower.text import expression, parse, statements, unparse


class NotApplicableError(Exception):
    """A technique has no place in this source; the text says what it looked for."""


@dataclass(frozen=True, slots=True)
class SourceAccess:
    """`name = T[index…].load(owner, …)` or `T[…].store(…)`: `block` is the list of statements it stands in."""

    name: str
    place: str
    index: tuple[ast.expr, ...]
    call: ast.Call
    statement: ast.stmt
    block: list[ast.stmt]

    @property
    def owner(self) -> ast.expr:
        if not self.call.args:
            raise NotApplicableError(f"line {self.call.lineno}: an access without an owner")
        return self.call.args[0]

    def keyword(self, name: str) -> ast.expr | None:
        return keyword(self.call, name)


@dataclass(frozen=True, slots=True)
class Blocked:
    """A block number: which size it divides and by how much, `M // 32`."""

    size: str
    by: ast.expr


@dataclass(frozen=True, slots=True)
class SourceTensor:
    """A tensor argument: its axis names and element type as written."""

    axes: tuple[str, ...]
    element: str
    kind: str


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument, if given."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def set_keyword(call: ast.Call, name: str, value: ast.expr) -> None:
    """Give or replace a keyword argument."""
    for k in call.keywords:
        if k.arg == name:
            k.value = value
            return
    call.keywords.append(ast.keyword(name, value))


def drop_keyword(call: ast.Call, name: str) -> None:
    """Take a keyword argument away."""
    call.keywords = [k for k in call.keywords if k.arg != name]


def is_ag(node: ast.AST, name: str) -> bool:
    """Whether a node is the call `ag.name(…)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "ag"
    )


def names(node: ast.AST) -> set[str]:
    """Every name used in a node."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


class Instead(ast.NodeTransformer):
    """Expressions in place of names that are read."""

    def __init__(self, by: Mapping[str, ast.expr]) -> None:
        self._by = by

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self._by[node.id]) if node.id in self._by and isinstance(node.ctx, ast.Load) else node


class OneOf(ast.NodeTransformer):
    """A name becomes one of a list: `total[u]` for `total`."""

    def __init__(self, name: str, index: str) -> None:
        self._name, self._index = name, index

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self._name:
            return node
        return ast.Subscript(ast.Name(node.id, ast.Load()), expression(self._index), node.ctx)


def divided(node: ast.expr) -> tuple[str, str] | None:
    """`N // BLOCK_N`: the size and its step."""
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.FloorDiv)
        and isinstance(node.left, ast.Name)
        and isinstance(node.right, ast.Name | ast.Constant)
    ):
        return node.left.id, ast.unparse(node.right)
    return None


def same(a: ast.AST, b: ast.AST) -> bool:
    """Whether two nodes are written alike."""
    return ast.dump(a) == ast.dump(b)


def terms(node: ast.expr) -> list[ast.expr]:
    """The summands of an index expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*terms(node.left), *terms(node.right)]
    return [node]


def total(parts: list[ast.expr]) -> ast.expr:
    """The sum of summands; zero if there are none."""
    if not parts:
        return ast.Constant(0)
    found = parts[0]
    for part in parts[1:]:
        found = ast.BinOp(found, ast.Add(), part)
    return found


def factor(term: ast.expr, name: str) -> ast.expr | None:
    """What multiplies a name in a summand: `32` for `32 * bm` and `bm * 32`, 1 for `bm`, None if it is not there."""
    if isinstance(term, ast.Name) and term.id == name:
        return ast.Constant(1)
    if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult):
        for this, other in ((term.left, term.right), (term.right, term.left)):
            if isinstance(this, ast.Name) and this.id == name and name not in names(other):
                return other
            inner = factor(this, name)
            if inner is not None and name not in names(other):
                return other if _is_one(inner) else ast.BinOp(inner, ast.Mult(), other)
    return None


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


class Source:
    """One kernel file; the tree is changed in place."""

    def __init__(self, text: str) -> None:
        try:
            self.tree = parse(text)
        except (SyntaxError, ValueError, tokenize.TokenError) as error:
            raise NotApplicableError(f"not a Python file: {error}") from error
        found = [n for n in self.tree.body if isinstance(n, ast.FunctionDef) and self._decorator(n) is not None]
        if len(found) != 1:
            raise NotApplicableError(f"the file has {len(found)} kernels; transformations work on one")
        self.function = found[0]
        decorator = self._decorator(self.function)
        if decorator is None:
            raise NotApplicableError("the kernel has no decorator with arguments")
        self.decorator = decorator

    @staticmethod
    def _decorator(function: ast.FunctionDef) -> ast.Call | None:
        return next((d for d in function.decorator_list if isinstance(d, ast.Call) and is_ag(d, "kernel")), None)

    def text(self) -> str:
        return unparse(self.tree)

    @property
    def body(self) -> list[ast.stmt]:
        return self.function.body

    def blocks(self) -> Iterator[list[ast.stmt]]:
        """Every list of statements of the kernel, outermost first."""
        yield from _blocks(self.body)

    def tensors(self) -> dict[str, SourceTensor]:
        """SourceTensor arguments by name."""
        found: dict[str, SourceTensor] = {}
        for argument in self.function.args.args:
            note = argument.annotation
            if (
                isinstance(note, ast.Subscript)
                and isinstance(note.value, ast.Attribute)
                and isinstance(note.slice, ast.Tuple)
                and len(note.slice.elts) >= 2
                and isinstance(note.slice.elts[0], ast.Constant)
            ):
                axes = tuple(str(note.slice.elts[0].value).split())
                found[argument.arg] = SourceTensor(axes, ast.unparse(note.slice.elts[1]), note.value.attr)
        return found

    def constant(self, name: str) -> ast.Assign | None:
        """The module-level assignment of a name."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_name(node.targets[0], name):
                return node
        return None

    def value(self, node: ast.expr) -> int | None:
        """A whole number the file fixes: literals, module constants, knob defaults, arithmetic on them."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            given = self.constant(node.id)
            return None if given is None else self.value(given.value)
        if is_ag(node, "knob") and isinstance(node, ast.Call) and node.args:
            return self.value(node.args[0])
        if isinstance(node, ast.BinOp):
            a, b = self.value(node.left), self.value(node.right)
            if a is None or b is None:
                return None
            if isinstance(node.op, ast.Add):
                return a + b
            if isinstance(node.op, ast.Sub):
                return a - b
            if isinstance(node.op, ast.Mult):
                return a * b
            if isinstance(node.op, ast.FloorDiv) and b:
                return a // b
            if isinstance(node.op, ast.Mod) and b:
                return a % b
        return None

    def define(self, text: str) -> None:
        """Constants in front of the kernel; a name that exists is given its new value where it stands."""
        for new in statements(text):
            if isinstance(new, ast.Assign) and isinstance(new.targets[0], ast.Name):
                old = self.constant(new.targets[0].id)
                if old is not None:
                    old.value = new.value
                    continue
            self.tree.body.insert(self.tree.body.index(self.function), new)

    def define_first(self, text: str) -> None:
        """Constants right after the imports, where everything else can use them."""
        last = max(
            (n for n, node in enumerate(self.tree.body) if isinstance(node, ast.Import | ast.ImportFrom)), default=-1
        )
        self.tree.body[last + 1 : last + 1] = statements(text)

    def fresh(self, wanted: str) -> str:
        """A name nobody uses yet: `sA`, `sA2`, …"""
        used = names(self.tree) | {a.arg for a in self.function.args.args}
        candidate, number = wanted, 2
        while candidate in used:
            candidate, number = f"{wanted}{number}", number + 1
        return candidate

    def grid(self) -> tuple[ast.Assign, ast.Call]:
        """The statement `bm, bn = ag.grid(…)`."""
        for node in ast.walk(self.function):
            if isinstance(node, ast.Assign):
                for inner in ast.walk(node.value):
                    if is_ag(inner, "grid") and isinstance(inner, ast.Call):
                        return node, inner
        raise NotApplicableError("the kernel calls no ag.grid")

    def sizes(self) -> dict[str, Blocked]:
        """Block numbers whose grid extent is a size divided by a number."""
        statement, call = self.grid()
        if statement.value is not call:
            return {}
        target = statement.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        found: dict[str, Blocked] = {}
        for name, extent in zip(targets, call.args, strict=False):
            if (
                isinstance(name, ast.Name)
                and isinstance(extent, ast.BinOp)
                and isinstance(extent.op, ast.FloorDiv)
                and isinstance(extent.left, ast.Name)
            ):
                found[name.id] = Blocked(extent.left.id, extent.right)
        return found

    def accesses(self, method: str) -> list[SourceAccess]:
        """Every `T[…].method(…)` of the kernel, in order."""
        found: list[SourceAccess] = []
        for block in self.blocks():
            for statement in block:
                if not isinstance(statement, ast.Assign | ast.Expr):
                    continue
                for node in ast.walk(statement):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
                        place, index = _place(node.func.value)
                        if place:
                            found.append(SourceAccess(_target(statement), place, index, node, statement, block))
        return found

    def loads(self) -> list[SourceAccess]:
        return self.accesses("load")

    def waves(self) -> list[tuple[str, ast.expr]]:
        """Names of the wave numbers and how many there are of each, from `ag.wave()` and `waves=`."""
        given = keyword(self.decorator, "waves")
        counts = list(given.elts) if isinstance(given, ast.Tuple) else []
        for block in self.blocks():
            for statement in block:
                if isinstance(statement, ast.Assign) and is_ag(statement.value, "wave"):
                    target = statement.targets[0]
                    targets = target.elts if isinstance(target, ast.Tuple) else [target]
                    if not counts:
                        counts = [expression("THREADS // 64")]
                    return [(t.id, c) for t, c in zip(targets, counts, strict=False) if isinstance(t, ast.Name)]
        return []


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    yield body
    for statement in body:
        for field in ("body", "orelse"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                yield from _blocks(inner)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _place(node: ast.expr) -> tuple[str, tuple[ast.expr, ...]]:
    if isinstance(node, ast.Name):
        return node.id, ()
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return node.value.id, tuple(items)
    return "", ()


def _target(statement: ast.Assign | ast.Expr) -> str:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else ""
    return ""
