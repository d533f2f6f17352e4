"""Where the bits of a gfx942 instruction sit: families, their bit fields, and the one table of opcodes.

An instruction is one or two 32-bit words; here they are read as one 64-bit number `w = word0 | word1 << 32`, so that a
field is just (shift, width). The leading bits of word 0 name the *family*, a family has one opcode field, and the pair
(family, opcode) names a row of `encoding_table.json`:

    word0 = 0x02144114    bit 31 = 0, opcode 30:25 = 1        -> family VOP2, opcode 1
    table["VOP2"]["1"]  = ["v_add_f32_e32", "v1@vdst x1@src0 v1@vsrc1", "", "0", "0"]
                           -> v_add_f32_e32 v10, v20, v32

The columns of a row are: the mnemonic as LLVM prints it; the operands in the order of the text; the modifiers that
exist for this opcode; and two masks (hexadecimal, of the 64-bit number): bits that must be zero, bits that must be one.

An operand is `<kind><dwords><type>@<field>`:
    kind    v VGPR, a AGPR, m VGPR or AGPR (chosen by an accumulator bit), c as m or a constant, s SGPR,
            x any source (VGPR, SGPR, constant), e VGPR or SGPR, y scalar source (SGPR, constant), i immediate,
            k the 32-bit word that follows
    type    how a constant in that place is printed: (none) 32-bit, h f16, w i16, p packed f16, d f64, q 64-bit integer
and the words `vcc`, `addr`, `saddr` stand for operands whose form follows from the family's rules.

Why a table and not code: the table is made by `tools/gfx942_table.py` from an independent disassembler, one opcode at a
time, so a mistake in our understanding shows as a difference and not as a second opinion. What this module cannot do:
it knows nothing of what an instruction computes (see `instructions.py`) nor how it is printed (see `disasm.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Field = tuple[int, int]
"""Shift and width of a bit field in the 64-bit instruction number."""

_VOP_E32: dict[str, Field] = {"vdst": (17, 8), "src0": (0, 9), "vsrc1": (9, 8)}
_VOP3: dict[str, Field] = {"vdst": (0, 8), "sdst": (8, 7), "src0": (32, 9), "src1": (41, 9), "src2": (50, 9)}
_SDWA: dict[str, Field] = {"vdst": (17, 8), "sdst": (40, 7), "src0": (32, 8), "vsrc1": (9, 8)}
_FLAT: dict[str, Field] = {"vdst": (56, 8), "saddr": (48, 7), "data": (40, 8), "vaddr": (32, 8)}
_BUFFER: dict[str, Field] = {"vdata": (40, 8), "vaddr": (32, 8), "srsrc": (48, 5), "soffset": (56, 8)}

FIELDS: dict[str, dict[str, Field]] = {
    "SOP1": {"sdst": (16, 7), "ssrc0": (0, 8)},
    "SOP2": {"sdst": (16, 7), "ssrc0": (0, 8), "ssrc1": (8, 8)},
    "SOPC": {"ssrc0": (0, 8), "ssrc1": (8, 8)},
    "SOPK": {"sdst": (16, 7), "simm16": (0, 16)},
    "SOPP": {"simm16": (0, 16)},
    "SMEM": {"sdata": (6, 7), "sbase": (0, 6), "offset": (32, 21), "soffset": (57, 7)},
    "VOP1": _VOP_E32,
    "VOP2": _VOP_E32,
    "VOPC": _VOP_E32,
    "VOP1_SDWA": _SDWA,
    "VOP2_SDWA": _SDWA,
    "VOPC_SDWA": _SDWA,
    "VOP1_DPP": _SDWA,
    "VOP2_DPP": _SDWA,
    "VOP3": _VOP3,
    "VOP3P": _VOP3,
    "DS": {"vdst": (56, 8), "addr": (32, 8), "data0": (40, 8), "data1": (48, 8)},
    "FLAT": _FLAT,
    "FLAT_RTN": _FLAT,
    "GLOBAL": _FLAT,
    "GLOBAL_RTN": _FLAT,
    "SCRATCH": _FLAT,
    "MUBUF": _BUFFER,
    "MUBUF_LDS": _BUFFER,
    "MTBUF": _BUFFER,
}
"""Operand fields of every family."""

OPCODE: dict[str, Field] = {
    "SOP1": (8, 8),
    "SOP2": (23, 7),
    "SOPC": (16, 7),
    "SOPK": (23, 5),
    "SOPP": (16, 7),
    "SMEM": (18, 8),
    "VOP1": (9, 8),
    "VOP2": (25, 6),
    "VOPC": (17, 8),
    "VOP1_SDWA": (9, 8),
    "VOP2_SDWA": (25, 6),
    "VOPC_SDWA": (17, 8),
    "VOP1_DPP": (9, 8),
    "VOP2_DPP": (25, 6),
    "VOP3": (16, 10),
    "VOP3P": (16, 7),
    "DS": (17, 8),
    "FLAT": (18, 7),
    "FLAT_RTN": (18, 7),
    "GLOBAL": (18, 7),
    "GLOBAL_RTN": (18, 7),
    "SCRATCH": (18, 7),
    "MUBUF": (18, 7),
    "MUBUF_LDS": (18, 7),
    "MTBUF": (15, 4),
}
"""The opcode field of every family."""

PREFIX: dict[str, int] = {
    "SOP1": 0xBE800000,
    "SOP2": 0x80000000,
    "SOPC": 0xBF000000,
    "SOPK": 0xB0000000,
    "SOPP": 0xBF800000,
    "SMEM": 0xC0000000,
    "VOP1": 0x7E000000,
    "VOP2": 0x00000000,
    "VOPC": 0x7C000000,
    "VOP1_SDWA": 0x7E0000F9,
    "VOP2_SDWA": 0x000000F9,
    "VOPC_SDWA": 0x7C0000F9,
    "VOP1_DPP": 0x7E0000FA,
    "VOP2_DPP": 0x000000FA,
    "VOP3": 0xD0000000,
    "VOP3P": 0xD3800000,
    "DS": 0xD8000000,
    "FLAT": 0xDC000000,
    "FLAT_RTN": 0xDC010000,
    "GLOBAL": 0xDC008000,
    "GLOBAL_RTN": 0xDC018000,
    "SCRATCH": 0xDC004000,
    "MUBUF": 0xE0000000,
    "MUBUF_LDS": 0xE0010000,
    "MTBUF": 0xE8000000,
}
"""The constant bits of word 0 of every family."""

TWO_WORDS = frozenset(
    name for name in PREFIX if name not in {"SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "VOP1", "VOP2", "VOPC"}
)
"""Families that always take two words; the others grow a second word only for a literal."""

SDWA_MARK, DPP_MARK, LITERAL = 249, 250, 255
"""Values of a source field that announce a second word."""

_BY_TOP6: dict[int, str] = {0x30: "SMEM", 0x34: "VOP3", 0x36: "DS", 0x37: "FLAT", 0x38: "MUBUF", 0x3A: "MTBUF"}
_FLAT_SEGMENT: tuple[str, str, str, str] = ("FLAT", "SCRATCH", "GLOBAL", "")


def family_of(word: int) -> str:
    """The family named by the leading bits of word 0; empty when there is none.

    FLAT_RTN, GLOBAL_RTN and MUBUF_LDS are not distinguished here: whether they apply depends on the opcode.
    """
    if not word >> 31:
        top = word >> 25
        name = "VOP1" if top == 0x3F else "VOPC" if top == 0x3E else "VOP2"
        mark = word & 0x1FF
        if mark == SDWA_MARK:
            return name + "_SDWA"
        if mark == DPP_MARK:
            return name + "_DPP"
        return name
    if word >> 30 == 2:
        top = word >> 23
        if top == 0x17D:
            return "SOP1"
        if top == 0x17E:
            return "SOPC"
        if top == 0x17F:
            return "SOPP"
        return "SOPK" if word >> 28 == 0xB else "SOP2"
    name = _BY_TOP6.get(word >> 26, "")
    if name == "VOP3" and word >> 23 & 7 == 7:
        return "VOP3P"
    if name == "FLAT":
        return _FLAT_SEGMENT[word >> 14 & 3]
    return name


@dataclass(frozen=True, slots=True)
class OperandForm:
    """One operand column of a row: `x2d@src0` is kind x, 2 dwords, type d, field src0."""

    kind: str
    dwords: int
    type: str
    field: str


@dataclass(frozen=True, slots=True)
class EncodingRow:
    """One opcode of one family."""

    family: str
    opcode: int
    mnemonic: str
    op: str
    enc: str
    operands: tuple[OperandForm, ...]
    mods: frozenset[str]
    zero: int
    one: int


_SUFFIXES = ("e32", "e64", "sdwa", "dpp")


def split_mnemonic(mnemonic: str) -> tuple[str, str]:
    """`v_add_f32_e64` -> (`v_add_f32`, `e64`); a mnemonic without encoding suffix keeps an empty one."""
    stem, _, last = mnemonic.rpartition("_")
    return (stem, last) if last in _SUFFIXES else (mnemonic, "")


def parse_operand_form(text: str) -> OperandForm:
    """Read one operand column of the table."""
    shape, _, field = text.partition("@")
    if not field:
        return OperandForm(text, 0, "", text)
    digits = shape[1:].rstrip("hwpdq")
    return OperandForm(shape[0], int(digits or "0"), shape[1 + len(digits) :], field)


@cache
def table() -> dict[str, dict[int, EncodingRow]]:
    """All rows, by family and opcode."""
    raw = json.loads(files("argus.gfx942").joinpath("encoding_table.json").read_text(encoding="utf-8"))
    rows: dict[str, dict[int, EncodingRow]] = {}
    for family, by_opcode in raw["rows"].items():
        rows[family] = {}
        for opcode, (mnemonic, operands, mods, zero, one) in by_opcode.items():
            op, enc = split_mnemonic(mnemonic)
            forms = tuple(parse_operand_form(text) for text in operands.split())
            masks = int(zero, 16), int(one, 16)
            row = EncodingRow(family, int(opcode), mnemonic, op, enc, forms, frozenset(mods.split()), *masks)
            rows[family][row.opcode] = row
    return rows
