"""The register plan: how many registers the kernel needs, which file the accumulators live in, how many waves share.

A SIMD has 512 vector registers of 64 lanes; a wave may use at most 256 ordinary ones (V) and 256 accumulation ones
(A). A workgroup of W waves occupies its four SIMDs with ceil(W/4) waves each, which must fit together.

Estimate, before LLVM sees the kernel: the registers live at the fullest point (`fullest_point`). Addresses are
estimated from the distinct vector index expressions. The estimate decides where accumulators live (values that enter a
loop and are only ever the C operand of matrix instructions): in V while everything fits, else in A. A kernel that
cannot fit is refused here, with the numbers.

Policies a kernel may set: `agpr` = True | False (accumulators in A or in V) or "operands" (matrix results in V, where
arithmetic reaches them; what is loaded, multiplied and stored may live in A), `waves_per_simd` = how many waves a SIMD
must hold, `waits` = "explicit" (every wait is an op of the kernel already).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from argus.compile.context import registers
from argus.compile.fullest_point import fullest_point
from argus.gfx942.mfma import ALIASES, mfma
from argus.ir import ops
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr

FILE = 512
HALF = 256
SIMDS = 4
POLICIES = ("agpr", "waves_per_simd", "waits")


@dataclass(frozen=True, slots=True)
class RegisterPlan:
    """Estimates in registers: `live` values and `addresses` at the fullest point, `accumulators` among the values,
    `spare` in transit; `agprs` is what the A file must hold. `candidates` are the accumulators, `in_agprs` those that
    live in the A file: all or none. `operands`: the A file is for operands, LLVM says which."""

    live: int
    addresses: int
    accumulators: int
    spare: int
    agprs: int
    waves_per_simd: int
    candidates: frozenset[Value]
    in_agprs: frozenset[Value]
    operands: bool = False

    @property
    def agpr_attribute(self) -> str:
        """LLVM's `amdgpu-agpr-alloc`: with a least number of 0, matrix results stay in V."""
        return f"0,{self.agprs}" if self.operands and self.agprs else str(self.agprs)

    @property
    def budget(self) -> int:
        return FILE // self.waves_per_simd

    @property
    def waves_attribute(self) -> str:
        return str(self.waves_per_simd)

    @property
    def needed(self) -> int:
        return self.live + self.addresses + self.spare

    @property
    def breakdown(self) -> str:
        others = self.live - self.accumulators
        return (
            f"accumulators {self.accumulators}, other values {others}, addresses {self.addresses}, "
            f"in transit {self.spare}"
        )

    @property
    def where(self) -> str:
        return "AGPRs" if self.in_agprs else "VGPRs"

    def file(self, value: Value) -> str:
        return "a" if value in self.in_agprs else "v"

    def other_file(self) -> RegisterPlan | None:
        """The plan with the accumulators in the other file; None where they cannot live there."""
        if self.operands or not self.candidates or (self.in_agprs and self.needed > min(self.budget, HALF)):
            return None
        if self.in_agprs:
            return replace(self, agprs=0, in_agprs=frozenset())
        if self.needed - self.accumulators > HALF or self.accumulators > HALF:
            return None
        return replace(self, agprs=_whole(self.accumulators), in_agprs=self.candidates)


def plan(kernel: Kernel) -> RegisterPlan:
    unknown = [name for name in kernel.policies if name not in POLICIES]
    if unknown:
        known = ", ".join(POLICIES)
        raise CompileError(
            "C150", f"the compiler does not act on a policy {unknown[0]!r}, only on {known}", kernel.span
        )
    if kernel.policies.get("waits", "explicit") != "explicit":
        raise CompileError("C150", f"waits are 'explicit' or left to the compiler, not {kernel.policies['waits']!r}")
    waves = max(-(-kernel.waves // SIMDS), int(kernel.policies.get("waves_per_simd", 1)))
    if not 1 <= waves <= 8:
        raise CompileError("C150", f"a SIMD holds 1 to 8 waves, not {waves}", kernel.span)
    accumulators = frozenset(_accumulators(kernel.body))
    carried = sum(registers(value) for value in accumulators)
    live = len(fullest_point(kernel.body).held)
    addresses = _addresses(kernel.body, frozenset())
    spare = _spare(kernel.body)
    found = RegisterPlan(live, addresses, carried, spare, 0, waves, accumulators, frozenset())
    needed, budget = found.needed, found.budget
    if kernel.policies.get("agpr") == "operands" and needed <= budget:
        return replace(found, agprs=max(0, budget - HALF), operands=True)
    in_agprs = bool(kernel.policies.get("agpr", needed > min(budget, HALF))) and carried > 0
    ordinary = needed - (carried if in_agprs else 0)
    if needed > budget or ordinary > HALF:
        room = f"a wave has {budget}" if needed > budget else f"{ordinary} of them ordinary, of which a wave has {HALF}"
        raise CompileError(
            "C130",
            f"about {needed} registers are live at once, {room}",
            kernel.span,
            (
                found.breakdown,
                f"{waves} waves share the {FILE} registers of a SIMD; {HALF} ordinary and {HALF} accumulation at most",
                "a smaller tile, fewer values in flight, or fewer waves would fit",
            ),
        )
    return replace(found, agprs=_whole(carried), in_agprs=accumulators) if in_agprs else found


def _whole(registers: int) -> int:
    return min(HALF, -(-registers // 4) * 4)


def _spare(block: list[ops.Op]) -> int:
    """Small matrix instructions do not write their result over C: one result and its operands are in transit."""
    sizes = [
        registers(op.result) + registers(op.a) + registers(op.b)
        for op in ops.walk(block)
        if isinstance(op, ops.Mfma) and op.inst in ALIASES and mfma(op.inst).m < 32
    ]
    return max(sizes, default=0)


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


def _addresses(block: list[ops.Op], loops: frozenset[str]) -> int:
    """Distinct per-lane address parts in one loop, the largest number of any loop."""
    parts: set[Expr] = set()
    most = 0
    for op in block:
        inner = loops | {variable.name for variable in op.binds} if op.control is ops.Control.LOOP else loops
        most = max(most, *(_addresses(block, inner) for block in op.blocks)) if op.blocks else most
        parts |= {_lane_part(f.address, loops) for f in op.footprints if f.lane_stride is None}
    return max(most, len(parts) if loops else 0)


def _lane_part(address: Expr, loops: frozenset[str]) -> Expr:
    total = E.const(0)
    for atom, factor in E.linear(address)[0].items():
        names = {v.name for v in atom.free()}
        if "lane" in names or not names & (loops | {"block_x", "block_y", "block_z"}):
            total = total + atom * factor
    return total
