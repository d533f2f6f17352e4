"""The complete table of callable instructions, and what stands in the way of the others.

    entry("v_perm_b32")          the declaration (`argus.gfx942.calls`)
    names()                      every callable name
    not_callable()               reason -> opcodes of the chip that are not functions of the language

Every opcode of the decoder's table is on one of the two sides; the tests hold the two together.

    python -m argus.gfx942.calling        prints the two tables of docs/language.md
"""

from __future__ import annotations

from functools import cache

from argus.gfx942 import calls_convert, calls_float, calls_integer, calls_lanes, calls_small
from argus.gfx942.calls import CALLS, Call, why_not
from argus.gfx942.instructions import specs

for _section in (calls_integer, calls_small, calls_float, calls_convert, calls_lanes):
    _section.enter()


def entry(name: str) -> Call | None:
    """The declaration of a callable instruction, or None."""
    return CALLS.get(name)


def names() -> list[str]:
    return list(CALLS)


def reference() -> str:
    """The instructions as docs/language.md lists them: callable ones by signature, the others by reason."""
    by_signature: dict[tuple[str, str], list[str]] = {}
    for row in CALLS.values():
        keywords = ", ".join(o.name if o.default is None else f"{o.name}={o.default}" for o in row.options)
        by_signature.setdefault((row.signature, keywords), []).append(row.name)
    lines = ["| results = operands | keywords | instructions |", "|---|---|---|"]
    lines += [
        f"| {signature} | {keywords} | {' '.join(f'`{n}`' for n in sorted(found))} |"
        for (signature, keywords), found in sorted(by_signature.items())
    ]
    lines += ["", "| not a function | number | because, or instead |", "|---|---|---|"]
    for reason, ops in not_callable().items():
        shown = " ".join(f"`{op}`" for op in ops[:4]) + (" …" if len(ops) > 4 else "")
        lines.append(f"| {shown} | {len(ops)} | {reason} |")
    return "\n".join(lines) + "\n"


@cache
def not_callable() -> dict[str, tuple[str, ...]]:
    """Reason -> opcodes, in the order of the table."""
    found: dict[str, list[str]] = {}
    for op in specs():
        if op not in CALLS:
            found.setdefault(why_not(op), []).append(op)
    return {reason: tuple(ops) for reason, ops in found.items()}


if __name__ == "__main__":
    print(reference(), end="")
