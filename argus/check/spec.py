"""What a kernel's `computes` line says about coordinates, read as syntax.

    C[m, n] = sum(A[m, k] * B[n, k], k)

    output C, index m is axis 0 and n axis 1; axis 0 of A belongs to m, axis 0 of B to n; k is summed away

From this the checker knows which axes of a stored value must equal which coordinates of the store, and which axes
must be contracted completely. Indices that are not plain names (`x[i + 1]`) say nothing here. The line's numerical
meaning is evaluated elsewhere, to compare results.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from argus.check.tables import Tables
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor


@dataclass(frozen=True, slots=True)
class Spec:
    """`placed`: axis number -> position in the output; `summed`: axis numbers contracted over their whole extent."""

    output: Tensor
    placed: dict[int, int]
    summed: frozenset[int]


def spec_of(kernel: Kernel, tables: Tables) -> Spec | None:
    """The reading of `computes`, or None when there is none or it has another form."""
    if not kernel.computes:
        return None
    try:
        tree = ast.parse(kernel.computes.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Assign):
        return None
    statement = tree.body[0]
    tensors = {t.name: t for t in kernel.tensors}
    target = _subscript(statement.targets[0], tensors)
    if target is None:
        return None
    output, indices = target
    roles: dict[int, set[str | None]] = {}
    for node in ast.walk(statement.value):
        found = _subscript(node, tensors)
        if found is not None:
            tensor, names = found
            for axis, name in zip(tables.tensor_axes[tensor], names, strict=True):
                roles.setdefault(axis, set()).add(name)
    summed = _summed(statement.value)
    placed = {}
    contracted = set()
    for axis, names_of_axis in roles.items():
        name = next(iter(names_of_axis))
        if len(names_of_axis) != 1 or name is None:
            continue
        if indices.count(name) == 1:
            placed[axis] = indices.index(name)
        elif name in summed:
            contracted.add(axis)
    return Spec(output, placed, frozenset(contracted))


def _subscript(node: ast.AST, tensors: dict[str, Tensor]) -> tuple[Tensor, list[str | None]] | None:
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in tensors):
        return None
    tensor = tensors[node.value.id]
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(parts) != len(tensor.axes):
        return None
    return tensor, [part.id if isinstance(part, ast.Name) else None for part in parts]


def _summed(tree: ast.AST) -> frozenset[str]:
    """Names given to `sum` after its first argument, anywhere."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sum":
            found |= {arg.id for arg in node.args[1:] if isinstance(arg, ast.Name)}
    return frozenset(found)
