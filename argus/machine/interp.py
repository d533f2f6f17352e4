"""The interpreter: decoded instructions to closures, and the loop that runs them.

    program = Program(code, start, services)
    program.run(wave, quantum)        # until the wave ends, meets a barrier, or has used its quantum

Code is found by following it: from the start along the fall-through and every branch target, and further when a jump
through a register leads to a place not seen yet. Bytes that are never reached are never decoded, so data between
functions does no harm; reaching an undecodable word is a report with its place. Each instruction is prepared once
(`interp_valu`, `interp_memory`, ...); an instruction the machine does not know becomes a closure that reports it
when, and only when, it is executed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from argus.gfx942.decoder import DecodeError, decode
from argus.gfx942.disasm import text
from argus.gfx942.inst import M0, Inst, InstOperand
from argus.machine import interp_control as flow
from argus.machine.errors import LaunchPoint, MachineError, MachineReport
from argus.machine.interp_lanes import compile_lane_move
from argus.machine.interp_lds import compile_lds
from argus.machine.interp_matrix import compile_mfma
from argus.machine.interp_memory import compile_vector_memory
from argus.machine.interp_operands import UnsupportedForm
from argus.machine.interp_packed import compile_vector
from argus.machine.interp_salu import compile_salu
from argus.machine.interp_scalar_memory import compile_scalar_memory
from argus.machine.interp_services import Services
from argus.machine.record import WaveRecorder
from argus.machine.register_file import RegisterFile
from argus.machine.semantics import control
from argus.machine.semantics.lanes import LANE_OPS
from argus.machine.semantics.matrix import MATRIX
from argus.machine.semantics.mem import MEMORY
from argus.machine.semantics.salu import SALU
from argus.machine.semantics.valu import VALU
from argus.machine.state import REGISTERS, SCALARS, Wave

Run = Callable[[Wave], Any]
Wrap = Callable[[Inst, Run], Run]
"""A check's way to surround an instruction."""

EVERY = RegisterFile(REGISTERS, SCALARS, 0)
VECTOR_PREFIXES = ("v_", "ds_", "buffer_", "global_", "flat_", "scratch_")


