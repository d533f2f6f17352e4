"""Assertions stay: an edit that takes one away, or puts it where it says nothing, is refused.

    removed(text, ['ag.check.conform(ag.mfma, "K")'])       the ones that are gone

An assertion counts as kept if its statement is in the file and the reader made a check of it in the kernel's own block:
under a condition, in a loop or in a function that is never called it would say nothing. Assertions about a name that
the edit did away with (a buffer, an accumulator) go with it. That a name means something else now is not seen; the
judge's own rules do not rest on any assertion.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from argus.ir import ops
from argus.lang import read
from argus.lang.errors import ProgramError

BUILT_IN = frozenset({"ag"})
ASSERTION = ops.Check.declared.word


def removed(text: str, required: Iterable[str], beside: Mapping[str, str] | None = None) -> list[str]:
    """Assertions that are not stated any more; none where the file cannot be read, which the judge will say."""
    try:
        kernel = read(text, beside=dict(beside or {}))
        tree = ast.parse(text)
    except (ProgramError, SyntaxError, ValueError, RecursionError):
        return []
    stated = {op.span.line for op in kernel.body if op.declared.word == ASSERTION}
    standing = {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and any(node.lineno <= line <= (node.end_lineno or 0) for line in stated)
    }
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {tensor.name for tensor in kernel.tensors} | BUILT_IN
    return [one for one in required if ast.unparse(ast.parse(one)) not in standing and _speaks_of(one) <= names]


def _speaks_of(assertion: str) -> set[str]:
    call = ast.parse(assertion, mode="eval").body
    targets = call.args if isinstance(call, ast.Call) else []
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
