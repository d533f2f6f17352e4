"""What every part of the reader shares while one kernel is read: source text, place, effort spent, and the IR so far.

Reading is bounded. Each evaluated node costs one unit of effort, each emitted op ten, each access to memory fifty more;
a large kernel uses a tenth of the allowance, a program that unrolls without end runs out of it within about a second
and is refused. Sizes of numbers, strings and lists are bounded for the same reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from math import gcd

from argus.gfx942.target import Target
from argus.ir.build import IrBuilder
from argus.ir.kernel import LANE, WAVE, wave_variable
from argus.ir.ops import Op, Shared, Tensor
from argus.ir.types import Span, Value
from argus.lang.distribution import Distribution
from argus.lang.errors import Note, ProgramError, diagnose
from argus.layout.expr import Expr, linear, var

EFFORT = 200_000
OP_EFFORT = 10
ACCESS_EFFORT = 50
MAX_INT_BITS = 128
MAX_LENGTH = 65_536
MAX_EXPR_TREE = 4_000
MAX_DEPTH = 64
RESERVED = frozenset({"lane", "wave", "block_x", "block_y", "block_z"})
"""Variables of index expressions that mean the same in every kernel."""


class CountedBuilder(IrBuilder):
    """A builder that charges the context for every op."""

    def __init__(self, context: ReadContext) -> None:
        super().__init__()
        self.context = context

    def append(self, op: Op) -> None:
        self.context.spend(OP_EFFORT)
        super().append(op)


class ReadContext:
    """One reading of one kernel."""

    def __init__(self, file: str, source: str, target: Target) -> None:
        self.file = file
        self.target = target
        self.sources = {file: source}
        self.span = Span(file, 1, 0, 1, 1)
        self.effort = EFFORT
        self.b: IrBuilder = CountedBuilder(self)
        self.threads = WAVE
        self.wave_shape: tuple[int, ...] = (1,)
        self.tensors: dict[str, Tensor] = {}
        self.shared: list[Shared] = []
        self.loop_variables: dict[str, Expr] = {}
        self.unnamed: list[Shared] = []
        self.grid: tuple[Expr, Expr, Expr] | None = None
        self.policies: dict[str, int | str | bool] = {}
        self.names: set[str] = set(RESERVED)
        self.varying: dict[Expr, str] = {}
        self.read_indices: list[Expr] = []
        self.data_level: dict[Value, str] = {}
        self.multiples: dict[Expr, int] = {}
        self.divergence: list[tuple[str, Span]] = []
        self.distributions: dict[tuple[object, ...], tuple[object, Distribution]] = {}
        self.run_axes: dict[tuple[Distribution, int], str | None] = {}
        self.runs: dict[tuple[object, ...], bool] = {}
        self._tree: dict[Expr, int] = {}

    @property
    def waves(self) -> int:
        return self.threads // WAVE

    @property
    def lane(self) -> Expr:
        return LANE

    @property
    def wave(self) -> Expr:
        return wave_variable(self.waves)

    @property
    def thread(self) -> Expr:
        return self.wave * WAVE + LANE

    def error(self, code: str, *parts: ast.AST | Span | Note | str | None, **words: object) -> ProgramError:
        """The diagnostic `code`, to be raised; `parts` are its place (by default the op being read) and notes."""
        span = self.span
        notes: list[Note] = []
        for part in parts:
            if isinstance(part, (str, Note)):
                notes.append(Note(part) if isinstance(part, str) else part)
            elif part is not None:
                span = part if isinstance(part, Span) else self.span_of(part)
        return ProgramError(diagnose(code, span, self.sources.get(span.file, ""), tuple(notes), words))

    def need_all_lanes(self, what: str) -> None:
        """An error where some lanes of a wave may be masked: `what` takes all 64."""
        for level, span in self.divergence:
            if level == "lane":
                raise self.error("AG511", Note("the branch is decided here", span), what=what)

    def spend(self, units: int = 1) -> None:
        self.effort -= units
        if self.effort < 0:
            raise self.error("AG113", limit=f"{EFFORT:,}")

    def span_of(self, node: ast.AST) -> Span:
        line = getattr(node, "lineno", None)
        if line is None:
            return self.span
        end_line = getattr(node, "end_lineno", None) or line
        col = getattr(node, "col_offset", 0)
        return Span(self.file, line, col, end_line, getattr(node, "end_col_offset", None) or col)

    @contextmanager
    def in_file(self, file: str) -> Iterator[None]:
        """Syntax trees read inside come from `file`."""
        before, self.file = self.file, file
        yield
        self.file = before

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Ops made inside belong to `node`."""
        before = self.span
        self.span = self.b.span = self.span_of(node)
        yield
        self.span = self.b.span = before

    def fresh_variable(self, name: str, lo: int | None, hi: int | None) -> Expr:
        """A variable whose name nothing else in this kernel has."""
        stem, n = name, 1
        while name in self.names:
            n += 1
            name = f"{stem}_{n}"
        self.names.add(name)
        return var(name, lo, hi)

    def tree_size(self, e: Expr) -> int:
        """Nodes of `e` written out as text; an expression that shares parts can be far larger than its graph."""
        known = self._tree.get(e)
        if known is None:
            known = self._tree[e] = 1 + sum(self.tree_size(a) for a in e.args)
        return known

    def bounded(self, e: Expr) -> Expr:
        if self.tree_size(e) > MAX_EXPR_TREE:
            raise self.error("AG115", what="an index expression", limit=f"{MAX_EXPR_TREE:,} terms")
        return e

    def level(self, e: Expr) -> str:
        """Who agrees on the value of `e`: "block" (the whole workgroup), "wave" (a wave), or "lane" (nobody)."""
        worst = "block"
        for v in e.free():
            found = "lane" if v.name == "lane" else "wave" if v.name == "wave" else self.varying.get(v, "block")
            if found == "lane" or worst == "lane":
                worst = "lane"
            elif found == "wave":
                worst = "wave"
        return worst

    def divides(self, n: int, e: Expr) -> bool:
        """Whether `e` is a multiple of n, as far as `requires` and the steps of loops show it."""
        return self.divisor(e) % n == 0

    def divisor(self, e: Expr) -> int:
        """A number that `e` is always a multiple of; 0 of zero itself."""
        terms, rest = linear(e)
        return gcd(rest, *(factor * self._multiple(atom) for atom, factor in terms.items()))

    def _multiple(self, e: Expr) -> int:
        if e.op == "mul":
            product = 1
            for a in e.args:
                product *= a.value if a.op == "const" else self._multiple(a)
            return product
        return self.multiples.get(e, 1)

    def memory_name(self, name: str, but: Shared | None = None) -> str:
        """The name, or the name with a number, that no other memory of the kernel has."""
        taken = {*self.tensors, *(b.name for b in self.shared if b is not but)}
        stem, n = name, 1
        while name in taken:
            n += 1
            name = f"{stem}_{n}"
        return name

    def rename_buffer(self, old: Shared, name: str) -> Shared:
        """Name a fresh LDS buffer as the author's variable; nothing refers to it yet."""
        new = Shared(self.memory_name(name, old), old.dtype, old.bytes, old.base, old.layout, old.span)
        self.shared[self.shared.index(old)] = new
        return new
