"""The products of a turn as one line of rows, cut where memory accesses need them; `fragment_prefetch` comes first.

    read slice 1                                       read slice 1        | rows 0 … 6 of slice 0
    barrier                                            barrier
    publish kt+1, fetch kt+2 | slice 0            ->   publish, fetch      | row 7 of slice 0, rows 0 … 4 of slice 1
    barrier                                            barrier
    read slice 0 of kt+1     | slice 1                 read slice 0        | rows 5 … 7 of slice 1

Slices of k are too coarse: beside a short one accesses queue up, beside a long one nothing moves. A piece has `read`
instructions 16x16x16 for every fragment that is read, `write` for every write to LDS with its fetch, and `LAST` more,
in which the last access comes through before the barrier. Both halves of a fragment are multiplied one after the other,
which keeps a sum in its registers.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass

from argus.agent.lower.block_sizes import axes_of
from argus.agent.lower.fragments import fragment_loads, instruction
from argus.agent.lower.instruction_scheduling import WORDS
from argus.agent.lower.matrix import owner_definition
from argus.agent.lower.pipeline import BARRIER, FETCH, MULTIPLY, PUBLISH, READ, kind, staged_loop
from argus.agent.lower.scheduled_loops import scheduled_loops
from argus.agent.lower.source import Instead, NotApplicableError, Source, is_ag
from argus.agent.lower.text import expression, is_comment, statement

LAST = 14


@dataclass(frozen=True, slots=True)
class SliceProducts:
    """The product of a slice of k: `for h, i, j in ag.unroll(2, TILES_M, TILES_N): acc[i, j] = …`."""

    loop: ast.For
    row: str
    """The counter of rows."""
    counts: Mapping[str, ast.expr]
    """How far each counter runs, those of the sum first."""

    def rows(self, first: int, end: int) -> ast.stmt:
        """The products of some rows, the halves of a fragment innermost."""
        new = copy.deepcopy(self.loop)
        new.target = ast.Tuple([ast.Name(name, ast.Store()) for name in self.counts], ast.Store())
        if isinstance(new.iter, ast.Call):
            new.iter.args = [ast.Constant(end - first) if n == self.row else c for n, c in self.counts.items()]
        if first:
            Instead({self.row: expression(f"{first} + {self.row}")}).visit(new)
            new.target = ast.Tuple([ast.Name(name, ast.Store()) for name in self.counts], ast.Store())
        return new


def just_in_time_fragments(source: Source, params: Mapping[str, object]) -> None:
    """Cut the line of products so that each piece has as many as its accesses take."""
    for scheduled in scheduled_loops(source):
        scheduled.body = _flat(scheduled.body)
    loop, _ = staged_loop(source)
    body = loop.body
    stretches: list[list[ast.stmt]] = [[]]
    for node in body:
        if kind(source, node) == BARRIER:
            stretches.append([])
        elif kind(source, node) != MULTIPLY and not is_comment(node):
            stretches[-1].append(node)
    found = [{kind(source, node) for node in stretch} for stretch in stretches]
    if found != [{READ}, {PUBLISH, FETCH}, {READ}]:
        raise NotApplicableError("a turn must read, publish and fetch, read: `fragment_prefetch` makes it so")
    slices = [_slice(source, node) for node in body if kind(source, node) == MULTIPLY]
    height, width, moved, long = _sizes(source)
    if len(slices) < 2:
        raise NotApplicableError("a turn has one slice of k")
    per_row = 2 * width * long
    read, write = int(str(params["read"])), int(str(params["write"]))
    asked = [
        (height + width) * (len(slices) - 1) * read + LAST,
        moved * write + LAST,
        (height + width) * read,
    ]
    line = height * len(slices)
    whole = max(sum(asked), line * per_row)
    cuts = [0, asked[0] * line // whole, (asked[0] + asked[1]) * line // whole, line]
    if len(set(cuts)) < len(cuts):
        raise NotApplicableError("there are too few rows to cut")
    new: list[ast.stmt] = []
    for at, stretch in enumerate(stretches):
        if at:
            said = "has been read" if at == 1 else "+ 1 is there"
            new += [statement(f"'# tile {ast.unparse(loop.target)} {said}'"), statement("ag.barrier()")]
        pace = max(1, (write if at == 1 else read) // long)
        words = ", ".join(f"{WORDS[k]}=1" for k in dict.fromkeys(kind(source, node) for node in stretch))
        piece = statement(f"with ag.schedule(mfma={pace}, {words}):\n    pass")
        if isinstance(piece, ast.With):
            piece.body = [*stretch, *_products(slices, height, cuts[at], cuts[at + 1])]
        new.append(piece)
    loop.body = new


def _flat(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, those inside schedules too."""
    found: list[ast.stmt] = []
    for node in body:
        inside = isinstance(node, ast.With) and is_ag(node.items[0].context_expr, "schedule")
        found += node.body if inside and isinstance(node, ast.With) else [node]
    return found


def _products(slices: list[SliceProducts], height: int, first: int, end: int) -> list[ast.stmt]:
    """The rows of a piece of the line, slice by slice."""
    found = []
    for at, each in enumerate(slices):
        low, high = max(first - at * height, 0), min(end - at * height, height)
        if low < high:
            found.append(each.rows(low, high))
    return found


def _slice(source: Source, node: ast.stmt) -> SliceProducts:
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call) or not is_ag(node.iter, "unroll"):
        raise NotApplicableError("a product is not one unrolled loop")
    targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    counts = {ast.unparse(t): c for t, c in zip(targets, node.iter.args, strict=True)}
    given = node.body[0].targets[0] if len(node.body) == 1 and isinstance(node.body[0], ast.Assign) else None
    index = given.slice if isinstance(given, ast.Subscript) else None
    if not isinstance(index, ast.Tuple) or len(index.elts) != 2:
        raise NotApplicableError("a sum is not taken from rows and columns of tiles")
    places = [ast.unparse(e) for e in index.elts]
    if not set(places) <= set(counts):
        raise NotApplicableError("rows are cut already")
    ordered = {name: counts[name] for name in (*places, *(n for n in counts if n not in places))}
    return SliceProducts(node, places[0], ordered)


def _sizes(source: Source) -> tuple[int, int, int, int]:
    """Rows and columns of tiles of a wave, 16-byte writes of a thread in a turn, length of an instruction."""
    roles = axes_of(source)
    numbers: dict[str, int] = {}
    for role in ("row", "col"):
        for what in ("TILES", "WAVES"):
            given = source.constant(f"{what}_{roles[role]}")
            numbers[f"{what} {role}"] = (source.value(given.value) if given is not None else None) or 0
    deep = source.constant(f"BLOCK_{roles['k']}")
    depth = source.value(deep.value) if deep is not None else None
    shape = instruction(source, owner_definition(source, fragment_loads(source)[0].owner))[2]
    if not all(numbers.values()) or not depth:
        raise NotApplicableError("the sizes are not numbers of the file")
    blocks = shape[0] * sum(numbers[f"TILES {r}"] * numbers[f"WAVES {r}"] for r in ("row", "col"))
    threads = 64 * numbers["WAVES row"] * numbers["WAVES col"]
    return numbers["TILES row"], numbers["TILES col"], max(1, blocks * depth // (8 * threads)), shape[0] // 16
