"""What rules hear of the walk: accesses, products, statements, and where in the execution they happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.tags import Case, Tags
from argus.check.domain.threads import Spread
from argus.check.transfer.matrix import Product
from argus.check.transfer.ordering import OrderFinding
from argus.ir import ops
from argus.ir.ops import Access, Op
from argus.ir.types import Value
from argus.layout.expr import Expr

Mask = NDArray[np.bool_]
Event = Literal[
    "matrix",
    "counted",
    "indexed",
    "global_load",
    "global_store",
    "lds_access",
    "lds_order",
    "barrier",
    "registers",
    "stated",
]


@dataclass(frozen=True, slots=True)
class ProgramPoint:
    """Where in the execution an event happens: facts of the path, loop variables (as renamed), active threads."""

    facts: tuple[Expr, ...]
    loops: tuple[tuple[Expr, Expr], ...]
    active: Mask


class RuleEvents(Protocol):
    """What a rule may want to hear of; each event comes once per program point and iteration class."""

    def matrix(self, op: ops.Mfma, place: ProgramPoint, cases: tuple[Case, ...], found: Product) -> None: ...

    def counted(self, op: Op, place: ProgramPoint, numbers: tuple[Expr, ...]) -> None:
        """Index expressions that decide something: conditions, ends of loops, numbers as data."""
        ...

    def indexed(self, op: ops.Symbol, place: ProgramPoint) -> None:
        """Data as an index; what is stated of it here is not yet a fact."""
        ...

    def global_load(self, op: ops.Load | ops.CopyToLds, place: ProgramPoint, access: Access) -> None: ...

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None: ...

    def lds_access(self, op: Op, place: ProgramPoint, access: Access, start: Spread, value: Tags) -> None: ...

    def lds_order(self, op: Op, found: OrderFinding) -> None:
        """An access to LDS was compared with all that may meet it."""
        ...

    def barrier(self, op: ops.Barrier, why: str) -> None:
        """A barrier; `why` says that not all waves may meet there."""
        ...

    def registers(self, op: Op, missing: tuple[Value, ...]) -> None:
        """An op that needs its registers' contents; `missing` ones may not have arrived."""
        ...

    def stated(self, op: ops.Check, place: ProgramPoint, values: Mapping[Value, Tags]) -> None: ...


class Listener(Protocol):
    """Whoever is told of events: a rule, or what stands before one."""

    def hear(self, event: Event, heard: Callable[[RuleEvents], None]) -> None: ...
