"""Uninitialised values: registers or LDS nobody wrote, used where it matters.

Every vector register has a 64-bit mask of defined lanes, every scalar register a flag, every LDS byte a flag. Moving or
computing with an undefined value is harmless and passes the property on (compilers copy registers they never use); the
report comes when it matters: an address, a value stored to memory, a branch, the exec mask, a lane number.

    v_add_u32 v1, v9, v2              v9 was never written: v1 becomes undefined, no report
    global_store_dword v3, v1, s[0:1] ARG-M104: stores v1, undefined in lane 0

If the value came out of LDS bytes nobody had written, the report names that LDS load as the other side.

A matrix result is undefined where its C is, and everywhere if any lane of A or B is. An instruction that writes a
part of a register (a half, a byte) makes the whole register defined; a source selected lane by lane (v_cndmask)
counts only where it is chosen, and of a pair of which a packed f32 instruction takes one half twice, that half; the
low half of a 64-bit sum, product or left shift depends on low halves only (`LOW_FROM_LOW`); permutes pass the property
on only if no lane is defined. Memory outside LDS counts as defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.hazards import SCC, registers
from argus.gfx942.inst import EXEC, FLAT_SCRATCH, M0, TTMP, XNACK_MASK, Inst, InstOperand
from argus.gfx942.instructions import spec
from argus.machine import record
from argus.machine.checks.names import physical, scalar_name, vector_name
from argus.machine.interp_lanes import first_lane
from argus.machine.interp_packed import halves
from argus.machine.interp_services import MemoryAccess, Services
from argus.machine.semantics.lanes import NO_LANE, dpp_enabled, dpp_sources
from argus.machine.semantics.mem import MEMORY
from argus.machine.semantics.valu import VALU
from argus.machine.state import ALL, REGISTERS, Wave, Workgroup, bits_of, lanes_of

Run = Callable[[Wave], Any]
LOW_FROM_LOW = frozenset({"v_mad_u64_u32", "v_mad_i64_i32", "v_lshl_add_u64", "v_lshlrev_b64"})
"""64-bit results whose low half no high half of a source reaches. Compilers leave the latter undefined if they want
nothing else."""


class Defined:
    """What a wave has defined. `loading` are the lanes an LDS load found undefined, for the wrapped instruction, and
    `source` the load they go back to; the origins are such loads by register, where there is one."""

    __slots__ = ("loading", "s", "scalar_origins", "source", "v", "vector_origins")

    def __init__(self, scalars: list[int]) -> None:
        self.v = [0] * REGISTERS
        self.v[0] = ALL
        self.s = [False] * (SCC + 1)
        for n in (*scalars, EXEC, EXEC + 1, *range(FLAT_SCRATCH, XNACK_MASK + 2), *range(TTMP, M0)):
            self.s[n] = True
        self.loading = 0
        self.source: Inst | None = None
        self.vector_origins: dict[int, Inst | None] = {}
        self.scalar_origins: dict[int, Inst | None] = {}

    def origin(self, vectors: Iterable[int], scalars: Iterable[int] = ()) -> Inst | None:
        """The LDS load an undefined value in one of these registers goes back to, if there is one."""
        for n in vectors:
            if self.v[n] != ALL and self.vector_origins.get(n) is not None:
                return self.vector_origins[n]
        return next((self.scalar_origins[n] for n in scalars if not self.s[n] and n in self.scalar_origins), None)

    def spread(self, origin: Inst | None, vectors: Iterable[int], scalars: Iterable[int] = ()) -> None:
        """These registers have become undefined."""
        for n in vectors:
            self.vector_origins[n] = origin
        for n in scalars:
            self.scalar_origins[n] = origin


@dataclass(slots=True)
class _Lds:
    """Of each byte of a workgroup's LDS: whether it is defined, and the pc of the load its undefined value goes back
    to (-1: none)."""

    defined: NDArray[np.bool_]
    origin: NDArray[np.int32]


class UninitialisedCheck:
    """Wraps every instruction; observes LDS accesses."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lds: dict[int, _Lds] = {}
        self._loads: dict[int, Inst] = {}

    def workgroup_started(self, group: Workgroup) -> None:
        size = len(group.lds)
        self._lds[group.number] = _Lds(np.zeros(size, np.bool_), np.full(size, -1, np.int32))

    def workgroup_ended(self, group: Workgroup) -> None:
        self._lds.pop(group.number, None)

    def wave_started(self, w: Wave, scalars: list[int]) -> None:
        w.defined = Defined(scalars)

    def access(self, access: MemoryAccess) -> None:
        """LDS bytes become defined by stores; loads note the lanes that see undefined bytes."""
        if access.space != record.LDS:
            return
        w, lds = access.wave, self._lds[access.wave.group.number]
        index = access.addresses.astype(np.int64)[:, None] + np.arange(access.size)
        inside = (index < len(lds.defined)).all(axis=1)
        index, lanes = index[inside], access.lanes[inside]
        if access.kind != "store":
            missing = ~lds.defined[index]
            bad = missing.any(axis=1)
            if bad.any():
                for lane in lanes[bad].tolist():
                    w.defined.loading |= 1 << lane
                w.defined.source = self._loads.get(int(lds.origin[index[missing][0]]), access.inst)
        if access.kind != "load":
            undefined = self._undefined_data(access)[lanes]
            lds.defined[index] = ~undefined[:, None]
            if undefined.any():
                origin = w.defined.origin(n for o in access.inst.operands[1:] for n in self._physical(o))
                lds.origin[index[undefined]] = -1 if origin is None else origin.pc
                if origin is not None:
                    self._loads[origin.pc] = origin

    def _undefined_data(self, access: MemoryAccess) -> Any:
        inst, w = access.inst, access.wave
        if access.kind != "store" or not inst.op.startswith("ds_"):
            return lanes_of(0)
        bits = 0
        for o in inst.operands[1:]:
            for n in self._physical(o):
                bits |= ALL & ~w.defined.v[n]
        return lanes_of(bits)

    def _physical(self, o: InstOperand) -> range:
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

    def _finding(self, w: Wave, inst: Inst, message: str, lane: int | None, origin: Inst | None) -> None:
        other = None if origin is None else self._services.place(w, origin)
        self._services.finding("ARG-M104", message, w, inst, lane, other=other)

    def _demand_scalars(self, w: Wave, inst: Inst, numbers: tuple[int, ...], what: str) -> None:
        for n in numbers:
            if not w.defined.s[n]:
                origin = w.defined.scalar_origins.get(n)
                why = (
                    "which was never written" if origin is None else "which LDS bytes nobody wrote have made undefined"
                )
                self._finding(w, inst, f"{what} {scalar_name(n)}, {why}", None, origin)
                w.defined.s[n] = True

    def _demand_lanes(self, w: Wave, inst: Inst, numbers: tuple[int, ...], what: str) -> None:
        for n in numbers:
            missing = w.exec & ~w.defined.v[n]
            if missing:
                lane = (missing & -missing).bit_length() - 1
                name = vector_name(n, self._services.accum_offset)
                origin = w.defined.vector_origins.get(n)
                why = "" if origin is None else ": it goes back to LDS bytes nobody wrote"
                self._finding(w, inst, f"{what} {name}, undefined in lane {lane}{why}", lane, origin)
                w.defined.v[n] |= missing

    # kinds of instructions

    def _matrix(self, inst: Inst, run: Run) -> Run:
        target, a, b, c = (tuple(self._physical(o)) for o in inst.operands[:4])

        def checked(w: Wave) -> Any:
            v = w.defined.v
            whole = all(v[n] == ALL for n in a) and all(v[n] == ALL for n in b)
            masks = [v[n] for n in c] if c else [ALL] * len(target)
            if not whole or any(mask != ALL for mask in masks):
                w.defined.spread(w.defined.origin((*a, *b, *c)), target)
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
            if w.defined.loading:
                w.defined.spread(w.defined.source, targets)
            if lane_op and not any(w.defined.v[n] & w.exec for n in data):
                good = 0
                w.defined.spread(w.defined.origin(data), targets)
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
        if inst.op == "v_mov_b64" and inst.enc != "dpp":
            return self._pair_move(inst, run)
        use, accum = registers(inst), self._services.accum_offset
        op = VALU.get(inst.op)
        accumulates = op is not None and ("old" in op.args or "old64" in op.args)
        written = tuple(physical(k, accum) for k in sorted(use.writes))
        partial = inst.mods.get("dst_unused") == "UNUSED_PRESERVE" or inst.enc == "dpp" or not accumulates
        operands = inst.operands[spec(inst.op).destinations :]
        sources = {n for k, o in enumerate(operands) for n in self._taken(inst, k, o)}
        if inst.op == "v_swap_b32":
            sources = set(written)
        if accumulates and not partial:
            sources |= set(written)
        vectors = tuple(sorted(sources))
        left = {n for k, o in enumerate(operands) if o.kind == "s" for n in self._unread(inst, k, o)}
        scalars = tuple(n for n in use.scalar_reads if n not in (EXEC, EXEC + 1) and n not in left)
        scalar_targets = tuple(use.scalar_writes)
        high = self._high_halves(operands) if inst.op in LOW_FROM_LOW else frozenset()
        moved = self._dpp_map(inst)
        chooses = inst.op == "v_cndmask_b32" and len(operands) == 3 and operands[2].kind == "s" and inst.enc != "dpp"

        def checked(w: Wave) -> Any:
            defined, exec_ = w.defined, w.exec
            bad, low = 0, None
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
            if bad and high:
                low = exec_ & _undefined(defined, vectors, scalars, high)
            if bad:
                defined.spread(defined.origin(vectors, scalars), written, scalar_targets)
            result = run(w)
            for n in written:
                defined.v[n] = defined.v[n] & ~exec_ | exec_ & ~bad
            if low is not None:
                defined.v[written[0]] |= exec_ & ~low
            for n in scalar_targets:
                defined.s[n] = not bad
            if EXEC in scalar_targets and bad:
                self._demand_scalars(w, inst, (EXEC,), "computes exec from a value in")
            return result

        return checked

    def _high_halves(self, sources: Iterable[InstOperand]) -> frozenset[tuple[str, int]]:
        """Registers that are the high half of a pair, and no source besides."""
        pairs = [o for o in sources if o.count == 2]
        low = {(o.kind, o.value) for o in sources}
        return frozenset((o.kind, o.value + 1) for o in pairs) - low

    def _taken(self, inst: Inst, k: int, o: InstOperand) -> range:
        """Registers of the k-th source that are read: packed f32 instructions may take one half of a pair twice."""
        return self._halves_taken(inst, k, self._physical(o))

    def _unread(self, inst: Inst, k: int, o: InstOperand) -> set[int]:
        """Scalar registers of the k-th source that are not read, and by no other source either."""
        whole = range(o.value, o.value + o.count)
        others = [p for j, p in enumerate(inst.operands[spec(inst.op).destinations :]) if j != k and p.kind == "s"]
        used = {n for p in others for n in range(p.value, p.value + p.count)}
        return set(whole) - set(self._halves_taken(inst, k, whole)) - used

    def _halves_taken(self, inst: Inst, k: int, both: range) -> range:
        op = VALU.get(inst.op)
        if op is None or op.shape != "pk32" or len(both) != 2:
            return both
        chosen = {bits[k] for bits in (halves(inst, "op_sel", 0, k + 1), halves(inst, "op_sel_hi", 1, k + 1))}
        return both if len(chosen) == 2 else both[chosen.pop() :][:1]

    def _pair_move(self, inst: Inst, run: Run) -> Run:
        """Two registers at once, each by itself: compilers fill one half of a pair and use only that."""
        target, source = inst.operands[0], inst.operands[1]
        written = tuple(self._physical(target))
        vectors, scalar = tuple(self._physical(source)), source.kind == "s"

        def move(w: Wave) -> Any:
            defined, exec_ = w.defined, w.exec
            good = [ALL, ALL]
            if vectors:
                good = [defined.v[n] for n in vectors]
            elif scalar:
                good = [ALL if defined.s[source.value + k] else 0 for k in range(2)]
            origin = defined.origin(vectors, range(source.value, source.value + 2) if scalar else ())
            result = run(w)
            for n, mask in zip(written, good, strict=True):
                if exec_ & ~mask:
                    defined.spread(origin, (n,))
                defined.v[n] = defined.v[n] & ~exec_ | exec_ & mask
            return result

        return move

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
            if not good:
                w.defined.spread(w.defined.origin(self._physical(source)), (), (target,))
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
        chooses = inst.op.startswith(("s_cselect", "s_cmov"))
        otherwise = 2 if inst.op.startswith("s_cselect") else 0  # s_cmov leaves its destination as it is

        def compute(w: Wave) -> Any:
            s = w.defined.s
            needed = reads
            if chooses:
                chosen = inst.operands[1 if w.scc else otherwise]
                needed = (SCC, *(range(chosen.value, chosen.value + chosen.count) if chosen.kind == "s" else ()))
            good = all(s[n] for n in needed)
            if not good:
                w.defined.spread(w.defined.origin((), needed), (), writes)
            result = run(w)
            for n in writes:
                s[n] = good
            if not good and EXEC in writes:
                self._demand_scalars(w, inst, (EXEC,), "computes exec from a value never written; it is")
            return result

        return compute


def _undefined(
    defined: Defined, vectors: Iterable[int], scalars: Iterable[int], without: frozenset[tuple[str, int]]
) -> int:
    """Lanes in which one of these registers is undefined, `without` some of them."""
    if not all(defined.s[n] for n in scalars if ("s", n) not in without):
        return ALL
    bad = 0
    for n in vectors:
        if ("v", n) not in without:
            bad |= ALL & ~defined.v[n]
    return bad
