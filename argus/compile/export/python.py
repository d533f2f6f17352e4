"""The Python launcher: one file, standard library only, HIP through ctypes.

It looks for the HIP runtime where Argus does (`hip_library.py`). It accepts anything with `data_ptr()` and `shape`
(torch tensors); sizes are read from the shapes. `library` may be any object with the four HIP functions used, which is
how the tests run it without a GPU.
"""

from __future__ import annotations

from pathlib import Path

from argus.compile.export import hip_library
from argus.compile.export.conditions import ALIGNMENT, conditions, python
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.ir.semantics import extent_bytes
from argus.ir.types import DType
from argus.layout.expr import const

_CTYPES = {
    "f64": "c_double", "f32": "c_float", "i64": "c_int64", "i32": "c_int32", "i16": "c_int16", "i8": "c_int8",
    "u32": "c_uint32", "u16": "c_uint16", "u8": "c_uint8", "f16": "c_uint16", "bf16": "c_uint16", "fp8": "c_uint8",
    "bf8": "c_uint8", "bool": "c_bool",
}  # fmt: skip

_TORCH = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "fp8": "float8_e4m3fnuz",
    "bf8": "float8_e5m2fnuz", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u32": "uint32",
    "u16": "uint16", "u8": "uint8", "bool": "bool",
}  # fmt: skip

_TEMPLATE = '''"""Launcher of the kernel `{name}` (gfx942). Made by Argus; needs only Python and the HIP runtime.

    kernel = {title}("{name}.hsaco")
    kernel({call})

Every launch checks the conditions the kernel was proved under and refuses otherwise.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

THREADS = {threads}
{search}

def runtime() -> ctypes.CDLL:
    """The first HIP runtime that can be loaded."""
    tried = []
    for place in places():
        try:
            return ctypes.CDLL(place.file)
        except OSError:
            tried.append(place.file)
    raise OSError(f"no HIP runtime: tried {{', '.join(tried)}}; {{OWN}} names another file")


class LaunchRefused(ValueError):
    """A condition of the kernel does not hold."""


class {title}:
    def __init__(self, path: str, library: object = None) -> None:
        self.hip = library if library is not None else runtime()
        with open(path, "rb") as file:
            self.image = file.read()
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self._try(self.hip.hipModuleLoadData(ctypes.byref(self.module), self.image), "loading the code object")
        self._try(
            self.hip.hipModuleGetFunction(ctypes.byref(self.function), self.module, b"{name}"), "finding the kernel"
        )

    @staticmethod
    def _try(status: int, what: str) -> None:
        if status != 0:
            raise RuntimeError(f"HIP error {{status}} while {{what}}")

    def __call__(self, {parameters}, stream: int = 0) -> None:
{body}

    def unload(self) -> None:
        self._try(self.hip.hipModuleUnload(self.module), "unloading")
'''


def title(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) or "Kernel"


def ctype(dtype: DType) -> str:
    return f"ctypes.{_CTYPES[dtype.name]}"


def _memory_order(t: Tensor) -> list[str]:
    """Lines that refuse a tensor whose elements lie elsewhere than the kernel's strides say."""
    expected, row_major = const(1), True
    for extent, stride in zip(reversed(t.shape), reversed(t.strides), strict=True):
        row_major = row_major and stride is expected
        expected = expected * extent
    if row_major:
        return [
            f'if hasattr({t.name}, "is_contiguous") and not {t.name}.is_contiguous():',
            f'    raise LaunchRefused("{t.name} must be contiguous")',
        ]
    strides = ", ".join(python(stride) for stride in t.strides)
    wrong = "any(n > 1 and have != want for n, have, want in zip({0}.shape, {0}.stride(), ({1},)))"
    return [
        f'if hasattr({t.name}, "stride") and {wrong.format(t.name, strides)}:',
        f'    raise LaunchRefused(f"{t.name} must have strides {{({strides},)}}, not {{tuple({t.name}.stride())}}")',
    ]


def _search() -> str:
    """The search for the HIP runtime, as text: that of Argus itself."""
    text = Path(hip_library.__file__).read_text(encoding="utf-8")
    return text[text.index("NAME = ") :]


