"""One declarative entry per opcode: what kind of instruction it is, what memory it touches, what it waits on.

    spec("buffer_load_dwordx4")
        InstSpec(op="buffer_load_dwordx4", cls="vmem", memory=MemoryEffect("load", "global", 16), counters=("vm",), ...)
    spec("s_and_saveexec_b64").implicit_writes      # {"exec", "scc"}

Machine, clock, audit and documentation all read this table. It is derived from `encoding_table.json`: families, operand
columns and widths come from there, and the rest from the regularity of AMD's mnemonics (the `_u16` of `ds_read_u16` is
the width of the access). Implicit operands are written nowhere in an encoding, so they are the one part that is listed
here, as rules over names; each rule follows the CDNA3 ISA document.

`bytes` is per lane (per instruction for scalar memory). Facts that depend on modifiers of one instruction, such as an
atomic that returns only with `sc0`, are functions of the decoded instruction: `destinations(inst)`, `writes_lds(inst)`
(which also says that M0 is read).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from argus.gfx942.encoding import EncodingRow, table
from argus.gfx942.inst import Inst

InstClass = Literal[
    "valu",
    "trans",
    "salu",
    "smem",
    "lds",
    "vmem",
    "mfma",
    "branch",
    "barrier",
    "waitcnt",
    "nop",
    "export",
    "message",
    "other",
]
MemoryKind = Literal["none", "load", "store", "atomic"]
MemorySpace = Literal["", "global", "lds", "scratch", "flat"]
Counter = Literal["vm", "lgkm"]


@dataclass(frozen=True, slots=True)
class MemoryEffect:
    """The memory effect: what, where, and how many bytes a lane touches."""

    kind: MemoryKind = "none"
    space: MemorySpace = ""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class InstSpec:
    """Everything about an opcode that does not depend on one instruction's operands.

    families        encodings the opcode exists in, the shortest first
    destinations    how many leading operands are written (see the function of that name for returning atomics)
    reads_destination   whether the old value of the destination is an input (v_fmac, v_writelane). Not d16 loads:
                        with SRAM ECC, as on the MI300X, they do not keep the other half (LLVM, d16PreservesUnusedBits)
    counters        wait counters it increments; flat accesses count on both
    implicit_reads, implicit_writes   of "vcc", "scc", "exec", "m0", beyond the operands in the text
    """

    op: str
    families: tuple[str, ...]
    cls: InstClass
    destinations: int
    reads_destination: bool
    memory: MemoryEffect
    counters: tuple[Counter, ...]
    implicit_reads: frozenset[str]
    implicit_writes: frozenset[str]


_TRANS = re.compile(r"v_(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)(_legacy)?_(f16|f32|f64)$")
_SUB_DWORD = ((re.compile(r"_[us]?byte"), 1), (re.compile(r"_[us]?short|_format_d16_x$|_format_d16_hi_x$"), 2))
_ACCUMULATES = re.compile(
    r"v_(fmac|mac|pk_fmac|dot\dc|smfmac|writelane|fma_mix(lo|hi)|cvt_(pk|sr)_[fb]f?p?8_f32|movreld|swap)"
    r"|s_(cmov|bitset|addk|mulk|movreld)"
)
_SALU_FAMILIES = frozenset({"SOP1", "SOP2", "SOPC", "SOPK"})
_BRANCH = re.compile(r"s_(c?branch|setpc|swappc|call|rfe)")
_KEEPS_SCC = re.compile(
    r"s_(mov|cmov|mul|cselect|bfm|pack|sext|brev|ff[01]|flbit|bitset|bitreplicate|getpc|setpc|swappc|rfe|cbranch|call"
    r"|getreg|setreg|set_gpr_idx|setvskip|incperf)"
)
_READS_SCC = re.compile(r"s_(addc|subb|cselect|cmov|cbranch_scc)")


def _family_class(op: str, family: str) -> InstClass:
    if op in ("s_nop", "v_nop"):
        return "nop"
    if _BRANCH.match(op):
        return "branch"
    if family in _SALU_FAMILIES:
        return "salu"
    if family == "SOPP":
        by_name: dict[str, InstClass] = {
            "s_barrier": "barrier",
            "s_waitcnt": "waitcnt",
            "s_sendmsg": "message",
            "s_sendmsghalt": "message",
        }
        return by_name.get(op, "other")
    if family == "SMEM":
        return "smem"
    if family == "DS":
        return "lds"
    if family.startswith(("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF")):
        return "vmem"
    if op.startswith(("v_mfma", "v_smfmac")):
        return "mfma"
    return "trans" if _TRANS.match(op) else "valu"


def _memory_kind(op: str) -> MemoryKind:
    if re.search(r"_(load|read\d?(st64)?)(_|$)", op) and "readlane" not in op:
        return "load"
    if re.search(r"_(store|write\d?(st64)?)(_|$)", op):
        return "store"
    if "_atomic_" in op:
        return "atomic"
    return "none"


def _memory(op: str, row: EncodingRow) -> MemoryEffect:
    match _family_class(op, row.family):
        case "lds":
            return _lds_memory(op)
        case "smem":
            kind = _memory_kind(op)
            dwords = next((form.dwords for form in row.operands if form.field == "sdata"), 0)
            if kind == "none" or op.startswith("s_atc"):
                return MemoryEffect()
            size = 4 * dwords // (2 if "cmpswap" in op else 1)
            return MemoryEffect(kind, "scratch" if op.startswith("s_scratch") else "global", size)
        case "vmem":
            return _vector_memory(op, row)
    return MemoryEffect()


def _lds_memory(op: str) -> MemoryEffect:
    if re.match(r"ds_(permute|bpermute|swizzle|gws|nop|append|consume|ordered)", op):
        return MemoryEffect("atomic", "lds", 4) if op in ("ds_append", "ds_consume") else MemoryEffect()
    bits = 32 if "_pk_add" in op else int(re.findall(r"_[bufi](\d+)", op)[-1] if "d16" not in op else _d16_bits(op))
    size = bits // 8 * (2 if re.match(r"ds_(read2|write2|wrxchg2)", op) else 1)
    kind: MemoryKind = "load" if op.startswith("ds_read") else "store" if op.startswith("ds_write") else "atomic"
    return MemoryEffect(kind, "lds", size)


def _d16_bits(op: str) -> str:
    found = re.search(r"_[bui](8|16)_d16", op)
    return found[1] if found else "16"


def _vector_memory(op: str, row: EncodingRow) -> MemoryEffect:
    kind = _memory_kind(op)
    if kind == "none":
        return MemoryEffect()
    spaces: dict[str, MemorySpace] = {"FLAT": "flat", "SCRATCH": "scratch"}
    space = spaces.get(row.family.removesuffix("_RTN"), "global")
    for pattern, size in _SUB_DWORD:
        if pattern.search(op):
            return MemoryEffect(kind, space, size)
    columns = ("data", "vdata") if kind != "load" else ("vdst", "vdata")
    dwords = next((form.dwords for form in row.operands if form.field in columns), 1)
    if "format_d16_xyz" in op and not op.endswith("w"):
        return MemoryEffect(kind, space, 6)
    return MemoryEffect(kind, space, 4 * dwords // (2 if "cmpswap" in op else 1))


def _destinations(op: str, row: EncodingRow, memory: MemoryEffect) -> int:
    if row.family == "SOPK" and re.match(r"s_(cmpk|setreg|cbranch)", op):
        return 0
    if (
        memory.kind == "store"
        or (memory.kind == "atomic" and row.family in ("SMEM", "MUBUF"))
        or op.startswith("s_atc")
    ):
        return 0
    if op == "v_swap_b32":
        return 2
    count = 0
    for form in row.operands:
        if form.field in ("vdst", "sdst", "sdata", "vdata", "vcc"):
            count += 1
        else:
            break
    return count


def _counters(op: str, cls: InstClass, row: EncodingRow) -> tuple[Counter, ...]:
    if cls == "vmem":
        return ("vm", "lgkm") if row.family.startswith("FLAT") else ("vm",)
    if cls in ("lds", "smem", "message"):
        return (
            () if op in ("ds_nop", "s_dcache_inv_vol", "s_dcache_wb_vol", "s_dcache_inv", "s_dcache_wb") else ("lgkm",)
        )
    return ()


_IGNORES_EXEC = re.compile(r"v_(readlane|writelane|mfma|smfmac|nop|clrexcp)")


def _implicit_reads(op: str, cls: InstClass) -> frozenset[str]:
    found = set()
    if cls in ("valu", "trans", "lds", "vmem") and not _IGNORES_EXEC.match(op):
        found.add("exec")
    if "saveexec" in op or "wrexec" in op or "cbranch_exec" in op:
        found.add("exec")
    if _READS_SCC.match(op):
        found.add("scc")
    if op.startswith(("v_div_fmas", "s_cbranch_vcc")):
        found.add("vcc")
    if "movrel" in op or "addtid" in op or "_load_lds_" in op or op.startswith(("ds_gws", "s_sendmsg", "ds_append")):
        found.add("m0")
    if op == "ds_consume" or op.startswith("s_set_gpr_idx"):
        found.add("m0")
    return frozenset(found)


def _implicit_writes(op: str, cls: InstClass, family: str) -> frozenset[str]:
    found = set()
    if "saveexec" in op or "wrexec" in op or op.startswith("v_cmpx"):
        found.add("exec")
    if family in _SALU_FAMILIES and not _KEEPS_SCC.match(op):
        found.add("scc")
    if op in ("s_set_gpr_idx_on", "s_set_gpr_idx_idx", "s_set_gpr_idx_mode"):
        found.add("m0")
    return frozenset(found)


@cache
def specs() -> dict[str, InstSpec]:
    """All opcodes by base mnemonic."""
    rows: dict[str, list[EncodingRow]] = {}
    for by_opcode in table().values():
        for row in by_opcode.values():
            rows.setdefault(row.op, []).append(row)
    return {op: _spec(op, found) for op, found in rows.items()}


def _spec(op: str, rows: list[EncodingRow]) -> InstSpec:
    row = rows[0]
    cls = _family_class(op, row.family)
    memory = _memory(op, row)
    return InstSpec(
        op=op,
        families=tuple(dict.fromkeys(r.family for r in rows)),
        cls=cls,
        destinations=_destinations(op, row, memory),
        reads_destination=bool(_ACCUMULATES.search(op)) and memory.kind in ("none", "load"),
        memory=memory,
        counters=_counters(op, cls, row),
        implicit_reads=_implicit_reads(op, cls),
        implicit_writes=_implicit_writes(op, cls, row.family),
    )


def spec(op: str) -> InstSpec:
    """The entry of an opcode, by its base mnemonic (`Inst.op`); raises KeyError for an unknown one."""
    return specs()[op]


def destinations(inst: Inst) -> int:
    """How many leading operands this instruction writes, returning atomics and loads to LDS included."""
    found = spec(inst.op)
    if found.memory.kind == "atomic" and found.cls in ("vmem", "smem"):
        return 1 if inst.mods.get("sc0") or inst.mods.get("glc") else 0
    return 0 if writes_lds(inst) else found.destinations


def writes_lds(inst: Inst) -> bool:
    """Whether the instruction loads from memory straight into LDS (at the address in M0)."""
    return bool(inst.mods.get("lds")) or "_load_lds_" in inst.op
