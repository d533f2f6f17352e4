"""A launch of one of our kernels as the clock takes it: tensors by shape and type, scalars, sizes.

    work = work_of(kernel, compiled.object, {"M": 4096, "N": 4096, "K": 4096}, seed=0)

A strided tensor has the bytes from its first to its last element, also where its own elements overlap. Tensors that
are only written to stay blank. Indices are any that the kernel allows (`ag.as_index`): how many keys a request has says
how much work there is. `argus time`, `argus bench` and the judge time what this makes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from argus import machine
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.device.guards import buffer_elements, element_strides, launch_grid, numpy_dtype, tensor_shapes
from argus.device.launch import scalar_values
from argus.ir.index_ranges import legal_range, stated_ranges, whole_numbers
from argus.ir.kernel import Kernel
from argus.tasks.inputs import make_scalars
from argus.tasks.routing import RoutingTensors, draw


def work_of(
    kernel: Kernel,
    code: bytes,
    sizes: Mapping[str, int],
    seed: int,
    routing: RoutingTensors | None = None,
    stated: Kernel | None = None,
) -> Work:
    """The launch of `kernel`, whose object is `code`, at these sizes; `routing`: which inputs are drawn as one;
    `stated`: the kernel that says which indices there are, where it is another."""
    shapes, strides = tensor_shapes(kernel, sizes), element_strides(kernel, sizes)
    routed = {} if routing is None else draw(routing, sizes, shapes, "uniform", seed)
    tensors: list[Operand | NDArray[np.generic]] = []
    for number, (tensor, indexed) in enumerate(zip(kernel.tensors, (stated or kernel).tensors, strict=True)):
        dtype = numpy_dtype(tensor.dtype)
        elements = (buffer_elements(shapes[tensor.name], strides[tensor.name]),)
        if tensor.name in routed:
            tensors.append(routed[tensor.name])
        elif tensor.read and stated_ranges(stated or kernel, indexed, sizes):
            between = legal_range(stated or kernel, indexed, sizes)
            tensors.append(whole_numbers(np.random.default_rng(seed + number), elements, between).astype(dtype))
        else:
            tensors.append(Operand(elements, dtype, seed + number, blank=not tensor.read))
    scalars = scalar_values(kernel, sizes, make_scalars(kernel, seed))
    loaded = machine.load(code).kernel(kernel.name)
    return Work(kernel.name, loaded, launch_grid(kernel, sizes), (kernel.threads,), [*tensors, *scalars])
