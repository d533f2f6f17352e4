"""One kernel as one host function: `i32 kernel(wave, scalars, context)`.

    spec = KernelSpec(code, entry, register_file, ...)
    texts, facts = translate_text(spec)

The function starts with a switch over the wave's resume point and consists of the kernel's basic blocks. It runs one
wave until the wave ends, reaches a barrier, or its time slice is over (checked on backward jumps only), and says which
(`frame.Exit`). All registers live in the wave's memory between instructions; within a block, names of scalars already
loaded, lane-wise runs (`Region`) and unpacked matrix operands (`Staging`) are reused.

An instruction that is not lane-wise and does not depend on the open region goes before it, so that one address
computation or one load between two runs of arithmetic does not break them apart.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from argus.gfx942.inst import EXEC, VCC, Inst, InstOperand
from argus.gfx942.mfma import MfmaShape
from argus.machine.jit.effects import HWREG, Effects, effects, row_of
from argus.machine.jit.errors import JitUnsupported
from argus.machine.jit.flow import (
    ONES,
    Block,
    CodeFlow,
    ends_block,
    is_backward,
    read_flow,
    step_constants,
)
from argus.machine.jit.frame import LANES, ROW, SPARE_ROWS, VECTOR_ROWS, ContextFields, Exit, Fault, Scalar
from argus.machine.jit.irtext import JitModule
from argus.machine.jit.lanewise import LaneWise
from argus.machine.jit.llvm_builder import LlvmBuilder
from argus.machine.jit.lower_matrix import Staging, lower_matrix
from argus.machine.jit.lower_memory import lower_memory
from argus.machine.jit.lower_scalar import (
    lower_counter,
    lower_hardware_register,
    lower_lane_read,
    lower_lane_write,
    lower_salu,
    lower_swap,
    skip_bit,
    special,
)
from argus.machine.jit.objects import Facts
from argus.machine.jit.pending import PendingRegisters, mask_pairs, plain_scalars
from argus.machine.jit.region import Region
from argus.machine.jit.runtime import add_runtime
from argus.machine.jit.scalars import Scalars
from argus.machine.jit.tracing import BlockTrace
from argus.machine.register_file import RegisterFile
from argus.machine.semantics import SALU, VALU, MachineOp
from argus.machine.semantics.control import BRANCHES, CLOCKS, HARDWARE_REGISTERS, NO_EFFECT
from argus.machine.semantics.lanes import dpp_enabled, dpp_sources, swizzle_sources
from argus.machine.semantics.matrix import MATRIX
from argus.machine.semantics.mem import MEMORY, MemoryOp
from argus.machine.semantics.modifiers import constant_bits

REGION_LIMIT = 40
"""Instructions per region: longer loops need more values at once than the host has registers."""

MOST_PARTS = 4
PART_LINES = 6000
QUICK_LINES = 5000
"""From this length on the kernel's own function is compiled quickly: it calls the regions, matrix products and memory
accesses in which the time is spent, and is the longest function by far."""
SPARES = SPARE_ROWS - 2
ALL_LANES = (1 << LANES) - 1
NOTHING = NO_EFFECT | {"s_waitcnt"}
MODE_REGISTER = 1
ROUNDING = 15


@dataclass(frozen=True, slots=True)
class Mode:
    """The parts of MODE that change arithmetic."""

    flush_f32: bool
    flush_f64_f16: bool
    saturate_fp8: bool
    dx10_clamp: bool


def float_mode(bits: int) -> Mode:
    """MODE taken apart: denormals in bits 7..4, DX10_CLAMP bit 8, FP16_OVFL bit 23."""
    return Mode(bits >> 4 & 3 != 3, bits >> 6 & 3 != 3, bool(bits >> 23 & 1), bool(bits >> 8 & 1))


DEFAULT_MODE = 0x3F0
"""MODE as compilers set it: denormals kept, DX10_CLAMP, IEEE."""


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """What the translation depends on: code, where it starts, the registers, MODE, whether all lanes start active."""

    code: bytes
    entry: int
    file: RegisterFile
    mode: int = DEFAULT_MODE
    full_waves: bool = True
    trace: bool = False

    @property
    def accum_offset(self) -> int:
        """a[0]'s row."""
        return self.file.accum_offset


