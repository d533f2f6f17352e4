"""Memory instructions as data: what each moves and where.

    MEMORY["global_load_dwordx4"]   load, 4 dwords per lane
    MEMORY["ds_read2st64_b64"]      load of two 8-byte elements at offset0 * 512 and offset1 * 512
    MEMORY["buffer_load_short_d16_hi"]   load of 2 bytes into the high half of the register, the low half 0

Addresses
    global   64-bit register pair + offset, or 32-bit register + scalar pair + offset
    flat     64-bit register pair + offset; inside the LDS or scratch aperture it addresses those
    scratch  (register or 0) + (scalar or 0) + offset, per lane private
    buffer   base of the resource + register (offen) + index * stride (idxen) + soffset + offset. The range check covers
             (register + offset) mod 2**32 + soffset (with a stride and an index: the index against num_records), dword
             by dword, atomics as a whole. Out of range: loads give 0, stores and atomics do nothing
    lds      32-bit register + offset (ds_*); M0 is not a limit on gfx942
    scalar   scalar pair + offset or scalar; the two low address bits are ignored
    `to_lds` forms write LDS at M0[15:0] + offset + 4 * lane instead of a register; inactive lanes write nothing

Atomics are one lane after another, lowest lane first. `returns` says whether the old value goes to a register: the
`rtn` opcodes of LDS, the sc0 bit (glc for scalar memory) elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Space = Literal["global", "flat", "scratch", "buffer", "lds", "scalar", "scalar_buffer"]
Kind = Literal["load", "store", "atomic"]


@dataclass(frozen=True, slots=True)
class MemoryOp:
    """One memory instruction.

    size       bytes of one element in memory;
    dwords     registers per element;
    elements   1, or 2 for the ds_*2 forms, with `stride` bytes per unit of offset0 / offset1;
    signed     sub-dword loads sign-extend;
    half       -1: the whole register; 0, 1: that half is written and the other one cleared (d16) or, for stores, read;
    to_lds     the value goes to LDS;
    atomic     name of the update in `ATOMICS`; "" otherwise.
    """

    name: str
    space: Space
    kind: Kind
    size: int
    dwords: int = 1
    elements: int = 1
    stride: int = 0
    signed: bool = False
    half: int = -1
    to_lds: bool = False
    atomic: str = ""
    returns: bool = False


MEMORY: dict[str, MemoryOp] = {}


def _enter(op: MemoryOp) -> None:
    MEMORY[op.name] = op


_WIDTHS = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4}
_SMALL_LOADS: dict[str, tuple[int, bool, int]] = {
    "ubyte": (1, False, -1),
    "sbyte": (1, True, -1),
    "ushort": (2, False, -1),
    "sshort": (2, True, -1),
    "ubyte_d16": (1, False, 0),
    "ubyte_d16_hi": (1, False, 1),
    "sbyte_d16": (1, True, 0),
    "sbyte_d16_hi": (1, True, 1),
    "short_d16": (2, False, 0),
    "short_d16_hi": (2, False, 1),
}
_SMALL_STORES: dict[str, tuple[int, int]] = {
    "byte": (1, -1),
    "byte_d16_hi": (1, 1),
    "short": (2, -1),
    "short_d16_hi": (2, 1),
}
_INTEGER_ATOMICS = ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec")
_FLOAT_ATOMICS: dict[str, int] = {
    "add_f32": 4,
    "pk_add_f16": 4,
    "pk_add_bf16": 4,
    "add_f64": 8,
    "min_f64": 8,
    "max_f64": 8,
}


def _vector_memory(space: Space, prefix: str) -> None:
    for name, n in _WIDTHS.items():
        _enter(MemoryOp(f"{prefix}_load_{name}", space, "load", 4 * n, n))
        _enter(MemoryOp(f"{prefix}_store_{name}", space, "store", 4 * n, n))
    for name, (size, signed, half) in _SMALL_LOADS.items():
        _enter(MemoryOp(f"{prefix}_load_{name}", space, "load", size, signed=signed, half=half))
    for name, (size, half) in _SMALL_STORES.items():
        _enter(MemoryOp(f"{prefix}_store_{name}", space, "store", size, half=half))
    if space in ("global", "scratch"):
        for name, size, signed in (
            ("ubyte", 1, False),
            ("sbyte", 1, True),
            ("ushort", 2, False),
            ("sshort", 2, True),
            ("dword", 4, False),
        ):
            _enter(MemoryOp(f"{prefix}_load_lds_{name}", space, "load", size, signed=signed, to_lds=True))
    if space == "scratch":
        return
    for name in _INTEGER_ATOMICS:
        for suffix, n in (("", 1), ("_x2", 2)):
            _enter(MemoryOp(f"{prefix}_atomic_{name}{suffix}", space, "atomic", 4 * n, n, atomic=f"{name}{32 * n}"))
    for name, size in _FLOAT_ATOMICS.items():
        _enter(MemoryOp(f"{prefix}_atomic_{name}", space, "atomic", size, size // 4, atomic=name))


def _scalar_memory() -> None:
    for n in (1, 2, 4, 8, 16):
        suffix = f"x{n}" if n > 1 else ""
        _enter(MemoryOp(f"s_load_dword{suffix}", "scalar", "load", 4 * n, n))
        _enter(MemoryOp(f"s_buffer_load_dword{suffix}", "scalar_buffer", "load", 4 * n, n))
        if n <= 4:
            _enter(MemoryOp(f"s_store_dword{suffix}", "scalar", "store", 4 * n, n))
            _enter(MemoryOp(f"s_buffer_store_dword{suffix}", "scalar_buffer", "store", 4 * n, n))
    for name in _INTEGER_ATOMICS:
        for suffix, n in (("", 1), ("_x2", 2)):
            kind = f"{name}{32 * n}"
            _enter(MemoryOp(f"s_atomic_{name}{suffix}", "scalar", "atomic", 4 * n, n, atomic=kind))
            _enter(MemoryOp(f"s_buffer_atomic_{name}{suffix}", "scalar_buffer", "atomic", 4 * n, n, atomic=kind))


_DS_ATOMICS: dict[str, str] = {
    "add_u": "add",
    "sub_u": "sub",
    "rsub_u": "rsub",
    "inc_u": "inc",
    "dec_u": "dec",
    "min_i": "smin",
    "max_i": "smax",
    "min_u": "umin",
    "max_u": "umax",
    "and_b": "and",
    "or_b": "or",
    "xor_b": "xor",
    "mskor_b": "mskor",
    "cmpst_b": "cmpst",
    "wrxchg_b": "swap",
}
_DS_FLOAT_ATOMICS = ("add_f32", "min_f32", "max_f32", "add_f64", "min_f64", "max_f64", "pk_add_f16", "pk_add_bf16")


def _lds_memory() -> None:
    for bits in (32, 64, 96, 128):
        n = bits // 32
        _enter(MemoryOp(f"ds_read_b{bits}", "lds", "load", 4 * n, n))
        _enter(MemoryOp(f"ds_write_b{bits}", "lds", "store", 4 * n, n))
        if n <= 2:
            for form, unit in (("2", 4 * n), ("2st64", 256 * n)):
                _enter(MemoryOp(f"ds_read{form}_b{bits}", "lds", "load", 4 * n, n, 2, unit))
                _enter(MemoryOp(f"ds_write{form}_b{bits}", "lds", "store", 4 * n, n, 2, unit))
    for name, size, signed in (("u8", 1, False), ("i8", 1, True), ("u16", 2, False), ("i16", 2, True)):
        _enter(MemoryOp(f"ds_read_{name}", "lds", "load", size, signed=signed))
        if name != "i16":
            for suffix, half in (("_d16", 0), ("_d16_hi", 1)):
                _enter(MemoryOp(f"ds_read_{name}{suffix}", "lds", "load", size, signed=signed, half=half))
    for name, size in (("b8", 1), ("b16", 2)):
        _enter(MemoryOp(f"ds_write_{name}", "lds", "store", size))
        _enter(MemoryOp(f"ds_write_{name}_d16_hi", "lds", "store", size, half=1))
    for name, update in _DS_ATOMICS.items():
        stem, kind = name.split("_")
        for n in (1, 2):
            atomic = f"{update}{32 * n}"
            if stem != "wrxchg":
                _enter(MemoryOp(f"ds_{stem}_{kind}{32 * n}", "lds", "atomic", 4 * n, n, atomic=atomic))
            _enter(MemoryOp(f"ds_{stem}_rtn_{kind}{32 * n}", "lds", "atomic", 4 * n, n, atomic=atomic, returns=True))
    for name in _DS_FLOAT_ATOMICS:
        stem, _, kind = name.rpartition("_")
        size = 8 if kind == "f64" else 4
        _enter(MemoryOp(f"ds_{stem}_{kind}", "lds", "atomic", size, size // 4, atomic=name))
        _enter(MemoryOp(f"ds_{stem}_rtn_{kind}", "lds", "atomic", size, size // 4, atomic=name, returns=True))


_vector_memory("global", "global")
_vector_memory("flat", "flat")
_vector_memory("scratch", "scratch")
_vector_memory("buffer", "buffer")
_scalar_memory()
_lds_memory()
