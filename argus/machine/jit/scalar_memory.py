"""Scalar memory as runtime functions: whole dwords between the arena and scalar registers, every address checked.

    scalar_load(context, registers, address, dwords, pc)     scalar_store(context, registers, address, dwords, pc)
    scalar_buffer_load(context, registers, low, high, offset, dwords, pc)     beyond the end of the buffer: zeros

The two low address bits are ignored, as the hardware does.
"""

from __future__ import annotations

from functools import partial

from argus.machine.jit.access import Bounds, call_fault
from argus.machine.jit.frame import Fault
from argus.machine.jit.irtext import Definers, JitFunction, JitModule


def scalar_memory_functions() -> Definers:
    made: Definers = {}
    for verb in ("load", "store"):
        made[f"scalar_{verb}"] = partial(_define_direct, verb=verb)
        made[f"scalar_buffer_{verb}"] = partial(_define_buffer, verb=verb)
    return made


COMMON = [("ptr", "context"), ("ptr", "registers")]


def _define_direct(module: JitModule, verb: str) -> None:
    parameters = [*COMMON, ("i64", "address"), ("i64", "dwords"), ("i64", "pc")]
    f = module.function(f"scalar_{verb}", "void", parameters)
    address = f.binary("and", "i64", "%address", "-4")
    with f.loop("%dwords") as d:
        _move(f, verb, f.add("i64", address, f.mul("i64", d, "4")), f.index("i32", "%registers", d))
    f.ret()


def _define_buffer(module: JitModule, verb: str) -> None:
    parameters = [*COMMON, ("i64", "low"), ("i64", "high"), ("i64", "offset"), ("i64", "dwords"), ("i64", "pc")]
    f = module.function(f"scalar_buffer_{verb}", "void", parameters)
    base = f.binary("and", "i64", "%low", str((1 << 48) - 1))
    records = f.binary("and", "i64", "%high", str((1 << 32) - 1))
    room = f.binary("and", "i64", f.binary("sub", "i64", records, "%offset"), "-4")
    first = f.binary("and", "i64", f.add("i64", base, "%offset"), "-4")
    with f.loop("%dwords") as d:
        step = f.mul("i64", d, "4")
        register = f.index("i32", "%registers", d)
        inside = f.compare("slt", "i64", step, room)
        with f.when(inside):
            _move(f, verb, f.add("i64", first, step), register)
        if verb == "load":
            with f.when(f.binary("xor", "i1", inside, "true")):
                f.store("i32", "0", register, 4)
    f.ret()


def _move(f: JitFunction, verb: str, address: str, register: str) -> None:
    bounds = Bounds(f, "%context")
    inside = bounds.check(address, 4)
    with f.when(f.binary("xor", "i1", inside, "true")):
        call_fault(f, Fault.OUT_OF_ARENA, "0", address)
    with f.when(inside):
        pointer = bounds.pointer(address)
        source, target = (pointer, register) if verb == "load" else (register, pointer)
        f.store("i32", f.load("i32", source, 1), target, 1)
