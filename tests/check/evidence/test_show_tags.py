"""`--show`: the printed tags are what the interpreter sees in that thread, block and iteration."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from argus.check.explain.show import Look, ShowError, show
from argus.check.explain.witness import decode
from argus.ir import interp, ops
from argus.ir.passes.schedule import scheduled
from argus.lang import read

GEMM = Path(__file__).parents[3] / "argus" / "kernels" / "gemm.py"
SIZES = {"M": 256, "N": 256, "K": 192}


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(GEMM.read_text().splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    ("text", "thread", "turn"), [("ra = A", 9, 1), ("b = [sB.load", 200, 2), ("a = [sA.load", 77, 0)]
)
def test_the_tags_are_what_the_interpreter_sees(text: str, thread: int, turn: int) -> None:
    kernel = read(GEMM)
    line = line_of(text)
    known = {"kt": turn, "block_x": 1, "block_y": 0, **SIZES}
    printed = show(scheduled(kernel), Look(line, thread, known))
    expected: set[tuple[str, tuple[int, ...]]] = set()

    def look(event: interp.OpEvent) -> None:
        if event.wave == thread // 64 and event.loops["kt"] == turn:
            for code in event.operands[0].code[thread % 64][:1]:
                held = decode(kernel, int(code), SIZES)
                assert held.tensor is not None
                expected.add((held.tensor.name, held.coords))

    loads = [op for op in ops.walk(kernel.body) if isinstance(op, ops.Load) and op.span.line == line]
    inputs = {name: np.ones((256, 192)) for name in "AB"}
    interp.run(
        kernel, inputs, SIZES, blocks=[(1, 0, 0)], results=dict.fromkeys((op.id for op in loads), look), provenance=True
    )
    found = set()
    for name, inside in re.findall(r"elements 0\.\.7 +(\w+)\[(.*?)\]", printed):
        values = dict(re.findall(r"(\w+)=(\d+)", inside))
        found.add((name, (int(values["M" if name == "A" else "N"]), int(values["K"]))))
    assert found == expected


def test_alternatives_carry_their_conditions() -> None:
    """After a loop over a ring of two the accumulator comes from one of two last iterations."""
    ring = Path(__file__).parents[1] / "adversary" / "kernels" / "ring.py"
    kernel = read(ring)
    line = next(n for n, text in enumerate(ring.read_text().splitlines(), 1) if ".store(acc" in text)
    printed = show(scheduled(kernel), Look(line, 70, {}))
    assert "if K//32%2 == 1:" in printed
    assert "if K//32%2 == 0:" in printed
    assert "if" not in show(scheduled(kernel), Look(line, 70, {"K": 160})).split("\n", 1)[1]


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (Look(4000, 0, {}), "there is no line 4000"),
        (Look(1, 0, {}), "lines near it that do"),
        (Look(44, 256, {}), "there is no thread 256"),
    ],
)
def test_what_cannot_be_shown_is_said(look: Look, message: str) -> None:
    with pytest.raises(ShowError, match=message):
        show(scheduled(read(GEMM)), look)
