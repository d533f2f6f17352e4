"""What bounds a kernel, as one word: said here once, for `argus time`, its page, the planner, the view and the report.

    bottleneck_word("compute", {"wait_vmem": 900, "valu": 80}, saved_without_conflicts=0.01)     -> "latency"
    BOTTLENECKS["latency"]                                         -> "waves wait for global memory"

The word comes from three things the clock saw: the longest part of the launch, the stalls of the waves, and how much an
LDS without bank conflicts would save. `argus clock explain` splits the same time further, by cause and line.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.clock.timing import Timing

WORTH = 0.05
MAIN_STALLS = 6
BOTTLENECKS: Mapping[str, str] = {
    "hbm": "HBM bandwidth takes longest",
    "mall": "Infinity Cache bandwidth takes longest",
    "l2": "L2 bandwidth takes longest",
    "atomics": "atomics on one line take longest",
    "dispatch": "handing out workgroups takes longest",
    "banks": f"an LDS without bank conflicts would save {100 * WORTH:.0f} % or more",
    "latency": "waves wait for global memory",
    "memory-issue": "the queue of memory instructions is full",
    "lds": "waves wait for LDS or its queue is full",
    "barrier": "waves wait for each other",
    "matrix": "the matrix core is busy",
    "valu": "vector arithmetic is busy",
    "issue": "instructions, branches, nops",
}
_STALLS = {
    "wait_vmem": "latency",
    "vmem": "memory-issue",
    "counter": "memory-issue",
    "wait_lds": "lds",
    "lds": "lds",
    "barrier": "barrier",
    "matrix": "matrix",
    "matrix_result": "matrix",
    "valu": "valu",
}


def main_stalls(timing: Timing) -> dict[str, int]:
    """Stall clocks of the waves by reason, the largest few."""
    return {reason.name.lower(): clocks for reason, clocks in list(timing.reasons.items())[:MAIN_STALLS]}


def bottleneck_word(bound: str, stalls: Mapping[str, float], saved_without_conflicts: float) -> str:
    """A word of `BOTTLENECKS`. `bound` is the longest part of the launch, `stalls` are those of `main_stalls`."""
    if bound != "compute":
        return bound
    if saved_without_conflicts >= WORTH:
        return "banks"
    grouped: dict[str, float] = {}
    for name, clocks in stalls.items():
        word = _STALLS.get(name, "issue")
        grouped[word] = grouped.get(word, 0.0) + clocks
    return max(sorted(grouped), key=lambda word: grouped[word]) if grouped else "issue"
