"""Layouts and owners from text, read from syntax and never executed.

    read_layout('Layout(row=(256, 128), chunk=(8, 16), e=(8, 2)).xor(chunk="row[0:3]")')
    read_named(source_of_a_file, "LDS")          the value assigned to LDS at the top level of the file

Understood are `Layout(...)` and `Owner(...)` (also `ag.Layout`), method calls that give layouts, integers with
+ - * // % << >>, tuples, strings, dictionaries, and names assigned earlier at the top level of the same file.
Anything else is an error that quotes the part, so a kernel file can be shown without trusting it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from argus.layout.error import LayoutError
from argus.layout.layout import Layout
from argus.layout.node import ExprError, const
from argus.layout.owner import Owner

MAX_TEXT = 2_000_000
MAX_EXPRESSION = 20_000

_METHODS = frozenset(
    {
        "compose",
        "complement",
        "divide",
        "inverse",
        "merge",
        "pad",
        "permute",
        "product",
        "replicate",
        "shift",
        "slice",
        "split",
        "view",
        "xor",
    }
)
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], Any]] = {
    ast.Add: lambda a, b: const(a) + b,
    ast.Sub: lambda a, b: const(a) - b,
    ast.Mult: lambda a, b: const(a) * b,
    ast.FloorDiv: lambda a, b: const(a) // b,
    ast.Mod: lambda a, b: const(a) % b,
    ast.LShift: lambda a, b: const(a) << b,
    ast.RShift: lambda a, b: const(a) >> b,
}


def read_layout(text: str, names: Mapping[str, Any] | None = None) -> Layout | Owner:
    """The layout or owner that an expression describes."""
    if len(text) > MAX_EXPRESSION:
        raise LayoutError(f"the layout text has {len(text)} characters; at most {MAX_EXPRESSION} are read")
    body = _parsed(text.strip(), "eval").body
    value = _value(body, names or {})
    if not isinstance(value, (Layout, Owner)):
        raise LayoutError(f"`{_quote(body)}` is not a layout or an owner")
    return value


def read_named(source: str, name: str) -> Layout | Owner:
    """The layout or owner assigned to `name` at the top level of a Python file's text."""
    if len(source) > MAX_TEXT:
        raise LayoutError(f"the file has {len(source)} characters; at most {MAX_TEXT} are read")
    known: dict[str, Any] = {}
    problem: LayoutError | None = None
    for statement in _parsed(source, "exec").body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        try:
            _assign(statement.targets[0], statement.value, known)
        except LayoutError as error:
            if name in _targets(statement.targets[0]):
                problem = error
    value = known.get(name)
    if isinstance(value, (Layout, Owner)):
        return value
    if problem is not None:
        raise problem
    found = ", ".join(n for n, v in known.items() if isinstance(v, (Layout, Owner))) or "none"
    raise LayoutError(f"the file assigns no layout to `{name}` at its top level; it has: {found}")


def _parsed(text: str, mode: str) -> Any:
    try:
        return ast.parse(text, mode=mode)
    except SyntaxError as error:
        raise LayoutError(f"line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise LayoutError("the text is nested too deeply or is not text") from error


def _targets(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple):
        return [n.id for n in target.elts if isinstance(n, ast.Name)]
    return []


def _assign(target: ast.expr, value: ast.expr, known: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        known[target.id] = _value(value, known)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, part in zip(target.elts, value.elts, strict=True):
            _assign(one, part, known)


def _quote(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    try:
        return _read(node, known)
    except RecursionError as error:
        raise LayoutError("the layout text is nested too deeply") from error
    except ExprError as error:
        raise LayoutError(str(error)) from error


def _read(node: ast.expr, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | str() as constant) if not isinstance(constant, bool):
            return constant
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_read(part, known) for part in parts)
        case ast.Dict(keys=keys, values=values) if all(isinstance(k, ast.Constant) for k in keys):
            return {_read(k, known): _read(v, known) for k, v in zip(keys, values, strict=True) if k is not None}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_integer(operand, known)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            return _ARITHMETIC[type(operator)](_integer(left, known), _integer(right, known)).value
        case ast.Call():
            return _call(node, known)
    raise LayoutError(f"`{_quote(node)}` cannot be part of a layout")


def _integer(node: ast.expr, known: Mapping[str, Any]) -> int:
    value = _read(node, known)
    if isinstance(value, int):
        return value
    raise LayoutError(f"`{_quote(node)}` is not an integer")


def _call(node: ast.Call, known: Mapping[str, Any]) -> Any:
    function = _function(node.func, known)
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        raise LayoutError(f"`{_quote(node)}`: arguments are written out, without * or **")
    positional = [_read(a, known) for a in node.args]
    keywords = {k.arg: _read(k.value, known) for k in node.keywords if k.arg is not None}
    try:
        return function(*positional, **keywords)
    except (TypeError, AttributeError) as error:
        raise LayoutError(f"`{_quote(node)}` does not have the arguments of a layout operation: {error}") from error


def _function(node: ast.expr, known: Mapping[str, Any]) -> Callable[..., Any]:
    constructors: dict[str, Callable[..., Any]] = {"Layout": Layout, "Owner": Owner}
    match node:
        case ast.Name(id=name) if name in constructors:
            return constructors[name]
        case ast.Attribute(value=ast.Name(id="ag" | "argus"), attr=name) if name in constructors:
            return constructors[name]
        case ast.Attribute(value=value, attr=method) if method in _METHODS:
            base = _read(value, known)
            if isinstance(base, (Layout, Owner)):
                found: Callable[..., Any] | None = getattr(base, method, None)
                if found is not None:
                    return found
    raise LayoutError(f"`{_quote(node)}` is not a layout operation")
