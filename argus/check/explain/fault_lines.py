"""The lines at fault behind a wrong element: its execution read backwards, beside the specification (`first_fault`).

    = a[63] is loaded, on which y[64] does not depend: branch.py:11
    = the constant 1 goes into the sum: gemm.py:14

Works for counterexamples of `value`, `placed` and `reduced`, and for outputs that atomics update. Says nothing where
the execution is too long to be read backwards, or nothing in it is wrong.
"""

from __future__ import annotations

from argus.check.executed.inputs import data_of
from argus.check.executed.outcome import SmallLaunch
from argus.check.explain.compared_groups import UPDATE, Member
from argus.check.explain.first_fault import FaultLine, FirstFaults
from argus.check.explain.recorded_run import LANES, Recording, RegisterPlace, Untraceable
from argus.check.explain.specified_parts import GroupKind, SpecifiedParts
from argus.check.explain.value_origins import ComputedNumber, OriginOperand
from argus.check.explain.writers import Writer, place_of, writers
from argus.check.verdict import Counterexample
from argus.ir import interp, ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Op, Tensor
from argus.layout.expr import ExprError

UPDATES: dict[str, GroupKind] = {"add": "sum", "max": "max", "min": "min"}


def faults(kernel: Kernel, example: Counterexample, launch: SmallLaunch) -> list[FaultLine]:
    """What is wrong on the way to the element that a counterexample shows, at its launch."""
    party = example.operands[0]
    tensor = next((t for t in kernel.tensors if t.name == party.tensor and t.written), None)
    if kernel.computes is None or tensor is None or set(party.coords) != set(tensor.axes):
        return []
    try:
        return _faults(kernel, example, tensor, launch)
    except (Untraceable, ExprError, interp.InterpError, LookupError, ValueError, ArithmeticError):
        return []  # the verdict stands without it


def _faults(kernel: Kernel, example: Counterexample, tensor: Tensor, launch: SmallLaunch) -> list[FaultLine]:
    assert kernel.computes is not None
    coords, sizes = example.operands[0].coords, dict(example.sizes)
    at = tuple(coords[axis] for axis in tensor.axes)
    stated = next((r for r in kernel.computes.results if r.result == tensor.name), None)
    if stated is None:
        return []
    made, given = data_of(kernel, launch)
    parts = SpecifiedParts(stated, made, {**sizes, **given}, at)
    run = Recording(kernel, made, sizes, given, example.block)
    target = f"{tensor.name}[{', '.join(map(str, at))}]"
    thread, loops = example.operands[0].thread, tuple(example.loop.items())
    place = RegisterPlace(thread // LANES, thread % LANES, example.operands[0].element, loops)
    store = next((op for op in ops.walk(kernel.body) if op.id == example.op), None)
    if store is None or not _stores(run, store, place, place_of(tensor, sizes, at)):
        wrote, _ = writers(kernel, made, sizes, given, tensor, at)
        if not wrote:
            return []
        store, place = wrote[-1].op, _place(wrote[-1])
        if wrote[-1].block != example.block:
            run = Recording(kernel, made, sizes, given, wrote[-1].block)
    search = FirstFaults(run, parts, target)
    if any(f.reads for f in store.footprints):
        wrote, _ = writers(kernel, made, sizes, given, tensor, at)
        return _of_updates(search, wrote, tensor, at, float(made[tensor.name][at]))
    return search.behind(search.origins.operand(store.operands[0], place), store)


def _place(writer: Writer) -> RegisterPlace:
    return RegisterPlace(writer.wave, writer.lane, writer.element, tuple(writer.loops.items()))


def _stores(run: Recording, store: Op, at: RegisterPlace, wanted: int) -> bool:
    """A register element is stored to an element of its tensor's memory."""
    part = next((f for f in store.footprints if f.writes and isinstance(f.memory, Tensor)), None)
    if part is None or len(at.loops) != len(run.loops_of[store.id]):
        return False
    done = part.guard is None or bool(run.number(part.guard, at))
    return (
        done and run.number(part.address, at) + at.element * part.memory.dtype.bytes == wanted * part.memory.dtype.bytes
    )


def _of_updates(
    search: FirstFaults, wrote: list[Writer], tensor: Tensor, at: tuple[int, ...], before: float
) -> list[FaultLine]:
    """Of an element that atomics update: which update is too much, missing, or by another function."""
    functions = [str(getattr(w.op, "fn", "")) for w in wrote]
    usual = max(set(functions), key=functions.count)
    odd = [
        FaultLine(w.op.span, f"this updates by {fn}, other updates by {usual}")
        for w, fn in zip(wrote, functions, strict=True)
        if fn != usual
    ]
    if odd or usual not in UPDATES:
        return odd[:1]
    twice = _taken_twice(search, wrote)
    if twice:
        return twice
    found = [Member(1, OriginOperand(ComputedNumber(w.op, "computed", UPDATE, w.value)), w.op) for w in wrote]
    start = ComputedNumber(wrote[0].op, "element", "load", before, tensor=tensor.name, coords=at)
    return search.among(UPDATES[usual], [Member(1, OriginOperand(start), wrote[0].op), *found])


def _taken_twice(search: FirstFaults, wrote: list[Writer]) -> list[FaultLine]:
    """An update by the same element as one before, in the workgroup that was recorded."""
    seen: set[tuple[str, tuple[int, ...]]] = set()
    for writer in wrote:
        if writer.block == search.run.block:
            leaf = search.leaf(search.origins.operand(writer.op.operands[0], _place(writer)))
            if leaf is not None and leaf.number.sort == "element":
                key = (leaf.number.tensor, leaf.number.coords)
                if key in seen:
                    named = f"{key[0]}[{', '.join(map(str, key[1]))}]"
                    return [FaultLine(writer.op.span, f"the update by {named} is the second one", "index")]
                seen.add(key)
    return []
