"""The checker against a baseline that asks Z3 everything: GEMM, every obligation a 32-bit-vector query, in one run.

    python bench/checker_baseline.py [--limit SECONDS]
    python bench/checker_baseline.py --times

The baseline is the straightforward encoding: threads, blocks, loop variables and sizes are symbols; LDS is relational
(a read's element is that of *some* store element at the same address); each obligation is negated and handed to Z3
with the checker's own `rlimit`. Obligations, each one query:

    conform     every MFMA and k-slot: the elements that meet carry the same K
    written     every pair of stores to one buffer between two barriers: no two threads store to one byte
    in_bounds   every global access: a coordinate outside the tensor has an address outside the buffer, and no address
                wraps
    once        every store to C: no two (block, thread, element) store to one element

It asks less than the checker (no races across barriers, no complete sums, no coverage), so the ratio printed is a lower
bound. After --limit seconds the baseline is stopped, and the ratio is against what it had spent by then.

`--times` prints what the checker itself takes for the three kernels, in this process, without kept proofs: CPU seconds,
the best of five (other work on the machine only ever adds), and the same for the hazard rules on the compiled object.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import z3

from argus.check import check
from argus.check.solve.prover import RLIMIT
from argus.compile import compile_kernel
from argus.compile.recheck import recheck
from argus.gfx942.mfma import mfma as mfma_named
from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, LANE, Kernel, wave_variable
from argus.ir.ops import Access, Op, Shared, Tensor
from argus.ir.passes.schedule import scheduled
from argus.ir.types import Value
from argus.lang import read
from argus.layout import expr as E
from argus.layout.expr import Expr, const, var
from tests.check.kernels import KERNELS

ROOT = Path(__file__).resolve().parent.parent
GEMM = ROOT / "argus" / "kernels" / "gemm.py"
LISTINGS = ROOT / "tests" / "lang" / "programs"
ROUNDS = 5
LARGEST = 1 << 14
"""Sizes the baseline is asked about: beyond, byte offsets wrap in 32 bits and its answers would be artefacts."""
Facts = list[Expr]


class Program:
    """A kernel with its definitions, and threads as symbols."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.wave = wave_variable(kernel.waves)
        self.all = list(ops.walk(kernel.body))
        self.defined: dict[Value, Op] = {v: op for op in self.all for v in op.results}
        self.facts: Facts = [*kernel.requires, *(size.le(LARGEST) for size in kernel.shapes)]
        for block, extent in zip((BLOCK_X, BLOCK_Y), kernel.grid, strict=False):
            self.facts.append(block.lt(extent))
        for op in self.all:
            if isinstance(op, ops.For):
                self.facts += [op.var.ge(op.lo), op.var.lt(op.hi)]

    def thread(self, name: str, own_wave: bool = True) -> dict[Expr, Expr | int]:
        """A renaming of lane (and wave) to a thread of its own."""
        renamed: dict[Expr, Expr | int] = {LANE: var(f"lane_{name}", 0, 63)}
        if own_wave:
            renamed[self.wave] = var(f"wave_{name}", 0, self.kernel.waves - 1)
        return renamed

    def source(self, value: Value, element: int) -> tuple[ops.Load, int]:
        """The load, and its element, that a register element comes from."""
        op = self.defined[value]
        while not isinstance(op, ops.Load):
            assert isinstance(op, ops.Registers), op
            which, element = op.pick[element]
            op = self.defined[op.args[which]]
        return op, element


def held(
    program: Program, load: ops.Load, element: int, thread: dict[Expr, Expr | int], name: str
) -> tuple[Facts, Expr]:
    """(constraints, K coordinate) of an element read from LDS: some store put it there."""
    stores = [
        op for op in program.all if isinstance(op, ops.Store) and op.access.memory is load.access.memory
    ]  # fmt: skip
    writer, e = program.thread(f"{name}_writer"), var(f"e_{name}", 0, 7)
    which = var(f"store_{name}", 0, len(stores) - 1)
    wanted = load.access.address.subst(thread) + 2 * element
    found: Expr = const(0)
    same: list[Expr] = []
    for n, store in enumerate(stores):
        first, _ = program.source(store.value, 0)
        k = first.access.coords[first.access.axis].subst(writer) + e
        same.append(E.lor(which.ne(n), (store.access.address.subst(writer) + 2 * e).eq(wanted)))
        found = E.select(which.eq(n), k, found)
    return same, found


def conform(program: Program) -> Iterator[Facts]:
    for op in program.all:
        if not isinstance(op, ops.Mfma):
            continue
        row = mfma_named(op.inst)
        left, right = program.thread("a", own_wave=False), program.thread("b", own_wave=False)
        for e in range(row.a_elements):
            _, k_left, _ = row.a_index(left[LANE], e)
            _, k_right, _ = row.b_index(right[LANE], e)
            first, k_a = held(program, *program.source(op.a, e), left, "a")
            second, k_b = held(program, *program.source(op.b, e), right, "b")
            yield [*program.facts, E.as_expr(k_left).eq(k_right), *first, *second, k_a.ne(k_b)]


