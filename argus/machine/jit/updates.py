"""Atomics as runtime functions, from the table of updates that the interpreter uses too.

    atomic_add32(context, out or null, data, inside, exec, pc)          addresses from the context's row
    lds_atomic_add32(context, out or null, a, data, second, offset, exec, pc)
    scalar_atomic_add32(context, address, data, returns, pc)

Lanes go one after another, lowest first. A global update is a compare-and-swap loop, so workgroups on other threads see
it whole. Data of two-operand updates (compare-and-swap, masked or): `data` is the comparand or mask of LDS forms with
the new value in `second`; global forms have the new value first and the comparand in the registers behind it.
Lanes outside a buffer (`inside`) do nothing and keep their register. The two low
address bits are ignored; an eight-byte cell that is not aligned to eight faults.
"""

from __future__ import annotations

from functools import partial

from argus.machine.jit.access import Bounds, call_fault, call_note, context_field
from argus.machine.jit.frame import ADDRESSES, LANES, ROW, ContextFields, Fault
from argus.machine.jit.irtext import Definers, JitFunction, JitModule
from argus.machine.jit.llvm_builder import LlvmBuilder, LlvmValue
from argus.machine.semantics.atomics import ATOMICS, TWO_OPERANDS

Mode = tuple[bool, bool]
"""Flush f32, flush f64 and f16."""


def update_bits(name: str) -> int:
    return 64 if name.endswith("64") else 32


FLOATS = frozenset(name for name in ATOMICS if "_f" in name or "bf16" in name)


def update_name(name: str, flush32: bool, flush64: bool) -> str:
    """The function's stem: float updates follow the kernel's denormal mode."""
    return f"{name}_{int(flush32)}{int(flush64)}" if name in FLOATS else name


def update_functions() -> Definers:
    made: Definers = {}
    for name in ATOMICS:
        modes = [(a, b) for a in (False, True) for b in (False, True)] if name in FLOATS else [(False, False)]
        for mode in modes:
            stem = update_name(name, *mode)
            made[f"atomic_{stem}"] = partial(_define_global, name=name, mode=mode)
            made[f"lds_atomic_{stem}"] = partial(_define_lds, name=name, mode=mode)
        if name not in FLOATS:
            made[f"scalar_atomic_{name}"] = partial(_define_scalar, name=name)
    return made


def _fetch(f: JitFunction, registers: str, lane: str, bits: int) -> str:
    """One lane's data as i32 or i64."""
    low = f.load("i32", f.index("i32", registers, lane), 4)
    if bits == 32:
        return low
    high = f.load("i32", f.index("i32", f.at(registers, ROW), lane), 4)
    wide = f.binary("shl", "i64", f.cast("zext", "i32", high, "i64"), "32")
    return f.binary("or", "i64", f.cast("zext", "i32", low, "i64"), wide)


def _give(f: JitFunction, registers: str, lane: str, bits: int, value: str) -> None:
    """Store the old value to one lane, if a destination was given."""
    with f.when(f.compare("ne", "ptr", registers, "null")):
        low = value if bits == 32 else f.cast("trunc", "i64", value, "i32")
        f.store("i32", low, f.index("i32", registers, lane), 4)
        if bits == 64:
            high = f.cast("trunc", "i64", f.binary("lshr", "i64", value, "32"), "i32")
            f.store("i32", high, f.index("i32", f.at(registers, ROW), lane), 4)


def _updated(f: JitFunction, name: str, mode: Mode, old: str, data: str, second: str | None) -> str:
    bits = update_bits(name)
    b = LlvmBuilder(f, 0, flush32=mode[0], flush64=mode[1])
    arguments = [LlvmValue(bits, old), LlvmValue(bits, data)]
    if second is not None:
        arguments.append(LlvmValue(bits, second))
    return b.whole(ATOMICS[name](b, *arguments))


