"""A kernel called like a function: proved, compiled and launched on the arrays it is given.

    from argus.kernels.vadd import vadd
    vadd(x, y, z)                       outputs are written in place
    vadd(x, y, z, PER_THREAD=2)         knobs by name

Arguments are the tensors, then the scalars, in the order of the signature. Sizes follow from the arrays' shapes and
strides; one that no array shows by itself is given by name. A kernel that is not proved is not launched.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argus.device.guards import LaunchRefused
from argus.device.launch import LaunchOutcome
from argus.ir.kernel import Kernel
from argus.layout.expr import Expr
from argus.ops.arrays import given, shape, strides
from argus.ops.launch import launched, proved


def call(file: str, name: str, args: tuple[Any, ...], device: str, named: dict[str, Any]) -> LaunchOutcome:
    """One launch of the kernel `name` of `file`; `named` are knobs and sizes."""
    plain = proved(Path(file), name, {})
    sizes_named = {s.name for s in plain.kernel.shapes} & named.keys()
    knobs = {key: value for key, value in named.items() if key not in sizes_named}
    ready = proved(Path(file), name, knobs) if knobs else plain
    kernel = ready.kernel
    wanted = [*(t.name for t in kernel.tensors), *(s.name for s in kernel.scalars)]
    if len(args) != len(wanted):
        stated = f"{len(wanted)} arguments ({', '.join(wanted)})"
        raise LaunchRefused(f"{name} takes {stated}, not {len(args)}", "ARG-D101")
    count = len(kernel.tensors)
    pairs = zip(kernel.tensors, args[:count], strict=True)
    arrays = {t.name: given(array, t.name, strided=True) for t, array in pairs}
    scalars = {s.name: value for s, value in zip(kernel.scalars, args[count:], strict=True)}
    sizes = {**shown_sizes(kernel, arrays), **{key: int(named[key]) for key in sizes_named}}
    return launched(ready, arrays, sizes, scalars, device)


def shown_sizes(kernel: Kernel, arrays: Mapping[str, Any]) -> dict[str, int]:
    """The sizes that the arrays given so far show by an extent or a stride of their own."""
    known = {symbol.name: symbol for symbol in kernel.shapes}
    found: dict[str, int] = {}
    tensors = [tensor for tensor in kernel.tensors if tensor.name in arrays]
    for tensor in tensors:
        extents = shape(arrays[tensor.name])
        if len(extents) != len(tensor.shape):
            raise LaunchRefused(
                f"{tensor.name} has {len(tensor.shape)} axes, the given array {len(extents)}", "ARG-D101"
            )
        for stated, extent in zip(tensor.shape, extents, strict=True):
            name = symbol_of(stated, known)
            if name is not None and found.setdefault(name, extent) != extent:
                raise LaunchRefused(f"{name} is {found[name]} in one array and {extent} in {tensor.name}", "ARG-D101")
    for tensor in tensors:
        for stated, stride in zip(tensor.strides, strides(arrays[tensor.name]), strict=True):
            name = symbol_of(stated, known)
            if name is not None:
                found.setdefault(name, stride)
    return found


def symbol_of(stated: Expr, known: Mapping[str, Expr]) -> str | None:
    """The name of the size that an extent or a stride is, if it is one and no expression of it."""
    return next((name for name, symbol in known.items() if symbol is stated), None)
