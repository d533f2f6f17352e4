"""A kernel called like a function: proved, compiled and launched on the arrays it is given.

    from argus.kernels.vadd import vadd
    vadd(x, y, z)                       outputs are written in place
    vadd(x, y, z, PER_THREAD=2)         knobs by name

Arguments are the tensors, then the scalars, in the order of the signature. Sizes follow from the arrays' shapes and
strides; one that no array shows by itself is given by name. A kernel that is not proved is not launched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from argus.device.choose import choose
from argus.device.guards import LaunchRefused, placed
from argus.device.launch import LaunchOutcome
from argus.ir.kernel import Kernel
from argus.layout.expr import Expr
from argus.ops.arrays import given, shape
from argus.ops.launch import proved


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
        raise LaunchRefused(f"{name} takes {stated}, not {len(args)}", "ARG-L108")
    count = len(kernel.tensors)
    pairs = zip(kernel.tensors, args[:count], strict=True)
    arrays = {t.name: given(array, t.name, strided=True) for t, array in pairs}
    scalars = {s.name: value for s, value in zip(kernel.scalars, args[count:], strict=True)}
    sizes = {**_sizes(kernel, arrays), **{key: int(named[key]) for key in sizes_named}}
    return choose(device).launch(kernel, ready.code, sizes, arrays, scalars)


def _sizes(kernel: Kernel, arrays: dict[str, Any]) -> dict[str, int]:
    known = {symbol.name: symbol for symbol in kernel.shapes}
    found: dict[str, int] = {}
    for tensor in kernel.tensors:
        extents = shape(arrays[tensor.name])
        if len(extents) != len(tensor.shape):
            raise LaunchRefused(
                f"{tensor.name} has {len(tensor.shape)} axes, the given array {len(extents)}", "ARG-L102"
            )
        for stated, extent in zip(tensor.shape, extents, strict=True):
            name = _symbol(stated, known)
            if name is not None and found.setdefault(name, extent) != extent:
                raise LaunchRefused(f"{name} is {found[name]} in one array and {extent} in {tensor.name}", "ARG-L102")
    for tensor in kernel.tensors:
        for stated, stride in zip(tensor.strides, placed(tensor.name, arrays[tensor.name]).strides, strict=True):
            name = _symbol(stated, known)
            if name is not None:
                found.setdefault(name, stride)
    return found


def _symbol(stated: Expr, known: dict[str, Expr]) -> str | None:
    return next((name for name, symbol in known.items() if symbol is stated), None)
