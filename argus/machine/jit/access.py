"""Vector memory as runtime functions: 64 addresses in, registers out, nothing outside the arena touched.

    load_x4(context, arena, registers, exec, pc)      load_u16, load_i8_hi ... , store_x1 ... store_b8_hi
    lds_load_x2(context, registers, addresses, offset, exec, pc), lds_store_...

Functions of global and private memory read their 64 addresses from the context's address row, where `addresses.py` put
them, and move data in the memory that `arena` describes; LDS functions add an offset to an address register. Every
address is checked against the allocations (`Bounds`). If all lanes are active and in the allocation of the first (one
vector test), eight lanes move at a time through a register transpose; otherwise lanes move one by one. A lane outside
every allocation faults (first fault kept, the wave stops at its next back edge) and moves nothing; a lane outside the
LDS reads zero and writes nothing, as the hardware does, and the first one is noted.

Chunks are moved in order and a chunk's addresses are read before its registers are written, so a load may overwrite
its own address register.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from argus.machine.jit.frame import ADDRESSES, CHUNK, GRANULE, LANES, ROW, ArenaFields, ContextFields, Fault
from argus.machine.jit.irtext import Definers, JitFunction, JitModule

V4, V8 = "<4 x i32>", "<8 x i32>"
CACHED = 1 << 26
"""Device memories beyond this size do not fit the host's caches: whole-wave stores to them bypass the caches."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How one lane's bytes meet its registers: `dwords` whole registers, or `bits` of one register."""

    name: str
    dwords: int = 1
    bits: int = 32
    signed: bool = False
    half: int | None = None

    @property
    def bytes(self) -> int:
        return 4 * self.dwords if self.bits == 32 else self.bits // 8


LOADS = (
    *[Kind(f"x{n}", dwords=n) for n in (1, 2, 3, 4)],
    *[Kind(f"{'i' if s else 'u'}{b}", bits=b, signed=s) for b in (8, 16) for s in (False, True)],
    *[
        Kind(f"{'i' if s else 'u'}{b}_{'hi' if h else 'lo'}", bits=b, signed=s, half=h)
        for b in (8, 16)
        for s in (False, True)
        for h in (0, 1)
    ],
)
STORES = (
    *[Kind(f"x{n}", dwords=n) for n in (1, 2, 3, 4)],
    *[Kind(f"b{b}", bits=b) for b in (8, 16)],
    *[Kind(f"b{b}_hi", bits=b, half=1) for b in (8, 16)],
)

LanePointer = Callable[[str], str]


def access_functions() -> Definers:
    made: Definers = {"fault": _define_fault, "note": _define_note}
    for kinds, loading in ((LOADS, True), (STORES, False)):
        for kind in kinds:
            verb = "load" if loading else "store"
            made[f"{verb}_{kind.name}"] = partial(_define_global, kind=kind, loading=loading)
            made[f"lds_{verb}_{kind.name}"] = partial(_define_lds, kind=kind, loading=loading)
    return made


ACCESS_PARAMETERS = [("ptr", "context"), ("ptr", "arena"), ("ptr", "v"), ("i64", "exec"), ("i64", "pc")]


class Bounds:
    """The memory that `%arena` describes: which allocation an address lies in, and whether an access fits there."""

    def __init__(self, f: JitFunction, arena: str = "%arena") -> None:
        self.f = f
        self.base, self._size = (f.load("i64", f.at(arena, int(o)), 8) for o in (ArenaFields.BASE, ArenaFields.SIZE))
        self.host, self._shadow, self._bounds = (
            f.load("ptr", f.at(arena, int(o)), 8) for o in (ArenaFields.HOST, ArenaFields.SHADOW, ArenaFields.BOUNDS)
        )

    def allocation(self, address: str) -> tuple[str, str]:
        """Device address of the first byte of the allocation around `address`, and its size."""
        f = self.f
        offset = f.binary("sub", "i64", address, self.base)
        inside = f.compare("ult", "i64", offset, self._size)
        granule = f.select(inside, "i64", f.binary("lshr", "i64", offset, str(GRANULE.bit_length() - 1)), "0")
        number = f.cast("zext", "i16", f.load("i16", f.index("i16", self._shadow, granule), 2), "i64")
        entry = f.index("i64", self._bounds, f.mul("i64", number, "2"))
        return f.add("i64", self.base, f.load("i64", entry, 8)), f.load("i64", f.at(entry, 8), 8)

    def check(self, address: str, size: int) -> str:
        """Whether `size` bytes at `address` lie in one allocation."""
        f = self.f
        start, room = self.allocation(address)
        into = f.binary("sub", "i64", address, start)
        fits = f.compare("sle", "i64", into, f.binary("sub", "i64", room, str(size)))
        return f.binary("and", "i1", fits, f.compare("sge", "i64", into, "0"))

    def larger_than(self, size: int) -> str:
        return self.f.compare("ugt", "i64", self._size, str(size))

    def pointer(self, address: str) -> str:
        return self.f.at(self.host, self.f.binary("sub", "i64", address, self.base))


def context_field(f: JitFunction, field: ContextFields) -> str:
    return f.load("i64", f.at("%context", int(field)), 8)


def _define_fault(module: JitModule) -> None:
    """Note the first fault of the wave and end its time slice."""
    f = module.function(
        "fault",
        "void",
        [("ptr", "context"), ("i64", "what"), ("i64", "pc"), ("i64", "lane"), ("i64", "address")],
        "cold noinline",
    )
    earlier = context_field(f, ContextFields.FAULT)
    with f.when(f.compare("eq", "i64", earlier, "0")):
        for field, value in (
            (ContextFields.FAULT, "%what"),
            (ContextFields.FAULT_PC, "%pc"),
            (ContextFields.FAULT_LANE, "%lane"),
            (ContextFields.FAULT_ADDRESS, "%address"),
        ):
            f.store("i64", value, f.at("%context", int(field)), 8)
        f.store("i64", str(-(1 << 62)), f.at("%context", int(ContextFields.SLICE)), 8)
    f.ret()


def _define_note(module: JitModule) -> None:
    """Remember the first access outside the LDS; the wave goes on."""
    parameters = [("ptr", "context"), ("i64", "pc"), ("i64", "lane"), ("i64", "address")]
    f = module.function("note", "void", parameters, "cold noinline")
    earlier = context_field(f, ContextFields.NOTE_PC)
    with f.when(f.compare("slt", "i64", earlier, "0")):
        for field, value in (
            (ContextFields.NOTE_PC, "%pc"),
            (ContextFields.NOTE_LANE, "%lane"),
            (ContextFields.NOTE_ADDRESS, "%address"),
            (ContextFields.NOTE_WAVE, context_field(f, ContextFields.FAULT_WAVE)),
            (ContextFields.NOTE_FINISHED, context_field(f, ContextFields.FINISHED)),
        ):
            f.store("i64", value, f.at("%context", int(field)), 8)
    f.ret()


def call_note(f: JitFunction, lane: str, address: str) -> None:
    f.call("void", "note", ("ptr", "%context"), ("i64", "%pc"), ("i64", lane), ("i64", address))


def call_fault(f: JitFunction, what: Fault, lane: str, address: str) -> None:
    f.call(
        "void", "fault", ("ptr", "%context"), ("i64", str(int(what))), ("i64", "%pc"), ("i64", lane), ("i64", address)
    )


# One lane


def load_lane(f: JitFunction, kind: Kind, pointer: str, register: str) -> None:
    """Memory at `pointer` to one lane, whose first register word is at `register`."""
    if kind.bits == 32:
        words = [f.load("i32", f.at(pointer, 4 * d), 1) for d in range(kind.dwords)]
        for d, word in enumerate(words):
            f.store("i32", word, f.at(register, d * ROW), 4)
        return
    narrow = f.load(f"i{kind.bits}", pointer, 1)
    store_narrow(f, kind, narrow, register)


def store_narrow(f: JitFunction, kind: Kind, narrow: str, register: str) -> None:
    extend = "sext" if kind.signed else "zext"
    if kind.half is None:
        f.store("i32", f.cast(extend, f"i{kind.bits}", narrow, "i32"), register, 4)
        return
    half = narrow if kind.bits == 16 else f.cast(extend, "i8", narrow, "i16")
    word = f.cast("zext", "i16", half, "i32")
    f.store("i32", f.let(f"shl i32 {word}, {16 * kind.half}"), register, 4)


def store_lane(f: JitFunction, kind: Kind, pointer: str, register: str) -> None:
    """One lane's registers to memory."""
    if kind.bits == 32:
        for d in range(kind.dwords):
            f.store("i32", f.load("i32", f.at(register, d * ROW), 4), f.at(pointer, 4 * d), 1)
        return
    type_ = f"i{kind.bits}"
    f.store(type_, f.load(type_, f.at(register, 2 * (kind.half or 0)), 1), pointer, 1)


