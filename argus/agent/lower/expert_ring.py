"""Rows of experts in a ring of two LDS slots with one barrier per step; everything is fetched a step ahead.

    ag.barrier()                                          rows of step kb are there
    with ag.schedule(order=…):
        next_wg = W[…, kb + 1]; publish rows of kb + 1; fetch rows of kb + 2
        multiply kb
    wg = next_wg

Weights and scales of the next step and rows of the one after it are fetched at its beginning, into registers of their
own; all of it is one group that the scheduler may mix.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.expert_loop import main_loop
from argus.agent.lower.expert_steps import loop_steps
from argus.agent.lower.pipeline import shifted
from argus.agent.lower.source import Instead, NotApplicableError, Source, is_ag, names, set_keyword
from argus.agent.lower.text import expression, statement, statements

ORDER = "mfma valu*2 buffer_load mfma valu*2 ds_read mfma ds_write"


def expert_ring(source: Source, params: Mapping[str, object]) -> None:
    """A ring of two slots for the rows; weights and scales a step ahead, rows two."""
    loop, outer = main_loop(source)
    inner = next((n for n in loop.body if isinstance(n, ast.For) and is_ag(n.iter, "unroll")), None)
    buffer = next((n for n in outer if isinstance(n, ast.Assign) and is_ag(n.value, "shared")), None)
    if inner is None or buffer is None or not isinstance(inner.iter, ast.Call) or not isinstance(loop.target, ast.Name):
        raise NotApplicableError("rows do not go through LDS in turns of several steps")
    step, fetch, publish, weights, tiles = _turn(inner.body, ast.unparse(buffer.targets[0]))
    size, each = loop_steps(loop)
    last = source.value(inner.iter.args[0]) or 1
    steps = f"{size} // {each // last}"
    turn, name = loop.target.id, ast.unparse(step.targets[0])
    scales = [n for n in loop.body if isinstance(n, ast.Assign)]
    ring = source.fresh("ring")
    given = ", ".join(ast.unparse(a) for a in buffer.value.args) if isinstance(buffer.value, ast.Call) else ""
    outer[outer.index(buffer)] = statement(f"{ring} = ag.ring(2, rows=({given}))")
    for node in (publish, tiles):
        Instead({ast.unparse(buffer.targets[0]): expression(f"{ring}[{name}].rows")}).visit(node)
    zero, one = ast.Constant(0), ast.Constant(1)
    before = [
        shifted(fetch, name, zero),
        shifted(publish, name, zero),
        _guarded(shifted(fetch, name, one), f"1 < {steps}"),
    ]
    before += [shifted(n, name, zero) for n in weights] + [shifted(n, turn, zero) for n in scales]
    at = outer.index(loop)
    outer[at:at] = before
    next_step, next_turn = expression(f"{name} + 1"), expression(f"{turn} + 1")
    ahead = {ast.unparse(n.targets[0]): source.fresh(f"next_{ast.unparse(n.targets[0])}") for n in (*weights, *scales)}
    group: list[ast.stmt] = [
        _renamed(_guarded(shifted(n, name, next_step), f"{name} + 1 < {steps}"), ahead) for n in weights
    ]
    old = [ast.unparse(n.targets[0]) for n in scales]
    group += statements(f"{', '.join(ahead[n] for n in old)} = {', '.join(old)}")
    late = statement(f"if {ast.unparse(inner.target)} == {last - 1}:\n    pass")
    if isinstance(late, ast.If):
        until = f"{turn} + 1 < {size} // {each}"
        late.body = [_renamed(_guarded(shifted(n, turn, next_turn), until), ahead) for n in scales]
    group += [late, shifted(publish, name, next_step)]
    group += [_guarded(shifted(fetch, name, expression(f"{name} + 2")), f"{name} + 2 < {steps}"), tiles]
    mixed = statement(f"with ag.schedule(order={ORDER!r}):\n    pass")
    if isinstance(mixed, ast.With):
        mixed.body = group
    rotated = statement(f"{', '.join(ahead)} = {', '.join(ahead.values())}")
    inner.body = [step, statement("ag.barrier()"), mixed, rotated]
    loop.body = [inner]
    for call in ast.walk(source.function):
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("ag.check."):
            Instead({ast.unparse(buffer.targets[0]): ast.Name(ring, ast.Load())}).visit(call)


def _turn(body: list[ast.stmt], buffer: str) -> tuple[ast.Assign, ast.Assign, ast.stmt, list[ast.Assign], ast.stmt]:
    """The step's number, fetch, publication, loads of weights, multiplications: what a staged step consists of."""
    kept = [n for n in body if not (isinstance(n, ast.Expr) and is_ag(n.value, "barrier"))]
    match kept:
        case [ast.Assign() as step, ast.Assign() as fetch, ast.For() as publish, *rest, ast.For() as tiles]:
            weights = [n for n in rest if isinstance(n, ast.Assign)]
            if len(weights) == len(rest) and buffer in names(publish) and buffer in names(tiles):
                return step, fetch, publish, weights, tiles
    raise NotApplicableError("a step must be fetch, publish, weights, multiply")


def _guarded(node: ast.stmt, condition: str) -> ast.stmt:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "load":
            set_keyword(inner, "guard", expression(condition))
    return node


def _renamed(node: ast.stmt, new: Mapping[str, str]) -> ast.stmt:
    if isinstance(node, ast.Assign):
        node.targets = [ast.Name(new[ast.unparse(node.targets[0])], ast.Store())]
    return node
