"""The contraction split over waves of a workgroup: each part sums its own k, and the parts meet in LDS.

    wm, wn = ag.wave()                              wk, wm, wn = ag.wave()
    for kt in ag.range(K // BLOCK_K):        ->     for kt in ag.range(K // (PARTS * BLOCK_K)):
        a = A[…, BLOCK_K * kt].load(…)                  a = A[…, PARTS * BLOCK_K * kt + BLOCK_K * wk].load(…)
        …                                               …
                                                    for i, j in ag.unroll(TILES_M, TILES_N):
                                                        sums.store(acc[i, j], part=wk, wm…, wn…)
                                                        ag.barrier()
                                                        acc[i, j] = the sum of sums.load(…) over parts
                                                        ag.barrier()
    C[…].store(acc.to(bf16))                        C[…].store(acc.to(bf16), guard=wk == 0)

A product with few blocks and a long k leaves compute units and their SIMDs idle: with PARTS times as many waves per
block, PARTS times as many loads are in flight. Stages that follow (`staging`) see k as wider by PARTS.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import instruction
from argus.agent.lower.matrix import Contraction, axis_name, owner_definition, the_contraction
from argus.agent.lower.register_blocking import Replace, divisible
from argus.agent.lower.source import NotApplicableError, Source, is_ag, keyword, names, set_keyword
from argus.agent.lower.text import expression, statement, statements


def split_k(source: Source, params: Mapping[str, object]) -> None:
    """`parts` groups of waves, each with its share of k."""
    found = the_contraction(source)
    waves = source.waves()
    if len(waves) != 2 or source.constant("THREADS") is None:
        raise NotApplicableError("the kernel is not blocked; `register_blocking` comes first")
    if any(is_ag(n, "shared") or is_ag(n, "ring") for n in ast.walk(source.function)):
        raise NotApplicableError("operands go through LDS already; k is split before that")
    size, step = _steps(found)
    start = _start(source, found)
    group = source.fresh("wk")
    _number_waves(source, group)
    for load in (o.load for o in found.operands):
        where = expression(f"PARTS * {step} * {found.variable} + {step} * {group}")
        Replace(found.variable, expression(step), where).visit(load.statement)
        if found.variable not in names(load.statement) or group not in names(load.statement):
            raise NotApplicableError(f"{load.place} is not walked in steps of {step}")
    found.loop.iter = expression(f"ag.range({size} // (PARTS * {step}))")
    source.define_first(f"PARTS = {int(str(params['parts']))}")
    divisible(source, {size: f"(PARTS * {step})"})
    _meet(source, found, size, group, start, waves)
    tensors = source.tensors()
    for store in source.accesses("store"):
        if store.place in tensors:
            if store.keyword("guard") is not None:
                raise NotApplicableError("a store of the result has a guard of its own")
            set_keyword(store.call, "guard", expression(f"{group} == 0"))


def _steps(found: Contraction) -> tuple[str, str]:
    call = found.loop.iter
    extent = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    if (
        isinstance(extent, ast.BinOp)
        and isinstance(extent.op, ast.FloorDiv)
        and isinstance(extent.left, ast.Name)
        and isinstance(extent.right, ast.Name)
    ):
        return extent.left.id, extent.right.id
    raise NotApplicableError("the contraction does not run over a size in blocks")


def _start(source: Source, found: Contraction) -> ast.Call:
    """`ag.zeros(owner, f32, tiles=dict(m=…, n=…))` of the accumulator."""
    for node in source.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == found.accumulator
            and is_ag(node.value, "zeros")
            and isinstance(node.value, ast.Call)
            and isinstance(keyword(node.value, "tiles"), ast.Call)
        ):
            return node.value
    raise NotApplicableError(f"{found.accumulator} does not start from ag.zeros with tiles")


def _number_waves(source: Source, group: str) -> None:
    """One more wave number in front: the part."""
    for node in source.body:
        if isinstance(node, ast.Assign) and is_ag(node.value, "wave") and isinstance(node.targets[0], ast.Tuple):
            node.targets[0].elts.insert(0, ast.Name(group, ast.Store()))
    given, threads = keyword(source.decorator, "waves"), source.constant("THREADS")
    if not isinstance(given, ast.Tuple) or threads is None:
        raise NotApplicableError("the waves of the kernel are not numbered by `waves=`")
    given.elts.insert(0, ast.Name("PARTS", ast.Load()))
    threads.value = ast.BinOp(threads.value, ast.Mult(), ast.Name("PARTS", ast.Load()))


def _meet(
    source: Source,
    found: Contraction,
    size: str,
    group: str,
    start: ast.Call,
    waves: list[tuple[str, ast.expr]],
) -> None:
    """After the loop, tile by tile: every part writes its sum to LDS, every wave reads all parts of its own tile."""
    owner = owner_definition(source, start.args[0])
    row, column = axis_name(owner, "row"), axis_name(owner, "col")
    tiles = keyword(start, "tiles")
    counts = {a: keyword(tiles, a) for a in (row, column)} if isinstance(tiles, ast.Call) else {}
    if None in counts.values() or not counts:
        raise NotApplicableError("the accumulator is not tiled along both axes")
    order = [k.arg for k in tiles.keywords] if isinstance(tiles, ast.Call) else []
    (first, first_count), (second, second_count) = waves
    rows, columns = _extents(source, owner)
    at = f"{first} * {ast.unparse(second_count)} + {second}"
    number = f"{ast.unparse(first_count)} * {ast.unparse(second_count)}"
    line, block = 4 * columns, 4 * rows * columns
    source.define(
        f"SUMS = ag.Layout(part=(PARTS, {block} * {number}), wave=({number}, {block}), "
        f"{row}=({rows}, {line}), {column}=({columns}, 4))"
    )
    index = source.fresh("i"), source.fresh("j")
    extents = ", ".join(ast.unparse(counts[str(a)] or ast.Constant(1)) for a in order)
    sums, whole, part = (source.fresh(name) for name in ("sums", "whole", "part"))
    place = f"{found.accumulator}[{', '.join(index)}]"
    owned = ast.unparse(start.args[0])
    made = statements(
        f"for {', '.join(index)} in ag.unroll({extents}):\n"
        f"    {sums}.store({place}.held_as({owned}), part={group}, wave={at}, width=4)\n"
        f"    ag.barrier()\n"
        f"    {whole} = {sums}.load({owned}, part=0, wave={at}, width=4)\n"
        f"    for {part} in ag.unroll(PARTS - 1):\n"
        f"        {whole} = {whole} + {sums}.load({owned}, part={part} + 1, wave={at}, width=4)\n"
        f"    {place} = {whole}\n"
        f"    ag.barrier()"
    )
    outer = found.outer
    outer[outer.index(found.loop) + 1 : outer.index(found.loop) + 1] = made
    outer.insert(outer.index(found.loop), statement(f"{sums} = ag.shared(SUMS, f32)"))
    source.body.extend(
        statements(f"ag.check.race_free({sums})\nag.check.reduced({found.accumulator}, {size}=(0, {size}))")
    )


def _extents(source: Source, owner: ast.Call) -> tuple[int, int]:
    rows, columns, _ = instruction(source, owner)[2]
    return rows, columns
