"""The least time a launch can take: every input read once, every output written once, every product made once.

    least = max(bytes / peak bandwidth, 2 * products / peak matrix rate)

A candidate that is faster than nine tenths of it has not done the work, whatever its results say: the clock, the task
or the candidate is wrong, and it does not rank.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from argus.device.guards import numpy_dtype, tensor_shapes
from argus.gfx942 import chip
from argus.ir.kernel import Kernel
from argus.tasks.spec import ResultSpec

ALLOWED = 0.9
MATRIX = ("f16", "bf16", "fp8", "bf8", "i8", "f32", "f64")


def least_microseconds(kernel: Kernel, sizes: Mapping[str, int], spec: ResultSpec) -> float:
    """The roof of a launch, in microseconds, cold caches."""
    shapes = tensor_shapes(kernel, sizes)
    moved = sum(numpy_dtype(t.dtype).itemsize * _product(shapes[t.name]) for t in kernel.tensors)
    seconds = moved / (1e9 * chip.fact("hbm_peak").value)
    products = multiplications(kernel, sizes, spec)
    if products:
        rates = [chip.matrix_peak_tflops(t.dtype.name) for t in kernel.tensors if t.read and t.dtype.name in MATRIX]
        seconds = max(seconds, 2e-12 * products / max(rates, default=chip.matrix_peak_tflops("fp8")))
    return 1e6 * seconds


def multiplications(kernel: Kernel, sizes: Mapping[str, int], spec: ResultSpec) -> int:
    """How many products the sums over plain products of tensors need, each sum once; 0 if there is none."""
    shapes = tensor_shapes(kernel, sizes)
    extents = dict(zip(spec.indices, shapes[spec.result], strict=True))
    for node in ast.walk(spec.expression):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            for item, extent in zip(_items(node), shapes[node.value.id], strict=True):
                if isinstance(item, ast.Name):
                    extents[item.id] = extent
    found: dict[str, int] = {}
    for node, hidden in _sums(spec.expression, False):
        tensors = _factors(node.args[0])
        used = {index for tensor in tensors for index in _indices(tensor) if index in extents}
        if len(tensors) >= 2 and len(used) >= 3:
            found[ast.dump(node)] = _product([extents[index] for index in used]) // (2 if hidden else 1)
    return sum(found.values())


def _sums(node: ast.AST, hidden: bool) -> Iterator[tuple[ast.Call, bool]]:
    """Every sum, and whether it stands under a mask `where(k <= q, …)` between two indices: half of it may be skipped.

    What stands under any other mask may be skipped altogether and is left out.
    """
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "sum":
            yield node, hidden
        if node.func.id == "where":
            mask = node.args[0]
            if not (isinstance(mask, ast.Compare) and _is_index(mask.left) and _is_index(mask.comparators[0])):
                return
            hidden = True
    for child in ast.iter_child_nodes(node):
        yield from _sums(child, hidden)


def _is_index(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def _factors(node: ast.expr) -> list[ast.Subscript]:
    """The tensors of a plain product of tensors; none if it is anything else."""
    if isinstance(node, ast.Subscript):
        return [node]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _factors(node.left), _factors(node.right)
        return [*left, *right] if left and right else []
    return []


def _items(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _indices(node: ast.Subscript) -> list[str]:
    """Everything an element's place depends on."""
    return [item.id for item in ast.walk(node.slice) if isinstance(item, ast.Name)]


def _product(values: tuple[int, ...] | list[int]) -> int:
    found = 1
    for value in values:
        found *= value
    return found
