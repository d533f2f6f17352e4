"""A schedule for skewed turns: matrix instructions and the arithmetic of the softmax by turns.

    # scores of the next turn, sums of this one
    with ag.schedule(order="mfma valu*6 ds_read ds_write mfma valu*6 buffer_load"):
        …

A matrix instruction of 32 clocks has eight issue slots beside it; `valu` of them are filled with arithmetic, the others
are left to reads and addresses. The two parts of a turn are found by the comments that `skew` puts before them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.score_pipeline import FIRST_PART, SECOND_PART
from argus.agent.lower.source import NotApplicableError, Source
from argus.agent.lower.text import is_comment, statement


def softmax_schedule(source: Source, params: Mapping[str, object]) -> None:
    """Both parts of every skewed turn as schedules: `valu` slots of arithmetic beside each matrix instruction."""
    slots = int(str(params.get("valu", 6)))
    first = f"mfma valu*{slots} ds_read ds_write mfma valu*{slots} buffer_load"
    orders = {FIRST_PART: first, SECOND_PART: f"mfma valu*{slots} ds_read mfma valu*{slots}"}
    marks = {ast.unparse(statement(mark)): order for mark, order in orders.items()}
    done = 0
    for block in source.blocks():
        for mark in [n for n in block if is_comment(n) and ast.unparse(n) in marks]:
            begin = block.index(mark) + 1
            end = begin
            while end < len(block) and not _ends(block[end]):
                end += 1
            wrapped = statement(f"with ag.schedule(order={marks[ast.unparse(mark)]!r}):\n    pass")
            if isinstance(wrapped, ast.With) and end > begin:
                wrapped.body = block[begin:end]
                block[begin:end] = [wrapped]
                done += 1
    if not done:
        raise NotApplicableError("no turn is skewed")


def _ends(node: ast.stmt) -> bool:
    """What ends a part of a turn: a branch, the next part, a schedule that is there already."""
    return isinstance(node, ast.If | ast.With) or is_comment(node)
