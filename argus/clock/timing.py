"""What the clock found out about one compute unit, as numbers, JSON and text.

    timing.cycles                 clocks from the first wave's start until the last result is stored
    timing.utilisation            share of those clocks each unit worked
    timing.rows                   per instruction: how often, and the clocks waves stalled before it, by reason
    print(timing.text())          the same for a person; with `source`, grouped by source line

Stall clocks are summed over waves: one wave stalled for 100 clk and eight waves stalled for 100 clk each are 100 and
800. A wave's life is exactly its turns (4 clk per instruction) plus its stalls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from argus.clock.parameters import MODEL_VERSION
from argus.clock.program import REASON_TEXT, DataWait, Reason
from argus.clock.timeline import Timeline

LABEL = f"simulated MI300X, model {MODEL_VERSION}"
"""What every output says about itself; each time carries its own interval (`argus.clock.uncertainty`)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction: executions over all waves, and stall clocks before it by reason."""

    pc: int
    text: str
    executed: int
    stalls: Mapping[Reason, int]

    @property
    def stalled(self) -> int:
        return sum(self.stalls.values())


@dataclass(frozen=True, slots=True)
class Timing:
    """The account of co-resident workgroups on one compute unit; `round_clocks`: of a round that follows another."""

    cycles: int
    workgroup_cycles: tuple[int, ...]
    waves: int
    wave_clocks: int
    issued: int
    longest_wave_turns: int
    resident: int
    occupancy: int
    clock_mhz: float
    utilisation: Mapping[str, float]
    rows: tuple[Row, ...]
    bank_conflict_clocks: int
    lds_bytes: int
    matrix_flops: int
    busiest_matrix_clocks: int
    valu_turns: int
    read_bytes: Mapping[str, float]
    filled_bytes: float
    written_bytes: float
    footprint_bytes: float
    sharing_known: bool
    round_clocks: float | None = None
    matrix_clocks: Mapping[str, int] = field(default_factory=dict)
    transcendental_turns: int = 0
    vmem_clocks: float = 0.0
    iterations: tuple[int, int] | None = None
    iteration_error: float = 0.0
    notes: tuple[str, ...] = ()
    idle: Mapping[str, int] = field(default_factory=dict)
    waits: Mapping[DataWait, int] = field(default_factory=dict, repr=False)
    timeline: Timeline | None = field(default=None, repr=False)

    @property
    def reasons(self) -> dict[Reason, int]:
        """Stall clocks of all waves by reason, largest first."""
        total: dict[Reason, int] = defaultdict(int)
        for row in self.rows:
            for reason, clocks in row.stalls.items():
                total[reason] += clocks
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    def by_line(self, source: Mapping[int, str]) -> dict[str, dict[Reason, int]]:
        """Stall clocks per place in the source, for the instructions whose pc the map knows."""
        out: dict[str, dict[Reason, int]] = {}
        for row in self.rows:
            place = source.get(row.pc)
            if place is not None:
                line = out.setdefault(place, {})
                for reason, clocks in row.stalls.items():
                    line[reason] = line.get(reason, 0) + clocks
        return out

    def to_json(self, source: Mapping[int, str] | None = None) -> dict[str, Any]:
        return {
            "label": LABEL,
            "model": MODEL_VERSION,
            "cycles": self.cycles,
            "workgroup_cycles": list(self.workgroup_cycles),
            "waves": self.waves,
            "wave_clocks": self.wave_clocks,
            "instructions": self.issued,
            "longest_wave_turns_clk": self.longest_wave_turns,
            "resident_workgroups": self.resident,
            "occupancy_workgroups": self.occupancy,
            "clock_mhz": self.clock_mhz,
            "utilisation": dict(self.utilisation),
            "stalls": {reason.name.lower(): clocks for reason, clocks in self.reasons.items()},
            "bank_conflict_clocks": self.bank_conflict_clocks,
            "lds_bytes": self.lds_bytes,
            "matrix_flops": self.matrix_flops,
            "busiest_matrix_clocks": self.busiest_matrix_clocks,
            "valu_turns_clk": self.valu_turns,
            "matrix_clk_by_format": dict(self.matrix_clocks),
            "transcendental_turns_clk": self.transcendental_turns,
            "vector_memory_clk": self.vmem_clocks,
            "read_bytes": dict(self.read_bytes),
            "filled_bytes": self.filled_bytes,
            "written_bytes": self.written_bytes,
            "footprint_bytes": self.footprint_bytes,
            "sharing_known": self.sharing_known,
            "iterations_timed": None if self.iterations is None else list(self.iterations),
            "iteration_error": self.iteration_error,
            "notes": list(self.notes),
            "instructions_by_pc": [
                {
                    "pc": row.pc,
                    "text": row.text,
                    "executed": row.executed,
                    "stalls": {reason.name.lower(): clocks for reason, clocks in row.stalls.items()},
                    **({"source": source[row.pc]} if source and row.pc in source else {}),
                }
                for row in self.rows
            ],
        }

    def text(self, top: int = 12, source: Mapping[int, str] | None = None) -> str:
        lines = [
            LABEL,
            f"{self.cycles} clk for {self.resident} workgroup(s) of {self.waves // self.resident} waves on one CU "
            f"(room for {self.occupancy}); {self.issued} wave instructions",
            *(
                []
                if self.iterations is None
                else [
                    f"{self.iterations[0]} of {self.iterations[1]} iterations of the longest loop were timed, the rest "
                    f"taken from the later of them; +- {100 * self.iteration_error:.1f} %"
                ]
            ),
            "units busy     " + "  ".join(f"{name} {100 * share:.1f} %" for name, share in self.utilisation.items()),
            "read           " + "  ".join(f"{name} {size / 1024:.0f} KiB" for name, size in self.read_bytes.items()),
            f"LDS conflicts  {self.bank_conflict_clocks} clk",
            "waves stalled  "
            + "  ".join(f"{REASON_TEXT[r]} {100 * c / self.wave_clocks:.1f} %" for r, c in self.reasons.items() if c),
        ]
        worst = sorted((row for row in self.rows if row.stalled), key=lambda row: (-row.stalled, row.pc))[:top]
        for row in worst:
            reason = max(row.stalls, key=lambda r: row.stalls[r])
            place = f"  {source[row.pc]}" if source and row.pc in source else ""
            share = 100 * row.stalled / self.wave_clocks
            lines.append(f"  {share:5.1f} %  {row.pc:#07x}  {row.text:<44}  {REASON_TEXT[reason]}{place}")
        lines.extend(f"note: {note}" for note in self.notes)
        return "\n".join(lines)
