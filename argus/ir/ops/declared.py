"""What every op declares about itself, so that passes ask and do not guess.

An op class is a dataclass below `OpBase` with a `declared` row; a class without one cannot be made. The row and the
properties here are all that a pass may know of an op without a dispatch on its class:

    operands, results     values it uses and makes
    blocks, handed        blocks inside it, and the values each block hands back at its end
    sources               for each value that blocks hand on, in or out, the values it may be
    binds                 index variables it gives a meaning to
    expressions           index expressions the machine computes for it
    mentioned             those and the ones only readers and proofs look at (coordinates, annotations)
    footprints            bytes it touches, by memory
    counter               wait counter that its accesses raise; `surely_issued` says whether every wave that gets to
                          the op raises it, if the op is in the code at all
    ordering              what may not be moved across it
    control               whether it contains blocks, and how they run
    effect                it is kept although nobody reads its results
    code                  it stands for machine instructions
    needs_contents        it uses what its operands hold; else it only hands registers on
    issue_class           class of the schedule's patterns that its instructions belong to

A load has no `effect`: one whose result nobody reads is not in the code, and so raises no counter.
A dispatch on the class of an op is a `match` over the union `argus.ir.ops.Op` that ends in `assert_never`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from argus.ir.ops.places import Counter, Footprint
from argus.ir.types import NOWHERE, Span, Value
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.ir.ops import Op


class Control(Enum):
    """How the blocks of an op run: not at all, again and again, one of them, or in place."""

    NONE = "none"
    LOOP = "loop"
    BRANCH = "branch"
    REGION = "region"


class Ordering(Enum):
    """What keeps its place relative to an op.

    FREE      only what it depends on by values and symbols
    ACCESS    also accesses of overlapping bytes of which one writes, and meetings
    MEETING   all memory accesses and other meetings; arithmetic may pass
    FIXED     everything
    """

    FREE = "free"
    ACCESS = "access"
    MEETING = "meeting"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Declared:
    """The facts that all ops of a class share. `word` is the op's name in printed IR."""

    word: str
    ordering: Ordering = Ordering.FREE
    control: Control = Control.NONE
    effect: bool = False
    code: bool = True
    needs_contents: bool = True


@dataclass(slots=True, eq=False, kw_only=True)
class OpBase:
    """Base of all ops. `id` is unique in the kernel and names the op in sidecar and reports; `site` is the unrolled
    position, e.g. (("ks", 1), ("i", 0)), of the copy of the source line."""

    declared: ClassVar[Declared]

    id: int = -1
    span: Span = NOWHERE
    site: tuple[tuple[str, int], ...] = ()

    def __init_subclass__(cls) -> None:
        if cls.__name__ != "MakesOne" and "declared" not in cls.__dict__:
            raise TypeError(f"the op class {cls.__name__} declares no facts")

    @property
    def operands(self) -> tuple[Value, ...]:
        return ()

    @property
    def results(self) -> tuple[Value, ...]:
        return ()

    @property
    def blocks(self) -> tuple[list[Op], ...]:
        return ()

    @property
    def handed(self) -> tuple[tuple[Value, ...], ...]:
        """For each block, the values it hands back at its end."""
        return ()

    @property
    def sources(self) -> tuple[tuple[Value, tuple[Value, ...]], ...]:
        """For each value that blocks hand on, in or out, the values it may be."""
        return ()

    @property
    def binds(self) -> tuple[Expr, ...]:
        """Index variables it gives a meaning to: in its blocks, or after it."""
        return ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return ()

    @property
    def mentioned(self) -> tuple[Expr, ...]:
        return self.expressions

    @property
    def footprints(self) -> tuple[Footprint, ...]:
        return ()

    @property
    def counter(self) -> Counter | None:
        return None

    @property
    def surely_issued(self) -> bool:
        return False

    @property
    def ordering(self) -> Ordering:
        return self.declared.ordering

    @property
    def effect(self) -> bool:
        return self.declared.effect

    @property
    def map_function(self) -> str | None:
        """The elementwise function it applies (`argus.ir.maps`), if it is one."""
        return None

    @property
    def matrix_instruction(self) -> str | None:
        """Its name in the table of matrix instructions (`argus.gfx942.mfma`), if it is one."""
        return None

    @property
    def converts_unbounded(self) -> bool:
        """A change of element type that leaves what is beyond the new one where it overflows to."""
        return False

    @property
    def issue_class(self) -> str | None:
        return None

    @property
    def control(self) -> Control:
        return self.declared.control

    @property
    def code(self) -> bool:
        return self.declared.code

    @property
    def needs_contents(self) -> bool:
        return self.declared.needs_contents


@dataclass(slots=True, eq=False, kw_only=True)
class MakesOne(OpBase):
    """Base of ops with exactly one result."""

    result: Value

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)
