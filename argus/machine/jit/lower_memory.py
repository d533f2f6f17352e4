"""Memory instructions: addresses, then the access, by calls to runtime functions.

    buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen offset:16
        %in = call i64 @addresses_buffer(context, v1, null, s[4:5], s[6:7], 0, 16, 16, pc)
        call void @load_buffer_x4(context, context, v8, exec, pc, %in)

What each instruction moves comes from the semantic table `MEMORY`. A read whose destination overlaps an address that is
still needed (the ds_read2 forms) works from a copy of the address register.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from argus.gfx942.inst import M0, Inst, InstOperand
from argus.machine.jit.effects import row_of
from argus.machine.jit.errors import JitUnsupported
from argus.machine.jit.frame import ROW, SPARE_ROWS, VECTOR_ROWS, ContextFields
from argus.machine.jit.lower_scalar import scalar_pair, scalar_word
from argus.machine.jit.updates import update_name
from argus.machine.semantics.mem import MemoryOp

if TYPE_CHECKING:
    from argus.machine.jit.translator import Translator

ADDRESS_COPY = VECTOR_ROWS + SPARE_ROWS - 1
LOADED = VECTOR_ROWS + SPARE_ROWS - 2
CONTEXT = ("ptr", "%context")


def load_kind(op: MemoryOp) -> str:
    if op.size >= 4:
        return f"x{op.dwords}"
    name = f"{'i' if op.signed else 'u'}{8 * op.size}"
    return name if op.half < 0 else f"{name}_{'hi' if op.half else 'lo'}"


def store_kind(op: MemoryOp) -> str:
    if op.size >= 4:
        return f"x{op.dwords}"
    return f"b{8 * op.size}{'_hi' if op.half == 1 else ''}"


def offset_of(inst: Inst, name: str = "offset") -> int:
    value = inst.mods.get(name, 0)
    return value if isinstance(value, int) else 0


def lower_memory(t: Translator, inst: Inst, op: MemoryOp) -> None:
    if op.space in ("scalar", "scalar_buffer"):
        _lower_scalar(t, inst, op)
    elif op.space == "lds":
        _lower_lds(t, inst, op)
    else:
        _lower_vector(t, inst, op)


# Vector memory


def _lower_vector(t: Translator, inst: Inst, op: MemoryOp) -> None:
    to_lds = op.to_lds or bool(inst.mods.get("lds"))
    if to_lds and op.space == "scratch":
        raise JitUnsupported(inst)
    operands = list(inst.operands)
    returns = op.kind == "atomic" and bool(inst.mods.get("sc0"))
    target = operands.pop(0) if (op.kind == "load" and not to_lds) or returns else None
    data: InstOperand | None = None
    inside = "-1"
    if op.space == "buffer":
        if op.kind != "load":
            data = target if returns else operands.pop(0)
        inside = _buffer_addresses(t, inst, op, operands)
    else:
        address = operands.pop(0)
        if op.kind != "load":
            data = operands.pop(0)
        _direct_addresses(t, inst, op, address, operands)
    t.trace_addresses(op, inside)
    if op.kind == "atomic":
        if data is None:
            raise JitUnsupported(inst)
        _atomic(t, inst, op, data, target, inside)
    elif to_lds:
        _load_to_lds(t, inst, op, inside)
    else:
        registers = target if op.kind == "load" else data
        if registers is None:
            raise JitUnsupported(inst)
        _move(t, inst, op, t.row_pointer(registers), inside)


def _atomic(
    t: Translator, inst: Inst, op: MemoryOp, data: InstOperand, target: InstOperand | None, inside: str
) -> None:
    out = "null" if target is None else t.row_pointer(target)
    name = update_name(op.atomic, t.mode.flush_f32, t.mode.flush_f64_f16)
    pointers = [CONTEXT, ("ptr", out), ("ptr", t.row_pointer(data))]
    words = [("i64", inside), ("i64", t.scalars.exec()), ("i64", str(inst.pc))]
    t.f.call("void", f"atomic_{name}", *pointers, *words)


def _load_to_lds(t: Translator, inst: Inst, op: MemoryOp, inside: str) -> None:
    """Through a spare row; inactive lanes write nothing, lanes outside the buffer write zero."""
    f = t.f
    loaded, where = f.at("%wave", LOADED * ROW), f.at("%wave", ADDRESS_COPY * ROW)
    _move(t, inst, op, loaded, inside)
    base = f.binary("and", "i32", t.scalars.load32(M0), "65535")
    f.call("void", "lane_addresses", ("ptr", where), ("i32", base))
    t.trace_lds(4, where, offset_of(inst))
    words = [("i64", str(offset_of(inst))), ("i64", t.scalars.exec()), ("i64", str(inst.pc))]
    f.call("void", "lds_store_x1", CONTEXT, ("ptr", loaded), ("ptr", where), *words)


def _move(t: Translator, inst: Inst, op: MemoryOp, registers: str, inside: str) -> None:
    """Load or store at the addresses of the context's row."""
    f = t.f
    name = f"{op.kind}_{'buffer_' if op.space == 'buffer' else ''}"
    name += load_kind(op) if op.kind == "load" else store_kind(op)
    private = f.at("%context", int(ContextFields.PRIVATE))
    exec_ = t.scalars.exec()

    def call(arena: str, lanes: str) -> None:
        checked = [("i64", inside)] if op.space == "buffer" else []
        pointers = [CONTEXT, ("ptr", arena), ("ptr", registers)]
        f.call("void", name, *pointers, ("i64", lanes), ("i64", str(inst.pc)), *checked)

    if op.space != "flat":
        call(private if op.space == "scratch" else "%context", exec_)
        return
    lanes = f.call("i64", "private_lanes", CONTEXT, ("i64", exec_))
    call("%context", f.binary("and", "i64", exec_, f.binary("xor", "i64", lanes, "-1")))
    with f.when(f.compare("ne", "i64", lanes, "0")):
        words = [("i64", "0"), ("i64", str(op.size)), ("i64", "1")]
        f.call("void", "addresses_private", CONTEXT, ("ptr", "null"), *words)
        call(private, lanes)


