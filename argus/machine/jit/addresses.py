"""Where the 64 lanes of a vector memory instruction point, as runtime functions.

    addresses_pair(context, v, offset)               flat and global with a 64-bit register pair: v + offset
    addresses_base(context, v or null, base, offset) global with a scalar base: base + 32-bit v + offset
    addresses_buffer(context, voffset, vindex, descriptor, soffset, offset, bytes, pc) -> lanes in range
    addresses_private(context, v or null, base, bytes) scratch: lane * size + offset, checked against the lane's share
    private_lanes(context, exec)                       flat addresses in the private aperture, made scratch offsets

All write the context's address row. A buffer's row is accompanied by the room left in the buffer behind each lane's
offset (OFFSETS row), for accesses that straddle the end: `load_buffer_*` and `store_buffer_*` check dword by dword,
loads beyond the end give zero, stores are dropped. The offset is (register + immediate) mod 2**32 plus soffset; whether
soffset counts in the range check is the launch's choice (context field SOFFSET_COUNTS, all ones or zero).
"""

from __future__ import annotations

from functools import partial

from argus.machine.jit.access import (
    ACCESS_PARAMETERS,
    LOADS,
    STORES,
    Bounds,
    Kind,
    call_fault,
    load_lane,
    store_lane,
    zero_lane,
)
from argus.machine.jit.frame import ADDRESSES, LANES, OFFSETS, ROW, ArenaFields, ContextFields, Fault
from argus.machine.jit.irtext import Definers, JitFunction, JitModule
from argus.machine.state import PRIVATE_BASE

V4 = "<4 x i64>"


def address_functions() -> Definers:
    made: Definers = {
        "addresses_pair": _define_pair,
        "addresses_base": _define_base,
        "addresses_buffer": _define_buffer,
        "addresses_private": _define_private,
        "private_lanes": _define_private_lanes,
    }
    for kinds, loading in ((LOADS, True), (STORES, False)):
        for kind in kinds:
            name = f"{'load' if loading else 'store'}_buffer_{kind.name}"
            made[name] = partial(_define_buffer_access, kind=kind, loading=loading)
    return made


def _four(f: JitFunction, pointer: str, lane: str) -> str:
    """Four lanes of a 32-bit row, zero-extended."""
    words = f.load("<4 x i32>", f.index("i32", pointer, lane), 16)
    return f.cast("zext", "<4 x i32>", words, V4)


def _put(f: JitFunction, row: int, lane: str, value: str) -> None:
    f.store(V4, value, f.index("i64", f.at("%context", row), lane), 32)


def _define_pair(module: JitModule) -> None:
    f = module.function("addresses_pair", "void", [("ptr", "context"), ("ptr", "v"), ("i64", "offset")])
    offset = f.splat("i64", 8, "%offset")
    order = [half * 8 + lane for lane in range(8) for half in (0, 1)]
    with f.loop(LANES, 8) as lane:
        low, high = (f.load("<8 x i32>", f.index("i32", row, lane), 32) for row in ("%v", f.at("%v", ROW)))
        pairs = f.cast("bitcast", "<16 x i32>", f.shuffle("i32", 8, low, high, order), "<8 x i64>")
        place = f.index("i64", f.at("%context", ADDRESSES), lane)
        f.store("<8 x i64>", f.add("<8 x i64>", pairs, offset), place, 32)
    f.ret()


def _define_base(module: JitModule) -> None:
    parameters = [("ptr", "context"), ("ptr", "v"), ("i64", "base"), ("i64", "offset")]
    f = module.function("addresses_base", "void", parameters)
    start = f.splat("i64", 4, f.add("i64", "%base", "%offset"))
    f.branch(f.compare("eq", "ptr", "%v", "null"), "same", "each")
    f.label("same")
    with f.loop(LANES, 4) as lane:
        _put(f, ADDRESSES, lane, start)
    f.ret()
    f.label("each")
    with f.loop(LANES, 4) as lane:
        _put(f, ADDRESSES, lane, f.add(V4, start, _four(f, "%v", lane)))
    f.ret()


OUTSIDE = -(1 << 63)
"""Set in an address that must not be used; the low bits keep the offset for the report."""


