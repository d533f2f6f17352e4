"""All waves of a workgroup on one row; what a wave reduces meets the others' parts in LDS.

    best = top.max("n")          ->      part = top.max("n", within="wave")
                                         parts.store(part, w=ag.wave(), width=4, guard=ag.lane() == 0)
                                         ag.barrier()
                                         best = parts.load(EACH, width=4).max("w")

Every reduction has a buffer of its own, a number per wave, so one barrier is enough. A lane holds a fraction of the
elements it held before: longer rows fit in registers, and more loads of one row are in flight.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from argus.agent.lower.row_walks import row_owner
from argus.agent.lower.source import NotApplicableError, Source, is_ag, keyword, set_keyword
from argus.agent.lower.text import expression, statement, statements

REDUCTIONS = ("max", "min", "sum")


def waves_per_row(source: Source, params: Mapping[str, object]) -> None:
    """`waves` of them share a row; they meet in LDS at every reduction."""
    _, _, thread, axis = row_owner(source)
    chunk, threads = source.constant("CHUNK"), keyword(source.decorator, "threads")
    if thread != "lane" or threads is None or source.value(threads) != 64 or chunk is None:
        raise NotApplicableError("needs chunks of a row on one wave")
    found = _reductions(source, axis)
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and is_ag(node.value, "Owner") and isinstance(node.value, ast.Call):
            _by_thread(node.value)
    chunk.value = expression("THREADS * PER_LANE")
    source.define_first(f"WAVES = {int(str(params['waves']))}\nTHREADS = 64 * WAVES")
    source.define("PARTS = ag.Layout(w=(WAVES, 4))\nEACH = ag.Owner(t=THREADS, i=WAVES, w='i')")
    set_keyword(source.decorator, "threads", expression("THREADS"))
    tensors = source.tensors()
    for store in source.accesses("store"):
        guard = store.keyword("guard")
        if store.place in tensors and guard is not None and ast.unparse(guard) == "ag.lane() == 0":
            set_keyword(store.call, "guard", expression("ag.thread() == 0"))
    for block in _straight(source.body):
        buffers = [_meet(source, block, node, call) for where, node, call in found if where is block]
        if buffers:
            block.extend(statements(f"ag.check.race_free({', '.join(buffers)})"))


def _straight(block: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """A block and the branches in it: what all waves of a workgroup walk at most once."""
    yield block
    for node in block:
        if isinstance(node, ast.If):
            yield from _straight(node.body)
            yield from _straight(node.orelse)


def _reductions(source: Source, axis: str) -> list[tuple[list[ast.stmt], ast.stmt, ast.Call]]:
    """Reductions along the row with the statements and the blocks they stand in, in order."""
    found: list[tuple[list[ast.stmt], ast.stmt, ast.Call]] = []
    for block, node in [(b, n) for b in _straight(source.body) for n in b if not isinstance(n, ast.If)]:
        for call in ast.walk(node):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr in REDUCTIONS
                and not is_ag(call, call.func.attr)
                and [a.value for a in call.args if isinstance(a, ast.Constant)] == [axis]
            ):
                if not isinstance(node, ast.Assign) or keyword(call, "within") is not None:
                    raise NotApplicableError("a reduction along the row stands inside a loop or crosses waves already")
                found.append((block, node, call))
    return found


def _by_thread(owner: ast.Call) -> None:
    """`lane` becomes `t`, the thread of the workgroup."""
    for given in owner.keywords:
        if given.arg == "lane":
            given.arg, given.value = "t", expression("THREADS")
        else:
            for inner in ast.walk(given.value):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    inner.value = inner.value.replace("lane", "t")


def _meet(source: Source, block: list[ast.stmt], node: ast.stmt, call: ast.Call) -> str:
    """Put the exchange before a reduction's statement; the name of its buffer."""
    if not isinstance(call.func, ast.Attribute):
        raise NotApplicableError("the reduction is not a method of a tile")
    how = call.func.attr
    part, buffer = source.fresh("part"), source.fresh("parts")
    set_keyword(call, "within", ast.Constant("wave"))
    before = statements(
        f"{buffer} = ag.shared(PARTS, f32)\n"
        f"{part} = {ast.unparse(call)}\n"
        f"{buffer}.store({part}, w=ag.wave(), width=4, guard=ag.lane() == 0)"
    )
    at = block.index(node)
    block[at:at] = [*before, statement("ag.barrier()")]
    call.func = ast.Attribute(expression(f"{buffer}.load(EACH, width=4)"), how)
    call.args, call.keywords = [ast.Constant("w")], []
    return buffer
