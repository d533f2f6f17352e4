"""Values of two matrix instructions in one read of 16 bytes.

    v = sV.load(VALUE, …, width=8)           ->        v = sV.load(VALUE, …, width=16)

The second product takes its weights from the registers of the first result, where a lane of a 32 x 32 tile holds keys
8 g + 4 h + i (h: which half of the wave). Values of two instructions lie together if LDS holds them at place
16 a + 8 h + 4 g + i. A thread loads two columns of as many keys as it writes at once.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from argus.agent.lower.attention_reads import product_read
from argus.agent.lower.fragments import instruction
from argus.agent.lower.matrix import axis_name, owner_definition
from argus.agent.lower.softmax_turn import SoftmaxTurn, the_turn
from argus.agent.lower.source import (
    Instead,
    NotApplicableError,
    Source,
    SourceAccess,
    is_ag,
    keyword,
    names,
    set_keyword,
)
from argus.agent.lower.text import expression


def wide_values(source: Source, params: Mapping[str, object]) -> None:
    """Values of two matrix instructions in one read; LDS keeps keys in the order of the weights' registers."""
    turn = the_turn(source)
    read = product_read(source, turn, turn.second)
    definition = owner_definition(source, read.owner)
    if keyword(definition, "wide") is not None or instruction(source, definition)[2] != (32, 32, 8):
        raise NotApplicableError("the values are not narrow fragments of 32x32x8")
    row, k = axis_name(definition, "row"), axis_name(definition, "k")
    stores = [s for s in source.accesses("store") if s.place == read.place]
    held = {name for s in stores for name in names(s.call) if name != read.place}
    fetches = [load for load in source.loads() if load.name in held and load.place in source.tensors()]
    tiles = keyword(read.call, "tiles")
    if len({f.place for f in fetches}) != 1 or not stores or not isinstance(tiles, ast.Call):
        raise NotApplicableError("the values are not copied through LDS")
    layout = _layout(source, read.place)
    columns, keys = (_extent(source, tiles, axis, each) for axis, each in ((row, 32), (k, 8)))
    threads = source.value(ast.Name("THREADS"))
    if threads is None or columns is None or keys is None or columns % 16 or keys % 16:
        raise NotApplicableError("the extent of the values is not a number of the file")
    each = next((n for n in (8, 4) if columns * keys >= 2 * n * threads), None)
    if each is None:
        raise NotApplicableError("there are more threads than pieces of the values")
    copied = ast.unparse(fetches[0].owner)
    put = source.fresh(copied.replace("COPY", "PUT") if "COPY" in copied else f"PUT_{copied}")
    source.define(_definitions(layout, copied, put, (row, k), (columns, keys), each, threads))
    for fetch in fetches:
        set_keyword(fetch.call, "width", ast.Constant(4))
    for store in stores:
        store.call.args[0] = expression(f"{_base(store.call.args[0])}.order('p', 'c', 'g', 'i').held_as({put})")
        set_keyword(store.call, "width", ast.Constant(2 * each))
    set_keyword(definition, "wide", ast.Constant(8))
    set_keyword(read.call, "width", ast.Constant(16))
    _halved(source, turn, read, tiles, k)


def _layout(source: Source, buffer: str) -> str:
    for node in ast.walk(source.function):
        call = node.value if isinstance(node, ast.Assign) else None
        named = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == buffer
        if named and isinstance(call, ast.Call) and is_ag(call, "shared") and isinstance(call.args[0], ast.Name):
            return call.args[0].id
    raise NotApplicableError(f"{buffer} is no LDS buffer")


def _extent(source: Source, tiles: ast.Call, axis: str, each: int) -> int | None:
    count = source.value(keyword(tiles, axis) or ast.Constant(1))
    return None if count is None else each * count


def _base(value: ast.expr) -> str:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value
    return ast.unparse(value)


def _definitions(
    layout: str, copied: str, put: str, axes: tuple[str, str], extents: tuple[int, int], each: int, threads: int
) -> str:
    (row, k), (columns, keys) = axes, extents
    half = columns // 2
    parts = keys * columns // (2 * each * threads)
    item = f"(p*{threads} + t)//{half}"
    if each == 8:
        key = f"{item}//2*16 + g*8 + {item}%2*4 + i"
    else:
        key = f"{item}//4*16 + {item}%2*8 + {item}//2%2*4 + g*0 + i"
    return (
        f"{layout} = ag.Layout(c=({keys // 8}, {16 * columns}), dh=({columns // 16}, 256), d3=(2, 128), dm=(4, 32), "
        f"d0=(2, 16), e=(8, 2), {row}=('dh', 'd3', 'dm', 'd0'), {k}=('c', 'e')).xor(d0='d3[0:1]')\n"
        f"{copied} = ag.Owner(p={parts}, t=THREADS, g={each // 4}, i=4, c=2, {k}='{key}', {row}='t%{half}*2 + c')\n"
        f"{put} = ag.Owner(p={parts}, c=2, t=THREADS, e={each}, {k}='{item}*{each} + e', {row}='t%{half}*2 + c')\n"
    )


def _halved(source: Source, turn: SoftmaxTurn, read: SourceAccess, tiles: ast.Call, k: str) -> None:
    """Half as many slices of k; a counter of the two instructions of a fragment comes last."""
    product = turn.second
    subscript = next(n for n in ast.walk(product) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == read.name)
    items = list(subscript.slice.elts) if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]
    place = [str(w.arg) for w in tiles.keywords].index(k)
    counter = ast.unparse(items[place])
    count = keyword(tiles, k) or ast.Constant(1)
    if isinstance(count, ast.BinOp) and isinstance(count.left, ast.Constant):
        fewer = expression(f"{int(str(count.left.value)) // 2} * {ast.unparse(count.right)}")
    else:
        fewer = ast.Constant((source.value(count) or 2) // 2)
    set_keyword(tiles, k, fewer)
    part = source.fresh("e")
    subscript.slice = ast.Tuple([*items, ast.Name(part)], ast.Load())
    for call in ast.walk(product):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "regs":
            both = expression(f"(2 * {counter} + {part})")
            Instead({counter: both}).visit(call)
    target = product.target.elts if isinstance(product.target, ast.Tuple) else [product.target]
    if not isinstance(product.iter, ast.Call):
        raise NotApplicableError("the second product is not unrolled")
    product.iter.args[[ast.unparse(t) for t in target].index(counter)] = copy.deepcopy(fewer)
    product.target = ast.Tuple([*target, ast.Name(part)], ast.Store())
    product.iter.args.append(ast.Constant(2))
