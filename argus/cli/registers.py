"""`argus registers FILE`: who holds the registers at the fullest point of a kernel, by source line and name.

    gemm: about 116 registers at the fullest point, gemm.py:47; a wave has 512
      registers  made at      last used    what
             64  gemm.py:41   gemm.py:55   acc, carried by a loop
             16  gemm.py:44   gemm.py:47   ra
    besides: addresses 12, in transit 8

The kernel is not checked. An estimate; what LLVM made of it stands below, or why nothing fits (C130).
"""

from __future__ import annotations

import argparse

from argus.cli.answers import RegistersAnswer, emit
from argus.cli.reading import kernel_of
from argus.cli.usage import GOOD, INVALID
from argus.compile.cache import compile_cached
from argus.compile.compiler import Compiled
from argus.compile.live_set import LiveSet, LiveValue, live_set
from argus.compile.registers import FILE, SIMDS
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled


def handle(args: argparse.Namespace) -> int:
    program = scheduled(kernel_of(args))
    kernel = program.kernel
    found = live_set(kernel)
    made: Compiled | None = None
    refusal = ""
    try:
        made = compile_cached(program)
    except CompileError as error:
        refusal = str(error)
    if args.json:
        emit(RegistersAnswer, _to_json(kernel, found, made, refusal))
    else:
        print(_to_text(kernel, found, made, refusal, args.top))
    return GOOD if made is not None else INVALID


def _to_json(kernel: Kernel, found: LiveSet, made: Compiled | None, refusal: str) -> dict[str, object]:
    return {
        "kernel": kernel.name,
        "place": {"file": found.place.file, "line": found.place.line, "col": found.place.col},
        "live": found.registers,
        "budget": _budget(kernel, found),
        "addresses": None if found.plan is None else found.plan.addresses,
        "in_transit": None if found.plan is None else found.plan.spare,
        "values": [
            {"name": v.name, "line": v.line, "registers": v.registers, "last": v.last, "carried": v.carried}
            for v in found.values
        ],
        "vgprs": None if made is None else made.summary["vgprs"],
        "agprs": None if made is None else made.summary["agprs"],
        "refusal": refusal,
    }


def _to_text(kernel: Kernel, found: LiveSet, made: Compiled | None, refusal: str, top: int) -> str:
    file = kernel.file.rpartition("/")[2]
    head = f"{kernel.name}: about {found.registers} registers hold values at the fullest point"
    lines = [
        f"{head}, {file}:{found.place.line}; a wave has {_budget(kernel, found)}",
        f"{'registers':>11}  made at line  last used  what",
    ]
    lines += [_row(value) for value in found.values[:top]]
    rest = sum(value.registers for value in found.values[top:])
    lines += [f"{rest:>11}  {len(found.values) - top} others"] if rest else []
    if found.plan is not None:
        lines.append(f"besides: addresses {found.plan.addresses}, in transit {found.plan.spare}")
    if made is not None:
        lines.append(f"compiled: {made.summary['vgprs']} VGPRs, {made.summary['agprs']} AGPRs")
    return "\n".join([*lines, refusal] if refusal else lines)


def _row(value: LiveValue) -> str:
    what = f"{value.name}, carried by a loop" if value.carried else value.name
    return f"{value.registers:>11}  {value.line or '-':>12}  {value.last or '-':>9}  {what}"


def _budget(kernel: Kernel, found: LiveSet) -> int:
    waves = max(-(-kernel.waves // SIMDS), int(kernel.policies.get("waves_per_simd", 1)))
    return FILE // waves if found.plan is None else found.plan.budget
