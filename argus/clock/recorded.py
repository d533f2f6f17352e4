"""What a recorded sample of a launch says whatever the clock's parameters are: made once, timed many times.

    recorded = Recorded(record, insts, kernel)          # long loops shortened, sharing of lines found
    recorded.readers          {line: 2.4, ...}          # fetches by workgroups of the XCD that one L2 miss serves
    recorded.waves(PARAMETERS)                          # the workgroups of one compute unit, with these costs

The record may hold a few workgroups of a large launch: those of `workgroups_to_record`. If it holds enough of those
that run on one XCD at a time, their common cache lines divide the traffic beyond the L2. `sharing_error` says how much
two halves of such a part differ; it is 0 when all of them were recorded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from argus.clock.atomics import busiest_address
from argus.clock.dispatch import work_of_all
from argus.clock.fold import Folded, fold
from argus.clock.frontend import waves_of
from argus.clock.launch import resident_workgroups, workgroups_on_fullest_cu
from argus.clock.mall import missing_again
from argus.clock.model import Resources, room_for
from argus.clock.parameters import Parameters
from argus.clock.program import Op, Wave
from argus.clock.succession import LONGEST, ROUNDS
from argus.clock.timing import Timing
from argus.clock.xcd import sharing_of, xcds_per_line
from argus.gfx942 import chip
from argus.gfx942.inst import Inst
from argus.gfx942.instructions import spec
from argus.gfx942.occupancy import MAX_ARCH_REGISTERS
from argus.machine.loader import KernelInfo
from argus.machine.record import ExecutionRecord

LEAST_SHARERS = 8
"""Workgroups of an XCD that must be recorded to say who shares its cache lines, if it runs more."""


def kernel_resources(kernel: KernelInfo, dynamic_lds: int = 0) -> Resources:
    """What the kernel's descriptor asks for; its vector register count covers both halves of the file."""
    total = kernel.descriptor.vgprs
    return Resources(
        vgprs=min(total, MAX_ARCH_REGISTERS),
        agprs=max(0, total - MAX_ARCH_REGISTERS),
        sgprs=kernel.descriptor.sgprs,
        lds_bytes=kernel.group_segment_fixed_size + dynamic_lds,
    )


