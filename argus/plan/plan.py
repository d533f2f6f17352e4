"""A plan: launches in order, with the buffers they read and write. Data only; nothing here runs.

    print(plan.text())      every launch with its kernel, knobs, sizes, views and what it computes

A buffer is an input, a parameter, an output, a temporary, or filled: a constant, or an array whose border keeps a value
(`fill`) that no launch overwrites. Temporaries share one arena; `argus.plan.memory` gives them places by lifetime. What
a plan computes is the composition of its launches' `computes` lines (`argus.plan.meaning`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from argus.ir.kernel import KnobValue
from argus.ir.types import DTYPES
from argus.ops.choice import KERNELS
from argus.plan.views import View

BufferKind = Literal["input", "parameter", "output", "temporary", "filled"]


@dataclass(frozen=True, slots=True)
class PlanBuffer:
    """A piece of memory. `place`: the byte of the arena where a temporary starts; `live`: its first and last launch."""

    name: str
    kind: BufferKind
    dtype: str
    elements: int
    fill: float | None = None
    place: int = 0
    live: tuple[int, int] = (0, 0)

    @property
    def bytes(self) -> int:
        return DTYPES[self.dtype].bytes * self.elements


@dataclass(frozen=True)
class PlannedLaunch:
    """One launch of a kernel of the library. `nodes`: what of the graph it computes; `computes`: its specification."""

    file: str
    kernel: str
    knobs: Mapping[str, KnobValue]
    sizes: Mapping[str, int]
    arguments: Mapping[str, View]
    scalars: Mapping[str, float]
    writes: tuple[str, ...]
    nodes: tuple[str, ...]
    computes: str = ""

    @property
    def path(self) -> Path:
        return KERNELS / f"{self.file}.py"

    @property
    def key(self) -> tuple[str, str, tuple[tuple[str, KnobValue], ...]]:
        """What is proved once: the kernel with its knobs."""
        return self.file, self.kernel, tuple(sorted(self.knobs.items()))

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "kernel": self.kernel,
            "knobs": dict(self.knobs),
            "sizes": dict(self.sizes),
            "arguments": {name: view.to_json() for name, view in self.arguments.items()},
            "scalars": dict(self.scalars),
            "writes": [*self.writes],
            "nodes": [*self.nodes],
            "computes": self.computes,
        }

    def text(self) -> str:
        knobs = " ".join(f"{name}={value}" for name, value in self.knobs.items())
        sizes = " ".join(f"{name}={value}" for name, value in self.sizes.items())
        scalars = " ".join(f"{name}={value:.9g}" for name, value in self.scalars.items() if value)
        lines = [f"{self.file}.py:{self.kernel}  {sizes}", f"    knobs     {knobs or '(defaults)'}"]
        used = {name: view for name, view in self.arguments.items() if not view.buffer.startswith("unused")}
        lines += [
            f"    {'writes' if n in self.writes else 'reads ':6}    {n} = {view.text()}" for n, view in used.items()
        ]
        lines += [f"    scalars   {scalars}"] if scalars else []
        lines += [f"    computes  {self.computes}", f"    nodes     {', '.join(self.nodes)}"]
        return "\n".join(lines)


@dataclass(frozen=True)
class Plan:
    """`inputs`, `parameters`, `outputs`: the graph's names, and where they lie; `arena`: bytes of all temporaries."""

    launches: tuple[PlannedLaunch, ...]
    buffers: Mapping[str, PlanBuffer]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    outputs: Mapping[str, View]
    arena: int = 0
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "arena": self.arena,
            "buffers": [
                {
                    **{key: getattr(b, key) for key in ("name", "kind", "dtype", "elements", "fill", "place")},
                    "live": [*b.live],
                }
                for b in self.buffers.values()
            ],
            "launches": [launch.to_json() for launch in self.launches],
            "outputs": {name: view.to_json() for name, view in self.outputs.items()},
        }

    def text(self) -> str:
        temporaries = [b for b in self.buffers.values() if b.kind == "temporary"]
        apart = sum(b.bytes for b in temporaries)
        head = f"{len(self.launches)} launches, {len(temporaries)} temporaries in {self.arena} bytes"
        lines = [head + (f" ({apart} without reuse)" if apart > self.arena else "")]
        for buffer in self.buffers.values():
            if buffer.kind != "filled" or not buffer.name.startswith("unused"):
                lines.append("  " + self._buffer_text(buffer))
        for number, launch in enumerate(self.launches):
            lines += ["", f"{number}. {launch.text()}"]
        lines += ["", *(f"output {name} = {view.text()}" for name, view in self.outputs.items())]
        return "\n".join([*lines, *self.notes])

    def _buffer_text(self, buffer: PlanBuffer) -> str:
        text = f"{buffer.kind:9} {buffer.name}: {buffer.dtype} x {buffer.elements}"
        if buffer.kind == "temporary":
            return f"{text}, launches {buffer.live[0]} to {buffer.live[1]}, at byte {buffer.place}"
        return text if buffer.fill is None else f"{text}, filled with {buffer.fill}"
