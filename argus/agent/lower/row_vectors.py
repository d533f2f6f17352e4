"""Row kernels with wider accesses: a lane takes several neighbouring elements at once.

for i in ag.range(N // 64):                                   PER_LANE = 8; CHUNK = 64 * PER_LANE
    x = X[row, 64 * i].load(PART, width=2).to(f32)     ->     for i in ag.range(N // CHUNK):
    top = ag.max(top, x)                                          x = X[row, CHUNK * i].load(PART, width=16).to(f32)
best = top.max("n")                                               top = ag.max(top, x)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import BYTES
from argus.agent.lower.register_blocking import Replace, divisible
from argus.agent.lower.row_walks import ROW_LOOP, row_owner, walks
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    SourceAccess,
    keyword,
    set_keyword,
)
from argus.agent.lower.text import expression


def _moves(source: Source, loops: list[ast.For]) -> list[SourceAccess]:
    """Loads and stores of global memory in loops over the row; a result of the whole row is stored as it was."""
    tensors = source.tensors()
    inside = {id(node) for loop in loops for node in ast.walk(loop)}
    every = (*source.loads(), *source.accesses("store"))
    return [a for a in every if a.place in tensors and id(a.statement) in inside]


def row_vectors(source: Source, params: Mapping[str, object]) -> None:
    """A lane holds `per_lane` neighbours of every chunk."""
    name, owner, thread, axis = row_owner(source)
    formula = keyword(owner, axis)
    if not (isinstance(formula, ast.Constant) and formula.value == thread):
        raise NotApplicableError("the lanes hold several neighbours already")
    lanes = keyword(owner, thread)
    found = walks(source)
    steps = {ast.unparse(w.step) for w in found}
    if len(steps) != 1 or lanes is None or ast.unparse(lanes) not in steps:
        raise NotApplicableError(ROW_LOOP)
    count = int(str(params["per_lane"]))
    sizes = {w.size for w in found}
    for walk in found:
        chunk = expression(f"CHUNK * {walk.variable}")
        Replace(walk.variable, walk.step, chunk).visit(walk.loop)
        walk.loop.iter = expression(f"ag.range({walk.size} // CHUNK)")
    owner.keywords = [
        ast.keyword(thread, lanes),
        ast.keyword("e", expression("PER_LANE")),
        ast.keyword(axis, expression(f"f'{thread}*{{PER_LANE}} + e'")),
    ]
    tensors = source.tensors()
    for access in _moves(source, [walk.loop for walk in found]):
        size = BYTES[tensors[access.place].element]
        set_keyword(access.call, "width", ast.Constant(min(16, count * size)))
    source.define_first(f"PER_LANE = {count}\nCHUNK = {ast.unparse(lanes)} * PER_LANE")
    divisible(source, dict.fromkeys(sizes, "CHUNK"))
    del name
