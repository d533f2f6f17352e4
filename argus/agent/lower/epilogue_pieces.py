"""What follows the multiplications, one matrix tile at a time.

    shift = bias[WAVE_N * wn].load(ACC.per("n"), tiles=dict(n=TILES_N)).to(f32)
    C[WAVE_M * wm, WAVE_N * wn].store((acc + shift).to(bf16), width=8)
    ->
    for i, j in ag.unroll(TILES_M, TILES_N):
        shift = bias[WAVE_N * wn + 32 * j].load(ACC.per("n")).to(f32)
        C[WAVE_M * wm + 32 * i, WAVE_N * wn + 32 * j].store((acc[i, j].held_as(ACC) + shift).to(bf16), width=8)

The values of an epilogue live for one tile instead of all of them, so a wave whose accumulators fill its registers has
room for a bias, a residual or an activation. Nothing is computed in another order.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import instruction
from argus.agent.lower.matrix import axis_name, is_accumulator_owner, owner_definition, tensor_axis
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    SourceAccess,
    drop_keyword,
    is_ag,
    keyword,
    terms,
    total,
)
from argus.agent.lower.text import expression, is_comment, statement


def epilogue_pieces(source: Source, params: Mapping[str, object]) -> None:
    """The statements after the last multiplication run once per tile of the accumulator."""
    name, tiles = _accumulator(source)
    first, last = _region(source, name)
    counters = {axis: source.fresh("ij"[n]) for n, axis in enumerate(tiles)}
    region = [s for s in source.body[first:last] if not is_comment(s)]
    inside = {id(n) for s in region for n in ast.walk(s)}
    owner = _owner(source, name)
    definition = owner_definition(source, owner)
    rows = instruction(source, definition)[2][0]
    offsets = {axis: expression(f"{rows} * {counter}") for axis, counter in counters.items()}
    for access in (*source.loads(), *source.accesses("store")):
        if id(access.statement) in inside:
            _moved(source, access, definition, offsets)
    for node in region:
        _EpilogueTile(name, list(counters.values()), owner).visit(node)
    loop = statement(
        f"for {', '.join(counters.values())} in ag.unroll({', '.join(ast.unparse(t) for t in tiles.values())}):\n"
        "    pass"
    )
    if isinstance(loop, ast.For):
        loop.body = region
    source.body[first:last] = [loop]


def _accumulator(source: Source) -> tuple[str, dict[str, ast.expr]]:
    """The accumulator's name and how many tiles it has along each axis, in the order of its subscripts."""
    for node in source.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and is_ag(node.value, "zeros"):
            tiles = keyword(node.value, "tiles") if isinstance(node.value, ast.Call) else None
            if isinstance(tiles, ast.Call) and len(tiles.keywords) == 2:
                return node.targets[0].id, {str(k.arg): k.value for k in tiles.keywords}
    raise NotApplicableError("no accumulator is held as tiles")


def _owner(source: Source, name: str) -> ast.expr:
    for node in source.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            value = node.value
            if (
                isinstance(value, ast.Call)
                and value.args
                and is_accumulator_owner(owner_definition(source, value.args[0]))
            ):
                return value.args[0]
    raise NotApplicableError(f"{name} is no accumulator of a matrix instruction")


def _region(source: Source, name: str) -> tuple[int, int]:
    """From after the last statement that multiplies or changes the accumulator to the first assertion."""
    body = source.body
    multiplies = [
        n
        for n, s in enumerate(body)
        if any(is_ag(inner, "mfma") for inner in ast.walk(s))
        or (isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id == name)
    ]
    if not multiplies:
        raise NotApplicableError("nothing is multiplied")
    first = multiplies[-1] + 1
    last = next((n for n in range(first, len(body)) if ast.unparse(body[n]).startswith("ag.check.")), len(body))
    stores = [s for s in source.accesses("store") if s.statement in body[first:last]]
    if not stores:
        raise NotApplicableError("the results are stored tile by tile already")
    return first, last


def _moved(source: Source, access: SourceAccess, definition: ast.Call, offsets: Mapping[str, ast.expr]) -> None:
    tensor = source.tensors().get(access.place)
    if tensor is None:
        raise NotApplicableError(f"{access.place} is no tensor of the kernel")
    axes = [axis_name(definition, "row"), axis_name(definition, "col")]
    owner = access.call.args[0] if access.call.args else None
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "per":
        axes = [str(a.value) for a in owner.args if isinstance(a, ast.Constant)]
    index = list(access.index) + [ast.Constant(0)] * (len(tensor.axes) - len(access.index))
    for axis in axes:
        at = tensor_axis(tensor, tuple(sorted(axes, key=list(offsets).index)), axis)
        index[at] = total([*terms(index[at]), offsets[axis]])
    drop_keyword(access.call, "tiles")
    method = access.call.func
    if isinstance(method, ast.Attribute):
        place = index[0] if len(index) == 1 else ast.Tuple(index, ast.Load())
        method.value = ast.Subscript(ast.Name(access.place, ast.Load()), place, ast.Load())


class _EpilogueTile(ast.NodeTransformer):
    """`acc` becomes `acc[i, j]`, with coordinates that count from the tile's own corner."""

    def __init__(self, name: str, counters: list[str], owner: ast.expr) -> None:
        self._name, self._counters, self._owner = name, counters, ast.unparse(owner)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self._name:
            return expression(f"{self._name}[{', '.join(self._counters)}].held_as({self._owner})")
        return node
