"""Times waves on one compute unit: occupancy, sharing of cache lines, the run, the account.

    timing = time_waves(ops, {0: waves_of_workgroup_0, ...}, Resources(vgprs=128, lds_bytes=32768))

`workgroups` may be a sample of the launch. As many of them as the occupancy allows (or `resident` says) share the CU;
if the sample is smaller they are repeated. How many workgroups of the XCD want the same line divides the traffic beyond
the L2; it must be told (`readers` or `l2_sharers`), else that traffic is not limited here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from argus.clock.caches import LINE, MemorySystem
from argus.clock.cu import ComputeUnit
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.program import Op, Reason, VmemAccess, Wave
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
    hbm_load: float = 0.0,
    parameters: Parameters = PARAMETERS,
    events: bool = False,
) -> Timing:
    """Runs `resident` workgroups (default: all that fit) on one compute unit.

    clock_mhz    core clock: latencies outside it are given in time
    active_cus   compute units that share the L2s and the MALL
    warm         whatever is read lies in the MALL already
    readers      for every line how many fetches by workgroups of the XCD one miss of its L2 serves
    l2_sharers   the same as one number for all lines
    hbm_load     share of the HBM's bandwidth in use, which lengthens its latency
    events       keep every issue, for a timeline
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
    sharers, typical = _sharing(chosen[0], l2_sharers, readers)
    if sharers is None:
        notes.append("how many workgroups of an XCD share a cache line is not known: beyond the L2 only latency counts")
    memory = MemorySystem(parameters, clock_mhz, active_cus, warm, sharers, typical, hbm_load)
    unit = ComputeUnit(parameters, memory, len(ops), keep_events=events)
    cycles = unit.run(chosen)
    states = [state for group in unit.groups for state in group]
    return Timing(
        cycles=cycles,
        workgroup_cycles=tuple(
            max(s.ended or 0 for s in group) - min(s.started for s in group) for group in unit.groups
        ),
        waves=len(states),
        wave_clocks=sum((s.ready_at_end or 0) - s.started for s in states),
        issued=sum(unit.issued),
        longest_wave_turns=max(ISSUE_CLOCKS * len(state.wave.ops) for state in states),
        resident=count,
        occupancy=room,
        clock_mhz=clock_mhz,
        utilisation=_utilisation(unit, cycles),
        rows=tuple(_row(op, unit) for op in ops),
        bank_conflict_clocks=unit.busy.lds_conflicts,
        lds_bytes=unit.busy.lds_bytes,
        matrix_flops=unit.busy.flops,
        busiest_matrix_clocks=max(unit.busy.matrix),
        read_bytes={str(level): size for level, size in memory.traffic.read.items()},
        filled_bytes=memory.traffic.filled,
        written_bytes=memory.traffic.written,
        footprint_bytes=float(sum(LINE * len(_read_lines(waves)) for waves in chosen)),
        sharing_known=sharers is not None,
        notes=tuple(notes),
        events=tuple(unit.events or ()),
    )


def _row(op: Op, unit: ComputeUnit) -> Row:
    stalls = {reason: clocks for reason in Reason if (clocks := unit.stalls[op.index][reason])}
    return Row(op.pc, op.text, unit.issued[op.index], stalls)


def _utilisation(unit: ComputeUnit, cycles: int) -> dict[str, float]:
    simd_clocks = chip.SIMDS_PER_CU * cycles
    return {
        "matrix": sum(unit.busy.matrix) / simd_clocks,
        "valu": sum(unit.busy.valu) / simd_clocks,
        "lds ports": sum(unit.busy.lds_port) / (2 * cycles),
        "lds banks": unit.busy.lds_bank / cycles,
        "vector memory": unit.busy.vmem / cycles,
    }


def _read_lines(waves: Sequence[Wave]) -> set[int]:
    lines: set[int] = set()
    for wave in waves:
        for access in wave.accesses:
            if isinstance(access, VmemAccess) and not access.store:
                lines.update(access.lines)
    return lines


def _sharing(
    waves: Sequence[Wave], stated: float | None, readers: Mapping[int, float] | None
) -> tuple[Callable[[int], float] | None, float]:
    """How many workgroups of the XCD read a line, and the mean of that over the lines these waves read."""
    if stated is not None:
        return (lambda line: stated), stated
    if readers is None:
        return None, 1.0
    own = _read_lines(waves)
    mean = sum(readers.get(line, 1) for line in own) / len(own) if own else 1.0
    return (lambda line: float(readers.get(line, 1))), mean
