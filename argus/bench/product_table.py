"""The numbers of the dispatcher's formula for every candidate, from times by the clock where a candidate may win.

    models, combine = trained(CANDIDATES, drawn(TRAINED, 48), Kept())

A plain guess says which candidates come near the best at a shape; those are timed. Small products, whose times cost
little, come first, and after every few the candidates are fitted to what is known, so that large products are timed
with few of them. A second pass, in a narrower band, finds what the first one did not know to be near. Every time is
kept: a run again, or with one more candidate, takes only what is new.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from argus import machine
from argus.bench.contestant import compiled
from argus.bench.kept import Kept, LaunchAccount
from argus.bench.product_fit import ProductSample, chip_of, combining, fitted, moved
from argus.bench.product_shapes import Shape
from argus.bench.product_times import accounts
from argus.clock.model import room_for
from argus.clock.recorded import kernel_resources
from argus.ir.compile_error import CompileError
from argus.lang.errors import ProgramError
from argus.ops.choice import Choice, able_at, matmul_with
from argus.ops.product_choice import estimated, order_of
from argus.ops.product_time import ProductModel, model_of

Row = Mapping[str, Any]
BANDS = (1.4, 1.2)
"""How far from the best estimate a candidate is timed, pass by pass."""
COSTLY, TIGHT = 5e10, 1.05
"""Multiply-adds beyond which a time takes tens of seconds, and the band there."""
OFTEN = 6
"""Shapes after which the candidates are fitted again."""
USUAL = (1024, 1024, 1024)


@dataclass(slots=True)
class Entrant:
    """A candidate with what is known of it."""

    row: Row
    room: int
    model: ProductModel
    samples: dict[str, ProductSample] = field(default_factory=dict)
    added: dict[str, tuple[float, float]] = field(default_factory=dict)

    def at(self, shape: Shape) -> Choice | None:
        """What it becomes at these sizes; None if it cannot do them, or becomes another candidate."""
        return matmul_with(self.row, *shape, "bf16") if able_at(self.row, *shape) else None

    def estimate(self, shape: Shape) -> float:
        return estimated(chip_of(), self.model, self.row, *shape)

    def learn(self, choice: Choice, shape: Shape, launches: Sequence[LaunchAccount]) -> None:
        knobs = choice.knobs
        words = f"{choice.text()} at {shape}"
        order = order_of(self.row, self.model, *shape[:2])
        self.samples[words] = ProductSample(shape, order, int(knobs.get("GROUP", 1)), launches[0])
        if len(launches) > 1:
            parts = (4.0 * int(knobs["SPLITS"]) + 2.0) * shape[0] * shape[1]
            self.added[words] = parts, launches[1].us


def entrants(candidates: Sequence[Row]) -> list[Entrant]:
    """The candidates that can be built."""
    found = []
    for row in candidates:
        try:
            room = _room(row)
        except (CompileError, ProgramError):
            continue
        found.append(Entrant(row, room, fitted(row, room, [])))
    return found


def _room(row: Row) -> int:
    """Workgroups that a compute unit has room for."""
    ready = compiled(matmul_with(row, *USUAL, "bf16"))
    info = machine.load(ready.code).kernel(ready.kernel.name).info
    return room_for(kernel_resources(info), ready.kernel.threads // 64)


def trained(
    candidates: Sequence[Row], shapes: Sequence[Shape], kept: Kept, bands: Sequence[float] = BANDS
) -> list[Entrant]:
    """The candidates, fitted to times at these shapes."""
    field_ = entrants(candidates)
    ordered = sorted(shapes, key=math.prod)
    for band in bands:
        for start in range(0, len(ordered), OFTEN):
            for shape in ordered[start : start + OFTEN]:
                for entrant, choice, _ in near(field_, shape, band_at(shape, band)):
                    time, launches = accounts(choice, shape, kept)
                    if not time.why:
                        entrant.learn(choice, shape, launches)
            fit(field_)
    return field_


def band_at(shape: Shape, band: float) -> float:
    """The band at these sizes: large products cost minutes, and by then the candidates are fitted."""
    return band if math.prod(shape) <= COSTLY else min(band, TIGHT)


def of_table(candidates: Sequence[Row], table: Mapping[str, Any]) -> list[Entrant]:
    """The candidates with the numbers of a table; those it does not know have a plain guess."""
    known = {_name(row): model_of(row, table["combine"]) for row in table["candidates"]}
    found = entrants([row for row in candidates if _name(row) not in known])
    for row in candidates:
        if _name(row) in known:
            model = known[_name(row)]
            found.append(Entrant(row, model.room, model))
    return found


def _name(row: Row) -> str:
    return f"{row['kernel']} {sorted(row['knobs'].items())}"


def near(field_: Sequence[Entrant], shape: Shape, band: float) -> list[tuple[Entrant, Choice, float]]:
    """Those whose estimate is within the band of the least, with their estimates, the least first."""
    found: dict[str, tuple[Entrant, Choice, float]] = {}
    for entrant in field_:
        choice = entrant.at(shape)
        if choice is not None:
            found.setdefault(choice.text(), (entrant, choice, entrant.estimate(shape)))
    ordered = sorted(found.values(), key=lambda each: each[2])
    return [each for each in ordered if each[2] <= band * ordered[0][2]]


def tile_of(row: Row) -> tuple[Any, ...]:
    """What candidates have in common that differ in the order of workgroups alone: they share their numbers."""
    return row["kernel"], *(
        (name, value) for name, value in row["knobs"].items() if name not in ("XM", "BAND", "GROUP")
    )


def fit(field_: Sequence[Entrant]) -> None:
    """Fits every entrant to the samples of its tile: first alone, then from what its kernel's tiles have in common."""
    combine = combining([each for entrant in field_ for each in entrant.added.values()])
    samples: dict[tuple[Any, ...], dict[str, ProductSample]] = {}
    for entrant in field_:
        samples.setdefault(tile_of(entrant.row), {}).update(entrant.samples)
    known = {tile: [found[words] for words in sorted(found)] for tile, found in samples.items()}
    alone = {tile_of(e.row): (e.row, fitted(e.row, e.room, known[tile_of(e.row)])) for e in field_}
    moves = {
        kernel: moved([(row, model, len(known[tile])) for tile, (row, model) in alone.items() if tile[0] == kernel])
        for kernel in {tile[0] for tile in alone}
    }
    for entrant in field_:
        model = fitted(entrant.row, entrant.room, known[tile_of(entrant.row)], moves[entrant.row["kernel"]])
        entrant.model = replace(model, combine=combine)
