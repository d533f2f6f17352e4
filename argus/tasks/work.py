"""A launch of one of our kernels as the clock takes it: tensors by shape and type, scalars, sizes.

    work = work_of(kernel, compiled.object, {"M": 4096, "N": 4096, "K": 4096}, seed=0)

A strided tensor has the bytes from its first to its last element, also where its own elements overlap. Tensors that
are only written to stay blank. `argus time`, `argus bench` and the judge time what this makes.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus import machine
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.device.guards import buffer_elements, element_strides, launch_grid, numpy_dtype, tensor_shapes
from argus.device.launch import scalar_values
from argus.ir.kernel import Kernel
from argus.tasks.inputs import make_scalars
from argus.tasks.routing import RoutingTensors, draw


def work_of(
    kernel: Kernel, code: bytes, sizes: Mapping[str, int], seed: int, routing: RoutingTensors | None = None
) -> Work:
    """The launch of `kernel`, whose object is `code`, at these sizes; `routing`: which inputs are drawn as one."""
    shapes, strides = tensor_shapes(kernel, sizes), element_strides(kernel, sizes)
    routed = {} if routing is None else draw(routing, sizes, shapes, "uniform", seed)
    tensors = [
        routed[tensor.name]
        if tensor.name in routed
        else Operand(
            (buffer_elements(shapes[tensor.name], strides[tensor.name]),),
            numpy_dtype(tensor.dtype),
            seed + number,
            blank=not tensor.read,
        )
        for number, tensor in enumerate(kernel.tensors)
    ]
    scalars = scalar_values(kernel, sizes, make_scalars(kernel, seed))
    loaded = machine.load(code).kernel(kernel.name)
    return Work(kernel.name, loaded, launch_grid(kernel, sizes), (kernel.threads,), [*tensors, *scalars])