def zero_lane(f: JitFunction, kind: Kind, register: str) -> None:
    if kind.bits == 32:
        for d in range(kind.dwords):
            f.store("i32", "0", f.at(register, d * ROW), 4)
    else:
        store_narrow(f, kind, "0", register)


# Eight lanes


def load_chunk(f: JitFunction, kind: Kind, pointers: Sequence[str], registers: str) -> None:
    """Eight lanes of `kind.dwords` dwords to the same eight lanes of as many rows."""
    for d, row in enumerate(_gather(f, kind.dwords, pointers)):
        f.store(V8, row, f.at(registers, d * ROW), 32)


def _gather(f: JitFunction, dwords: int, pointers: Sequence[str]) -> list[str]:
    if dwords == 1:
        row = "poison"
        for lane, pointer in enumerate(pointers):
            row = f.let(f"insertelement {V8} {row}, i32 {f.load('i32', pointer, 1)}, i32 {lane}")
        return [row]
    join = list(range(8))
    if dwords == 2:
        pairs = [f.load("<2 x i32>", p, 1) for p in pointers]
        quads = [f.shuffle("i32", 2, pairs[i], pairs[i + 1], [0, 1, 2, 3]) for i in (0, 4, 2, 6)]
        left = f.shuffle("i32", 4, quads[0], quads[1], join)
        right = f.shuffle("i32", 4, quads[2], quads[3], join)
        return [
            f.shuffle("i32", 8, left, right, [e, e + 2, e + 8, e + 10, e + 4, e + 6, e + 12, e + 14]) for e in (0, 1)
        ]
    quads = [f.load(V4, p, 1) for p in pointers]
    wide = [f.shuffle("i32", 4, quads[i], quads[i + 4], join) for i in range(4)]
    return transpose(f, wide)


