"""Small programs of our own in OpenCL C, thread for thread like a measured HIP program, compiled by Debian's clang-19.

    work("copy", SOURCE, grid=65536, threads=1024, args=(a, b, np.int32(n)))

hipcc and clang-19 share LLVM's AMDGPU back end, so loads and loops come out alike; Triton would choose its own. Objects
are kept in the cache of compiled kernels. `PRELUDE` names the thread and the block; functions begin with KERNEL.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from argus import machine
from argus.clock.sampled import Work
from argus.compile.cache import directory

CLANG, LINKER = "clang-19", "ld.lld-19"
TARGET = ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib", "-O3", "-mcode-object-version=5",
          "-cl-fp32-correctly-rounded-divide-sqrt")  # fmt: skip
"""Divisions are exact in HIP unless told otherwise, and are not in OpenCL C."""
PRELUDE = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define KERNEL __attribute__((reqd_work_group_size(THREADS, 1, 1))) kernel void
#define THREAD __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
#define BARRIER __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local"); __builtin_amdgcn_s_barrier(); \\
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local")
typedef float f4 __attribute__((ext_vector_type(4)));
typedef uint u4 __attribute__((ext_vector_type(4)));
typedef half h2 __attribute__((ext_vector_type(2)));
typedef half h8 __attribute__((ext_vector_type(8)));
"""


class ClangError(RuntimeError):
    """clang-19 is missing or did not compile a program."""


def compiled(source: str, defines: Mapping[str, Any]) -> bytes:
    """The code object, from the cache or from clang."""
    words = [f"-D{name}={value}" for name, value in defines.items()]
    text = PRELUDE + source
    key = hashlib.sha256("\0".join((text, *words, *TARGET)).encode()).hexdigest()[:32]
    entry = directory() / "opencl" / f"{key}.co"
    if entry.exists():
        return entry.read_bytes()
    if shutil.which(CLANG) is None or shutil.which(LINKER) is None:
        raise ClangError(f"{CLANG} and {LINKER} are not installed")
    with tempfile.TemporaryDirectory() as folder:
        program, made, linked = (Path(folder) / name for name in ("program.cl", "program.o", "program.co"))
        program.write_text(text)
        command = [CLANG, "-x", "cl", "-cl-std=CL2.0", *TARGET, *words, "-c", "-o", str(made), str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClangError(done.stderr)
        subprocess.run([LINKER, "-shared", "-o", str(linked), str(made)], check=True)
        code = linked.read_bytes()
    entry.parent.mkdir(parents=True, exist_ok=True)
    entry.write_bytes(code)
    return code


def work(
    name: str,
    source: str,
    *,
    grid: int,
    threads: int,
    args: Sequence[Any],
    bytes: float,
    lds: int = 0,
    **defines: Any,
) -> Work:
    """The launch of function `name`. `bytes`: what it moves; `lds`: dynamic LDS, to limit occupancy."""
    kernel = machine.load(compiled(source, {"THREADS": threads, **defines})).kernel(name)
    return Work(name, kernel, (grid,), (threads,), args, lds=lds, bytes=bytes)