def together_on_xcd(grid: int, room: int) -> int:
    """Workgroups that run on the fullest XCD at a time."""
    return min(-(-grid // chip.XCDS), chip.CUS_PER_XCD * resident_workgroups(grid, room))


def workgroups_to_record(grid: int, room: int, sharing: bool = False) -> list[int]:
    """A sample for the clock: the workgroups that meet on one CU, or (`sharing`) all that meet on one XCD."""
    first = list(range(0, grid, chip.XCDS))
    together = first[: together_on_xcd(grid, room)]
    return together if sharing else together[:: chip.CUS_PER_XCD]


def atomic_places(insts: Iterable[Inst]) -> frozenset[int]:
    return frozenset(inst.pc for inst in insts if spec(inst.op).memory.kind == "atomic")


def on_one_cu(numbers: Sequence[int], count: int) -> list[int]:
    """Of workgroups of one XCD, those that meet on one CU: an XCD fills its CUs in turn, so every 38th comes first."""
    first = numbers[0]
    spread = [n for n in numbers if (n - first) // chip.XCDS % chip.CUS_PER_XCD == 0]
    return (spread + [n for n in numbers if n not in spread])[:count]


class Recorded:
    """The recorded workgroups of the first one's XCD: some are timed, all (if enough) say who reads which line."""

    def __init__(
        self,
        record: ExecutionRecord | Folded,
        insts: Iterable[Inst],
        kernel: KernelInfo,
        *,
        dynamic_lds: int = 0,
        grid: int | None = None,
        seed: int = 0,
    ) -> None:
        raw = record.record if isinstance(record, Folded) else record
        if not raw.waves:
            raise ValueError("there is no wave to time: the record is empty")
        self.insts = tuple(insts)
        self.resources = kernel_resources(kernel, dynamic_lds)
        sizes = Counter(workgroup for workgroup, _ in raw.waves)
        numbers = sorted(sizes)
        self.room = room_for(self.resources, max(sizes.values()))
        self.grid = grid or math.prod(raw.grid)
        on_xcd = [n for n in numbers if chip.xcd_of_workgroup(n) == chip.xcd_of_workgroup(numbers[0])]
        second = numbers[0] + chip.XCDS * together_on_xcd(self.grid, self.room)
        self.neighbours = [n for n in on_xcd if n < second]
        self.later = [n for n in on_xcd if n >= second]
        self.on_cu = on_one_cu(self.neighbours, self.room)
        self.active_cus = min(self.grid, chip.CUS)
        self.folded = record if isinstance(record, Folded) else fold(record, self.on_cu, atomic_places(self.insts))
        self.readers: Mapping[int, float] | None = None
        self.sharing_error = 0.0
        self.across = 1.0
        self.missing_again: float | None = None
        self.from_memory = 1.0
        self.recorded_share = 1.0
        self._find_sharing(seed)
        self.work = self._work(math.prod(raw.grid))
        self.hot_atomics = busiest_address(self.folded.record, self.insts, self.grid)
        self.followers = self._followers()
        self._priced: tuple[Parameters, list[Op], dict[int, list[Wave]]] | None = None

    def _find_sharing(self, seed: int) -> None:
        together = together_on_xcd(self.grid, self.room)
        taken = self.neighbours[:together]
        if len(taken) < min(together, LEAST_SHARERS):
            return
        resident = resident_workgroups(self.grid, self.room)
        timed = on_one_cu(self.neighbours, resident)
        found = sharing_of(self.folded, self.insts, taken, seed, together, timed, resident)
        self.readers, self.from_memory = found.readers, found.from_memory
        self.recorded_share = len(taken) / together
        self.across = xcds_per_line(self.folded, self.insts, self.readers, taken[0])
        if self.later:
            executed = sum(1 / self.folded.stretch(number) for number in taken)
            share = executed / (together * chip.XCDS) * self.across
            self.missing_again = missing_again(self.folded, self.insts, taken, self.later, min(1.0, share))
        if len(taken) < together:
            halves = [
                sharing_of(self.folded, self.insts, part, seed, together, resident=resident).readers
                for part in (taken[::2], taken[1::2])
            ]
            one, other = (sum(half.values()) / max(1, len(half)) for half in halves)
            self.sharing_error = abs(one - other) / (one + other) if one + other else 0.0

    def _work(self, recorded_grid: int) -> dict[int, float] | None:
        """Instructions of recorded workgroups relative to the timed ones; None when another grid was recorded."""
        if self.grid != recorded_grid:
            return None
        total: Counter[int] = Counter()
        for (workgroup, _), count in self.folded.full.items():
            total[workgroup] += count
        timed = on_one_cu(self.neighbours, resident_workgroups(self.grid, self.room))
        mean = sum(total[number] for number in timed) / len(timed)
        return {number: count / mean for number, count in total.items()}

    def _followers(self) -> list[int]:
        """Workgroups that come after the resident ones on the compute unit; none when they are long, few or alone."""
        resident = resident_workgroups(self.grid, self.room)
        wanted = ROUNDS * resident
        others = [number for number in self.neighbours if number not in self.on_cu][:wanted]
        together = [*self.on_cu, *others]
        many = workgroups_on_fullest_cu(self.grid) > resident > 1 and len(others) == wanted
        if not many or any(number in self.folded.left_out for number in together):
            return []
        length: Counter[int] = Counter()
        for (workgroup, _), count in self.folded.full.items():
            length[workgroup] += count
        return others if sum(length[number] for number in together) <= LONGEST else []

    def matrix_flops(self, timing: Timing) -> float | None:
        """Operations of the matrix instructions of the whole launch."""
        shares = self.grid if self.work is None else sum(work_of_all(self.work, self.grid))
        return timing.matrix_flops / timing.resident * shares or None

    def waves(self, parameters: Parameters) -> tuple[list[Op], dict[int, list[Wave]]]:
        """The workgroups of one compute unit; those of the last parameters are kept."""
        ops, waves = self._all_waves(parameters)
        return ops, {number: waves[number] for number in self.on_cu}

    def waves_after(self, parameters: Parameters) -> list[list[Wave]]:
        """The workgroups that follow them."""
        waves = self._all_waves(parameters)[1]
        return [waves[number] for number in self.followers]

    def _all_waves(self, parameters: Parameters) -> tuple[list[Op], dict[int, list[Wave]]]:
        if self._priced is None or self._priced[0] is not parameters:
            chosen = [*self.on_cu, *self.followers]
            self._priced = (parameters, *waves_of(self.folded, self.insts, parameters, chosen))
        return self._priced[1], self._priced[2]
