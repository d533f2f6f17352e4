"""The object, asked from itself: is it the kernel's program, and do the hazard rules hold on it?

Two steps. First every memory, matrix and barrier instruction is held against its op: where it is executed, in which
order, and which bytes it touches (`argus.compile.object`). A difference is C309, with a launch that shows it; what
cannot be decided is *unknown*, with the reason, in the report.

Then the hazard rules. The checker proves `race_free` and `fresh` of the kernel IR, with waits where
`argus.ir.passes.insert_waits` puts them; the object has LLVM's. So the kernel is built again from the decoded
instructions:

    ds_write_b128 ...                 store lds.sA
    s_waitcnt lgkmcnt(0)         ->   wait lgkm=0
    s_barrier                         barrier, bare: it waits for nothing by itself
    ds_read_b128 ...                  load lds.sA

and, reduced to its accesses (`skeleton`), decided again: `race_free` with no waits but the object's; `fresh` in the
object's order, where the registers' own waits are those that `arrivals` has found on every path of the machine code. A
refutation here is C308.

A wait counts where nothing but arithmetic stands between it and the access it follows, in one straight run of
instructions, or between it and the access it precedes, on every path (`path_waits`), or where it is shown to stand in
the place of a wait of the kernel, under the same condition (`placed_waits`). Every other wait is ignored, which can
lose a proof but not make one. The object counts instructions, the IR ops; an op is at least one instruction, so "at
most k instructions outstanding" is at most k ops.

LLVM's order, waits, addresses, branches and registers need not be trusted then; its arithmetic on data still is, and
the machine runs that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from argus.check.engine import decide
from argus.check.report import Report, verdict_json
from argus.check.rules.fresh import Fresh
from argus.check.rules.race_free import RaceFree
from argus.compile.arrivals import early_uses
from argus.compile.compiler import Compiled
from argus.compile.decoded import Decoded, decode
from argus.compile.matching import EVENTS, guarded_by_branch, match
from argus.compile.object.agreement import agree
from argus.compile.object.findings import Agreement, Finding
from argus.compile.object.known_instructions import refuse_unknown_instructions
from argus.compile.object.path_waits import path_waits
from argus.compile.skeleton import skeleton
from argus.gfx942.disasm import text as instruction_text
from argus.gfx942.waits import LGKM_MAX, VM_MAX, Waits
from argus.gfx942.waits import decode as decode_wait
from argus.ir import ops
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.stages import Scheduled


@dataclass(frozen=True, slots=True)
class Recheck:
    """`agreement` of the object's instructions with the kernel; `waits` of the object that were used; what the rules
    say."""

    agreement: Agreement
    waits: int
    report: Report
    lines: tuple[str, ...]
    """What is unknown, instruction by instruction."""

    @property
    def matched(self) -> int:
        return self.agreement.placed

    @property
    def proved(self) -> bool:
        return all(v.status == "proved" for v in self.report.verdicts)

    def to_json(self) -> dict[str, Any]:
        return {
            "step": "hazard rules re-run on the decoded object",
            "instructions_matched": self.matched,
            "waits": self.waits,
            "registers_arrived": "proved",
            "accesses": self.agreement.accesses,
            "equal": dict(self.agreement.equal),
            "data_registers": self.agreement.data,
            "unknown": list(self.lines),
            "verdicts": [verdict_json(v) for v in self.report.verdicts],
        }

    def short(self) -> str:
        """One line: how much of the object is shown to be the kernel's."""
        found = self.agreement
        open_ = f"; {len(self.lines)} not decided, --report names them" if self.lines else ""
        open_ += "" if self.proved else "; that its waits order all accesses is not decided"
        return f"held against the kernel: {sum(found.equal.values())} of {found.accesses} accesses{open_}"

    def describe(self) -> str:
        counts = [f"{v.rule} {v.status}" for v in self.report.verdicts]
        rows = ", ".join(f"{row} x{counts.count(row)}" for row in dict.fromkeys(counts)) or "no LDS"
        found = self.agreement
        ways = ", ".join(f"{count} by {way}" for way, count in found.equal.items())
        lines = [
            f"on the object ({self.matched} instructions matched, {self.waits} waits): {rows}",
            f"accesses as in the kernel: {sum(found.equal.values())} of {found.accesses}"
            + (f" ({ways})" if ways else ""),
        ]
        if found.else_first:
            lines.append(f"branches whose else comes first: {found.else_first}")
        return "\n".join([*lines, *(f"unknown: {line}" for line in self.lines)])


def recheck(program: Scheduled, compiled: Compiled) -> Recheck:
    """Hold the object against the kernel; raises CompileError: C309 where it differs, C307 and C308 where a hazard rule
    does not hold."""
    kernel = program.kernel
    code = decode(compiled.object, kernel.name)
    refuse_unknown_instructions(kernel, compiled.object, code)
    matched = match(kernel, code, [(pc, op) for pc, op in compiled.sidecar["pcs"]])
    early = early_uses(code)
    if early:
        raise CompileError("C307", f"{early[0].inst.op} comes before its data", kernel.span)
    found = agree(kernel, compiled.object, code, matched)
    if found.different:
        raise _different(code, found.different[0])
    waits = object_waits(code, matched.op_of, found.waits)
    report = hazards(kernel, waits)
    for verdict in report.verdicts:
        if verdict.status == "refuted":
            said = verdict.counterexample.message if verdict.counterexample is not None else verdict.reason
            raise CompileError("C308", f"on the object {verdict.rule} does not hold: {said}", verdict.span)
    return Recheck(
        found, len(waits.before) + len(waits.after), report, tuple(_line(code, finding) for finding in found.unknown)
    )


