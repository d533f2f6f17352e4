"""How the two products of attention read their operands from LDS.

`wide_values`      The second product takes its weights from the registers of the first result, where a lane of a
                   32 x 32 tile holds keys 8 g + 4 h + i (h: which half of the wave). Values of two instructions lie
                   together if LDS holds them at place 16 a + 8 h + 4 g + i: fragments are read with 16 bytes. A
                   thread loads two columns of as many keys as it writes at once.
`single_reads`     Fragments are read one by one into a list instead of as one tile, so that a schedule can put each
                   read near the matrix instructions that use it:

    k = sK.load(KEY, tiles=dict(Sk=2, D=8), width=16)   k = [sK.load(KEY, Sk=32 * (n // 8), …) for n in range(16)]
    for nt, ks, h in ag.unroll(2, 8, 2):             -> for n, h in ag.unroll(16, 2):
        s[nt] = ag.mfma(k[nt, ks, h], q[ks, h], s[nt])      s[n // 8] = ag.mfma(k[n][h], q[n % 8, h], s[n // 8])
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from argus.agent.lower.fragments import instruction, operand_extents
from argus.agent.lower.matrix import axis_name, is_operand_owner, owner_definition
from argus.agent.lower.softmax import SoftmaxTurn, the_turn
from argus.agent.lower.source import (
    Instead,
    NotApplicableError,
    Source,
    SourceAccess,
    drop_keyword,
    is_ag,
    keyword,
    names,
    set_keyword,
)
from argus.agent.lower.text import expression


def wide_values(source: Source, params: Mapping[str, object]) -> None:
    """Values of two matrix instructions in one read; LDS keeps keys in the order of the weights' registers."""
    turn = the_turn(source)
    read = _read(source, turn, turn.second)
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


def _read(source: Source, turn: SoftmaxTurn, product: ast.For) -> SourceAccess:
    """The load of the fragments that a product takes."""
    inside = {id(s) for s in ast.walk(turn.loop)}
    found = [a for a in source.loads() if a.name and a.name in names(product) and id(a.statement) in inside]
    if len(found) != 1 or found[0].place in source.tensors():
        raise NotApplicableError("a product does not take one operand that the loop reads from LDS")
    if not is_operand_owner(owner_definition(source, found[0].owner)):
        raise NotApplicableError("the owner is no operand of a matrix instruction")
    return found[0]


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


def single_reads(source: Source, params: Mapping[str, object]) -> None:
    """Fragments of both products as lists."""
    turn = the_turn(source)
    for product in (turn.first, turn.second):
        _as_list(source, turn, product)


def _as_list(source: Source, turn: SoftmaxTurn, product: ast.For) -> None:
    read = _read(source, turn, product)
    definition = owner_definition(source, read.owner)
    tiles = keyword(read.call, "tiles")
    if not isinstance(tiles, ast.Call) or not isinstance(read.statement, ast.Assign):
        raise NotApplicableError("fragments are not read as tiles")
    rows, depth = operand_extents(source, definition)
    sizes = {axis_name(definition, "row"): rows, axis_name(definition, "k"): depth}
    axes = [str(w.arg) for w in tiles.keywords]
    counts = [source.value(w.value) for w in tiles.keywords]
    if not 1 <= len(axes) <= 2 or any(c is None for c in counts):
        raise NotApplicableError("the number of fragments is not a number of the file")
    many = [c or 1 for c in counts]
    total, inner = many[0] * (many[1] if len(many) > 1 else 1), many[-1]
    number = source.fresh("n")
    outer_place, inner_place = f"({number} // {inner})", f"({number} % {inner})"
    places = [outer_place, inner_place] if len(axes) == 2 else [number]
    call = copy.deepcopy(read.call)
    drop_keyword(call, "tiles")
    width = keyword(call, "width")
    drop_keyword(call, "width")
    for axis, place in zip(axes, places, strict=True):
        if keyword(call, axis) is not None:
            raise NotApplicableError("the fragments have a place of their own")
        set_keyword(call, axis, expression(f"{sizes[axis]} * {place}"))
    if width is not None:
        set_keyword(call, "width", width)
    subscript = next(n for n in ast.walk(product) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == read.name)
    items = list(subscript.slice.elts) if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]
    target = product.target.elts if isinstance(product.target, ast.Tuple) else [product.target]
    if not isinstance(product.iter, ast.Call) or not all(isinstance(i, ast.Name) for i in items):
        raise NotApplicableError("the product is not unrolled")
    counters = [ast.unparse(i) for i in items[: len(axes)]]
    rest = [(t, a) for t, a in zip(target, product.iter.args, strict=True) if ast.unparse(t) not in counters]
    inside = items[len(axes) :]
    fragment: ast.expr = ast.Subscript(ast.Name(read.name), ast.Name(number), ast.Load())
    if inside:
        index = inside[0] if len(inside) == 1 else ast.Tuple(inside, ast.Load())
        fragment = ast.Subscript(fragment, index, ast.Load())
    _Whole(subscript, fragment).visit(product)
    Instead({c: expression(p) for c, p in zip(counters, places, strict=True)}).visit(product)
    product.target = ast.Tuple([ast.Name(number), *(t for t, _ in rest)], ast.Store())
    product.iter.args = [ast.Constant(total), *(a for _, a in rest)]
    read.statement.value = expression(f"[{ast.unparse(call)} for {number} in range({total})]")


class _Whole(ast.NodeTransformer):
    """One node in place of another."""

    def __init__(self, old: ast.AST, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if node is self._old:
            return self._new
        return self.generic_visit(node)
