"""Blocking: a workgroup of several waves, a wave of several matrix tiles, several k-slices per turn of the loop.

    bm, bn = ag.grid(M // 32, N // 32)                bm, bn = ag.grid(M // BLOCK_M, N // BLOCK_N)
                                                      wm, wn = ag.wave()
    a = A[32 * bm, 8 * kt].load(FRAG, width=8)   ->   a = A[BLOCK_M * bm + WAVE_M * wm, BLOCK_K * kt].load(FRAG,
                                                              tiles=dict(row=TILES_M, k=TILES_K), width=8)
    acc = ag.mfma(a, b, acc)                          for ks, i, j in ag.unroll(TILES_K, TILES_M, TILES_N):
                                                          acc[i, j] = ag.mfma(a[i, ks], b[j, ks], acc[i, j])

A turn that takes several slices of k already (`tiles=dict(k=8)`, a sum of its own per turn) keeps them.
`TILES_M`, `WAVES_M`, … become constants of the file, so later sizes are one edit (`block_sizes`), and everything that
is staged or pipelined afterwards is written in them. Every other place that uses a block number moves with it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.matrix import (
    Contraction,
    axis_name,
    is_accumulator_owner,
    owner_definition,
    tensor_axis,
    the_contraction,
)
from argus.agent.lower.source import (
    Blocked,
    Instead,
    NotApplicableError,
    Source,
    SourceAccess,
    factor,
    is_ag,
    keyword,
    names,
    same,
    set_keyword,
    terms,
    total,
)
from argus.agent.lower.text import expression, statement, statements


def register_blocking(source: Source, params: Mapping[str, object]) -> None:
    """Rows `tiles_row x waves_row`, columns likewise, `tiles_k` slices of k per turn."""
    found = the_contraction(source)
    if source.waves():
        raise NotApplicableError("the kernel is already blocked; `block_sizes` changes its sizes")
    blocks = source.sizes()
    axes = _axes(source, found, blocks)
    k_size, k_by = _steps(found)
    held = _held(source, found)
    first, second = axes
    numbers = {
        first: (int(str(params["tiles_row"])), int(str(params["waves_row"]))),
        second: (int(str(params["tiles_col"])), int(str(params["waves_col"]))),
    }
    ordered = [b for b in blocks if b in axes]
    constants = []
    for block in ordered:
        size, by = blocks[block].size, ast.unparse(blocks[block].by)
        tiles, waves = numbers[block]
        constants += [
            f"TILES_{size} = {tiles}",
            f"WAVES_{size} = {waves}",
            f"WAVE_{size} = {by} * TILES_{size}",
            f"BLOCK_{size} = WAVE_{size} * WAVES_{size}",
        ]
    sizes = [blocks[b].size for b in ordered]
    slices, each = (params["tiles_k"], ast.unparse(k_by)) if held == 1 else (held, (source.value(k_by) or 0) // held)
    constants += [
        f"TILES_{k_size} = {slices}",
        f"BLOCK_{k_size} = {each} * TILES_{k_size}",
        "THREADS = 64 * " + " * ".join(f"WAVES_{size}" for size in sizes),
    ]
    _rewrite(source, found, blocks, axes, ordered, k_size, k_by)
    source.define_first(
        "\n".join(["# A workgroup has WAVES waves along an axis, a wave TILES matrix tiles.", *constants])
    )


def _axes(source: Source, found: Contraction, blocks: Mapping[str, Blocked]) -> tuple[str, str]:
    """The block numbers of the first and of the second operand's rows."""
    axes = []
    for operand in found.operands:
        tensor = source.tensors().get(operand.load.place)
        if tensor is None:
            raise NotApplicableError(f"{operand.load.place} is no tensor of the kernel")
        at = tensor_axis(tensor, (operand.row, operand.k), operand.row)
        if at >= len(operand.load.index):
            raise NotApplicableError(f"the rows of {operand.load.place} do not depend on the block")
        block = [b for b in blocks for t in terms(operand.load.index[at]) if factor(t, b) is not None]
        if len(block) != 1:
            raise NotApplicableError(f"the rows of {operand.load.place} are not those of one block number")
        axes.append(block[0])
    if axes[0] == axes[1]:
        raise NotApplicableError("both operands take their rows from the same block number")
    return axes[0], axes[1]


