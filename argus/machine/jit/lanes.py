"""Lane crossing as runtime functions.

    lanes_pull(out, index, source, offset, exec)     ds_bpermute: each active lane reads lane (index + offset)/4 mod 64
    lanes_push(out, index, source, offset, exec)     ds_permute: each active lane sends; the highest sender wins
    lanes_table(out, source, table, exec) -> valid   a fixed pattern (ds_swizzle, DPP): table[i] is i's source or -1
    copy_row(out, source)   merge_row(out, source, exec)   lane_addresses(out, base): base + 4 * lane

Inactive and missing sources read as zero; `lanes_table` also answers which lanes had a source. `out` may be any of the
inputs: results are collected first. Only active lanes of `out` are written, except by `lanes_table`, whose result goes
to a spare row.
"""

from __future__ import annotations

from argus.machine.jit.frame import CHUNK, LANES
from argus.machine.jit.irtext import Definers, JitFunction, JitModule
from argus.machine.jit.region import LANE_BITS

ROW_TYPE = "[64 x i32]"
V8 = "<8 x i32>"


def lane_functions() -> Definers:
    return {
        "lanes_pull": _define_pull,
        "lanes_push": _define_push,
        "lanes_table": _define_table,
        "copy_row": _define_copy,
        "merge_row": _define_merge,
        "lane_addresses": _define_addresses,
    }


def _define_copy(module: JitModule) -> None:
    f = module.function("copy_row", "void", [("ptr", "out"), ("ptr", "source")])
    with f.loop(LANES, CHUNK) as lane:
        f.store(V8, f.load(V8, f.index("i32", "%source", lane), 32), f.index("i32", "%out", lane), 32)
    f.ret()


def _define_merge(module: JitModule) -> None:
    f = module.function("merge_row", "void", [("ptr", "out"), ("ptr", "source"), ("i64", "exec")])
    _write_active(f, "%source")
    f.ret()


def _define_addresses(module: JitModule) -> None:
    f = module.function("lane_addresses", "void", [("ptr", "out"), ("i32", "base")])
    ramp = f"<{', '.join(f'i32 {4 * i}' for i in range(CHUNK))}>"
    with f.loop(LANES, CHUNK) as lane:
        first = f.add("i32", "%base", f.cast("trunc", "i64", f.mul("i64", lane, "4"), "i32"))
        f.store(V8, f.add(V8, f.splat("i32", CHUNK, first), ramp), f.index("i32", "%out", lane), 32)
    f.ret()


def _is_active(f: JitFunction, lane: str) -> str:
    return f.cast("trunc", "i64", f.binary("lshr", "i64", "%exec", lane), "i1")


def _number(f: JitFunction, lane: str) -> str:
    """The lane that index register and offset name."""
    index = f.add("i32", f.load("i32", f.index("i32", "%index", lane), 4), "%offset")
    number = f.binary("and", "i32", f.binary("lshr", "i32", index, "2"), "63")
    return f.cast("zext", "i32", number, "i64")


def _write_active(f: JitFunction, row: str) -> None:
    """Copy the collected row to the active lanes of `out`."""
    with f.loop(LANES, CHUNK) as lane:
        bits = f.cast("trunc", "i64", f.binary("lshr", "i64", "%exec", lane), "i32")
        chosen = f.binary("and", V8, f.splat("i32", CHUNK, bits), LANE_BITS)
        mask = f.compare("ne", V8, chosen, "zeroinitializer")
        target = f.index("i32", "%out", lane)
        new, old = f.load(V8, f.index("i32", row, lane), 32), f.let(f"load volatile {V8}, ptr {target}, align 32")
        f.store(V8, f.select(mask, V8, new, old, "<8 x i1>"), target, 32)


PARAMETERS = [("ptr", "out"), ("ptr", "index"), ("ptr", "source"), ("i32", "offset"), ("i64", "exec")]


def _define_pull(module: JitModule) -> None:
    f = module.function("lanes_pull", "void", PARAMETERS)
    row = f.stack(ROW_TYPE)
    with f.loop(LANES) as lane:
        number = _number(f, lane)
        value = f.load("i32", f.index("i32", "%source", number), 4)
        f.store("i32", f.select(_is_active(f, number), "i32", value, "0"), f.index("i32", row, lane), 4)
    _write_active(f, row)
    f.ret()


def _define_push(module: JitModule) -> None:
    f = module.function("lanes_push", "void", PARAMETERS)
    row = f.stack(ROW_TYPE)
    with f.loop(LANES, CHUNK) as lane:
        f.store(V8, "zeroinitializer", f.index("i32", row, lane), 32)
    with f.loop(LANES) as lane, f.when(_is_active(f, lane)):
        value = f.load("i32", f.index("i32", "%source", lane), 4)
        f.store("i32", value, f.index("i32", row, _number(f, lane)), 4)
    _write_active(f, row)
    f.ret()


def _define_table(module: JitModule) -> None:
    parameters = [("ptr", "out"), ("ptr", "source"), ("ptr", "table"), ("i64", "exec")]
    f = module.function("lanes_table", "i64", parameters)
    valid = f.stack("i64", 8)
    row = f.stack(ROW_TYPE)
    f.store("i64", "0", valid, 8)
    with f.loop(LANES) as lane:
        number = f.cast("sext", "i8", f.load("i8", f.at("%table", lane)), "i64")
        wrapped = f.binary("and", "i64", number, "63")
        there = f.binary("and", "i1", f.compare("sge", "i64", number, "0"), _is_active(f, wrapped))
        value = f.load("i32", f.index("i32", "%source", wrapped), 4)
        f.store("i32", f.select(there, "i32", value, "0"), f.index("i32", row, lane), 4)
        bit = f.binary("shl", "i64", f.cast("zext", "i1", there, "i64"), lane)
        f.store("i64", f.binary("or", "i64", f.load("i64", valid, 8), bit), valid, 8)
    with f.loop(LANES, CHUNK) as lane:
        f.store(V8, f.load(V8, f.index("i32", row, lane), 32), f.index("i32", "%out", lane), 32)
    f.ret("i64", f.load("i64", valid, 8))
