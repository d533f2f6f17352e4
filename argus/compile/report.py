"""What the machine code of a kernel looks like: a table per loop, waits against the plan, assembly beside the source.

    loop at pc 0x2c4, gemm.py:36     88 instructions, 32 matrix (1024 clocks), 1.8 others per matrix instruction
        mfma 32  ds_read 16  ds_write 8  load 8  salu 3  wait 18  barrier 2  branch 1
        waits  lgkmcnt(0) x6  vmcnt(7) ...

The plan of waits comes from `argus.ir.passes.insert_waits`: the fewest waits that make every register's data be there.
A wait of the object that is stronger than the plan is listed: it comes from registers used again while a load into
them is still under way, or from paths that meet, and it may cost time. Where the object waits less than the plan, LLVM
knows that a path of the plan cannot happen; waits that the kernel itself states are held by the audit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, assert_never

from argus.compile.compiler import Compiled
from argus.compile.decoded import Decoded, decode
from argus.compile.matching import EVENTS, attribute
from argus.gfx942.disasm import text as instruction_text
from argus.gfx942.mfma import MFMA
from argus.gfx942.waits import LGKM_MAX, VM_MAX
from argus.gfx942.waits import decode as decode_wait
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.stages import Scheduled
from argus.ir.types import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class ObjectLoop:
    """One loop of the object: byte range, counts, and the source line of its first op."""

    first_pc: int
    last_pc: int
    span: Span
    classes: dict[str, int]
    matrix_clocks: int
    waits: dict[str, int]

    @property
    def instructions(self) -> int:
        return sum(self.classes.values())

    @property
    def others_per_matrix(self) -> float | None:
        matrix = self.classes.get("mfma", 0)
        return (self.instructions - matrix) / matrix if matrix else None

    def to_json(self) -> dict[str, Any]:
        return {
            "pc": [self.first_pc, self.last_pc],
            "line": self.span.line,
            "instructions": self.instructions,
            "classes": self.classes,
            "matrix_clocks": self.matrix_clocks,
            "waits": self.waits,
        }


@dataclass(frozen=True, slots=True)
class Stronger:
    """Before the op, the object waits for more than the data needs."""

    op: int
    span: Span
    planned: tuple[int, int]
    found: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ObjectReport:
    compiled: Compiled
    loops: list[ObjectLoop]
    stronger: list[Stronger]
    listing: list[tuple[int, str, Span]]
    entry: int

    def to_json(self) -> dict[str, Any]:
        return {
            **self.compiled.summary,
            "loops": [loop.to_json() for loop in self.loops],
            "stronger_waits": [
                {"op": s.op, "line": s.span.line, "planned": list(s.planned), "found": list(s.found)}
                for s in self.stronger
            ],
        }


def report(program: Scheduled, compiled: Compiled) -> ObjectReport:
    """The report of a compiled program."""
    final = program.kernel
    code = decode(compiled.object, final.name)
    made_by = attribute(code, [(pc, op) for pc, op in compiled.sidecar["pcs"]])
    spans = {op.id: op.span for op in ops.walk(final.body)}
    listing = [
        (inst.pc, instruction_text(inst), spans.get(op, NOWHERE)) for inst, op in zip(code.insts, made_by, strict=True)
    ]
    loops = [_loop(code, first, last, made_by, spans) for first, last in code.loops]
    return ObjectReport(compiled, loops, _stronger(final, code, made_by), listing, code.entry)


def _loop(code: Decoded, first: int, last: int, made_by: list[int], spans: dict[int, Span]) -> ObjectLoop:
    inside = range(first, last + 1)
    clocks = sum(MFMA[code.insts[n].op].cycles for n in inside if code.insts[n].op in MFMA)
    waits = Counter(
        instruction_text(code.insts[n]).removeprefix("s_waitcnt ") for n in inside if code.kinds[n] == "wait"
    )
    span = next((spans[made_by[n]] for n in inside if made_by[n] in spans), NOWHERE)
    counts = Counter(code.kinds[n] for n in inside)
    classes = {name: counts[name] for name in code.classes if counts[name]}
    return ObjectLoop(code.insts[first].pc, code.insts[last].pc, span, classes, clocks, dict(waits.most_common()))


def _stronger(kernel: Kernel, code: Decoded, made_by: list[int]) -> list[Stronger]:
    """Gaps between memory and matrix instructions in which the object waits for more than the plan."""
    planned: dict[int, tuple[int, int]] = {}
    vm, lgkm = VM_MAX, LGKM_MAX
    spans: dict[int, Span] = {}
    for op in ops.walk(insert_waits(kernel).body):
        spans[op.id] = op.span
        match op:
            case ops.Wait():
                vm = min(vm, VM_MAX if op.vm is None else op.vm)
                lgkm = min(lgkm, LGKM_MAX if op.lgkm is None else op.lgkm)
            case ops.Mfma() | ops.Load() | ops.Store() | ops.Atomic() | ops.CopyToLds():
                planned[op.id] = (vm, lgkm)
                vm, lgkm = VM_MAX, LGKM_MAX
            case ops.Barrier():
                planned[op.id] = (vm, lgkm if op.bare else 0)
                vm, lgkm = VM_MAX, LGKM_MAX
            case (
                ops.Constant()
                | ops.Index()
                | ops.Symbol()
                | ops.Map()
                | ops.Convert()
                | ops.Bitcast()
                | ops.Registers()
                | ops.Lanes()
                | ops.Instruction()
                | ops.SetPrio()
                | ops.For()
                | ops.If()
                | ops.Schedule()
                | ops.Tag()
                | ops.Check()
            ):
                pass
            case _:
                assert_never(op)
    result: list[Stronger] = []
    vm, lgkm = VM_MAX, LGKM_MAX
    for inst, kind, op_id in list(zip(code.insts, code.kinds, made_by, strict=True))[code.entry :]:
        if inst.op == "s_waitcnt":
            waits = decode_wait(inst.operands[0].value)
            vm, lgkm = min(vm, waits.vm), min(lgkm, waits.lgkm)
        elif kind in EVENTS:
            plan = planned.get(op_id)
            if plan is not None and (vm < plan[0] or lgkm < plan[1]):
                result.append(Stronger(op_id, spans[op_id], plan, (vm, lgkm)))
            vm, lgkm = VM_MAX, LGKM_MAX
    return result


def to_text(found: ObjectReport, assembly: bool = False) -> str:
    """The report for a terminal; with `assembly` the listing too, each instruction with the line that asked for it."""
    lines = [f"{found.compiled.name}: {found.compiled.describe()}"]
    for loop in found.loops:
        density = loop.others_per_matrix
        matrix = f", {loop.matrix_clocks} matrix clocks, {density:.2f} others per matrix instruction" if density else ""
        place = f", {loop.span.file}:{loop.span.line}" if loop.span.line else ""
        lines.append(f"\nloop at pc {loop.first_pc:#x}{place}: {loop.instructions} instructions{matrix}")
        lines.append("    " + "  ".join(f"{name} {count}" for name, count in loop.classes.items()))
        if loop.waits:
            lines.append("    waits  " + "  ".join(f"{wait} x{count}" for wait, count in loop.waits.items()))
    if found.stronger:
        lines.append(f"\nwaits stronger than the data needs: {len(found.stronger)}")
        for s in found.stronger[:20]:
            lines.append(
                f"    {s.span.file}:{s.span.line}  vm {s.found[0]} (needed {s.planned[0]}), "
                f"lgkm {s.found[1]} (needed {s.planned[1]})"
            )
    if found.compiled.audit.unneeded:
        lines.append(f"\nloads left out because nothing depends on them: {len(found.compiled.audit.unneeded)}")
    if assembly:
        lines.append("")
        last = NOWHERE
        for pc, text, span in found.listing[found.entry :]:
            mark = f"; {span.file}:{span.line}" if span.line and span != last else ""
            lines.append(f"{pc:6x}  {text:<72}{mark}".rstrip())
            last = span
    return "\n".join(lines)
