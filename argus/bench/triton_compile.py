"""Kernels of Triton compiled by the Triton installed here, in a process of their own, and kept.

    job = Job(SOURCE, "matmul", {"a": "*bf16", "m": "i32"}, fixed={"BM": 64}, aligned=(0, 1), options={"num_warps": 4})
    compiled(job, "64x64, 4 waves")                         -> (code object, bytes of LDS)

The worker is `python -m argus.bench.triton_compile`: Triton's LLVM and ours do not share a process, and what Triton
cannot compile only loses its worker. Objects are kept in the cache of compiled kernels, by job, environment and
Triton's version.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from argus.bench.kept import Passing, mark
from argus.compile.cache import directory

TIMEOUT = 300


class TritonError(RuntimeError):
    """Triton is not installed or did not compile the configuration."""


class TooSlowError(TritonError, Passing):
    """Triton took too long; a quieter machine may do better."""


@dataclass(frozen=True, slots=True)
class Job:
    """A source, its function, types of the arguments, constants, arguments divisible by 16, options of Triton."""

    source: str
    function: str
    types: Mapping[str, str]
    fixed: Mapping[str, int | bool | float]
    aligned: tuple[int, ...]
    options: Mapping[str, int]


def version() -> str:
    try:
        return metadata.version("triton")
    except metadata.PackageNotFoundError as error:
        raise TritonError("triton is not installed; the column stays empty") from error


def identity(source: str) -> str:
    """Triton and a source, as words of a kept time."""
    return f"triton {version()} {mark(source)}"


def compiled(job: Job, name: str, told: Mapping[str, str] | None = None) -> tuple[bytes, int]:
    """The code object and its LDS, from the cache or from a worker with the environment `told`."""
    words = json.dumps(asdict(job))
    told = dict(told or {})
    key = hashlib.sha256("\0".join((words, json.dumps(told), version())).encode()).hexdigest()[:32]
    entry = directory() / "triton" / key
    facts = entry.with_suffix(".json")
    if not facts.exists():
        entry.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "argus.bench.triton_compile", str(entry)]
        try:
            done = subprocess.run(
                command, input=words, capture_output=True, text=True, timeout=TIMEOUT, check=False,
                env={**os.environ, **told},
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise TooSlowError(f"{name}: not compiled within {TIMEOUT} s") from error
        if done.returncode or not facts.exists():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise TritonError(f"{name}: {last}")
    return entry.with_suffix(".hsaco").read_bytes(), int(json.loads(facts.read_text())["lds"])


def work(job: Job, out: str) -> None:
    """What a worker does: compile and write the object, then its facts."""
    from importlib import import_module, util

    script = Path(f"{out}.py")
    script.write_text(job.source)
    spec = util.spec_from_file_location("triton_source", script)
    if spec is None or spec.loader is None:
        raise TritonError("the source cannot be imported")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    triton: Any = import_module("triton")
    compiler: Any = import_module("triton.compiler")
    target: Any = import_module("triton.backends.compiler").GPUTarget("hip", "gfx942", 64)
    source = compiler.ASTSource(
        fn=getattr(module, job.function),
        signature={**job.types, **dict.fromkeys(job.fixed, "constexpr")},
        constexprs=dict(job.fixed),
        attrs={(at,): [["tt.divisibility", 16]] for at in job.aligned},
    )
    made = triton.compile(source, target=target, options=dict(job.options))
    Path(f"{out}.hsaco").write_bytes(made.asm["hsaco"])
    Path(f"{out}.json").write_text(json.dumps({"lds": made.metadata.shared}))


if __name__ == "__main__":
    work(Job(**json.loads(sys.stdin.read())), sys.argv[1])
