"""Uninitialised values: registers or LDS nobody wrote, used where it matters.

Every vector register has a 64-bit mask of defined lanes, every scalar register a flag, every LDS byte a flag. Moving or
computing with an undefined value is harmless and passes the property on (compilers copy registers they never use); the
report comes when it matters: an address, a value stored to memory, a branch, the exec mask, a lane number.

    v_add_u32 v1, v9, v2              v9 was never written: v1 becomes undefined, no report
    global_store_dword v3, v1, s[0:1] ARG-M104: stores v1, undefined in lane 0

A matrix result is undefined where its C is, and everywhere if any lane of A or B is. An instruction that writes a
part of a register (a half, a byte) makes the whole register defined; a source selected lane by lane (v_cndmask)
counts only where it is chosen; permutes pass the property on only if no lane is defined. Memory outside LDS counts as
defined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.hazards import SCC, registers
from argus.gfx942.inst import EXEC, FLAT_SCRATCH, M0, TTMP, XNACK_MASK, Inst, Operand
from argus.gfx942.instructions import spec
from argus.machine import record
from argus.machine.checks.names import physical, scalar_name, vector_name
from argus.machine.interp_lanes import first_lane
from argus.machine.interp_services import MemoryAccess, Services
from argus.machine.semantics.lanes import NO_LANE, dpp_enabled, dpp_sources
from argus.machine.semantics.mem import MEMORY
from argus.machine.semantics.valu import VALU
from argus.machine.state import ALL, REGISTERS, Wave, Workgroup, bits_of, lanes_of

Run = Callable[[Wave], Any]


class Defined:
    """What a wave has defined. `loading` are the lanes an LDS load found undefined, for the wrapped instruction."""

    __slots__ = ("loading", "s", "v")

    def __init__(self, scalars: list[int]) -> None:
        self.v = [0] * REGISTERS
        self.v[0] = ALL
        self.s = [False] * (SCC + 1)
        for n in (*scalars, EXEC, EXEC + 1, *range(FLAT_SCRATCH, XNACK_MASK + 2), *range(TTMP, M0)):
            self.s[n] = True
        self.loading = 0


class UninitialisedCheck:
    """Wraps every instruction; observes LDS accesses."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lds: dict[int, NDArray[np.bool_]] = {}

    def workgroup_started(self, group: Workgroup) -> None:
        self._lds[group.number] = np.zeros(len(group.lds), np.bool_)

    def workgroup_ended(self, group: Workgroup) -> None:
        self._lds.pop(group.number, None)

    def wave_started(self, w: Wave, scalars: list[int]) -> None:
        w.defined = Defined(scalars)

    def access(self, access: MemoryAccess) -> None:
        """LDS bytes become defined by stores; loads note the lanes that see undefined bytes."""
        if access.space != record.LDS:
            return
        w, defined = access.wave, self._lds[access.wave.group.number]
        index = access.addresses.astype(np.int64)[:, None] + np.arange(access.size)
        inside = (index < len(defined)).all(axis=1)
        if access.kind == "load" or access.kind == "atomic":
            bad = access.lanes[inside][~defined[index[inside]].all(axis=1)]
            for lane in bad.tolist():
                w.defined.loading |= 1 << lane
        if access.kind != "load":
            undefined = self._undefined_data(access)
            defined[index[inside]] = ~undefined[access.lanes[inside]][:, None]

    def _undefined_data(self, access: MemoryAccess) -> Any:
        inst, w = access.inst, access.wave
        if access.kind != "store" or not inst.op.startswith("ds_"):
            return lanes_of(0)
        bits = 0
        for o in inst.operands[1:]:
            for n in self._physical(o):
                bits |= ALL & ~w.defined.v[n]
        return lanes_of(bits)

    def _physical(self, o: Operand) -> range:
        if o.kind not in ("v", "a"):
            return range(0)
        first = o.value + (self._services.accum_offset if o.kind == "a" else 0)
        return range(first, first + o.count)

    def wrap(self, inst: Inst, run: Run) -> Run:
        cls = spec(inst.op).cls
        if cls == "mfma":
            return self._matrix(inst, run)
        if cls in ("vmem", "lds"):
            return self._memory(inst, run)
        if cls in ("valu", "trans"):
            return self._vector(inst, run)
        return self._scalar(inst, run)

    # sinks

    def _demand_scalars(self, w: Wave, inst: Inst, numbers: tuple[int, ...], what: str) -> None:
        for n in numbers:
            if not w.defined.s[n]:
                self._services.finding("ARG-M104", f"{what} {scalar_name(n)}, which was never written", w, inst)
                w.defined.s[n] = True

    def _demand_lanes(self, w: Wave, inst: Inst, numbers: tuple[int, ...], what: str) -> None:
        for n in numbers:
            missing = w.exec & ~w.defined.v[n]
            if missing:
                lane = (missing & -missing).bit_length() - 1
                name = vector_name(n, self._services.accum_offset)
                self._services.finding("ARG-M104", f"{what} {name}, undefined in lane {lane}", w, inst, lane)
                w.defined.v[n] |= missing

    # kinds of instructions

    def _matrix(self, inst: Inst, run: Run) -> Run:
        target, a, b, c = (tuple(self._physical(o)) for o in inst.operands[:4])

        def checked(w: Wave) -> Any:
            v = w.defined.v
            whole = all(v[n] == ALL for n in a) and all(v[n] == ALL for n in b)
            masks = [v[n] for n in c] if c else [ALL] * len(target)
            for k, n in enumerate(target):
                v[n] = masks[k] if whole else 0
            return run(w)

        return checked

    def _memory(self, inst: Inst, run: Run) -> Run:
        use, op = registers(inst), MEMORY.get(inst.op)
        accum = self._services.accum_offset
        targets = tuple(physical(k, accum) for k in use.writes)
        scalars = tuple(n for n in use.scalar_reads if n not in (EXEC, EXEC + 1))
        read = {physical(k, accum) for k in use.reads}
        kept = set(targets) if spec(inst.op).reads_destination else set()
        to_lds_store = op is not None and op.space == "lds" and op.kind == "store"
        scratch = op is not None and op.space == "scratch"
        lane_op = op is None
        data = set() if not (to_lds_store or scratch or lane_op) else self._data(inst)
        demanded = tuple(sorted(read - kept - data))
        verb = "stores or addresses memory with" if op is not None and op.kind != "load" else "addresses memory with"

        def checked(w: Wave) -> Any:
            self._demand_scalars(w, inst, scalars, "addresses memory with")
            if demanded:
                self._demand_lanes(w, inst, demanded, verb)
            w.defined.loading = 0
            result = run(w)
            good = w.exec & ~w.defined.loading
            if lane_op and not any(w.defined.v[n] & w.exec for n in data):
                good = 0
            for n in targets:
                w.defined.v[n] = w.defined.v[n] & ~w.exec | good
            return result

        return checked

    def _data(self, inst: Inst) -> set[int]:
        """Registers whose contents a store or permute moves."""
        first = 1 if inst.op.startswith(("ds_write", "ds_swizzle", "scratch_store")) else 2
        return {n for o in inst.operands[first:] for n in self._physical(o)}

    def _vector(self, inst: Inst, run: Run) -> Run:
        if inst.op in ("v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32"):
            return self._lane_move(inst, run)
        use, accum = registers(inst), self._services.accum_offset
        op = VALU.get(inst.op)
        accumulates = op is not None and ("old" in op.args or "old64" in op.args)
        written = tuple(physical(k, accum) for k in sorted(use.writes))
        partial = inst.mods.get("dst_unused") == "UNUSED_PRESERVE" or inst.enc == "dpp" or not accumulates
        operands = inst.operands[spec(inst.op).destinations :]
        sources = {n for o in operands for n in self._physical(o)}
        if inst.op == "v_swap_b32":
            sources = set(written)
        if accumulates and not partial:
            sources |= set(written)
        vectors = tuple(sorted(sources))
        scalars = tuple(n for n in use.scalar_reads if n not in (EXEC, EXEC + 1))
        scalar_targets = tuple(use.scalar_writes)
        moved = self._dpp_map(inst)
        chooses = inst.op == "v_cndmask_b32" and len(operands) == 3 and operands[2].kind == "s" and inst.enc != "dpp"

        def checked(w: Wave) -> Any:
            defined, exec_ = w.defined, w.exec
            bad = 0
            if chooses:
                mask = w.pair(operands[2].value)
                for o, where in ((operands[0], ~mask), (operands[1], mask)):
                    for n in self._physical(o):
                        bad |= where & ~defined.v[n]
            else:
                for n in vectors:
                    bad |= ~defined.v[n]
                bad &= ALL
                if bad and moved is not None:
                    bad = moved(bad)
            if not all(defined.s[n] for n in scalars):
                bad = ALL
            bad &= exec_
            result = run(w)
            for n in written:
                defined.v[n] = defined.v[n] & ~exec_ | exec_ & ~bad
            for n in scalar_targets:
                defined.s[n] = not bad
            if EXEC in scalar_targets and bad:
                self._demand_scalars(w, inst, (EXEC,), "computes exec from a value in")
            return result

        return checked

    def _dpp_map(self, inst: Inst) -> Callable[[int], int] | None:
        """For DPP: lanes whose source is undefined, given the undefined lanes of the source."""
        if inst.enc != "dpp":
            return None
        sources = np.array(dpp_sources(inst.mods))
        enabled = np.array(dpp_enabled(inst.mods)) & (sources != NO_LANE)
        index = np.where(sources == NO_LANE, 0, sources)
        return lambda bad: bits_of(lanes_of(bad)[index] & enabled)

    def _lane_move(self, inst: Inst, run: Run) -> Run:
        if inst.op == "v_writelane_b32":
            (n,) = self._physical(inst.operands[0])

            def write(w: Wave) -> Any:
                result = run(w)
                lane = inst.operands[2]
                number = (w.s[lane.value] if lane.kind == "s" else lane.value) & 63
                w.defined.v[n] |= 1 << number
                return result

            return write
        target, source = inst.operands[0].value, inst.operands[1]

        def read(w: Wave) -> Any:
            if inst.op == "v_readfirstlane_b32":
                lane = first_lane(w)
            else:
                chosen = inst.operands[2]
                if chosen.kind == "s":
                    self._demand_scalars(w, inst, (chosen.value,), "reads the lane number")
                lane = (w.s[chosen.value] if chosen.kind == "s" else chosen.value) & 63
            good = all(w.defined.v[n] >> lane & 1 for n in self._physical(source))
            result = run(w)
            w.defined.s[target] = good
            return result

        return read

    def _scalar(self, inst: Inst, run: Run) -> Run:
        use, cls = registers(inst), spec(inst.op).cls
        reads, writes = tuple(use.scalar_reads), tuple(use.scalar_writes)
        if cls == "smem":
            addresses = tuple(n for o in inst.operands[1:] if o.kind == "s" for n in range(o.value, o.value + o.count))

            def load(w: Wave) -> Any:
                self._demand_scalars(w, inst, addresses, "addresses memory with")
                result = run(w)
                for n in writes:
                    w.defined.s[n] = True
                return result

            return load
        if cls == "branch":

            def branch(w: Wave) -> Any:
                self._demand_scalars(w, inst, reads, "branches on")
                result = run(w)
                for n in writes:
                    w.defined.s[n] = True
                return result

            return branch
        if not writes:
            return run
        chooses = inst.op.startswith("s_cselect")

        def compute(w: Wave) -> Any:
            s = w.defined.s
            needed = reads
            if chooses:
                chosen = inst.operands[1 if w.scc else 2]
                needed = (SCC, *(range(chosen.value, chosen.value + chosen.count) if chosen.kind == "s" else ()))
            good = all(s[n] for n in needed)
            result = run(w)
            for n in writes:
                s[n] = good
            if not good and EXEC in writes:
                self._demand_scalars(w, inst, (EXEC,), "computes exec from a value never written; it is")
            return result

        return compute
