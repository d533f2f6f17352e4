"""The least time a launch can take: every input read once, every output written once, every product made once.

    least = max(bytes / peak bandwidth, 2 * products / peak matrix rate)

A candidate that is faster than nine tenths of it has not done the work, whatever its results say: the clock, the task
or the candidate is wrong, and it does not rank. Tensors of which data says what is read (`K[slot[b], k]`) may be read
in part, so they are not `certain`: they count for the roof that is shown, not for who has not done the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argus.device.guards import buffer_elements, element_strides, numpy_dtype, tensor_shapes
from argus.gfx942 import chip
from argus.ir.kernel import Kernel
from argus.spec import ResultSpec
from argus.spec.extents import Shapes, reduction_extent
from argus.spec.tree import ConditionalValue, IndexName, IndexReduction, Relation, SpecNode, TensorElement
from argus.spec.walk import children, open_indices, product_of_elements, replaced, walk

ALLOWED = 0.9
MATRIX = ("f16", "bf16", "fp8", "bf8", "i8", "f32", "f64")


def least_microseconds(kernel: Kernel, sizes: Mapping[str, int], spec: ResultSpec, certain: bool = False) -> float:
    """The roof of a launch, in microseconds, cold caches; `certain`: of what every launch must do."""
    shapes, strides = tensor_shapes(kernel, sizes), element_strides(kernel, sizes)
    distinct = {name: min(_product(shape), buffer_elements(shape, strides[name])) for name, shape in shapes.items()}
    in_part = looked_up(spec) if certain else set[str]()
    moved = sum(numpy_dtype(t.dtype).itemsize * distinct[t.name] for t in kernel.tensors if t.name not in in_part)
    seconds = moved / (1e9 * chip.fact("hbm_peak").value)
    products = multiplications(kernel, sizes, spec)
    if products:
        rates = [chip.matrix_peak_tflops(t.dtype.name) for t in kernel.tensors if t.read and t.dtype.name in MATRIX]
        seconds = max(seconds, 2e-12 * products / max(rates, default=chip.matrix_peak_tflops("fp8")))
    return 1e6 * seconds


def looked_up(spec: ResultSpec) -> set[str]:
    """Tensors with an index that is itself an element of a tensor."""
    elements = [node for node in walk(spec.expression) if isinstance(node, TensorElement)]
    return {e.tensor for e in elements if any(isinstance(n, TensorElement) for i in e.indices for n in walk(i))}


def multiplications(kernel: Kernel, sizes: Mapping[str, int], spec: ResultSpec) -> int:
    """How many products the sums over plain products of tensors need, each sum once; 0 if there is none."""
    shapes = tensor_shapes(kernel, sizes)
    extents = dict(zip(spec.indices, shapes[spec.result], strict=True))
    found: dict[SpecNode, int] = {}
    for node, inside, hidden in _sums(spec.expression, extents, shapes, sizes, False):
        tensors = product_of_elements(node.body) or []
        used = set().union(*(open_indices(tensor) for tensor in tensors))
        if len(tensors) >= 2 and len(used) >= 3:
            found[_unnamed(node, spec)] = _product([inside[index] for index in used]) // (2 if hidden else 1)
    return sum(found.values())


def _unnamed(node: IndexReduction, spec: ResultSpec) -> SpecNode:
    """The sum with names of its own for indices of the reductions around it: the same sum wherever it stands."""
    outer = [part.name for part in walk(node) if isinstance(part, IndexName)]
    bound = [name for name in dict.fromkeys(outer) if name in open_indices(node) and name not in spec.indices]
    return replaced(node, {name: IndexName(f"{number}") for number, name in enumerate(bound)})


def _sums(
    node: SpecNode, extents: Mapping[str, int], shapes: Shapes, sizes: Mapping[str, int], hidden: bool
) -> Iterator[tuple[IndexReduction, Mapping[str, int], bool]]:
    """Every sum, how far the indices in it run, and whether it stands under a mask `where(k <= q, …)` between two
    indices: half of it may be skipped. What stands under any other mask may be skipped altogether and is left out."""
    if isinstance(node, IndexReduction):
        extents = {**extents, node.index: reduction_extent(node, shapes, sizes)}
        if node.kind == "sum":
            yield node, extents, hidden
    if isinstance(node, ConditionalValue):
        mask = node.condition
        if not (isinstance(mask, Relation) and isinstance(mask.left, IndexName) and isinstance(mask.right, IndexName)):
            return
        hidden = True
    for child in children(node):
        yield from _sums(child, extents, shapes, sizes, hidden)


def _product(values: tuple[int, ...] | list[int]) -> int:
    found = 1
    for value in values:
        found *= value
    return found
