"""Ops are declared once: facts hold against the fields, the union is all there is, and class tests are counted.

Tests on the class of an op outside of closed dispatches stand in a list whose numbers may only shrink
(`tests.ir.op_class_tests`).
"""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from argus.ir import ops
from argus.ir.known_ops import CLASSES
from argus.ir.ops import Access, Op, OpBase, Shared, Tensor
from argus.ir.parse_ops import SIMPLE
from argus.ir.types import Value, bf16, boolean, f32, i32
from argus.layout import expr as E
from argus.layout.expr import Expr, const
from tests.ir.op_class_tests import allowed, found

NAMES = {cls.__name__ for cls in get_args(Op)}


@pytest.mark.parametrize("kind", ["isinstance", "open_match"])
def test_class_tests_only_shrink(kind: str) -> None:
    now, limit = found()[kind], allowed()[kind]
    more = {path: count for path, count in now.items() if count > limit.get(path, 0)}
    assert not more, f"more than tests/ir/op_class_tests.json allows: {more}"


def test_the_union_is_all_there_is() -> None:
    below: set[type] = set()
    waiting = [OpBase]
    while waiting:
        cls = waiting.pop()
        inner = [c for c in cls.__subclasses__() if c.__module__.startswith("argus.")]
        waiting += inner
        below |= set(inner)
    leaves = {c for c in below if "declared" in c.__dict__}
    assert {c.__name__ for c in leaves} == NAMES
    assert leaves >= CLASSES


def test_a_class_without_facts_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="declares no facts"):

        class Silent(OpBase):
            pass


def test_words_are_unique_and_read() -> None:
    words = [cls.declared.word for cls in get_args(Op)]
    assert len(set(words)) == len(words)
    assert {*SIMPLE, "for", "if", "schedule"} == set(words)


def value(n: int, dtype=f32, count: int = 4) -> Value:
    return Value(n, dtype, count)


LANE = E.var("lane", 0, 63)
GUARD = LANE.lt(7)
X = Tensor("x", f32, ("n",), (const(64),), (const(1),), True, True)
PAIRS = Tensor("h", bf16, ("n",), (const(64),), (const(1),), True, True)
S = Shared("s", f32, 1024, 0)
IN_X = Access(X, LANE * 16, 4, (LANE * 4,), 0)
IN_S = Access(S, LANE * 16, 4)
AROUND = E.var("k", 0, 9)

SAMPLES: list[Op] = [
    ops.Constant(result=value(1), value=1.0),
    ops.Index(result=value(1, i32, 1), expr=LANE),
    ops.Symbol(value=value(1, i32, 1), symbol=E.var("e", 0, 5), facts=(E.var("e", 0, 5).lt(3),)),
    ops.Load(result=value(1), access=IN_X),
    ops.Load(result=value(1), access=IN_S),
    ops.Load(result=value(1), access=dataclasses.replace(IN_S, guard=GUARD)),
    ops.Store(value=value(1), access=dataclasses.replace(IN_X, guard=GUARD)),
    ops.Store(value=value(1), access=dataclasses.replace(IN_S, guard=GUARD)),
    ops.CopyToLds(access=dataclasses.replace(IN_X, count=1), into=S, lds_base=const(256)),
    ops.Atomic(fn="add", access=IN_X, value=value(1)),
    ops.Atomic(fn="add", access=Access(PAIRS, LANE * 4, 2, (LANE * 2,), 0), value=value(1, bf16, 2)),
    ops.Map(fn="add", args=(value(1), value(2)), result=value(3)),
    ops.Convert(value=value(1), result=value(2, bf16)),
    ops.Bitcast(value=value(1), result=value(2, i32)),
    ops.Registers(args=(value(1), value(2)), pick=((0, 1), (1, 2)), result=value(3, count=2)),
    ops.Lanes(value=value(1), source=LANE ^ 1, result=value(2)),
    ops.Mfma(inst="mfma_32x32x8_bf16", a=value(1), b=value(2), c=value(3), result=value(4)),
    ops.Instruction(inst="v_add_f32", args=(value(1), value(2)), outs=(value(3),)),
    ops.Instruction(inst="s_sleep", args=(), outs=(), attrs={"n": 1}),
    ops.Barrier(),
    ops.Wait(vm=1),
    ops.SetPrio(priority=1),
    ops.For(
        var=AROUND,
        lo=const(0),
        hi=E.var("K", 1, 9),
        step=1,
        inits=(value(1),),
        args=(value(2),),
        body=[],
        yields=(value(3),),
        outs=(value(4),),
    ),
    ops.If(
        cond=GUARD,
        uniform=False,
        then=[],
        orelse=[],
        then_yields=(value(1),),
        else_yields=(value(2),),
        outs=(value(3),),
    ),
    ops.Schedule(policy={"mfma": 1}, body=[]),
    ops.Tag(target=value(1, boolean), name="t", params=(LANE,), exprs=(LANE + 1,)),
    ops.Check(rule="conform", targets=(value(1), X), args={"axis": LANE, "more": (LANE * 2,)}),
]


