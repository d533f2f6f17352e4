"""Wait states gfx942 requires between dependent instructions, as a table, and a checker of whole kernels.

The hardware does not interlock these pairs: the program must place enough other instructions (each is one wait state;
`s_nop N` is N + 1) between them, or the second reads stale data.

    v_mfma_f32_32x32x8_bf16 a[0:15], ...
    s_nop 9                                        10 of the 11 wait states an 8-pass matrix result needs
    v_accvgpr_read_b32 v0, a0                      violation: 1 wait state short

`required(first, second)` is the rule for a pair; `violations(insts)` walks every path backwards from every instruction
as far as the largest rule reaches (19) and reports pairs that are too close. `registers(inst)` says which registers an
instruction reads and writes; other checks use it, too.

Source: LLVM `GCNHazardRecognizer.cpp` (checkMAIHazards90A, checkMAIVALUHazards, checkVALUHazards and friends, for
GFX940; LLVM 22, January 2026), with N the passes of the matrix instruction; the wait state after a wide buffer store
with a scalar offset is LLVM's pull request 197267 (merged, 2026-05-12); different matrix instructions on one
accumulator are its pull request 218363 (open, 2026-08-24). Rules that are about speed only, and those of instructions
compute kernels do not use (exports, interpolation, message passing), are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from argus.gfx942.inst import EXEC, M0, VCC, Inst, InstOperand
from argus.gfx942.instructions import destinations, spec, writes_lds
from argus.gfx942.mfma import MFMA

ACC = 512
"""Key of a0: vector register v_n has key n, accumulation register a_n key ACC + n."""
SCC = 253
REACH = 19
"""No rule needs more wait states than this."""


@dataclass(frozen=True, slots=True)
class RegisterSets:
    """RegisterSets an instruction reads and writes: vector keys, and scalar numbers (SCC is 253)."""

    reads: frozenset[int]
    writes: frozenset[int]
    scalar_reads: frozenset[int]
    scalar_writes: frozenset[int]


def vector_keys(operand: InstOperand) -> range:
    """Keys of a vector operand; empty for others."""
    if operand.kind not in ("v", "a"):
        return range(0)
    first = operand.value + (ACC if operand.kind == "a" else 0)
    return range(first, first + operand.count)


def _scalars(operand: InstOperand) -> Iterable[int]:
    if operand.kind == "s":
        return range(operand.value, operand.value + operand.count)
    if operand.kind == "special":
        return {SCC: (SCC,), 251: (VCC, VCC + 1), 252: (EXEC, EXEC + 1)}.get(operand.value, ())
    return ()


_IMPLICIT = {"vcc": (VCC, VCC + 1), "exec": (EXEC, EXEC + 1), "scc": (SCC,), "m0": (M0,)}


@lru_cache(maxsize=1 << 16)
def _registers(op: str, operands: tuple[InstOperand, ...], count: int, to_lds: bool, keeps: bool) -> RegisterSets:
    found = spec(op)
    written, read = operands[:count], operands[count:]
    if keeps:
        read = (*read, *written)
    if op == "v_swap_b32":
        written = read = operands
    implicit_reads = [n for name in found.implicit_reads for n in _IMPLICIT[name]]
    implicit_writes = [n for name in found.implicit_writes for n in _IMPLICIT[name]]
    if to_lds:
        implicit_reads.append(M0)
    return RegisterSets(
        frozenset(k for o in read for k in vector_keys(o)),
        frozenset(k for o in written for k in vector_keys(o)),
        frozenset([n for o in read for n in _scalars(o)] + implicit_reads),
        frozenset([n for o in written for n in _scalars(o)] + implicit_writes),
    )


def registers(inst: Inst) -> RegisterSets:
    """What the instruction reads and writes."""
    found = spec(inst.op)
    keeps = found.reads_destination or inst.mods.get("dst_unused") == "UNUSED_PRESERVE"
    keeps = keeps or (inst.enc == "dpp" and not inst.mods.get("bound_ctrl"))
    return _registers(inst.op, inst.operands, destinations(inst), writes_lds(inst), bool(keeps))


@dataclass(frozen=True, slots=True)
class HazardRule:
    """`states` wait states are required between two instructions, because of `why`.

    AMD's own assembly (the kernels of ROCm/aiter) keeps only `kept` of them for some rules; fewer than that many is
    certainly wrong, more is what LLVM keeps. -1: all of them.
    """

    states: int
    why: str
    kept: int = -1


def _matrix(op: str) -> tuple[int, bool, bool]:
    """(passes, runs on the low-precision datapath, f64). Sparse forms are on it with 4 or 8 passes."""
    if op in MFMA:
        m = MFMA[op]
        return m.passes, m.xdl, m.c == "f64"
    return (4 if "_16x16x" in op else 8), True, False


def _after_matrix(first: Inst, second: Inst, kind: str) -> Iterator[HazardRule]:
    """The first instruction is a matrix instruction."""
    passes, xdl, f64 = _matrix(first.op)
    target = set(vector_keys(first.operands[0]))
    use = registers(second)
    if kind == "mfma":
        c = second.operands[3] if second.op in MFMA else second.operands[0]
        if target & set(vector_keys(c)):
            yield _accumulated(first, second, c)
        sources = {k for o in second.operands[1:3] for k in vector_keys(o)}
        if target & sources:
            states = (6 if passes == 4 else 11) if f64 else passes + (3 if xdl else 2)
            yield HazardRule(states, "a matrix result is an A or B operand")
    elif kind in ("valu", "mem"):
        if target & use.reads:
            memory = (9 if passes == 4 else 18) if kind == "mem" else (6 if passes == 4 else 11)
            yield HazardRule(memory if f64 else passes + (3 if xdl else 2), "a matrix result is read")
        if target & use.writes:
            states = (6 if passes == 4 else 11) if f64 else passes + (3 if xdl else 2)
            yield HazardRule(states, "a matrix result is overwritten")
        if xdl and first.op in MFMA and set(vector_keys(first.operands[3])) & use.writes:
            yield HazardRule(passes - 1, "the C operand of a matrix instruction is overwritten")
    if f64 and second.op in ("v_fma_f64", "v_fmac_f64"):
        yield HazardRule(2, "v_fma_f64 after an f64 matrix instruction")


def _accumulated(first: Inst, second: Inst, c: InstOperand) -> HazardRule:
    """A matrix result is used as C. The same instruction on the same registers is forwarded to. Whether a different one
    is, nobody documents for gfx942; LLVM's pull request 218363 (open, 2026-08-24) measured on gfx950 that it is not, so
    the wait states of a partial overlap are kept. LLVM 22 and AMD's assembly do without."""
    d = first.operands[0]
    same = (d.kind, d.value, d.count) == (c.kind, c.value, c.count)
    if not same or first.op == second.op:
        return HazardRule(_chained(first, second, same), "a matrix result is accumulated on")
    states = max(_chained(first, second, same=False), _chained(first, second, same))
    return HazardRule(
        states, "a matrix result is accumulated on by a different instruction", _chained(first, second, same)
    )