class Program:
    """The prepared code of one kernel."""

    def __init__(
        self, code: bytes, start: int, services: Services, wraps: tuple[Wrap, ...] = (), file: RegisterFile = EVERY
    ) -> None:
        self._code = code
        self._file = file
        self._services = services
        self._wraps = wraps
        self.insts: list[Inst] = []
        self.steps: list[Run] = []
        self._index: dict[int, int] = {}
        self._skipping = False
        self._indexing = False
        self.start = self.resolve(start)

    def resolve(self, pc: int) -> int:
        """The index of the instruction at byte offset `pc`, discovering code as needed."""
        if pc in self._index:
            return self._index[pc]
        if pc % 4 or not 0 <= pc < len(self._code):
            raise ValueError(f"offset {pc:#x} is not in the code ({len(self._code):#x} bytes)")
        found = self._discover(pc)
        first = len(self.insts)
        for inst in found:
            if inst.op != "jump":
                self._index[inst.pc] = len(self.insts)
            self.insts.append(inst)
        self._skipping |= any(i.op == control.SKIPPING for i in found)
        self._indexing |= any(i.op in control.INDEXING for i in found)
        self.steps.extend(self._prepared(inst) for inst in self.insts[first:])
        return self._index[pc]

    def _discover(self, pc: int) -> list[Inst]:
        """Instructions reachable from `pc` and not known yet, in address order; runs that meet known or missing code
        end
        in a jump."""
        seen: dict[int, Inst] = {}
        work = [pc]
        while work:
            at = work.pop()
            while at not in seen and at not in self._index:
                inst = self._decode(at)
                seen[at] = inst
                if inst.target is not None and 0 <= inst.target < len(self._code):
                    work.append(inst.target)
                if inst.op in control.ENDS or inst.op in ("s_branch", "s_setpc_b64", "s_swappc_b64", "invalid"):
                    break
                at += inst.size
        ordered = [seen[at] for at in sorted(seen)]
        result: list[Inst] = []
        for k, inst in enumerate(ordered):
            result.append(inst)
            following = inst.pc + inst.size
            falls = inst.op not in control.ENDS and inst.op not in ("s_branch", "s_setpc_b64", "invalid")
            adjacent = k + 1 < len(ordered) and ordered[k + 1].pc == following
            if falls and not adjacent:
                result.append(Inst(following, 0, "jump", "", (), target=following))
        return result

    def _decode(self, pc: int) -> Inst:
        try:
            return decode(self._code, pc)
        except DecodeError as why:
            word = int.from_bytes(self._code[pc : pc + 4].ljust(4, b"\0"), "little")
            return Inst(pc, 4, "invalid", str(why), (), words=(word,))

    def _prepared(self, inst: Inst) -> Run:
        if inst.op == "jump":
            return self._jump(inst)
        if inst.op == "invalid":
            return self._refuse(inst, "ARG-M110", inst.enc)
        beyond = self._file.beyond(inst)
        if beyond is not None:
            return self._refuse(inst, "ARG-M108", beyond)
        try:
            run = self._compile(inst)
        except (UnsupportedForm, KeyError, ValueError, IndexError) as why:
            return self._refuse(inst, "ARG-M109", f"this form of {inst.op} cannot be executed: {why}")
        run = self._modes(inst, run)
        for wrap in self._wraps:
            run = wrap(inst, run)
        return run

    def _jump(self, inst: Inst) -> Run:
        def run(w: Wave) -> None:
            try:
                w.pc = self.resolve(inst.pc)
            except ValueError as why:
                place = LaunchPoint(w.group.id, w.index, None, inst.pc, "(nothing)")
                raise MachineError(MachineReport("ARG-M110", f"execution leaves the code: {why}", place)) from None
            w.steps -= 1

        return run

    def _refuse(self, inst: Inst, code: str, message: str) -> Run:
        shown = text(inst) if inst.op != "invalid" else f".long {inst.words[0]:#010x}"

        def run(w: Wave) -> None:
            raise MachineError(MachineReport(code, message, LaunchPoint(w.group.id, w.index, None, inst.pc, shown)))

        return run

    def _compile(self, inst: Inst) -> Run:
        op, services = inst.op, self._services
        if op in VALU:
            return compile_vector(inst, services.accum_offset)
        if op in SALU:
            return compile_salu(inst)
        if op in MATRIX:
            return compile_mfma(inst, services.accum_offset)
        if op.startswith("ds_") and (op in MEMORY or op in LANE_OPS):
            return compile_lds(inst, services)
        if op in LANE_OPS:
            return compile_lane_move(inst, services.accum_offset)
        if op in MEMORY:
            scalar = MEMORY[op].space in ("scalar", "scalar_buffer")
            return compile_scalar_memory(inst, services) if scalar else compile_vector_memory(inst, services)
        return self._compile_control(inst)

    def _compile_control(self, inst: Inst) -> Run:
        op = inst.op
        if op in control.BRANCHES:
            return self._branch(inst)
        if op == control.BARRIER:
            return flow.barrier
        if op in control.ENDS:
            return flow.end
        if op == control.WAIT:
            return flow.compile_wait(inst)
        if op == "s_sleep":
            return flow.sleep
        if op in control.NO_EFFECT:
            return _nothing
        if op in control.INDIRECT:
            return flow.compile_indirect(inst, self._services, self.resolve)
        if op in control.HARDWARE_REGISTERS:
            return flow.compile_hardware_register(inst)
        if op in control.INDEXING:
            return flow.compile_indexing(inst)
        if op == control.SKIPPING:
            return flow.compile_skip(inst)
        if op in control.CLOCKS:
            return flow.compile_clock(inst)
        if op == control.TRAP:
            return self._refuse(inst, "ARG-M113", f"the kernel executed s_trap {inst.operands[0].value}")
        raise UnsupportedForm("the machine does not know it")

    def _branch(self, inst: Inst) -> Run:
        if inst.target is None or inst.target not in self._index:
            raise UnsupportedForm(f"its target {inst.target} is not in the code")
        return flow.compile_branch(inst, self.resolve)

    def _modes(self, inst: Inst, run: Run) -> Run:
        """Skipping and register indexing, for kernels that use them."""
        if self._indexing and (inst.op in VALU or inst.op in LANE_OPS) and inst.op.startswith("v_"):
            run = self._indexed(inst, run)
        if self._skipping and inst.op.startswith(VECTOR_PREFIXES):
            return lambda w: None if w.skip else run(w)
        return run

    def _indexed(self, inst: Inst, run: Run) -> Run:
        """With indexing on, vector registers chosen by the mode move by M0[7:0]."""
        variants: dict[tuple[int, int], Run] = {}

        def indexed(w: Wave) -> Any:
            if not w.index_mode:
                return run(w)
            key = (w.index_mode, w.s[M0] & 0xFF)
            if key not in variants:
                moved = replace(inst, operands=_moved(inst, *key))
                beyond = self._file.beyond(moved)
                variants[key] = self._compile(moved) if beyond is None else self._refuse(inst, "ARG-M108", beyond)
            return variants[key](w)

        return indexed

    def run(self, w: Wave, quantum: int) -> int:
        """Execute up to `quantum` instructions of the wave; returns how many were executed."""
        if w.recorder is not None:
            return self._run_recorded(w, w.recorder, quantum)
        steps, count = self.steps, 0
        while count < quantum:
            at = w.pc
            w.pc = at + 1
            count += 1
            if steps[at](w):
                break
        w.steps += count
        return count

    def _run_recorded(self, w: Wave, recorder: WaveRecorder, quantum: int) -> int:
        steps, insts, count = self.steps, self.insts, 0
        while count < quantum:
            at = w.pc
            w.pc = at + 1
            inst = insts[at]
            if inst.size and not (w.skip and inst.op.startswith(VECTOR_PREFIXES)):
                count += 1
                recorder.instruction(inst.pc, w.exec)
            if steps[at](w):
                break
        w.steps += count
        return count


def _nothing(w: Wave) -> None:
    return None


def _moved(inst: Inst, mode: int, index: int) -> tuple[InstOperand, ...]:
    op = VALU.get(inst.op)
    results = 1 if op is None else sum(1 for word in op.results if word not in ("scc", "exec"))
    moved = []
    for position, operand in enumerate(inst.operands):
        bit = flow.INDEX_TARGET if position < results else 1 << position - results
        if mode & bit and operand.kind == "v":
            operand = replace(operand, value=operand.value + index)
        moved.append(operand)
    return tuple(moved)