def hazards(kernel: Kernel, waits: ObjectWaits) -> Report:
    """What the hazard rules say of the kernel with these waits."""
    return decide(replace(skeleton(rebuilt(kernel, waits)), computes=None), [RaceFree()], waited=[Fresh()])


def _line(code: Decoded, finding: Finding) -> str:
    inst = code.insts[finding.n]
    return f"{instruction_text(inst)} at {inst.pc:#x} ({finding.op.span}): {finding.what}"


def _different(code: Decoded, finding: Finding) -> CompileError:
    inst = code.insts[finding.n]
    notes = [f"{instruction_text(inst)} at {inst.pc:#x}"]
    witness = finding.witness
    if witness is not None:
        have, want = (("nothing" if n < 0 else str(n)) for n in (witness.have, witness.want))
        notes.append(f"{witness}: the object has {have}, the kernel {want}")
    message = f"{inst.op} of the object is not what this line says: {finding.what}"
    return CompileError("C309", message, finding.op.span, tuple(notes))


@dataclass(slots=True)
class ObjectWaits:
    """Op -> what the object certainly waits for between the accesses before it and its first instruction (`before`), or
    between its last instruction and the end of that run (`after`). For a wait of the kernel: what the object waits for
    in its place (`before`)."""

    before: dict[int, Waits]
    after: dict[int, Waits]


def object_waits(code: Decoded, made_by: list[int], placed: Mapping[int, int]) -> ObjectWaits:
    """Every wait of the object that something is known of; `placed` are those in the place of a wait of the kernel."""
    starts = _starts_of_runs(code)
    certain = _in_order_from(code)

    def wait_at(n: int) -> Waits:
        found = decode_wait(code.insts[n].operands[0].value)
        return Waits(vm=found.vm, lgkm=found.lgkm if found.lgkm == 0 or n >= certain else LGKM_MAX)

    last = {made_by[n]: n for n in range(code.entry, len(code.insts)) if code.kinds[n] in EVENTS}
    after = dict[int, Waits]()
    vm, lgkm, event = VM_MAX, LGKM_MAX, -1
    for n in range(code.entry, len(code.insts)):
        if n in starts:
            if event >= 0 and last[made_by[event]] == event and (vm < VM_MAX or lgkm < LGKM_MAX):
                after[made_by[event]] = Waits(vm=vm, lgkm=lgkm)
            vm, lgkm, event = VM_MAX, LGKM_MAX, -1
        if code.insts[n].op == "s_waitcnt":
            waits = wait_at(n)
            vm, lgkm = min(vm, waits.vm), min(lgkm, waits.lgkm)
        elif code.kinds[n] in EVENTS:
            vm, lgkm, event = VM_MAX, LGKM_MAX, n
    before = path_waits(code, made_by, wait_at)
    for n, op in placed.items():
        waits, known = wait_at(n), before.get(op, Waits())
        before[op] = Waits(vm=min(waits.vm, known.vm), lgkm=min(waits.lgkm, known.lgkm))
    return ObjectWaits(before, after)


def _starts_of_runs(code: Decoded) -> set[int]:
    """Positions that are reached from more than the instruction before them, or only sometimes."""
    at = {inst.pc: n for n, inst in enumerate(code.insts)}
    starts = {code.entry}
    for n, inst in enumerate(code.insts):
        if inst.target is not None:
            starts |= {n + 1, *([at[inst.target]] if inst.target in at else [])}
    return starts


def _in_order_from(code: Decoded) -> int:
    """From here on no scalar load is under way, which would return out of order on the same counter as LDS."""
    scalar = [n for n in range(code.entry, len(code.insts)) if code.kinds[n] == "smem"]
    if not scalar:
        return code.entry
    if any(first <= n <= last for n in scalar for first, last in code.loops):
        return len(code.insts)
    for n in range(scalar[-1], len(code.insts)):
        if code.insts[n].op == "s_waitcnt" and decode_wait(code.insts[n].operands[0].value).lgkm == 0:
            return n
    return len(code.insts)


def rebuilt(kernel: Kernel, waits: ObjectWaits) -> Kernel:
    """The scheduled kernel with the object's waits instead of its own, and barriers that wait for nothing."""
    numbers = count(1 + max((op.id for op in ops.walk(kernel.body)), default=0))

    def wait(op: ops.Op, known: Waits | None) -> list[ops.Op]:
        if known is None or guarded_by_branch(op):
            return []
        vm, lgkm = None if known.vm == VM_MAX else known.vm, None if known.lgkm == LGKM_MAX else known.lgkm
        return [ops.Wait(id=next(numbers), span=op.span, site=op.site, vm=vm, lgkm=lgkm)]

    def block(body: list[ops.Op]) -> list[ops.Op]:
        made: list[ops.Op] = []
        for op in body:
            made += wait(op, waits.before.get(op.id))
            match op:
                case ops.Wait():
                    continue
                case ops.Barrier():
                    made.append(replace(op, bare=True))
                case ops.For():
                    made.append(replace(op, body=block(op.body)))
                case ops.If():
                    made.append(replace(op, then=block(op.then), orelse=block(op.orelse)))
                case _:
                    made.append(op)
            made += wait(op, waits.after.get(op.id))
        return made

    return replace(kernel, body=block(kernel.body), policies={**kernel.policies, "waits": "explicit"})