def _chained(first: Inst, second: Inst, same: bool) -> int:
    """Wait states before a matrix result is used as C, as LLVM 22 keeps them; `same`: exactly its registers."""
    passes, xdl, f64 = _matrix(first.op)
    _, second_xdl, second_f64 = _matrix(second.op)
    if f64:
        if same and second_f64:
            return 4 if passes == 4 else 0
        return 4 if passes == 4 else 9
    if same:
        return 2 if passes == 2 else 0
    if xdl:
        return passes + 1
    return 0 if second_xdl else passes


def _after_valu(first: Inst, second: Inst, kind: str) -> Iterator[HazardRule]:
    """The first instruction is vector arithmetic."""
    def_, use = registers(first), registers(second)
    if kind == "mfma":
        if def_.writes & use.reads:
            yield HazardRule(2, "a vector result is a matrix operand")
        if EXEC in def_.scalar_writes:
            yield HazardRule(4, "exec is written by a vector instruction before a matrix instruction")
    if kind == "mem" and def_.scalar_writes & use.scalar_reads - {EXEC, EXEC + 1}:
        yield HazardRule(5, "a scalar register written by a vector instruction is read by a memory instruction")
    if kind == "valu":
        yield from _valu_pair(first, second, def_, use)


def _valu_pair(first: Inst, second: Inst, def_: RegisterSets, use: RegisterSets) -> Iterator[HazardRule]:
    scalars = def_.scalar_writes & use.scalar_reads - {EXEC, EXEC + 1}
    if second.enc == "dpp":
        if def_.writes & use.reads:
            yield HazardRule(2, "a vector result is read by a DPP instruction", kept=1)
        if EXEC in def_.scalar_writes:
            yield HazardRule(5, "exec is written by a vector instruction before a DPP instruction")
    if second.op.startswith("v_div_fmas") and VCC in def_.scalar_writes:
        yield HazardRule(4, "vcc is written by a vector instruction before v_div_fmas")
    if second.op in ("v_readlane_b32", "v_writelane_b32"):
        lane = set(_scalars(second.operands[2]))
        if def_.scalar_writes & lane:
            yield HazardRule(4, "the lane number is written by a vector instruction")
    if second.op in ("v_readlane_b32", "v_readfirstlane_b32") and def_.writes & use.reads:
        yield HazardRule(1, "a vector result is read by v_readlane")
    if second.op in ("v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32") and EXEC in def_.scalar_writes:
        yield HazardRule(4, "exec is written by a vector instruction before v_readlane or v_writelane")
    if scalars:
        yield HazardRule(2, "a scalar register written by a vector instruction is read by a vector instruction", kept=0)
    if spec(first.op).cls == "trans" and spec(second.op).cls != "trans" and def_.writes & use.reads:
        yield HazardRule(1, "a transcendental result is read by another vector instruction")
    if _writes_part(first) and def_.writes & use.reads:
        yield HazardRule(1, "a result written to a part of a register is read")
    if "_dot" in first.op and first.op != second.op and def_.writes & (use.reads | use.writes):
        yield HazardRule(3, "a dot product result is read or overwritten by a different instruction")


