"""The arithmetic between the two products of attention: less of it, and only where it makes a difference.

`diagonal_mask`    waves whose rows see all keys of a turn jump over the mask
`fused_scale`      the maximum is taken before scaling; scale and shift are one multiply-add in the exponent
`finite_weights`   weights are powers of two of at most zero: they are rounded without a case for NaN

    s = ag.where(s.Sk <= s.Sq, s * factor, -inf)           if KEYS * (j + 1) > 32 * block + 1:
                                                               s = ag.where(s.Sk <= s.Sq, s, -inf)
    new = ag.max(top, s.max("Sk"))                   ->    new = ag.max(top, s.max("Sk"))
    p = ag.exp2(s - new)                                   p = ag.exp2(ag.fma(s, factor, -(new * factor)))
    keep = ag.exp2(top - new)                              keep = ag.exp2((top - new) * factor)

The running maximum begins at a finite number: -inf times a factor, less itself, is not a number. A maximum before
scaling is the maximum afterwards only for a positive factor, which becomes a requirement of the kernel. The order of
the three does not matter.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from argus.agent.lower.matrix import axis_name, owner_definition
from argus.agent.lower.pipeline import shifted, variable
from argus.agent.lower.source import NotApplicableError, Source, is_ag, keyword, names, set_keyword
from argus.agent.lower.text import expression, statement

LOWEST = "-1.0e30"


@dataclass(frozen=True, slots=True)
class SoftmaxTurn:
    """A loop that multiplies twice, the second time with registers of the first result; where it stands."""

    loop: ast.For
    outer: list[ast.stmt]
    first: ast.For
    second: ast.For
    zeros: ast.Assign

    @property
    def scores(self) -> str:
        return ast.unparse(self.zeros.targets[0])


def the_turn(source: Source) -> SoftmaxTurn:
    """The loop of attention, whatever its bound; schedules in it are taken away."""
    for block in source.blocks():
        for node in block:
            if not (isinstance(node, ast.For) and is_ag(node.iter, "range") and isinstance(node.target, ast.Name)):
                continue
            body = unwrapped(node.body)
            products = [s for s in body if isinstance(s, ast.For) and any(is_ag(n, "mfma") for n in ast.walk(s))]
            zeros = [s for s in body if isinstance(s, ast.Assign) and is_ag(s.value, "zeros")]
            taken = any(isinstance(n, ast.Attribute) and n.attr == "regs" for p in products[1:] for n in ast.walk(p))
            if len(products) == 2 and len(zeros) == 1 and taken:
                node.body = body
                return SoftmaxTurn(node, block, products[0], products[1], zeros[0])
    raise NotApplicableError("no loop has two products, the second from the registers of the first")


def unwrapped(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements without their schedules."""
    found: list[ast.stmt] = []
    for node in body:
        scheduled = isinstance(node, ast.With) and is_ag(node.items[0].context_expr, "schedule")
        found.extend(node.body if scheduled and isinstance(node, ast.With) else [node])
    return found


def start_of(source: Source, turn: SoftmaxTurn) -> dict[str, ast.expr]:
    """Where the scores of a turn stand: axis -> first coordinate, from `at=dict(…)`."""
    call = turn.zeros.value
    given = keyword(call, "at") if isinstance(call, ast.Call) else None
    if not isinstance(given, ast.Call):
        raise NotApplicableError("the scores do not say where they stand")
    return {str(k.arg): k.value for k in given.keywords}


def score_axes(source: Source, turn: SoftmaxTurn) -> tuple[str, str]:
    """The axes of the scores: keys, queries."""
    call = turn.zeros.value
    owner = owner_definition(source, call.args[0]) if isinstance(call, ast.Call) else None
    if owner is None:
        raise NotApplicableError("the scores have no owner")
    return axis_name(owner, "row"), axis_name(owner, "col")


def the_mask(body: list[ast.stmt], scores: str) -> tuple[ast.Assign, ast.Call] | None:
    """`s = ag.where(a <= b, …, -inf)`, if it stands here unconditionally."""
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == scores and is_ag(node.value, "where"):
            call = node.value
            if isinstance(call, ast.Call) and len(call.args) == 3 and isinstance(call.args[0], ast.Compare):
                return node, call
    return None


