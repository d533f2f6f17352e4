"""The knowledge base: one Markdown file per optimisation technique, TOML front matter and prose.

    entry = load()["lds-staging"]
    entry.lowered       whether `argus.agent.lower` has a transformation that does it; it has the entry's name
    entry.choices       parameter sets to try, the most promising first
    entry.requires      what must have been done before
    entry.bottlenecks   what the clock must complain about for this to be a remedy, strongest first

The front matter is between two lines `+++`. Facts of the hardware and of techniques live here as data, so that adding
one needs no code. A technique has one name: of the entry, of its file, and of the transformation and its module
(`lds-staging`, `argus/agent/lower/lds_staging.py`); `lowered = false` says that the language has none yet. Techniques
of the class `plan` are about plans of several launches: they name the planner's decision points (`decisions`), which
`argus tune` tries, and are for no family of kernels, so no search for a kernel proposes them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Class = Literal["plan", "global", "local", "isa"]
FENCE = "+++"
CLASSES: tuple[Class, ...] = ("plan", "global", "local", "isa")


class EntryError(ValueError):
    """A knowledge-base file is not an entry."""


@dataclass(frozen=True, slots=True)
class KnowledgeEntry:
    """One technique. `gain` is the expected log2 speed-up where a bottleneck matches, before any experience."""

    id: str
    title: str
    kind: Class
    families: tuple[str, ...]
    lowered: bool
    bottlenecks: tuple[str, ...]
    gain: float
    requires: tuple[str, ...]
    conflicts: tuple[str, ...]
    choices: tuple[Mapping[str, Any], ...]
    preserves: tuple[str, ...]
    invariants: tuple[str, ...]
    failure_modes: tuple[str, ...]
    sources: tuple[str, ...]
    version: int
    prose: str
    decisions: tuple[str, ...] = ()
    """Of the class `plan`: decision points of the planner (`argus.plan.choices`) that it is about."""

    def text(self) -> str:
        """Everything searchable about the entry."""
        parts = (self.id, self.title, *self.families, *self.bottlenecks, *self.invariants, *self.failure_modes)
        return "\n".join((*parts, self.prose))


def parse_entry(name: str, text: str) -> KnowledgeEntry:
    """Read one file."""
    pieces = text.split(f"{FENCE}\n", 2)
    if len(pieces) != 3 or pieces[0].strip():
        raise EntryError(f"{name}: an entry starts with TOML between two lines {FENCE}")
    try:
        data = tomllib.loads(pieces[1])
    except tomllib.TOMLDecodeError as error:
        raise EntryError(f"{name}: {error}") from error
    missing = [f for f in ("title", "class", "families", "bottlenecks", "gain", "invariants") if f not in data]
    if missing:
        raise EntryError(f"{name}: the front matter lacks {', '.join(missing)}")
    if data["class"] not in CLASSES:
        raise EntryError(f"{name}: class is one of {', '.join(CLASSES)}, not {data['class']!r}")

    def words(field: str) -> tuple[str, ...]:
        return tuple(str(item) for item in data.get(field, []))

    return KnowledgeEntry(
        id=name,
        title=str(data["title"]),
        kind=data["class"],
        families=words("families"),
        lowered=bool(data.get("lowered", True)),
        bottlenecks=words("bottlenecks"),
        gain=float(data["gain"]),
        requires=words("requires"),
        conflicts=words("conflicts"),
        choices=tuple(dict(choice) for choice in data.get("choices", [{}])),
        preserves=words("preserves"),
        invariants=words("invariants"),
        failure_modes=words("failure_modes"),
        sources=words("sources"),
        version=int(data.get("version", 1)),
        prose=pieces[2].strip(),
        decisions=words("decisions"),
    )


@cache
def load() -> Mapping[str, KnowledgeEntry]:
    """Every entry by its name, in alphabetical order."""
    found = {}
    for path in sorted(files("argus.knowledge").iterdir(), key=lambda p: p.name):
        if path.name.endswith(".md"):
            name = path.name.removesuffix(".md")
            found[name] = parse_entry(name, path.read_text(encoding="utf-8"))
    for entry in found.values():
        for other in (*entry.requires, *entry.conflicts):
            if other not in found:
                raise EntryError(f"{entry.id}: there is no entry {other!r}")
    return found
