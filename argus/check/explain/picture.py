"""Pictures of where a counterexample goes wrong: `argus check FILE --picture out.svg` (or .html, with the text too).

    an access to LDS       which lanes of the wave touch which 4-byte words; rows are 128 bytes, columns the 32 banks
    an access to a tensor  which lanes touch which elements, by the last two coordinates
    a matrix instruction   which tensor element every lane holds, one picture for each operand

The thread the counterexample names is framed. Everything is computed for the counterexample's own launch, block and
iteration; operands of matrix instructions come from executing it once. One picture per place involved: a race has two.

What it cannot draw: counterexamples without a place in the program (a whole output not covered), and addresses that
depend on loaded data.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.explain.witness import Execution, decode, replay
from argus.check.report import Counterexample, Report
from argus.ir import interp, ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, LANE, Kernel
from argus.ir.ops import Access, Op, Shared
from argus.layout import expr as E
from argus.layout.expr import ExprError
from argus.layout.show import BANK_BYTES, BANKS, LANES, Grid, draw

MOST_ROWS, MOST_COLUMNS = 64, 64


class PictureError(ValueError):
    """There is nothing that can be drawn; the message says why."""


def pictures(report: Report) -> list[str]:
    """SVG documents of the first refuted verdict that can be drawn."""
    found = [v.counterexample for v in report.verdicts if v.counterexample is not None]
    if not found:
        raise PictureError("nothing is refuted, so there is no offending layout to draw")
    for counterexample in found:
        made = [draw(grid) for op, thread in _parties(report.kernel, counterexample)
                for grid in _grids(report.kernel, counterexample, op, thread)]  # fmt: skip
        if made:
            return made
    raise PictureError(f"the counterexample of `{found[0].rule}` names no access that can be drawn")


def page(report: Report) -> str:
    """An HTML document: the report's text and all pictures."""
    body = "".join(f"<figure>{svg}</figure>" for svg in pictures(report))
    head = f"<!doctype html><meta charset=utf-8><title>{escape(report.kernel.name)}</title>"
    return f"{head}<pre>{escape(report.render())}</pre>{body}\n"


def _parties(kernel: Kernel, found: Counterexample) -> list[tuple[Op, int]]:
    """The ops involved, each with the thread that goes wrong there."""
    every = list(ops.walk(kernel.body))
    parties = [(op, found.operands[0].thread if found.operands else found.wave * LANES) for op in every
               if op.id == found.op]  # fmt: skip
    for operand in found.operands:
        if operand.span is not None:
            parties += [(op, operand.thread) for op in every if op.span == operand.span and _access(op) is not None][:1]
    drawn: dict[int, tuple[Op, int]] = {}
    for op, thread in parties:
        if _access(op) is not None or isinstance(op, ops.Mfma):
            drawn.setdefault(op.id, (op, thread))
    return list(drawn.values())


def _access(op: Op) -> Access | None:
    return op.access if isinstance(op, ops.Load | ops.Store | ops.Atomic | ops.CopyToLds) else None


def _grids(kernel: Kernel, found: Counterexample, op: Op, thread: int) -> list[Grid]:
    title = f"{found.rule}: line {op.span.line}, {type(op).__name__.lower()} of wave {thread // LANES}"
    title += "".join(f", {name}={n}" for name, n in (*op.site, *found.loop.items()))
    if isinstance(op, ops.Mfma):
        return _operands(kernel, found, op, thread, title)
    access = _access(op)
    assert access is not None
    data = {other.symbol for other in ops.walk(kernel.body) if isinstance(other, ops.Symbol)}
    if any(data & e.free() for e in (access.address, *access.coords)):
        return []
    env: dict[str, Any] = {**found.sizes, **found.loop, "wave": thread // LANES, LANE.name: np.arange(LANES)}
    env |= {v.name: n for v, n in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), found.block, strict=True)}
    try:
        done = np.ones(LANES, dtype=np.bool_) if access.guard is None else _lanes(access.guard, env) != 0
        if isinstance(access.memory, Shared):
            return [_banks(access, _lanes(access.address, env), done, thread % LANES, title)]
        if len(access.coords) == 0:
            return []
        coords = [_lanes(c, env) for c in access.coords]
    except ExprError:
        return []
    return [_elements(access, coords, done, thread % LANES, title)]


