"""The finished object, decoded: instructions of one kernel by class, its loops, its registers.

    code = decode(object_bytes, "gemm")
    code.classes          {"mfma": 32, "ds_read": 16, ...}
    code.loops            [(first, last), ...] positions in code.insts, innermost bodies first

Read from the bytes that will be loaded, by the same decoder the machine uses; nothing is taken over from the compiler.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgpack

from argus.compile.objects import read_object
from argus.gfx942.decoder import DecodeError, decode_all
from argus.gfx942.elf import ET_DYN, SHT_NOTE, Elf
from argus.gfx942.inst import Inst
from argus.ir.compile_error import CompileError

NT_AMDGPU_METADATA = 32
PRELOADED_ENTRY = 256

_PREFIXES: tuple[tuple[str, str], ...] = (
    ("v_mfma", "mfma"),
    ("v_smfmac", "mfma"),
    ("v_accvgpr", "accmov"),
    ("ds_read", "ds_read"),
    ("ds_write", "ds_write"),
    ("ds_bpermute", "exchange"),
    ("ds_permute", "exchange"),
    ("ds_swizzle", "exchange"),
    ("ds_", "ds_atomic"),
    ("scratch_", "scratch"),
    ("buffer_atomic", "atomic"),
    ("global_atomic", "atomic"),
    ("flat_atomic", "atomic"),
    ("buffer_load", "load"),
    ("global_load", "load"),
    ("flat_load", "load"),
    ("buffer_store", "store"),
    ("global_store", "store"),
    ("flat_store", "store"),
    ("s_waitcnt", "wait"),
    ("s_barrier", "barrier"),
    ("s_nop", "nop"),
    ("s_setprio", "prio"),
    ("s_branch", "branch"),
    ("s_cbranch", "branch"),
    ("s_endpgm", "end"),
    ("s_load", "smem"),
    ("s_", "salu"),
    ("v_exp_", "trans"),
    ("v_log_", "trans"),
    ("v_rcp_", "trans"),
    ("v_rsq_", "trans"),
    ("v_sqrt_", "trans"),
    ("v_", "valu"),
)


def kind(inst: Inst) -> str:
    """The class of an instruction."""
    name = next((k for prefix, k in _PREFIXES if inst.op.startswith(prefix)), "other")
    return "load_lds" if name == "load" and inst.mods.get("lds") else name


@dataclass(frozen=True, slots=True)
class Decoded:
    """The instructions of one kernel and their classes.

    With preloaded arguments, execution starts 256 bytes in; what stands before is the fallback of older firmware, which
    loads the arguments and jumps there. `classes` counts from `entry` on.
    """

    insts: list[Inst]
    kinds: list[str]
    metadata: dict[str, Any]

    @property
    def entry(self) -> int:
        """Position of the first instruction executed."""
        for n, inst in enumerate(self.insts):
            if inst.op == "s_branch" and inst.target == PRELOADED_ENTRY and inst.pc < PRELOADED_ENTRY:
                return next(m for m, later in enumerate(self.insts) if later.pc == PRELOADED_ENTRY and m > n)
            if self.kinds[n] not in ("smem", "wait"):
                break
        return 0

    @property
    def classes(self) -> dict[str, int]:
        counts = Counter(self.kinds[self.entry :])
        names = dict.fromkeys([*(k for _, k in _PREFIXES), "load_lds", "other"])
        return {name: counts[name] for name in names if counts[name]}

    @property
    def loops(self) -> list[tuple[int, int]]:
        """(first, last) positions of each backward branch's body, shortest first."""
        at = {inst.pc: n for n, inst in enumerate(self.insts)}
        found = [
            (at[inst.target], n)
            for n, inst in enumerate(self.insts)
            if inst.target is not None and inst.target <= inst.pc and inst.target in at
        ]
        return sorted(found, key=lambda span: span[1] - span[0])


NEEDED_METADATA = {".args", ".group_segment_fixed_size", ".private_segment_fixed_size", ".vgpr_count"}


def decode(code_object: bytes, kernel: str) -> Decoded:
    """The code of one kernel in a linked object; pcs count from the kernel's entry."""
    source = read_object(code_object, ET_DYN)
    symbol = next((s for s in source.symbols if s.name == kernel), None)
    if symbol is None or symbol.section >= len(source.sections):
        raise CompileError("C401", f"the object has no kernel {kernel!r}")
    section = source.sections[symbol.section]
    start = symbol.value - section.address
    try:
        insts = decode_all(section.data[start : start + symbol.size])
    except DecodeError as error:
        raise CompileError("C401", f"the object's code cannot be decoded: {error}") from None
    return Decoded(insts, [kind(inst) for inst in insts], _metadata(source, kernel))


def _metadata(source: Elf, kernel: str) -> dict[str, Any]:
    for section in source.sections:
        if section.type != SHT_NOTE or len(section.data) < 12:
            continue
        name_size, size, note = (int.from_bytes(section.data[n : n + 4], "little") for n in (0, 4, 8))
        start = 12 + -(-name_size // 4) * 4
        if note != NT_AMDGPU_METADATA:
            continue
        try:
            document = msgpack.unpackb(bytes(section.data[start : start + size]))
            found: list[dict[str, Any]] = [row for row in document["amdhsa.kernels"] if row[".name"] == kernel]
        except (ValueError, KeyError, TypeError, msgpack.exceptions.UnpackException) as error:
            raise CompileError("C401", f"the object's metadata cannot be read: {error}") from None
        if found and found[0].keys() >= NEEDED_METADATA:
            return found[0]
    raise CompileError("C401", f"the object has no metadata of kernel {kernel!r}")