def _steps(found: Contraction) -> tuple[str, ast.expr]:
    """K and 8 from `ag.range(K // 8)`."""
    call = found.loop.iter
    if (
        isinstance(call, ast.Call)
        and len(call.args) == 1
        and isinstance(call.args[0], ast.BinOp)
        and isinstance(call.args[0].op, ast.FloorDiv)
        and isinstance(call.args[0].left, ast.Name)
    ):
        return call.args[0].left.id, call.args[0].right
    raise NotApplicableError("the contraction loop does not run over a size divided by a number")


def _held(source: Source, found: Contraction) -> int:
    """How many slices of k a turn of the loop takes already: 1, or what both operands' `tiles` say."""
    counts = set()
    for operand in found.operands:
        tiles = keyword(operand.load.call, "tiles")
        count = keyword(tiles, operand.k) if isinstance(tiles, ast.Call) and len(tiles.keywords) == 1 else None
        counts.add(1 if tiles is None else None if count is None else source.value(count))
    held = counts.pop()
    if counts or held is None:
        raise NotApplicableError("the operands are not tiled alike along k")
    return held


def _rewrite(
    source: Source,
    found: Contraction,
    blocks: Mapping[str, Blocked],
    axes: tuple[str, str],
    ordered: list[str],
    k_size: str,
    k_by: ast.expr,
) -> None:
    accumulator = _accumulator(source, found)
    definition = owner_definition(source, _call(accumulator).args[0])
    axis_of = {axis_name(definition, "row"): axes[0], axis_name(definition, "col"): axes[1]}
    waves = {b: source.fresh(f"w{b[-1]}") for b in ordered}
    tiles = {axis: f"TILES_{blocks[b].size}" for axis, b in axis_of.items()}
    for load in source.loads():
        if load.statement not in [o.load.statement for o in found.operands]:
            _tile_other(source, load, tiles)
    for operand, block in zip(found.operands, axes, strict=True):
        size = blocks[block].size
        set_keyword(
            operand.load.call, "tiles", expression(f"dict({operand.row}=TILES_{size}, {operand.k}=TILES_{k_size})")
        )
    for block in ordered:
        size, by = blocks[block].size, blocks[block].by
        where = f"BLOCK_{size} * {block} + WAVE_{size} * {waves[block]}"
        Replace(block, by, expression(where)).visit(source.function)
    Replace(found.variable, k_by, expression(f"BLOCK_{k_size} * {found.variable}")).visit(found.loop)
    statement_, call = source.grid()
    names_ = _targets(statement_)
    call.args = [
        expression(f"{blocks[n].size} // BLOCK_{blocks[n].size}") if n in ordered else extent
        for n, extent in zip(names_, call.args, strict=True)
    ]
    found.loop.iter = expression(f"ag.range({k_size} // BLOCK_{k_size})")
    for body in source.blocks():
        if statement_ in body:
            at = body.index(statement_) + 1
            body.insert(at, statement(f"{', '.join(waves[b] for b in ordered)} = ag.wave()"))
            break
    _tile_values(source, tiles)
    _multiply(source, found, blocks, axes, ordered, k_size)
    set_keyword(source.decorator, "threads", expression("THREADS"))
    set_keyword(source.decorator, "waves", expression(f"({', '.join(f'WAVES_{blocks[b].size}' for b in ordered)},)"))
    divisible(source, {blocks[b].size: f"BLOCK_{blocks[b].size}" for b in ordered} | {k_size: f"BLOCK_{k_size}"})


def divisible(source: Source, by: Mapping[str, str]) -> None:
    """`requires` says that a size is a multiple of its block; the example sizes are."""
    given = keyword(source.decorator, "requires")
    old = str(given.value).split(" and ") if isinstance(given, ast.Constant) else []
    kept = [c for c in old if not any(c.strip().startswith(f"{size} % ") for size in by)]
    new = [f"{size} % {block} == 0" for size, block in by.items()]
    set_keyword(source.decorator, "requires", ast.Constant(" and ".join([*new, *kept])))
    example = keyword(source.decorator, "example")
    if isinstance(example, ast.Call):
        for size, block in by.items():
            set_keyword(example, size, expression(f"2 * {block}"))
        dependent_sizes(source)


