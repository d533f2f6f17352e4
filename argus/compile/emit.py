"""Kernel IR to LLVM IR text: one function, ops in their order, each between scheduling fences.

`emit(kernel)` writes the module that `argus.compile.backend` compiles. What is fixed here and nowhere else: the
signature (pointers, scalars, sizes; all `inreg` so that the dispatcher preloads them), the function attributes that
choose the register files and the occupancy, and the meaning of the machine variables:

    thread = workitem.id.x (flat workgroup)       lane = thread % 64        wave = readfirstlane(thread / 64)
    block_x, block_y, block_z = workgroup.id

`Tag` and `Check` statements emit nothing: deleting them leaves the object as it is.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from argus.compile import arithmetic, control, convert, exchange, memory
from argus.compile.context import EmitContext, element_type, held_type, registers
from argus.compile.function import SETUP
from argus.compile.instructions import emit_instruction
from argus.compile.registers import RegisterPlan
from argus.gfx942.mfma import mfma
from argus.gfx942.waits import LGKM_MAX, VM_MAX, encode
from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, LANE, Kernel, wave_variable
from argus.ir.types import DType, Value

UNUSED_INPUTS = (
    "implicitarg-ptr",
    "dispatch-ptr",
    "queue-ptr",
    "dispatch-id",
    "workitem-id-y",
    "workitem-id-z",
    "completion-action",
    "default-queue",
    "heap-ptr",
    "hostcall-ptr",
    "lds-kernel-id",
    "multigrid-sync-arg",
    "flat-scratch-init",
)


@dataclass(frozen=True, slots=True)
class LlvmModule:
    """LLVM IR text and the lines map: debug line n + 1 is IR op n, line 0 no op."""

    text: str
    name: str


def emit(kernel: Kernel, plan: RegisterPlan, debug: bool = True, apart: Mapping[int, int] | None = None) -> LlvmModule:
    """The module of a kernel; `apart` asks for idle slots before ops, by op id (see `argus.compile.wait_states`)."""
    c = EmitContext(kernel)
    c.apart = dict(apart or {})
    _bind_inputs(c)
    _emit_block(c, kernel.body, plan)
    c.function.op = SETUP
    c.function.line("ret void")
    return LlvmModule(_module_text(c, plan, debug), kernel.name)


def _bind_inputs(c: EmitContext) -> None:
    function, kernel = c.function, c.kernel
    thread = function.call("i32", "llvm.amdgcn.workitem.id.x")
    waves = kernel.waves
    lane = function.let(f"and i32 {thread}, 63") if waves > 1 else thread
    c.indices.define(LANE, lane, varying=True)
    wave = "0"
    if waves > 1:
        above = function.let(f"lshr i32 {thread}, 6")
        wave = function.call("i32", "llvm.amdgcn.readfirstlane.i32", f"i32 {above}")
    c.indices.define(wave_variable(waves), wave)
    names = {v.name for op in ops.walk(kernel.body) for e in op.expressions for v in e.free()}
    for block, axis in ((BLOCK_X, "x"), (BLOCK_Y, "y"), (BLOCK_Z, "z")):
        if block.name in names:
            c.indices.define(block, function.call("i32", f"llvm.amdgcn.workgroup.id.{axis}"))
    for shape in kernel.shapes:
        c.indices.define(shape, f"%{shape.name}")
    for scalar in kernel.scalars:
        text = f"%{scalar.name}"
        if scalar.dtype.kind == "bool":
            text = function.let(f"icmp ne i8 {text}, 0")
        elif scalar.dtype.bits < 32:
            element = element_type(scalar.dtype)
            text = c.packed(function.let(f"bitcast i{scalar.dtype.bits} {text} to {element}"), scalar.value)
        c.set(scalar.value, text)


def _emit_block(c: EmitContext, block: list[ops.Op], plan: RegisterPlan) -> None:
    for n, op in enumerate(block):
        if op.id in c.live.ops:
            c.at(op)
            if op.control is ops.Control.BRANCH and any(e.op != "const" for e in op.expressions):
                control.hold(c, control.computed_before(block, n))
            idle(c, c.apart.get(op.id, 0))
            _emit_op(c, op, plan)


def idle(c: EmitContext, slots: int) -> None:
    """`slots` wait states: s_nop n is n + 1 of them, at most 16 each."""
    while slots > 0:
        c.function.keep_order()
        c.function.call("void", "llvm.amdgcn.s.nop", f"i16 {min(slots, 16) - 1}")
        c.function.keep_order()
        slots -= 16


def _emit_op(c: EmitContext, op: ops.Op, plan: RegisterPlan) -> None:
    function = c.function
    match op:
        case ops.Constant():
            c.constants[op.result] = op.value
            c.set(op.result, constant(op.value, op.result))
        case ops.Index():
            c.set(op.result, c.indices.number(op.expr))
        case ops.Symbol():
            text = c.typed(op.value)
            if op.value.dtype.bits != 32:
                text = _as_i32(c, text, op.value.dtype)
            c.indices.define(op.symbol, text, varying=True)
        case ops.Load():
            memory.emit_load(c, op)
        case ops.Store():
            memory.emit_store(c, op)
        case ops.CopyToLds():
            memory.emit_copy_to_lds(c, op)
        case ops.Atomic():
            memory.emit_atomic(c, op)
        case ops.Map():
            arithmetic.emit_map(c, op)
        case ops.Convert():
            convert.emit_convert(c, op)
        case ops.Bitcast():
            exchange.emit_bitcast(c, op)
        case ops.Registers():
            exchange.emit_registers(c, op)
        case ops.Lanes():
            exchange.emit_lanes(c, op)
        case ops.Mfma():
            _emit_mfma(c, op)
        case ops.Instruction():
            emit_instruction(c, op)
        case ops.Barrier():
            function.fence()
            if not op.bare:
                function.call("void", "llvm.amdgcn.s.waitcnt", f"i32 {encode(lgkm=0)}")
            function.call("void", "llvm.amdgcn.s.barrier")
            function.fence()
        case ops.Wait():
            code = encode(vm=VM_MAX if op.vm is None else op.vm, lgkm=LGKM_MAX if op.lgkm is None else op.lgkm)
            function.fence()
            function.call("void", "llvm.amdgcn.s.waitcnt", f"i32 {code}")
            function.fence()
        case ops.SetPrio():
            function.keep_order()
            function.call("void", "llvm.amdgcn.s.setprio", f"i16 {op.priority}")
            function.keep_order()
        case ops.For():
            control.emit_for(c, op, lambda c, block: _emit_block(c, block, plan), plan.file)
        case ops.If():
            control.emit_if(c, op, lambda c, block: _emit_block(c, block, plan))
        case ops.Tag() | ops.Check():
            pass
        case ops.Schedule():
            raise c.fail("C150", "a schedule region was not put in order before emission")
        case _:
            assert_never(op)


def _as_i32(c: EmitContext, text: str, dtype: DType) -> str:
    if dtype.kind == "float":
        raise c.fail("C101", f"a {dtype} value is not an index; convert it to an integer first")
    if dtype.bits > 32:
        return c.function.let(f"trunc {dtype.llvm} {text} to i32")
    grow, kind = "sext" if dtype.kind == "int" else "zext", element_type(dtype)
    return c.function.let(f"{grow} {kind} {convert.kept_apart(c, kind, text)} to i32")


def _emit_mfma(c: EmitContext, op: ops.Mfma) -> None:
    try:
        row = mfma(op.inst)
    except KeyError as error:
        raise c.fail("C120", str(error.args[0])) from None
    for name, value, count in (("A", op.a, row.a_elements), ("B", op.b, row.a_elements), ("C", op.c, row.d_elements)):
        if value.count != count:
            raise c.fail("C120", f"{op.inst} takes {count} elements of {name} a lane, not {value.count}")
    a = c.cast(c.get(op.a), held_type(op.a), row.a_type)
    b = c.cast(c.get(op.b), held_type(op.b), row.b_type)
    start = c.cast(c.get(op.c), held_type(op.c), row.c_type)
    operands = [f"{row.a_type} {a}", f"{row.b_type} {b}", f"{row.c_type} {start}", "i32 0", "i32 0", "i32 0"]
    c.function.keep_order()
    text = c.function.call(row.c_type, row.intrinsic, *operands)
    c.function.keep_order()
    c.set(op.result, c.cast(text, row.c_type, held_type(op.result)))


def constant(value: float | int, result: Value) -> str:
    """An LLVM constant whose every element is `value`, in held form."""
    dtype = result.dtype
    if dtype.kind == "bool":
        one = "true" if value else "false"
        return one if result.count == 1 else "<" + ", ".join([f"i1 {one}"] * result.count) + ">"
    if dtype.bits < 32:
        pattern = _pattern(value, dtype)
        word = sum(pattern << shift for shift in range(0, 32, dtype.bits))
        return _splat("i32", word - (1 << 32) if word >= 1 << 31 else word, registers(result))
    if dtype.kind == "float":
        double = float(value) if dtype.bits == 64 else struct.unpack("<f", struct.pack("<f", value))[0]
        return _splat(dtype.llvm, f"0x{struct.unpack('<Q', struct.pack('<d', double))[0]:016X}", result.count)
    return _splat(dtype.llvm, int(value), result.count)


def _pattern(value: float | int, dtype: DType) -> int:
    """The bits of a narrow constant."""
    if dtype.kind != "float":
        return int(value) & ((1 << dtype.bits) - 1)
    import ml_dtypes
    import numpy as np

    kind = {
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "fp8": ml_dtypes.float8_e4m3fnuz,
        "bf8": ml_dtypes.float8_e5m2fnuz,
    }[dtype.name]
    return int(np.array([value], dtype=np.float32).astype(kind).view(f"u{dtype.bytes}")[0])


def _splat(element: str, value: object, count: int) -> str:
    return str(value) if count == 1 else "<" + ", ".join([f"{element} {value}"] * count) + ">"


def _module_text(c: EmitContext, plan: RegisterPlan, debug: bool) -> str:
    kernel, function = c.kernel, c.function
    arguments = [f"ptr addrspace(1) inreg %{t.name}" for t in kernel.tensors]
    arguments += [f"{_argument_type(s.dtype)} inreg %{s.name}" for s in kernel.scalars]
    arguments += [f"i32 inreg %{s.name}" for s in kernel.shapes]
    names = [*(t.name for t in kernel.tensors), *(s.name for s in kernel.scalars), *(s.name for s in kernel.shapes)]
    body = "\n".join(function.scope.lines)
    notes = _Notes(debug)
    attached = f"!kernel_arg_name !{notes.names(names)}"
    attached += f" !reqd_work_group_size !{notes.add(f'i32 {kernel.threads}, i32 1, i32 1')}"
    attached += f" !dbg !{notes.subprogram(kernel.name)}" if debug else ""
    lines = [
        'target triple = "amdgcn-amd-amdhsa"',
        *sorted(function.declarations.values()),
        f"define amdgpu_kernel void @{kernel.name}({', '.join(arguments)}) #0 {attached} {{",
        "entry.0:",
        notes.resolve(body, function.locations),
        "}",
        f"attributes #0 = {{ {_attributes(kernel, plan, function.declarations)} }}",
        *notes.trailer(),
    ]
    return "\n".join(lines) + "\n"


def _argument_type(dtype: DType) -> str:
    return f"i{8 * dtype.bytes}" if dtype.bits < 32 else dtype.llvm


def _attributes(kernel: Kernel, plan: RegisterPlan, declarations: dict[str, str]) -> str:
    unused = [f"workgroup-id-{axis}" for axis in "xyz" if f"llvm.amdgcn.workgroup.id.{axis}" not in declarations]
    pairs = {
        "amdgpu-flat-work-group-size": f"{kernel.threads},{kernel.threads}",
        "amdgpu-waves-per-eu": plan.waves_attribute,
        "amdgpu-agpr-alloc": plan.agpr_attribute,
        "amdgpu-lds-size": str(kernel.lds_bytes),
        "amdgpu-ieee": "false",
        "uniform-work-group-size": "true",
    }
    flags = [f'"amdgpu-no-{name}"' for name in (*UNUSED_INPUTS, *unused)]
    return " ".join([*(f'"{key}"="{value}"' for key, value in pairs.items()), *flags, "nounwind"])


class _Notes:
    """Metadata of the module, numbered as it is asked for."""

    def __init__(self, debug: bool) -> None:
        self.debug = debug
        self.nodes: list[str] = []
        self.flags = [self.add('i32 1, !"amdhsa_code_object_version", i32 500')]
        self.unit = self.scope = -1

    def add(self, text: str, raw: bool = False) -> int:
        self.nodes.append(text if raw else f"!{{{text}}}")
        return len(self.nodes) - 1

    def names(self, names: list[str]) -> int:
        return self.add(", ".join(f'!"{name}"' for name in names))

    def subprogram(self, name: str) -> int:
        self.flags.append(self.add('i32 2, !"Debug Info Version", i32 3'))
        self.flags.append(self.add('i32 2, !"Dwarf Version", i32 4'))
        file = self.add('!DIFile(filename: "kernel", directory: "")', raw=True)
        self.unit = self.add(
            f"distinct !DICompileUnit(language: DW_LANG_C, file: !{file}, emissionKind: LineTablesOnly)", raw=True
        )
        kind = self.add(f"!DISubroutineType(types: !{self.add('')})", raw=True)
        self.scope = self.add(
            f'distinct !DISubprogram(name: "{name}", file: !{file}, unit: !{self.unit}, type: !{kind},'
            " spFlags: DISPFlagDefinition)",
            raw=True,
        )
        return self.scope

    def resolve(self, body: str, locations: dict[int, int]) -> str:
        """Replace the placeholders of the function's text by numbered metadata."""
        domain = self.add(f"distinct !{{!{len(self.nodes)}}}", raw=True)
        dma = self.add(f'distinct !{{!{len(self.nodes)}, !{domain}, !"direct to LDS"}}', raw=True)
        numbers = {"dma": self.add(f"!{dma}"), "empty": self.add("")}
        if not self.debug:
            body = re.sub(r", !dbg !\{\d+\}", "", body)
        else:
            for op, place in locations.items():
                numbers[str(place)] = self.add(f"!DILocation(line: {op + 1}, scope: !{self.scope})", raw=True)
        return re.sub(r"!\{(\w+)\}", lambda match: f"!{numbers[match[1]]}", body)

    def trailer(self) -> list[str]:
        lines = [f"!llvm.module.flags = !{{{', '.join(f'!{n}' for n in self.flags)}}}"]
        if self.unit >= 0:
            lines.append(f"!llvm.dbg.cu = !{{!{self.unit}}}")
        return lines + [f"!{n} = {text}" for n, text in enumerate(self.nodes)]
