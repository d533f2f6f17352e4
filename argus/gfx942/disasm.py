"""`Inst` to assembly text, character for character what `llvm-objdump` prints for gfx942.

    text(decode(bytes.fromhex("14411402")))  ->  "v_add_f32_e32 v10, v20, v32"

This is the form people read in reports and the form in which the decoder is compared with LLVM, so the finer points are
printed faithfully: a literal that could have been an inline constant is `lit(0x5)`, a negated constant is `neg(1)`, a
16-bit integer place shows the half-precision bits of an inline float. The text is made from the decoded fields alone
(operands, modifiers); the words are used only to find the row of the opcode. Branches print their raw offset.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.gfx942 import encoding_names as names
from argus.gfx942.decoder import row_of
from argus.gfx942.encoding import EncodingRow, OperandForm, table
from argus.gfx942.encoding_operands import FLOAT_BITS, SPECIAL_NAMES
from argus.gfx942.inst import EXEC, FLAT_SCRATCH, M0, TTMP, VCC, XNACK_MASK, Inst, InstOperand, Mod

_PAIRS = {FLAT_SCRATCH: "flat_scratch", XNACK_MASK: "xnack_mask", VCC: "vcc", EXEC: "exec"}
_FLOATS = {
    0x3F000000: "0.5",
    0xBF000000: "-0.5",
    0x3F800000: "1.0",
    0xBF800000: "-1.0",
    0x40000000: "2.0",
    0xC0000000: "-2.0",
    0x40800000: "4.0",
    0xC0800000: "-4.0",
    0x3E22F983: "0.15915494",
}
_HALVES = (0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118)
_HALF_OF = dict(zip(FLOAT_BITS.values(), _HALVES, strict=True))
_DOUBLES = {
    0: "0",
    0x3FE00000: "0.5",
    0xBFE00000: "-0.5",
    0x3FF00000: "1.0",
    0xBFF00000: "-1.0",
    0x40000000: "2.0",
    0xC0000000: "-2.0",
    0x40100000: "4.0",
    0xC0100000: "-4.0",
}
"""High words of double-precision inline constants: a literal gives the high word of a double."""
_LONG_INVERSE_TAU = "0.15915494309189532"


def text(inst: Inst) -> str:
    """The assembly text of a decoded instruction."""
    row = row_of(inst.words)
    pieces = [_operand(inst, row, form, operand) for form, operand in zip(row.operands, inst.operands, strict=True)]
    body = ", ".join(piece for piece in pieces if piece)
    mods = " ".join(_mods(row, inst.mods))
    return " ".join(part for part in (row.mnemonic, body, mods) if part)


def _operand(inst: Inst, row: EncodingRow, form: OperandForm, operand: InstOperand) -> str:
    plain = _immediate(inst, form, operand.value) if operand.kind == "imm" and form.kind == "i" else None
    if plain is None:
        plain = _value(row, form, operand)
    if operand.sext:
        return f"sext({plain})"
    if operand.abs:
        plain = f"|{plain}|"
    if operand.neg:
        constant = operand.kind in ("imm", "fimm", "lit") and not operand.abs
        return f"neg({plain})" if constant else f"-{plain}"
    return plain


def _value(row: EncodingRow, form: OperandForm, operand: InstOperand) -> str:
    match operand.kind:
        case "v" | "a":
            return _group(operand.kind, operand.value, operand.count)
        case "s":
            return _scalar(operand.value, operand.count)
        case "imm":
            return f"{operand.value:#x}" if row.family == "SMEM" else str(operand.value)
        case "fimm":
            return _inline_float(row, form, operand.value)
        case "lit":
            if form.kind == "k":
                return _following(operand.value) if row.family == "SOPK" else f"{operand.value:#x}"
            return _literal(form.type, operand.value)
        case "off":
            return "off"
    return SPECIAL_NAMES[operand.value]


def _group(letter: str, first: int, count: int) -> str:
    return f"{letter}{first}" if count == 1 else f"{letter}[{first}:{first + count - 1}]"


def _scalar(first: int, count: int) -> str:
    if first == M0:
        return "m0"
    if TTMP <= first < M0:
        return _group("ttmp", first - TTMP, count)
    if first < FLAT_SCRATCH:
        return _group("s", first, count)
    name = _PAIRS[first & ~1]
    return name if count == 2 else f"{name}_{'hi' if first & 1 else 'lo'}"


_E64_OPCODE = {"VOPC_SDWA": 0, "VOP2_SDWA": 256, "VOP1_SDWA": 320}


def _place_type(row: EncodingRow, form: OperandForm) -> str:
    """The constant type of a place; SDWA rows take it from the e64 form of the same instruction."""
    if row.family not in _E64_OPCODE:
        return form.type
    wide = table()["VOP3"].get(row.opcode + _E64_OPCODE[row.family])
    field = form.field.removeprefix("v")
    return next((other.type for other in wide.operands if other.field == field), "") if wide else ""


def _inline_float(row: EncodingRow, form: OperandForm, bits: int) -> str:
    if _place_type(row, form) == "w":
        return f"{_HALF_OF[bits]:#x}"
    if form.type in ("d", "q") and bits == 0x3E22F983:
        return _LONG_INVERSE_TAU
    return _FLOATS[bits]


def _following(value: int) -> str:
    """The 32-bit immediate of s_setreg_imm32_b32, by its inline constant if there is one."""
    if value <= 64 or value >= 0xFFFFFFF0:
        return str(value if value <= 64 else value - (1 << 32))
    return _FLOATS.get(value, f"{value:#x}")


def _literal(type_: str, value: int) -> str:
    """A literal; in `lit(...)` when the value also exists as an inline constant, so that it reads back as it was."""
    shown, small = value, value <= 64 or value >= 0xFFFFFFF0
    match type_:
        case "d":
            return _DOUBLES.get(value, f"{value:#x}")
        case "q":
            inline = value <= 64
        case "h":
            shown = value & 0xFFFF
            inline = shown <= 64 or shown >= 0xFFF0 or shown in _HALVES
        case "w":
            shown = value & 0xFFFF
            inline = small or value in _FLOATS
        case "p":
            inline = small or value in _HALVES
        case _:
            inline = small or value in _FLOATS
    return f"lit({value:#x})" if inline else f"{shown:#x}"


def _immediate(inst: Inst, form: OperandForm, value: int) -> str:
    op = inst.op
    if op == "s_waitcnt":
        return names.wait_counts(value)
    if op in ("s_sendmsg", "s_sendmsghalt"):
        return names.message(value)
    if "etreg" in op:
        return names.hardware_register(value)
    if op in ("s_set_gpr_idx_on", "s_set_gpr_idx_mode"):
        return names.index_mode(value)
    if op == "s_endpgm":
        return str(value or "")
    if inst.target is not None or (value <= 64 and row_of(inst.words).family in ("SOPP", "SMEM")):
        return str(value)
    return f"{value:#x}"


_LISTS = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi", "neg", "quad_perm")
_HEX = ("row_mask", "bank_mask")


def _mods(row: EncodingRow, mods: Mapping[str, Mod]) -> list[str]:
    """The modifiers in LLVM's order, which is the order in which the decoder enters them."""
    if row.family == "MTBUF":
        rest = {name: value for name, value in mods.items() if name not in ("dfmt", "nfmt")}
        form = names.buffer_format(_number(mods["dfmt"]), _number(mods["nfmt"]))
        return [part for part in [form] if part] + [_mod(row, name, value) for name, value in rest.items()]
    shown = [_mod(row, name, value) for name, value in mods.items()]
    if row.op.startswith("ds_gws"):
        shown.append("gds")
    return shown


def _number(value: Mod) -> int:
    return value if isinstance(value, int) else 0


def _mod(row: EncodingRow, name: str, value: Mod) -> str:
    if name in _LISTS and isinstance(value, tuple):
        return f"{name}:[{','.join(str(entry) for entry in value)}]"
    if name in _HEX or (name == "offset" and row.family == "SMEM"):
        return f"{name}:{value:#x}"
    if name == "offset" and row.op == "ds_swizzle_b32" and isinstance(value, int):
        return f"offset:{names.swizzle(value)}"
    return name if value is True else f"{name}:{value}"
