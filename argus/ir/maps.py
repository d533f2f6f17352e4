"""The elementwise functions of `Map`, one line each: how many operands, on what, and what comes out.

`kinds` are the element kinds the function is defined on; `out` is "same" (operand type) or "bool" (a lane mask per
element). `meaning` is the numpy expression over x, y, z that the interpreters evaluate and the docs print.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MapFn:
    name: str
    arity: int
    kinds: frozenset[str]
    out: str
    meaning: str


_NUM = frozenset({"float", "int", "uint"})
_FLT = frozenset({"float"})
_INT = frozenset({"int", "uint"})
_ANY = frozenset({"float", "int", "uint", "bool"})

MAPS: dict[str, MapFn] = {
    f.name: f
    for f in (
        MapFn("add", 2, _NUM, "same", "x + y"),
        MapFn("sub", 2, _NUM, "same", "x - y"),
        MapFn("mul", 2, _NUM, "same", "x * y"),
        MapFn("fma", 3, _FLT, "same", "x * y + z, rounded once"),
        MapFn("neg", 1, _NUM, "same", "-x"),
        MapFn("abs", 1, _NUM, "same", "abs(x)"),
        MapFn("max", 2, _NUM, "same", "maximum(x, y), the number if one operand is NaN"),
        MapFn("min", 2, _NUM, "same", "minimum(x, y), the number if one operand is NaN"),
        MapFn("exp2", 1, _FLT, "same", "2 ** x, hardware precision"),
        MapFn("log2", 1, _FLT, "same", "log2(x), hardware precision"),
        MapFn("rcp", 1, _FLT, "same", "1 / x, hardware precision"),
        MapFn("rsqrt", 1, _FLT, "same", "1 / sqrt(x), hardware precision"),
        MapFn("sqrt", 1, _FLT, "same", "sqrt(x), hardware precision"),
        MapFn("div", 2, _FLT, "same", "x / y, correctly rounded"),
        MapFn("floor", 1, _FLT, "same", "floor(x)"),
        MapFn("and", 2, _INT | {"bool"}, "same", "x & y"),
        MapFn("or", 2, _INT | {"bool"}, "same", "x | y"),
        MapFn("xor", 2, _INT | {"bool"}, "same", "x ^ y"),
        MapFn("not", 1, frozenset({"bool"}), "same", "~x"),
        MapFn("shl", 2, _INT, "same", "x << y"),
        MapFn("shr", 2, _INT, "same", "x >> y, arithmetic on int, logical on uint"),
        MapFn("lt", 2, _NUM, "bool", "x < y"),
        MapFn("le", 2, _NUM, "bool", "x <= y"),
        MapFn("gt", 2, _NUM, "bool", "x > y"),
        MapFn("ge", 2, _NUM, "bool", "x >= y"),
        MapFn("eq", 2, _NUM, "bool", "x == y"),
        MapFn("ne", 2, _NUM, "bool", "x != y"),
        MapFn("select", 3, _ANY, "last", "where(x, y, z); x is bool, y and z of one type"),
    )
}
