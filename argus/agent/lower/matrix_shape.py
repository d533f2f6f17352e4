"""Another matrix instruction with the same operand types, such as 16x16x16 instead of 32x32x8.

    from argus.gfx942 import mfma_32x32x8_bf16         ->      from argus.gfx942 import mfma_16x16x16_bf16

A smaller one has a shorter latency and holds fewer accumulators per tile. Tiles per wave change with it, so that the
block stays as it is; with `block = "larger"` they stay and the block changes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import fragment_loads, instruction
from argus.agent.lower.matrix import owner_definition
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
)


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
            keeps = is_row and params.get("block") == "larger"
            new = new_rows if is_row else literal * new_k // k
            old_count = 1 if count is None else source.value(count.value) or 1
            if count is not None and not keeps:
                count.value = ast.Constant(max(1, old_count * literal // new))
            node.value.left = ast.Constant(new)
            blocked += 1
    if not blocked:
        raise NotApplicableError("sizes are literals; `register_blocking` comes first")
