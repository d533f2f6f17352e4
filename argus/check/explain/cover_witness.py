"""Counterexamples of `covers`: a launch executed in full, and an element it wrote never or twice."""

from __future__ import annotations

import numpy as np

from argus.check.explain.small_executions import launches, varied
from argus.check.report import Counterexample, Party
from argus.check.solve.limits import may_search
from argus.check.walk import KernelWalk
from argus.ir import interp
from argus.ir.ops import Tensor
from argus.ir.types import Span
from argus.layout import expr as E
from argus.layout.expr import ExprError


def miswritten_element(flow: KernelWalk, tensor: Tensor, span: Span, op: int) -> Counterexample | None:
    for sizes in [*varied(flow.kernel), *launches(flow.kernel, 6)]:
        if not may_search(1):
            return None
        try:
            outcome = interp.run(flow.kernel, {}, sizes)
        except (interp.InterpError, ExprError):
            continue
        strides = [int(E.evaluate(s, sizes)) for s in tensor.strides]
        shape = interp.extents(tensor, sizes)
        counts = np.lib.stride_tricks.as_strided(
            outcome.writes[tensor.name], shape, tuple(4 * s for s in strides)
        )  # fmt: skip
        wrong = np.argwhere(counts != 1)
        if len(wrong):
            at = tuple(int(v) for v in wrong[0])
            times = int(counts[at])
            coords = dict(zip(tensor.axes, at, strict=True))
            named = ", ".join(f"{a}={c}" for a, c in coords.items())
            how = "is never written" if times == 0 else f"is written {times} times"
            operand = Party("element", 0, 0, f"{tensor.name}[{named}] {how}", tensor.name, coords, span=span)
            message = f"{tensor.name}[{named}] {how}"
            hint = "let the grid and the stores' coordinates tile the output exactly"
            return Counterexample("covers", span, op, message, sizes, (0, 0, 0), {}, 0, (operand,), hint)
    return None
