"""Times waves on one compute unit: occupancy, sharing of cache lines, the run, the account.

    timing = time_waves(ops, {0: waves_of_workgroup_0, ...}, Resources(vgprs=128, lds_bytes=32768))

`workgroups` may be a sample of the launch. As many of them as the occupancy allows (or `resident` says) share the CU;
if the sample is smaller they are repeated. How many workgroups of the XCD want the same line divides the traffic beyond
the L2; it must be told (`readers` or `l2_sharers`), else that traffic is not limited here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, harmonic_mean

import numpy as np

from argus.clock.caches import LINE, MemorySystem
from argus.clock.cu import ComputeUnit
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.program import Op, Reason, Unit, VmemAccess, Wave
from argus.clock.state import WaveState
from argus.clock.steady import WARM, Numbers, continued, issued
from argus.clock.succession import Succession, round_clocks
from argus.clock.timeline_unit import TimelineUnit
from argus.clock.timing import Row, Timing
from argus.gfx942 import chip
from argus.gfx942.mfma import ISSUE_CLOCKS
from argus.gfx942.occupancy import occupancy


@dataclass(frozen=True, slots=True)
class Resources:
    """What one wave and one workgroup take from a compute unit."""

    vgprs: int = 64
    agprs: int = 0
    sgprs: int = 32
    lds_bytes: int = 0


def room_for(resources: Resources, waves: int) -> int:
    """Workgroups of that many waves that fit on one compute unit."""
    found = occupancy(resources.vgprs, resources.agprs, resources.sgprs, resources.lds_bytes, waves)
    return found.workgroups_per_cu


def time_waves(
    ops: Sequence[Op],
    workgroups: Mapping[int, Sequence[Wave]],
    resources: Resources,
    *,
    resident: int | None = None,
    clock_mhz: float = chip.CLOCK_MAX_MHZ,
    active_cus: int = chip.CUS,
    warm: bool = False,
    l2_sharers: float | None = None,
    readers: Mapping[int, float] | None = None,
    memory_load: float = 0.0,
    parameters: Parameters = PARAMETERS,
    timeline: bool = False,
    unit_type: type[ComputeUnit] = ComputeUnit,
    followers: Sequence[Sequence[Wave]] = (),
) -> Timing:
    """Runs `resident` workgroups (default: all that fit) on one compute unit.

    clock_mhz    core clock: latencies outside it are given in time
    active_cus   compute units that share the L2s and the MALL
    warm         whatever is read lies in the MALL already
    readers      for every line how many fetches by workgroups of the XCD one miss of its L2 serves
    l2_sharers   the same as one number for all lines
    memory_load  share in use of the bandwidth of HBM, or of the MALL if warm, which lengthens its latency
    timeline     keep what every wave and unit did when (`argus.clock.timeline`)
    unit_type    the compute unit, unless there is a timeline; `argus.clock.wait_sources.TracedUnit` also records what
                 waits were for
    followers    workgroups that come after the resident ones, to time a round of those (`argus.clock.succession`)
    """
    if not workgroups or not any(workgroups.values()):
        raise ValueError("there is no wave to time: the record is empty")
    size = max(len(waves) for waves in workgroups.values())
    room = room_for(resources, size)
    count = room if resident is None else resident
    if not 1 <= count <= room:
        raise ValueError(f"{count} workgroups on one CU were asked for; {room} fit")
    ids = sorted(workgroups)
    chosen = [workgroups[ids[n % len(ids)]] for n in range(count)]
    notes = []
    if len(ids) < count:
        notes.append(f"{count} resident workgroups were made from {len(ids)} recorded")
    sharers, typical = _sharing(chosen[0], l2_sharers, readers, bool(parameters["l2_by_lines"]))
    if sharers is None:
        notes.append("how many workgroups of an XCD share a cache line is not known: beyond the L2 only latency counts")

    def memory_system() -> MemorySystem:
        return MemorySystem(parameters, clock_mhz, active_cus, warm, sharers, typical, memory_load)

    memory = memory_system()
    unit = (TimelineUnit if timeline else unit_type)(parameters, memory, len(ops))
    simulated = unit.run(chosen)
    account, steady = continued(unit, chosen, simulated)
    executed = issued(unit, chosen)
    added = steady.clocks if steady else 0.0
    cycles = round(simulated + added)
    later = None
    if followers:
        gap = int(parameters["workgroup_turnaround"])
        later = round_clocks(Succession(parameters, memory_system(), len(ops)), chosen, followers, gap)
    states = [state for group in unit.groups for state in group]
    idle = _idle(states, simulated)
    stalls = _whole(account.stalls, len(states) * cycles - sum(idle.values()) - ISSUE_CLOCKS * sum(executed))
    lds_bank, conflicts, lds_bytes, vmem = account.lds.tolist()
    read = dict(zip(memory.traffic.read, account.traffic.tolist(), strict=False))
    filled, written = account.traffic[-2:].tolist()
    return Timing(
        cycles=cycles,
        round_clocks=later,
        workgroup_cycles=tuple(
            round(max(s.ended or 0 for s in group) - min(s.started for s in group) + added) for group in unit.groups
        ),
        waves=len(states),
        wave_clocks=ISSUE_CLOCKS * sum(executed) + sum(map(sum, stalls)),
        issued=sum(executed),
        longest_wave_turns=max(ISSUE_CLOCKS * _length(state.wave) for state in states),
        resident=count,
        occupancy=room,
        clock_mhz=clock_mhz,
        utilisation={
            "matrix": float(account.matrix.sum()) / (chip.SIMDS_PER_CU * cycles),
            "valu": float(account.valu.sum()) / (chip.SIMDS_PER_CU * cycles),
            "lds ports": float(account.lds_port.sum()) / (2 * cycles),
            "lds banks": lds_bank / cycles,
            "vector memory": vmem / cycles,
        },
        rows=tuple(_row(op, executed[op.index], stalls[op.index]) for op in ops),
        bank_conflict_clocks=round(conflicts),
        lds_bytes=round(lds_bytes),
        matrix_flops=sum(op.matrix.flops * executed[op.index] for op in ops if op.matrix is not None),
        busiest_matrix_clocks=round(account.matrix.max()),
        valu_turns=ISSUE_CLOCKS * sum(executed[op.index] * (1 + op.alone) for op in ops if op.unit is Unit.VALU),
        matrix_clocks=_by_format(ops, executed),
        transcendental_turns=ISSUE_CLOCKS
        * sum(executed[op.index] for op in ops if op.unit is Unit.VALU and op.clocks > parameters["valu_clocks"]),
        vmem_clocks=vmem,
        read_bytes={str(level): size for level, size in read.items()},
        filled_bytes=filled,
        written_bytes=written,
        footprint_bytes=float(sum(_footprint(waves) for waves in chosen)),
        sharing_known=sharers is not None,
        iterations=None if steady is None else (steady.timed, steady.iterations),
        iteration_error=0.0 if steady is None else steady.error,
        notes=tuple(notes),
        idle=idle,
        waits=unit.waits,
        timeline=unit.timeline() if isinstance(unit, TimelineUnit) else None,
    )


def _idle(states: Sequence[WaveState], end: int) -> dict[str, int]:
    """Clocks of the waves' places before the first instruction, after the last one, and after the wave's end."""
    return {
        "wave_start": sum(state.started for state in states),
        "store_drain": sum((state.ended or 0) - (state.ready_at_end or 0) for state in states),
        "wave_ended": sum(end - (state.ended or 0) for state in states),
    }


def _whole(stalls: Numbers, total: int) -> list[list[int]]:
    """Whole clocks that sum to `total`: what rounding leaves over goes to the largest entry."""
    rounded = np.rint(stalls).astype(np.int64)
    if rounded.any():
        rounded[np.unravel_index(rounded.argmax(), rounded.shape)] += total - rounded.sum()
    found: list[list[int]] = rounded.tolist()
    return found


def _by_format(ops: Sequence[Op], executed: Sequence[int]) -> dict[str, int]:
    """Clocks of all matrix cores by element type."""
    found: dict[str, int] = {}
    for op in ops:
        if op.matrix is not None and executed[op.index]:
            found[op.matrix.a] = found.get(op.matrix.a, 0) + op.clocks * executed[op.index]
    return found


def _row(op: Op, executed: int, stalls: Sequence[int]) -> Row:
    return Row(op.pc, op.text, executed, {reason: clocks for reason in Reason if (clocks := stalls[reason])})


def _length(wave: Wave) -> int:
    """Instructions of the wave, with those of the iterations left out."""
    return len(wave.ops) + (wave.left_out * (wave.marks[1] - wave.marks[0]) if wave.left_out else 0)


def _footprint(waves: Sequence[Wave]) -> float:
    """Bytes of the lines the workgroup reads; the iterations left out reach as far on as the later timed ones."""
    lines = len(_read_lines(waves))
    if waves[0].left_out:
        warm = len(_read_lines(waves, WARM))
        timed = len(_read_lines(waves, len(waves[0].marks) - 1))
        lines += round(waves[0].left_out * (timed - warm) / (len(waves[0].marks) - 1 - WARM))
    return float(LINE * lines)


def _read_lines(waves: Sequence[Wave], mark: int | None = None) -> set[int]:
    """Lines the waves read; with `mark`, before that mark."""
    lines: set[int] = set()
    for wave in waves:
        for access in wave.accesses[: None if mark is None else wave.marks[mark]]:
            if isinstance(access, VmemAccess) and not access.store:
                lines.update(access.lines)
    return lines


def _sharing(
    waves: Sequence[Wave], stated: float | None, readers: Mapping[int, float] | None, by_lines: bool
) -> tuple[Callable[[int], float] | None, float]:
    """How many workgroups of the XCD read a line, and the mean of that over the lines these waves read.

    The L2 holds lines, so what counts is how many lines the others bring in for each of these: a line of ten readers is
    a tenth of a line for each of them. That makes it the harmonic mean. The arithmetic one (`by_lines` off) would give
    a compute unit the whole L2 for its own rows, because they are read beside a vector that all share.
    """
    if stated is not None:
        return (lambda line: stated), stated
    if readers is None:
        return None, 1.0
    own = _read_lines(waves)
    counts = [max(1.0, readers.get(line, 1.0)) for line in own] or [1.0]
    mean = harmonic_mean(counts) if by_lines else fmean(counts)
    return (lambda line: float(readers.get(line, 1))), mean
