"""Exact algebra beside an execution: the object's own instructions, on bits and on values.

    shadow = AlgebraShadow(arrays, Constants(seed, named), seed)
    kernel(grid, block, *arrays, ..., options=Options(shadow=shadow))
    shadow.numbers(2)            the values of the third array after the launch (`numbers`), and what was lost

Every float of the arrays becomes a value with random residues, the same for the same number. Instructions are wrapped
as a check wraps them: those that touch no value run as they are, and cost a look at their registers.

With `wave` only that wave of a workgroup computes in the fields; the others move values, and what they compute is lost
with the cause `NOT_ASKED`. A long workgroup whose waves only share inputs then costs a fraction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.disasm import text
from argus.gfx942.hazards import registers
from argus.gfx942.inst import Inst
from argus.machine.algebra import fields, numbers
from argus.machine.algebra.carried import Home
from argus.machine.algebra.carrying_wave import CarryingWave
from argus.machine.algebra.constants import Constants
from argus.machine.algebra.float_reading import FORMATS, FloatReader
from argus.machine.algebra.functions import CARRYING
from argus.machine.algebra.matrix import CarryingMatrix
from argus.machine.algebra.memory_moves import MemoryMove
from argus.machine.algebra.numbers import AlgebraNumbers
from argus.machine.algebra.planes import LastWriter, MemoryPlanes
from argus.machine.algebra.value_table import LITERAL, Ids, ValueTable
from argus.machine.checks.names import physical
from argus.machine.errors import LaunchError
from argus.machine.interp_lanes import compile_lane_move, first_lane
from argus.machine.interp_lds import compile_lds
from argus.machine.interp_operands import UnsupportedForm, register
from argus.machine.interp_packed import compile_vector
from argus.machine.interp_services import MemoryAccess, Services
from argus.machine.memory import Allocation
from argus.machine.semantics import control
from argus.machine.semantics.lanes import LANE_OPS
from argus.machine.semantics.matrix import MATRIX
from argus.machine.semantics.mem import MEMORY
from argus.machine.semantics.salu import SALU
from argus.machine.semantics.valu import VALU
from argus.machine.state import REGISTERS, Wave

Run = Callable[[Wave], Any]
Array = NDArray[np.generic]
_FLOATS = frozenset({"f16", "f32", "f64"})
_SCALAR_COPIES = frozenset({"s_mov_b32", "s_mov_b64"})
NOT_ASKED = "a wave that is not followed"
_BY_DTYPE = {form.dtype: form for form in FORMATS.values()}


class AlgebraShadow:
    """See the module."""

    def __init__(self, arrays: Sequence[Array], constants: Constants, seed: int, wave: int | None = None) -> None:
        self._arrays, self._constants, self._seed, self._followed = list(arrays), constants, seed, wave
        self.table = ValueTable()
        self._home = Home(self.table)
        self._reader = FloatReader(self._home, constants)
        self._waves: dict[Wave, CarryingWave] = {}
        self._ended: Counter[int] = Counter()
        self._move: MemoryMove | None = None
        self._scalar_accesses: list[MemoryAccess] = []

    # -- the launch ----------------------------------------------------------------------------------------------

    def attach(self, services: Services) -> Callable[[Inst, Run], Run]:
        """The launch begins: values for the arrays; returns how to wrap an instruction."""
        self._services = services
        self._planes = MemoryPlanes(services.arena)
        self._buffer = services.arena.buffer
        services.observers.append(self)
        given = [a for a in services.arena.allocations if not a.internal]
        self._homes = self._matched(given)
        for array, allocation in zip(self._arrays, self._homes, strict=True):
            form = _BY_DTYPE.get(array.dtype)
            if form is None or not array.size:
                continue
            first = allocation.start - services.arena.base
            with np.errstate(invalid="ignore"):
                real = np.ascontiguousarray(array).reshape(-1).astype(np.float64)
            if not np.isfinite(real).any():
                continue
            made = numbers.exactly(fields.drawn(real, self._seed), real)
            ids = np.where(np.isfinite(real), self.table.enter(made), np.uint32(LITERAL))
            self._planes.device[first : first + array.nbytes] = np.repeat(ids, array.itemsize)
        return self.wrap

    def _matched(self, allocations: list[Allocation]) -> list[Allocation]:
        """The allocation of each array, as the launch made them: one for arrays at the same place."""
        found: dict[tuple[int, int], Allocation] = {}
        fresh = iter(allocations)
        made = []
        for array in self._arrays:
            key = array.__array_interface__["data"][0], array.nbytes
            if key not in found:
                found[key] = next(fresh)
            if found[key].size != array.nbytes:
                raise LaunchError("the arrays of the algebra are not those of the launch")
            made.append(found[key])
        return made

    def numbers(self, k: int, where: NDArray[np.int64] | None = None) -> tuple[AlgebraNumbers, Ids]:
        """The elements of array number k, flat (or those at `where`), and the causes where they are not followed."""
        array, home = self._arrays[k], self._homes[k]
        first = home.start - self._services.arena.base
        raw = self._buffer[first : first + array.nbytes].copy().view(array.dtype)
        ids = self._planes.device[first : first + array.nbytes].reshape(-1, array.itemsize)
        if where is not None:
            raw, ids = raw[where], ids[where]
        with np.errstate(all="ignore"):
            real = raw.astype(np.float64)
        form = _BY_DTYPE.get(array.dtype)
        if form is None:
            lost = np.where(ids.any(axis=1), np.uint32(self.table.lost("a whole number")), np.uint32(0))
            made = numbers.of_floats(real)
            return AlgebraNumbers(made.residue, np.where(lost > 0, 0, made.present), made.taint, real), lost
        self._home.cause = "the end of the launch"
        return self._reader.of_bytes(real, ids, form)

    def stored(self, k: int) -> NDArray[np.bool_]:
        """Which elements of array number k, flat, the launch has stored."""
        first = self._homes[k].start - self._services.arena.base
        return self._planes.stored(first, first + self._arrays[k].nbytes, self._arrays[k].itemsize)

    def writer(self, k: int, element: int) -> LastWriter | None:
        """Who stored an element of array number k last."""
        offset = self._homes[k].start - self._services.arena.base + element * self._arrays[k].itemsize
        return self._planes.writer(offset)

    def cause(self, value: int) -> str:
        """The instruction at which a value was lost."""
        return self.table.cause(value)

    # -- instructions --------------------------------------------------------------------------------------------

    def access(self, access: MemoryAccess) -> None:
        """The interpreter shows a memory access."""
        if self._move is not None:
            self._move.access(access)
        else:
            self._scalar_accesses.append(access)

    def _wave(self, w: Wave) -> CarryingWave:
        if w not in self._waves:
            if w.queues is not None:
                raise LaunchError("exact algebra runs without the checks that delay memory")
            self._waves[w] = CarryingWave(w, self._home, self._reader)
        return self._waves[w]

    def wrap(self, inst: Inst, run: Run) -> Run:
        """The instruction on a wave and on the values beside it."""
        op = inst.op
        if op in control.ENDS:
            return lambda w: self._end(w, run)
        if op in MATRIX:
            matrix = CarryingMatrix(inst, self._services.accum_offset, self._reader)
            return self._caused(inst, lambda w: self._matrix(w, matrix, run))
        if op in LANE_OPS and not op.startswith("ds_") and op != "v_swap_b32":
            return self._caused(inst, lambda w: self._lane_move(self._wave(w), inst, run))
        if op in VALU or op in LANE_OPS:
            return self._vector(inst, run)
        if op in MEMORY and MEMORY[op].space in ("scalar", "scalar_buffer"):
            return self._caused(inst, lambda w: self._scalar_memory(self._wave(w), inst, run))
        if op in MEMORY:
            move = MemoryMove(inst, self._services, self._planes)
            return self._caused(inst, lambda w: self._moved(self._wave(w), move, run))
        if op in SALU:
            return self._caused(inst, lambda w: self._scalar(self._wave(w), inst, run))
        return run

    def _matrix(self, w: Wave, matrix: CarryingMatrix, run: Run) -> Any:
        c = self._wave(w)
        if self._asked(w):
            return matrix.run(c, run)
        result = run(w)
        self._home.cause = NOT_ASKED
        c.lose(matrix.targets, np.ones(len(w.lanes), np.bool_))
        return result

    def _asked(self, w: Wave) -> bool:
        """Whether a wave computes in the fields."""
        return self._followed is None or w.index == self._followed

    def _caused(self, inst: Inst, run: Run) -> Run:
        cause = InstructionCause(inst)

        def with_cause(w: Wave) -> Any:
            self._home.cause = cause
            return run(w)

        return with_cause

    def _end(self, w: Wave, run: Run) -> Any:
        self._waves.pop(w, None)
        group = w.group
        self._ended[group.number] += 1
        if self._ended[group.number] == len(group.waves):
            self._planes.forget(group)
        return run(w)

    def _moved(self, w: CarryingWave, move: MemoryMove, run: Run) -> Any:
        self._move = move
        try:
            return move.run(w, run)
        finally:
            self._move = None

    def _vector(self, inst: Inst, run: Run) -> Run:
        """Arithmetic and lane crossing: the interpreter's own closure, on the carrying wave."""
        accum = self._services.accum_offset
        use = registers(inst)
        reads = tuple(physical(k, accum) for k in use.reads)
        writes = tuple(physical(k, accum) for k in use.writes)
        op = VALU.get(inst.op)
        computes = op is not None and bool(_FLOATS & {*op.args, *op.results}) and not inst.op.startswith("v_cmp")
        variants: dict[tuple[Any, ...], Any] = {}
        cause = InstructionCause(inst)

        def compiled(changed: Inst) -> Any:
            if changed.operands not in variants:
                variants[changed.operands] = self._closure(changed, accum)
            return variants[changed.operands]

        def vector(w: Wave) -> Any:
            c, lanes = self._wave(w), w.lanes
            self._home.cause = cause
            scalars = [n for n in use.scalar_reads if n in c.scalar_ids] if c.scalar_ids else []
            if w.index_mode:
                result = run(w)
                c.lose(tuple(range(REGISTERS)), np.ones(len(lanes), np.bool_))
                return result
            if not self._asked(w) and (computes or c.lost(reads)):
                result = run(w)
                self._home.cause = NOT_ASKED
                c.lose(writes, lanes)
            elif not scalars and not computes and not c.carried(reads):
                result = run(w)
                for n in writes:
                    c.write(n, None, lanes)
            else:
                result = self._on_values(c, inst, compiled, run, (*reads, *writes), writes)
            for n in use.scalar_writes:
                c.scalar_ids.pop(n, None)
            return result

        return vector

    def _closure(self, inst: Inst, accum: int) -> Any:
        if inst.op in VALU:
            return compile_vector(inst, accum, CARRYING)
        if inst.op.startswith("ds_"):
            return compile_lds(inst, self._services)
        return compile_lane_move(inst, accum)

    def _on_values(
        self, c: CarryingWave, inst: Inst, compiled: Any, run: Run, used: tuple[int, ...], writes: tuple[int, ...]
    ) -> Any:
        changed, held = c.substitutes(inst, used)
        with c.holding(held):
            try:
                result = compiled(changed)(c)
            except (TypeError, UnsupportedForm):  # bits that are no number, or a mask in scalars that carry a value
                result = run(c.wave)
                c.lose(writes, c.wave.lanes)
        for n in writes:
            c.v[n].settle()
        return result

    def _lane_move(self, c: CarryingWave, inst: Inst, run: Run) -> Any:
        """v_readfirstlane, v_readlane, v_writelane."""
        w, accum = c.wave, self._services.accum_offset
        target, source = inst.operands[0], inst.operands[1]
        number = inst.operands[2] if len(inst.operands) > 2 else None
        lane = first_lane(w)
        if number is not None:
            lane = (w.s[number.value] if number.kind == "s" else number.value) & 63
        if inst.op == "v_writelane_b32":
            ids = c.scalar_ids.get(source.value) if source.kind == "s" else None
            result = run(w)
            c.write(register(target, accum), None if ids is None else ids[None], np.array([lane]))
            return result
        row = c.v[register(source, accum)] if source.kind in ("v", "a") else None
        ids = None if row is None or row.ids is None else row.ids[lane].copy()
        result = run(w)
        self._keep_scalar(c, target.value, ids)
        return result

    def _keep_scalar(self, c: CarryingWave, n: int, ids: Ids | None) -> None:
        if ids is not None and ids.any():
            c.scalar_ids[n] = ids
        else:
            c.scalar_ids.pop(n, None)

    def _scalar_memory(self, c: CarryingWave, inst: Inst, run: Run) -> Any:
        self._scalar_accesses = []
        op, first = MEMORY[inst.op], inst.operands[0].value
        result = run(c.wave)
        for n in range(first, first + op.dwords):
            if op.kind == "load":
                c.scalar_ids.pop(n, None)
        for access in self._scalar_accesses:
            if op.kind == "load":
                ids = self._planes.load(access, c)
                for k in range(access.size // 4 if ids is not None else 0):
                    self._keep_scalar(c, first + k, None if ids is None else ids[0, 4 * k : 4 * k + 4])
            else:
                lost = np.full((1, access.size), self._home.lost(), np.uint32)
                self._planes.store(access, c, lost if c.scalar_ids else None)
        return result

    def _scalar(self, c: CarryingWave, inst: Inst, run: Run) -> Any:
        """Scalar registers that carry a value may be copied; other scalar arithmetic loses it."""
        if not c.scalar_ids:
            return run(c.wave)
        use = registers(inst)
        carried = [n for n in use.scalar_reads if n in c.scalar_ids]
        copied: dict[int, Ids] = {}
        if inst.op in _SCALAR_COPIES and carried:
            target, source = inst.operands[0].value, inst.operands[1].value
            copied = {target + n - source: c.scalar_ids[n] for n in carried}
        result = run(c.wave)
        lost = np.full(4, self._home.lost(), np.uint32) if carried and not copied else None
        for n in use.scalar_writes:
            if n in copied:
                c.scalar_ids[n] = copied[n]
            else:
                self._keep_scalar(c, n, lost)
        return result


class InstructionCause:
    """An instruction as a cause names it; the text is made when somebody reads it."""

    __slots__ = ("_inst",)

    def __init__(self, inst: Inst) -> None:
        self._inst = inst

    def __str__(self) -> str:
        return f"{text(self._inst)} at {self._inst.pc:#x}"
