"""Compiled kernels on disk, found by content.

The key is everything the result depends on: the kernel file's text, its settings, which kernel of it, the target, the
compiler's own source files and LLVM's version. A kernel that was not read from a file (built by hand) has no text and
is not cached.

    compile_cached(kernel)      the entry if there is one, else compile and keep

An entry is one directory: object, sidecar, LLVM IR and facts, written under another name and moved into place, so that
two processes may work at once. An entry whose object does not match the hash in its sidecar is made anew.

Where: `$ARGUS_CACHE`, else `$XDG_CACHE_HOME/argus`, else `~/.cache/argus`; deleting it is always safe.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from argus.compile.audit import Audit
from argus.compile.compiler import Compiled, compile_kernel
from argus.compile.registers import RegisterPlan
from argus.ir.kernel import Kernel
from argus.ir.stages import Scheduled
from argus.provenance import digest


def directory() -> Path:
    own = os.environ.get("ARGUS_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(own) if own else (Path(base) if base else Path.home() / ".cache") / "argus"


def toolchain() -> str:
    """A digest of the code that turns a kernel file into an object."""
    roots = ("argus.lang.reader", "argus.ir.passes.schedule", "argus.compile.compiler", "argus.compile.worker")
    return digest(*roots, versions=("llvmlite",))


def key(kernel: Kernel) -> str | None:
    """The name of the kernel's entry; None if the kernel has no source text."""
    if not kernel.source:
        return None
    settings = json.dumps(dict(kernel.settings), sort_keys=True)
    parts = (toolchain(), kernel.target.key, kernel.file, kernel.name, settings, kernel.full_source)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def compile_cached(program: Scheduled) -> Compiled:
    """`compile_kernel`, remembered."""
    name = key(program.kernel)
    if name is None:
        return compile_kernel(program)
    entry = directory() / name[:2] / name
    found = _read(entry)
    if found is None:
        found = compile_kernel(program)
        _write(entry, found)
    return found


def _read(entry: Path) -> Compiled | None:
    try:
        facts: dict[str, Any] = json.loads((entry / "facts.json").read_text())
        code = (entry / "object.hsaco").read_bytes()
        sidecar: dict[str, Any] = json.loads((entry / "map.json").read_text())
        if hashlib.sha256(code).hexdigest() != sidecar["object_sha256"]:
            return None
        plan = RegisterPlan(**facts["plan"], candidates=frozenset(), in_agprs=frozenset())
        pcs = [(pc, op) for pc, op in sidecar["pcs"]]
        audit = Audit(**{**facts["audit"], "unneeded": tuple(facts["audit"]["unneeded"]), "pcs": pcs})
        return Compiled(facts["name"], code, sidecar, (entry / "kernel.ll").read_text(), plan, audit)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(entry: Path, compiled: Compiled) -> None:
    plan = compiled.plan
    facts = {
        "name": compiled.name,
        "plan": {
            "live": plan.live,
            "addresses": plan.addresses,
            "accumulators": plan.accumulators,
            "spare": plan.spare,
            "agprs": plan.agprs,
            "waves_per_simd": plan.waves_per_simd,
        },
        "audit": {key: value for key, value in asdict(compiled.audit).items() if key != "pcs"},
    }
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=entry.parent))
    except OSError:
        return
    (made / "object.hsaco").write_bytes(compiled.object)
    (made / "map.json").write_text(json.dumps(compiled.sidecar))
    (made / "kernel.ll").write_text(compiled.llvm_ir)
    (made / "facts.json").write_text(json.dumps(facts))
    shutil.rmtree(entry, ignore_errors=True)
    try:
        made.replace(entry)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
