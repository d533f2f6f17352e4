"""Operands through LDS: the workgroup copies a tile once, coalesced; every wave reads its fragments from there.

    a = A[BLOCK_M * bm + WAVE_M * wm, BLOCK_K * kt].load(FRAG, …)

reads, over all waves and copies of the statement, the rectangle BLOCK_M x BLOCK_K of A that starts at [BLOCK_M * bm,
BLOCK_K * kt]: the summands with wave numbers and unrolled counters are the place inside the rectangle, the others its
corner. So the load becomes

    ra = A[BLOCK_M * bm, BLOCK_K * kt].load(COPY_A, width=16)       all threads together, 16 bytes each
    ag.barrier()                                                    the previous tile has been read
    sA.store(ra, width=16)
    ag.barrier()                                                    this tile is there
    a = sA.load(FRAG, row=WAVE_M * wm, …)

`barriers` says which of the two are written; whether one is enough is the checker's question. A tensor whose rows run
along the other axis is transposed on the way: a thread loads a block of 8 x 8 (or 4 x 8, 2 x 8, if the workgroup has
that many threads), exchanges the digits of its registers and writes pieces along k, so that fragments are read as from
any other buffer.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from argus.agent.lower.fragments import BYTES, fragment_loads, instruction, named, operand_extents, product
from argus.agent.lower.matrix import axis_name, owner_definition, tensor_axis
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    SourceAccess,
    drop_keyword,
    factor,
    is_ag,
    keyword,
    names,
    set_keyword,
    terms,
    total,
)
from argus.agent.lower.text import expression, statement, statements


@dataclass(frozen=True, slots=True)
class Rectangle:
    """What a load reads over all waves and copies: corner, extents and the place of one copy, by the owner's axes."""

    corner: tuple[ast.expr, ...]
    extents: Mapping[str, ast.expr]
    offsets: Mapping[str, ast.expr]
    contiguous: str
    crossed: bool


