"""The MI300X outside the instruction set: how many of everything, how large, how fast, how far away.

Every number lives in `chip.json` with its unit, its source and a confidence letter, because half of them are other
people's measurements and some of those disagree:

    fact("l2_latency")  -> Fact(name="l2_latency", value=213, unit="clk", confidence="M", source="RRZE bare ...")

    V  checked mechanically against AMD's calculator     L  LLVM source
    D  AMD document or AMD source code                   S  secondary source
    M  published measurement                             X  derived by arithmetic

The constants below are the ones other modules use by name. What a *model* assumes on top of the facts (queue depths,
efficiencies, costs nobody published) belongs to the clock's parameters, not here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Fact:
    """One number about the chip and why it is believed."""

    name: str
    value: float
    unit: str
    confidence: str
    source: str


def _read() -> dict[str, Fact]:
    rows = json.loads(files("argus.gfx942").joinpath("chip.json").read_text(encoding="utf-8"))
    return {name: Fact(name=name, **row) for name, row in rows.items()}


FACTS: Mapping[str, Fact] = MappingProxyType(_read())


def fact(name: str) -> Fact:
    """The fact of that name; KeyError lists the names there are."""
    try:
        return FACTS[name]
    except KeyError:
        raise KeyError(f"no chip fact {name!r}; known: {', '.join(FACTS)}") from None


def count(name: str) -> int:
    """A fact that is a whole number."""
    value = fact(name).value
    if value != int(value):
        raise ValueError(f"chip fact {name!r} is {value}, not a whole number")
    return int(value)


XCDS = count("xcds")
CUS_PER_XCD = count("cus_per_xcd")
CUS = XCDS * CUS_PER_XCD
SIMDS_PER_CU = count("simds_per_cu")
WAVE_LANES = count("wave_lanes")
WAVE_SLOTS_PER_SIMD = count("wave_slots_per_simd")
BARRIERS_PER_CU = count("barriers_per_cu")
MAX_WORKGROUP_THREADS = count("max_workgroup_threads")
CLOCK_MAX_MHZ = count("clock_max")


def matrix_peak_tflops(element: str, clock_mhz: float = CLOCK_MAX_MHZ) -> float:
    """Dense matrix peak of the whole chip for A/B elements of that type, at a clock."""
    kinds = {
        "f16": "bf16",
        "bf16": "bf16",
        "fp8": "fp8",
        "bf8": "fp8",
        "i8": "fp8",
        "xf32": "xf32",
        "f32": "f32",
        "f64": "f32",
    }
    if element not in kinds:
        raise KeyError(f"no matrix peak for elements of type {element!r}; known: {', '.join(kinds)}")
    return CUS * fact(f"flops_clock_cu_{kinds[element]}").value * clock_mhz * 1e-6


def xcd_of_workgroup(linear_id: int) -> int:
    """Workgroups go round-robin over the XCDs by linear id (SPX mode)."""
    return linear_id % XCDS
