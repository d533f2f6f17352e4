"""A kernel that does not fit its registers, found out by LLVM: the other register file is tried, then C130.

The estimate of `registers` is a lower bound: LLVM also needs registers for values that live across the end of a loop in
two versions, for addresses it hoists, and for gaps between vectors of four and sixteen. So a kernel may pass the
estimate and still come back with registers in memory, or with values parked in the accumulation file and moved back in
a loop. Both mean one thing, the budget is exceeded, and are answered in one way:

  1. if the kernel leaves the choice to the compiler, the accumulators go to the other file and LLVM is asked again;
  2. if that fails too, C130 with the estimate, what LLVM was short of with each choice, and what does fit.

    gemm.py:47:1: error C130: a wave's 256 registers do not hold what is live at once: about 39 more would be needed
      note: accumulators 128, other values 96, addresses 12, in transit 8: at least 244
      note: accumulators in VGPRs: 39 registers in memory; in AGPRs: 84 moves between the files in a loop

A kernel whose policy names the file is compiled once more with the other one only to say whether that would fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from argus.compile.audit import ShortError
from argus.compile.registers import FILE, HALF, RegisterPlan
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel

Made = TypeVar("Made")


def fit(kernel: Kernel, plan: RegisterPlan, make: Callable[[RegisterPlan], Made]) -> Made:
    """`make(plan)`, with the accumulators in the other file if need be; CompileError C130 if nothing fits."""
    try:
        return make(plan)
    except ShortError as error:
        short = {plan.where: error}
    other = plan.other_file()
    if other is not None:
        try:
            made = make(other)
        except ShortError as error:
            short[other.where] = error
        else:
            if "agpr" not in kernel.policies:
                return made
            raise _refusal(kernel, plan, short, f"with the policy agpr={other.agprs > 0} it fits")
    raise _refusal(kernel, plan, short, "a smaller tile, fewer values in flight, or fewer waves would fit")


def _refusal(kernel: Kernel, plan: RegisterPlan, short: dict[str, ShortError], nearest: str) -> CompileError:
    missing = min(error.registers for error in short.values())
    found = "; ".join(f"accumulators in {where}: {error.said}" for where, error in short.items())
    have = f"{plan.budget} registers" if plan.budget <= HALF else f"{HALF} ordinary registers"
    return CompileError(
        "C130",
        f"a wave's {have} do not hold what is live at once: about {missing} more would be needed",
        kernel.span,
        (
            f"{plan.breakdown}: at least {plan.needed}",
            f"{plan.waves_per_simd} waves share the {FILE} registers of a SIMD; {HALF} ordinary at most",
            found,
            nearest,
        ),
    )
