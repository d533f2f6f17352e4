"""`compile_kernel`: the whole way from kernel IR to a code object, and what comes with it.

    compiled = compile_kernel(program)
    compiled.object       bytes of the .hsaco
    compiled.sidecar      machine pc -> IR op -> source span, as JSON-able data
    compiled.llvm_ir      the module LLVM was given
    compiled.summary      registers, LDS, instruction counts

Steps, one module each (emission and LLVM again when instructions came out too close together, or when registers ran
out and the accumulators can go elsewhere): scheduling, register plan, emission, LLVM in its own process, line table,
link, audit. A failed audit is a `CompileError`: an object that is not what the IR says never leaves this function.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from argus.compile import audit, backend, lineinfo, linker, wait_states
from argus.compile.emit import emit
from argus.compile.fitting import fit
from argus.compile.registers import RegisterPlan, plan
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.known_ops import refuse_unknown_ops
from argus.ir.ops import walk
from argus.ir.stages import Scheduled

SIDECAR_VERSION = 1


@dataclass(frozen=True, slots=True)
class Compiled:
    name: str
    object: bytes
    sidecar: dict[str, Any]
    llvm_ir: str
    plan: RegisterPlan
    audit: audit.Audit

    @property
    def summary(self) -> dict[str, Any]:
        found = self.audit
        return {
            "kernel": self.name,
            "bytes": len(self.object),
            "sha256": self.sidecar["object_sha256"],
            "vgprs": found.vgprs,
            "agprs": found.agprs,
            "sgprs": found.sgprs,
            "lds_bytes": found.lds_bytes,
            "instructions": dict(found.classes),
        }

    def describe(self) -> str:
        found = self.audit
        counts = ", ".join(f"{count} {name}" for name, count in found.classes.items())
        return (
            f"{len(self.object)} bytes, {found.vgprs} VGPRs + {found.agprs} AGPRs, {found.sgprs} SGPRs, "
            f"{found.lds_bytes} bytes of LDS; {counts}"
        )


def compile_kernel(program: Scheduled) -> Compiled:
    """Compile one program; raises CompileError with a code, a sentence and the source line."""
    kernel = program.kernel
    refuse_unknown_ops(kernel)
    if kernel.lds_bytes > kernel.target.lds_bytes:
        raise CompileError(
            "C110",
            f"the kernel uses {kernel.lds_bytes} bytes of LDS, a workgroup has {kernel.target.lds_bytes}",
            kernel.span,
            tuple(f"{b.name}: {b.bytes} bytes at {b.base}" for b in kernel.shared),
        )
    return fit(kernel, plan(kernel), lambda registers: _made(kernel, registers))


def _made(kernel: Kernel, registers: RegisterPlan) -> Compiled:
    idle: dict[int, int] = {}
    for _ in range(wait_states.ROUNDS):
        module = emit(kernel, registers, apart=idle)
        relocatable = backend.run(module.text)
        code_object = linker.link(relocatable)
        pcs = lineinfo.op_at_pc(relocatable, kernel.name)
        found = audit.audit(kernel, registers, code_object, pcs)
        short = wait_states.wanted(code_object, kernel.name, found.pcs, idle)
        if not short:
            map_ = sidecar(kernel, code_object, found.pcs)
            return Compiled(kernel.name, code_object, map_, module.text, registers, found)
        idle = idle | short
    raise wait_states.failure(kernel, code_object)


def sidecar(kernel: Kernel, code_object: bytes, pcs: list[tuple[int, int]]) -> dict[str, Any]:
    """The map from machine code to source, in the form of docs/interfaces.md."""
    ops = [
        {
            "id": op.id,
            "op": type(op).__name__.lower(),
            "span": [op.span.file, op.span.line, op.span.col, op.span.end_line, op.span.end_col],
            "site": dict(op.site),
        }
        for op in walk(kernel.body)
    ]
    return {
        "version": SIDECAR_VERSION,
        "kernel": kernel.name,
        "object_sha256": hashlib.sha256(code_object).hexdigest(),
        "sources_sha256": {file: hashlib.sha256(text.encode()).hexdigest() for file, text in kernel.files()},
        "ops": ops,
        "pcs": [list(row) for row in pcs],
    }
