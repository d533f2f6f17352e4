"""Instructions that steer the wave instead of computing: branches, barriers, waits, hardware registers.

BRANCHES maps a branch to the condition under which it is taken; the other sets name what an executor must know.
Program counters in registers (s_getpc, s_setpc, s_swappc, s_call) are addresses in the device's memory: base of the
code + offset.

    BRANCHES["s_cbranch_execz"] == "execz"
"""

from __future__ import annotations

BRANCHES: dict[str, str] = {
    "s_branch": "always",
    "s_cbranch_scc0": "scc0",
    "s_cbranch_scc1": "scc1",
    "s_cbranch_vccz": "vccz",
    "s_cbranch_vccnz": "vccnz",
    "s_cbranch_execz": "execz",
    "s_cbranch_execnz": "execnz",
}
INDIRECT = frozenset({"s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64"})
ENDS = frozenset({"s_endpgm", "s_endpgm_saved"})
BARRIER = "s_barrier"
WAIT = "s_waitcnt"
NO_EFFECT = frozenset(
    {
        "s_nop",
        "v_nop",
        "ds_nop",
        "s_setprio",
        "s_sleep",
        "s_wakeup",
        "s_sethalt",
        "s_setkill",
        "s_icache_inv",
        "s_dcache_inv",
        "s_dcache_wb",
        "s_dcache_inv_vol",
        "s_dcache_wb_vol",
        "s_incperflevel",
        "s_decperflevel",
        "s_ttracedata",
        "s_sendmsg",
        "buffer_wbl2",
        "buffer_inv",
        "buffer_wbinvl1",
        "buffer_wbinvl1_vol",
    }
)
"""Caches are coherent here, priorities do not change results, messages go nowhere."""
HARDWARE_REGISTERS = frozenset({"s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"})
CLOCKS = frozenset({"s_memtime", "s_memrealtime"})
"""They return the number of instructions the wave has executed, so runs repeat."""
INDEXING = frozenset({"s_set_gpr_idx_on", "s_set_gpr_idx_off", "s_set_gpr_idx_idx", "s_set_gpr_idx_mode"})
"""Bits of the mode: 1 source 0, 2 source 1, 4 source 2, 8 destination; the index is M0[7:0], the mode M0[15:12]."""
TRAP = "s_trap"
"""The kernel gives up (a failed assertion, an abort): the launch ends with a report."""
SKIPPING = "s_setvskip"
"""While set, vector instructions are skipped; s_setvskip with both operands zero clears it."""

CONTROL: frozenset[str] = (
    frozenset(BRANCHES)
    | INDIRECT
    | ENDS
    | {BARRIER, WAIT, SKIPPING, TRAP}
    | NO_EFFECT
    | HARDWARE_REGISTERS
    | CLOCKS
    | INDEXING
)
