"""Names that the disassembler prints for packed immediates: wait counts, hardware registers, messages, lane patterns.

    wait_counts(0x0f70)  ->  "vmcnt(0)"            hardware_register(0xf801)  ->  "hwreg(HW_REG_MODE)"
    swizzle(0x041f)      ->  "swizzle(SWAP,1)"     message(0x0001)            ->  "sendmsg(MSG_INTERRUPT)"

`split_wait_counts` is also what the machine and the clock use to read an s_waitcnt. A bit pattern that has no name is
printed as a plain number, as LLVM does; nothing here raises.
"""

from __future__ import annotations

VM_MAX, EXP_MAX, LGKM_MAX = 63, 7, 15


def split_wait_counts(value: int) -> tuple[int, int, int]:
    """(vmcnt, expcnt, lgkmcnt) of the 16-bit immediate of s_waitcnt."""
    return value & 15 | (value >> 14 & 3) << 4, value >> 4 & 7, value >> 8 & 15


def wait_counts(value: int) -> str:
    """The counters an s_waitcnt waits for; all three when it waits for none."""
    vm, exp, lgkm = split_wait_counts(value)
    parts = [("vmcnt", vm, VM_MAX), ("expcnt", exp, EXP_MAX), ("lgkmcnt", lgkm, LGKM_MAX)]
    waiting = [f"{name}({count})" for name, count, limit in parts if count != limit]
    return " ".join(waiting or [f"{name}({count})" for name, count, _ in parts])


HARDWARE_REGISTERS: dict[int, str] = {
    1: "HW_REG_MODE",
    2: "HW_REG_STATUS",
    3: "HW_REG_TRAPSTS",
    4: "HW_REG_HW_ID",
    5: "HW_REG_GPR_ALLOC",
    6: "HW_REG_LDS_ALLOC",
    7: "HW_REG_IB_STS",
    15: "HW_REG_SH_MEM_BASES",
    16: "HW_REG_TBA_LO",
    17: "HW_REG_TBA_HI",
    18: "HW_REG_TMA_LO",
    19: "HW_REG_TMA_HI",
    20: "HW_REG_XCC_ID",
    21: "HW_REG_SQ_PERF_SNAPSHOT_DATA",
    22: "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
    23: "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
    24: "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
}


def hardware_register(value: int) -> str:
    """The operand of s_getreg/s_setreg: register, first bit, number of bits."""
    name = HARDWARE_REGISTERS.get(value & 63, str(value & 63))
    first, count = value >> 6 & 31, (value >> 11 & 31) + 1
    return f"hwreg({name})" if (first, count) == (0, 32) else f"hwreg({name}, {first}, {count})"


_MESSAGES = {
    1: "MSG_INTERRUPT",
    2: "MSG_GS",
    3: "MSG_GS_DONE",
    4: "MSG_SAVEWAVE",
    5: "MSG_STALL_WAVE_GEN",
    6: "MSG_HALT_WAVES",
    7: "MSG_ORDERED_PS_DONE",
    8: "MSG_EARLY_PRIM_DEALLOC",
    9: "MSG_GS_ALLOC_REQ",
    10: "MSG_GET_DOORBELL",
    15: "MSG_SYSMSG",
}
_GS_OPS = ("GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT")
_SYSTEM_OPS = {1: "SYSMSG_OP_ECC_ERR_INTERRUPT", 2: "SYSMSG_OP_REG_RD", 4: "SYSMSG_OP_TTRACE_PC"}


def message(value: int) -> str:
    """The operand of s_sendmsg: message, operation, stream."""
    kind, op, stream = value & 15, value >> 4 & 7, value >> 8 & 3
    if kind in (2, 3) and op < 4 and (op or (kind == 3 and not stream)):
        return f"sendmsg({_MESSAGES[kind]}, {_GS_OPS[op]}{f', {stream}' if op else ''})"
    if kind == 15 and op in _SYSTEM_OPS and not stream:
        return f"sendmsg(MSG_SYSMSG, {_SYSTEM_OPS[op]})"
    if kind in _MESSAGES and kind not in (2, 3, 15) and not op and not stream:
        return f"sendmsg({_MESSAGES[kind]})"
    return str(value) if value & ~0x37F else f"sendmsg({kind}, {op}, {stream})"


def index_mode(value: int) -> str:
    """The operand of s_set_gpr_idx_on/_mode: which operands are indexed."""
    if value > 15:
        return f"{value:#x}"
    return "gpr_idx(" + ",".join(n for bit, n in enumerate(("SRC0", "SRC1", "SRC2", "DST")) if value >> bit & 1) + ")"


def swizzle(value: int) -> str:
    """The lane pattern of ds_swizzle_b32."""
    if value >> 15:
        return _swizzle_modes(value)
    keep, set_, flip = value & 31, value >> 5 & 31, value >> 10 & 31
    if keep == 31 and set_ == 0 and flip and flip & flip - 1 == 0:
        return f"swizzle(SWAP,{flip})"
    if keep == 31 and set_ == 0 and flip and flip & flip + 1 == 0:
        return f"swizzle(REVERSE,{flip + 1})"
    group = 32 - keep
    if keep != 31 and flip == 0 and group & group - 1 == 0 and set_ < group:
        return f"swizzle(BROADCAST,{group},{set_})"
    mask = "".join(_lane_bit(keep >> bit & 1, set_ >> bit & 1, flip >> bit & 1) for bit in range(4, -1, -1))
    return f'swizzle(BITMASK_PERM,"{mask}")'


def _lane_bit(keep: int, set_: int, flip: int) -> str:
    """One bit of the source lane: constant 0 or 1, preserved, inverted."""
    if set_:
        return "0" if flip else "1"
    if keep:
        return "i" if flip else "p"
    return "1" if flip else "0"


def _swizzle_modes(value: int) -> str:
    if value >> 8 == 0x80:
        return "swizzle(QUAD_PERM," + ",".join(str(value >> 2 * lane & 3) for lane in range(4)) + ")"
    if value >> 13 == 6:
        return f"swizzle(ROTATE,{value >> 10 & 1},{value >> 5 & 31})"
    if value >> 13 == 7:
        return f"swizzle(FFT,{value & 31})"
    return str(value)


_DATA_FORMATS = (
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
)
_NUMBER_FORMATS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT")


def buffer_format(data: int, number: int) -> str:
    """The format of a typed buffer access; empty for the default."""
    parts = [f"BUF_DATA_FORMAT_{_DATA_FORMATS[data]}"] if data != 1 else []
    parts += [f"BUF_NUM_FORMAT_{_NUMBER_FORMATS[number]}"] if number else []
    return f"format:[{','.join(parts)}]" if parts else ""
