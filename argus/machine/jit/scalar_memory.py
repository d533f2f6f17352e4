"""Scalar memory as runtime functions: whole dwords between the arena and scalar registers, every address checked.

    scalar_load(context, registers, address, dwords, pc)     scalar_store(context, registers, address, dwords, pc)
    scalar_buffer_load(context, registers, low, high, offset, dwords, pc)     beyond the end of the buffer: zeros

The two low address bits are ignored, as the hardware does.
"""

from __future__ import annotations

from argus.machine.jit.access import call_fault, context_field
from argus.machine.jit.frame import Context, Fault
from argus.machine.jit.irtext import Function, Module


def define_scalar_memory(module: Module) -> None:
    common = [("ptr", "context"), ("ptr", "registers")]
    for verb in ("load", "store"):
        f = module.function(f"scalar_{verb}", "void", [*common, ("i64", "address"), ("i64", "dwords"), ("i64", "pc")])
        address = f.binary("and", "i64", "%address", "-4")
        with f.loop("%dwords") as d:
            _move(f, verb, f.add("i64", address, f.mul("i64", d, "4")), f.index("i32", "%registers", d))
        f.ret()
        f = module.function(
            f"scalar_buffer_{verb}",
            "void",
            [*common, ("i64", "low"), ("i64", "high"), ("i64", "offset"), ("i64", "dwords"), ("i64", "pc")],
        )
        base = f.binary("and", "i64", "%low", str((1 << 48) - 1))
        stride = f.binary("and", "i64", f.binary("lshr", "i64", "%low", "48"), str((1 << 14) - 1))
        records = f.binary("and", "i64", "%high", str((1 << 32) - 1))
        raw = f.compare("eq", "i64", stride, "0")
        size = f.select(raw, "i64", records, f.mul("i64", records, stride))
        first = f.binary("and", "i64", "%offset", "-4")
        with f.loop("%dwords") as d:
            place = f.add("i64", first, f.mul("i64", d, "4"))
            register = f.index("i32", "%registers", d)
            inside = f.compare("ule", "i64", f.add("i64", place, "4"), size)
            with f.when(inside):
                _move(f, verb, f.add("i64", base, place), register)
            if verb == "load":
                with f.when(f.binary("xor", "i1", inside, "true")):
                    f.store("i32", "0", register, 4)
        f.ret()


def _move(f: Function, verb: str, address: str, register: str) -> None:
    offset = f.binary("sub", "i64", address, context_field(f, Context.ARENA_BASE))
    limit = f.binary("sub", "i64", context_field(f, Context.ARENA_SIZE), "4")
    inside = f.compare("ule", "i64", offset, limit)
    with f.when(f.binary("xor", "i1", inside, "true")):
        call_fault(f, Fault.OUT_OF_ARENA, "0", address)
    with f.when(inside):
        pointer = f.at(f.load("ptr", f.at("%context", int(Context.ARENA_HOST)), 8), offset)
        source, target = (pointer, register) if verb == "load" else (register, pointer)
        f.store("i32", f.load("i32", source, 1), target, 1)
