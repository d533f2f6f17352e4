"""LLVM in its own process: reuse, rejection, abort, time-out. The parent never loads LLVM."""

from __future__ import annotations

import subprocess
import sys

import pytest

from argus.compile import backend
from argus.ir.compile_error import CompileError

KERNEL = """
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() { ret void }
"""

UNSELECTABLE = """
target triple = "amdgcn-amd-amdhsa"
declare <16 x float> @llvm.amdgcn.mfma.scale.f32.32x32x64.f8f6f4.v8i32.v8i32(<8 x i32>, <8 x i32>, <16 x float>,
    i32, i32, i32, i32, i32, i32)
define amdgpu_kernel void @k(ptr addrspace(1) %p, <8 x i32> %a, <16 x float> %c) {
  %r = call <16 x float> @llvm.amdgcn.mfma.scale.f32.32x32x64.f8f6f4.v8i32.v8i32(<8 x i32> %a, <8 x i32> %a,
    <16 x float> %c, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0)
  store <16 x float> %r, ptr addrspace(1) %p
  ret void
}
"""

INLINE_TEXT = """
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() {
  call void asm sideeffect "s_nop 0", ""()
  ret void
}
"""


def test_object_and_assembly() -> None:
    assert backend.run(KERNEL)[:4] == b"\x7fELF"
    assert b"s_endpgm" in backend.run(KERNEL, emit="assembly")


def test_one_worker_serves_many() -> None:
    backend.run(KERNEL)
    first = backend._worker
    backend.run(KERNEL)
    assert backend._worker is first


@pytest.mark.parametrize("module", [UNSELECTABLE, INLINE_TEXT], ids=["unselectable", "inline assembly text"])
def test_an_abort_is_a_coded_error_and_the_next_compile_works(module: str) -> None:
    """Both modules really kill LLVM: an intrinsic gfx942 lacks, and assembly text without an assembler."""
    with pytest.raises(CompileError) as caught:
        backend.run(module)
    assert caught.value.code == "C202"
    assert caught.value.details
    assert backend.run(KERNEL)[:4] == b"\x7fELF"


def test_text_llvm_cannot_parse_is_rejected_without_losing_the_worker() -> None:
    backend.run(KERNEL)
    worker = backend._worker
    with pytest.raises(CompileError) as caught:
        backend.run("define nonsense")
    assert caught.value.code == "C201"
    assert backend._worker is worker


def test_time_out() -> None:
    backend.stop()
    with pytest.raises(CompileError) as caught:
        backend.run(KERNEL, timeout=0.0)
    assert caught.value.code == "C203"
    assert backend.run(KERNEL)[:4] == b"\x7fELF"


def test_the_parent_never_imports_llvm() -> None:
    program = (
        "import sys\n"
        "from tests.ir import samples\n"
        "from argus.compile import compile_kernel\n"
        "from argus.ir.passes.schedule import scheduled\n"
        "compile_kernel(scheduled(samples.vadd()))\n"
        "print([m for m in sys.modules if m.startswith('llvmlite')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
