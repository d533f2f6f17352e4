"""Names of what loads bring, so that an index read from memory is one word on both sides.

    rows = ag.as_index(rows_of[e].load(…), 0, M)      the kernel's symbol `rows`
    buffer_load_dword v7, …                            its register: loaded(op 12, dword 0), 0 <= it <= M's bound

The kernel names the data of a load as an index (`Symbol`), the object computes with the register. Both get the same
atom, with the bounds that the author states; the checker holds the author to them (`fits`). Loads of less than a dword,
and loads in parts of another size than the kernel's, have no name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from argus.compile.decoded import Decoded
from argus.compile.matching import Match
from argus.compile.tails import Tail, pieces
from argus.ir import ops
from argus.machine.semantics.mem import MEMORY
from argus.machine.symbolic.sums import WordSum
from argus.machine.symbolic.words import Words


class NamedLoads:
    """`around` says which loops of the object instruction n is in."""

    def __init__(
        self,
        kernel_ops: Mapping[int, ops.Op],
        code: Decoded,
        matched: Match,
        tails: Mapping[int, Tail],
        space: Words,
        around: Callable[[int], frozenset[int]],
    ) -> None:
        self.ops, self.code, self.matched, self.tails, self.space = kernel_ops, code, matched, tails, space
        self.around = around
        self.sources: dict[int, ops.Load] = {}
        """Loads whose values are symbols, by the op that names them."""
        self.bounds: dict[int, tuple[int, int]] = {}
        made = {result: op for op in kernel_ops.values() for result in op.results}
        for op in kernel_ops.values():
            if op.control is ops.Control.NONE and isinstance(op, ops.Symbol) and op.value.dtype.name == "i32":
                source = made.get(op.value)
                if isinstance(source, ops.Load):
                    self.sources[op.id] = source
                    low, high = op.symbol.bounds()
                    if low is not None and high is not None and 0 <= low <= high < 1 << 31:
                        self.bounds[source.id] = low, high

    def loaded(self, n: int, dword: int) -> WordSum | None:
        """The name of a dword that instruction n brings for the load of some op."""
        op = self.ops.get(self.matched.op_of[n])
        if (
            self.code.kinds[n] not in ("load", "ds_read")
            or n not in self.matched.part_of
            or not isinstance(op, ops.Load)
        ):
            return None
        start, width = pieces(op.access, self.tails.get(op.id, Tail.WHOLE))[self.matched.part_of[n]]
        if width < 4 or MEMORY[self.code.insts[n].op].size != width:
            return None
        return self.word(op.id, start // 4 + dword, n)

    def word(self, op_id: int, dword: int, n: int) -> WordSum:
        low, high = self.bounds.get(op_id, (0, None)) if dword == 0 else (0, None)
        varies = self.around(n)
        return self.space.word(self.space.atom("loaded", op_id, dword, lo=low, hi=high, uniform=False, varies=varies))
