"""Any kernel file as a custom op: `op("vadd.py")` gives a function of its inputs that returns its outputs.

    vadd = op("argus/kernels/vadd.py", PER_THREAD=2)      read, proved and compiled here
    z = vadd(x, y)                                        under torch.compile too

The function takes the tensors that the kernel reads, then its scalars, in the order of the signature; sizes that no
input shows are given by name. An `InOut` argument is copied and the copy returned: no op writes to its operands.
Outputs are row-major. The op is registered once for the text of the kernel and its knobs, under a name with their
digest; a changed file is another op.

`gradient` is the backward pass where you have one, made of other ops: from the inputs and the gradients of the outputs
to a gradient, or None, for each input. Without it `backward` ends in ARG-O102.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from argus.device.guards import LaunchRefused
from argus.ir.kernel import KnobValue
from argus.ops.launch import proved
from argus.surface import KernelHandle
from argus.torch.dlpack import tensor
from argus.torch.gradients import NONE, Gradient, SavedOperands
from argus.torch.kernel_frame import KernelFrame
from argus.torch.registration import CustomOperation, register

Backward = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor]], Sequence[torch.Tensor | None]]
DIGITS = 12
_registered: dict[tuple[str, Backward | None], Callable[..., Any]] = {}


def op(
    file: str | Path | KernelHandle,
    kernel: str | None = None,
    *,
    gradient: Backward | None = None,
    **knobs: KnobValue,
) -> Callable[..., Any]:
    """The kernel of a file, or the one named, as a function on tensors; `device` and sizes by name."""
    if isinstance(file, KernelHandle):
        kernel = file.name
        file = file.file
    ready = proved(Path(file), kernel, knobs)
    frame = KernelFrame(ready)
    text = f"{ready.kernel.full_source}\0{ready.kernel.name}\0{sorted(ready.kernel.settings.items())}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
    if (digest, gradient) not in _registered:
        name = f"{ready.kernel.name}_{digest}" + ("" if gradient is None else f"_{len(_registered)}")
        formula = _gradient(frame, gradient)
        made = CustomOperation(name, frame.schema, frame.run, frame.shapes, formula, arguments=frame.arguments)
        _registered[digest, gradient] = _function(frame, register(made))
    return _registered[digest, gradient]


def _function(frame: KernelFrame, call: Callable[..., Any]) -> Callable[..., Any]:
    """What the user calls; it only names and orders arguments, which torch can trace."""
    inputs = tuple(t.name for t in frame.inputs)
    scalars = tuple(s.name for s in frame.kernel.scalars)
    named, kernel = frame.named, frame.kernel.name
    stated = ", ".join([*inputs, *scalars, *(f"{size}=…" for size in named)])

    def function(*args: Any, device: str = "auto", **sizes: int) -> Any:
        if len(args) != len(inputs) + len(scalars) or set(sizes) != set(named):
            raise LaunchRefused(f"the op {kernel} is called as {kernel}({stated})", "ARG-D101")
        tensors = [tensor(value, name) for name, value in zip(inputs, args, strict=False)]
        return call(*tensors, *args[len(inputs) :], *(sizes[size] for size in named), device)

    function.__name__ = kernel
    function.__doc__ = f"The kernel {kernel} of {frame.kernel.file}: {kernel}({stated})."
    return function


def _gradient(frame: KernelFrame, backward: Backward | None) -> Gradient:
    """The user's backward pass as a formula over the kernel's inputs."""
    if backward is None:
        return NONE
    names = tuple(t.name for t in frame.inputs)

    def formula(saved: SavedOperands, *given: torch.Tensor) -> Mapping[str, torch.Tensor]:
        found = backward([saved[name] for name in names], given)
        return {name: value for name, value in zip(names, found, strict=True) if value is not None}

    return Gradient(names, formula)