def _writes_part(inst: Inst) -> bool:
    if inst.enc == "sdwa":
        return inst.mods.get("dst_sel", "DWORD") != "DWORD"
    op_sel = inst.mods.get("op_sel")
    sources = len(inst.operands) - 1
    return isinstance(op_sel, tuple) and len(op_sel) > sources and bool(op_sel[-1])


def _after_memory(first: Inst, second: Inst, kind: str) -> Iterator[HazardRule]:
    """A store of more than 8 bytes still reads its data while the next instructions run."""
    if kind != "valu" or spec(first.op).memory.kind != "store" or spec(first.op).memory.bytes <= 8:
        return
    if first.op.startswith("ds_"):
        return
    data = first.operands[0] if first.op.startswith("buffer_") else first.operands[1]
    shorter = first.op.startswith("buffer_") and first.operands[3].kind == "s"
    if set(vector_keys(data)) & registers(second).writes:
        yield HazardRule(1 if shorter else 2, "the data of a wide store is overwritten")


def _after_scalar(first: Inst, second: Inst) -> Iterator[HazardRule]:
    if M0 in registers(first).scalar_writes and (
        writes_lds(second) or second.op.startswith(("s_movrel", "s_set_gpr_idx")) or "addtid" in second.op
    ):
        yield HazardRule(1, "m0 is written just before it is used", kept=0)
    if first.op.startswith("s_setreg") and second.op.startswith(("s_getreg", "s_setreg")):
        first_register = first.operands[0].value & 63
        second_register = second.operands[1 if second.op == "s_getreg_b32" else 0].value & 63
        if first_register == second_register:
            yield HazardRule(2, "a hardware register is accessed just after it is written")


@lru_cache(maxsize=1 << 16)
def _class(op: str) -> str:
    """mfma, valu (transcendental included), salu, mem (vector memory and LDS) or other."""
    name = spec(op).cls
    if name == "mfma":
        return "mfma"
    if name in ("valu", "trans"):
        return "valu"
    if name in ("vmem", "lds"):
        return "mem"
    return "salu" if name == "salu" else "other"


def required(first: Inst, second: Inst) -> HazardRule | None:
    """The strictest rule between two instructions, if any."""
    before, after = _class(first.op), _class(second.op)
    if before == "mfma":
        rules = list(_after_matrix(first, second, after))
    elif before == "valu":
        rules = list(_after_valu(first, second, after))
    elif before == "mem":
        rules = list(_after_memory(first, second, after))
    elif before == "salu":
        rules = list(_after_scalar(first, second))
    else:
        rules = []
    return max((r for r in rules if r.states > 0), key=lambda r: r.states, default=None)


