"""The C++ launcher: one header over the HIP module interface, no other dependency.

A launch that a condition forbids throws `std::invalid_argument` with the sentence; HIP failures throw
`std::runtime_error`.
"""

from __future__ import annotations

from argus.compile.export.conditions import ALIGNMENT, conditions, cpp
from argus.ir.kernel import Kernel
from argus.ir.semantics import extent_bytes
from argus.ir.types import DType

_TYPES = {
    "f64": "double", "f32": "float", "i64": "std::int64_t", "i32": "std::int32_t", "i16": "std::int16_t",
    "i8": "std::int8_t", "u32": "std::uint32_t", "u16": "std::uint16_t", "u8": "std::uint8_t", "f16": "std::uint16_t",
    "bf16": "std::uint16_t", "fp8": "std::uint8_t", "bf8": "std::uint8_t", "bool": "bool",
}  # fmt: skip

_TEMPLATE = """// Launcher of the kernel `{name}` (gfx942). Made by Argus; needs only the HIP runtime.
//
//     argus::{name} kernel("{name}.hsaco");
//     kernel.launch(stream, {call});
//
// Every launch checks the conditions the kernel was proved under and throws std::invalid_argument otherwise.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace argus {{

class {name} {{
 public:
  static constexpr unsigned threads = {threads};
  static constexpr unsigned lds_bytes = {lds};

  explicit {name}(const std::string& path) {{
    check(hipModuleLoad(&module_, path.c_str()), "loading the code object");
    check(hipModuleGetFunction(&function_, module_, "{name}"), "finding the kernel");
  }}
  {name}(const {name}&) = delete;
  {name}& operator=(const {name}&) = delete;
  ~{name}() {{ (void)hipModuleUnload(module_); }}

  void launch(hipStream_t stream, {parameters}) const {{
{body}
  }}

 private:
  static std::int64_t floor_div(std::int64_t a, std::int64_t b) {{
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }}
  static std::int64_t floor_mod(std::int64_t a, std::int64_t b) {{ return a - floor_div(a, b) * b; }}
  static void refuse_unless(bool holds, const char* sentence) {{
    if (!holds) throw std::invalid_argument(sentence);
  }}
  static void check(hipError_t status, const char* what) {{
    if (status != hipSuccess) throw std::runtime_error(std::string("HIP error while ") + what);
  }}

  hipModule_t module_ = nullptr;
  hipFunction_t function_ = nullptr;
}};

}}  // namespace argus
"""


def ctype(dtype: DType) -> str:
    return _TYPES[dtype.name]


def cpp_launcher(kernel: Kernel) -> str:
    parameters = [f"{'' if t.written else 'const '}void* {t.name}" for t in kernel.tensors]
    parameters += [f"{ctype(s.dtype)} {s.name}" for s in kernel.scalars]
    parameters += [f"std::int32_t {s.name}_" for s in kernel.shapes]
    lines = [f"const std::int64_t {s.name} = {s.name}_;" for s in kernel.shapes]
    for axis, extent in zip("xyz", kernel.grid, strict=True):
        lines.append(f"const std::int64_t grid_{axis} = {cpp(extent)};")
    if kernel.shapes:
        empty = " || ".join(f"{s.name} == 0" for s in kernel.shapes)
        lines.append(f"if ((grid_x == 0 || grid_y == 0 || grid_z == 0) && ({empty})) return;")
    lines += [f'refuse_unless({cpp(c.holds)}, "{c.sentence}");' for c in conditions(kernel)]
    lines += [f'refuse_unless({s.name} > 0, "the kernel requires {s.name} > 0");' for s in kernel.scalars if s.positive]
    for t in kernel.tensors:
        lines.append(f"const auto {t.name}_from = reinterpret_cast<std::uintptr_t>({t.name});")
        lines.append(f"const auto {t.name}_to = {t.name}_from + static_cast<std::uintptr_t>({cpp(extent_bytes(t))});")
        sentence = f"{t.name} must start at a multiple of {ALIGNMENT} bytes"
        lines.append(f'refuse_unless({t.name}_from % {ALIGNMENT} == 0, "{sentence}");')
    for t in kernel.tensors:
        for other in kernel.tensors:
            if t.written and other is not t and not (other.written and other.name < t.name):
                apart = f"{t.name}_to <= {other.name}_from || {other.name}_to <= {t.name}_from"
                lines.append(f'refuse_unless({apart}, "{t.name} overlaps {other.name}");')
    values = [f"&{t.name}" for t in kernel.tensors]
    values += [f"&{s.name}" for s in kernel.scalars]
    values += [f"&{s.name}_" for s in kernel.shapes]
    lines.append(f"void* arguments[] = {{{', '.join(values)}}};")
    lines.append("check(hipModuleLaunchKernel(function_, static_cast<unsigned>(grid_x), static_cast<unsigned>(grid_y),")
    lines.append(
        "                            static_cast<unsigned>(grid_z), threads, 1, 1, 0, stream, arguments, nullptr),"
    )
    lines.append('      "launching");')
    return _TEMPLATE.format(
        name=kernel.name,
        threads=kernel.threads,
        lds=kernel.lds_bytes,
        call=", ".join(
            [*(t.name for t in kernel.tensors), *(s.name for s in kernel.scalars), *(s.name for s in kernel.shapes)]
        ),
        parameters=", ".join(parameters),
        body="\n".join("    " + line for line in lines),
    )