def lds_staging(source: Source, params: Mapping[str, object]) -> None:
    """Every fragment that a loop loads from global memory goes through LDS."""
    loop, loads = _in_loop(source)
    barriers = str(params.get("barriers", "both"))
    fetches: list[ast.stmt] = []
    stores: list[ast.stmt] = []
    buffers: list[ast.stmt] = []
    checks: list[str] = []
    first = min(_position(loop, load) for load in loads)
    if source.constant("THREADS") is None:
        given = keyword(source.decorator, "threads")
        source.define_first(f"THREADS = {ast.unparse(given or ast.Constant(64))}")
        set_keyword(source.decorator, "threads", expression("THREADS"))
    for load in loads:
        rectangle = _rectangle(source, loop, load)
        tensor = source.tensors()[load.place]
        buffer = source.fresh(f"s{load.place}")
        held = source.fresh(f"r{load.place.lower()}")
        layout, copy = source.fresh(f"LDS_{load.place}"), source.fresh(f"COPY_{load.place}")
        turned = _turned(source, rectangle, tensor.element)
        source.define(_definitions(rectangle, tensor.element, layout, copy, turned))
        buffers.append(statement(f"{buffer} = ag.shared({layout}, {tensor.element})"))
        corner = ", ".join(ast.unparse(c) for c in rectangle.corner)
        fetches.append(statement(f"{held} = {load.place}[{corner}].load({copy}, width=16)"))
        stored = (
            f"{held}.order('p', 'e', 'i'), width={turned * BYTES[tensor.element]}"
            if rectangle.crossed
            else f"{held}, width=16"
        )
        stores.append(statement(f"{buffer}.store({stored})"))
        if rectangle.crossed:
            definition = owner_definition(source, load.owner)
            rows, _, depth = instruction(source, definition)[2]
            lanes = source.value(keyword(definition, "wide") or ast.Constant(rows * depth // 64)) or 4
            set_keyword(load.call, "width", ast.Constant(min(16, lanes * BYTES[tensor.element])))
        checks.append(buffer)
        load.call.func = ast.Attribute(ast.Name(buffer), "load")
        for axis, offset in rectangle.offsets.items():
            if not (isinstance(offset, ast.Constant) and offset.value == 0):
                set_keyword(load.call, axis, offset)
        width, tiles = keyword(load.call, "width"), keyword(load.call, "tiles")
        for name, value in (("tiles", tiles), ("width", width)):
            if value is not None:
                drop_keyword(load.call, name)
                set_keyword(load.call, name, value)
    before = [statement("ag.barrier()")] if barriers in ("both", "before") else []
    after = [statement("ag.barrier()")] if barriers in ("both", "after") else []
    loop.body[first:first] = [*fetches, *before, *stores, *after]
    outer = next(block for block in source.blocks() if loop in block)
    outer[outer.index(loop) : outer.index(loop)] = buffers
    source.body.extend(statements(f"ag.check.race_free({', '.join(checks)})"))


def _in_loop(source: Source) -> tuple[ast.For, list[SourceAccess]]:
    tensors = source.tensors()
    fragments = [load for load in fragment_loads(source) if load.place in tensors]
    for block in source.blocks():
        for node in block:
            if isinstance(node, ast.For) and is_ag(node.iter, "range") and isinstance(node.target, ast.Name):
                inside = {id(s) for s in ast.walk(node)}
                here = [f for f in fragments if id(f.statement) in inside and node.target.id in names(f.statement)]
                if here:
                    return node, here
    raise NotApplicableError("no loop loads fragments from global memory")


def _position(loop: ast.For, load: SourceAccess) -> int:
    for at, node in enumerate(loop.body):
        if any(inner is load.statement for inner in ast.walk(node)):
            return at
    raise NotApplicableError("the load is not in the loop")


def counters(loop: ast.For) -> dict[str, ast.expr]:
    """Unrolled counters inside a loop and how many values each takes."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(loop):
        if isinstance(node, ast.For) and is_ag(node.iter, "unroll") and isinstance(node.iter, ast.Call):
            target = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            for name, count in zip(target, node.iter.args, strict=False):
                if isinstance(name, ast.Name):
                    found[name.id] = count
    return found


def _rectangle(source: Source, loop: ast.For, load: SourceAccess) -> Rectangle:
    tensor = source.tensors()[load.place]
    definition = owner_definition(source, load.owner)
    row, k = axis_name(definition, "row"), axis_name(definition, "k")
    inner = dict(source.waves()) | counters(loop)
    sizes = dict(zip((row, k), operand_extents(source, definition), strict=True))
    tiles = keyword(load.call, "tiles")
    corner: list[ast.expr] = list(load.index) + [ast.Constant(0)] * (len(tensor.axes) - len(load.index))
    extents: dict[str, ast.expr] = {}
    offsets: dict[str, ast.expr] = {}
    place = {axis: tensor_axis(tensor, (row, k), axis) for axis in (row, k)}
    for axis, at in place.items():
        parts = terms(corner[at])
        inside = [t for t in parts if names(t) & set(inner)]
        corner[at] = total([t for t in parts if not names(t) & set(inner)])
        offsets[axis] = total(inside)
        count = keyword(tiles, axis) if isinstance(tiles, ast.Call) else None
        extent = named(source, product(ast.Constant(sizes[axis]), count or ast.Constant(1)))
        for term in inside:
            for name in sorted(names(term) & set(inner)):
                by = factor(term, name)
                if by is None:
                    raise NotApplicableError(f"{ast.unparse(term)} is not a multiple of {name}")
                extent = _covers(source, extent, by, inner[name])
        extents[axis] = extent
    last = max(place, key=lambda axis: place[axis])
    return Rectangle(tuple(corner), extents, offsets, last, last == row)


def _covers(source: Source, extent: ast.expr, by: ast.expr, count: ast.expr) -> ast.expr:
    """The extent over `count` copies that lie `by` apart: they must touch, whatever the order of the counters."""
    near, far, n = source.value(extent), source.value(by), source.value(count)
    if near is None or far is None or n is None:
        raise NotApplicableError(f"the extent of {ast.unparse(by)} copies is not a number of the file")
    whole = named(source, product(by, count))
    return whole if far >= near else extent


def _turned(source: Source, rectangle: Rectangle, element: str) -> int:
    """How many neighbours along k a thread turns: as many as its share of the rectangle holds, up to 16 bytes."""
    vector = 16 // BYTES[element]
    elements = 1
    for extent in (*rectangle.extents.values(), ast.Name("THREADS")):
        if source.value(extent) is None:
            raise NotApplicableError(f"{ast.unparse(extent)} is not a number of the file")
    for extent in rectangle.extents.values():
        elements *= source.value(extent) or 1
    share = elements // (vector * (source.value(ast.Name("THREADS")) or 64))
    return next((n for n in (vector, vector // 2, vector // 4) if n <= share), 2)


def _definitions(rectangle: Rectangle, element: str, layout: str, copy: str, turned: int) -> str:
    size = BYTES[element]
    vector = 16 // size
    along = rectangle.contiguous
    across = next(axis for axis in rectangle.extents if axis != along)
    rows, line = (ast.unparse(rectangle.extents[a]) for a in (across, along))
    lanes = f"{line} // {vector}"
    if rectangle.crossed:
        return (
            f"{layout} = ag.Layout({along}=({line}, {size} * {rows}), {across}=({rows}, {size}))\n"
            f"{copy} = ag.Owner(p={rows} * {line} // ({turned * vector} * THREADS), t=THREADS, i={turned}, e={vector}, "
            f"{across}=f'p*{{{turned * vector} * THREADS // ({line})}} + t//{{{lanes}}}*{turned} + i', "
            f"{along}=f't%{{{lanes}}}*{vector} + e')\n"
        )
    return (
        f"{layout} = ag.Layout({across}=({rows}, {size} * {line}), {along}=({line}, {size}))\n"
        f"{copy} = ag.Owner(p={rows} * {line} // ({vector} * THREADS), t=THREADS, e={vector}, "
        f"{across}=f'p*{{{vector} * THREADS // ({line})}} + t//{{{lanes}}}', "
        f"{along}=f't%{{{lanes}}}*{vector} + e')\n"
    )
