"""Register names in reports: physical numbers of the unified file back to what the assembly calls them."""

from __future__ import annotations

from argus.gfx942.hazards import ACC, SCC
from argus.gfx942.inst import EXEC, FLAT_SCRATCH, M0, TTMP, VCC, XNACK_MASK

_PAIRS = {FLAT_SCRATCH: "flat_scratch", XNACK_MASK: "xnack_mask", VCC: "vcc", EXEC: "exec"}


def physical(key: int, accum_offset: int) -> int:
    """Physical number of a vector register key (`argus.gfx942.hazards`)."""
    return key if key < ACC else accum_offset + key - ACC


def vector_name(n: int, accum_offset: int) -> str:
    """v5 below the accumulation offset, a5 above it."""
    return f"v{n}" if n < accum_offset else f"a{n - accum_offset}"


def scalar_name(n: int, accum_offset: int = 0) -> str:
    """s5, vcc_lo, m0, scc ..."""
    if n == SCC:
        return "scc"
    if n == M0:
        return "m0"
    if n & ~1 in _PAIRS:
        return f"{_PAIRS[n & ~1]}_{'hi' if n & 1 else 'lo'}"
    return f"ttmp{n - TTMP}" if TTMP <= n < M0 else f"s{n}"
