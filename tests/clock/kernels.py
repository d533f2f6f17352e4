"""Small LLVM IR kernels, compiled with llvmlite and run on the machine with a record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from argus import machine
from argus.gfx942.decoder import decode_all
from argus.gfx942.inst import Inst
from argus.machine.loader import KernelInfo, load_object
from argus.machine.record import ExecutionRecord


@cache
def _target() -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu="gfx942", opt=2)


def compile_ir(text: str) -> bytes:
    module = llvm.parse_assembly(f'target triple = "amdgcn-amd-amdhsa"\n{text}')
    module.verify()
    return bytes(_target().emit_object(module))


@dataclass(frozen=True)
class Run:
    record: ExecutionRecord
    insts: list[Inst]
    kernel: KernelInfo


def run(code: bytes, grid: int, block: int, *args: Any, workgroups: list[int] | None = None) -> Run:
    """Runs the only kernel of an object with a record."""
    loaded = load_object(code)
    (name,) = loaded.kernels
    kernel = loaded.kernels[name]
    options = machine.Options(record=True, workgroups=workgroups)
    result = machine.load(code).kernel(name)(grid, block, *args, options=options)
    assert result.record is not None
    return Run(result.record, decode_all(loaded.text, kernel.entry, kernel.end), kernel)


CHASE = """
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @chase(ptr addrspace(1) inreg %next, ptr addrspace(1) inreg %out, i32 inreg %steps) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %start = and i32 %lane, 0
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %more, %loop ]
  %at = phi i32 [ %start, %entry ], [ %to, %loop ]
  %wide = zext i32 %at to i64
  %p = getelementptr i8, ptr addrspace(1) %next, i64 %wide
  %to = load volatile i32, ptr addrspace(1) %p
  %more = add i32 %i, 1
  %again = icmp ult i32 %more, %steps
  br i1 %again, label %loop, label %done
done:
  store i32 %to, ptr addrspace(1) %out
  ret void
}
"""

SWEEP = """
@tile = internal addrspace(3) global [8192 x i32] undef, align 16
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @sweep(ptr addrspace(1) inreg %out, i32 inreg %stride, i32 inreg %steps) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %word = mul i32 %lane, %stride
  %p = getelementptr i32, ptr addrspace(3) @tile, i32 %word
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %more, %loop ]
  store volatile i32 %lane, ptr addrspace(3) %p
  %v = load volatile i32, ptr addrspace(3) %p
  %more = add i32 %i, 1
  %again = icmp ult i32 %more, %steps
  br i1 %again, label %loop, label %done
done:
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %v, ptr addrspace(1) %o
  ret void
}
"""

_MFMA = "<16 x float> @llvm.amdgcn.mfma.f32.32x32x8bf16.1k"
MATRIX = f"""
declare {_MFMA}(<4 x i16>, <4 x i16>, <16 x float>, i32, i32, i32)
define amdgpu_kernel void @chain(ptr addrspace(1) inreg %out, i32 inreg %steps, <4 x i16> inreg %a) {{
entry:
  %zero = call <16 x float> asm "", "=a,0"(<16 x float> zeroinitializer)
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %more, %loop ]
  %c = phi <16 x float> [ %zero, %entry ], [ %d, %loop ]
  %d0 = call {_MFMA}(<4 x i16> %a, <4 x i16> %a, <16 x float> %c, i32 0, i32 0, i32 0)
  %d1 = call {_MFMA}(<4 x i16> %a, <4 x i16> %a, <16 x float> %d0, i32 0, i32 0, i32 0)
  %d2 = call {_MFMA}(<4 x i16> %a, <4 x i16> %a, <16 x float> %d1, i32 0, i32 0, i32 0)
  %d = call {_MFMA}(<4 x i16> %a, <4 x i16> %a, <16 x float> %d2, i32 0, i32 0, i32 0)
  %more = add i32 %i, 1
  %again = icmp ult i32 %more, %steps
  br i1 %again, label %loop, label %done
done:
  store <16 x float> %d, ptr addrspace(1) %out
  ret void
}}
"""

STREAM = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
define amdgpu_kernel void @copy(ptr addrspace(1) inreg %from, ptr addrspace(1) inreg %to) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = mul i32 %group, 256
  %at = add i32 %first, %lane
  %p = getelementptr <4 x i32>, ptr addrspace(1) %from, i32 %at
  %q = getelementptr <4 x i32>, ptr addrspace(1) %to, i32 %at
  %v = load <4 x i32>, ptr addrspace(1) %p
  store <4 x i32> %v, ptr addrspace(1) %q
  ret void
}
"""

TABLE = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
define amdgpu_kernel void @lookup(ptr addrspace(1) inreg %table, ptr addrspace(1) inreg %to) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = mul i32 %group, 64
  %at = add i32 %first, %lane
  %word = shl i32 %lane, 2
  %p = getelementptr i32, ptr addrspace(1) %table, i32 %word
  %q = getelementptr i32, ptr addrspace(1) %to, i32 %at
  %v = load i32, ptr addrspace(1) %p
  store i32 %v, ptr addrspace(1) %q
  ret void
}
"""
