"""A lane holds twice as many consecutive k and feeds two instructions: 8-byte accesses become 16-byte ones.

    FRAG = MMA.operand("m", "k")                       FRAG = MMA.operand("m", "k", wide=2)
    a = A[…].load(FRAG, width=8)             ->        a = A[…].load(FRAG, width=16)
    acc = ag.mfma(a, b, acc)                           for h in ag.unroll(2): acc = ag.mfma(a[h], b[h], acc)

The order of k inside an instruction is permuted, which is right because both operands are permuted alike.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import element_bytes, fragment_loads, instruction
from argus.agent.lower.matrix import axis_name, owner_definition, tensor_axis
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    SourceAccess,
    is_ag,
    keyword,
    names,
    set_keyword,
)


def along_k(source: Source, load: SourceAccess, definition: ast.Call) -> bool:
    """Whether neighbours along k lie next to each other where a fragment is loaded from."""
    tensor = source.tensors().get(load.place)
    if tensor is None:
        return True
    row, k = axis_name(definition, "row"), axis_name(definition, "k")
    return tensor_axis(tensor, (row, k), k) > tensor_axis(tensor, (row, k), row)


def wide_fragments(source: Source, params: Mapping[str, object]) -> None:
    """Both operands of a multiplication hold twice as many k per lane, where both are loaded."""
    every = fragment_loads(source)
    taken = _paired(source, {load.name for load in every})
    loads = [load for load in every if load.name in taken]
    if not loads or any(keyword(owner_definition(source, load.owner), "wide") is not None for load in loads):
        raise NotApplicableError("there are no narrow fragments")
    loops = [
        n
        for n in ast.walk(source.function)
        if isinstance(n, ast.For) and is_ag(n.iter, "unroll") and _mfma(n) and names(n) & taken
    ]
    if not loops or any(keyword(load.call, "tiles") is None for load in loads):
        raise NotApplicableError("fragments are not held as tiles; `register_blocking` comes first")
    for load in loads:
        definition = owner_definition(source, load.owner)
        rows, _, k = instruction(source, definition)[2]
        held = rows * k // 64
        set_keyword(definition, "wide", ast.Constant(2 * held))
        if along_k(source, load, definition):
            set_keyword(load.call, "width", ast.Constant(2 * held * element_bytes(source, load.place)))
    halved: set[str] = set()
    for load in loads:
        tiles = keyword(load.call, "tiles")
        if isinstance(tiles, ast.Call):
            axis = axis_name(owner_definition(source, load.owner), "k")
            count = keyword(tiles, axis)
            if isinstance(count, ast.Name) and count.id not in halved:
                halved.add(count.id)
                _halve(source, count.id)
            elif isinstance(count, ast.Constant):
                set_keyword(tiles, axis, ast.Constant(max(1, int(str(count.value)) // 2)))
                for counter in _counted(loops, load.name, [str(k.arg) for k in tiles.keywords].index(axis)):
                    _halve_counter(loops, counter, int(str(count.value)))
    half = source.fresh("h")
    for loop in loops:
        _Deeper(taken, half).visit(loop)
        target = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        loop.target = ast.Tuple([target[0], ast.Name(half), *target[1:]], ast.Store())
        if isinstance(loop.iter, ast.Call):
            loop.iter.args.insert(1, ast.Constant(2))


def _paired(source: Source, loaded: set[str]) -> set[str]:
    """Fragments that meet another loaded fragment in a matrix instruction."""
    found: set[str] = set()
    for call in ast.walk(source.function):
        if isinstance(call, ast.Call) and is_ag(call, "mfma") and len(call.args) == 3:
            first, second = (names(argument) & loaded for argument in call.args[:2])
            if first and second:
                found |= first | second
    return found


def _counted(loops: list[ast.For], name: str, place: int) -> set[str]:
    """The counters at one place of a tile's subscripts."""
    found = set()
    for loop in loops:
        for node in ast.walk(loop):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
                items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                if place < len(items) and isinstance(items[place], ast.Name):
                    found.add(ast.unparse(items[place]))
    return found


def _halve_counter(loops: list[ast.For], counter: str, count: int) -> None:
    for loop in loops:
        target = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        for at, name in enumerate(target):
            if isinstance(name, ast.Name) and name.id == counter and isinstance(loop.iter, ast.Call):
                given = loop.iter.args[at]
                if isinstance(given, ast.Constant) and given.value == count:
                    loop.iter.args[at] = ast.Constant(max(1, count // 2))


def _halve(source: Source, name: str) -> None:
    """`TILES_K` counts fragments of twice the k; what was `8 * TILES_K` is `16 * TILES_K`."""
    given = source.constant(name)
    if given is None:
        raise NotApplicableError(f"{name} is not a constant of the file")
    count = source.value(given.value)
    for node in source.tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.BinOp)
            and isinstance(node.value.op, ast.Mult)
            and isinstance(node.value.left, ast.Constant)
            and isinstance(node.value.right, ast.Name)
            and node.value.right.id == name
        ):
            node.value.left = ast.Constant(2 * int(str(node.value.left.value)))
    given.value = ast.Constant(max(1, (count or 2) // 2))


def _mfma(node: ast.AST) -> bool:
    return any(is_ag(inner, "mfma") for inner in ast.walk(node))


class _Deeper(ast.NodeTransformer):
    """`a[i, ks]` of the named tiles becomes `a[i, ks, h]`."""

    def __init__(self, tiles: set[str], half: str) -> None:
        self._tiles, self._half = tiles, half

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        if isinstance(node.value, ast.Name) and node.value.id in self._tiles:
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            node.slice = ast.Tuple([*items, ast.Name(self._half)], ast.Load())
        return node