def _lanes(e: E.Expr, env: Mapping[str, Any]) -> NDArray[np.int64]:
    """The expression in every lane; a loop the counterexample says nothing about is in its first iteration."""
    known = {v.name: v.lo or 0 for v in e.free()} | dict(env)
    return np.broadcast_to(np.asarray(E.evaluate(e, known), dtype=np.int64), (LANES,))


def _banks(access: Access, start: NDArray[np.int64], done: NDArray[np.bool_], lane: int, title: str) -> Grid:
    size = access.count * access.memory.dtype.bytes
    words: dict[tuple[int, int], list[int]] = {}
    for who in range(LANES):
        if done[who]:
            for word in range(int(start[who]) // BANK_BYTES, (int(start[who]) + size - 1) // BANK_BYTES + 1):
                words.setdefault(divmod(word, BANKS), []).append(who)
    memory = f"{access.memory.name}, rows of {BANKS * BANK_BYTES} bytes"
    return _grid(title, f"{memory}\\bank", words, lane, range(BANKS))


def _elements(access: Access, coords: list[NDArray[np.int64]], done: NDArray[np.bool_], lane: int, title: str) -> Grid:
    tensor = access.memory
    assert isinstance(tensor, ops.Tensor)
    rows = coords[-2] if len(coords) > 1 else np.zeros(LANES, dtype=np.int64)
    along = access.axis == len(coords) - 1
    cells: dict[tuple[int, int], list[int]] = {}
    for who in range(LANES):
        for e in range(access.count if done[who] else 0):
            at = (int(rows[who]) + (0 if along else e), int(coords[-1][who]) + (e if along else 0))
            cells.setdefault(at, []).append(who)
    first = min(c for _, c in cells) if cells else 0
    last = max(c for _, c in cells) if cells else 0
    names = tensor.axes
    corner = f"{tensor.name}: {names[-2] if len(names) > 1 else ''}\\{names[-1]}"
    return _grid(title, corner, cells, lane, range(first, min(last + 1, first + MOST_COLUMNS)))


def _grid(title: str, corner: str, cells: dict[tuple[int, int], list[int]], lane: int, columns: range) -> Grid:
    """Cells by (row, column), holding the lanes that touch them; only rows that are touched."""
    rows = sorted({row for row, _ in cells})
    shown = rows[:MOST_ROWS]
    text, shade, marked = [], [], set()
    for i, row in enumerate(shown):
        held = [cells.get((row, column), []) for column in columns]
        text.append([",".join(str(w) for w in who[:2]) + ("+" if len(who) > 2 else "") for who in held])
        shade.append([who[0] if who else -1 for who in held])
        marked |= {(i, j) for j, who in enumerate(held) if lane in who}
    left = len(rows) - len(shown)
    note = "cells: lanes; framed: the thread of the counterexample" + (f"; {left} more rows" if left else "")
    return Grid(
        title, corner, [str(r) for r in shown], [str(c) for c in columns], text, shade, note, frozenset(marked)
    )  # fmt: skip


def _operands(kernel: Kernel, found: Counterexample, op: ops.Mfma, thread: int, title: str) -> list[Grid]:
    """What each lane holds of A and B, seen by executing the counterexample."""
    seen: list[interp.OpEvent] = []

    def watch(event: interp.OpEvent) -> None:
        if (
            event.wave == thread // LANES
            and not seen
            and all(found.loop.get(k, n) == n for k, n in event.loops.items())
        ):
            seen.append(event)

    if replay(kernel, Execution(dict(found.sizes), found.block, dict(found.loop)), {op.id: watch}) is None or not seen:
        return []
    grids = []
    for name, register in zip(("a", "b"), seen[0].operands, strict=False):
        held = [[decode(kernel, int(code), found.sizes) for code in row] for row in register.code]
        tensor = next((h.tensor for row in held for h in row if h.tensor is not None), None)
        axes = "" if tensor is None else f"{tensor.name}[{', '.join(tensor.axes)}]"
        text = [[",".join(map(str, h.coords)) if h.tensor is not None else "-" for h in row] for row in held]
        shade = [[h.coords[-1] if h.tensor is not None else -1 for h in row] for row in held]
        columns = [str(e) for e in range(len(text[0]))]
        marked = frozenset((thread % LANES, e) for e in range(len(columns)))
        grids.append(
            Grid(f"{title}, operand {name}: {axes}", "lane\\element", [str(n) for n in range(LANES)], columns, text,
                 shade, "cells: coordinates; coloured by the last one", marked)
        )  # fmt: skip
    return grids
