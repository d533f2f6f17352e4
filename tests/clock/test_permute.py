"""Lane exchange goes through the LDS queue and its counter although it touches no address."""

from __future__ import annotations

import numpy as np
from kernels import compile_ir, run

from argus.clock import time_record
from argus.clock.program import Reason

PERMUTE = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
define amdgpu_kernel void @rotate(ptr addrspace(1) inreg %out) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %next = add i32 %lane, 1
  %byte = shl i32 %next, 2
  %v = call i32 @llvm.amdgcn.ds.bpermute(i32 %byte, i32 %lane)
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %v, ptr addrspace(1) %o
  ret void
}
"""


def test_bpermute_costs_its_published_latency() -> None:
    out = np.zeros(64, np.int32)
    done = run(compile_ir(PERMUTE), 1, 64, out)
    assert list(out) == [(lane + 1) % 64 for lane in range(64)]
    timing = time_record(done.record, done.insts, done.kernel, resident=1)
    assert 30 <= timing.reasons[Reason.WAIT_LDS] <= 54
