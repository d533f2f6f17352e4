"""A wave that multiplies has priority over one that copies.

for i, j in ag.unroll(…): acc[i, j] = …      ->    ag.setprio(1); the multiplications; ag.setprio(0)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.pipeline import BARRIER, kind
from argus.agent.lower.scheduled_loops import scheduled_loops
from argus.agent.lower.source import NotApplicableError, Source, is_ag
from argus.agent.lower.text import is_comment, statement


def wave_priority(source: Source, params: Mapping[str, object]) -> None:
    """`ag.setprio(1)` while a loop's multiplications are issued, back to 0 at the next barrier."""
    if any(is_ag(n, "setprio") for n in ast.walk(source.function)):
        raise NotApplicableError("priorities are set already")
    changed = False
    for loop in scheduled_loops(source):
        body: list[ast.stmt] = []
        raised = False
        for node in loop.body:
            multiplies = any(is_ag(n, "mfma") for n in ast.walk(node))
            if multiplies and not raised:
                body.append(statement("ag.setprio(1)"))
                raised = changed = True
            if raised and not multiplies and not is_comment(node) and kind(source, node) == BARRIER:
                body.append(statement("ag.setprio(0)"))
                raised = False
            body.append(node)
        if raised:
            body.append(statement("ag.setprio(0)"))
        loop.body = body
    if not changed:
        raise NotApplicableError("no loop multiplies")
