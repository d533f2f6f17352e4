"""How a kernel looks from torch: its schema, the shapes of its outputs, and a launch on tensors.

    KernelFrame(proved(Path("vadd.py"), None, {})).schema     "(Tensor x, Tensor y, str device='auto') -> Tensor"

Sizes follow from the inputs' extents and strides, and for tensors that torch traces they stay symbols, so that a
compiled graph serves every size that the kernel accepts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from argus.device.guards import row_major
from argus.ir.ops import Tensor
from argus.layout.expr import Expr, evaluate
from argus.ops.arrays import TORCH, given
from argus.ops.call import shown_sizes, symbol_of
from argus.ops.launch import ProvedKernel, launched

DEVICE = "device"
SCALARS = {"f": "float", "b": "float", "i": "int", "u": "int"}
"""What torch calls a scalar, by the first letter of its type; `bool` is looked at before."""


class KernelFrame:
    """The arguments of a kernel as an op has them: what it reads, its scalars, the sizes that no input shows."""

    def __init__(self, ready: ProvedKernel) -> None:
        self.ready, self.kernel = ready, ready.kernel
        self.inputs = tuple(t for t in self.kernel.tensors if t.read or not t.written)
        self.outputs = tuple(t for t in self.kernel.tensors if t.written)
        known = {symbol.name: symbol for symbol in self.kernel.shapes}
        shown = {symbol_of(e, known) for t in self.inputs for e in (*t.shape, *t.strides)}
        extents = {v.name for t in self.outputs for e in t.shape for v in e.free()}
        free = {symbol_of(e, known) for t in self.outputs for e in t.strides} - extents
        self.named = tuple(name for name in known if name not in shown | free)
        self.arguments = (
            *(t.name for t in self.inputs),
            *(s.name for s in self.kernel.scalars),
            *self.named,
            DEVICE,
        )

    @property
    def schema(self) -> str:
        """The op's signature in torch's notation."""
        arguments = [f"Tensor {t.name}" for t in self.inputs]
        for scalar in self.kernel.scalars:
            kind = "bool" if scalar.dtype.name == "bool" else SCALARS[scalar.dtype.name[0]]
            arguments.append(f"{kind} {scalar.name}")
        arguments += [f"SymInt {name}" for name in self.named]
        results = ", ".join("Tensor" for _ in self.outputs)
        results = results if len(self.outputs) == 1 else f"({results})"
        return f"({', '.join(arguments)}, str {DEVICE}='auto') -> {results}"

    def sizes(self, arguments: Mapping[str, Any]) -> dict[str, int]:
        """Every size of a call; strides of outputs are those of rows without gaps."""
        known = {symbol.name: symbol for symbol in self.kernel.shapes}
        found = shown_sizes(self.kernel, {t.name: arguments[t.name] for t in self.inputs})
        found |= {name: arguments[name] for name in self.named}
        for output in self.outputs:
            steps = row_major(self._extents(output, found))
            for stated, step in zip(output.strides, steps, strict=True):
                name = symbol_of(stated, known)
                if name is not None:
                    found.setdefault(name, step)
        return found

    def _extents(self, output: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(extent(e, sizes) for e in output.shape)

    def _blank(self, output: Tensor, sizes: Mapping[str, int], beside: torch.device) -> torch.Tensor:
        """Room for an output. A kernel that states no result may leave some of it unwritten: it begins with zeros."""
        make = torch.zeros if self.kernel.computes is None else torch.empty
        return make(self._extents(output, sizes), dtype=getattr(torch, TORCH[output.dtype.name]), device=beside)

    def _results(self, arguments: Mapping[str, Any], sizes: Mapping[str, int]) -> list[torch.Tensor]:
        beside = arguments[self.inputs[0].name].device if self.inputs else torch.device("cpu")
        return [
            arguments[t.name].clone(memory_format=torch.contiguous_format) if t.read else self._blank(t, sizes, beside)
            for t in self.outputs
        ]

    def shapes(self, **arguments: Any) -> Any:
        """Unwritten outputs of a call on tensors without data."""
        made = self._results(arguments, self.sizes(arguments))
        return made[0] if len(made) == 1 else tuple(made)

    def run(self, **arguments: Any) -> Any:
        """The outputs of a launch."""
        sizes = self.sizes(arguments)
        made = self._results(arguments, sizes)
        arrays = {t.name: given(arguments[t.name], t.name, strided=True) for t in self.inputs}
        arrays |= {t.name: given(value, t.name, strided=True) for t, value in zip(self.outputs, made, strict=True)}
        scalars = {s.name: arguments[s.name] for s in self.kernel.scalars}
        launched(self.ready, arrays, sizes, scalars, arguments.get(DEVICE, "auto"))
        return made[0] if len(made) == 1 else tuple(made)


def extent(e: Expr, sizes: Mapping[str, int]) -> int:
    """An extent over sizes that may be torch's symbols, for which arithmetic is kept; other operations need numbers."""
    match e.op:
        case "const":
            return e.value
        case "var":
            return sizes[e.name]
        case "add":
            return sum(extent(arg, sizes) for arg in e.args)
        case "mul":
            return math.prod(extent(arg, sizes) for arg in e.args)
        case "floordiv":
            return extent(e.args[0], sizes) // extent(e.args[1], sizes)
        case "mod":
            return extent(e.args[0], sizes) % extent(e.args[1], sizes)
        case _:
            return int(evaluate(e, {name: int(size) for name, size in sizes.items()}))
