"""Rows of calibration: a published time of a program at hand, and what the simulation of its launches gave.

One line of JSON per row, written by `python -m bench.clock`:

    role          "fit" or "validate"; drawn by program, never by size
    family        who wrote the program and in what: "GEMM bf16, AITER assembly". Scores are means over families
    program       what ran; rows of one program have one role
    shape         names the work; rows of one shape can be ranked
    element       type of the factors, for peaks: "bf16", "fp8", "i8", "f32" ..., or "" without matrix work
    flops, bytes  of the whole operation; bytes: every tensor once
    microseconds  published time (median of the runs), as published: nothing taken off
    runs          all published times of this program and shape, if several; the clock is judged by their range
    protocol      "graph", "stream" or "cold" (argus.clock.protocol)
    state         "steady" (default), or "burst": a few milliseconds on a chip that idled before
    data          "signed" (default): random factors of both signs; "positive": between 0 and 1; "sines"
    source        where the time was published
    launches      one entry per launch, in order: `launch_line(name, launch)`, its profile timed at 2100 and 1250 MHz
                  at least (`time_recorded(..., also=(1250,))`), with the caches as the protocol leaves them
    simulated     {"model": MODEL_VERSION, "code": digest of the code that simulated it, "seconds": ...}
    notes         what is known to be unlike the measured launch

A row needs all its launches (a split product and its sum, a gather and two products): their times add up. What the
fit changes (power, floors, roofs) is applied to the profiles; the simulation of the compute unit is not repeated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from argus.clock.launch import Launch
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.power import DATA, Data, burst, for_data
from argus.clock.profile import Profile
from argus.clock.protocol import PROTOCOLS, Protocol, floor

ROLES = ("fit", "validate")
STATES = ("steady", "burst")


@dataclass(frozen=True, slots=True)
class Row:
    """One published time and the simulation of its launches."""

    role: str
    family: str
    program: str
    shape: str
    element: str
    flops: float
    bytes: float
    microseconds: float
    protocol: Protocol
    launches: tuple[Profile, ...]
    runs: tuple[float, ...] = ()
    state: str = "steady"
    data: Data = "signed"
    source: str = ""

    def predicted_us(self, parameters: Parameters = PARAMETERS) -> float:
        """What the clock says for the whole operation, taken by the row's protocol."""
        return sum(time for _, time in self.timed(parameters))

    def timed(self, parameters: Parameters = PARAMETERS) -> list[tuple[float, float]]:
        """(sustained clock, microseconds) of each launch."""
        used = for_data(self.data, burst(parameters) if self.state == "burst" else parameters)
        gap = floor(self.protocol, used)
        clocks = [profile.sustained(used, gap) for profile in self.launches]
        return [
            (clock, profile.busy_microseconds(clock, used) + gap)
            for clock, profile in zip(clocks, self.launches, strict=True)
        ]

    @property
    def longest(self) -> Profile:
        """The launch that takes longest at the full clock: it names the row's regime."""
        return max(self.launches, key=lambda profile: profile.busy_microseconds(2100))

    def error(self, parameters: Parameters = PARAMETERS) -> float:
        """Predicted over published time, less 1; 0 inside the range of several published runs."""
        return self.error_of(self.predicted_us(parameters))

    def error_of(self, predicted: float) -> float:
        times = (*self.runs, self.microseconds)
        nearest = min(max(predicted, min(times)), max(times))
        return predicted / nearest - 1


class RowError(ValueError):
    """A file of rows cannot be read."""


def read_rows(paths: Iterable[str | Path]) -> list[Row]:
    rows = []
    for path in paths:
        for number, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            try:
                rows.append(row_of(json.loads(text)))
            except (ValueError, KeyError, TypeError) as error:
                raise RowError(f"{path}:{number} is not a simulated row: {error}") from error
    return rows


def row_of(data: Mapping[str, Any]) -> Row:
    """The row of one line; ValueError or KeyError says what is wrong with it."""
    names = ("role", "family", "program", "shape", "element", "flops", "bytes", "microseconds", "protocol")
    row = Row(
        **{name: data[name] for name in names},
        launches=tuple(Profile.from_json(launch["profile"]) for launch in data["launches"]),
        runs=tuple(float(time) for time in data.get("runs", ())),
        state=data.get("state", "steady"),
        data=data.get("data", "signed"),
        source=data.get("source", ""),
    )
    for value, known in ((row.role, ROLES), (row.protocol, PROTOCOLS), (row.state, STATES), (row.data, DATA)):
        if value not in known:
            raise ValueError(f"{value!r} is none of {', '.join(known)}")
    if not row.launches or row.microseconds <= 0:
        raise ValueError("a row has a time and at least one launch")
    return row


def launch_line(name: str, launch: Launch) -> dict[str, Any]:
    """One entry of `launches`."""
    return {"name": name, "bound": launch.bound, "profile": launch.profile.to_json(), "notes": list(launch.notes)}


def published_clocks() -> list[dict[str, Any]]:
    """Published clocks with the activity they were seen at."""
    text = files("argus.clock").joinpath("published_clocks.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    return rows
