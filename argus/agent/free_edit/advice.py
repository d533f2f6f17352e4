"""What Argus knows that a model should hear with a judgement: hot lines, unit shares, techniques with code, the roof.

Every line of it is said behind `| `, as the judge's words are: it is found out anew and makes no other question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.agent.bottleneck import bottleneck
from argus.agent.judge import Judgement
from argus.agent.judge.problem import shape_text
from argus.agent.reward import microseconds
from argus.agent.sketch import sketch
from argus.compile.live_set import live_set
from argus.device.guards import numpy_dtype, tensor_shapes
from argus.gfx942 import chip
from argus.ir.compile_error import CompileError
from argus.ir.passes.schedule import scheduled
from argus.knowledge import KnowledgeEntry, load, matching
from argus.lang import read
from argus.lang.errors import ProgramError
from argus.tasks.task import Task

ENTRIES = 4
TRIED = 10
MOST_CODE = 2_400
HOT = ("waves stalled", "occupancy", "rooflines", "LDS conflicts", "what would help")
HOT_INSTRUCTION = re.compile(r" *[0-9.]+ %  0x")
MOST_HOT, WIDEST = 16, 200
HOLDERS = 6


@dataclass(frozen=True, slots=True)
class Tried:
    """One round for the table: what became of it."""

    number: int
    judgement: Judgement


def behind(text: str) -> str:
    """Every line of a text behind `| `."""
    return "\n".join(f"| {line}" for line in text.splitlines())


def techniques(task: Task, judgement: Judgement, source: str) -> str:
    """The entries of the knowledge base for this bottleneck, with code."""
    chosen = chosen_entries(task, judgement)
    if not chosen:
        return ""
    parts = [f"Techniques of the knowledge base for {task.family}, bottleneck {bottleneck(judgement)}:"]
    return "\n".join([*parts, *(entry_text(entry, task, source) for entry in chosen)])


def chosen_entries(task: Task, judgement: Judgement) -> list[KnowledgeEntry]:
    """The most promising ones that name the bottleneck, then those for any."""
    word = bottleneck(judgement)
    found = matching(family=task.family, bottleneck=word)
    return sorted(found, key=lambda entry: (word not in entry.bottlenecks, -entry.gain, entry.id))[:ENTRIES]


def entry_text(entry: KnowledgeEntry, task: Task, source: str) -> str:
    """An entry with prerequisites, invariants, ways to fail, and its code where a kernel shows it."""
    lines = [f"* {entry.id}: {entry.title}. {' '.join(entry.prose.split())}"]
    for name, items in (("needs", entry.requires), ("keep", entry.invariants), ("fails when", entry.failure_modes)):
        lines += [f"  {name}: {'; '.join(items)}"] if items else []
    made = sketch(entry.id, task.family, source) if entry.id in load() else None
    if made is not None and len(made.diff) <= MOST_CODE:
        lines += [f"  as code, in {made.of}:", *(f"    {line}" for line in made.diff.splitlines()[2:])]
    return "\n".join(lines)


def held_registers(source: str, beside: Mapping[str, str]) -> str:
    """Who holds the registers at the fullest point, for a kernel that needs too many; nothing if it cannot be read."""
    try:
        found = live_set(scheduled(read(source, beside=dict(beside))).kernel)
    except (ProgramError, CompileError):
        return ""
    lines = [f"At the fullest point, line {found.place.line}, values hold {found.registers} registers:"]
    for value in found.values[:HOLDERS]:
        carried = ", carried by a loop" if value.carried else ""
        made = f"made at line {value.line}, last used at line {value.last}{carried}"
        lines.append(f"  {value.registers} by {value.name} ({made})")
    return "\n".join([*lines, "What is not live there frees as many: smaller tiles, or loads nearer to their use."])


def hot_lines(timed: str) -> str:
    """The parts of `argus time` about instructions with their source lines, conflicts and what would help."""
    found = [line for line in timed.splitlines() if line.startswith(HOT) or HOT_INSTRUCTION.match(line)]
    return "\n".join(line[:WIDEST] for line in found[:MOST_HOT])


def unit_shares(judgement: Judgement) -> str:
    shares: Mapping[str, float] = judgement.bottleneck.get("utilisation", {})
    return "  ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())


def roofs(task: Task, judgement: Judgement) -> str:
    """The roof of every timed shape, and what sets it."""
    said = []
    for sizes in task.shapes:
        name = shape_text({s.name: sizes[s.name] for s in task.kernel.shapes if s.name in sizes})
        if name in judgement.roof:
            least, memory = judgement.roof[name], _memory_microseconds(task, sizes)
            cause = (
                "reading and writing every tensor once" if memory >= 0.999 * least else "its products at matrix peak"
            )
            said.append(f"{name}: {least:.1f} µs, by {cause}")
    return "; ".join(said)


def _memory_microseconds(task: Task, sizes: Mapping[str, int]) -> float:
    shapes = tensor_shapes(task.kernel, sizes)
    moved = 0
    for tensor in task.kernel.tensors:
        elements = 1
        for extent in shapes[tensor.name]:
            elements *= extent
        moved += numpy_dtype(tensor.dtype).itemsize * elements
    return 1e6 * moved / (1e9 * float(chip.fact("hbm_peak").value))


def table(tried: Sequence[Tried], message: bool = True) -> str:
    """Rounds so far: time or first fault (`message`); the best is marked."""
    passed = [each for each in tried if each.judgement.verdict == "pass"]
    best = min(passed, key=lambda each: microseconds(each.judgement), default=None)
    lines = ["Rounds so far:"]
    for each in tried[-TRIED:]:
        judged = each.judgement
        first = judged.violations[0] if judged.violations else None
        said = (
            f", {microseconds(judged):.1f} µs" if judged.verdict == "pass" else f", {judged.stage}" if message else ""
        )
        why = "" if first is None or not message else f", {first.rule}{f' at line {first.line}' if first.line else ''}"
        lines.append(f"  {each.number}: {judged.verdict}{said}{why}{', best' if each is best else ''}")
    return "\n".join(lines)
