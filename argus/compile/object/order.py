"""Do the object's instructions come in the order of the kernel, on every path?

Two instructions that may both be executed by a wave must not stand the other way round than in the kernel: no path may
lead from the later one to the earlier one, except around a loop. The arms of a branch that splits a wave are laid out
one after the other, either one first; the semantics gives them no order, and here it is only counted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from argus.compile.object.control_flow import FlowGraph
from argus.ir import ops


@dataclass(frozen=True, slots=True)
class PlacedInstruction:
    """Instruction n in a block of the object; `arms` are the branches around its op: (branch, 0 then or 1 else)."""

    n: int
    block: int
    op: ops.Op
    arms: tuple[tuple[int, int], ...]


def out_of_order(
    flow: FlowGraph, placed: list[PlacedInstruction]
) -> tuple[list[tuple[PlacedInstruction, PlacedInstruction]], int]:
    """(pairs that stand the other way round, branches whose else comes first); `placed` is in the kernel's order."""
    blocks: dict[int, list[tuple[int, PlacedInstruction]]] = defaultdict(list)
    for number, event in enumerate(placed):
        blocks[event.block].append((number, event))
    wrong: list[tuple[PlacedInstruction, PlacedInstruction]] = []
    turned: set[int] = set()
    for events in blocks.values():
        for (_, a), (_, b) in pairwise(events):
            if a.n > b.n:
                wrong.append((b, a))
    for first, early in blocks.items():
        for second, late in blocks.items():
            if first == second or not flow.before(first, second) or early[-1][0] < late[0][0]:
                continue
            for number, a in early:
                for other, b in late:
                    if number > other:
                        branch = _split(a, b)
                        if branch is None:
                            wrong.append((a, b))
                        else:
                            turned.add(branch)
    return wrong, len(turned)


def in_order(flow: FlowGraph, events: list[PlacedInstruction], before: int, one: PlacedInstruction) -> bool:
    """Whether an instruction comes after the first `before` of all events of the kernel and before the others, on every
    path; events in another arm of a branch do not count."""
    for number, event in enumerate(events):
        late, early = (one, event) if number < before else (event, one)
        turned = late.n < early.n if late.block == early.block else flow.before(late.block, early.block)
        if turned and _split(one, event) is None:
            return False
    return True


def _split(a: PlacedInstruction, b: PlacedInstruction) -> int | None:
    """The branch in whose two arms they are."""
    arms = dict(a.arms)
    return next((branch for branch, arm in b.arms if arms.get(branch, arm) != arm), None)
