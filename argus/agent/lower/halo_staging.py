"""The halo through LDS: a workgroup copies all pixels that its taps meet once, the channels of a pixel together.

    x = X[n, BLOCK_C * kt + 16 * ks, ROWS * bp + i // ACROSS + r - 1, COLS * bq + 32 * (i % ACROSS) + s - 1].load(…)

reads, over all counters, HEIGHT rows and PIECES times 8 columns of BLOCK_C channels: what has counters is the place
inside that box, the rest its corner. So the load becomes

    around = X[n, BLOCK_C * kt, ROWS * bp - 1, COLS * bq - 8].load(FILL, width=16, guard="shape")
    ag.barrier()                                                    the previous halo has been read
    halo.store(around.order("i", "j", "e").held_as(HELD), width=16)
    ag.barrier()                                                    this one is there
    …
    x = halo.load(FRAGMENT, x=(i // ACROSS + r) * PITCH + 32 * (i % ACROSS) + s + 7, c=16 * ks, width=16)

X has its columns together, a fragment its channels: a thread loads 8 channels of 8 columns and exchanges the digits of
its registers. Accesses begin at multiples of 16 bytes, so that the image's edge cuts none.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from argus.agent.lower.fragments import BYTES, operand_extents
from argus.agent.lower.matrix import axis_name, owner_definition
from argus.agent.lower.register_blocking import divisible
from argus.agent.lower.source import Instead, NotApplicableError, Source, keyword, names, set_keyword, terms, total
from argus.agent.lower.tap_products import TapProduct, tap_product
from argus.agent.lower.text import expression, statement, statements

ROW_BYTES = 128  # of LDS: all banks once


@dataclass(frozen=True, slots=True)
class Reach:
    """What an index runs over inside a workgroup: its corner, the places from there, and the first and last of them."""

    corner: ast.expr
    inside: ast.expr
    first: int
    last: int


def halo_staging(source: Source, params: Mapping[str, object]) -> None:
    """Pixels through LDS; with `swizzle`, neighboring pixels start in other banks."""
    found = tap_product(source)
    tensor = source.tensors().get(found.pixels.place)
    definition = owner_definition(source, found.pixels.owner)
    if tensor is None or keyword(definition, "wide") is None or len(found.pixels.index) != len(tensor.axes):
        raise NotApplicableError("needs fragments of pixels with 16 bytes of channels, straight from a tensor")
    width = 16 // BYTES[tensor.element]
    axes = [axis.split("=")[0].lower() for axis in tensor.axes]
    channel, column = (axes.index(axis_name(definition, name).lower()) for name in ("k", "row"))
    lines = [n for n, index in enumerate(found.pixels.index) if names(index) & set(found.taps) and n != column]
    if column != len(axes) - 1 or len(lines) != 1:
        raise NotApplicableError("the window is not one of rows and columns of an image")
    (line,) = lines
    wide, deep = operand_extents(source, definition)
    reach = {n: _reach(source, found, found.pixels.index[n]) for n in (channel, line, column)}
    if reach[channel].first or reach[channel].last + deep != source.value(found.step):
        raise NotApplicableError("a turn does not read all of its channels")
    left = reach[column].first // width * width
    pieces = (reach[column].last + wide - left + width - 1) // width
    buffer, around = source.fresh("halo"), source.fresh("around")
    _define(source, found, tensor.element, axes, (channel, line, column), reach[line], pieces, bool(params["swizzle"]))
    _read(source, found, definition, buffer, reach, (channel, line, column), left)
    corner = [ast.unparse(reach[n].corner if n in reach else index) for n, index in enumerate(found.pixels.index)]
    corner[line] = _shifted(reach[line].corner, reach[line].first)
    corner[column] = _shifted(reach[column].corner, left)
    place = f"{found.pixels.place}[{', '.join(corner)}]"
    found.loop.body[:0] = statements(
        f"{around} = {place}.load(FILL, width=16, guard='shape')\n"
        "ag.barrier()\n"
        f"{buffer}.store({around}.order('i', 'j', 'e').held_as(HELD), width=16)\n"
        "ag.barrier()"
    )
    found.outer.insert(found.outer.index(found.loop), statement(f"{buffer} = ag.shared(HALO, {tensor.element})"))
    source.body.extend(statements(f"ag.check.race_free({buffer})"))
    divisible(source, {tensor.axes[-1]: str(width)})


def _reach(source: Source, found: TapProduct, index: ast.expr) -> Reach:
    """The part of an index that counters move, and its first and last value."""
    counts = found.counts(source)
    less = 0
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Sub):
        less, index = source.value(index.right) or 0, index.left
    inside = [t for t in terms(index) if names(t) & set(counts)]
    constant = [t for t in terms(index) if isinstance(t, ast.Constant)]
    corner = total([t for t in terms(index) if t not in inside and t not in constant])
    offset = sum(int(str(t.value)) for t in constant if isinstance(t, ast.Constant)) - less
    moved = total(inside)
    used = sorted(names(moved) & set(counts))
    places = []
    for values in product(*(range(counts[name]) for name in used)):
        by: dict[str, ast.expr] = {name: ast.Constant(v) for name, v in zip(used, values, strict=True)}
        place = source.value(Instead(by).visit(copy.deepcopy(moved)))
        if place is None:
            raise NotApplicableError(f"{ast.unparse(moved)} is not a number for each turn")
        places.append(place + offset)
    return Reach(corner, expression(_shifted(moved, offset)), min(places), max(places))


def _shifted(node: ast.expr, by: int) -> str:
    """An expression with a number added."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and isinstance(node.right, ast.Constant):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return _shifted(node.left, by + sign * int(str(node.right.value)))
    text = ast.unparse(node)
    return text if by == 0 else f"{text} {'+' if by > 0 else '-'} {abs(by)}"


