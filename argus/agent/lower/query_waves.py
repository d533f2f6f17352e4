"""Attention with several waves per workgroup, each with rows of its own; they share what they copy to LDS.

    block = ag.grid(Z, Sq // 32)               ->       block = ag.grid(Z, Sq // (32 * WAVES)); rows of wave w

The kernel needs a loop with two products (`two_products`) and a grid with one blocked size.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.register_blocking import divisible
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    is_ag,
    keyword,
    set_keyword,
)
from argus.agent.lower.text import expression, statements
from argus.agent.lower.two_products import blocked, two_products


def query_waves(source: Source, params: Mapping[str, object]) -> None:
    """`waves` waves per workgroup, each with a block of rows."""
    two_products(source)
    given, call, name, size, by = blocked(source)
    threads = keyword(source.decorator, "threads")
    if any(is_ag(n, "wave") for n in ast.walk(source.function)) or threads is None or source.value(threads) != 64:
        raise NotApplicableError("a workgroup has several waves already")
    whole = source.fresh("group")
    rows = f"{ast.unparse(by)} * WAVES"
    target = given.targets[0]
    if isinstance(target, ast.Tuple):
        at = next(n for n, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == name)
        target.elts[at] = ast.Name(whole, ast.Store())
        call.args[at] = expression(f"{size} // ({rows})")
    body = next(b for b in source.blocks() if given in b)
    body[body.index(given) + 1 : body.index(given) + 1] = statements(f"{name} = WAVES * {whole} + ag.wave()")
    source.define_first(f"WAVES = {params['waves']}\nTHREADS = 64 * WAVES")
    set_keyword(source.decorator, "threads", expression("THREADS"))
    set_keyword(source.decorator, "waves", expression("(WAVES,)"))
    divisible(source, {size: f"({rows})"})
