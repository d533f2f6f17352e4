"""The simulated launch as hardware counters, under the names rocprofv3 and rocprofiler-compute use.

    for counter in counters(recorded, timing, launch):
        print(counter.name, counter.value, counter.match)      # SQ_INSTS_MFMA 1048576 same

Values are sums over the chip for one launch, as rocprofv3 reports them when it sums over all instances (`TCC_HIT_sum`).
`match` says how a real profile may be laid beside:

    same      defined alike in AMD's list of MI300 counters and here; a difference is an error of model or sample
    similar   the same quantity, but counted at another place or in another grain; compare ratios, not numbers

AMD counts many `SQ_*` times in quad-cycles; so does this module, where `unit` says so. What the clock does not model
has no counter: instruction cache, translation, refresh. The definitions are those of AMD's page "MI300 and MI200 series
performance counters and metrics"; docs/clock_explain.md has the table.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from argus.clock.caches import LINE
from argus.clock.dispatch import work_of_all
from argus.clock.launch import Launch
from argus.clock.program import LdsAccess, Op, Reason, Unit, Wave
from argus.clock.recorded import Recorded
from argus.clock.steady import WARM
from argus.clock.timing import Timing
from argus.gfx942 import chip
from argus.gfx942.instructions import spec

Match = Literal["same", "similar"]

QUAD = 4
MOPS = 512
EA_REQUEST = 64
SHADER_ENGINES = 4 * chip.XCDS
MATRIX_SUFFIX = {
    "f16": "F16",
    "bf16": "BF16",
    "f32": "F32",
    "f64": "F64",
    "i8": "I8",
    "fp8": "F8",
    "bf8": "F8",
    "xf32": "XF32",
}
DEPENDENCY = (
    Reason.WAIT_VMEM,
    Reason.WAIT_LDS,
    Reason.WAIT_SMEM,
    Reason.BARRIER,
    Reason.MATRIX_RESULT,
    Reason.NOP,
    Reason.BRANCH,
)
ISSUE = (Reason.MATRIX, Reason.VALU, Reason.SALU, Reason.LDS, Reason.VMEM, Reason.ISSUE, Reason.COUNTER)


@dataclass(frozen=True, slots=True)
class HardwareCounter:
    """One counter of a launch."""

    name: str
    value: float
    unit: str
    match: Match
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def work_in_workgroups(recorded: Recorded) -> float:
    """The launch's work in workgroups like the timed ones."""
    return float(recorded.grid if recorded.work is None else sum(work_of_all(recorded.work, recorded.grid)))


def bank_conflicts(groups: Mapping[int, Sequence[Wave]], resident: int) -> dict[int, float]:
    """Clocks lost to bank conflicts by operation, on one compute unit with that many workgroups."""
    numbers = sorted(groups)
    found: dict[int, float] = {}
    for wave in (wave for n in range(resident) for wave in groups[numbers[n % len(numbers)]]):
        later = wave.left_out / (len(wave.marks) - 1 - WARM) if wave.left_out else 0.0
        steady = range(wave.marks[WARM], wave.marks[-1]) if wave.left_out else range(0)
        for at, access in enumerate(wave.accesses):
            if isinstance(access, LdsAccess) and access.conflicts:
                index = wave.ops[at].index
                found[index] = found.get(index, 0.0) + access.conflicts * (1 + later * (at in steady))
    return found


def counters(recorded: Recorded, ops: Sequence[Op], timing: Timing, launch: Launch) -> list[HardwareCounter]:
    """The counters of the launch whose compute unit was timed."""
    scale = work_in_workgroups(recorded) / timing.resident
    sheet = _Sheet(scale)
    _instructions(sheet, recorded, ops, timing)
    _waves(sheet, ops, timing)
    _lds(sheet, timing)
    _memory(sheet, timing)
    whole = _Sheet(1.0)
    cycles = launch.sustained.cycles
    whole.add("GRBM_GUI_ACTIVE", cycles, "cycles", "similar", "one XCD; without the launch floor")
    whole.add("SQ_BUSY_CYCLES", cycles * SHADER_ENGINES, "cycles", "similar", "all shader engines busy throughout")
    return [*sheet.found, *whole.found]


