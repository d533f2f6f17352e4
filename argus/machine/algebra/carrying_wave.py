"""A wave whose registers carry ids: what the interpreter's closures run on in exact algebra.

    run = compile_vector(inst, accum_offset, CARRYING)
    run(CarryingWave(wave, ...))          writes the bits of the wave's registers, and ids beside them

Registers share their bits with the real wave; everything else is the real wave's. Scalar registers are plain numbers;
the few that carry ids (a lane read out, uniform data loaded) are listed beside them and stand in for a vector register
when a vector instruction reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from argus.gfx942.inst import Inst, InstOperand
from argus.gfx942.instructions import destinations
from argus.machine.algebra.carried import Home, RegisterRow
from argus.machine.algebra.carrying_builder import CarryingBuilder
from argus.machine.algebra.float_reading import FloatReader
from argus.machine.algebra.value_table import Ids
from argus.machine.semantics.numpy_backend import NumpyBuilder
from argus.machine.state import LANES, REGISTERS, Wave


class CarryingWave:
    """See the module."""

    def __init__(self, wave: Wave, home: Home, reader: FloatReader) -> None:
        self.wave, self.home, self._reader = wave, home, reader
        self.v = [RegisterRow(row, home) for row in wave.v]
        self.scalar_ids: dict[int, Ids] = {}
        self.scratch_ids: Ids | None = None
        self._builders: dict[NumpyBuilder, CarryingBuilder] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wave, name)

    @property
    def builder(self) -> CarryingBuilder:
        plain = self.wave.builder
        if plain not in self._builders:
            self._builders[plain] = CarryingBuilder(self.home, self._reader, plain)
        return self._builders[plain]

    def carried(self, numbers: tuple[int, ...]) -> bool:
        """Whether one of these registers carries an id."""
        return any(self.v[n].ids is not None for n in numbers)

    def lost(self, numbers: tuple[int, ...]) -> bool:
        """Whether what one of these registers carries is lost already; its first byte tells."""
        first = [ids[0, 0] for n in numbers if (ids := self.v[n].ids) is not None]
        return any(self.home.table.is_lost(one) for one in first)

    def write(self, n: int, ids: Ids | None, lanes: Any) -> None:
        """Ids for lanes of a register whose bits are written already."""
        row = self.v[n]
        row.keep(ids, lanes)
        row.settle()

    def lose(self, numbers: tuple[int, ...], lanes: Any) -> None:
        """These registers are not followed from here on."""
        lost = np.uint32(self.home.lost())
        if np.all(lanes):
            shared = np.full((LANES, 4), lost, np.uint32)
            shared.flags.writeable = False
            for n in numbers:
                self.v[n].share(shared)
            return
        for n in numbers:
            self.v[n].keep(np.full((int(np.count_nonzero(lanes)), 4), lost, np.uint32), lanes)

    def substitutes(self, inst: Inst, used: tuple[int, ...]) -> tuple[Inst, dict[int, RegisterRow]]:
        """The instruction with vector registers in place of scalar ones that carry ids, and what those hold."""
        free = (n for n in range(REGISTERS - 2, 0, -2) if n not in used and n + 1 not in used)
        operands: list[InstOperand] = []
        held: dict[int, RegisterRow] = {}
        for position, operand in enumerate(inst.operands):
            numbers = range(operand.value, operand.value + operand.count)
            read = position >= destinations(inst) and operand.kind == "s"
            if read and any(n in self.scalar_ids for n in numbers):
                place = next(free)
                for k, n in enumerate(numbers):
                    row = RegisterRow(np.full(LANES, self.wave.s[n], np.uint32), self.home)
                    if n in self.scalar_ids:
                        row.keep(self.scalar_ids[n], slice(None))
                    held[place + k] = row
                operand = replace(operand, kind="v", value=place)
            operands.append(operand)
        return replace(inst, operands=tuple(operands)), held

    @contextmanager
    def holding(self, held: dict[int, RegisterRow]) -> Iterator[None]:
        """With other rows in the place of some registers."""
        before = {n: self.v[n] for n in held}
        for n, row in held.items():
            self.v[n] = row
        try:
            yield
        finally:
            for n, row in before.items():
                self.v[n] = row