def transpose(f: JitFunction, rows: Sequence[str]) -> list[str]:
    """Four rows of two quads each: transpose both 4x4 halves."""
    low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
    a, b = f.shuffle("i32", 8, rows[0], rows[1], low), f.shuffle("i32", 8, rows[2], rows[3], low)
    c, d = f.shuffle("i32", 8, rows[0], rows[1], high), f.shuffle("i32", 8, rows[2], rows[3], high)
    first, second = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
    return [f.shuffle("i32", 8, x, y, lanes) for x, y in ((a, b), (c, d)) for lanes in (first, second)]


def store_chunk(f: JitFunction, kind: Kind, pointers: Sequence[str], registers: str, stream: bool = False) -> None:
    rows = [f.load(V8, f.at(registers, d * ROW), 32) for d in range(kind.dwords)]
    if kind.dwords == 1:
        for lane, pointer in enumerate(pointers):
            f.store("i32", f.let(f"extractelement {V8} {rows[0]}, i32 {lane}"), pointer, 1)
    elif kind.dwords == 2:
        low = f.shuffle("i32", 8, rows[0], rows[1], [0, 8, 1, 9, 4, 12, 5, 13])
        high = f.shuffle("i32", 8, rows[0], rows[1], [2, 10, 3, 11, 6, 14, 7, 15])
        for lane, pointer in enumerate(pointers):
            source = low if lane % 4 < 2 else high
            at = lane % 2 * 2 + lane // 4 * 4
            f.store("<2 x i32>", f.shuffle("i32", 8, source, "poison", [at, at + 1]), pointer, 1)
    else:
        wide = transpose(f, rows)
        for lane, pointer in enumerate(pointers):
            quad = f.shuffle("i32", 8, wide[lane % 4], "poison", [lane // 4 * 4 + i for i in range(4)])
            if stream:
                f.stream(V4, quad, pointer, 16)
            else:
                f.store(V4, quad, pointer, 1)


def _fast(kind: Kind) -> bool:
    return kind.bits == 32 and kind.dwords in (1, 2, 4)


# Global memory


def _define_global(module: JitModule, kind: Kind, loading: bool) -> None:
    name = f"{'load' if loading else 'store'}_{kind.name}"
    f = module.function(name, "void", ACCESS_PARAMETERS)
    bounds = Bounds(f)
    addresses = f.at("%context", ADDRESSES)
    if _fast(kind):
        _global_fast(f, kind, loading, bounds, addresses)
    with f.loop(LANES) as lane:
        live = f.cast("trunc", "i64", f.binary("lshr", "i64", "%exec", lane), "i1")
        with f.when(live):
            address = f.load("i64", f.index("i64", addresses, lane), 8)
            good, bad, after = (f.fresh_label(stem) for stem in ("good", "bad", "next"))
            f.branch(bounds.check(address, kind.bytes), good, bad)
            f.label(bad)
            call_fault(f, Fault.OUT_OF_ARENA, lane, address)
            f.jump(after)
            f.label(good)
            move = load_lane if loading else store_lane
            move(f, kind, bounds.pointer(address), f.index("i32", "%v", lane))
            f.jump(after)
            f.label(after)
    f.ret()


def _global_fast(f: JitFunction, kind: Kind, loading: bool, bounds: Bounds, addresses: str) -> None:
    """All lanes active and in the first lane's allocation: eight at a time, consecutive addresses as one block."""
    v4 = "<4 x i64>"
    check, chunked, slow = (f.fresh_label(stem) for stem in ("check", "chunked", "slow"))
    f.branch(f.compare("eq", "i64", "%exec", "-1"), check, slow)
    f.label(check)
    first = f.load("i64", addresses, 8)
    start, room = bounds.allocation(first)
    bases = f.splat("i64", 4, start)
    limits = f.splat("i64", 4, f.binary("sub", "i64", room, str(kind.bytes)))
    ramp = f.add(v4, f.splat("i64", 4, first), f"<{', '.join(f'i64 {kind.bytes * i}' for i in range(4))}>")
    outside, uneven = "zeroinitializer", "zeroinitializer"
    for quad in range(LANES // 4):
        address = f.load(v4, f.at(addresses, 32 * quad), 32)
        offset = f.binary("sub", v4, address, bases)
        over = f.binary("sub", v4, limits, offset)
        outside = f.binary("or", v4, outside, f.binary("or", v4, offset, over))
        expected = f.add(v4, ramp, f"splat (i64 {4 * quad * kind.bytes})")
        uneven = f.binary("or", v4, uneven, f.binary("xor", v4, address, expected))
    outside = f.call("i64", "llvm.vector.reduce.or.v4i64", (v4, outside))
    uneven = f.call("i64", "llvm.vector.reduce.or.v4i64", (v4, uneven))
    inside = f.fresh_label("inside")
    f.branch(f.compare("slt", "i64", outside, "0"), slow, inside)
    f.label(inside)
    block = f.fresh_label("block")
    f.branch(f.compare("eq", "i64", uneven, "0"), block, chunked)
    f.label(block)
    place = bounds.pointer(first)

    def following(lane: str) -> str:
        return f.at(place, f.mul("i64", lane, str(kind.bytes)))

    if not loading and kind.dwords == 4:
        streaming, plain = f.fresh_label("streaming"), f.fresh_label("plain")
        aligned = f.compare("eq", "i64", f.binary("and", "i64", f.cast("ptrtoint", "ptr", place, "i64"), "15"), "0")
        f.branch(f.binary("and", "i1", aligned, bounds.larger_than(CACHED)), streaming, plain)
        f.label(streaming)
        _every_chunk(f, kind, loading, following, False, stream=True)
        f.ret()
        f.label(plain)
    _every_chunk(f, kind, loading, following, kind.dwords == 1)
    f.ret()
    f.label(chunked)

    def pointer(lane: str) -> str:
        return bounds.pointer(f.load("i64", f.index("i64", addresses, lane), 8))

    _every_chunk(f, kind, loading, pointer, False)
    f.ret()
    f.label(slow)


def _every_chunk(
    f: JitFunction, kind: Kind, loading: bool, pointer: LanePointer, whole_rows: bool, stream: bool = False
) -> None:
    with f.loop(LANES, CHUNK) as lane:
        registers = f.index("i32", "%v", lane)
        if whole_rows:
            memory = pointer(lane)
            source, target = (memory, registers) if loading else (registers, memory)
            f.store(V8, f.load(V8, source, 4), target, 4)
        else:
            pointers = [pointer(f.binary("or", "i64", lane, str(i))) for i in range(CHUNK)]
            if loading:
                load_chunk(f, kind, pointers, registers)
            else:
                store_chunk(f, kind, pointers, registers, stream)


# LDS


def _define_lds(module: JitModule, kind: Kind, loading: bool) -> None:
    name = f"lds_{'load' if loading else 'store'}_{kind.name}"
    parameters = [("ptr", "context"), ("ptr", "v"), ("ptr", "a"), ("i64", "offset"), ("i64", "exec"), ("i64", "pc")]
    f = module.function(name, "void", parameters)
    lds = f.load("ptr", f.at("%context", int(ContextFields.LDS)), 8)
    size = context_field(f, ContextFields.LDS_SIZE)
    last = f.binary("sub", "i64", size, str(kind.bytes))
    narrow = f.cast("trunc", "i64", "%offset", "i32")

    def place(lane: str) -> str:
        address = f.load("i32", f.index("i32", "%a", lane), 4)
        return f.cast("zext", "i32", f.add("i32", address, narrow), "i64")

    if _fast(kind):
        check, inside, slow = (f.fresh_label(stem) for stem in ("check", "inside", "slow"))
        f.branch(f.compare("eq", "i64", "%exec", "-1"), check, slow)
        f.label(check)
        highest = "zeroinitializer"
        for chunk in range(LANES // CHUNK):
            address = f.load(V8, f.at("%a", 32 * chunk), 32)
            highest = f.call(V8, "llvm.umax.v8i32", (V8, highest), (V8, address))
        most = f.cast("zext", "i32", f.call("i32", "llvm.vector.reduce.umax.v8i32", (V8, highest)), "i64")
        f.branch(f.compare("sle", "i64", most, f.binary("sub", "i64", last, "%offset")), inside, slow)
        f.label(inside)
        _every_chunk(f, kind, loading, lambda lane: f.at(lds, place(lane)), False)
        f.ret()
        f.label(slow)
    with f.loop(LANES) as lane:
        live = f.cast("trunc", "i64", f.binary("lshr", "i64", "%exec", lane), "i1")
        with f.when(live):
            offset = place(lane)
            register = f.index("i32", "%v", lane)
            good, bad, after = (f.fresh_label(stem) for stem in ("good", "bad", "next"))
            f.branch(f.compare("sle", "i64", offset, last), good, bad)
            f.label(bad)
            call_note(f, lane, offset)
            if loading:
                zero_lane(f, kind, register)
            f.jump(after)
            f.label(good)
            (load_lane if loading else store_lane)(f, kind, f.at(lds, offset), register)
            f.jump(after)
            f.label(after)
    f.ret()
