"""`--set BM=64,BK=32` and `--shape M=4096,N=4096`: one meaning in check, ir, compile, run and time."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from argus.cli.usage import UsageError
from argus.ir.kernel import Kernel, KnobValue


def pairs(texts: list[str], flag: str) -> dict[str, str]:
    """The NAME=VALUE pairs of an option that may be given several times."""
    found: dict[str, str] = {}
    for item in ",".join(texts).split(","):
        if not item.strip():
            continue
        name, equals, value = item.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name.isidentifier() or not value:
            raise UsageError(f"{flag} takes NAME=VALUE pairs, not {item.strip()!r}")
        if name in found:
            raise UsageError(f"{flag} gives {name} twice")
        found[name] = value
    return found


def settings(args: argparse.Namespace) -> dict[str, KnobValue]:
    """Knob values by name: integers, true/false, or words."""
    words: dict[str, bool] = {"true": True, "false": False}
    result: dict[str, KnobValue] = {}
    for name, text in pairs(args.set, "--set").items():
        try:
            result[name] = words[text.lower()] if text.lower() in words else int(text, 0)
        except ValueError:
            result[name] = text
    return result


def sizes(args: argparse.Namespace, kernel: Kernel) -> Mapping[str, int]:
    """Sizes of the launch: the kernel's example sizes, overridden by --shape."""
    given: dict[str, int] = {}
    for name, text in pairs(args.shape, "--shape").items():
        try:
            given[name] = int(text, 0)
        except ValueError as error:
            raise UsageError(f"--shape {name}={text}: a size is a whole number") from error
    return {**kernel.example, **given}