def _buffer_addresses(t: Translator, inst: Inst, op: MemoryOp, operands: Sequence[InstOperand]) -> str:
    address, resource, soffset = operands[0], operands[1], operands[2]
    f = t.f
    offen, idxen = bool(inst.mods.get("offen")), bool(inst.mods.get("idxen"))
    row = t.row_pointer(address) if address.kind in ("v", "a") else "null"
    index = row if idxen else "null"
    offset = f.at(row, ROW) if idxen and offen else row if offen else "null"
    low, high = t.scalars.load64(resource.value), t.scalars.load64(resource.value + 2)
    scalar = f.cast("zext", "i32", scalar_word(t, inst, soffset), "i64")
    arguments = [("ptr", offset), ("ptr", index), ("i64", low), ("i64", high), ("i64", scalar)]
    constant = [("i64", str(offset_of(inst))), ("i64", str(op.size)), ("i64", str(inst.pc))]
    return f.call("i64", "addresses_buffer", CONTEXT, *arguments, *constant)


def _direct_addresses(
    t: Translator, inst: Inst, op: MemoryOp, address: InstOperand, operands: Sequence[InstOperand]
) -> None:
    offset = offset_of(inst)
    base = next((o for o in operands if o.kind == "s"), None)
    row = t.row_pointer(address) if address.kind in ("v", "a") else "null"
    if op.space == "scratch":
        start = str(offset)
        if base is not None:
            start = t.f.add("i64", t.f.cast("zext", "i32", scalar_word(t, inst, base), "i64"), start)
        if row == "null":
            start = t.f.binary("and", "i64", start, str(0xFFFFFFFF)) if start.startswith("%") else start
        words = [("i64", start), ("i64", str(op.size)), ("i64", "0")]
        t.f.call("void", "addresses_private", CONTEXT, ("ptr", row), *words)
    elif op.space == "flat" or base is None:
        t.f.call("void", "addresses_pair", CONTEXT, ("ptr", row), ("i64", str(offset)))
    else:
        words = [("i64", scalar_pair(t, inst, base)), ("i64", str(offset))]
        t.f.call("void", "addresses_base", CONTEXT, ("ptr", row), *words)


