"""The numbers the timing model works with: one data file, each number with its source.

`parameters.json` either gives a value with unit, confidence and source, or points to a chip fact, as in
`{"fact": "l2_latency"}`, so that no number is written twice. `assumed` as confidence marks what nobody has published;
docs/clock.md lists these.

    PARAMETERS["l2_latency"]                              -> 213
    PARAMETERS.with_values(l2_latency=290)["l2_latency"]  -> 290    # a perturbed clock, for sensitivity runs

There is no number per kernel, library or family: the same file times everything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from argus.gfx942.chip import fact

MODEL_VERSION = "0.5"

Value = float | str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number of the model (or one choice by name) and why it has that value."""

    name: str
    value: Value
    unit: str
    confidence: str
    source: str


class Parameters:
    """All parameters by name; immutable, `with_values` makes a changed copy."""

    def __init__(self, rows: Mapping[str, Parameter]) -> None:
        self.rows: Mapping[str, Parameter] = MappingProxyType(dict(rows))

    def __getitem__(self, name: str) -> float:
        value = self.rows[name].value
        if isinstance(value, str):
            raise TypeError(f"clock parameter {name!r} is a choice ({value}), not a number")
        return value

    def choice(self, name: str) -> str:
        return str(self.rows[name].value)

    def with_values(self, **values: Value) -> Parameters:
        """A copy with some values replaced; their source then says so."""
        rows = dict(self.rows)
        for name, value in values.items():
            if name not in rows:
                raise KeyError(f"the clock has no parameter {name!r}; it has {', '.join(rows)}")
            row = rows[name]
            source = f"set by the caller; was {row.value} ({row.source})"
            rows[name] = Parameter(name, value, row.unit, "changed", source)
        return Parameters(rows)

    def assumed(self) -> list[Parameter]:
        """The parameters nobody has published."""
        return [row for row in self.rows.values() if row.confidence == "assumed"]


def _read() -> Parameters:
    rows: dict[str, Parameter] = {}
    for name, row in json.loads(files("argus.clock").joinpath("parameters.json").read_text(encoding="utf-8")).items():
        if "fact" in row:
            known = fact(row["fact"])
            rows[name] = Parameter(name, known.value, known.unit, known.confidence, known.source)
        else:
            rows[name] = Parameter(name, **row)
    return Parameters(rows)


PARAMETERS = _read()
