"""Index expressions: the one type every phase of Argus computes addresses with.

    from argus.layout import expr as E

    row, k = E.var("row", 0, 255), E.var("k", 0, 63)
    a = row*128 + (k//8 ^ row % 8)*16 + k % 8*2      # byte address of element (row, k) in a swizzled tile
    E.evaluate(a, {"row": 3, "k": 17})               # 402         one point, or arrays of points
    gf2.basis(a, [row, k])                           # columns     the address is linear over bits
    E.to_z3(a, "bv")                                 # a term      to prove something about all points
    emit.emit(a, emit.PythonSource())                # code        what the kernel will execute

One expression, four interpreters (evaluate, gf2, smt, emit): the checker and the code generator cannot disagree
about an address, and the tests hold the interpreters against each other on random expressions.

This module only gathers the names; each idea lives in its own file:
node (the type), arith, bits, logic (simplifying constructors), text, evaluate, smt, gf2, emit.
"""

from __future__ import annotations

from argus.layout.arith import linear, split
from argus.layout.bits import bit_and, bit_or, xor
from argus.layout.evaluate import evaluate
from argus.layout.logic import as_condition, land, lnot, lor, maximum, minimum, select
from argus.layout.node import FALSE, TRUE, Expr, ExprError, ExprLike, apply, as_expr, const, postorder, rebuild, var
from argus.layout.smt import to_z3, z3_bounds, z3_no_overflow
from argus.layout.text import parse

__all__ = [
    "FALSE",
    "TRUE",
    "Expr",
    "ExprError",
    "ExprLike",
    "apply",
    "as_condition",
    "as_expr",
    "bit_and",
    "bit_or",
    "const",
    "evaluate",
    "land",
    "linear",
    "lnot",
    "lor",
    "maximum",
    "minimum",
    "parse",
    "postorder",
    "rebuild",
    "select",
    "split",
    "to_z3",
    "var",
    "xor",
    "z3_bounds",
    "z3_no_overflow",
]
