"""Transfer of `Symbol`: loaded data used as an index, and what the author states about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from argus.check.domain.tags import Case
from argus.check.terms.atoms import Leaf, own
from argus.check.transfer import stated_bounds
from argus.check.transfer.computed_places import DATA
from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk


def transfer(flow: KernelWalk, op: ops.Symbol) -> None:
    """Loaded data used as an index: an uninterpreted function of the element it was loaded from."""
    tags = flow.prune(flow.values[op.value])
    flow.symbol_data[op.symbol] = tags
    per_thread = np.empty(flow.threads.shape, dtype=object)
    name = op.symbol.name
    turn = (BLOCK_X, BLOCK_Y, BLOCK_Z, *(value for _, value in flow.loops))
    for w in range(flow.threads.waves):
        for lane in range(64):
            args: tuple[Expr | int, ...] = (w, lane, op.id, *turn)
            source = f"{name}_of_thread"
            if len(tags.cases) == 1:
                case = tags.cases[0]
                record = flow.tables[int(case.record[w, lane, 0])]
                leaf = flow.tables.terms.as_atom(record.term)
                if record.kind == "element" and record.part == (0, 1) and isinstance(leaf, Leaf):
                    source = DATA + record.label
                    args = _coordinates(flow, case, (w, lane, 0), leaf)
            per_thread[w, lane] = E.apply(source, *args, lo=op.symbol.lo, hi=op.symbol.hi)
            flow.loaded |= {(source, op.symbol.lo, op.symbol.hi), (source, None, None)}
    flow.threads.define(op.symbol, per_thread)
    _stated(flow, op)


def _stated(flow: KernelWalk, op: ops.Symbol) -> None:
    """What the author says about the data holds from here on, for the symbol and for the element it stands for;
    what was said about the symbol in an earlier iteration no longer does. Where it is not known which threads are
    there, nothing is taken from what they say."""
    if flow.entangled:
        flow.facts = tuple(fact for fact in flow.facts if op.symbol not in fact.free())
        return
    stated_facts = [flow.here(fact) for fact in op.facts]
    shared = [s.rest for s in map(flow.threads.spread, stated_facts) if s.rest is not None and s.rest.op != "const"]
    meant = stated_bounds.meant(flow, op)
    facts = [*(meant or stated_facts), *shared, *stated_bounds.everywhere(flow, op, stated_facts)]
    flow.stated_facts.update(facts)
    everywhere = not flow.loops and flow.active.all() and all(map(flow.is_stated, flow.facts))
    if everywhere and op.symbol not in flow.used:
        flow.everywhere_facts = tuple(dict.fromkeys((*flow.everywhere_facts, *facts)))
        return
    kept = [fact for fact in flow.facts if op.symbol not in fact.free()]
    flow.facts = (*kept, *(fact for fact in dict.fromkeys(facts) if fact not in kept))


def _coordinates(flow: KernelWalk, case: Case, at: tuple[int, int, int], leaf: Leaf) -> tuple[Expr, ...]:
    number = int(case.record[at])
    found: dict[int, Expr] = {}
    for axis in range(flow.tables.width):
        coordinate = flow.tables.coordinate(number, axis, int(case.offset[at][axis]))
        if coordinate is not None:
            found[axis] = coordinate
    if not leaf.at:
        return tuple(found.values())
    there: dict[Expr, Expr | int] = {own(axis): c for axis, c in found.items()}
    tensor = next(t for t in flow.kernel.tensors if t.name == leaf.tensor)
    order = sorted(range(len(leaf.at)), key=lambda n: flow.tables.tensor_axes[tensor][n])
    return tuple(leaf.at[n].subst(there) for n in order)