def part_count(module: JitModule) -> int:
    """How many parts to compile at once: one per core, none shorter than some thousand lines."""
    lines = sum(len(function.lines) for function in module.functions.values())
    return max(1, min(MOST_PARTS, len(os.sched_getaffinity(0)), lines // PART_LINES))


def translate_text(spec: KernelSpec) -> tuple[list[str], Facts]:
    """The kernel as LLVM texts, and the facts its execution needs."""
    t = Translator(spec)
    t.run()
    if len(t.f.lines) >= QUICK_LINES:
        t.f.quickly()
    pointers = [("ptr", name) for name in ("context", "launch", "waves", "status")]
    t.module.declare("run_workgroups", "i32", [*[type_ for type_, _ in pointers], "ptr", "i64"])
    add_runtime(t.module)
    facts: Facts = {
        "instructions": t.flow.instructions,
        "rows": t.highest_row + 1,
        "blocks": t.trace_facts,
        "resume": t.resume_points,
    }
    return t.module.parts(part_count(t.module)), facts


class Translator:
    """The translation under way; `lower_*` modules use it."""

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        start = {HWREG + MODE_REGISTER: spec.mode}
        if spec.full_waves:
            start |= {EXEC: ONES, EXEC + 1: ONES}
        self.flow: CodeFlow = read_flow(spec.code, spec.entry, start)
        self.module = JitModule()
        self.f = self.module.function(
            "kernel", "i32", [("ptr noalias", "wave"), ("ptr noalias", "scalars"), ("ptr", "context")]
        )
        self.scalars = Scalars(self.f)
        self.staging = Staging()
        self.region: Region | None = None
        self.region_size = 0
        self.region_effects = PendingRegisters()
        self.spare = 0
        self.mode = float_mode(spec.mode)
        self.highest_row = 0
        self.trace: BlockTrace | None = None
        self.trace_facts: list[Facts] = []

    # Structure

    def run(self) -> None:
        f = self.f
        order = sorted(self.flow.blocks)
        points = order if self.spec.trace else self.flow.resume
        self.resume_points = points
        self._resume = {pc: number for number, pc in enumerate(points, 1)}
        resume = f.load("i32", f.at("%scalars", int(Scalar.RESUME)), 4)
        cases = " ".join(f"i32 {number}, label %pc_{pc}" for pc, number in self._resume.items())
        f.emit(f"switch i32 {resume}, label %pc_{self.flow.entry} [ {cases} ]")
        for number, pc in enumerate(order):
            self._block(self.flow.blocks[pc], number)

    def _block(self, block: Block, number: int) -> None:
        f = self.f
        f.label(f"pc_{block.pc}")
        self.scalars.reset(self.flow.constants.get(block.pc, {}))
        self.staging.clear()
        if self.spec.trace:
            self.trace = BlockTrace(f, block, number)
            self.trace.open(lambda: self._leave(Exit.TRACE_FULL, block.pc))
        slice_ = f.at("%context", int(ContextFields.SLICE))
        counted = len(block.insts) if self.spec.trace else block.passed
        left = f.binary("sub", "i64", f.load("i64", slice_, 8), str(counted))
        f.store("i64", left, slice_, 8)
        for inst in block.insts:
            if self.trace is not None:
                self.trace.instruction(inst, self.scalars)
            self._instruction(inst)
            step_constants(self.scalars.constants, inst)
        self.close_region()
        self._terminate(block)
        if self.trace is not None:
            self.trace_facts.append(self.trace.close())

    def _leave(self, reason: Exit, resume_pc: int | None) -> None:
        if resume_pc is not None:
            self.f.store("i32", str(self._resume[resume_pc]), self.f.at("%scalars", int(Scalar.RESUME)), 4)
        self.f.ret("i32", str(int(reason)))

    def _terminate(self, block: Block) -> None:
        last = block.insts[-1] if block.insts else None
        if last is not None and last.op == "s_trap":
            self._fault(Fault.TRAP, last)
            self._leave(Exit.FAULT, None)
        elif not block.successors:
            self._leave(Exit.END, None)
        elif last is not None and last.op == "s_barrier":
            self._leave(Exit.BARRIER, block.successors[0])
        elif len(block.successors) == 1 or last is None:
            self._go(block, block.successors[0])
        else:
            condition = skip_bit(self, last) if last.op == "s_setvskip" else self._condition(BRANCHES[last.op])
            labels = [self.f.fresh_label("taken"), self.f.fresh_label("not")]
            self.f.branch(condition, *labels)
            for label, target in zip(labels, block.successors, strict=True):
                self.f.label(label)
                self._go(block, target)

    def _condition(self, name: str) -> str:
        if name.startswith("scc"):
            scc = self.scalars.scc()
            return scc if name == "scc1" else self.f.binary("xor", "i1", scc, "true")
        pair = self.scalars.load64(EXEC if name.startswith("exec") else VCC)
        return self.f.compare("ne" if name.endswith("nz") else "eq", "i64", pair, "0")

    def _go(self, block: Block, target: int) -> None:
        """Jump; backwards only while the time slice lasts."""
        if not is_backward(block, target):
            self.f.jump(f"pc_{target}")
            return
        left = self.f.load("i64", self.f.at("%context", int(ContextFields.SLICE)), 8)
        over = self.f.fresh_label("over")
        self.f.branch(self.f.compare("slt", "i64", left, "0"), over, f"pc_{target}")
        self.f.label(over)
        self._leave(Exit.SLICE, target)

    def _fault(self, fault: Fault, inst: Inst) -> None:
        words = [str(int(fault)), str(inst.pc), "0", "0"]
        self.f.call("void", "fault", ("ptr", "%context"), *[("i64", word) for word in words])

    # Instructions

    def _instruction(self, inst: Inst) -> None:
        if inst.op in NOTHING or ends_block(inst):
            return
        if self.spec.file.beyond(inst) is not None:
            self.close_region()
            self._fault(Fault.REGISTER, inst)
            return
        effect = effects(inst, self.spec.accum_offset)
        rows = effect.vector_reads | effect.vector_writes
        if rows:
            self.highest_row = max(self.highest_row, *rows)
            if self.highest_row >= VECTOR_ROWS:
                raise JitUnsupported(inst, "names a register beyond the 512 of a wave")
        self._set_mode(inst)
        lane_op = VALU.get(inst.op)
        if lane_op is not None:
            self._lane_instruction(inst, lane_op, effect)
        else:
            self._other_instruction(inst, effect)
        self.staging.invalidate(effect.vector_writes)

    def _set_mode(self, inst: Inst) -> None:
        bits = self.scalars.constant(HWREG + MODE_REGISTER)
        if bits is None or bits & ROUNDING:
            raise JitUnsupported(inst, "the float mode here is not known or not round-to-nearest")
        mode = float_mode(bits)
        if mode != self.mode:
            self.close_region()
            self.mode = mode

    def _lane_instruction(self, inst: Inst, op: MachineOp, effect: Effects) -> None:
        source_row, where, masked = (None, None, ALL_LANES) if inst.enc != "dpp" else self._shuffled(inst)
        if self._must_close(inst, op, effect):
            self.close_region()
        region = self._open_region()
        walk = LaneWise(region, inst, op, self.spec.accum_offset, self.mode.dx10_clamp)
        walk.first_row = source_row
        walk.where = region.runtime_mask(where) if where is not None else region.constant_mask(masked)
        walk.emit()
        self.region_size += 1
        self.region_effects.add(effect, inst, op)
        if EXEC in effect.scalar_writes:
            self.close_region()

    def _must_close(self, inst: Inst, op: MachineOp, effect: Effects) -> bool:
        """Whether the instruction cannot join the open region."""
        if self.region is None:
            return False
        if self.region_size >= REGION_LIMIT or self.region.exec_full != self.scalars.exec_full:
            return True
        pending = self.region_effects
        plain = plain_scalars(inst, op)
        if plain & pending.mask_writes:
            return True
        masks = mask_pairs(inst, op)
        return any(pair not in pending.mask_bases and {pair, pair + 1} & pending.mask_writes for pair in masks)

    def _other_instruction(self, inst: Inst, effect: Effects) -> None:
        region = self.region
        if region is None:
            self._lower(inst)
            return
        if self.region_effects.conflicts(effect) or EXEC in effect.scalar_writes:
            self.close_region()
            self._lower(inst)
            return
        with region.outside():
            self._lower(inst)
        for register in effect.scalar_writes:
            region.outdate(register)

    def _lower(self, inst: Inst) -> None:
        scalar = SALU.get(inst.op)
        memory = MEMORY.get(inst.op)
        if scalar is not None:
            lower_salu(self, inst, scalar)
        elif memory is not None:
            lower_memory(self, inst, memory)
        elif inst.op in MATRIX:
            lower_matrix(self, inst)
        elif inst.op in ("v_readlane_b32", "v_readfirstlane_b32"):
            lower_lane_read(self, inst)
        elif inst.op == "v_writelane_b32":
            lower_lane_write(self, inst)
        elif inst.op in ("ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32"):
            self._cross_lanes(inst)
        elif inst.op in HARDWARE_REGISTERS:
            lower_hardware_register(self, inst)
        elif inst.op in CLOCKS or inst.op == "s_getpc_b64":
            lower_counter(self, inst)
        elif inst.op == "v_swap_b32":
            lower_swap(self, inst)
        else:
            raise JitUnsupported(inst)

    # Lane crossing

    def _cross_lanes(self, inst: Inst) -> None:
        f = self.f
        out = ("ptr", self.row_pointer(inst.operands[0]))
        offset = inst.mods.get("offset", 0)
        number = offset if isinstance(offset, int) else 0
        exec_ = ("i64", self.scalars.exec())
        if inst.op == "ds_swizzle_b32":
            spare = f.at("%wave", (VECTOR_ROWS + SPARE_ROWS - 1) * ROW)
            table = ("ptr", self.lane_table(swizzle_sources(number)))
            f.call("i64", "lanes_table", ("ptr", spare), ("ptr", self.row_pointer(inst.operands[1])), table, exec_)
            f.call("void", "merge_row", out, ("ptr", spare), exec_)
            return
        name = "lanes_pull" if inst.op == "ds_bpermute_b32" else "lanes_push"
        index, source = (("ptr", self.row_pointer(o)) for o in inst.operands[1:3])
        f.call("void", name, out, index, source, ("i32", str(number)), exec_)

    def _shuffled(self, inst: Inst) -> tuple[int, int | None, int]:
        """DPP: the first source shuffled into a spare row; lanes to write, as a stored mask or a constant."""
        explicit = sum(word not in ("scc", "exec") for word in VALU[inst.op].results)
        source = inst.operands[explicit]
        if source.kind not in ("v", "a"):
            raise JitUnsupported(inst, "DPP of a scalar")
        first = row_of(source, self.spec.accum_offset)
        if self.region is not None and (first in self.region_effects.vector_writes or self.spare >= SPARES):
            self.close_region()
        spare = VECTOR_ROWS + self.spare
        self.spare += 1
        lanes = dpp_sources(inst.mods)
        enabled = sum(1 << i for i, on in enumerate(dpp_enabled(inst.mods)) if on)
        bound = bool(inst.mods.get("bound_ctrl"))
        exists = sum(1 << i for i, lane in enumerate(lanes) if lane >= 0)
        if self.region is None:
            return self._emit_shuffle(first, spare, lanes, enabled, bound, exists)
        with self.region.outside():
            return self._emit_shuffle(first, spare, lanes, enabled, bound, exists)

    def _emit_shuffle(
        self, first: int, spare: int, lanes: tuple[int, ...], enabled: int, bound: bool, exists: int
    ) -> tuple[int, int | None, int]:
        f = self.f
        source, out = f.at("%wave", first * ROW), f.at("%wave", spare * ROW)
        if self.scalars.exec_full:
            row = f.load("<64 x i32>", source, 32)
            picked = [lane if lane >= 0 else LANES for lane in lanes]
            f.store("<64 x i32>", f.shuffle("i32", LANES, row, "zeroinitializer", picked), out, 32)
            return spare, None, enabled if bound else enabled & exists
        table = ("ptr", self.lane_table(lanes))
        valid = f.call("i64", "lanes_table", ("ptr", out), ("ptr", source), table, ("i64", self.scalars.exec()))
        if bound:
            return spare, None, enabled
        signed = enabled - (enabled >> 63 << 64)
        place = int(Scalar.LANE_MASKS) + 8 * (spare - VECTOR_ROWS)
        f.store("i64", f.binary("and", "i64", valid, str(signed)), f.at("%scalars", place), 8)
        return spare, place, ALL_LANES

    # Regions

    def _open_region(self) -> Region:
        if self.region is None:
            mode = self.mode
            builder = LlvmBuilder(
                self.f, 8, flush32=mode.flush_f32, flush64=mode.flush_f64_f16, saturate_fp8=mode.saturate_fp8
            )
            self.region = Region(self.f, self.scalars, builder, self.scalars.exec_full, self._special)
        return self.region

    def _special(self, value: int) -> str:
        return special(self, value)

    def close_region(self) -> None:
        if self.region is not None:
            self.region.close()
            self.region = None
        self.region_size = 0
        self.region_effects = PendingRegisters()
        self.spare = 0

    # What the lowering modules share

    def row_pointer(self, operand: InstOperand) -> str:
        return self.f.at("%wave", row_of(operand, self.spec.accum_offset) * ROW)

    def lane_table(self, lanes: tuple[int, ...]) -> str:
        """A constant table of 64 lane numbers (-1: none)."""
        data = "".join(f"\\{lane & 0xFF:02x}" for lane in lanes)
        name = "table_" + "".join(f"{lane & 0xFF:02x}" for lane in lanes)
        return self.module.constant(name, "[64 x i8]", f'c"{data}"')

    def constant_rows(self, operand: InstOperand, m: MfmaShape) -> str:
        """Rows that hold a constant accumulator in every lane."""
        if m.c == "f64":
            bits = constant_bits("f64", operand)
            words = [bits & 0xFFFFFFFF, bits >> 32] * (m.c_registers // 2)
        else:
            words = [constant_bits("f32", operand) & 0xFFFFFFFF] * m.c_registers
        if not any(words):
            return self.module.constant("zeros", "[8192 x i8]", "zeroinitializer")
        rows = ", ".join(f"i32 {w - (w >> 31 << 32)}" for w in words for _ in range(LANES))
        name = f"rows_{m.c_registers}_{words[0]:x}_{words[-1]:x}"
        return self.module.constant(name, f"[{len(words) * LANES} x i32]", f"[{rows}]")

    def trace_addresses(self, op: MemoryOp, inside: str) -> None:
        if self.trace is not None:
            self.trace.addresses(op, inside, self.scalars)

    def trace_lds(self, size: int, row: str, offset: int) -> None:
        if self.trace is not None:
            self.trace.lds(size, row, offset, self.scalars)

    def trace_scalar(self, op: MemoryOp, address: str) -> None:
        if self.trace is not None:
            self.trace.scalar(op, address)
