"""Elements of scans that are compared together: every one of them is what its group says at its own index.

The oracle is enumeration: what a footprint has taken as a multiset of numbers, for chosen values of its variables.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np

from argus.check.domain.records import Record, Tables
from argus.check.domain.reduction_footprint import FootprintPart, Over, ReducedFootprint, several, union
from argus.check.domain.tags import Case
from argus.check.rules.scanned_elements import alike_scans, general_term
from argus.check.rules.stored_elements import StoredElements
from argus.check.terms.atoms import Leaf, Reduce
from argus.lang import read
from argus.layout import expr as E
from argus.layout.expr import Expr

SCAN = Path(__file__).parents[3] / "argus" / "kernels" / "scan.py"
TILE, WIDTH, LANES, EACH = E.var("i", 0, 1000), 64, 64, 2
REST = TILE * WIDTH


def taken(items: ReducedFootprint, env: dict[Expr, int]) -> Counter[int]:
    """The coordinates as a multiset, variables replaced by numbers."""
    found: Counter[int] = Counter()
    for item in items:
        if isinstance(item, FootprintPart):
            start = item.rest.subst(dict(env))
            assert start.op == "const", start
            found.update(start.value + offset for offset in item.offsets())
        else:
            ends = [bound.subst(dict(env)) for bound in (item.lo, item.hi)]
            for value in range(ends[0].value, ends[1].value, item.step):
                found += taken(item.items, {**env, item.var: value})
    return found


def footprints(tables: Tables, term: int) -> list[Reduce]:
    return [atom for atom in tables.terms.inside(term) if isinstance(atom, Reduce)]


def before() -> ReducedFootprint:
    """All tiles before this one."""
    turn = E.var("i", 0, 1000)
    return (Over(turn, E.const(0), TILE, 1, (FootprintPart(turn * WIDTH, 0, (1 << WIDTH) - 1),)),)


def drawn(draw: random.Random, offset: int, edge: int, backwards: bool) -> ReducedFootprint:
    """What an element has taken: up to its index (or from it), with a fault now and then."""
    low, high = (offset - edge, WIDTH) if backwards else (0, offset + edge)
    offsets = list(range(low, high))
    if draw.random() < 0.05 and len(offsets) > 2:
        offsets.remove(draw.choice(offsets[1:-1]))  # a hole
    if draw.random() < 0.05 and offsets:
        offsets.append(draw.choice(offsets))  # taken twice
    if draw.random() < 0.05:
        offsets.append(max(offsets, default=0) + 1)  # one too far
    made = before() if draw.random() < 0.9 else ()
    return union(made, several(REST, tuple(offsets)), twice=True) if offsets else made


def elements(tables: Tables, seed: int) -> tuple[Case, Case, dict[tuple[int, int], ReducedFootprint]]:
    """A stored value and where it is stored, as the walk has them, and what each (lane, element) has taken."""
    draw = random.Random(seed)
    backwards, edge = draw.random() < 0.5, draw.choice((0, 1))
    rows, columns = (tables.axes[name] for name in ("M", "N"))
    shape = (1, LANES, EACH)
    record, where = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    offset, place = (np.zeros((*shape, tables.width), np.int32) for _ in range(2))
    rests = [-1] * tables.width
    rests[rows] = tables.rest(E.var("block_x", 0, 100))
    stored = [*rests]
    stored[columns] = tables.rest(REST)
    body = tables.terms.atom(Leaf("X", (rows, columns)))
    seen: dict[tuple[int, int], ReducedFootprint] = {}
    for lane in range(LANES):
        for e in range(EACH):
            n = (lane * EACH + e) % WIDTH
            items = drawn(draw, n, edge, backwards)
            term = tables.terms.reduce("sum", columns, body, items) if items else 1
            record[0, lane, e] = tables.intern(Record("value", rests=tuple(rests), term=term))
            where[0, lane, e] = tables.intern(Record("element", "Y", tuple(stored)))
            place[0, lane, e, columns] = n
            seen[lane, e] = items
    site = np.full(shape, -1, np.int64)
    return Case(E.TRUE, record, offset, site), Case(E.TRUE, where, place, site), seen


def test_every_element_is_its_group_at_its_own_index() -> None:
    kernel = read(SCAN, settings={"CHUNKS": 1}, kernel="scan")
    joined = 0
    for seed in range(40):
        tables = Tables(kernel)
        axes = tuple(tables.axes[name] for name in ("M", "N"))
        value, store, seen = elements(tables, seed)
        groups = alike_scans(tables, value, store, axes, np.ones(value.record.shape, np.bool_))
        if groups is None:
            continue
        joined += 1
        assert len(groups) < LANES
        for tile in (0, 3):
            for (lane, e), items in seen.items():
                n = int(store.offset[0, lane, e, axes[1]])
                assert any(_says(tables, group, tile, n, items) for group in groups), (seed, lane, e)
    assert joined >= 30


def _says(tables: Tables, group: StoredElements, tile: int, n: int, items: ReducedFootprint) -> bool:
    """The group speaks of the element at n of a tile, and says that it has taken these."""
    here = tile * WIDTH + n
    env: dict[Expr, int] = {TILE: tile, E.var("block_x", 0, 100): 7}
    name = group.stored[1]
    if name.op == "var":
        env[name] = here
    elif name.subst(dict(env)).value != here:
        return False
    if not all(fact.subst(dict(env)) is E.TRUE for fact in group.known):
        return False
    found = footprints(tables, tables[group.number].term)
    mine = taken(items, env)
    return (taken(found[0].footprint, env) if found else Counter()) == mine


def test_the_edge_of_a_term_is_where_its_interval_ends() -> None:
    kernel = read(SCAN, settings={"CHUNKS": 1}, kernel="scan")
    tables = Tables(kernel)
    axis = tables.axes["N"]
    body = tables.terms.atom(Leaf("X", (tables.axes["M"], axis)))
    for low, high in ((0, 1), (0, 9), (5, 64)):
        term = tables.terms.reduce(
            "sum", axis, body, union(before(), several(REST, tuple(range(low, high))), twice=True)
        )
        ends = {side: general_term(tables.terms, term, REST, side)[1] for side in ("end", "start")}  # type: ignore
        assert ends == {"end": high, "start": low}
    other = tables.terms.reduce("sum", axis, body, several(TILE * 32, (0, 1, 2)))
    assert general_term(tables.terms, other, REST, "end") == (other, None)
