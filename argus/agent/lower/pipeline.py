"""Software pipelining: parts of a loop's turn are done one or two turns earlier.

A turn of a staged loop is  fetch (global -> registers), publish (registers -> LDS) between two barriers, read (LDS ->
fragments), multiply. With `software_pipelining` the fetch of the next tile is issued right after this one is published,
so it is in flight while the matrix instructions run:

    ra = A[…, 0].load(COPY_A)                          for kt in …:
    for kt in ag.range(n):                                 ra = A[…, BLOCK_K * kt].load(COPY_A)
        ag.barrier(); sA.store(ra); ag.barrier()      <-   ag.barrier(); sA.store(ra); ag.barrier()
        ra = A[…, BLOCK_K * (kt + 1)].load(…, guard=kt + 1 < n)
        read; multiply                                     read; multiply

With `fragment_prefetch` the reads are cut into slices of k and run ahead of the multiplications too:

    read 1, 2 | multiply 0      read 3 | multiply 1      barrier
    publish kt+1, fetch kt+2 | multiply 2                barrier
    read 0 of kt+1 | multiply 3

Both are one mechanism: every statement of the turn gets an order and a shift (how many turns ahead it runs); statements
with a shift also run before the loop for the turns they skip, and the last turn is written after the loop with the
others alone (not where a turn has several products or goes on after them: it would be long). What is fetched past the
end is guarded and never used.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from argus.agent.lower.source import NotApplicableError, Source, drop_keyword, is_ag, keyword, names, set_keyword
from argus.agent.lower.text import expression, is_comment, statement

FETCH = "fetch"


PUBLISH = "publish"


READ = "read"


MULTIPLY = "multiply"


BARRIER = "barrier"


OTHER = "other"


LAST = "'# the last turn: nothing is left to fetch'"


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """A statement of a turn and how many turns ahead it runs."""

    node: ast.stmt
    shift: int


def kind(source: Source, node: ast.stmt) -> str:
    """What a statement of a loop does."""
    if isinstance(node, ast.Expr) and is_ag(node.value, "barrier"):
        return BARRIER
    if any(is_ag(n, "mfma") for n in ast.walk(node)):
        return MULTIPLY
    tensors = source.tensors()
    for block_kind, method in ((PUBLISH, "store"), (READ, "load")):
        for n in ast.walk(node):
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == method:
                place = n.func.value
                base = place.value if isinstance(place, ast.Subscript) else place
                if isinstance(base, ast.Name) and base.id in tensors:
                    return FETCH if method == "load" else OTHER
                return block_kind
    return OTHER


def staged_loop(source: Source) -> tuple[ast.For, list[ast.stmt]]:
    """The loop that publishes to LDS, and the list of statements it stands in."""
    for block in source.blocks():
        for node in block:
            if isinstance(node, ast.For) and is_ag(node.iter, "range") and isinstance(node.target, ast.Name):
                kinds = {kind(source, s) for s in node.body}
                if {FETCH, PUBLISH} <= kinds:
                    return node, block
    raise NotApplicableError("no loop copies tiles through registers to LDS")


def variable(loop: ast.For) -> str:
    if not isinstance(loop.target, ast.Name):
        raise NotApplicableError("the loop has several variables")
    return loop.target.id


def bounds(loop: ast.For) -> tuple[ast.expr, ast.expr]:
    """First and end of `ag.range(…)`."""
    if not isinstance(loop.iter, ast.Call) or len(loop.iter.args) > 2:
        raise NotApplicableError("the loop has a step")
    given = loop.iter.args
    return (ast.Constant(0), given[0]) if len(given) == 1 else (given[0], given[1])


def published_fetches(source: Source, body: list[ast.stmt]) -> list[ast.stmt]:
    """Fetches of what goes to LDS. Others (a scale) are used in their own turn and stay there."""
    stored: set[str] = set()
    for node in body:
        if kind(source, node) == PUBLISH:
            stored |= names(node)
    return [s for s in body if kind(source, s) == FETCH and isinstance(s, ast.Assign) and names(s.targets[0]) & stored]


def undo_prefetch(source: Source, loop: ast.For, outer: list[ast.stmt]) -> bool:
    """Put fetches that run one turn ahead back in front of their barrier; False if there are none."""
    at = outer.index(loop)
    name = variable(loop)
    moved: list[ast.stmt] = []
    for node in list(loop.body):
        if kind(source, node) == FETCH and f"{name} + 1" in ast.unparse(node):
            loop.body.remove(node)
            moved.append(shifted(node, name, expression(f"{name} - 1")))
    if not moved:
        return False
    for node in moved:
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                drop_keyword(call, "guard")
    targets = [ast.dump(n.targets[0]) for n in moved if isinstance(n, ast.Assign)]
    for node in [
        n
        for n in outer[:at]
        if isinstance(n, ast.Assign) and ast.dump(n.targets[0]) in targets and kind(source, n) == FETCH
    ]:
        outer.remove(node)
    loop.body[0:0] = moved
    at = outer.index(loop) + 1
    kept = [n for n in loop.body if n not in moved and not is_comment(n)]
    if at >= len(outer) or ast.unparse(outer[at]) != ast.unparse(statement(LAST)):
        return True
    del outer[at : at + 1 + len(kept)]
    first, last = bounds(loop)
    if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Sub):
        loop.iter = expression(f"ag.range({ast.unparse(_range(first, last.left)).strip('()')})")
    return True


def _range(first: ast.expr, end: ast.expr) -> ast.expr:
    return end if isinstance(first, ast.Constant) and first.value == 0 else ast.Tuple([first, end], ast.Load())


def turn_remainder(source: Source, body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt], list[ast.stmt]]:
    """What of a turn stays in it, before and after its products: a sum of its own, scales that it loads and applies."""
    published = published_fetches(source, body)
    product = max((n for n, s in enumerate(body) if kind(source, s) == MULTIPLY), default=len(body))
    apart = [
        n for n, s in enumerate(body) if kind(source, s) == OTHER or (kind(source, s) == FETCH and s not in published)
    ]
    return (
        [body[n] for n in apart if n < product],
        [s for n, s in enumerate(body) if n not in apart],
        [body[n] for n in apart if n > product],
    )


def emit(
    source: Source, loop: ast.For, outer: list[ast.stmt], steps: list[PipelineStep], *, peel_last: bool = True
) -> None:
    """Write a turn in a new order; what runs ahead is also written before the loop for the turns it skips.

    `apart`: the last turn is written after the loop, without what would run ahead; else it is fetched in vain there.
    """
    name = variable(loop)
    first, end = bounds(loop)
    deepest = max(step.shift for step in steps)
    before: list[ast.stmt] = []
    for turn in range(-deepest, 0):
        for step in steps:
            at = turn + step.shift
            if at >= 0 and step.shift:
                when = simplified(ast.BinOp(first, ast.Add(), ast.Constant(at)))
                before.append(_at(source, step.node, name, when, end if at else None))
    body = []
    for step in steps:
        when = expression(f"{name} + {step.shift}")
        body.append(_at(source, step.node, name, when, end) if step.shift else step.node)
    loop.body = body
    at_loop = outer.index(loop)
    if not peel_last:
        outer[at_loop:at_loop] = before
        return
    last = ast.BinOp(end, ast.Sub(), ast.Constant(1))
    after = [shifted(step.node, name, last) for step in steps if not step.shift and not is_comment(step.node)]
    loop.iter = expression(f"ag.range({ast.unparse(_range(first, last)).strip('()')})")
    outer[at_loop + 1 : at_loop + 1] = [statement(LAST), *after]
    outer[at_loop:at_loop] = before
    at_least_one_turn(source, end)


def at_least_one_turn(source: Source, end: ast.expr) -> None:
    """`K // BLOCK_K` turns with the last one on its own: K is at least a block."""
    if isinstance(end, ast.BinOp) and isinstance(end.op, ast.FloorDiv):
        given = keyword(source.decorator, "requires")
        old = str(given.value) if isinstance(given, ast.Constant) else ""
        new = f"{ast.unparse(end.left)} >= {ast.unparse(end.right)}"
        if new not in old:
            set_keyword(source.decorator, "requires", ast.Constant(f"{old} and {new}" if old else new))


def _at(source: Source, node: ast.stmt, name: str, when: ast.expr, end: ast.expr | None) -> ast.stmt:
    new = shifted(node, name, when)
    if end is not None and kind(source, node) == FETCH:
        for call in ast.walk(new):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "load":
                there = ast.Compare(when, [ast.Lt()], [end])
                if keyword(call, "guard") is not None:
                    raise NotApplicableError("the fetch has a guard of its own")
                set_keyword(call, "guard", there)
    return new


def shifted(node: ast.stmt, name: str, when: ast.expr) -> ast.stmt:
    """A copy of a statement at another turn of the loop."""
    new = copy.deepcopy(node)
    if name in names(new):
        _Substitute(name, when).visit(new)
    return new


class _Substitute(ast.NodeTransformer):
    def __init__(self, name: str, when: ast.expr) -> None:
        self._name, self._when = name, when

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self._when) if node.id == self._name else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return simplified(node)


def simplified(node: ast.expr) -> ast.expr:
    """0 + x, 0 * x, 1 * x, (x + 1) - 1 and numbers are folded."""
    if not isinstance(node, ast.BinOp):
        return node
    left, right = node.left, node.right
    a = left.value if isinstance(left, ast.Constant) else None
    b = right.value if isinstance(right, ast.Constant) else None
    if isinstance(a, int) and isinstance(b, int):
        if isinstance(node.op, ast.Add):
            return ast.Constant(a + b)
        if isinstance(node.op, ast.Mult):
            return ast.Constant(a * b)
    if isinstance(node.op, ast.Mult) and 0 in (a, b):
        return ast.Constant(0)
    if isinstance(node.op, ast.Mult) and 1 in (a, b):
        return right if a == 1 else left
    if isinstance(node.op, ast.Add) and 0 in (a, b):
        return right if a == 0 else left
    if (
        isinstance(node.op, ast.Add)
        and isinstance(b, int)
        and isinstance(left, ast.BinOp)
        and isinstance(left.op, ast.Sub)
        and isinstance(left.right, ast.Constant)
        and left.right.value == b
    ):
        return left.left
    return node
