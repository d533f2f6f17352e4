"""Modifiers and address operands: the parts of an encoding that are rules of the family, not of the opcode.

A modifier appears in `Inst.mods` under the name LLVM prints and only when LLVM prints it, so `mods.get("offset", 0)`
is always right. One default is not zero: `op_sel_hi` of packed instructions is all ones when absent (but all zeros for
v_fma_mix*). The selects of SDWA and the masks of DPP are always present.

    buffer_load_dword v10, v20, s[48:51], s60 offen offset:16   mods = {"offen": True, "offset": 16}
    v_pk_fma_f32 ... op_sel_hi:[1,0,1]                          mods = {"op_sel_hi": (1, 0, 1)}

Source modifiers (neg, abs, sext) go into the operands themselves. `mod_reader(row)` returns a function specialised to
the row, `address_operands(row)` one that fills in the address columns (`vaddr`, `saddr`, `soffset`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from argus.gfx942.encoding import EncodingRow
from argus.gfx942.encoding_operands import sources
from argus.gfx942.inst import InstOperand, Mod

ModReader = Callable[[int, tuple[InstOperand, ...], dict[str, Mod]], tuple[InstOperand, ...]]
"""(instruction number, operands, mods to fill) -> operands with their source modifiers."""

AddressReader = Callable[[int, list[InstOperand | None]], list[InstOperand | None]]
"""(instruction number, operands with gaps) -> operands; an entry stays None when its field is reserved."""

SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
OMOD: tuple[tuple[str, int], ...] = (("", 0), ("mul", 2), ("mul", 4), ("div", 2))
_OFF = InstOperand("off")
_NO_SADDR = 0x7F


class Reserved(Exception):
    """The bits name nothing; the message says which ones."""


def _bits(number: int, shift: int, count: int) -> tuple[int, ...]:
    return tuple(number >> shift + index & 1 for index in range(count))


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


_SOURCES = {"src0": 0, "ssrc0": 0, "src1": 1, "vsrc1": 1, "src2": 2}


def _source_modifier(row: EncodingRow, positions: dict[str, int]) -> ModReader:
    """Apply neg/abs/sext; `positions` gives the bit of each flag (`neg0`, `abs1`, ...)."""
    flags: list[tuple[int, int, str]] = []
    for index, form in enumerate(row.operands):
        order = _SOURCES.get(form.field)
        for name in ("neg", "abs", "sext"):
            if order is not None and f"{name}{order}" in row.mods:
                flags.append((index, positions[f"{name}{order}"], name))
    mask = sum(1 << bit for _, bit, _ in flags)

    def read(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
        if not number & mask:
            return operands
        result = list(operands)
        for index, bit, name in flags:
            if number >> bit & 1:
                operand = result[index]
                if name == "neg":
                    result[index] = replace(operand, neg=True)
                elif name == "abs":
                    result[index] = replace(operand, abs=True)
                else:
                    result[index] = replace(operand, sext=True)
        return tuple(result)

    return read


_VOP3_BITS = {"neg0": 61, "neg1": 62, "neg2": 63, "abs0": 8, "abs1": 9, "abs2": 10}
_SDWA_BITS = {"sext0": 51, "neg0": 52, "abs0": 53, "sext1": 59, "neg1": 60, "abs1": 61}
_DPP_BITS = {"neg0": 52, "abs0": 53, "neg1": 54, "abs1": 55}


def _op_sel_count(row: EncodingRow) -> int:
    """How many entries `op_sel` has for this row; 0 when it has none."""
    return next((int(mod[6:]) for mod in row.mods if mod.startswith("op_sel") and mod[6:].isdigit()), 0)


def _vop3(row: EncodingRow) -> ModReader:
    modify = _source_modifier(row, _VOP3_BITS)
    clamp, omod, entries = "clamp" in row.mods, "omod" in row.mods, _op_sel_count(row)

    def read(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
        if entries and number >> 11 & 15:
            mods["op_sel"] = (*_bits(number, 11, entries - 1), number >> 14 & 1)
        if clamp and number >> 15 & 1:
            mods["clamp"] = True
        if omod and number >> 59 & 3:
            name, value = OMOD[number >> 59 & 3]
            mods[name] = value
        return modify(number, operands, mods)

    return read


def _vop3p(row: EncodingRow) -> ModReader:
    modify = _source_modifier(row, _VOP3_BITS)
    entries = _op_sel_count(row) or sum(form.field.startswith("src") for form in row.operands)
    mods_of = row.mods
    default_hi = 0 if "_mix" in row.op else 1
    has_op_sel = bool(_op_sel_count(row))

    def read(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
        if has_op_sel and any(selects := _bits(number, 11, entries)):
            mods["op_sel"] = selects
        if "op_sel_hi" in mods_of:
            high = (number >> 59 & 1, number >> 60 & 1, number >> 14 & 1)[:entries]
            if any(bit != default_hi for bit in high):
                mods["op_sel_hi"] = high
        for name, shift in (("neg_lo", 61), ("neg_hi", 8)):
            if name in mods_of and any(_bits(number, shift, entries)):
                mods[name] = _bits(number, shift, entries)
        if "clamp" in mods_of and number >> 15 & 1:
            mods["clamp"] = True
        for name, shift, width in (("cbsz", 8, 7), ("abid", 11, 15), ("blgp", 61, 7)):
            if name in mods_of and number >> shift & width:
                mods[name] = number >> shift & width
        if "neg" in mods_of and number >> 61:
            mods["neg"] = _bits(number, 61, entries)
        return modify(number, operands, mods)

    return read


def _sdwa(row: EncodingRow) -> ModReader:
    modify = _source_modifier(row, _SDWA_BITS)
    compare = row.family == "VOPC_SDWA"
    fields = [("src0_sel", 48), ("src1_sel", 56)]
    if not compare:
        fields.insert(0, ("dst_sel", 40))
    scalar0, scalar1 = sources("y", 1), sources("y", 1)
    sdst = sources("s", 2, 7)
    positions = {form.field: index for index, form in enumerate(row.operands)}

    def read(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
        if not compare and "clamp" in row.mods and number >> 45 & 1:
            mods["clamp"] = True
        if "omod" in row.mods and number >> 46 & 3:
            name, value = OMOD[number >> 46 & 3]
            mods[name] = value
        for name, shift in fields:
            if name in row.mods:
                select = number >> shift & 7
                if select == 7:
                    raise Reserved(f"{name} has no selection 7")
                mods[name] = SELECTS[select]
            if name == "dst_sel" and "dst_unused" in row.mods:
                if number >> 43 & 3 == 3:
                    raise Reserved("dst_unused has no selection 3")
                mods["dst_unused"] = UNUSED[number >> 43 & 3]
        result: list[InstOperand | None] = list(operands)
        if number >> 55 & 1 and "src0" in positions:
            result[positions["src0"]] = scalar0[number >> 32 & 255]
        if number >> 63 & 1 and "vsrc1" in positions:
            result[positions["vsrc1"]] = scalar1[number >> 9 & 255]
        if compare and number >> 47 & 1:
            result[0] = sdst[number >> 40 & 127]
        whole = tuple(operand for operand in result if operand is not None and operand.value != -1)
        if len(whole) != len(result):
            raise Reserved("an operand field names no register or constant")
        return modify(number, whole, mods)

    return read


def dpp_control(value: int) -> tuple[str, Mod]:
    """The name and value of a 9-bit DPP control."""
    if value < 0x100:
        return "quad_perm", tuple(value >> 2 * lane & 3 for lane in range(4))
    amount = value & 15
    by_high = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror"}.get(value & 0x1F0)
    if by_high and amount:
        return by_high, amount
    if value & 0x1F0 == 0x150:
        return "row_newbcast", amount
    single: dict[int, tuple[str, Mod]] = {
        0x130: ("wave_shl", 1),
        0x134: ("wave_rol", 1),
        0x138: ("wave_shr", 1),
        0x13C: ("wave_ror", 1),
        0x140: ("row_mirror", True),
        0x141: ("row_half_mirror", True),
        0x142: ("row_bcast", 15),
        0x143: ("row_bcast", 31),
    }
    if value in single:
        return single[value]
    raise Reserved(f"no lane pattern has the number {value:#x}")


def _dpp(row: EncodingRow) -> ModReader:
    modify = _source_modifier(row, _DPP_BITS)
    wide = any(form.dwords > 1 for form in row.operands if form.field != "vcc")

    def read(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
        name, value = dpp_control(number >> 40 & 0x1FF)
        if wide and name != "row_newbcast":
            raise Reserved("64-bit lanes can only be moved by row_newbcast")
        mods[name] = value
        mods["row_mask"] = number >> 60 & 15
        mods["bank_mask"] = number >> 56 & 15
        if number >> 51 & 1:
            mods["bound_ctrl"] = 1
        return modify(number, operands, mods)

    return read


def _flags(row: EncodingRow, positions: dict[str, int], offset_bits: int, signed: bool) -> ModReader:
    """Memory flags by bit position and an offset in the low bits; the address flags are printed before the offset."""
    present = [(name, bit) for name, bit in positions.items() if name in row.mods]
    mask = (1 << offset_bits) - 1 if row.operands else 0
    any_flag = mask | sum(1 << bit for _, bit in present)
    before = [(name, bit) for name, bit in present if name in ("offen", "idxen")]
    after = [(name, bit) for name, bit in present if name not in ("offen", "idxen")]

    def read(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
        if number & any_flag:
            for name, bit in before:
                if number >> bit & 1:
                    mods[name] = True
            offset = number & mask
            if offset:
                mods["offset"] = _signed(offset, offset_bits) if signed else offset
            for name, bit in after:
                if number >> bit & 1:
                    mods[name] = True
        return operands

    return read


def _ds(row: EncodingRow) -> ModReader:
    two = row.op.startswith(("ds_read2", "ds_write2", "ds_wrxchg2"))

    def read(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
        if number & 0xFFFF:
            if not two:
                mods["offset"] = number & 0xFFFF
            else:
                for name, shift in (("offset0", 0), ("offset1", 8)):
                    if number >> shift & 255:
                        mods[name] = number >> shift & 255
        if "gds" in row.mods and number >> 16 & 1:
            mods["gds"] = True
        return operands

    return read


def _smem(row: EncodingRow) -> ModReader:
    def read(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
        if number >> 17 & 1 and number >> 14 & 1 and any(form.field == "soffset" for form in row.operands):
            mods["offset"] = _signed(number >> 32 & 0x1FFFFF, 21)
        if "glc" in row.mods and number >> 16 & 1:
            mods["glc"] = True
        return operands

    return read


def _mtbuf(row: EncodingRow) -> ModReader:
    flags = _flags(row, {"idxen": 13, "offen": 12, "sc0": 14, "nt": 54, "sc1": 53}, 12, signed=False)

    def read(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
        mods["dfmt"], mods["nfmt"] = number >> 19 & 15, number >> 23 & 7
        return flags(number, operands, mods)

    return read


def _no_mods(number: int, operands: tuple[InstOperand, ...], mods: dict[str, Mod]) -> tuple[InstOperand, ...]:
    return operands


_BUFFER_FLAGS = {"idxen": 13, "offen": 12, "sc0": 14, "nt": 17, "sc1": 15, "lds": 16}
_FLAT_FLAGS = {"sc0": 16, "nt": 17, "sc1": 25}


def mod_reader(row: EncodingRow) -> ModReader:
    """The function that reads the modifiers of instructions of this row."""
    match row.family:
        case "VOP3":
            return _vop3(row)
        case "VOP3P":
            return _vop3p(row)
        case "VOP1_SDWA" | "VOP2_SDWA" | "VOPC_SDWA":
            return _sdwa(row) if row.operands else _no_mods
        case "VOP1_DPP" | "VOP2_DPP":
            return _dpp(row)
        case "DS":
            return _ds(row)
        case "SMEM":
            return _smem(row)
        case "MUBUF" | "MUBUF_LDS":
            return _flags(row, _BUFFER_FLAGS, 12, signed=False)
        case "MTBUF":
            return _mtbuf(row)
        case "FLAT" | "FLAT_RTN":
            return _flags(row, _FLAT_FLAGS, 13, signed=False)
        case "GLOBAL" | "GLOBAL_RTN" | "SCRATCH":
            return _flags(row, _FLAT_FLAGS, 13, signed=True)
    return _no_mods


def _buffer_address(row: EncodingRow) -> AddressReader:
    place = next(index for index, form in enumerate(row.operands) if form.field == "vaddr")
    one, two = sources("v", 1, 8), sources("odd", 2, 8)

    def read(number: int, operands: list[InstOperand | None]) -> list[InstOperand | None]:
        both = number >> 12 & 3
        operands[place] = _OFF if not both else (two if both == 3 else one)[number >> 32 & 255]
        return operands

    return read


def _flat_address(row: EncodingRow) -> AddressReader:
    places = {form.field: index for index, form in enumerate(row.operands)}
    one, two = sources("v", 1, 8), sources("v", 2, 8)
    saddr_list = sources("s", 1 if row.family == "SCRATCH" else 2, 7)
    family = row.family.removesuffix("_RTN")

    def read(number: int, operands: list[InstOperand | None]) -> list[InstOperand | None]:
        saddr, vaddr = number >> 48 & 0x7F, number >> 32 & 255
        if family == "FLAT":
            operands[places["vaddr"]] = two[vaddr]
            return operands
        operands[places["saddr"]] = _OFF if saddr == _NO_SADDR else saddr_list[saddr]
        if family == "SCRATCH":
            operands[places["vaddr"]] = one[vaddr] if number >> 13 & 1 else _OFF
        else:
            operands[places["vaddr"]] = (two if saddr == _NO_SADDR else one)[vaddr]
        return operands

    return read


def _scalar_address(row: EncodingRow) -> AddressReader:
    place = next(index for index, form in enumerate(row.operands) if form.field == "soffset")
    registers = sources("s", 1, 7)

    def read(number: int, operands: list[InstOperand | None]) -> list[InstOperand | None]:
        immediate, register = number >> 17 & 1, number >> 14 & 1
        if register:
            operands[place] = registers[number >> 57 & 127]
        elif immediate:
            operands[place] = InstOperand("imm", _signed(number >> 32 & 0x1FFFFF, 21))
        else:
            operands[place] = registers[number >> 32 & 127]
        return operands

    return read


def address_operands(row: EncodingRow) -> AddressReader | None:
    """The function that fills in the address operands of this row; None when it has none."""
    columns = {form.field for form in row.operands if form.dwords == 0}
    if "vaddr" in columns:
        return _buffer_address(row) if row.family in ("MUBUF", "MUBUF_LDS", "MTBUF") else _flat_address(row)
    return _scalar_address(row) if "soffset" in columns else None