def _define_private(module: JitModule) -> None:
    """The address row becomes places in the wave's private memory; %offset is the scalar and immediate part."""
    parameters = [("ptr", "context"), ("ptr", "v"), ("i64", "offset"), ("i64", "bytes"), ("i64", "flat")]
    f = module.function("addresses_private", "void", parameters)
    share = f.binary("lshr", "i64", f.load("i64", f.at("%context", ContextFields.PRIVATE + ArenaFields.SIZE), 8), "6")
    limit = f.binary("sub", "i64", share, "%bytes")
    with f.loop(LANES) as lane:
        place = f.index("i64", f.at("%context", ADDRESSES), lane)
        start = f.stack("i64", 8)
        f.store("i64", "%offset", start, 8)
        with f.when(f.compare("ne", "ptr", "%v", "null")):
            word = f.cast("zext", "i32", f.load("i32", f.index("i32", "%v", lane), 4), "i64")
            f.store("i64", f.add("i64", word, "%offset"), start, 8)
        with f.when(f.compare("ne", "i64", "%flat", "0")):
            f.store("i64", f.binary("and", "i64", f.load("i64", place, 8), str(0xFFFFFFFF)), start, 8)
        offset = f.load("i64", start, 8)
        low, high = f.compare("sge", "i64", offset, "0"), f.compare("sle", "i64", offset, limit)
        good = f.add("i64", offset, f.mul("i64", lane, share))
        bad = f.binary("or", "i64", offset, str(OUTSIDE))
        f.store("i64", f.select(f.binary("and", "i1", low, high), "i64", good, bad), place, 8)
    f.ret()


def _define_private_lanes(module: JitModule) -> None:
    f = module.function("private_lanes", "i64", [("ptr", "context"), ("i64", "exec")])
    found = f.stack("i64", 8)
    f.store("i64", "0", found, 8)
    with f.loop(LANES) as lane:
        address = f.load("i64", f.index("i64", f.at("%context", ADDRESSES), lane), 8)
        hit = f.compare("eq", "i64", f.binary("lshr", "i64", address, "32"), str(PRIVATE_BASE >> 32))
        bit = f.binary("shl", "i64", f.cast("zext", "i1", hit, "i64"), lane)
        f.store("i64", f.binary("or", "i64", f.load("i64", found, 8), bit), found, 8)
    f.ret("i64", f.binary("and", "i64", f.load("i64", found, 8), "%exec"))


