"""The register plan: how many registers the kernel needs, which file the accumulators live in, how many waves share.

A SIMD has 512 vector registers of 64 lanes; a wave may use at most 256 ordinary ones (V) and 256 accumulation ones
(A). A workgroup of W waves occupies its four SIMDs with ceil(W/4) waves each, which must fit together.

Estimate, before LLVM sees the kernel: walk the ops backwards, keep the set of live values, take the maximum of their
registers. Loop-carried values are live throughout their loop. Addresses are estimated from the distinct vector index
expressions. The estimate decides where accumulators live (values that enter a loop and are only ever the C operand of
matrix instructions): in V while everything fits, else in A. A kernel that cannot fit is refused here, with the numbers.

Policies a kernel may set: `accumulators` = "vgpr" | "agpr", `waves_per_simd` = minimum number of waves a SIMD must
hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.compile.context import registers
from argus.compile.errors import CompileError
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value

FILE = 512
HALF = 256
SIMDS = 4
POLICIES = frozenset({"accumulators", "waves_per_simd"})


@dataclass(frozen=True, slots=True)
class Plan:
    """`live` and `accumulators` are estimates in registers; `agprs` what the A file must hold."""

    live: int
    accumulators: int
    agprs: int
    waves_per_simd: int
    in_agprs: frozenset[Value]

    @property
    def budget(self) -> int:
        return FILE // self.waves_per_simd

    @property
    def waves_attribute(self) -> str:
        return str(self.waves_per_simd)

    def file(self, value: Value) -> str:
        return "a" if value in self.in_agprs else "v"


def plan(kernel: Kernel) -> Plan:
    unknown = sorted(set(kernel.policies) - POLICIES)
    if unknown:
        raise CompileError(
            "C150", f"no policy named {unknown[0]!r}; there are {', '.join(sorted(POLICIES))}", kernel.span
        )
    waves = max(-(-kernel.waves // SIMDS), int(kernel.policies.get("waves_per_simd", 1)))
    accumulators = frozenset(_accumulators(kernel.body))
    carried = sum(registers(value) for value in accumulators)
    live = _most_live(kernel.body, frozenset())
    budget = FILE // waves
    choice = kernel.policies.get("accumulators", "agpr" if live > min(budget, HALF) else "vgpr")
    if choice not in ("agpr", "vgpr"):
        raise CompileError("C150", f"accumulators live in 'vgpr' or 'agpr', not {choice!r}", kernel.span)
    if live > budget:
        raise CompileError(
            "C130",
            f"about {live} registers are live at once, a wave has {budget}",
            kernel.span,
            (
                f"accumulators {carried}, everything else {live - carried}",
                f"{kernel.waves} waves a workgroup: {waves} share the {FILE} registers of a SIMD",
            ),
        )
    agprs = min(HALF, -(-carried // 4) * 4) if choice == "agpr" else 0
    return Plan(live, carried, agprs, waves, accumulators if choice == "agpr" else frozenset())


def _accumulators(block: list[ops.Op]) -> list[Value]:
    """Loop-carried values whose only use in the loop is as C operand of a matrix instruction."""
    found: list[Value] = []
    for op in ops.walk(block):
        if not isinstance(op, ops.For):
            continue
        uses: dict[Value, list[bool]] = {}
        for inner in ops.walk(op.body):
            for value in inner.operands:
                only_c = isinstance(inner, ops.Mfma) and value is inner.c and value not in (inner.a, inner.b)
                uses.setdefault(value, []).append(only_c)
        found += [arg for arg in op.args if uses.get(arg) and all(uses[arg])]
    return found


def _most_live(block: list[ops.Op], after: frozenset[Value]) -> int:
    """Most registers live at one point of the block, given the values live after it."""
    return _walk_back(block, after)[0]


def _walk_back(block: list[ops.Op], after: frozenset[Value]) -> tuple[int, frozenset[Value]]:
    live = set(after)
    most = _size(live)
    for op in reversed(block):
        if isinstance(op, ops.Tag | ops.Check):
            continue
        live -= set(op.results)
        if isinstance(op, ops.For):
            through = _used_from_outside(op.body) - set(op.args)
            inside, _ = _walk_back(op.body, frozenset(live | through | set(op.yields)))
            live |= through
            most = max(most, inside, _size(live | set(op.args)))
        elif isinstance(op, ops.If):
            for arm, yields in ((op.then, op.then_yields), (op.orelse, op.else_yields)):
                inside, before = _walk_back(arm, frozenset(live | set(yields)))
                live |= before
                most = max(most, inside)
        elif isinstance(op, ops.Schedule):
            inside, before = _walk_back(op.body, frozenset(live))
            live = set(before)
            most = max(most, inside)
        live |= set(op.operands)
        most = max(most, _size(live))
    return most, frozenset(live)


def _used_from_outside(block: list[ops.Op]) -> set[Value]:
    made = {value for op in ops.walk(block) for value in op.results}
    for op in ops.walk(block):
        if isinstance(op, ops.For):
            made |= set(op.args)
    used = {value for op in ops.walk(block) for value in op.operands}
    return used - made


def _size(values: set[Value] | frozenset[Value]) -> int:
    return sum(registers(value) for value in values)
