"""The control-flow graph of decoded machine code: blocks, dominators, natural loops, and what comes before what.

    flow = control_flow(code)
    flow.block_of[n]            the block of instruction n
    flow.loops_of(block)        headers of the loops around it, outermost first
    flow.before(a, b)           whether a path leads from a to b without closing a loop

Execution starts at the first instruction, or behind the prologue where the hardware preloads arguments: both are
entries. Branches through registers do not occur in compiled kernels and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from argus.compile.decoded import Decoded
from argus.machine.semantics.control import BRANCHES, ENDS, INDEXING, INDIRECT, SKIPPING

START = -1
"""The block before all others."""


class Irregular(Exception):
    """Control flow that cannot be followed; the message says what."""


@dataclass(frozen=True, slots=True)
class Edge:
    """From block `source` to block `target`; `taken` says whether its branch jumps."""

    source: int
    target: int
    taken: bool


@dataclass
class FlowGraph:
    """Blocks are numbered in the order of their addresses; `first[b]` to `last[b]` are their instructions."""

    first: list[int]
    last: list[int]
    block_of: dict[int, int]
    into: dict[int, list[Edge]]
    out: dict[int, list[Edge]]
    order: list[int]
    dominator: dict[int, int]
    bodies: dict[int, frozenset[int]] = field(default_factory=dict)

    def dominates(self, a: int, b: int) -> bool:
        while b not in (a, START):
            b = self.dominator[b]
        return a == b

    def is_back(self, edge: Edge) -> bool:
        return edge.target in self.bodies and edge.source in self.bodies[edge.target]

    def past(self, edge: Edge) -> set[int]:
        """Blocks between the other way out of the edge's source and the edge's target."""
        found: set[int] = set()
        work = [other.target for other in self.out[edge.source]]
        while work:
            block = work.pop()
            if block != edge.target and block not in found:
                found.add(block)
                work += [after.target for after in self.out[block]]
        return found

    def loops_of(self, block: int) -> list[int]:
        """Headers of the loops around a block, outermost first."""
        return sorted((h for h, body in self.bodies.items() if block in body), key=lambda h: -len(self.bodies[h]))

    @cached_property
    def _forward(self) -> dict[int, frozenset[int]]:
        reached: dict[int, frozenset[int]] = {}
        for block in reversed(self.order):
            ahead: set[int] = set()
            for edge in self.out[block]:
                if not self.is_back(edge):
                    ahead |= {edge.target, *reached[edge.target]}
            reached[block] = frozenset(ahead)
        return reached

    def before(self, a: int, b: int) -> bool:
        return b in self._forward[a]


def control_flow(code: Decoded) -> FlowGraph:
    """The graph of what can be reached; raises `Irregular`."""
    insts = code.insts
    at = {inst.pc: n for n, inst in enumerate(insts)}
    leaders = {0, code.entry}
    for n, inst in enumerate(insts):
        if inst.op in INDIRECT:
            raise Irregular(f"{inst.op} at {inst.pc:#x} goes to an address in a register")
        if inst.op in INDEXING or inst.op == SKIPPING:
            raise Irregular(f"{inst.op} at {inst.pc:#x} changes what instructions mean")
        if inst.op in BRANCHES:
            if inst.target not in at:
                raise Irregular(f"the branch at {inst.pc:#x} leaves the kernel")
            leaders |= {at[inst.target], n + 1}
        elif inst.op in ENDS:
            leaders.add(n + 1)
    first = sorted(n for n in leaders if n < len(insts))
    last = [*(n - 1 for n in first[1:]), len(insts) - 1]
    number = {n: b for b, n in enumerate(first)}
    out: dict[int, list[Edge]] = {START: [Edge(START, number[n], False) for n in dict.fromkeys((0, code.entry))]}
    for b, n in enumerate(last):
        inst = insts[n]
        edges = []
        if inst.op in BRANCHES and inst.target is not None:
            edges.append(Edge(b, number[at[inst.target]], True))
        if inst.op not in ENDS and inst.op != "s_branch":
            if n + 1 >= len(insts):
                raise Irregular("the code runs past its end")
            edges.append(Edge(b, b + 1, False))
        out[b] = edges
    order = _reverse_postorder(out)
    into: dict[int, list[Edge]] = {b: [] for b in order}
    for b in order:
        for edge in out[b]:
            into[edge.target].append(edge)
    graph = FlowGraph(
        first, last, {n: b for b in order if b != START for n in range(first[b], last[b] + 1)}, into, out, order,
        _dominators(order, into),
    )  # fmt: skip
    _find_loops(graph)
    return graph


def _reverse_postorder(out: dict[int, list[Edge]]) -> list[int]:
    seen = {START}
    done: list[int] = []
    stack = [(START, iter(out[START]))]
    while stack:
        block, rest = stack[-1]
        for edge in rest:
            if edge.target not in seen:
                seen.add(edge.target)
                stack.append((edge.target, iter(out[edge.target])))
                break
        else:
            stack.pop()
            done.append(block)
    return done[::-1]


def _dominators(order: list[int], into: dict[int, list[Edge]]) -> dict[int, int]:
    place = {b: n for n, b in enumerate(order)}
    found = {START: START}
    changed = True
    while changed:
        changed = False
        for b in order[1:]:
            known = [e.source for e in into[b] if e.source in found]
            new = known[0]
            for other in known[1:]:
                while new != other:
                    if place[new] > place[other]:
                        new = found[new]
                    else:
                        other = found[other]
            if found.get(b) != new:
                found[b] = new
                changed = True
    return found


def _find_loops(graph: FlowGraph) -> None:
    place = {b: n for n, b in enumerate(graph.order)}
    for b in graph.order:
        for edge in graph.out[b]:
            if place[edge.target] > place[b]:
                continue
            if not graph.dominates(edge.target, b):
                raise Irregular("a loop has two entries")
            body = {edge.target, b}
            work = [b]
            while work:
                block = work.pop()
                if block == edge.target:
                    continue
                for before in graph.into[block]:
                    if before.source not in body:
                        body.add(before.source)
                        work.append(before.source)
            graph.bodies[edge.target] = graph.bodies.get(edge.target, frozenset()) | body