def _define_buffer(module: JitModule) -> None:
    f = module.function(
        "addresses_buffer",
        "i64",
        [
            ("ptr", "context"),
            ("ptr", "voffset"),
            ("ptr", "vindex"),
            ("i64", "low"),
            ("i64", "high"),
            ("i64", "soffset"),
            ("i64", "offset"),
            ("i64", "bytes"),
            ("i64", "pc"),
        ],
    )
    base = f.add("i64", f.binary("and", "i64", "%low", str((1 << 48) - 1)), "%soffset")
    stride = f.binary("and", "i64", f.binary("lshr", "i64", "%low", "48"), str((1 << 14) - 1))
    records = f.binary("and", "i64", "%high", str((1 << 32) - 1))
    counts = f.load("i64", f.at("%context", int(ContextFields.SOFFSET_COUNTS)), 8)
    bytes_ = f.binary("sub", "i64", records, f.binary("and", "i64", "%soffset", counts))
    f.branch(f.compare("eq", "ptr", "%vindex", "null"), "raw", "structured")
    f.label("structured")
    swizzle = f.compare("slt", "i64", "%low", "0")
    adds_lane = f.cast("trunc", "i64", f.binary("lshr", "i64", "%high", "55"), "i1")
    with f.when(f.binary("or", "i1", swizzle, adds_lane)):
        call_fault(f, Fault.SWIZZLED, "0", "0")
    # a record is in range or not as a whole: by its index, or without a stride by its bytes
    with f.loop(LANES) as lane:
        index = f.cast("zext", "i32", f.load("i32", f.index("i32", "%vindex", lane), 4), "i64")
        within = f.stack("i64", 8)
        f.store("i64", "%offset", within, 8)
        with f.when(f.compare("ne", "ptr", "%voffset", "null")):
            word = f.load("i32", f.index("i32", "%voffset", lane), 4)
            more = f.add("i32", word, f.cast("trunc", "i64", "%offset", "i32"))
            f.store("i64", f.cast("zext", "i32", more, "i64"), within, 8)
        place = f.add("i64", f.mul("i64", index, stride), f.load("i64", within, 8))
        f.store("i64", f.add("i64", base, place), f.index("i64", f.at("%context", ADDRESSES), lane), 8)
        fits = f.compare("ule", "i64", f.add("i64", f.load("i64", within, 8), "%bytes"), bytes_)
        inside = f.select(f.compare("ne", "i64", stride, "0"), "i1", f.compare("ult", "i64", index, records), fits)
        room = f.select(inside, "i64", "%bytes", "0")
        f.store("i64", room, f.index("i64", f.at("%context", OFFSETS), lane), 8)
    f.jump("judge")
    f.label("raw")
    bases, room4, offset = f.splat("i64", 4, base), f.splat("i64", 4, bytes_), f.splat("i64", 4, "%offset")
    offset32 = f.splat("i32", 4, f.cast("trunc", "i64", "%offset", "i32"))
    f.branch(f.compare("eq", "ptr", "%voffset", "null"), "same", "each")
    for label in ("same", "each"):
        f.label(label)
        with f.loop(LANES, 4) as lane:
            if label == "same":
                place = offset
            else:
                words = f.load("<4 x i32>", f.index("i32", "%voffset", lane), 16)
                place = f.cast("zext", "<4 x i32>", f.add("<4 x i32>", words, offset32), V4)
            _put(f, ADDRESSES, lane, f.add(V4, bases, place))
            _put(f, OFFSETS, lane, f.binary("sub", V4, room4, place))
        f.jump("judge")
    f.label("judge")
    needed = f.splat("i64", 16, "%bytes")
    total = "0"
    for part in range(4):
        room = f.load("<16 x i64>", f.at("%context", OFFSETS + 128 * part), 32)
        bits = f.cast("bitcast", "<16 x i1>", f.compare("sge", "<16 x i64>", room, needed), "i16")
        shifted = f.binary("shl", "i64", f.cast("zext", "i16", bits, "i64"), str(16 * part))
        total = f.binary("or", "i64", total, shifted)
    f.ret("i64", total)


def _define_buffer_access(module: JitModule, kind: Kind, loading: bool) -> None:
    """All lanes in range: the plain access; otherwise lane by lane, dword by dword."""
    verb = "load" if loading else "store"
    parameters = [*ACCESS_PARAMETERS, ("i64", "inside")]
    f = module.function(f"{verb}_buffer_{kind.name}", "void", parameters)
    outside = f.binary("and", "i64", f.binary("xor", "i64", "%inside", "-1"), "%exec")
    f.branch(f.compare("eq", "i64", outside, "0"), "plain", "careful")
    f.label("plain")
    f.call("void", f"{verb}_{kind.name}", *[(t, f"%{n}") for t, n in ACCESS_PARAMETERS])
    f.ret()
    f.label("careful")
    unit = kind if kind.bits != 32 else Kind("x1")
    bounds = Bounds(f)
    with f.loop(LANES) as lane:
        live = f.cast("trunc", "i64", f.binary("lshr", "i64", "%exec", lane), "i1")
        with f.when(live):
            first = f.load("i64", f.index("i64", f.at("%context", ADDRESSES), lane), 8)
            room = f.load("i64", f.index("i64", f.at("%context", OFFSETS), lane), 8)
            for d in range(kind.dwords):
                register = f.at(f.index("i32", "%v", lane), d * ROW)
                has_room = f.compare("sge", "i64", room, str(4 * d + unit.bytes))
                if loading:
                    with f.when(f.binary("xor", "i1", has_room, "true")):
                        zero_lane(f, unit, register)
                with f.when(has_room):
                    address = f.add("i64", first, str(4 * d))
                    inside = bounds.check(address, unit.bytes)
                    with f.when(inside):
                        (load_lane if loading else store_lane)(f, unit, bounds.pointer(address), register)
                    with f.when(f.binary("xor", "i1", inside, "true")):
                        call_fault(f, Fault.OUT_OF_ARENA, lane, address)
    f.ret()
