"""The loops of a kernel whose body may be put into groups for the scheduler: those with multiplications."""

from __future__ import annotations

import ast

from argus.agent.lower.source import Source, is_ag


def scheduled_loops(source: Source) -> list[ast.For]:
    return [
        n
        for n in ast.walk(source.function)
        if isinstance(n, ast.For) and is_ag(n.iter, "range") and any(is_ag(m, "mfma") for m in ast.walk(n))
    ]
