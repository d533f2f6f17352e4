"""A client of the workbench that mends kernels by what the tools say, and by nothing else.

It knows three rules of thumb, keyed by the rule that a check names, and not what is wrong with a file:

    race_free   a barrier after the line that writes, as the help says
    conform     the two operands of a product must be loaded at the same k: take over the other line's `k=`
    value       the line where an operand is added once too often gets the operand that is missing

Every rule yields texts to try; the first that `check` proves is kept.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

Call = Callable[[str, dict[str, object]], Awaitable[str]]
MOST = 8


async def mend(call: Call, path: Path) -> list[str]:
    """Edit the file until it is proved; the rules that were at work, in order."""
    used: list[str] = []
    for _ in range(MOST):
        said = await call("check", {"file": path.name})
        if "proved for every launch" in said:
            return used
        rule = re.search(r"error\[(\w+)\]", said)
        assert rule is not None, said
        text = path.read_text()
        for changed in RULES[rule[1]](text, said):
            path.write_text(changed)
            again = await call("check", {"file": path.name})
            if f"error[{rule[1]}]" not in again:
                used.append(rule[1])
                break
            path.write_text(text)
        else:
            raise AssertionError(f"{rule[1]}: nothing helped\n{said}")
    raise AssertionError("too many faults")


def _barrier(text: str, said: str) -> Iterator[str]:
    lines = text.splitlines()
    writes = [int(n) for n in re.findall(r"put a barrier between line (\d+) and", said)]
    at = max(writes)
    indent = re.match(r" *", lines[at - 1])
    assert indent is not None
    yield "\n".join([*lines[:at], f"{indent[0]}ag.barrier()", *lines[at:]]) + "\n"


def _same_k(text: str, said: str) -> Iterator[str]:
    lines = text.splitlines()
    found = {n: m[1] for n, line in enumerate(lines) if (m := re.search(r"\.load\(.*\bk=(.+?), width", line))}
    for at, own in found.items():
        for other in sorted(set(found.values()) - {own}):
            yield "\n".join([*lines[:at], lines[at].replace(f"k={own}", f"k={other}"), *lines[at + 1 :]]) + "\n"


def _missing_operand(text: str, said: str) -> Iterator[str]:
    lines = text.splitlines()
    many = re.search(r"(\w+)\[.*\] is added once too often: \S+:(\d+)", said)
    assert many is not None, said
    specified = re.search(r"specified: `(.+)`", said)
    assert specified is not None
    missing = [name for name in re.findall(r"(\w+)\[", specified[1]) if name != many[1]]
    at = int(many[2]) - 1
    for name in missing:
        head, found, tail = lines[at].rpartition(f"{many[1]}[")
        if found:
            yield "\n".join([*lines[:at], f"{head}{name}[{tail}", *lines[at + 1 :]]) + "\n"


RULES: dict[str, Callable[[str, str], Iterator[str]]] = {
    "race_free": _barrier,
    "conform": _same_k,
    "value": _missing_operand,
}
