"""From the machine's execution record to the waves of the clock.

The record says, per wave, which instructions were executed and which byte addresses the memory ones touched; this
module looks each pc up in the operations and prices each access. A loop executes one instruction thousands of times,
so the accesses are gathered by instruction over all waves and priced together.

    ops, workgroups = waves_of(record, insts)      -> [Op, ...], {0: [Wave, ...], 8: [Wave, ...]}

Scratch addresses count from 0 in each lane; they are given lines of their own, dword by dword with the lanes side by
side, as the hardware lays them out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argus.clock.access import Addresses, lds_access, permute_access, scalar_access, vmem_access
from argus.clock.caches import LINE
from argus.clock.fold import Folded, whole
from argus.clock.operations import operations
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.program import Access, Op, Unit, Wave
from argus.gfx942.inst import Inst
from argus.gfx942.instructions import spec
from argus.gfx942.lds import Kind
from argus.machine.record import LDS, NO_ADDRESS, SCALAR, SCRATCH, ExecutionRecord, WaveRecord

_PERMUTE = re.compile(r"ds_(b?permute|swizzle)_b32$")
_LINE = np.uint64(LINE)
_ONE = np.uint64(1)
_SCRATCH_BASE = 1 << 56
_SCRATCH_WAVE = 1 << 32


@dataclass(slots=True)
class _Uses:
    """Accesses of one instruction by one wave: the steps they belong to, addresses, bytes per lane, space."""

    wave: Wave
    steps: npt.NDArray[np.int32]
    addresses: npt.NDArray[np.uint64]
    size: int
    space: int


def waves_of(
    record: ExecutionRecord | Folded,
    insts: Iterable[Inst],
    parameters: Parameters = PARAMETERS,
    chosen: Container[int] | None = None,
) -> tuple[list[Op], dict[int, list[Wave]]]:
    """The operations of the kernel, and per workgroup (linear id) its waves in order; only the `chosen` workgroups."""
    folded = record if isinstance(record, Folded) else whole(record)
    by_pc = {inst.pc: inst for inst in insts}
    ops = operations(by_pc.values(), parameters)
    permute = permute_access(parameters)
    fixed = {op.index: permute for pc, op in ops.items() if _PERMUTE.match(by_pc[pc].op)}
    workgroups: dict[int, list[Wave]] = defaultdict(list)
    uses: dict[int, list[_Uses]] = defaultdict(list)
    for (workgroup, number), taken in sorted(folded.record.waves.items()):
        if chosen is not None and workgroup not in chosen:
            continue
        steps = _steps(taken.pc, ops)
        accesses: list[Access] = [fixed.get(op.index) for op in steps] if fixed else [None] * len(steps)
        marks = folded.marks.get((workgroup, number), ())
        wave = Wave(workgroup, number, steps, accesses, folded.left_out.get(workgroup, 0), marks)
        workgroups[workgroup].append(wave)
        for pc, use in _by_instruction(wave, taken):
            uses[pc].append(use)
    for pc, found in uses.items():
        if ops[pc].index not in fixed:
            _price(by_pc[pc], ops[pc], found, parameters)
    return list(ops.values()), dict(workgroups)


def _steps(pcs: npt.NDArray[np.int32], ops: Mapping[int, Op]) -> list[Op]:
    for pc in np.unique(pcs).tolist():
        if pc not in ops:
            raise ValueError(f"the record executes offset {pc:#x}, which is not among the decoded instructions")
    return [ops[pc] for pc in pcs.tolist()]


def _by_instruction(wave: Wave, taken: WaveRecord) -> Iterable[tuple[int, _Uses]]:
    if not len(taken.addr_index):
        return
    pcs = taken.pc[taken.addr_index]
    key = pcs.astype(np.int64) * 4 + taken.space
    order = np.argsort(key, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        first = rows[0]
        space = int(taken.space[first])
        yield (
            int(pcs[first]),
            _Uses(wave, taken.addr_index[rows], taken.addr[rows], int(taken.bytes[first]), space),
        )


def _price(inst: Inst, op: Op, found: Sequence[_Uses], parameters: Parameters) -> None:
    to_lds = op.unit is Unit.VMEM and any(use.space == LDS for use in found)
    for use in found:
        if to_lds and use.space == LDS:
            continue
        parts = 2 if len(use.steps) > 1 and use.steps[0] == use.steps[1] else 1
        for step, access in zip(
            use.steps[::parts].tolist(), _accesses(inst, op, use, parts, to_lds, parameters), strict=True
        ):
            use.wave.accesses[step] = access


def _accesses(inst: Inst, op: Op, use: _Uses, parts: int, to_lds: bool, parameters: Parameters) -> Sequence[Access]:
    present = use.addresses != NO_ADDRESS
    addresses: Addresses = np.where(present, use.addresses, 0).astype(np.int64)
    effect = spec(inst.op).memory.kind
    if op.unit is Unit.SMEM or use.space == SCALAR:
        return scalar_access(use.size, addresses[:, 0])
    if use.space == LDS:
        kind: Kind = "read" if effect == "load" else "write"
        distinct, position = _distinct(use.addresses, parts)
        rows = (distinct[:, None] * parts + np.arange(parts)).ravel()
        priced = lds_access(parameters, kind, 8 * use.size, addresses[rows], present[rows], parts)
        return [priced[i] for i in position]
    if use.space == SCRATCH:
        addresses = _scratch_lines(addresses, use.wave)
    return vmem_access(
        parameters, use.size, addresses, present, store=effect == "store", atomic=effect == "atomic", to_lds=to_lds
    )


def _distinct(addresses: npt.NDArray[np.uint64], parts: int) -> tuple[npt.NDArray[np.int64], list[int]]:
    """The first of equal accesses, and for each access which of those it equals: loops repeat LDS addresses."""
    seen: dict[bytes, int] = {}
    first: list[int] = []
    position = []
    for number, access in enumerate(addresses.reshape(-1, parts * 64)):
        key = access.tobytes()
        if key not in seen:
            seen[key] = len(first)
            first.append(number)
        position.append(seen[key])
    return np.array(first, dtype=np.int64), position


def _scratch_lines(addresses: Addresses, wave: Wave) -> Addresses:
    base = _SCRATCH_BASE + _SCRATCH_WAVE * (wave.workgroup * 16 + wave.wave)
    return base + addresses // 4 * 256 + 4 * np.arange(64) + addresses % 4