def _define(
    source: Source,
    found: TapProduct,
    element: str,
    axes: list[str],
    places: tuple[int, int, int],
    rows: Reach,
    pieces: int,
    swizzled: bool,
) -> None:
    """Layout of the halo, who brings it, and how the registers are held when they are stored."""
    size = BYTES[element]
    width = 16 // size
    channel, line, column = (axes[n] for n in places)
    depth, threads = ast.unparse(found.step), keyword(source.decorator, "threads")
    chunks = (source.value(found.step) or 0) // width
    if source.constant("THREADS") is None:
        source.define_first(f"THREADS = {ast.unparse(threads or ast.Constant(64))}")
        set_keyword(source.decorator, "threads", expression("THREADS"))
    first = (ROW_BYTES // (chunks * 16)).bit_length() - 1  # pixels in a row of LDS: their bits spread nothing
    bits = chunks.bit_length() - 1
    mixed = f".xor(chunk='x[{first}:{first + bits}]')" if swizzled and bits else ""
    own = f"t%{{CHUNKS}}*{width} + e"
    slot = "(i*{THREADS // CHUNKS} + t//{CHUNKS})"
    source.define(
        "# All pixels that the taps of a block meet: HEIGHT rows of PIECES accesses, CHUNKS threads for each.\n"
        f"HEIGHT = {rows.last - rows.first + 1}\n"
        f"PIECES = {pieces}\n"
        f"PITCH = {width} * PIECES\n"
        f"CHUNKS = {depth} // {width}\n"
        "PASSES = (HEIGHT * PIECES * CHUNKS + THREADS - 1) // THREADS\n"
        f"HALO = ag.Layout(x=(PASSES * THREADS // CHUNKS * {width}, {size} * {depth}), chunk=(CHUNKS, 16), "
        f"e=({width}, {size}), {channel}=('chunk', 'e')){mixed}\n"
        f"FILL = ag.Owner(i=PASSES, t=THREADS, e={width}, j={width}, {channel}=f'{own}', "
        f"{line}=f'{slot}//{{PIECES}}', {column}=f'{slot}%{{PIECES}}*{width} + j')\n"
        f"HELD = ag.Owner(i=PASSES, j={width}, t=THREADS, e={width}, {channel}=f'{own}', x=f'{slot}*{width} + j')"
    )


def _read(
    source: Source,
    found: TapProduct,
    definition: ast.Call,
    buffer: str,
    reach: Mapping[int, Reach],
    places: tuple[int, int, int],
    left: int,
) -> None:
    """Fragments come from the buffer."""
    channel, line, column = (reach[n] for n in places)
    owner, old = source.fresh("FRAGMENT"), found.pixels.owner
    new = copy.deepcopy(definition)
    set_keyword(new, "row", ast.Constant("x"))
    source.define(f"{owner} = {ast.unparse(new)}")
    down = expression(_shifted(line.inside, -line.first))
    rows = ast.BinOp(down, ast.Mult(), ast.Name("PITCH", ast.Load()))
    x = _shifted(expression(f"{ast.unparse(rows)} + {ast.unparse(column.inside)}"), -left)
    call = found.pixels.call
    call.func = ast.Attribute(ast.Name(buffer, ast.Load()), "load", ast.Load())
    call.args, call.keywords = [ast.Name(owner, ast.Load())], []
    set_keyword(call, "x", expression(x))
    set_keyword(call, axis_name(definition, "k"), channel.inside)
    set_keyword(call, "width", ast.Constant(16))
    given = source.constant(old.id) if isinstance(old, ast.Name) else None
    if given is not None and isinstance(old, ast.Name) and old.id not in names(source.function):
        source.tree.body.remove(given)
