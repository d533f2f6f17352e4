"""A unified diff, applied as a reviewer reads it: by its lines, not by its numbers.

    @@ -46,3 +46,4 @@
             sA.store(ra, COPY_A, width=16)
    +        ag.barrier()
             for ks in ag.unroll(4):

The lines of a hunk that are kept or removed must stand together in the file. If they do so at several places, the one
the line number names is taken; if it names none of them, the hunk is refused. Models count lines badly, so a wrong
number alone is no mistake. Hunks are applied from the first to the last, each to what the ones before it left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from argus.agent.providers.errors import ProviderError

HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@|^@@")


@dataclass(slots=True)
class Hunk:
    """`start` is the line number it names, 0 for none."""

    start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


def patched(source: str, diff: str) -> str:
    """The file after the diff."""
    found = hunks(diff)
    if not found:
        raise ProviderError("ARG-P120", "the diff has no hunk: a hunk begins with @@")
    lines = source.splitlines()
    moved = 0
    for number, hunk in enumerate(found, 1):
        at = _place(lines, hunk, number, moved)
        lines[at : at + len(hunk.old)] = hunk.new
        moved += len(hunk.new) - len(hunk.old)
    return "\n".join(lines) + "\n"


def hunks(diff: str) -> list[Hunk]:
    """The hunks of a diff; lines before the first one are its heading."""
    found: list[Hunk] = []
    for line in diff.splitlines():
        begins = HUNK.match(line)
        if begins is not None:
            found.append(Hunk(int(begins[1] or 0)))
        elif found and line.startswith("-"):
            found[-1].old.append(line[1:])
        elif found and line.startswith("+"):
            found[-1].new.append(line[1:])
        elif found and (line.startswith(" ") or not line):
            found[-1].old.append(line[1:])
            found[-1].new.append(line[1:])
        elif found and not line.startswith("\\"):
            raise ProviderError("ARG-P120", f"a line of the diff begins with {line[:1]!r}, not with ' ', '-' or '+'")
    return found


def _place(lines: list[str], hunk: Hunk, number: int, moved: int) -> int:
    if not hunk.old:
        if not hunk.start:
            raise ProviderError("ARG-P121", f"hunk {number} has no line of the file and no line number")
        return min(len(lines), hunk.start + moved)
    size = len(hunk.old)
    wanted = [line.rstrip() for line in hunk.old]
    plain = [line.rstrip() for line in lines]
    places = [at for at in range(len(lines) - size + 1) if plain[at : at + size] == wanted]
    if len(places) == 1:
        return places[0]
    named = hunk.start - 1 + moved
    if named in places:
        return named
    first = next((line.strip() for line in hunk.old if line.strip()), "")
    where = "not in the file" if not places else f"at {len(places)} places of the file"
    raise ProviderError("ARG-P121", f"the lines of hunk {number} ({first!r} …) are {where}; give more lines around it")