class _Sheet:
    """Counters of one compute unit, scaled to the launch as they are added."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.found: list[HardwareCounter] = []

    def add(self, name: str, value: float, unit: str, match: Match, note: str = "") -> None:
        self.found.append(HardwareCounter(name, round(value * self.scale), unit, match, note))


def _instructions(sheet: _Sheet, recorded: Recorded, ops: Sequence[Op], timing: Timing) -> None:
    kinds = {inst.pc: spec(inst.op).memory.kind for inst in recorded.insts}
    by_unit: Tally[Unit] = Tally()
    matrix: Tally[str] = Tally()
    mops: Tally[str] = Tally()
    memory: Tally[str] = Tally()
    for op, row in zip(ops, timing.rows, strict=True):
        by_unit[op.unit] += row.executed
        if op.unit is Unit.VMEM:
            memory["RD" if kinds[op.pc] == "load" else "WR"] += row.executed
        if op.matrix is not None:
            matrix[MATRIX_SUFFIX[op.matrix.a]] += row.executed
            mops[MATRIX_SUFFIX[op.matrix.a]] += row.executed * op.matrix.flops
    sheet.add("SQ_WAVES", timing.waves, "waves", "same")
    sheet.add("SQ_INSTS", timing.issued, "instructions", "similar", "with s_waitcnt, s_nop, s_endpgm")
    sheet.add(
        "SQ_INSTS_VALU", by_unit[Unit.VALU] + by_unit[Unit.MATRIX], "instructions", "same", "with matrix instructions"
    )
    sheet.add("SQ_INSTS_MFMA", by_unit[Unit.MATRIX], "instructions", "same")
    for suffix, count in sorted(matrix.items()):
        if count:
            sheet.add(f"SQ_INSTS_VALU_MFMA_{suffix}", count, "instructions", "same")
            sheet.add(f"SQ_INSTS_VALU_MFMA_MOPS_{suffix}", mops[suffix] / MOPS, "512 operations", "same")
    sheet.add("SQ_INSTS_SALU", by_unit[Unit.SALU], "instructions", "same")
    sheet.add("SQ_INSTS_SMEM", by_unit[Unit.SMEM], "instructions", "same")
    sheet.add("SQ_INSTS_LDS", by_unit[Unit.LDS], "instructions", "same")
    sheet.add("SQ_INSTS_VMEM_RD", memory["RD"], "instructions", "same")
    sheet.add("SQ_INSTS_VMEM_WR", memory["WR"], "instructions", "same", "stores and atomics")
    sheet.add("SQ_INSTS_BRANCH", by_unit[Unit.BRANCH], "instructions", "same")


def _waves(sheet: _Sheet, ops: Sequence[Op], timing: Timing) -> None:
    reasons = timing.reasons
    lds_issue = sum(
        row.stalls.get(Reason.LDS, 0) + row.stalls.get(Reason.ISSUE, 0)
        for op, row in zip(ops, timing.rows, strict=True)
        if op.unit is Unit.LDS
    )
    alive = timing.wave_clocks + timing.idle.get("store_drain", 0)
    sheet.add("SQ_WAVE_CYCLES", alive / QUAD, "quad-cycles", "same")
    sheet.add("SQ_BUSY_CU_CYCLES", timing.cycles / QUAD, "quad-cycles", "similar", "the timed CU's share for every CU")
    dependency = sum(reasons.get(reason, 0) for reason in DEPENDENCY)
    sheet.add("SQ_WAIT_ANY", dependency / QUAD, "quad-cycles", "similar", "counters, barriers, results, s_nop")
    issue = sum(reasons.get(reason, 0) for reason in ISSUE)
    sheet.add(
        "SQ_WAIT_INST_ANY", issue / QUAD, "quad-cycles", "similar", "a unit or the arbiter did not take the instruction"
    )
    sheet.add("SQ_WAIT_INST_LDS", lds_issue / QUAD, "quad-cycles", "similar", "LDS queue full or another wave's turn")
    sheet.add("SQ_ACTIVE_INST_ANY", timing.issued, "quad-cycles", "similar", "one per instruction")
    matrix = timing.utilisation["matrix"] * chip.SIMDS_PER_CU * timing.cycles
    sheet.add("SQ_VALU_MFMA_BUSY_CYCLES", matrix, "cycles", "same", "sum over SIMDs")


def _lds(sheet: _Sheet, timing: Timing) -> None:
    sheet.add("SQ_LDS_BANK_CONFLICT", timing.bank_conflict_clocks, "cycles", "same")
    banks = timing.utilisation["lds banks"] * timing.cycles
    sheet.add("SQ_LDS_IDX_ACTIVE", banks, "cycles", "similar", "bank clocks, conflicts included")


def _memory(sheet: _Sheet, timing: Timing) -> None:
    read = timing.read_bytes
    beyond = read["mall"] + read["hbm"]
    writes = timing.written_bytes / EA_REQUEST
    sheet.add(
        "TCP_TOTAL_CACHE_ACCESSES", (read["l1"] + timing.filled_bytes) / LINE, "128 B lines", "similar", "reads only"
    )
    sheet.add(
        "TCP_TCC_READ_REQ", timing.filled_bytes / LINE, "requests of 128 B", "similar", "real ones are 64 or 128 B"
    )
    sheet.add("TCP_TCC_WRITE_REQ", writes, "requests of 64 B", "similar")
    sheet.add("TCC_HIT", max(0.0, timing.filled_bytes - beyond) / LINE, "requests of 128 B", "similar", "reads only")
    sheet.add(
        "TCC_MISS",
        beyond / LINE,
        "requests of 128 B",
        "similar",
        "reads only; a line that several CUs want counts once",
    )
    sheet.add("TCC_EA0_RDREQ", beyond / EA_REQUEST, "requests of 64 B", "similar", "real ones are 32, 64 or 128 B")
    sheet.add("TCC_EA0_WRREQ", writes, "requests of 64 B", "similar", "all stores reach the fabric")
