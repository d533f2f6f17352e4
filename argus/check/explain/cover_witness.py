"""Counterexamples of `covers`: a launch executed in full, and an element it wrote never, or twice.

Written twice: both stores are named with block, wave, lane and register element. Never written: the store that wrote
the closest element before it in memory.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus.check.executed.inputs import arrays, scalars
from argus.check.executed.launches import MOST_STEPS, steps
from argus.check.explain.search_budget import may_search
from argus.check.explain.small_executions import launches, varied, whole_tiles
from argus.check.explain.writers import Writer, coordinates_of, writers
from argus.check.report import Counterexample, Party
from argus.check.walk import KernelWalk
from argus.ir import interp
from argus.ir.ops import Tensor
from argus.ir.types import Span
from argus.layout import expr as E
from argus.layout.expr import ExprError

HINT = "let the grid and the stores' coordinates tile the output exactly"
SEED = 1


def miswritten_element(flow: KernelWalk, tensor: Tensor, span: Span, op: int) -> Counterexample | None:
    tried = [*varied(flow.kernel), *launches(flow.kernel, 6), *whole_tiles(flow.kernel)]
    for sizes in (one for one in tried if steps(flow.kernel, one) <= MOST_STEPS):
        if not may_search(1):
            return None
        made, given = arrays(flow.kernel, sizes, "normal", SEED), scalars(flow.kernel, "normal", SEED)
        try:
            outcome = interp.run(flow.kernel, made, sizes, scalars=given)
        except (interp.InterpError, ExprError):
            continue
        if any(h.kind == "stated" for h in outcome.hazards):
            continue
        strides = [int(E.evaluate(s, sizes)) for s in tensor.strides]
        counts = np.lib.stride_tricks.as_strided(
            outcome.writes[tensor.name], interp.extents(tensor, sizes), tuple(4 * s for s in strides)
        )  # fmt: skip
        wrong = np.argwhere(counts != 1)
        if len(wrong):
            at = tuple(int(v) for v in wrong[0])
            wrote, closest = writers(flow.kernel, made, sizes, given, tensor, at)
            return _told(tensor, span, op, sizes, at, wrote, closest)
    return None


def _told(
    tensor: Tensor, span: Span, op: int, sizes: Mapping[str, int], at: tuple[int, ...], wrote: list[Writer],
    closest: Writer | None,
) -> Counterexample:  # fmt: skip
    coords = dict(zip(tensor.axes, at, strict=True))
    named = _named(tensor, at)
    how = "is never written" if not wrote else f"is written {len(wrote)} times"
    message = f"{tensor.name}[{named}] {how}"
    if not wrote:
        if closest is None:
            operand = Party("element", 0, 0, message, tensor.name, coords, span=span)
            return Counterexample("covers", span, op, message, sizes, (0, 0, 0), {}, 0, (operand,), HINT)
        last = _named(tensor, coordinates_of(tensor, sizes, closest.place))
        parties = [_party("closest", closest, f"writes {tensor.name}[{last}], and nobody what follows", tensor, coords)]
        main = closest
    else:
        main = wrote[-1]
        parties = [
            _party(f"write {n + 1}", w, f"writes {tensor.name}[{named}]", tensor, coords)
            for n, w in enumerate(wrote[:3])
        ]
    where, loops = (main.op.span, main.op.id), dict(main.loops)
    return Counterexample("covers", *where, message, sizes, main.block, loops, main.wave, tuple(parties), HINT)


def _party(name: str, writer: Writer, does: str, tensor: Tensor, coords: Mapping[str, int]) -> Party:
    block = ",".join(map(str, writer.block))
    turns = "".join(f", {loop}={n}" for loop, n in writer.loops.items())
    text = f"{does} (block=({block}){turns})"
    return Party(name, writer.thread, writer.element, text, tensor.name, coords, span=writer.op.span)


def _named(tensor: Tensor, at: tuple[int, ...]) -> str:
    return ", ".join(f"{axis}={c}" for axis, c in zip(tensor.axes, at, strict=True))
