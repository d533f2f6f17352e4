"""Single bits flipped in the code of a proved kernel's object: what do audit and re-check say, what the machine?

    python -m bench.object_bit_flips [--kernels vadd,gemm] [--flips 250] [--seed 1] [--show]

Of each kernel `--flips` bits of its code are drawn, prologue and address arithmetic included. A flip is

    refused      by the audit or the re-check (C3xx), or the code no longer decodes (C401)
    unknown      an access, its data or a hazard rule is no longer shown
    harmless     passed, and the machine gives the same results without a report
    arithmetic   passed, and alters what is computed from data: the changed instruction is vector or scalar arithmetic
                 that no address, condition or order depends on, and is arithmetic still, on data of the same lanes. The
                 re-check does not claim to follow values; which loads, products and exchanges between lanes reach which
                 store it does
    missed       passed, and alters behavior in any other way
    traceback    the audit or the re-check failed with anything but a coded error

Exit code 1 if anything is missed or a traceback. The truth is the checking interpreter with all checks, as in
`bench.object_faults`; kernels are those of `bench.object_fault_cases`.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from argus.compile import Compiled, compile_kernel
from argus.compile.decoded import Decoded, decode
from argus.compile.matching import match
from argus.compile.object.agreement import agree
from argus.gfx942.disasm import text as instruction_text
from argus.gfx942.elf import parse_elf
from argus.gfx942.inst import Inst
from argus.ir.stages import Scheduled
from argus.machine.semantics.lanes import LANE_OPS, dpp_enabled, dpp_sources
from bench.object_fault_cases import CASES, MORE_CASES, FaultCase
from bench.object_faults import behavior, seen

EVERY = (*CASES, *MORE_CASES)
FLIPS = 250
OUTCOMES = ("refused", "unknown", "harmless", "arithmetic", "missed", "traceback")
ARITHMETIC = frozenset({"valu", "trans", "salu", "accmov"})


def code_range(compiled: Compiled) -> tuple[int, int]:
    """(first byte, bytes) of the kernel's code in the object."""
    source = parse_elf(compiled.object)
    symbol = next(s for s in source.symbols if s.name == compiled.name)
    section = source.sections[symbol.section]
    return section.offset + symbol.value - section.address, symbol.size


def flipped(compiled: Compiled, bit: int) -> Compiled:
    """The object with one bit of the kernel's code flipped."""
    first, _ = code_range(compiled)
    changed = bytearray(compiled.object)
    changed[first + bit // 8] ^= 1 << bit % 8
    return replace(compiled, object=bytes(changed))


class FlippedKernel:
    """One kernel, right as it is, and judgements of its object with a bit flipped."""

    def __init__(self, case: FaultCase) -> None:
        self.case, self.program = case, case.program()
        self.compiled = compile_kernel(self.program)
        self.code = decode(self.compiled.object, self.compiled.name)
        self.concerned = _concerned(self.program, self.compiled, self.code)
        said, self.right = seen(self.program, self.compiled), behavior(case, self.compiled)
        if said or isinstance(self.right, str):
            raise AssertionError(f"{case.name}: the object itself is not right: {said} {self.right[:40]!r}")

    def judged(self, bit: int) -> tuple[str, str]:
        """(outcome, the code or the two instructions)."""
        wrong = flipped(self.compiled, bit)
        try:
            how = seen(self.program, wrong)
        except Exception:  # what no flipped bit may do
            return "traceback", traceback.format_exc().splitlines()[-1]
        if how:
            return ("unknown", how) if how == "unknown" else ("refused", how)
        if behavior(self.case, wrong) == self.right:
            return "harmless", ""
        n = next(k for k, inst in enumerate(self.code.insts) if bit // 8 < inst.pc + inst.size)
        again = decode(wrong.object, wrong.name)
        change = f"{instruction_text(self.code.insts[n])} -> {instruction_text(again.insts[n])}"
        return ("arithmetic" if self._arithmetic(n, again) else "missed"), change

    def _arithmetic(self, n: int, again: Decoded) -> bool:
        """The change is from arithmetic on data to arithmetic that reads the same lanes."""
        if moves(self.code.insts[n]) != moves(again.insts[n]):
            return False
        if n in self.concerned or self.code.kinds[n] not in ARITHMETIC or again.kinds[n] not in ARITHMETIC:
            return False
        return [i.pc for i in again.insts] == [i.pc for i in self.code.insts]


def moves(inst: Inst) -> object:
    """How the instruction reads other lanes; None: it does not."""
    if inst.enc == "dpp":
        return dpp_sources(inst.mods), dpp_enabled(inst.mods), bool(inst.mods.get("bound_ctrl"))
    return (inst.op, inst.operands[2:]) if inst.op in LANE_OPS - {"v_swap_b32"} else None


def _concerned(program: Scheduled, compiled: Compiled, code: Decoded) -> frozenset[int]:
    matched = match(program.kernel, code, [(pc, op) for pc, op in compiled.sidecar["pcs"]])
    return agree(program.kernel, compiled.object, code, matched).slice_of


def run(
    case: FaultCase, flips: int, seed: int, show: Callable[[str], None] | None = None
) -> tuple[Counter[str], Counter[str]]:
    """(outcomes, codes of refusals) of so many flips of one kernel."""
    kernel = FlippedKernel(case)
    bits = 8 * code_range(kernel.compiled)[1]
    outcomes: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for bit in sorted(random.Random(f"{case.name} {seed}").sample(range(bits), min(flips, bits))):
        outcome, what = kernel.judged(bit)
        outcomes[outcome] += 1
        if outcome in ("refused", "unknown"):
            codes[what] += 1
        elif what and show is not None:
            show(f"  {outcome} in {case.name}, bit {bit}: {what}")
    return outcomes, codes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--flips", type=int, default=FLIPS, help="bits flipped in each kernel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="also print changes of arithmetic")
    args = parser.parse_args()
    names = [name for name in args.kernels.split(",") if name]
    total: Counter[str] = Counter()
    codes: Counter[str] = Counter()

    def show(line: str) -> None:
        if args.show or not line.startswith("  arithmetic"):
            print(line, flush=True)

    print(f"| kernel | flips | {' | '.join(OUTCOMES)} |\n|{'---|' * (len(OUTCOMES) + 2)}")
    for case in EVERY:
        if names and case.name not in names:
            continue
        outcomes, found = run(case, args.flips, args.seed, show)
        total, codes = total + outcomes, codes + found
        print(_row(case.name, outcomes), flush=True)
    print(_row("**all**", total))
    print("\nseen by " + ", ".join(f"{code} {count}" for code, count in codes.most_common()))
    return 1 if total["missed"] or total["traceback"] else 0


def _row(name: str, outcomes: Counter[str]) -> str:
    return f"| {name} | {outcomes.total()} | " + " | ".join(str(outcomes[o]) for o in OUTCOMES) + " |"


if __name__ == "__main__":
    sys.exit(main())
