"""Whether a text is another one with other float types, so that both are the same formula of real numbers.

    u = x.to(f32)       u = x               True: sums of u have fewer digits
    v = t.to(f32)       v = t.to(bf16)      True
    n = v.to(i32)       n = v               False: a conversion to whole numbers is part of the formula

Where exact algebra does not follow an object (a polynomial for a logarithm, large and tiny numbers in one sum of a
narrow type), this still tells a mutant that rounds more from one that computes something else: the generator wrote the
other text beside its meaning. Types of arguments are part of the task and must agree; so must everything else.
"""

from __future__ import annotations

import ast

FLOATS = frozenset({"f64", "f32", "f16", "bf16", "fp8", "bf8"})


def fewer_digits(given: str, changed: str) -> bool:
    """The two differ in float types inside of functions, and in nothing else."""
    one, other = (ast.unparse(_Untyped().visit(ast.parse(text))) for text in (given, changed))
    return given != changed and one == other


class _Untyped(ast.NodeTransformer):
    """Float types in the bodies of functions are f32, and conversions to it are left out."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [_FloatTypes().visit(line) for line in node.body]
        return node


class _FloatTypes(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("f32", node.ctx) if node.id in FLOATS else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Attribute(value, "to"), [ast.Name(name)], []) if name in FLOATS:
                return ast.fix_missing_locations(self.visit(value))
        return self.generic_visit(node)
