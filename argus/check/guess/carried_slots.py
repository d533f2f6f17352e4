"""Which slots of a loop are sums of what came before, and which ops the others depend on."""

from __future__ import annotations

from argus.ir import ops
from argus.ir.ops import Op
from argus.ir.types import Value


def accumulators(op: ops.For) -> list[int]:
    """Slots that what an iteration leaves in them is computed from."""
    moved = {arg: 1 << n for n, arg in enumerate(op.args)}  # value -> bits of the slots it is moved from
    computed: dict[Value, int] = {}
    _followed(op.body, moved, computed)
    return [n for n, value in enumerate(op.yields) if computed.get(value, 0) >> n & 1]


def _followed(block: list[Op], moved: dict[Value, int], computed: dict[Value, int]) -> None:
    for inner in block:
        for body in inner.blocks:
            _followed(body, moved, computed)
        if isinstance(inner, ops.If):
            for out, *sides in zip(inner.outs, inner.then_yields, inner.else_yields, strict=True):
                for known in (moved, computed):
                    known[out] = known.get(sides[0], 0) | known.get(sides[1], 0)
        elif isinstance(inner, ops.Map | ops.Mfma | ops.Registers | ops.Convert | ops.Lanes):
            made = at_rest = 0
            for v in inner.operands:
                made |= computed.get(v, 0)
                at_rest |= moved.get(v, 0)
            if isinstance(inner, ops.Map | ops.Mfma):
                computed[inner.result] = made | at_rest
            else:
                computed[inner.result], moved[inner.result] = made, at_rest


def needed_ops(op: ops.For, slots: list[int]) -> frozenset[int]:
    """Ops of the body that these slots, and LDS, depend on within one iteration."""
    kept: set[int] = set()
    wanted = {op.yields[n] for n in slots if n < len(op.yields)}
    _collect(op.body, wanted, kept)
    return frozenset(kept)


def _collect(block: list[Op], wanted: set[Value], kept: set[int]) -> None:
    for op in reversed(block):
        if isinstance(op, ops.Schedule):
            kept.add(op.id)
            _collect(op.body, wanted, kept)
            continue
        inner = [op, *(o for b in op.blocks for o in ops.walk(b))]
        if wanted & set(op.results) or any(_changes_lds(o) or (o.binds and not o.blocks) for o in inner):
            kept.update(o.id for o in inner)
            wanted.update(v for o in inner for v in o.operands)
            wanted.update(v for handed in op.handed for v in handed)


def _changes_lds(op: Op) -> bool:
    return any(touched.space == "lds" and touched.writes for touched in op.footprints)
