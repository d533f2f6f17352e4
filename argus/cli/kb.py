"""`argus kb list|show|search`: the knowledge base of optimisation techniques."""

from __future__ import annotations

import argparse
import json
from typing import Any

from argus.cli.options import GOOD, UsageError
from argus.knowledge import Entry, load, matching, search


def register(verbs: Any) -> None:
    parser = verbs.add_parser("kb", help="the knowledge base of optimisation techniques")
    actions = parser.add_subparsers(dest="action", metavar="list|show|search", required=True)
    listing = actions.add_parser("list", help="every technique, one line each")
    listing.add_argument("--family", help="only techniques for this family: gemm, row, attention, moe")
    listing.add_argument("--bottleneck", help="only remedies for this bottleneck")
    show = actions.add_parser("show", help="one entry with everything it says")
    show.add_argument("entry")
    find = actions.add_parser("search", help="entries by words, best first")
    find.add_argument("words", nargs="+")
    find.add_argument("--family", help="only techniques for this family")
    for sub in (listing, show, find):
        sub.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    if args.action == "show":
        entry = load().get(args.entry)
        if entry is None:
            near = ", ".join(e.id for _, e in search(args.entry)[:3])
            raise UsageError(f"there is no entry {args.entry!r}" + (f"; near it: {near}" if near else ""))
        print(json.dumps(_to_json(entry), indent=2) if args.json else _page(entry))
        return GOOD
    if args.action == "list":
        entries = matching(family=args.family, bottleneck=args.bottleneck)
    else:
        entries = [entry for _, entry in search(" ".join(args.words), family=args.family)]
    if args.json:
        print(json.dumps([_to_json(entry) for entry in entries], indent=2))
    else:
        for entry in entries:
            how = entry.lowering or "no lowering"
            print(f"{entry.id:<24} {entry.kind:<7} {how:<18} {entry.title}")
        print(f"{len(entries)} entries")
    return GOOD


def _to_json(entry: Entry) -> dict[str, Any]:
    names = ("id", "title", "kind", "families", "lowering", "bottlenecks", "gain", "requires", "conflicts", "choices")
    more = ("preserves", "invariants", "failure_modes", "sources", "version", "prose")
    return {name: getattr(entry, name) for name in (*names, *more)}


def _page(entry: Entry) -> str:
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
    lines += [f"{'lowering:':<16}{entry.lowering or 'none in the language yet'}"]
    for choice in entry.choices:
        lines.append(f"{'try:':<16}{', '.join(f'{k}={v}' for k, v in choice.items()) or 'as it is'}")
    return "\n".join([*lines, "", entry.prose])
