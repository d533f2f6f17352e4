"""Proofs kept on disk, found by what they are about, and replayed.

    check_cached(kernel)        the certificate kept for this very program replayed, else decided now and kept

The key is everything a verdict depends on: the text of the IR (program, sizes, requirements, specification, places in
the source), the kernel's source (which reports quote), the source files of the checker and of what it stands on, and
Z3's version. Any difference is another key, so nothing is ever out of date.

            return replace(report, seconds=seconds, stats=stats, notes=notes)
    report = after_proof(program, check(program, lemmas=True), directory().parent, run)

An entry is one JSON file, written under another name and moved into place, so that two processes may work at once. It
holds data only; a file that cannot be read, or does not have the expected shape, is a miss and is written anew.

Where: `proofs` in `$ARGUS_CACHE`, else `$XDG_CACHE_HOME/argus`, else `~/.cache/argus`; deleting it is always safe.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import types
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from argus.check.certificate import CertificateError
from argus.check.certificate_json import from_data, to_data
from argus.check.engine import check
from argus.check.executed.after_proof import after_proof
from argus.check.executed.outcome import NOT_ASKED, Executed
from argus.check.report import Report, Verdict
from argus.ir.kernel import Kernel
from argus.ir.printer import print_kernel
from argus.ir.stages import Scheduled
from argus.provenance import digest

NOTE = "from the proof cache, replayed (--no-cache guesses and decides again)"
_KEPT = ("verdicts", "stats", "notes", "questions")


class MisfitError(ValueError):
    """A kept entry does not have the shape of a report."""


def directory() -> Path:
    """Where proofs are kept."""
    own, base = os.environ.get("ARGUS_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return (Path(own) if own else (Path(base) if base else Path.home() / ".cache") / "argus") / "proofs"


def checker() -> str:
    """A digest of the code that makes verdicts."""
    roots = "argus.check.engine", "argus.check.executed.after_proof"
    return digest(*roots, versions=("z3-solver",))


def key(kernel: Kernel) -> str:
    """The name of the kernel's entry."""
    return hashlib.sha256(
        "\0".join((checker(), kernel.target.key, print_kernel(kernel), kernel.full_source)).encode()
    ).hexdigest()


def check_cached(program: Scheduled, run: bool = True) -> Report:
    """`check`, remembered, and executed: with `run`, a proof is `proved` only after small launches agree with it."""
    kernel, start = program.kernel, perf_counter()
    entry = directory() / f"{key(kernel)}.json"
    kept = _read(entry)
    if kept is not None:
        report = _replayed(program, kept)
        if report is not None:
            seconds = perf_counter() - start
            if run and report.proved and kept["executed"] is None:
                report = after_proof(program, report, directory().parent)
                _write(entry, report)
            elif report.proved:
                report = replace(report, executed=kept["executed"] if run else Executed(skipped=NOT_ASKED))
            stats, notes = {**report.stats, "cached": 1.0}, (*report.notes, NOTE)
            return replace(report, seconds=seconds, stats=stats, notes=notes)
    report = after_proof(program, check(program, lemmas=True), directory().parent, run)
    _write(entry, report)
    return report


def _replayed(program: Scheduled, kept: Mapping[str, Any]) -> Report | None:
    """The report that the entry leads to; None where it does not."""
    verdicts: tuple[Verdict, ...] = kept["verdicts"]
    if any(v.status != "proved" for v in verdicts):
        return Report(program.kernel, verdicts, 0.0, kept["stats"], kept["notes"], kept["questions"])
    try:
        report = check(program, [from_data(one) for one in kept["certificates"]])
    except CertificateError:
        return None
    return report if report.proved else None


def _read(entry: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(entry.read_text())
        return {
            "verdicts": decode(tuple[Verdict, ...], data["verdicts"]),
            "stats": decode(Mapping[str, float], data["stats"]),
            "notes": decode(tuple[str, ...], data["notes"]),
            "questions": decode(tuple[str, ...], data["questions"]),
            "certificates": list(data["certificates"]),
            "executed": decode(Executed | None, data["executed"]),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(entry: Path, report: Report) -> None:
    """Keep the report; a place that cannot be written to keeps nothing."""
    data = {name: _plain(getattr(report, name)) for name in _KEPT}
    data["certificates"] = [to_data(one) for one in report.certificates] if report.proved else []
    executed = report.executed if report.executed is not None and report.executed.skipped != NOT_ASKED else None
    data["executed"] = None if executed is None else asdict(executed)
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=entry.parent, suffix=".part", delete=False) as file:
            json.dump(data, file)
        os.replace(file.name, entry)
    except OSError:
        return


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def decode(wanted: Any, data: Any) -> Any:
    """JSON data as a value of the type `wanted`, or MisfitError: dataclasses, tuples, mappings, numbers, words."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        if data is None and type(None) in arguments:
            return None
        others = tuple(a for a in arguments if a is not type(None))
        return decode(others[0], data) if len(others) == 1 else _one_of(others, data)
    if origin is Literal:
        if data not in arguments:
            raise MisfitError(f"{data!r} is none of {arguments}")
        return data
    if origin is tuple:
        if not isinstance(data, list):
            raise MisfitError(f"{data!r} is no sequence")
        each = [arguments[0]] * len(data) if arguments[-1] is ... else list(arguments)
        return tuple(decode(a, item) for a, item in zip(each, data, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise MisfitError(f"{data!r} is no mapping")
        return {decode(arguments[0], k): decode(arguments[1], v) for k, v in data.items()}
    if isinstance(wanted, type) and is_dataclass(wanted):
        hints = get_type_hints(wanted)
        if not isinstance(data, dict) or set(data) != {f.name for f in fields(wanted)}:
            raise MisfitError(f"{data!r} is no {wanted}")
        return wanted(**{name: decode(hints[name], item) for name, item in data.items()})
    return _one_of((wanted,), data)


def _one_of(kinds: tuple[Any, ...], data: Any) -> Any:
    if type(data) in kinds:
        return data
    if float in kinds and type(data) is int:
        return float(data)
    raise MisfitError(f"{data!r} is none of {kinds}")