def dependent_sizes(source: Source) -> None:
    """Example sizes that `requires` ties to others (`KB == K // 128`) follow them."""
    given, example = keyword(source.decorator, "requires"), keyword(source.decorator, "example")
    if not isinstance(given, ast.Constant) or not isinstance(example, ast.Call):
        return
    for clause in str(given.value).split(" and "):
        name, equal, value = clause.partition(" == ")
        if equal and name.strip().isidentifier() and keyword(example, name.strip()) is not None:
            made = expression(value)
            for size in example.keywords:
                if size.arg is not None and size.arg in names(made):
                    made = Instead({size.arg: size.value}).visit(made)
            set_keyword(example, name.strip(), made)


def _accumulator(source: Source, found: Contraction) -> ast.Assign:
    for block in source.blocks():
        for node in block:
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id == found.accumulator
                and (is_ag(node.value, "zeros") or is_ag(node.value, "full"))
            ):
                return node
    raise NotApplicableError(f"{found.accumulator} does not start from ag.zeros")


def _call(node: ast.Assign) -> ast.Call:
    if not isinstance(node.value, ast.Call):
        raise NotApplicableError("the accumulator does not start from a call")
    return node.value


def _targets(node: ast.Assign) -> list[str]:
    target = node.targets[0]
    found = target.elts if isinstance(target, ast.Tuple) else [target]
    return [t.id if isinstance(t, ast.Name) else "" for t in found]


def _tile_other(source: Source, load: SourceAccess, tiles: Mapping[str, str]) -> None:
    """A load beside the operands (a bias, a scale) that follows the accumulator's axes gets as many tiles."""
    owner = load.owner
    kept = [str(a.value) for a in (owner.args if isinstance(owner, ast.Call) else []) if isinstance(a, ast.Constant)]
    is_part = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "per"
    if is_part:
        axes = kept
    else:
        definition = owner_definition(source, owner)
        if not is_accumulator_owner(definition):
            return
        axes = [axis_name(definition, "row"), axis_name(definition, "col")]
    wanted = ", ".join(f"{axis}={tiles[axis]}" for axis in tiles if axis in axes)
    if wanted:
        set_keyword(load.call, "tiles", expression(f"dict({wanted})"))


def _tile_values(source: Source, tiles: Mapping[str, str]) -> None:
    for node in ast.walk(source.function):
        if isinstance(node, ast.Call) and (is_ag(node, "zeros") or is_ag(node, "full")) and node.args:
            owner = _defined(source, node.args[0])
            if owner is not None and is_accumulator_owner(owner) and keyword(node, "tiles") is None:
                order = ", ".join(f"{axis}={count}" for axis, count in tiles.items())
                set_keyword(node, "tiles", expression(f"dict({order})"))


def _defined(source: Source, owner: ast.expr) -> ast.Call | None:
    try:
        return owner_definition(source, owner)
    except NotApplicableError:
        return None


def _multiply(
    source: Source,
    found: Contraction,
    blocks: Mapping[str, Blocked],
    axes: tuple[str, str],
    ordered: list[str],
    k_size: str,
) -> None:
    used = ("i", "j", "ks")
    i, j, ks = (source.fresh(name) for name in used)
    counter = dict(zip(axes, (i, j), strict=True))
    first, second = found.operands
    loops = [ks, *(counter[b] for b in axes)]
    extents = [f"TILES_{k_size}", *(f"TILES_{blocks[b].size}" for b in axes)]
    place = f"{found.accumulator}[{i}, {j}]"
    new = statements(
        f"for {', '.join(loops)} in ag.unroll({', '.join(extents)}):\n"
        f"    {place} = ag.mfma({first.load.name}[{i}, {ks}], {second.load.name}[{j}, {ks}], {place})"
    )
    for at, node in enumerate(found.loop.body):
        only = node.body[0] if isinstance(node, ast.For) and len(node.body) == 1 else node
        if isinstance(only, ast.Assign) and only.value is found.mfma:
            found.loop.body[at : at + 1] = new
            return
    raise NotApplicableError("the matrix instruction is not a statement of its own")


class Replace(ast.NodeTransformer):
    """`by * name` in index expressions becomes another expression."""

    def __init__(self, name: str, by: ast.expr, new: ast.expr) -> None:
        self._name, self._by, self._new = name, by, new

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.Mult):
            found = factor(node, self._name)
            if found is not None and same(found, self._by):
                return self._new
        if isinstance(node.op, ast.Add):
            return total([self.visit(t) if isinstance(t, ast.BinOp) else t for t in terms(node)])
        self.generic_visit(node)
        return node