def wait_states(inst: Inst) -> int:
    """Wait states an instruction provides."""
    return (inst.operands[0].value & 0xFFFF) + 1 if inst.op == "s_nop" else 1


@dataclass(frozen=True, slots=True)
class HazardViolation:
    """`second` follows `first` with `states` wait states where the rule needs more.

    `elapsed` counts in a busy matrix core: two matrix instructions are issued at least the passes of the first apart,
    so a read behind three 4-pass instructions has 8 wait states from the first of them, although only two stand
    between. `jumped`: a taken branch lies between. It counts as one wait state, as LLVM counts it, but takes the
    hardware longer (how long is not published), and shipped attention kernels of AITER rely on that.
    """

    first: Inst
    second: Inst
    states: int
    elapsed: int
    rule: HazardRule
    jumped: bool = False

    @property
    def missing(self) -> int:
        return self.rule.states - self.states

    @property
    def certain(self) -> bool:
        """Whether it is too close by what AMD's own assembly keeps, too; else it is only closer than LLVM puts it."""
        return not self.jumped and self.elapsed < (self.rule.states if self.rule.kept < 0 else self.rule.kept)


_FALL = ("s_branch", "s_endpgm", "s_setpc_b64", "s_swappc_b64", "s_endpgm_saved")


def _predecessors(insts: Sequence[Inst]) -> list[list[tuple[int, bool]]]:
    """Of each instruction: those that may run before it, and whether by a taken branch."""
    at = {inst.pc: k for k, inst in enumerate(insts)}
    before: list[list[tuple[int, bool]]] = [[] for _ in insts]
    for k, inst in enumerate(insts):
        if inst.op not in _FALL and inst.pc + inst.size in at:
            before[at[inst.pc + inst.size]].append((k, False))
        if inst.target is not None and inst.target in at:
            before[at[inst.target]].append((k, True))
    return before


def _related(first: RegisterSets, second: RegisterSets) -> bool:
    """Whether a rule about registers can apply: the two share one, or the first writes exec."""
    if EXEC in first.scalar_writes or not first.scalar_writes.isdisjoint(second.scalar_reads):
        return True
    touched = second.reads | second.writes
    return not (first.writes.isdisjoint(touched) and first.reads.isdisjoint(second.writes))


def violations(insts: Sequence[Inst]) -> list[HazardViolation]:
    """Every pair of instructions that is too close on some path through the code, counted as LLVM counts."""
    before = _predecessors(insts)
    kinds = [_class(inst.op) for inst in insts]
    uses = [registers(inst) for inst in insts]
    reach = {"mfma": REACH, "valu": 5, "mem": 2, "salu": 2, "other": 0}
    found: dict[tuple[int, int], HazardViolation] = {}
    for k, second in enumerate(insts):
        if kinds[k] == "other" and not second.op.startswith("s_getreg"):
            continue
        best: dict[tuple[int, bool], int] = {}
        core = 0 if kinds[k] == "mfma" else -1
        work = [(p, jump, 0, 0, core) for p, jump in before[k]]
        while work:
            j, jumped, states, elapsed, core = work.pop()
            if states >= REACH or best.get((j, jumped), REACH + 1) <= states:
                continue
            best[j, jumped] = states
            first = insts[j]
            if kinds[j] == "mfma":
                if core >= 0:
                    elapsed = max(elapsed, core + _matrix(first.op)[0] - 1)
                core = elapsed + 1
            by_register = kinds[j] != "salu" and "_f64" not in first.op
            if states < reach[kinds[j]] and (not by_register or _related(uses[j], uses[k])):
                rule = required(first, second)
                known = found.get((j, k))
                if rule is not None and states < rule.states:
                    new = HazardViolation(first, second, states, elapsed, rule, jumped)
                    if known is None or (known.jumped, known.states) > (jumped, states):
                        found[j, k] = new
            here = wait_states(first)
            work.extend((p, jumped or jump, states + here, elapsed + here, core) for p, jump in before[j])
    return list(found.values())