# LDS


def _lower_lds(t: Translator, inst: Inst, op: MemoryOp) -> None:
    operands = list(inst.operands)
    target = operands.pop(0) if op.kind == "load" or op.returns else None
    address = operands.pop(0)
    if op.elements == 2:
        offsets = [offset_of(inst, name) * op.stride for name in ("offset0", "offset1")]
    else:
        offsets = [offset_of(inst)]
    f = t.f
    row = t.row_pointer(address)
    exec_ = [("i64", t.scalars.exec()), ("i64", str(inst.pc))]
    for offset in offsets:
        t.trace_lds(op.size, row, offset)
    if op.kind == "atomic":
        out = t.row_pointer(target) if target is not None else "null"
        second = t.row_pointer(operands[1]) if len(operands) > 1 else "null"
        data = [("ptr", p) for p in (out, row, t.row_pointer(operands[0]), second)]
        name = update_name(op.atomic, t.mode.flush_f32, t.mode.flush_f64_f16)
        f.call("void", f"lds_atomic_{name}", CONTEXT, *data, ("i64", str(offsets[0])), *exec_)
        return
    if target is not None:
        first = row_of(target, t.spec.accum_offset)
        if len(offsets) == 2 and first <= row_of(address, t.spec.accum_offset) < first + op.dwords:
            copy = f.at("%wave", ADDRESS_COPY * ROW)
            f.call("void", "copy_row", ("ptr", copy), ("ptr", row))
            row = copy
        for n, offset in enumerate(offsets):
            into = f.at(t.row_pointer(target), n * op.dwords * ROW)
            words = [("i64", str(offset)), *exec_]
            f.call("void", f"lds_load_{load_kind(op)}", CONTEXT, ("ptr", into), ("ptr", row), *words)
        return
    for data_operand, offset in zip(operands, offsets, strict=False):
        pointer = ("ptr", t.row_pointer(data_operand))
        words = [("i64", str(offset)), *exec_]
        f.call("void", f"lds_store_{store_kind(op)}", CONTEXT, pointer, ("ptr", row), *words)


# Scalar memory


def _lower_scalar(t: Translator, inst: Inst, op: MemoryOp) -> None:
    f = t.f
    registers, base = inst.operands[0], inst.operands[1]
    offset = str(offset_of(inst))
    if len(inst.operands) > 2:
        operand = inst.operands[2]
        if operand.kind == "s":
            offset = f.add("i64", f.cast("zext", "i32", t.scalars.load32(operand.value), "i64"), offset)
        else:
            offset = str(operand.value + int(offset))
    pc = ("i64", str(inst.pc))
    data = ("ptr", t.scalars.pointer(registers.value))
    if op.space == "scalar_buffer":
        if op.kind == "atomic":
            raise JitUnsupported(inst)
        low, high = t.scalars.load64(base.value), t.scalars.load64(base.value + 2)
        place = [("i64", low), ("i64", high), ("i64", offset)]
        f.call("void", f"scalar_buffer_{op.kind}", CONTEXT, data, *place, ("i64", str(op.dwords)), pc)
    else:
        address = ("i64", f.add("i64", scalar_pair(t, inst, base), offset))
        t.trace_scalar(op, address[1])
        if op.kind == "atomic":
            returns = "true" if inst.mods.get("glc") else "false"
            f.call("void", f"scalar_atomic_{op.atomic}", CONTEXT, address, data, ("i1", returns), pc)
        else:
            f.call("void", f"scalar_{op.kind}", CONTEXT, data, address, ("i64", str(op.dwords)), pc)
    if op.kind != "store":
        t.scalars.forget(registers.value, registers.count)