def written(program: Program) -> Iterator[Facts]:
    stores = [op for op in program.all if isinstance(op, ops.Store) and isinstance(op.access.memory, Shared)]
    one, other = program.thread("one"), program.thread("other")
    for x, y in combinations_with_replacement(stores, 2):
        if x.access.memory is not y.access.memory:
            continue
        a, b = x.access.address.subst(one), y.access.address.subst(other)
        overlap = [a.lt(b + _bytes(y.access)), b.lt(a + _bytes(x.access))]
        apart = E.lor(*(E.as_expr(one[v]).ne(other[v]) for v in one)) if x is y else E.TRUE
        yield [*program.facts, *overlap, apart]


def _bytes(access: Access) -> int:
    return access.count * access.memory.dtype.bytes


def _globals(program: Program) -> list[ops.Load | ops.Store]:
    return [
        op for op in program.all if isinstance(op, ops.Load | ops.Store) and isinstance(op.access.memory, Tensor)
    ]  # fmt: skip


def in_bounds(program: Program) -> Iterator[Facts]:
    for op in _globals(program):
        tensor = op.access.memory
        assert isinstance(tensor, Tensor)
        size = tensor.dtype.bytes
        for axis in range(len(tensor.axes)):
            end = op.access.coords[axis] + (op.access.count - 1 if axis == op.access.axis else 0)
            outside = E.lor(op.access.coords[axis].lt(0), end.ge(tensor.shape[axis]))
            total = tensor.shape[0] * tensor.strides[0] * size
            inside = E.land(op.access.address.ge(0), op.access.address.lt(total))
            yield [*program.facts, outside, inside]


def once(program: Program) -> Iterator[Facts]:
    one, other = program.thread("one"), program.thread("other")
    elsewhere: Facts = []
    for block, extent in zip((BLOCK_X, BLOCK_Y), program.kernel.grid, strict=False):
        one[block], other[block] = block, var(f"{block.name}_other", 0, block.hi)
        elsewhere.append(E.as_expr(other[block]).lt(extent))
    apart = E.lor(*(E.as_expr(one[v]).ne(other[v]) for v in one))
    for op in _globals(program):
        if isinstance(op, ops.Store):
            same = op.access.address.subst(one).eq(op.access.address.subst(other))
            yield [*program.facts, *elsewhere, same, apart]


OBLIGATIONS = {"conform": conform, "written": written, "in_bounds": in_bounds, "once": once}


def ask(facts: Facts) -> str:
    """unsat: the obligation is proved."""
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    named = {node for fact in facts for node in E.postorder(fact) if node.op == "var"}
    solver.add(*(E.to_z3(fact, "bv", 32) for fact in facts))
    solver.add(*E.z3_bounds(named, "bv", 32))
    return str(solver.check())


def times() -> int:
    """CPU seconds of the checker on the three kernels, and of the hazard rules on their objects."""
    kernels = {
        "GEMM 128x128x64": read(GEMM),
        "GEMM 256x256x64 pipelined": read(GEMM.with_name("gemm_pipelined.py")),
        "causal attention, specified": KERNELS["attention"]().kernel,
        "MoE as listed": read(LISTINGS / "moe.py"),
        "MoE, specified": KERNELS["moe"]().kernel,
    }
    print(f"{'kernel':<28} {'first':>7} {'best':>7} {'object':>7}   verdicts")
    for name, kernel in kernels.items():
        compiled = compile_kernel(scheduled(kernel))
        taken = [_seconds(lambda k=kernel: check(scheduled(k))) for _ in range(ROUNDS)]  # type: ignore[misc]
        after = min(_seconds(lambda k=kernel, c=compiled: recheck(scheduled(k), c)) for _ in range(ROUNDS))  # type: ignore[misc]
        found = Counter(v.status for v in check(scheduled(kernel)).verdicts)
        counts = ", ".join(f"{n} {status}" for status, n in found.items())
        print(f"{name:<28} {taken[0]:7.2f} {min(taken):7.2f} {after:7.2f}   {counts}", flush=True)
    return 0


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=600.0, help="CPU seconds for the baseline")
    parser.add_argument("--times", action="store_true", help="only the checker's own times")
    args = parser.parse_args()
    if args.times:
        return times()
    kernel = read(GEMM)
    check(scheduled(kernel))  # loads Z3 and tables once for both
    start = process_time()
    report = check(scheduled(kernel))
    ours = process_time() - start
    print(f"checker    {ours:7.2f} s CPU, {len(report.verdicts)} verdicts, {report.status}")
    program, spent, stopped = Program(kernel), 0.0, False
    for name, obligations in OBLIGATIONS.items():
        answers: Counter[str] = Counter()
        start = process_time()
        for facts in obligations(program):
            answers[ask(facts)] += 1
            stopped = spent + process_time() - start > args.limit
            if stopped:
                break
        took = process_time() - start
        spent += took
        counts = ", ".join(f"{n} {word}" for word, n in answers.items())
        print(f"  {name:<10}{took:7.2f} s CPU, {sum(answers.values())} queries: {counts}", flush=True)
        if stopped:
            break
    word = "stopped after" if stopped else "baseline  "
    print(f"{word} {spent:7.2f} s CPU; the checker is {spent / ours:.0f} times as fast")
    return 0 if spent >= 20 * ours else 1


if __name__ == "__main__":
    sys.exit(main())
