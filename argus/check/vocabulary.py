"""The variables and functions that claims about a kernel may speak of.

An expression carries bounds of its variables and of loaded data, and proofs use them. So a claim may contain only the
variables that the kernel has, with their bounds: sizes, blocks, lane and wave, loop variables and rounds, symbols,
own coordinates. Functions stand for loaded data; that they have the bounds that the author stated is known when the
walk has met the statement, so those that are used are kept, to be compared at its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from argus.check.invariant.loop_shape import MAX_PERIOD, loop_shape
from argus.check.terms.atoms import own
from argus.check.terms.elementwise_terms import PARTS
from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, LANE, Kernel, wave_variable
from argus.layout import expr as E
from argus.layout.expr import Expr

AFTERWARDS = re.compile(r"(\w+)_then\d+")
"""A loop variable after its loop: some value that it had."""
LoadedData = tuple[str, int | None, int | None]
"""A function that stands for loaded data, with the bounds of its value."""


class Vocabulary:
    """Looks at every expression of a certificate once."""

    def __init__(self, kernel: Kernel, axes: int) -> None:
        known = {BLOCK_X, BLOCK_Y, BLOCK_Z, LANE, wave_variable(kernel.waves), *PARTS, *kernel.shapes}
        known |= {own(axis) for axis in range(axes)}
        for op in ops.walk(kernel.body):
            known |= {v for e in (*op.mentioned, *op.binds) for v in e.free()}
            if isinstance(op, ops.For):
                known |= {loop_shape(op, op.lo, op.hi, period).counter for period in range(2, MAX_PERIOD + 1)}
        self._known = known
        self._bounds = {(v.name, v.lo, v.hi) for v in known}
        self._seen: set[Expr] = set()
        self.loaded: set[LoadedData] = set()
        """Functions that were met."""

    def knows(self, expressions: Iterable[Expr]) -> bool:
        """Whether all of these speak of the kernel only."""
        return all(e in self._seen or self._looked_at(e) for e in expressions)

    def _looked_at(self, e: Expr) -> bool:
        if not all(v in self._known or self._afterwards(v) for v in e.free()):
            return False
        self.loaded |= {(node.name, node.lo, node.hi) for node in E.postorder(e) if node.op == "apply"}
        self._seen.add(e)
        return True

    def _afterwards(self, v: Expr) -> bool:
        found = AFTERWARDS.fullmatch(v.name)
        return found is not None and (found[1], v.lo, v.hi) in self._bounds
