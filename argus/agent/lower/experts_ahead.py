"""Kernels of experts whose rows are staged: scales of several steps in one load, everything fetched a step ahead.

`wide_scales`: a turn of the loop takes several blocks of k, its scales are loaded together. A row's scales lie side by
side, so a load of 16 bytes takes those of four steps where four loads of 4 bytes touch the same cache lines four times.

    for kb in ag.range(K // 128):                         for turn in ag.range(K // 512):
        sg = sw[…, kb].load(SCALE, width=4).without()         sg = sw[…, 4 * turn].load(SCALE, width=16)
        …                                                     for d in ag.unroll(4):
                                                                  kb = 4 * turn + d
                                                                  … sg.regs(d, 1).without() …

`expert_ring`: rows go into a ring of two LDS slots, one barrier per step; weights and scales of the next step and rows
of the one after it are fetched at its beginning, into registers of their own, and everything stands in one group that
the scheduler may mix.

    ag.barrier()                                          rows of step kb are there
    with ag.schedule(order=…):
        next_wg = W[…, kb + 1]; publish rows of kb + 1; fetch rows of kb + 2
        multiply kb
    wg = next_wg

`chiplet_rows`: blocks of rows are dealt to the chiplets, which walk GROUP of them together, column by column; the last
group may be short.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.blocking import dependent_sizes
from argus.agent.lower.experts import main_loop
from argus.agent.lower.pipeline import shifted
from argus.agent.lower.source import Instead, NotApplicableError, Source, is_ag, keyword, names, set_keyword
from argus.agent.lower.text import expression, statement, statements

XCDS = 8
ORDER = "mfma valu*2 buffer_load mfma valu*2 ds_read mfma ds_write"


def wide_scales(source: Source, params: Mapping[str, object]) -> None:
    """`turns` steps per turn of the loop, with one load of each scale."""
    loop, _ = main_loop(source)
    count = int(str(params["turns"]))
    size, each = _steps(loop)
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


def _steps(loop: ast.For) -> tuple[str, int]:
    """K and 128 from `ag.range(K // 128)`."""
    match loop.iter:
        case ast.Call(args=[ast.BinOp(left=ast.Name(id=size), op=ast.FloorDiv(), right=ast.Constant(value=int(each)))]):
            return size, each
    raise NotApplicableError("the loop does not run over a size divided by a number")


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


def expert_ring(source: Source, params: Mapping[str, object]) -> None:
    """A ring of two slots for the rows; weights and scales a step ahead, rows two."""
    loop, outer = main_loop(source)
    inner = next((n for n in loop.body if isinstance(n, ast.For) and is_ag(n.iter, "unroll")), None)
    buffer = next((n for n in outer if isinstance(n, ast.Assign) and is_ag(n.value, "shared")), None)
    if inner is None or buffer is None or not isinstance(inner.iter, ast.Call) or not isinstance(loop.target, ast.Name):
        raise NotApplicableError("rows do not go through LDS in turns of several steps")
    step, fetch, publish, weights, tiles = _turn(inner.body, ast.unparse(buffer.targets[0]))
    size, each = _steps(loop)
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


def chiplet_rows(source: Source, params: Mapping[str, object]) -> None:
    """The first block number in groups of 8 x `group`: a chiplet walks `group` of them column by column."""
    grid, call = source.grid()
    target = grid.targets[0]
    group = XCDS * int(str(params["group"]))
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or keyword(call, "order") is not None:
        raise NotApplicableError("the grid is not rows and columns in their plain order")
    row, column = (ast.unparse(t) for t in target.elts)
    rows, columns = (ast.unparse(a) for a in call.args)
    across, part = source.fresh("across"), source.fresh("part")
    at = source.body.index(grid)
    rest = source.body[at + 1 :]
    made = statements(
        f"{across}, {column}, {part} = ag.grid(ag.cdiv({rows}, {group}), {columns}, {group})\n"
        f"{row} = {group} * {across} + {part}\n"
        f"if {row} < {rows}:\n    pass"
    )
    if isinstance(made[-1], ast.If):
        made[-1].body = rest
    source.body[at:] = made
