"""Ops that touch memory.

A global access is one buffer instruction or more, and a thread that its guard excludes addresses nothing: the
instruction is issued all the same. A guarded LDS access has no such form and stands behind a branch, which a wave skips
when no lane of it passes; so does an atomic on pairs of bf16 in global memory, which has no buffer form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from argus.ir.ops.declared import Declared, MakesOne, OpBase, Ordering
from argus.ir.ops.places import COPY_STRIDE, Access, Counter, Footprint, Shared, footprint
from argus.ir.types import Value
from argus.layout.expr import Expr


def _counter(access: Access) -> Counter:
    return "lgkm" if access.space == "lds" else "vm"


def _surely(access: Access) -> bool:
    return access.space == "global" or not access.guarded


@dataclass(slots=True, eq=False, kw_only=True)
class Load(MakesOne):
    declared: ClassVar = Declared("load", Ordering.ACCESS)
    access: Access

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.access.expressions

    @property
    def mentioned(self) -> tuple[Expr, ...]:
        return (*self.expressions, *self.access.coords)

    @property
    def footprints(self) -> tuple[Footprint, ...]:
        return (footprint(self.access, reads=True, writes=False),)

    @property
    def counter(self) -> Counter | None:
        return _counter(self.access)

    @property
    def surely_issued(self) -> bool:
        return _surely(self.access)

    @property
    def issue_class(self) -> str | None:
        return "ds_read" if self.access.space == "lds" else "buffer_load"


@dataclass(slots=True, eq=False, kw_only=True)
class Store(OpBase):
    declared: ClassVar = Declared("store", Ordering.ACCESS, effect=True)
    access: Access
    value: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.access.expressions

    @property
    def mentioned(self) -> tuple[Expr, ...]:
        return (*self.expressions, *self.access.coords)

    @property
    def footprints(self) -> tuple[Footprint, ...]:
        return (footprint(self.access, reads=False, writes=True),)

    @property
    def counter(self) -> Counter | None:
        return _counter(self.access)

    @property
    def surely_issued(self) -> bool:
        return _surely(self.access)

    @property
    def issue_class(self) -> str | None:
        return "ds_write" if self.access.space == "lds" else "buffer_store"


@dataclass(slots=True, eq=False, kw_only=True)
class CopyToLds(OpBase):
    """Direct global-to-LDS copy, `access.count` elements (1, 2 or 4 bytes) per lane.

    The hardware writes lane i of a wave at `lds_base + 4*i`: `lds_base` may not depend on the lane.
    """

    declared: ClassVar = Declared("copy", Ordering.ACCESS, effect=True)
    access: Access
    into: Shared
    lds_base: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (*self.access.expressions, self.lds_base)

    @property
    def mentioned(self) -> tuple[Expr, ...]:
        return (*self.expressions, *self.access.coords)

    @property
    def footprints(self) -> tuple[Footprint, ...]:
        landing = Footprint(self.into, False, True, self.lds_base, COPY_STRIDE, COPY_STRIDE, None, COPY_STRIDE)
        return (footprint(self.access, reads=True, writes=False), landing)

    @property
    def counter(self) -> Counter | None:
        return "vm"

    @property
    def surely_issued(self) -> bool:
        return True

    @property
    def issue_class(self) -> str | None:
        return "buffer_load"


@dataclass(slots=True, eq=False, kw_only=True)
class Atomic(OpBase):
    """Read-modify-write without result: memory[...] = fn(memory[...], value)."""

    declared: ClassVar = Declared("atomic", Ordering.ACCESS, effect=True)
    fn: str
    access: Access
    value: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.access.expressions

    @property
    def mentioned(self) -> tuple[Expr, ...]:
        return (*self.expressions, *self.access.coords)

    @property
    def footprints(self) -> tuple[Footprint, ...]:
        return (footprint(self.access, reads=True, writes=True),)

    @property
    def counter(self) -> Counter | None:
        return _counter(self.access)

    @property
    def surely_issued(self) -> bool:
        return _surely(self.access) and not (self.access.space == "global" and self.value.dtype.name == "bf16")

    @property
    def issue_class(self) -> str | None:
        return "ds_write" if self.access.space == "lds" else "buffer_store"