def _exchange(f: JitFunction, name: str, mode: Mode, pointer: str, data: str, second: str | None) -> str:
    """Apply the update to a cell other threads may use; the old value."""
    bits = update_bits(name)
    type_ = f"i{bits}"
    first = f.load(type_, pointer, bits // 8)
    head, done = f.fresh_label("again"), f.fresh_label("stored")
    before = f.label_now
    f.jump(head)
    f.label(head)
    old = f.fresh()
    hole = len(f.lines)
    f.emit("")
    new = _updated(f, name, mode, old, data, second)
    pair = f.let(f"cmpxchg ptr {pointer}, {type_} {old}, {type_} {new} seq_cst seq_cst, align {bits // 8}")
    seen = f.let(f"extractvalue {{ {type_}, i1 }} {pair}, 0")
    success = f.let(f"extractvalue {{ {type_}, i1 }} {pair}, 1")
    f.lines[hole] = f"{old} = phi {type_} [{first}, %{before}], [{seen}, %{head}]"
    f.branch(success, done, head)
    f.label(done)
    return old


def _arena_pointer(f: JitFunction, address: str, lane: str, size: int) -> tuple[str, str]:
    """Where `address` lies on the host, and whether it may be used; faults are noted."""
    bounds = Bounds(f, "%context")
    inside = bounds.check(address, size)
    aligned = f.compare("eq", "i64", f.binary("and", "i64", address, str(size - 4)), "0")
    with f.when(f.binary("xor", "i1", inside, "true")):
        call_fault(f, Fault.OUT_OF_ARENA, lane, address)
    with f.when(f.binary("xor", "i1", aligned, "true")):
        call_fault(f, Fault.MISALIGNED, lane, address)
    return bounds.pointer(f.binary("and", "i64", address, "-4")), f.binary("and", "i1", inside, aligned)


def _define_global(module: JitModule, name: str, mode: Mode) -> None:
    bits = update_bits(name)
    parameters = [
        ("ptr", "context"),
        ("ptr", "out"),
        ("ptr", "data"),
        ("i64", "inside"),
        ("i64", "exec"),
        ("i64", "pc"),
    ]
    f = module.function(f"atomic_{update_name(name, *mode)}", "void", parameters)
    with f.loop(LANES) as lane:
        live = f.cast("trunc", "i64", f.binary("lshr", "i64", "%exec", lane), "i1")
        in_buffer = f.cast("trunc", "i64", f.binary("lshr", "i64", "%inside", lane), "i1")
        with f.when(f.binary("and", "i1", live, in_buffer)):
            address = f.load("i64", f.index("i64", f.at("%context", ADDRESSES), lane), 8)
            pointer, usable = _arena_pointer(f, address, lane, bits // 8)
            with f.when(usable):
                data = _fetch(f, "%data", lane, bits)
                second = _fetch(f, f.at("%data", ROW * bits // 32), lane, bits) if name in TWO_OPERANDS else None
                _give(f, "%out", lane, bits, _exchange(f, name, mode, pointer, data, second))
    f.ret()


def _define_lds(module: JitModule, name: str, mode: Mode) -> None:
    bits = update_bits(name)
    pointers = [("ptr", p) for p in ("context", "out", "a", "data", "second")]
    f = module.function(
        f"lds_atomic_{update_name(name, *mode)}", "void", [*pointers, ("i64", "offset"), ("i64", "exec"), ("i64", "pc")]
    )
    lds = f.load("ptr", f.at("%context", int(ContextFields.LDS)), 8)
    limit = f.binary("sub", "i64", context_field(f, ContextFields.LDS_SIZE), str(bits // 8))
    with f.loop(LANES) as lane:
        live = f.cast("trunc", "i64", f.binary("lshr", "i64", "%exec", lane), "i1")
        with f.when(live):
            address = f.load("i32", f.index("i32", "%a", lane), 4)
            place = f.cast("zext", "i32", f.add("i32", address, f.cast("trunc", "i64", "%offset", "i32")), "i64")
            inside = f.compare("sle", "i64", place, limit)
            with f.when(f.binary("xor", "i1", inside, "true")):
                call_note(f, lane, place)
                _give(f, "%out", lane, bits, "0")
            with f.when(inside):
                pointer = f.at(lds, f.binary("and", "i64", place, "-4"))
                old = f.load(f"i{bits}", pointer)
                data = _fetch(f, "%data", lane, bits)
                if name in TWO_OPERANDS:
                    new = _updated(f, name, mode, old, _fetch(f, "%second", lane, bits), data)
                else:
                    new = _updated(f, name, mode, old, data, None)
                f.store(f"i{bits}", new, pointer)
                _give(f, "%out", lane, bits, old)
    f.ret()


def _define_scalar(module: JitModule, name: str) -> None:
    bits = update_bits(name)
    parameters = [("ptr", "context"), ("i64", "address"), ("ptr", "data"), ("i1", "returns"), ("i64", "pc")]
    f = module.function(f"scalar_atomic_{name}", "void", parameters)
    pointer, usable = _arena_pointer(f, "%address", "0", bits // 8)
    with f.when(usable):
        type_ = f"i{bits}"
        data = f.load(type_, "%data", 4)
        second = f.load(type_, f.at("%data", bits // 8), 4) if name in TWO_OPERANDS else None
        old = _exchange(f, name, (False, False), pointer, data, second)
        with f.when("%returns"):
            f.store(type_, old, "%data", 4)
    f.ret()
