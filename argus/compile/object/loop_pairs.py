"""Which loop of the object carries out which loop of the kernel.

    pairs = LoopPairs(kernel, live, flow, by_op, op_of)
    pairs.header_of[op]      header of the object's loop
    pairs.by_line            loops that only arithmetic pairs, by the line table
    pairs.wrong              instructions that stand in another loop than their op

By the accesses, barriers and matrix instructions inside, which `matching` has given an op each. Loops without any are
paired by the instructions that the line table gives to ops inside; what is found of such a loop is then *unknown* at
worst, since the line table only proposes. A loop that runs exactly once needs no loop in the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argus.compile.object.control_flow import FlowGraph
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.passes.liveness import taken


def once(loop: ops.For) -> bool:
    """The loop runs exactly once."""
    trips = loop.hi - loop.lo
    return trips.op == "const" and 0 < trips.value <= loop.step


class LoopPairs:
    """Pairs of the loops of a kernel and of its object."""

    def __init__(
        self, kernel: Kernel, live: frozenset[int], flow: FlowGraph, by_op: Mapping[int, list[int]], op_of: list[int]
    ) -> None:
        self.flow = flow
        self.header_of: dict[int, int] = {}
        self.most_turns: dict[int, int] = {}
        """Header -> a bound of the iterations."""
        self.wrong: list[tuple[int, ops.Op, str]] = []
        self.by_line: set[int] = set()
        placed = list(_inside(kernel.body, (), live))
        for op, around in placed:
            for n in by_op.get(op.id, ()):
                self._by_event(n, op, around)
        if any(not once(loop) and loop.id not in self.header_of for _, around in placed for loop in around):
            self._by_lines(placed, op_of)

    def _chains(self, n: int, around: tuple[ops.For, ...]) -> tuple[list[ops.For], list[int]]:
        """Loops of the kernel around an op and of the object around its instruction n, outermost first."""
        chain = self.flow.loops_of(self.flow.block_of[n])
        several = [loop for loop in around if not once(loop)] if len(chain) < len(around) else list(around)
        return several, chain

    def _by_event(self, n: int, op: ops.Op, around: tuple[ops.For, ...]) -> None:
        several, chain = self._chains(n, around)
        if len(several) != len(chain):
            self.wrong.append((n, op, f"it stands in {len(chain)} loops, in the kernel in {len(around)}"))
            return
        for loop, header in zip(several, chain, strict=True):
            if self.header_of.get(loop.id, header) != header:
                self.wrong.append((n, op, "it stands in another loop than its neighbors"))
            self._pair(loop, header)

    def _pair(self, loop: ops.For, header: int) -> None:
        self.header_of.setdefault(loop.id, header)
        most = (loop.hi - loop.lo + (loop.step - 1)).hi
        if most is not None:
            self.most_turns[header] = max(1, most // loop.step)

    def _by_lines(self, placed: list[tuple[ops.Op, tuple[ops.For, ...]]], op_of: list[int]) -> None:
        lines: dict[int, list[int]] = {}
        for n in sorted(self.flow.block_of):
            lines.setdefault(op_of[n], []).append(n)
        for op, around in placed:
            for n in lines.get(op.id, ()):
                several, chain = self._chains(n, around)
                if len(several) != len(chain):
                    continue
                new = [(loop, header) for loop, header in zip(several, chain, strict=True) if self._free(loop, header)]
                fits = all(
                    (loop, header) in new or self.header_of.get(loop.id) == header
                    for loop, header in zip(several, chain, strict=True)
                )
                for loop, header in new if fits else ():
                    self._pair(loop, header)
                    self.by_line.add(loop.id)

    def _free(self, loop: ops.For, header: int) -> bool:
        return loop.id not in self.header_of and header not in self.header_of.values()


def _inside(
    body: list[ops.Op], around: tuple[ops.For, ...], live: frozenset[int]
) -> Iterator[tuple[ops.Op, tuple[ops.For, ...]]]:
    """Ops that are in the code, each with the loops around it."""
    for op in body:
        if op.id not in live:
            continue
        inner = (*around, op) if isinstance(op, ops.For) else around
        for block in taken(op) if isinstance(op, ops.If) else op.blocks:
            yield from _inside(block, inner, live)
        yield op, around
