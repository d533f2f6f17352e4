"""A turn of an expert's loop takes several blocks of k, its scales are loaded together.

    for kb in ag.range(K // 128):                         for turn in ag.range(K // 512):
        sg = sw[…, kb].load(SCALE, width=4).without()         sg = sw[…, 4 * turn].load(SCALE, width=16)
        …                                                     for d in ag.unroll(4):
                                                                  kb = 4 * turn + d
                                                                  … sg.regs(d, 1).without() …

A row's scales lie side by side, so a load of 16 bytes takes those of four steps where four loads of 4 bytes touch the
same cache lines four times.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.expert_loop import main_loop
from argus.agent.lower.expert_steps import loop_steps
from argus.agent.lower.pipeline import shifted
from argus.agent.lower.register_blocking import dependent_sizes
from argus.agent.lower.source import Instead, NotApplicableError, Source, is_ag, keyword, set_keyword
from argus.agent.lower.text import expression, statement


def wide_scales(source: Source, params: Mapping[str, object]) -> None:
    """`turns` steps per turn of the loop, with one load of each scale."""
    loop, _ = main_loop(source)
    count = int(str(params["turns"]))
    size, each = loop_steps(loop)
    if not isinstance(loop.target, ast.Name):
        raise NotApplicableError("the loop has several variables")
    step = loop.target.id
    tiles = next((n for n in loop.body if isinstance(n, ast.For) and any(is_ag(m, "mfma") for m in ast.walk(n))), None)
    scales = {name: node for body in (loop.body, tiles.body if tiles else []) for name, node in _scales(body, step)}
    owners = {ast.unparse(_load(node).args[0]) for node in scales.values()}
    if not scales or tiles is None or len(owners) != 1:
        raise NotApplicableError("no scales are loaded once per step and used by tile")
    turn, place = source.fresh("turn"), source.fresh("d")
    hoisted: list[ast.stmt] = []
    for name, node in scales.items():
        of_tile = node in tiles.body
        (tiles.body if of_tile else loop.body).remove(node)
        hoisted.append(_widened(node, step, expression(f"{count} * {turn}"), count, tiles if of_tile else None))
        used = f"{name}[{ast.unparse(tiles.target)}]" if of_tile else name
        Instead({name: expression(f"{used}.regs({place}, 1).without()")}).visit(tiles)
    inner = statement(f"for {place} in ag.unroll({count}):\n    {step} = {count} * {turn} + {place}")
    if isinstance(inner, ast.For):
        inner.body += loop.body
    loop.target, loop.iter = ast.Name(turn, ast.Store()), expression(f"ag.range({size} // {each * count})")
    loop.body = [*hoisted, inner]
    source.define(f"{owners.pop()} = ag.Owner(lane=64, s={count}, b='s')")
    given = keyword(source.decorator, "requires")
    old = f"{given.value!s} and " if isinstance(given, ast.Constant) else ""
    set_keyword(source.decorator, "requires", ast.Constant(f"{old}{size} % {each * count} == 0"))
    set_keyword(source.decorator, "policy", expression("dict(waves_per_simd=1, agpr='operands')"))
    example = keyword(source.decorator, "example")
    if isinstance(example, ast.Call):
        set_keyword(example, size, ast.Constant(2 * each * count))
        dependent_sizes(source)


def _scales(body: list[ast.stmt], step: str) -> list[tuple[str, ast.Assign]]:
    """`sg = sw[…, kb].load(SCALE, width=4).without()`: one number, whose last index is the step."""
    found = []
    for node in body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Call(
                            func=ast.Attribute(
                                value=ast.Subscript(slice=ast.Tuple(elts=[*_, ast.Name(id=last)])), attr="load"
                            )
                        ),
                        attr="without",
                    )
                ),
            ) if last == step:
                found.append((name, node))
    return found


def _load(node: ast.Assign) -> ast.Call:
    for inner in ast.walk(node.value):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "load":
            return inner
    raise NotApplicableError("a scale is not loaded")


def _widened(node: ast.Assign, step: str, first: ast.expr, count: int, tiles: ast.For | None) -> ast.stmt:
    """The load of several steps' scales; of all tiles as a list."""
    made = shifted(node, step, first)
    if not isinstance(made, ast.Assign):
        raise NotApplicableError("a scale is not assigned")
    call = _load(made)
    set_keyword(call, "width", ast.Constant(4 * count))
    made.value = call
    if tiles is not None and isinstance(tiles.iter, ast.Call):
        listed = expression(f"[x for {ast.unparse(tiles.target)} in range({ast.unparse(tiles.iter.args[0])})]")
        if isinstance(listed, ast.ListComp):
            listed.elt = call
        made.value = listed
    return made
