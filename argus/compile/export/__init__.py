"""A compiled kernel as files that need no Argus: code object, launchers for C++ and Python, manifest with hashes.

    export(kernel, compiled, Path("out"))  ->
        out/gemm.hsaco               the code object
        out/gemm.hsaco.map.json      machine pc -> source (for tools; not needed to run)
        out/gemm.hpp                 C++: `argus::gemm kernel("gemm.hsaco"); kernel.launch(stream, A, B, C, M, N, K);`
        out/gemm_launch.py           Python: `Gemm("gemm.hsaco")(A, B, C)` on torch tensors or anything with data_ptr
        out/gemm.manifest.json       signature, conditions, grid, settings, hashes of the files

Both launchers evaluate the kernel's `requires`, the ranges of its sizes, byte extents below 2**31, alignment and
overlap of outputs before every launch and refuse otherwise, because everything proved about the kernel assumes them.
A launch in which a size is zero and no workgroup is left returns at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argus.compile.compiler import Compiled
from argus.compile.export.cpp import cpp_launcher
from argus.compile.export.python import python_launcher
from argus.compile.recheck import recheck
from argus.ir.kernel import Kernel
from argus.ir.stages import Scheduled

MANIFEST_VERSION = 1


def export(
    program: Scheduled, compiled: Compiled, directory: Path, proof: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write everything into `directory`; `proof` is the checker's report in its JSON form, if there is one. What the
    hazard rules say of the decoded object is added to it; a refutation is a CompileError."""
    kernel = program.kernel
    directory.mkdir(parents=True, exist_ok=True)
    files: dict[str, bytes] = {
        f"{kernel.name}.hsaco": compiled.object,
        f"{kernel.name}.hsaco.map.json": json.dumps(compiled.sidecar).encode(),
        f"{kernel.name}.hpp": cpp_launcher(kernel).encode(),
        f"{kernel.name}_launch.py": python_launcher(kernel).encode(),
    }
    if proof is not None:
        found = {
            **proof,
            "object": {"sha256": compiled.sidecar["object_sha256"], **recheck(program, compiled).to_json()},
        }
        files[f"{kernel.name}.proof.json"] = json.dumps(found, indent=1).encode()
    manifest = {**describe(kernel, compiled), "files": {n: hashlib.sha256(d).hexdigest() for n, d in files.items()}}
    files[f"{kernel.name}.manifest.json"] = json.dumps(manifest, indent=1).encode()
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return [directory / name for name in files]


def describe(kernel: Kernel, compiled: Compiled) -> dict[str, Any]:
    """What a launcher in any language needs to know."""
    return {
        "version": MANIFEST_VERSION,
        "kernel": kernel.name,
        "target": "amdgcn-amd-amdhsa--gfx942:sramecc+",
        "code_object_version": 5,
        "threads": kernel.threads,
        "lds_bytes": kernel.lds_bytes,
        "grid": [str(extent) for extent in kernel.grid],
        "tensors": [
            {
                "name": t.name,
                "dtype": t.dtype.name,
                "shape": [str(extent) for extent in t.shape],
                "strides": [str(stride) for stride in t.strides],
                "written": t.written,
            }
            for t in kernel.tensors
        ],
        "scalars": [{"name": s.name, "dtype": s.dtype.name} for s in kernel.scalars],
        "sizes": [{"name": s.name, "lo": s.lo, "hi": s.hi} for s in kernel.shapes],
        "requires": [str(condition) for condition in kernel.requires],
        "settings": dict(kernel.settings),
        "registers": {key: compiled.summary[key] for key in ("vgprs", "agprs", "sgprs")},
    }
