"""The policy as a text: what a person and a model read, with a version, and room for lines of one's own.

    <!-- argus: lessons, version 3 -->
    # What runs have taught

    Runs: 3, attempts: 57. …

    * gemm, bottleneck latency: register-blocking: tries 4, gains 3, 2.10x on average
    <!-- argus: end -->

    Square products do not gain from split-k.

The lines between the marks are written anew by every run that learns; the version is the number of those runs. All
other lines are a person's and stay as they are. The text lies beside the table (`policy.json`, `policy.json.md`).
"""

from __future__ import annotations

import re

from argus.agent.policy import PolicyError, PolicyTable

FIRST, LAST = "<!-- argus: lessons", "<!-- argus: end -->"
MARKED = re.compile(f"^{FIRST}.*?^{LAST}\n*", re.DOTALL | re.MULTILINE)


def document(policy: PolicyTable) -> str:
    """The whole text."""
    rows = "\n".join(f"* {line}" for line in policy.lessons().splitlines())
    return (
        f"{FIRST}, version {len(policy.runs)} -->\n# What runs have taught\n\n"
        f"Runs: {len(policy.runs)}, attempts: {policy.updates}. Lines between the marks are written anew by every run; "
        f"write your own below.\n\n{rows}\n{LAST}\n" + (f"\n{policy.notes}\n" if policy.notes else "")
    )


def notes(text: str, where: str) -> str:
    """What a person wrote into the text."""
    rest = MARKED.sub("", text).strip()
    if FIRST in rest or LAST in rest:
        raise PolicyError(f"{where}: the marks {FIRST} … --> and {LAST} must stand as a pair")
    return rest


def lessons_for(policy: PolicyTable, family: str) -> str:
    """For a model: experience and a person's notes, each line quoted (`> `): they come from a file and are data."""
    lines = policy.lessons(family).splitlines()
    said = ["Earlier runs:", *lines] if lines else []
    notes = ["Notes of a person:", *policy.notes.splitlines()] if policy.notes else []
    return "".join(f"\n> {line}" for line in [*said, *notes])
