"""HIP C++ to a gfx942 code object, by the clang of this machine and our own few declarations (`hip_header.py`).

    compiled(text, ("-O3",), clang(None))        -> bytes of a code object

Any clang from 17 on with the AMDGPU target and its lld does; Debian's `clang-19 lld-19` have both. ROCm is not needed.
Objects are kept in the cache of compiled kernels, by text, header, flags and the compiler's version.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from argus.bench.agents import hip_header
from argus.bench.agents.refusal import SolutionRefused
from argus.compile.cache import directory

NAMES = ("clang-19", "clang-20", "clang-21", "clang-22", "clang-18", "clang-17", "clang")
OLDEST = 17
"""The first clang that knows gfx942."""
TIMEOUT = 120
FIXED = (
    "-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib",
    "-nostdinc", "-fdeclspec", "-D__HIP_PLATFORM_AMD__=1", "-ferror-limit=1",
)  # fmt: skip


class ClangMissing(SolutionRefused):
    """There is no clang that knows gfx942."""


@dataclass(frozen=True, slots=True)
class Clang:
    """A compiler and its version."""

    path: str
    version: str


def clang(named: str | None, names: Sequence[str] = NAMES) -> Clang:
    """The compiler that was named, else the first of `names` on the path that knows gfx942."""
    for name in [named] if named is not None else names:
        path = shutil.which(name)
        version = "" if path is None else _version(path)
        if path is not None and int(version.partition(".")[0] or 0) >= OLDEST:
            return Clang(path, version)
    looked = named or ", ".join(names)
    raise ClangMissing(f"no clang {OLDEST} or later ({looked}); on Debian: apt-get install clang-19 lld-19")


def _version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"clang version (\d+[\d.]*)", done.stdout)
    return found[1] if found else ""


def compiled(text: str, flags: Sequence[str], compiler: Clang) -> bytes:
    """The code object; SolutionRefused carries the compiler's first error."""
    words = "\0".join((text, hip_header.SOURCE, *FIXED, *flags, compiler.version))
    entry = directory() / "hip" / f"{hashlib.sha256(words.encode()).hexdigest()[:32]}.co"
    if entry.exists():
        return entry.read_bytes()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        header, source, out = folder / "argus_hip.h", folder / "kernel.hip", folder / "kernel.co"
        header.write_text(hip_header.SOURCE, encoding="utf-8")
        source.write_text(text, encoding="utf-8")
        command = [compiler.path, *FIXED, *flags, "-include", str(header), str(source), "-o", str(out)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=folder)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SolutionRefused(f"{compiler.path}: {error}") from error
        if done.returncode or not out.exists():
            raise SolutionRefused(f"does not compile: {_first_error(done.stderr)}")
        made = out.read_bytes()
    entry.parent.mkdir(parents=True, exist_ok=True)
    entry.write_bytes(made)
    return made


def _first_error(said: str) -> str:
    """The first message and the line it is about."""
    lines = said.splitlines()
    for number, line in enumerate(lines):
        if "error: " in line:
            about = lines[number + 1].partition("|")[2].strip() if number + 1 < len(lines) else ""
            return line.partition("error: ")[2] + (f" (`{about}`)" if about else "")
    return lines[-1] if lines else "no message"
