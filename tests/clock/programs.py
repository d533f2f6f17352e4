"""Small programs for the compute unit, written by hand: the microbenchmarks of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argus.clock.access import lds_access, vmem_access
from argus.clock.caches import MemorySystem
from argus.clock.cu import ComputeUnit
from argus.clock.matrix import RESULT_CLOCKS
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.program import Access, Op, Unit, Wave, registers
from argus.gfx942.lds import Kind
from argus.gfx942.mfma import mfma
from argus.gfx942.waits import Waits

LANE = np.arange(64, dtype=np.int64)


class Program:
    """Collects the steps of one wave; the same operation object may be repeated."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.steps: list[tuple[Op, Access]] = []

    def op(self, text: str, unit: Unit, **fields: Any) -> Op:
        pc = 8 * len(self.ops)
        made = Op(len(self.ops), pc, text, unit, follow=pc + 8, **fields)
        self.ops.append(made)
        return made

    def add(self, op: Op, access: Access = None, times: int = 1) -> None:
        self.steps.extend([(op, access)] * times)

    def valu(self, clocks: int = 4, alone: bool = False, reads: int = 0, writes: int = 0) -> Op:
        return self.op("valu", Unit.VALU, clocks=clocks, alone=alone, reads=reads, writes=writes)

    def matrix(self, name: str, d: int, a: int, b: int, c: int | None = None) -> Op:
        row = mfma(name)
        source = registers(d if c is None else c, row.c_registers)
        reads = registers(a, row.a_registers) | registers(b, row.b_registers)
        return self.op(
            name,
            Unit.MATRIX,
            clocks=row.cycles,
            reads=reads,
            writes=registers(d, row.c_registers),
            c=source,
            matrix=row,
            result=RESULT_CLOCKS[row.name],
        )

    def wait(self, vm: int = 63, lgkm: int = 15) -> Op:
        return self.op("s_waitcnt", Unit.WAIT, waits=Waits(vm=vm, lgkm=lgkm))

    def barrier(self) -> Op:
        return self.op("s_barrier", Unit.BARRIER)

    def lds(self) -> Op:
        return self.op("ds", Unit.LDS, lgkm=True)

    def vmem(self) -> Op:
        return self.op("vmem", Unit.VMEM, vm=True)

    def wave(self, workgroup: int = 0, wave: int = 0) -> Wave:
        return Wave(workgroup, wave, [op for op, _ in self.steps], [access for _, access in self.steps])


def memory(parameters: Parameters = PARAMETERS, warm: bool = False, active_cus: int = 304) -> MemorySystem:
    return MemorySystem(parameters, 2100, active_cus, warm, None, 1.0)


def unit(program: Program, parameters: Parameters = PARAMETERS) -> ComputeUnit:
    return ComputeUnit(parameters, memory(parameters), len(program.ops))


def clocks(program: Program, waves: int = 1, parameters: Parameters = PARAMETERS) -> int:
    """Clocks of one workgroup of equal waves."""
    return unit(program, parameters).run([[program.wave(0, w) for w in range(waves)]])


def read_lds(bits: int, addresses: Sequence[int] | np.ndarray, kind: Kind = "read") -> Access:
    table = np.asarray(addresses, dtype=np.int64).reshape(1, 64)
    return lds_access(PARAMETERS, kind, bits, table, np.ones((1, 64), dtype=bool))[0]


def load(size: int, addresses: np.ndarray) -> Access:
    table = np.asarray(addresses, dtype=np.int64).reshape(1, 64)
    return vmem_access(PARAMETERS, size, table, np.ones((1, 64), dtype=bool))[0]