def inside(thing: object, kind: type) -> list[object]:
    """Objects of a class in the fields of an op, but not in memories."""
    if isinstance(thing, kind):
        return [thing]
    if isinstance(thing, Tensor | Shared):
        return []
    if isinstance(thing, dict):
        return [found for part in thing.values() for found in inside(part, kind)]
    if isinstance(thing, tuple | list):
        return [found for part in thing for found in inside(part, kind)]
    if isinstance(thing, OpBase | Access):
        return [found for f in dataclasses.fields(thing) for found in inside(getattr(thing, f.name), kind)]
    return []


def test_every_class_has_a_sample() -> None:
    assert {type(op) for op in SAMPLES} == set(get_args(Op))


@pytest.mark.parametrize("op", SAMPLES, ids=lambda op: op.declared.word)
def test_facts_cover_the_fields(op: Op) -> None:
    """No value, expression or block of an op is left out of what it declares."""
    handed = [v for values in op.handed for v in values]
    carried = [v for made, sources in op.sources for v in (made, *sources)]
    assert {*op.operands, *op.results, *handed, *carried} == set(inside(op, Value))
    assert set(op.mentioned) == set(inside(op, Expr))
    assert set(op.expressions) <= set(op.mentioned)
    assert set(op.binds) <= set(op.mentioned)
    assert len(op.handed) == len(op.blocks)
    assert bool(op.blocks) == (op.control is not ops.Control.NONE)


@pytest.mark.parametrize("op", SAMPLES, ids=lambda op: op.declared.word)
def test_memory_facts_belong_together(op: Op) -> None:
    touches = bool(op.footprints)
    assert touches == (op.counter is not None) == (op.ordering is ops.Ordering.ACCESS)
    assert not op.surely_issued or touches
    assert not any(f.writes for f in op.footprints) or op.effect
    if not op.code:
        assert not op.effect
        assert not touches
        assert op.issue_class is None


def test_what_is_surely_issued() -> None:
    """Guards of global accesses move the address; guarded LDS accesses and pairs of bf16 stand behind a branch."""
    by_word = [(op.declared.word, op.counter, op.surely_issued) for op in SAMPLES if op.footprints]
    assert by_word == [
        ("load", "vm", True),
        ("load", "lgkm", True),
        ("load", "lgkm", False),
        ("store", "vm", True),
        ("store", "lgkm", False),
        ("copy", "vm", True),
        ("atomic", "vm", True),
        ("atomic", "vm", False),
    ]


def test_a_direct_copy_writes_a_dword_a_lane() -> None:
    (copy,) = (op for op in SAMPLES if isinstance(op, ops.CopyToLds))
    source, landing = copy.footprints
    assert (source.space, source.reads, source.writes, source.bytes, source.granule) == ("global", True, False, 4, 4)
    assert (landing.space, landing.writes, landing.lane_stride, landing.wave_bytes(64)) == ("lds", True, 4, 256)
