"""Fetch, publication and the first reads of the next turn run ahead of this turn's multiplications.

    for i: read slice 1; multiply slice 0; …; publish i + 1; multiply the last slice; read slice 0 of i + 1

Reads are cut into slices of k (`slices`), so that matrix instructions never wait for the LDS.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from argus.agent.lower.fragments import operand_extents
from argus.agent.lower.matrix import axis_name, owner_definition
from argus.agent.lower.pipeline import (
    BARRIER,
    FETCH,
    MULTIPLY,
    PUBLISH,
    READ,
    PipelineStep,
    emit,
    kind,
    staged_loop,
    turn_remainder,
    undo_prefetch,
    variable,
)
from argus.agent.lower.source import NotApplicableError, Source, drop_keyword, is_ag, keyword, set_keyword
from argus.agent.lower.text import expression, is_comment, statement


def fragment_prefetch(source: Source, params: Mapping[str, object]) -> None:
    """Run fetch, publication and the first reads of the next turn ahead; `slices`: of k in a turn."""
    loop, outer = staged_loop(source)
    undo_prefetch(source, loop, outer)
    if "slices" in params:
        _set_slices(source, loop, int(str(params["slices"])))
    _fragments(source, loop, outer)


def _fragments(source: Source, loop: ast.For, outer: list[ast.stmt]) -> None:
    whole = [s for s in loop.body if not is_comment(s)]
    first, body, last = turn_remainder(source, whole)
    kinds = [kind(source, s) for s in body]
    shape = [k for n, k in enumerate(kinds) if n == 0 or kinds[n - 1] != k]
    if shape != [FETCH, BARRIER, PUBLISH, BARRIER, READ, MULTIPLY]:
        raise NotApplicableError(
            "a turn of the loop must be fetch, barrier, publish, barrier, read, multiply; it is " + ", ".join(shape)
        )
    part = {k: [s for s, found in zip(body, kinds, strict=True) if found == k] for k in shape}
    slices = _slices(source, part[READ], part[MULTIPLY])
    count = len(slices)
    if count < 2:
        raise NotApplicableError("a turn has one slice of k; more of them are needed to read ahead")
    fetch = [PipelineStep(s, 2) for s in part[FETCH]]
    publish = [PipelineStep(s, 1) for s in part[PUBLISH]]
    barrier = [PipelineStep(statement("ag.barrier()"), 1)]
    reads = [r for read, _ in slices[1:] for r in read]
    early = max(1, count - 2)
    share = -(-len(reads) // early)
    steps: list[PipelineStep] = [PipelineStep(s, 0) for s in first]
    for phase in range(early):
        steps += [PipelineStep(r, 0) for r in reads[share * phase : share * (phase + 1)]]
        if phase < count - 2:
            steps += [PipelineStep(m, 0) for m in slices[phase][1]]
    steps += [PipelineStep(statement(f"'# tile {variable(loop)} has been read'"), 0), *barrier]
    steps += [*publish, *fetch, *(PipelineStep(m, 0) for m in slices[count - 2][1])]
    steps += [PipelineStep(statement(f"'# tile {variable(loop)} + 1 is there'"), 0), *barrier]
    steps += [PipelineStep(r, 1) for r in slices[0][0]] + [PipelineStep(m, 0) for m in slices[count - 1][1]]
    emit(source, loop, outer, [*steps, *(PipelineStep(s, 0) for s in last)], peel_last=not last)


def _set_slices(source: Source, loop: ast.For, wanted: int) -> None:
    """As many slices of k per turn, if a constant of the file says how many there are."""
    for read in [s for s in loop.body if kind(source, s) == READ]:
        call = read.value if isinstance(read, ast.Assign) else None
        if isinstance(call, ast.Call) and call.args:
            tiles = keyword(call, "tiles")
            axis = axis_name(owner_definition(source, call.args[0]), "k")
            count = keyword(tiles, axis) if isinstance(tiles, ast.Call) else None
            given = source.constant(count.id) if isinstance(count, ast.Name) else None
            if given is not None:
                given.value = ast.Constant(wanted)


def _slices(
    source: Source, reads: list[ast.stmt], multiplies: list[ast.stmt]
) -> list[tuple[list[ast.stmt], list[ast.stmt]]]:
    """Reads and multiplications of a turn by slice of k, each with its own fragments `a0`, `a1`, …"""
    if len(multiplies) != 1 or not isinstance(multiplies[0], ast.For) or not is_ag(multiplies[0].iter, "unroll"):
        raise NotApplicableError("the multiplications are not one unrolled loop")
    loop = multiplies[0]
    counts: set[str] = set()
    plan: list[tuple[str, ast.Assign, str, str, int]] = []
    for read in reads:
        if not isinstance(read, ast.Assign) or not isinstance(read.targets[0], ast.Name):
            raise NotApplicableError("a fragment is not read into a name")
        call = read.value
        if not isinstance(call, ast.Call) or not call.args:
            raise NotApplicableError("a fragment is not read by one load")
        definition = owner_definition(source, call.args[0])
        axis, tiles = axis_name(definition, "k"), keyword(call, "tiles")
        count = keyword(tiles, axis) if isinstance(tiles, ast.Call) else None
        if count is None:
            raise NotApplicableError("the fragments of a turn are not tiled along k")
        counts.add(ast.unparse(count))
        plan.append((read.targets[0].id, read, axis, ast.unparse(count), operand_extents(source, definition)[1]))
    number = source.value(expression(counts.pop())) if len(counts) == 1 else None
    if number is None:
        raise NotApplicableError("the operands have different numbers of slices along k")
    found = []
    for s in range(number):
        sliced: list[ast.stmt] = []
        renamed: dict[str, str] = {}
        for name, read, axis, count_text, extent in plan:
            new = copy.deepcopy(read)
            renamed[name] = f"{name}{s}"
            new.targets = [ast.Name(f"{name}{s}", ast.Store())]
            call = new.value
            if isinstance(call, ast.Call):
                tiles = keyword(call, "tiles")
                if isinstance(tiles, ast.Call):
                    drop_keyword(tiles, axis)
                if s:
                    set_keyword(call, axis, ast.Constant(extent * s))
            sliced.append(new)
            del count_text
        found.append((sliced, [_slice_of(loop, renamed, plan[0][3])]))
    return found


def _slice_of(loop: ast.For, renamed: Mapping[str, str], count: str) -> ast.stmt:
    """The unrolled loop without its counter of slices, on one slice's fragments."""
    new = copy.deepcopy(loop)
    target = new.target.elts if isinstance(new.target, ast.Tuple) else [new.target]
    if not isinstance(new.iter, ast.Call):
        raise NotApplicableError("the multiplications are not unrolled")
    at = next((n for n, a in enumerate(new.iter.args) if ast.unparse(a) == count), None)
    if at is None:
        raise NotApplicableError(f"no counter of the multiplications runs over {count}")
    dropped = target[at]
    del new.iter.args[at]
    rest = [t for n, t in enumerate(target) if n != at]
    new.target = rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Store())
    counter = dropped.id if isinstance(dropped, ast.Name) else ""
    _Slice(renamed, counter).visit(new)
    return new


class _Slice(ast.NodeTransformer):
    def __init__(self, renamed: Mapping[str, str], counter: str) -> None:
        self._renamed, self._counter = renamed, counter

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self._renamed:
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            kept = [i for i in items if not (isinstance(i, ast.Name) and i.id == self._counter)]
            name = ast.Name(self._renamed[node.value.id], ast.Load())
            index = kept[0] if len(kept) == 1 else ast.Tuple(kept, ast.Load())
            return ast.Subscript(name, index, ast.Load()) if kept else name
        return node
