"""Two blocks of rows per workgroup, the n-th and the n-th from the end: under a causal mask all have equal work.

    z, g, block = ag.grid(Z, G, Sq // 32)        place, g, z = ag.grid(Sq // 64, G, Z)
    …                                     ->     def rows_of(block):
                                                     …
                                                 rows_of(Sq // 32 - 1 - place)
                                                 ag.barrier()
                                                 rows_of(place)

The blocks come slowest in the grid, so that the heads of a batch entry, which share keys, run at the same time. LDS
buffers are made once; a barrier stands between the blocks. The number of blocks must be even. It is a last step: other
transformations do not look into the function.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.persistent_groups import has_buffers, parted
from argus.agent.lower.register_blocking import divisible
from argus.agent.lower.source import NotApplicableError, Source, keyword
from argus.agent.lower.text import expression, statement, statements
from argus.agent.lower.two_products import blocked


def causal_pairs(source: Source, params: Mapping[str, object]) -> None:
    """Block n and block n from the end in one workgroup."""
    given, call, name, size, by = blocked(source)
    target = given.targets[0]
    if given not in source.body or not isinstance(target, ast.Tuple) or keyword(call, "order") is not None:
        raise NotApplicableError("the blocks are walked or ordered already")
    last = target.elts[-1]
    if not (isinstance(last, ast.Name) and last.id == name):
        raise NotApplicableError("the rows do not come last in the grid")
    place, function = source.fresh("place"), source.fresh("rows_of")
    step = ast.unparse(by)
    target.elts = [ast.Name(place, ast.Store()), *target.elts[:-1][::-1]]
    call.args = [expression(f"{size} // (2 * {step})"), *call.args[:-1][::-1]]
    at = source.body.index(given)
    kept, body, after = parted(source.body[at + 1 :])
    made = statement(f"def {function}({name}):\n    pass")
    if isinstance(made, ast.FunctionDef):
        made.body = body
    between = "ag.barrier()\n" if has_buffers(kept) else ""
    calls = statements(f"{function}({size} // ({step}) - 1 - {place})\n{between}{function}({place})")
    source.body[at + 1 :] = [*kept, made, *calls, *after]
    divisible(source, {size: f"(2 * {step})"})
