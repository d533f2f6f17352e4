"""Why a launch takes its time: the stack of causes, by line and by instruction, prices of the causes, counters.

    explanation = explain(recorded, timer, places)
    explanation.parts          TimePart(cause="vmcnt_hbm", microseconds=8.7) ...     sum to the time of the launch
    explanation.to_json()      {"schema": "argus.clock.explain", "version": 1, ...}
    print(explanation_text(explanation))                                             argus.clock.explain_text

`timer(recorded, parameters, **options)` is how the launch is timed (`argus.clock.sampled.time_prepared` with the work
filled in); it is called once with a `TracedUnit` and once per price. All figures are simulated.

Two laws, both tests: the parts sum to the time, and the wave-clocks of all instructions and of idle places sum to
waves x clocks of the timed compute unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from argus.clock.counters import HardwareCounter, bank_conflicts, counters, work_in_workgroups
from argus.clock.launch import Launch
from argus.clock.launch_stack import TimePart, bound_class, launch_stack
from argus.clock.launch_whatif import Price, prices
from argus.clock.parameters import MODEL_VERSION, PARAMETERS, Parameters
from argus.clock.program import Op
from argus.clock.recorded import Recorded
from argus.clock.stall_stack import CAUSES, StallStack, stall_stack
from argus.clock.timing import Timing
from argus.clock.wait_sources import TracedUnit
from argus.gfx942 import chip

SCHEMA = "argus.clock.explain"
SCHEMA_VERSION = 1


class LaunchTimer(Protocol):
    """Times a recorded launch; `options` are those of `argus.clock.timer.time_recorded`."""

    def __call__(self, recorded: Recorded, parameters: Parameters, **options: Any) -> tuple[Timing, Launch]: ...


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything known about the time of one launch; `places` maps pc to file:line, `buffers` pc to the LDS buffer."""

    title: str
    timing: Timing
    launch: Launch
    ops: Sequence[Op]
    places: Mapping[int, str]
    stack: StallStack
    parts: tuple[TimePart, ...]
    bound: tuple[str, str]
    prices: Sequence[Price]
    counters: Sequence[HardwareCounter]
    conflicts: Mapping[int, float]
    buffers: Mapping[int, str]

    @property
    def microseconds(self) -> float:
        return self.launch.sustained.microseconds

    @property
    def per_wave_clock(self) -> float:
        """Microseconds of the launch per wave-clock of the timed compute unit: the full rounds."""
        rounds = sum(part.microseconds for part in self.parts if part.cause in CAUSES)
        return rounds / self.stack.total

    def place(self, index: int) -> str:
        """Source line of an operation, or ""."""
        return self.places.get(self.ops[index].pc, "") if index >= 0 else ""

    def lds_conflicts(self) -> list[tuple[str, str, float]]:
        """Clocks lost to bank conflicts by (buffer, source line), most first."""
        found: dict[tuple[str, str], float] = {}
        for index, clocks in self.conflicts.items():
            key = (self.buffers.get(self.ops[index].pc, ""), self.place(index))
            found[key] = found.get(key, 0.0) + clocks
        return sorted(((*key, clocks) for key, clocks in found.items()), key=lambda row: (-row[2], row))

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "version": SCHEMA_VERSION,
            "source": "simulated",
            "model": MODEL_VERSION,
            "title": self.title,
            "microseconds": self.microseconds,
            "bound": {"class": self.bound[0], "why": self.bound[1]},
            "launch": self.launch.to_json(),
            "occupancy": {
                "resident_workgroups": self.timing.resident,
                "possible_workgroups": self.timing.occupancy,
                "waves": self.timing.waves,
                "waves_per_simd": self.timing.waves / chip.SIMDS_PER_CU,
            },
            "utilization": dict(self.timing.utilisation),
            "stack": [
                {
                    "cause": part.cause,
                    "group": part.group,
                    "title": part.title,
                    "microseconds": part.microseconds,
                    "share": part.microseconds / self.microseconds,
                }
                for part in self.parts
            ],
            "wave_clocks": {
                "total": self.stack.total,
                "waves": self.timing.waves,
                "cycles": self.timing.cycles,
                "clock_mhz": self.timing.clock_mhz,
                "causes": {cause: clocks for cause, clocks in self.stack.causes.items() if clocks},
            },
            "causes": {
                name: {"group": cause.group, "title": cause.title, "pc_sampling": cause.pc_sampling}
                for name, cause in CAUSES.items()
            },
            "lines": [
                {"place": place, "wave_clocks": sum(causes.values()), "causes": causes}
                for place, causes in self.stack.by_place(self.places, self.ops).items()
            ],
            "instructions": [
                {
                    "pc": op.pc,
                    "text": op.text,
                    "place": self.place(op.index),
                    "executed": self.timing.rows[op.index].executed,
                    "wave_clocks": sum(self.stack.by_op[op.index].values()),
                    "causes": dict(self.stack.by_op[op.index]),
                    "bank_conflict_clocks": self.conflicts.get(op.index, 0.0),
                }
                for op in self.ops
                if op.index in self.stack.by_op
            ],
            "waits": [
                {
                    "pc": self.ops[wait.at].pc,
                    "place": self.place(wait.at),
                    "cause": wait.cause,
                    "served_by": wait.served_by,
                    "for_pc": self.ops[wait.source].pc if wait.source >= 0 else None,
                    "for_place": self.place(wait.source),
                    "wave_clocks": wait.wave_clocks,
                }
                for wait in self.stack.waits
            ],
            "lds_conflicts": [
                {"buffer": buffer, "place": place, "clocks": clocks} for buffer, place, clocks in self.lds_conflicts()
            ],
            "what_if": [
                {"name": p.name, "group": p.group, "microseconds": p.microseconds, "saved": p.saved}
                for p in self.prices
            ],
            "counters": [counter.to_json() for counter in self.counters],
            "notes": list(self.launch.notes),
        }


def explain(
    recorded: Recorded,
    timer: LaunchTimer,
    *,
    title: str = "",
    places: Mapping[int, str] | None = None,
    buffers: Mapping[int, str] | None = None,
    parameters: Parameters = PARAMETERS,
) -> Explanation:
    """The explanation of a recorded launch."""
    timing, launch = timer(recorded, parameters, unit_type=TracedUnit)
    ops, groups = recorded.waves(parameters)
    stack = stall_stack(ops, timing)
    mean_rounds = work_in_workgroups(recorded) / (timing.resident * chip.CUS)
    parts = launch_stack(stack, timing, launch, mean_rounds, parameters)
    return Explanation(
        title=title,
        timing=timing,
        launch=launch,
        ops=ops,
        places=places or {},
        stack=stack,
        parts=parts,
        bound=bound_class(stack, timing, launch, parts),
        prices=prices(recorded, lambda other, values: timer(other, values)[1], launch, parts, parameters),
        counters=counters(recorded, ops, timing, launch),
        conflicts=bank_conflicts(groups, timing.resident),
        buffers=buffers or {},
    )
