"""Where the HIP runtime of this machine is: the places Triton looks in, in the same order.

    for place in places(): print(place.how, place.file)
    already loaded      /usr/lib/python3/site-packages/torch/lib/libamdhip64.so
    ROCM_PATH           /opt/rocm-6.3.0/lib/libamdhip64.so
    system              libamdhip64.so

One process must have one HIP runtime: handles of streams, modules and memory mean nothing to another. So the library
that is already loaded (torch's, as a rule) comes first, then the one torch would load, then ROCm's wheels, `ROCM_PATH`,
`HIP_PATH`, and last what the system's loader finds, which knows `LD_LIBRARY_PATH` and `ldconfig`. `ARGUS_HIP_LIBRARY`
names one file and ends the search. Nothing is imported to find it, torch neither.

This file needs nothing but the standard library: its text, from NAME on, is part of every exported Python launcher.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

NAME = "libamdhip64.so"
SONAMES = (NAME, f"{NAME}.7", f"{NAME}.6", f"{NAME}.5")
LAST = Path("/opt/rocm")
OWN = "ARGUS_HIP_LIBRARY"
SYSTEM = "system"
PACKAGES = (("torch", "torch's own"), ("_rocm_sdk_core", "ROCm's wheels"))
"""Python packages that bring the library in a folder `lib`."""
MAPS = Path("/proc/self/maps")


class LibraryPlace(NamedTuple):
    """`file` is what the loader is given, `how` the rule that named it."""

    how: str
    file: str


def places() -> Iterator[LibraryPlace]:
    """Candidates in the order in which they are tried; all but the system's exist as files."""
    if own := os.environ.get(OWN):
        yield LibraryPlace(OWN, own)
        return
    for file in mapped(MAPS):
        yield LibraryPlace("already loaded", file)
    for package, how in PACKAGES:
        for folder in package_folders(package):
            yield from _in(folder / "lib", how)
    for variable in ("ROCM_PATH", "HIP_PATH"):
        if root := os.environ.get(variable):
            yield from _in(Path(root) / "lib", variable)
    for name in SONAMES:
        yield LibraryPlace(SYSTEM, name)
    yield from _in(LAST / "lib", str(LAST))


def mapped(maps: Path) -> list[str]:
    """Files of the HIP runtime in this process's address space, each once."""
    try:
        lines = maps.read_text().splitlines()
    except OSError:
        return []
    files = (line.split(maxsplit=5)[-1] for line in lines)
    return list(dict.fromkeys(file for file in files if Path(file).name.startswith(NAME) and Path(file).is_file()))


def package_folders(package: str) -> list[Path]:
    """The folders of an installed package, found without importing it."""
    loaded = getattr(sys.modules.get(package), "__path__", None)
    if loaded is not None:
        return [Path(folder) for folder in loaded]
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return [] if spec is None else [Path(folder) for folder in spec.submodule_search_locations or ()]


def _in(folder: Path, how: str) -> Iterator[LibraryPlace]:
    """The library in a folder: its plain name, else the newest of its numbered names."""
    plain = folder / NAME
    if plain.exists():
        yield LibraryPlace(how, str(plain))
        return
    for file in sorted(folder.glob(f"{NAME}.*"), reverse=True)[:1]:
        yield LibraryPlace(how, str(file))