def python_launcher(kernel: Kernel) -> str:
    tensors = [t.name for t in kernel.tensors]
    scalars = [s.name for s in kernel.scalars]
    lines: list[str] = []
    sizes: set[str] = set()
    for t in kernel.tensors:
        lines.append(f"if len({t.name}.shape) != {len(t.shape)}:")
        lines.append(f'    raise LaunchRefused(f"{t.name} must have {len(t.shape)} axes, not {{len({t.name}.shape)}}")')
        for axis, extent in enumerate(t.shape):
            if extent.op == "var" and extent.name not in sizes:
                sizes.add(extent.name)
                lines.append(f"{extent.name} = int({t.name}.shape[{axis}])")
    extra = [s.name for s in kernel.shapes if s.name not in sizes]
    for t in kernel.tensors:
        shape = ", ".join(python(extent) for extent in t.shape)
        lines.append(f"if tuple({t.name}.shape) != ({shape},):")
        lines.append(
            f'    raise LaunchRefused(f"{t.name} must have shape {{({shape},)}}, not {{tuple({t.name}.shape)}}")'
        )
        lines.append(f'if str({t.name}.dtype).rpartition(".")[2] != "{_TORCH[t.dtype.name]}":')
        lines.append(f'    raise LaunchRefused(f"{t.name} must hold {t.dtype.name}, not {{{t.name}.dtype}}")')
        lines += _memory_order(t)
    lines.append(f"_grid = ({', '.join(python(extent) for extent in kernel.grid)})")
    if kernel.shapes:
        lines.append(f"if 0 in _grid and 0 in ({', '.join(s.name for s in kernel.shapes)},):")
        lines.append("    return")
    for condition in conditions(kernel):
        lines.append(f"if not {python(condition.holds)}:")
        lines.append(f"    raise LaunchRefused({condition.sentence!r})")
    for scalar in kernel.scalars:
        if scalar.positive:
            rounded = f"{ctype(scalar.dtype)}({scalar.name}).value" if scalar.dtype.bits >= 32 else scalar.name
            lines.append(f"if not {rounded} > 0:")
            lines.append(f'    raise LaunchRefused("the kernel requires {scalar.name} > 0")')
    for t in kernel.tensors:
        lines.append(f"{t.name}_from = int({t.name}.data_ptr())")
        lines.append(f"{t.name}_to = {t.name}_from + {python(extent_bytes(t))}")
        lines.append(f"if {t.name}_from % {ALIGNMENT}:")
        lines.append(f'    raise LaunchRefused("{t.name} must start at a multiple of {ALIGNMENT} bytes")')
    for t in kernel.tensors:
        for other in kernel.tensors:
            if t.written and other is not t and not (other.written and other.name < t.name):
                lines.append(f"if {t.name}_from < {other.name}_to and {other.name}_from < {t.name}_to:")
                lines.append(f'    raise LaunchRefused("{t.name} overlaps {other.name}")')
    lines.append("_arguments = [")
    lines += [f"    ctypes.c_void_p({t}_from)," for t in tensors]
    lines += [f"    {ctype(s.dtype)}({s.name})," for s in kernel.scalars]
    lines += [f"    ctypes.c_int32({s.name})," for s in kernel.shapes]
    lines.append("]")
    lines.append("_pointers = (ctypes.c_void_p * len(_arguments))(*(ctypes.addressof(a) for a in _arguments))")
    lines.append("self._try(")
    lines.append("    self.hip.hipModuleLaunchKernel(")
    lines.append("        self.function, *_grid, THREADS, 1, 1, 0, ctypes.c_void_p(stream), _pointers, None")
    lines.append('    ), "launching"')
    lines.append(")")
    parameters = ", ".join([*tensors, *scalars, *extra])
    return _TEMPLATE.format(
        name=kernel.name,
        title=title(kernel.name),
        call=parameters,
        threads=kernel.threads,
        search=_search(),
        parameters=parameters,
        body="\n".join(" " * 8 + line for line in lines),
    )