def diagonal_mask(source: Source, params: Mapping[str, object]) -> None:
    """Mask only where a key of the turn is hidden from a row of the wave."""
    turn = the_turn(source)
    found = the_mask(turn.loop.body, turn.scores)
    if found is None:
        raise NotApplicableError("no mask stands in every turn")
    node, call = found
    keys, queries = score_axes(source, turn)
    test, at, name = call.args[0], start_of(source, turn), variable(turn.loop)
    compared = isinstance(test, ast.Compare) and ast.unparse(test.left) == f"{turn.scores}.{keys}"
    if not isinstance(test, ast.Compare) or not compared or keys not in at or queries not in at:
        raise NotApplicableError("the mask does not compare keys with rows")
    if ast.unparse(test.comparators[0]) != f"{turn.scores}.{queries}" or not isinstance(test.ops[0], ast.LtE | ast.Lt):
        raise NotApplicableError("the mask is not one along the diagonal")
    following = shifted(ast.Expr(at[keys]), name, expression(f"({name} + 1)"))
    end = ast.unparse(following)
    seen = ast.unparse(at[queries]) + (" + 1" if isinstance(test.ops[0], ast.LtE) else "")
    branch = statement(f"if {end} > {seen}:\n    pass")
    place = turn.loop.body.index(node)
    masked = ast.Assign([ast.Name(turn.scores, ast.Store())], ast.Call(call.func, list(call.args), []))
    if isinstance(masked.value, ast.Call):
        masked.value.args[1] = ast.Name(turn.scores, ast.Load())
    if isinstance(branch, ast.If):
        branch.body = [masked]
    before: list[ast.stmt] = []
    if ast.unparse(call.args[1]) != turn.scores:
        before = [ast.Assign([ast.Name(turn.scores, ast.Store())], call.args[1])]
    turn.loop.body[place : place + 1] = [*before, branch]


def fused_scale(source: Source, params: Mapping[str, object]) -> None:
    """`exp2(s * c - max)` as `exp2(fma(s, c, -(max * c)))`."""
    turn = the_turn(source)
    factor = _unscaled(turn)
    definition = next(
        (n for n in turn.outer if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == factor), None
    )
    tensors = source.tensors()
    scalars = [a.arg for a in source.function.args.args if a.arg not in tensors]
    used = [s for s in scalars if definition is not None and s in names(definition.value)]
    if not used:
        raise NotApplicableError("the scores are not scaled by an argument")
    changed = 0
    for node in turn.loop.body:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and is_ag(call, "exp2") and isinstance(call.args[0], ast.BinOp):
                inner = call.args[0]
                if not isinstance(inner.op, ast.Sub):
                    continue
                value, top = ast.unparse(inner.left), ast.unparse(inner.right)
                fused = f"ag.fma({value}, {factor}, -({top} * {factor}))"
                call.args[0] = expression(fused if value == turn.scores else f"({value} - {top}) * {factor}")
                changed += 1
    if not changed:
        raise NotApplicableError("no exponential of a difference follows")
    for node in turn.outer:
        begun = node.value if isinstance(node, ast.Assign) else None
        if isinstance(begun, ast.Call) and is_ag(begun, "full") and ast.unparse(begun.args[2]) == "-inf":
            begun.args[2] = expression(LOWEST)
    given = keyword(source.decorator, "requires")
    old = str(given.value) if isinstance(given, ast.Constant) else ""
    for name in used:
        if f"{name} > 0" not in old:
            old = f"{old} and {name} > 0" if old else f"{name} > 0"
    set_keyword(source.decorator, "requires", ast.Constant(old))


def _unscaled(turn: SoftmaxTurn) -> str:
    """Take the factor off the scores; its name."""
    for node in turn.loop.body:
        if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != turn.scores:
            continue
        masked = node.value if is_ag(node.value, "where") and isinstance(node.value, ast.Call) else None
        value = node.value if masked is None else masked.args[1]
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            left, right = ast.unparse(value.left), ast.unparse(value.right)
            if turn.scores in (left, right) and isinstance(
                value.right if left == turn.scores else value.left, ast.Name
            ):
                if masked is None:
                    turn.loop.body.remove(node)
                else:
                    masked.args[1] = ast.Name(turn.scores, ast.Load())
                return right if left == turn.scores else left
    raise NotApplicableError("the scores are not multiplied by one factor")


def finite_weights(source: Source, params: Mapping[str, object]) -> None:
    """Round the weights as finite numbers."""
    turn = the_turn(source)
    powers = {ast.unparse(n.targets[0]) for n in turn.loop.body if isinstance(n, ast.Assign) and is_ag(n.value, "exp2")}
    for node in turn.loop.body:
        call = node.value if isinstance(node, ast.Assign) else None
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "to"
            and ast.unparse(call.func.value) in powers
            and keyword(call, "finite") is None
        ):
            set_keyword(call, "finite", ast.Constant(True))
            return
    raise NotApplicableError("no powers of two are rounded")
