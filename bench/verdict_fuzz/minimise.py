"""Delta debugging on the text of a finding: the smallest kernel that shows the same fault.

Steps that keep the fault are taken, until none is left: a statement dropped, an expression replaced by a part of it, a
number made smaller. Signature, `computes` and the meaning stay, so truth can be asked again at every step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from time import process_time

from bench.verdict_fuzz.judge import judge
from bench.verdict_fuzz.program import Generated

BUDGET = 20.0
"""Seconds of CPU time for one finding."""


def minimised(program: Generated, text: str, fault: str, intended_right: bool) -> str:
    best = ast.unparse(ast.parse(text)) + "\n"
    if judge(program, best, intended_right).fault != fault:
        return text
    deadline = process_time() + BUDGET
    progress = True
    while progress and process_time() < deadline:
        progress = False
        for smaller in candidates(best):
            if process_time() > deadline:
                break
            if len(smaller) < len(best) and judge(program, smaller, intended_right).fault == fault:
                best, progress = smaller, True
                break
    return best


def candidates(text: str) -> Iterator[str]:
    """Texts that are one step smaller, the largest steps first."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    for number, node in enumerate(nodes):
        body = getattr(node, "body", None)
        if isinstance(body, list) and not isinstance(node, ast.Module) and len(body) > 1:
            for n in range(len(body)):
                yield from _with(text, number, "body", [*body[:n], *body[n + 1 :]])
    for number, node in enumerate(nodes):
        match node:
            case ast.BinOp(left=left, right=right):
                yield from _replace(text, number, left)
                yield from _replace(text, number, right)
            case ast.Call(func=ast.Attribute(value=inner), args=args, keywords=words):
                yield from (made for arg in args for made in _replace(text, number, arg))
                if not isinstance(inner, ast.Name):
                    yield from _replace(text, number, inner)
                for n in range(len(words)):
                    yield from _with(text, number, "keywords", [*words[:n], *words[n + 1 :]])
            case ast.IfExp(body=yes, orelse=no):
                yield from _replace(text, number, yes)
                yield from _replace(text, number, no)
            case _:
                pass


def _inside_kernel(tree: ast.Module, node: ast.AST) -> bool:
    functions = [f for f in tree.body if isinstance(f, ast.FunctionDef)]
    return any(node is part or node is f for f in functions for s in f.body for part in ast.walk(s))


def _with(text: str, number: int, name: str, value: list[ast.AST]) -> Iterator[str]:
    tree = ast.parse(text)
    node = list(ast.walk(tree))[number]
    if _inside_kernel(tree, node):
        setattr(node, name, value)
        yield from _unparsed(tree)


def _replace(text: str, number: int, part: ast.AST) -> Iterator[str]:
    tree = ast.parse(text)
    node = list(ast.walk(tree))[number]
    if not _inside_kernel(tree, node):
        return

    class Replace(ast.NodeTransformer):
        def visit(self, here: ast.AST) -> ast.AST:
            return part if here is node else self.generic_visit(here)

    yield from _unparsed(Replace().visit(tree))


def _unparsed(tree: ast.AST) -> Iterator[str]:
    try:
        yield ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, AttributeError, TypeError):
        return
