"""`argus kb list|show|search`: the knowledge base of optimisation techniques.

`show` says what the journal here (`--journal DIR`, ./argus-journal) knows about the technique too: how often it was
tried, what the judge found wrong, what it gained. `show --code` adds the technique as code, a diff of a kernel
(`argus.agent.sketch`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from argus.agent.journal import Journal
from argus.agent.journal.experience import Experience, experience
from argus.agent.sketch import sketch
from argus.cli.answers import KnowledgeAnswer, emit
from argus.cli.history import folder
from argus.cli.usage import GOOD, UsageError
from argus.knowledge import KnowledgeEntry, load, matching, search


def handle(args: argparse.Namespace) -> int:
    if args.action == "show":
        entry = load().get(args.entry)
        if entry is None:
            near = ", ".join(e.id for _, e in search(args.entry)[:3])
            raise UsageError(f"there is no entry {args.entry!r}" + (f"; near it: {near}" if near else ""))
        found = _experience(args, entry.id)
        code = sketch(entry.id, args.family) if args.code else None
        if args.json:
            evidence = {} if found is None else {"evidence": _evidence_json(found)}
            drawn = {"code": None if code is None else code.diff} if args.code else {}
            emit(KnowledgeAnswer, {"entries": [_to_json(entry) | evidence | drawn]})
        else:
            print("\n".join([_page(entry), *([] if found is None else _evidence(found, folder(args)))]))
            if args.code:
                print(f"\n{'no kernel of ours shows it as code' if code is None else code.diff}")
        return GOOD
    if args.action == "list":
        entries = matching(family=args.family, bottleneck=args.bottleneck)
    else:
        entries = [entry for _, entry in search(" ".join(args.words), family=args.family)]
    if args.json:
        emit(KnowledgeAnswer, {"entries": [_to_json(entry) for entry in entries]})
    else:
        for entry in entries:
            how = "lowered" if entry.lowered else "tuned" if entry.decisions else "no lowering"
            print(f"{entry.id:<24} {entry.kind:<7} {how:<12} {entry.title}")
        print(f"{len(entries)} entries")
    return GOOD


def _to_json(entry: KnowledgeEntry) -> dict[str, Any]:
    names = ("id", "title", "kind", "families", "lowered", "bottlenecks", "gain", "requires", "conflicts", "choices")
    more = ("preserves", "invariants", "failure_modes", "sources", "version", "prose", "decisions")
    return {name: getattr(entry, name) for name in (*names, *more)}


def _page(entry: KnowledgeEntry) -> str:
    lines = [f"{entry.id}: {entry.title}", f"{entry.kind}, for {', '.join(entry.families)}"]
    rows = (
        ("remedy for", entry.bottlenecks),
        ("requires", entry.requires),
        ("conflicts with", entry.conflicts),
        ("preserves", entry.preserves),
        ("invariants", entry.invariants),
        ("fails when", entry.failure_modes),
        ("sources", entry.sources),
    )
    for name, items in rows:
        lines += [f"{name + ':' if n == 0 else '':<16}{item}" for n, item in enumerate(items)]
    lines += [f"{'lowering:':<16}{_lowering(entry)}"]
    for choice in entry.choices:
        lines.append(f"{'try:':<16}{', '.join(f'{k}={v}' for k, v in choice.items()) or 'as it is'}")
    return "\n".join([*lines, "", entry.prose])


def _lowering(entry: KnowledgeEntry) -> str:
    if entry.decisions:
        return f"decision points of the planner, tried by `argus tune`: {', '.join(entry.decisions)}"
    module = f"argus/agent/lower/{entry.id.replace('-', '_')}.py"
    return module if entry.lowered else "none in the language yet"


def _experience(args: argparse.Namespace, technique: str) -> Experience | None:
    """None where there is no journal; one that was asked for must be there."""
    if args.journal is None and not folder(args).exists():
        return None
    with Journal.read(folder(args)) as journal:
        return experience(journal, technique)


def _evidence(found: Experience, where: Path) -> list[str]:
    """Lines below an entry; times simulated unless the journal is of a GPU."""
    wrong = ", ".join(f"{rule} {count}" for rule, count in found.rules.items())
    lines = ["", f"evidence in {where}: tried {found.tried} times, {found.passed} passed, {found.undecided} undecided"]
    if wrong:
        lines.append(f"  the judge named: {wrong}")
    best, median = found.best(), found.median()
    if best is not None and median is not None:
        lines.append(
            f"  time of the parent over its own: median {median:.2f}, most {best.factor:.2f} ({best.task}, "
            f"{best.before:.1f} to {best.after:.1f} us, evidence {best.evidence[:12]})"
        )
    return lines


def _evidence_json(found: Experience) -> dict[str, Any]:
    gains = [{"task": g.task, "before_us": g.before, "after_us": g.after, "evidence": g.evidence} for g in found.gains]
    return {
        "tried": found.tried,
        "passed": found.passed,
        "undecided": found.undecided,
        "rules": dict(found.rules),
        "gains": gains,
    }
