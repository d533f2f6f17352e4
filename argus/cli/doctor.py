"""`argus doctor`: what this machine can do, and on an MI300X how its times compare with the simulated ones.

    $ argus doctor
    argus 0.1.0, Python 3.11.5, Linux x86_64, 2 cores, 7.7 GiB
    packages       llvmlite 0.50.0, z3-solver 5.4.0.0, numpy 2.4.6, …
    extras         bench, test; torch lacks torch (pip install 'argus-kernels[torch]')
    llvm-objdump   /usr/bin/llvm-objdump-19
    HIP            none: no HIP runtime: tried libamdhip64.so, …
    …

Exit code 1 if something is broken: a required package that is missing or of another version, a self-test with a wrong
result. A machine without a GPU is not broken; nothing of Argus but `--device hip` needs one.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from argus import __version__
from argus.agent.judge.measure import MeasuringBench
from argus.cli.answers import DoctorAnswer, emit
from argus.cli.history import folder as journal_folder
from argus.cli.self_test import CASES, self_test
from argus.cli.usage import GOOD, WRONG
from argus.compile.cache import directory
from argus.device.hip import TARGET
from argus.device.hip_calls import HipCalls, HipError, load
from argus.machine.corpus import find_objdump

DISTRIBUTION = "argus-kernels"
REQUIREMENT = re.compile(
    r"""(?P<name>[\w.-]+)(?:\[[\w,]+\])?\s*(?P<spec>[^;]*?)\s*(?:;.*extra == ["'](?P<extra>[\w-]+)["'].*)?$"""
)


def handle(args: argparse.Namespace) -> int:
    found = examined(journal_folder(args), run=not args.no_run)
    if args.json:
        emit(DoctorAnswer, found)
    else:
        print(to_text(found))
    return WRONG if broken(found) else GOOD


def examined(journal: Path, run: bool = True) -> dict[str, Any]:
    """Everything there is to say; `run` allows the self-test where there is a gfx942."""
    calls, hip = _hip()
    chips = [gpu for gpu in hip["devices"] if gpu["usable"]]
    tested = None
    if run and chips and calls is not None:
        tested = self_test(calls, CASES, MeasuringBench(calls))
    return {
        "argus": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "packages": list(_packages(_requirements())),
        "objdump": find_objdump(),
        "hip": hip,
        "caches": list(_caches(journal)),
        "self_test": tested,
    }


def broken(found: dict[str, Any]) -> list[str]:
    """What does not work although it should."""
    packages = [p["name"] for p in found["packages"] if p["extra"] is None and not p["fits"]]
    return packages + [case["kernel"] for case in found["self_test"] or () if not case["right"]]


def _requirements() -> list[str]:
    """What the installed distribution says it needs; nothing for a source tree that was never installed."""
    try:
        return metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []


def _packages(requirements: list[str]) -> Iterator[dict[str, Any]]:
    for text in requirements:
        match = REQUIREMENT.match(text)
        if match is None:
            continue
        try:
            version: str | None = metadata.version(match["name"])
        except metadata.PackageNotFoundError:
            version = None
        fits = version is not None and all(fits_spec(version, one) for one in match["spec"].split(",") if one)
        yield {
            "name": match["name"], "wanted": match["spec"], "extra": match["extra"], "version": version, "fits": fits,
        }  # fmt: skip


def fits_spec(version: str, spec: str) -> bool:
    """Whether a version keeps one condition of ours: `==1.2.3`, `==1.2.*` or `>=1.2`."""
    operator, wanted = spec.strip()[:2], spec.strip()[2:].strip()
    have = [int(part) for part in re.findall(r"\d+", version.partition("+")[0])]
    want = [int(part) for part in re.findall(r"\d+", wanted)]
    if operator == ">=":
        return have >= want
    return have[: len(want)] == want if wanted.endswith(".*") else have == want


def _hip() -> tuple[HipCalls | None, dict[str, Any]]:
    try:
        calls = load()
        place = calls.library()
        devices = [
            {
                "number": number,
                "name": calls.device_name(number),
                "architecture": calls.architecture(number),
                "bytes": calls.device_bytes(number),
                "usable": calls.architecture(number).split(":")[0] == TARGET,
            }
            for number in range(calls.device_count())
        ]
    except HipError as error:
        nothing: dict[str, Any] = {"library": None, "found_by": None, "version": None, "devices": []}
        return None, {**nothing, "error": str(error), "code": error.code}
    found = {"library": place.file, "found_by": place.how, "version": _dotted(calls.runtime_version())}
    return calls, {**found, "devices": devices, "error": None, "code": None}


def _dotted(version: int) -> str:
    """HIP's number for a release: 60342133 is 6.3.42133."""
    return f"{version // 10_000_000}.{version // 100_000 % 100}.{version % 100_000}"


def _caches(journal: Path) -> Iterator[dict[str, Any]]:
    """Folders that can be deleted at any time, and the journal, which cannot."""
    root = directory()
    named: dict[str, list[Path]] = {}
    for folder in sorted(path for path in root.glob("*") if path.is_dir()):
        named.setdefault("objects" if len(folder.name) == 2 else folder.name, []).append(folder)
    for name, folders in named.items():
        files, size = _measured(folders)
        yield {"name": name, "path": str(root if name == "objects" else folders[0]), "files": files, "bytes": size}
    if journal.is_dir():
        files, size = _measured([journal])
        yield {"name": "journal", "path": str(journal), "files": files, "bytes": size}


def _measured(folders: list[Path]) -> tuple[int, int]:
    files = size = 0
    for folder in folders:
        for at, _, names in os.walk(folder):
            files += len(names)
            size += sum(os.path.getsize(path) for name in names if os.path.exists(path := os.path.join(at, name)))
    return files, size


def to_text(found: dict[str, Any]) -> str:
    """For people: one line per thing, in the order of the answer."""
    machine = f"{found['system']}, {found['cores']} cores, {_bytes(found['memory_bytes'])}"
    lines = [f"argus {found['argus']}, Python {found['python']}, {machine}"]
    own = [package for package in found["packages"] if package["extra"] is None]
    lines.append(_row("packages", ", ".join(map(_package, own))))
    lines.append(_row("extras", "; ".join(_extras(found["packages"])) or "none"))
    lines.append(_row("llvm-objdump", found["objdump"] or "none that knows gfx942; only tests and `--objdump` use it"))
    hip = found["hip"]
    lines.append(_row("HIP", hip["error"] or f"{hip['version']}, {hip['library']} ({hip['found_by']})"))
    for gpu in hip["devices"]:
        told = "" if gpu["usable"] else f", no {TARGET}: not used"
        lines.append(
            _row(f"GPU {gpu['number']}", f"{gpu['name']}, {gpu['architecture']}, {_bytes(gpu['bytes'])}{told}")
        )
    for cache in found["caches"]:
        lines.append(_row(cache["name"], f"{cache['files']} files, {_bytes(cache['bytes'])} in {cache['path']}"))
    lines += _self_test_lines(found)
    return "\n".join(lines)


def _self_test_lines(found: dict[str, Any]) -> list[str]:
    if found["self_test"] is None:
        usable = any(gpu["usable"] for gpu in found["hip"]["devices"])
        why = "--no-run" if usable else f"no {TARGET}; kernels run and are timed on the simulated one"
        return [_row("self-test", f"not run: {why}")]
    rows = [_row("self-test", "cold caches, HIP events; measured on GPU against simulated (model's interval)")]
    for case in found["self_test"]:
        name = " ".join([case["kernel"], *(f"{k}={v}" for k, v in case["shape"].items())])
        measured, simulated = case["measured"], case["simulated"]
        told = f"{simulated['microseconds']:.1f} µs simulated ({simulated['low']:.1f} to {simulated['high']:.1f})"
        if measured is not None:
            spread = f"({measured['p10']:.1f} to {measured['p90']:.1f})"
            ratio = f"measured/simulated {case['ratio']:.2f} ({case['ratio_low']:.2f} to {case['ratio_high']:.2f})"
            told += f", {measured['microseconds']:.1f} µs measured {spread}, {ratio}"
        rows.append(
            f"  {name}: {'right' if case['right'] else 'WRONG'}, {told}" + (case["error"] and f"; {case['error']}")
        )
    return rows


def _row(name: str, text: str) -> str:
    return f"{name:<14} {text}"


def _package(package: dict[str, Any]) -> str:
    if package["version"] is None:
        return f"{package['name']} MISSING"
    return f"{package['name']} {package['version']}" + ("" if package["fits"] else f" (needs {package['wanted']})")


def _extras(packages: list[dict[str, Any]]) -> Iterator[str]:
    """Complete extras by name; of the others what they lack."""
    for extra in sorted({package["extra"] for package in packages} - {None}):
        lacking = [_package(p) for p in packages if p["extra"] == extra and not p["fits"]]
        hint = f" lacks {', '.join(lacking)} (pip install '{DISTRIBUTION}[{extra}]')" if lacking else " complete"
        yield f"{extra}{hint}"


def _bytes(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    power = min(3, (count.bit_length() - 1) // 10)
    return f"{count / 1024**power:.1f} {('KiB', 'MiB', 'GiB')[power - 1]}"
