"""Expressions as Python text, and back.

    str(row*128 + (chunk ^ row%8)*16)   ->  "row*128 + (chunk ^ row%8)*16"
    parse("row*8 + k//8", {"row": row, "k": k})
    parse("row[0:3] ^ row[3]", {"row": row})        bits 0..2 of row, exclusive-or its bit 3

Printed text is Python: evaluated with integers for the variables it gives the expression's value.  Parsing walks
the syntax tree and never executes anything; text length, node count and nesting are bounded.

What it cannot do: an expression whose shared parts would print to more than 64 Ki characters is only described;
bounds of variables and functions are not part of the text; the caller supplies them by name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from argus.layout.bits import bit_and, bit_or, xor
from argus.layout.logic import as_condition, land, lnot, lor, maximum, minimum, select
from argus.layout.node import FALSE, TRUE, Expr, ExprError, ExprLike, apply, as_expr, const, postorder

MAX_TEXT = 1 << 16
MAX_NODES = 20_000

_SYMBOL = {
    "lor": "or",
    "land": "and",
    "lt": "<",
    "le": "<=",
    "eq": "==",
    "ne": "!=",
    "or": "|",
    "xor": "^",
    "and": "&",
    "shl": "<<",
    "shr": ">>",
    "add": "+",
    "mul": "*",
    "floordiv": "//",
    "mod": "%",
}
_STRENGTH = {
    "select": 0,
    "lor": 1,
    "land": 2,
    "not": 3,
    "lt": 4,
    "le": 4,
    "eq": 4,
    "ne": 4,
    "or": 5,
    "xor": 6,
    "and": 7,
    "shl": 8,
    "shr": 8,
    "add": 9,
    "mul": 10,
    "floordiv": 10,
    "mod": 10,
}
_ATOM = 12
_NON_CHAINING = frozenset({"lt", "le", "eq", "ne"})


def to_text(e: Expr) -> str:
    """Python source of `e`; a description in <> when shared parts would make it longer than can be read back."""
    done: dict[Expr, tuple[str, int]] = {}
    for count, node in enumerate(postorder(e), 1):
        parts = [done[arg] for arg in node.args]
        if sum(len(text) for text, _ in parts) > MAX_TEXT:
            return f"<an expression of more than {count} parts over {', '.join(sorted(v.name for v in e.free()))}>"
        done[node] = _render(node, parts)
    return done[e][0]


def _wrapped(part: tuple[str, int], at_least: int) -> str:
    return part[0] if part[1] >= at_least else f"({part[0]})"


def _render(node: Expr, parts: list[tuple[str, int]]) -> tuple[str, int]:
    op = node.op
    if op == "var":
        return node.name, _ATOM
    if op == "const":
        if node.boolean:
            return str(node is TRUE), _ATOM
        return str(node.value), _ATOM if node.value >= 0 else 11
    if op == "apply":
        return f"{node.name}({', '.join(text for text, _ in parts)})", _ATOM
    if op in ("min", "max"):
        return f"{op}({', '.join(text for text, _ in parts)})", _ATOM
    strength = _STRENGTH[op]
    if op == "select":
        return f"{_wrapped(parts[1], 1)} if {_wrapped(parts[0], 1)} else {_wrapped(parts[2], 0)}", 0
    if op == "not":
        return f"not {_wrapped(parts[0], strength)}", strength
    if op == "add":
        return _render_sum(node, parts), strength
    first_needs = strength + (1 if op in _NON_CHAINING else 0)
    texts = [_wrapped(parts[0], first_needs)] + [_wrapped(part, strength + 1) for part in parts[1:]]
    symbol = _SYMBOL[op]
    return (symbol if strength == _STRENGTH["mul"] else f" {symbol} ").join(texts), strength


def _render_sum(node: Expr, parts: list[tuple[str, int]]) -> str:
    text = _wrapped(parts[0], 9)
    for arg, part in zip(node.args[1:], parts[1:], strict=True):
        if arg.op == "const" and arg.value < 0:
            text += f" - {-arg.value}"
        elif arg.op == "mul" and arg.args[-1].op == "const" and arg.args[-1].value < 0:
            k = -arg.args[-1].value
            stem = part[0].rsplit("*", 1)[0]
            text += f" - {stem}" + (f"*{k}" if k != 1 else "")
        else:
            text += f" + {_wrapped(part, 10)}"
    return text


_BINARY: dict[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
}
_BITWISE: dict[type[ast.operator], Callable[..., Expr]] = {ast.BitXor: xor, ast.BitAnd: bit_and, ast.BitOr: bit_or}
_COMPARE: dict[type[ast.cmpop], Callable[[Expr, Expr], Expr]] = {
    ast.Lt: lambda a, b: a.lt(b),
    ast.LtE: lambda a, b: a.le(b),
    ast.Gt: lambda a, b: a.gt(b),
    ast.GtE: lambda a, b: a.ge(b),
    ast.Eq: lambda a, b: a.eq(b),
    ast.NotEq: lambda a, b: a.ne(b),
}


def parse(
    text: str,
    names: Mapping[str, ExprLike],
    functions: Mapping[str, tuple[int | None, int | None]] | None = None,
) -> Expr:
    """The expression that `text` says; `names` are its variables, `functions` (name: value bounds) it may call."""
    if len(text) > MAX_TEXT:
        raise ExprError(f"the expression text has {len(text)} characters; at most {MAX_TEXT} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
            raise ExprError(f"the expression has more than {MAX_NODES} parts")
        return from_syntax(tree.body, names, functions or {})
    except SyntaxError as error:
        raise ExprError(f"`{_short(text)}` is not an expression: {error.msg}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        if isinstance(error, ExprError):
            raise
        raise ExprError(f"`{_short(text)}` is nested too deeply or is not text") from error


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def from_syntax(
    node: ast.expr,
    names: Mapping[str, ExprLike],
    functions: Mapping[str, tuple[int | None, int | None]],
) -> Expr:
    """The expression of one syntax-tree node."""

    def walk(part: ast.expr) -> Expr:
        return from_syntax(part, names, functions)

    match node:
        case ast.Constant(value=bool() as truth):
            return TRUE if truth else FALSE
        case ast.Constant(value=int() as number):
            return const(number)
        case ast.Name(id=name):
            if name not in names:
                known = ", ".join(sorted(names)) or "none"
                raise ExprError(f"`{name}` is not known here; known names: {known}")
            return as_expr(names[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -walk(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return walk(operand)
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return -walk(operand) - 1
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return lnot(walk(operand))
        case ast.BinOp(op=operator) if type(operator) in _BITWISE:
            return _BITWISE[type(operator)](*map(walk, _chain(node, type(operator))))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _BINARY:
            return _BINARY[type(operator)](walk(left), walk(right))
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _COMPARE for op in ops):
            operands = [walk(left), *map(walk, rights)]
            return land(*(_COMPARE[type(op)](a, b) for op, a, b in zip(ops, operands[:-1], operands[1:], strict=True)))
        case ast.BoolOp(op=ast.And(), values=values):
            return land(*map(walk, values))
        case ast.BoolOp(op=ast.Or(), values=values):
            return lor(*map(walk, values))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return select(as_condition(walk(test)), walk(body), walk(orelse))
        case ast.Subscript(value=value, slice=index):
            return _bit_field(walk(value), index, walk)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if not any(
            isinstance(a, ast.Starred) for a in args
        ):
            return _call(name, [walk(a) for a in args], functions)
        case _:
            raise ExprError(f"`{_short(ast.unparse(node))}` cannot be part of an index expression")


def _chain(node: ast.expr, operator: type[ast.operator]) -> list[ast.expr]:
    """The operands of a ^ b ^ c, which is one operation here as it is in an expression."""
    operands: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, operator):
        operands.append(node.right)
        node = node.left
    return [node, *reversed(operands)]


def _bit_field(value: Expr, index: ast.expr, walk: Callable[[ast.expr], Expr]) -> Expr:
    """x[a:b] is bits a..b-1 of x, x[a] its bit a."""
    low: Expr
    high: Expr
    if isinstance(index, ast.Slice) and index.step is None and index.upper is not None:
        low = walk(index.lower) if index.lower is not None else const(0)
        high = walk(index.upper)
    elif not isinstance(index, ast.Slice):
        low = walk(index)
        high = low + 1
    else:
        raise ExprError("a bit field is written x[low:high], or x[bit] for a single bit")
    if low.op != "const" or high.op != "const" or not 0 <= low.value < high.value <= 64:
        raise ExprError(f"bits [{low}:{high}] are not a field of constant bits within 0..64")
    return (value >> low.value) % (1 << (high.value - low.value))


def _call(name: str, args: list[Expr], functions: Mapping[str, tuple[int | None, int | None]]) -> Expr:
    if name == "min" and len(args) >= 2:
        return minimum(*args)
    if name == "max" and len(args) >= 2:
        return maximum(*args)
    if name == "select" and len(args) == 3:
        return select(*args)
    if name in functions:
        lo, hi = functions[name]
        return apply(name, *args, lo=lo, hi=hi)
    raise ExprError(f"function `{name}` with {len(args)} arguments is not known here")
