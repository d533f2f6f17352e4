"""Maximum and sum of exponentials in one pass over a row: the sum is rescaled whenever the maximum grows.

    for i in …: top = ag.max(top, x)                     best = ag.full(PART, f32, -inf).max("n")
    best = top.max("n")                                  total = ag.zeros(PART, f32)
    total = ag.zeros(PART, f32)                   ->     for j in …:
    for j in …:                                              y = X[row, CHUNK * j].load(PART, width=16).to(f32)
        y = X[row, CHUNK * j].load(…).to(f32)                new = ag.max(best, y.max("n"))
        total = total + ag.exp2((y - best) * C)              total = total * ag.exp2((best - new) * C)
                                                             total = total + ag.exp2((y - new) * C)
                                                             best = new

Both passes must read the same elements. Sum and maximum keep the same history of factors, which is the invariant.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping

from argus.agent.lower.row_walks import Walk, walks
from argus.agent.lower.source import NotApplicableError, Source, is_ag, names, same
from argus.agent.lower.text import is_comment, statement, statements


def online_softmax(source: Source, params: Mapping[str, object]) -> None:
    """The pass for the maximum joins the pass for the sum of exponentials."""
    found = walks(source)
    for first, second in itertools.pairwise(found):
        if same(first.loop.iter, second.loop.iter) and _join(source, first, second):
            return
    raise NotApplicableError("no pass for a maximum stands before a pass for a sum of exponentials below it")


def _join(source: Source, first: Walk, second: Walk) -> bool:
    lead, maximum = _pass(first)
    load, added = _pass(second)
    if lead is None or load is None or maximum is None or added is None:
        return False
    top, kind, value = maximum
    total, how, term = added
    if kind != "max" or how != "sum" or ast.unparse(value) != _target(lead) or not same(_moved(lead), _moved(load)):
        return False
    best, axis = _reduced(source, top)
    if not is_ag(term, "exp2") or not isinstance(term, ast.Call) or best not in names(term):
        return False
    start = _start(source, top)
    new, element = source.fresh("new"), _target(load)
    grown = _replaced(term, {element: best, best: new})
    at = source.body.index(first.loop)
    gone = [first.loop, start, _statement_of(source, best)]
    second.loop.body = [
        load,
        *statements(
            f"{new} = ag.max({best}, {element}.max('{axis}'))\n"
            f"{total} = {total} * {grown}\n"
            f"{total} = {total} + {_replaced(term, {best: new})}\n"
            f"{best} = {new}"
        ),
    ]
    source.body[at:at] = [statement(f"{best} = {ast.unparse(start.value)}.max('{axis}')")]
    for node in gone:
        source.body.remove(node)
    return True


def _pass(walk: Walk) -> tuple[ast.Assign | None, tuple[str, str, ast.expr] | None]:
    """The load of a pass and what it accumulates, if it does nothing else."""
    body = [s for s in walk.loop.body if not is_comment(s)]
    if len(body) != 2 or not isinstance(body[0], ast.Assign) or ".load(" not in ast.unparse(body[0]):
        return None, None
    return body[0], _accumulated(body[1])


def _accumulated(node: ast.stmt) -> tuple[str, str, ast.expr] | None:
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return None
    name, value = node.targets[0].id, node.value
    if is_ag(value, "max") and isinstance(value, ast.Call) and ast.unparse(value.args[0]) == name:
        return name, "max", value.args[1]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and ast.unparse(value.left) == name:
        return name, "sum", value.right
    return None


def _target(node: ast.Assign) -> str:
    return ast.unparse(node.targets[0])


def _moved(node: ast.Assign) -> ast.expr:
    """What a load reads, whatever its loop's variable is called."""
    return ast.parse(_replaced(node.value, _counter(node)), mode="eval").body


def _counter(node: ast.Assign) -> dict[str, str]:
    index = [n for n in ast.walk(node.value) if isinstance(n, ast.Subscript)]
    last = index[0].slice if index else None
    part = last.elts[-1] if isinstance(last, ast.Tuple) else last
    used = [n for n in sorted(names(part)) if n.islower()] if part is not None else []
    return {used[0]: "turn_of_the_loop"} if len(used) == 1 else {}


def _reduced(source: Source, top: str) -> tuple[str, str]:
    """`best = top.max("n")`: the name and the axis."""
    for node in source.body:
        call = node.value if isinstance(node, ast.Assign) else None
        if (
            isinstance(node, ast.Assign)
            and isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "max"
            and ast.unparse(call.func.value) == top
            and isinstance(call.args[0], ast.Constant)
            and len(call.args) == 1
            and not call.keywords
        ):
            return _target(node), str(call.args[0].value)
    raise NotApplicableError(f"the maximum {top} is not reduced along the row by one wave")


def _start(source: Source, name: str) -> ast.Assign:
    found = _statement_of(source, name)
    if not is_ag(found.value, "full"):
        raise NotApplicableError(f"{name} does not start from ag.full")
    return found


def _statement_of(source: Source, name: str) -> ast.Assign:
    for node in source.body:
        if isinstance(node, ast.Assign) and _target(node) == name:
            return node
    raise NotApplicableError(f"{name} is not computed in the kernel's body")


def _replaced(node: ast.expr, renamed: Mapping[str, str]) -> str:
    """The text of an expression with other names, all at once."""
    return ast.unparse(_RowRenamed(renamed).visit(ast.parse(ast.unparse(node), mode="eval").body))


class _RowRenamed(ast.NodeTransformer):
    def __init__(self, renamed: Mapping[str, str]) -> None:
        self._renamed = renamed

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self._renamed.get(node.id, node.id), node.ctx)
