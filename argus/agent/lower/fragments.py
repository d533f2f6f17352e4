"""How lanes hold operands and results of matrix instructions.

`wide_fragments`   A lane holds twice as many consecutive k and feeds two instructions: 8-byte accesses become 16-byte
                   ones. The order of k inside an instruction is permuted, which is right because both operands are
                   permuted alike.
`swap_operands`    D = B·A instead of A·B: a lane then holds neighbouring columns of the result, which one store writes.
`matrix_shape`     Another matrix instruction with the same operand types, such as 16x16x16 instead of 32x32x8.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from argus.agent.lower.matrix import axis_name, is_accumulator_owner, is_operand_owner, owner_definition, tensor_axis
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    SourceAccess,
    is_ag,
    keyword,
    names,
    set_keyword,
)
from argus.agent.lower.text import expression

BYTES = {"bf16": 2, "f16": 2, "fp8": 1, "bf8": 1, "i8": 1, "f32": 4, "i32": 4, "u32": 4, "f64": 8}


def instruction(source: Source, owner: ast.Call) -> tuple[ast.ImportFrom, ast.alias, tuple[int, int, int]]:
    """The import behind `MMA.operand(…)` and the instruction's rows, columns and k."""
    used = names(owner.func)
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "argus.gfx942":
            for alias in node.names:
                shape = re.match(r"mfma_(\d+)x(\d+)x(\d+)_", alias.name)
                if (alias.asname or alias.name) in used and shape:
                    rows, columns, k = (int(n) for n in shape.groups())
                    return node, alias, (rows, columns, k)
    raise NotApplicableError(f"{ast.unparse(owner.func)} is no matrix instruction of this file")


def operand_extents(source: Source, owner: ast.Call) -> tuple[int, int]:
    """Rows and k one fragment covers."""
    rows, _, k = instruction(source, owner)[2]
    wide = keyword(owner, "wide")
    held = rows * k // 64
    return rows, k * (source.value(wide) or held) // held if wide is not None else k


def fragment_loads(source: Source) -> list[SourceAccess]:
    """Loads whose owner is an operand of a matrix instruction."""
    found = []
    for load in source.loads():
        try:
            definition = owner_definition(source, load.owner)
        except NotApplicableError:
            continue
        if is_operand_owner(definition):
            found.append(load)
    return found


def element_bytes(source: Source, place: str) -> int:
    """Bytes of an element of a tensor or LDS buffer."""
    tensor = source.tensors().get(place)
    if tensor is not None:
        return BYTES[tensor.element]
    for node in ast.walk(source.function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == place
            and is_ag(node.value, "shared")
            and isinstance(node.value, ast.Call)
        ):
            return BYTES[ast.unparse(node.value.args[1])]
    raise NotApplicableError(f"{place} is neither a tensor nor an LDS buffer")


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
        raise NotApplicableError("fragments are not held as tiles; `blocking` comes first")
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


def swap_operands(source: Source, params: Mapping[str, object]) -> None:
    """Exchange the operands of every matrix instruction and the axes of every accumulator; stores get wide."""
    calls = [n for n in ast.walk(source.function) if is_ag(n, "mfma") and isinstance(n, ast.Call)]
    owners = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and is_accumulator_owner(n)]
    if len(calls) != 1 or not owners:
        raise NotApplicableError("this technique needs one matrix instruction and its accumulator")
    stores = [s for s in source.accesses("store") if s.place in source.tensors()]
    width = {store.place: 4 * element_bytes(source, store.place) for store in stores}
    if not stores or any(source.value(keyword(s.call, "width") or ast.Constant(0)) == width[s.place] for s in stores):
        raise NotApplicableError("the stores are wide already")
    for call in calls:
        call.args[0], call.args[1] = call.args[1], call.args[0]
    for owner in owners:
        row, column = axis_name(owner, "row"), axis_name(owner, "col")
        set_keyword(owner, "row", ast.Constant(column))
        set_keyword(owner, "col", ast.Constant(row))
    for store in stores:
        set_keyword(store.call, "width", ast.Constant(width[store.place]))
    for load in source.loads():
        if load.place in source.tensors() and _neighbours(source, load.owner):
            set_keyword(load.call, "width", ast.Constant(4 * element_bytes(source, load.place)))


def _neighbours(source: Source, owner: ast.expr) -> bool:
    """Whether a lane holds four neighbours of the result's last axis: the accumulator's owner, or its part per row."""
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "per":
        whole = owner_definition(source, owner.func.value)
        return [str(a.value) for a in owner.args if isinstance(a, ast.Constant)] == [axis_name(whole, "row")]
    try:
        return is_accumulator_owner(owner_definition(source, owner))
    except NotApplicableError:
        return False


def matrix_shape(source: Source, params: Mapping[str, object]) -> None:
    """Another instruction shape: literals of the old rows and k in the file's size constants follow."""
    loads = fragment_loads(source)
    if not loads:
        raise NotApplicableError("there is no matrix instruction")
    _, alias, (rows, columns, k) = instruction(source, owner_definition(source, loads[0].owner))
    new_rows, new_columns, new_k = (int(n) for n in str(params["shape"]).split("x"))
    if (rows, columns, k) == (new_rows, new_columns, new_k):
        raise NotApplicableError("the instruction has this shape already")
    alias.name = alias.name.replace(f"{rows}x{columns}x{k}", f"{new_rows}x{new_columns}x{new_k}")
    blocked = 0
    for node in source.tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.BinOp)
            and isinstance(node.value.op, ast.Mult)
            and isinstance(node.value.left, ast.Constant)
            and isinstance(node.value.right, ast.Name)
            and node.value.right.id.startswith("TILES_")
        ):
            literal, count = int(str(node.value.left.value)), source.constant(node.value.right.id)
            is_row = node.targets[0].id.startswith("WAVE_")
            new = new_rows if is_row else literal * new_k // k
            old_count = 1 if count is None else source.value(count.value) or 1
            if count is not None:
                count.value = ast.Constant(max(1, old_count * literal // new))
            node.value.left = ast.Constant(new)
            blocked += 1
    if not blocked:
        raise NotApplicableError("sizes are literals; `blocking` comes first")


def product(a: ast.expr, b: ast.expr) -> ast.expr:
    """a * b, without factors of one."""
    if isinstance(a, ast.Constant) and a.value == 1:
        return b
    if isinstance(b, ast.Constant) and b.value == 1:
        return a
    return ast.BinOp(a, ast.Mult(), b)


def named(source: Source, value: ast.expr) -> ast.expr:
    """The constant of the file that is defined as this expression, or the expression."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            forms = [value]
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
                forms.append(ast.BinOp(value.right, ast.Mult(), value.left))
            if any(ast.dump(node.value) == ast.dump(form) for form in forms):
                return expression(node.targets[0].id)
    return value
