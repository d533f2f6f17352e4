"""The index expression: one immutable, hash-consed node type.

    row = var("row", 0, 255)
    e = (row*128 + 64) // 16          # built through the rules of arith.py: becomes row*8 + 4
    e is row*8 + 4                    # True: equal structure is the same object
    e.bounds()                        # (4, 2044)

Why hash-consed: a kernel's addresses share most of their parts, so equality, hashing, substitution and every
interpreter are linear in *distinct* nodes.  Why a registry of builders (`BUILDERS`): operators, substitution and
unpickling all go through the same simplifying constructors, and the rules can live in small files of their own
without import cycles.

Operators and their arguments (`op`: args)
    var, const                           leaf; `name` or `value`
    add, mul, xor, and, or, min, max     two or more arguments, flat and in canonical order, a constant last
    floordiv, mod, shl, shr              two arguments; Python's floor semantics
    lt, le, eq, ne                       two arguments, boolean
    not, land, lor                       boolean arguments, boolean
    select                               boolean condition, then the two arms
    apply                                uninterpreted function `name` of its arguments

Canonical order sorts by kind, then leftmost name, then a structural digest: it does not depend on construction
history.

What it cannot do: `==` is identity of structure, not mathematical equality (`x//2*2 == x` is False here although it
holds for even x).  Expressions deeper than MAX_DEPTH or constants above MAX_BITS bits are refused with `ExprError`.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Union
from weakref import WeakValueDictionary

from argus.layout import interval
from argus.layout.interval import Interval

MAX_BITS = 4096
MAX_DEPTH = 2000
CACHED_CONSTANTS = 1 << 16
CACHED_SUBSTITUTIONS = 1 << 14
CACHED_TRAVERSALS = 1 << 12

ExprLike = Union["Expr", int, bool]


class ExprError(ValueError):
    """An expression that cannot be built, read or interpreted; the message names the part that is at fault."""


BUILDERS: dict[str, Callable[..., Expr]] = {}

_RANK = {"var": 0, "apply": 1, "select": 3, "const": 9}
_COMPARISONS = frozenset({"lt", "le", "eq", "ne", "not", "land", "lor"})
_table: WeakValueDictionary[tuple[Any, ...], Expr] = WeakValueDictionary()
_lock = threading.Lock()
_constants: dict[int, Expr] = {}


class Expr:
    """An integer (or boolean) valued expression over named variables.  Build it with `var`, `const` and operators."""

    __slots__ = ("__weakref__", "_free", "args", "boolean", "depth", "digest", "hi", "key", "lo", "name", "op", "value")

    op: str
    args: tuple[Expr, ...]
    name: str
    value: int
    lo: int | None
    hi: int | None
    boolean: bool
    depth: int
    digest: bytes
    key: tuple[int, str, bytes]
    _free: frozenset[Expr] | None

    def bounds(self) -> Interval:
        """Inclusive bounds that hold for every assignment within the variables' bounds."""
        return self.lo, self.hi

    def free(self) -> frozenset[Expr]:
        """The variables that occur."""
        if self._free is None:
            for node in postorder(self):
                if node._free is None:
                    parts = (arg._free or frozenset() for arg in node.args)
                    node._free = frozenset((node,)) if node.op == "var" else frozenset().union(*parts)
        return self._free or frozenset()

    def subst(self, mapping: Mapping[Expr, ExprLike]) -> Expr:
        """Replace whole subexpressions (usually variables), then simplify."""
        return _substituted(self, tuple((old, as_expr(new)) for old, new in mapping.items()))

    def __add__(self, other: ExprLike) -> Expr:
        return BUILDERS["add"](self, as_expr(other))

    def __radd__(self, other: ExprLike) -> Expr:
        return BUILDERS["add"](as_expr(other), self)

    def __sub__(self, other: ExprLike) -> Expr:
        return BUILDERS["add"](self, -as_expr(other))

    def __rsub__(self, other: ExprLike) -> Expr:
        return BUILDERS["add"](as_expr(other), -self)

    def __neg__(self) -> Expr:
        return BUILDERS["mul"](self, const(-1))

    def __mul__(self, other: ExprLike) -> Expr:
        return BUILDERS["mul"](self, as_expr(other))

    def __rmul__(self, other: ExprLike) -> Expr:
        return BUILDERS["mul"](as_expr(other), self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return BUILDERS["floordiv"](self, as_expr(other))

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return BUILDERS["floordiv"](as_expr(other), self)

    def __mod__(self, other: ExprLike) -> Expr:
        return BUILDERS["mod"](self, as_expr(other))

    def __rmod__(self, other: ExprLike) -> Expr:
        return BUILDERS["mod"](as_expr(other), self)

    def __xor__(self, other: ExprLike) -> Expr:
        return BUILDERS["xor"](self, as_expr(other))

    def __rxor__(self, other: ExprLike) -> Expr:
        return BUILDERS["xor"](as_expr(other), self)

    def __and__(self, other: ExprLike) -> Expr:
        return BUILDERS["and"](self, as_expr(other))

    def __rand__(self, other: ExprLike) -> Expr:
        return BUILDERS["and"](as_expr(other), self)

    def __or__(self, other: ExprLike) -> Expr:
        return BUILDERS["or"](self, as_expr(other))

    def __ror__(self, other: ExprLike) -> Expr:
        return BUILDERS["or"](as_expr(other), self)

    def __lshift__(self, other: ExprLike) -> Expr:
        return BUILDERS["shl"](self, as_expr(other))

    def __rlshift__(self, other: ExprLike) -> Expr:
        return BUILDERS["shl"](as_expr(other), self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return BUILDERS["shr"](self, as_expr(other))

    def __rrshift__(self, other: ExprLike) -> Expr:
        return BUILDERS["shr"](as_expr(other), self)

    def lt(self, other: ExprLike) -> Expr:
        return BUILDERS["lt"](self, as_expr(other))

    def le(self, other: ExprLike) -> Expr:
        return BUILDERS["le"](self, as_expr(other))

    def gt(self, other: ExprLike) -> Expr:
        return BUILDERS["lt"](as_expr(other), self)

    def ge(self, other: ExprLike) -> Expr:
        return BUILDERS["le"](as_expr(other), self)

    def eq(self, other: ExprLike) -> Expr:
        return BUILDERS["eq"](self, as_expr(other))

    def ne(self, other: ExprLike) -> Expr:
        return BUILDERS["ne"](self, as_expr(other))

    def __bool__(self) -> bool:
        if self.op == "const":
            return self.value != 0
        raise ExprError(f"the truth of `{self}` is not known here; use E.select, E.land or a check")

    def __str__(self) -> str:
        from argus.layout.text import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"Expr({self})"

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Expr:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.op, self.args, self.name, self.value, self.lo, self.hi, self.boolean)


def _restore(
    op: str, args: tuple[Expr, ...], name: str, value: int, lo: int | None, hi: int | None, boolean: bool
) -> Expr:
    return make(op, args, name=name, value=value, bounds=(lo, hi), boolean=boolean)


def make(
    op: str,
    args: tuple[Expr, ...] = (),
    *,
    name: str = "",
    value: int = 0,
    bounds: Interval | None = None,
    boolean: bool | None = None,
) -> Expr:
    """The interned node, without any simplification.  Only builders call this."""
    if boolean is None:
        boolean = op in _COMPARISONS or (op == "select" and args[1].boolean and args[2].boolean)
    key = (op, args, name, value, bounds if op in ("var", "apply") else None, boolean)
    found = _table.get(key)
    if found is not None:
        return found
    depth = 1 + max((arg.depth for arg in args), default=0)
    if depth > MAX_DEPTH:
        raise ExprError(f"the index expression is nested more than {MAX_DEPTH} levels deep")
    node = object.__new__(Expr)
    node.op, node.args, node.name, node.value, node.boolean, node.depth = op, args, name, value, boolean, depth
    node.lo, node.hi = bounds if bounds is not None else interval.transfer(op, tuple(arg.bounds() for arg in args))
    text = f"{op}|{name}|{value}|{key[4]}|{boolean}|".encode()
    node.digest = hashlib.blake2b(text + b"".join(arg.digest for arg in args), digest_size=16).digest()
    node.key = (_RANK.get(op, 2), name or (args[0].key[1] if args else ""), node.digest)
    node._free = None
    with _lock:
        return _table.setdefault(key, node)


def rebuild(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """`node` with other arguments, simplified."""
    if node.op == "apply":
        return make("apply", args, name=node.name, bounds=node.bounds())
    return BUILDERS[node.op](*args)


@lru_cache(maxsize=CACHED_SUBSTITUTIONS)
def _substituted(e: Expr, pairs: tuple[tuple[Expr, Expr], ...]) -> Expr:
    done = dict(pairs)
    names = frozenset(done) if all(old.op == "var" for old in done) else None
    stack = [e]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
        elif names is not None and names.isdisjoint(node.free()):
            done[node] = node
        elif missing := [arg for arg in node.args if arg not in done]:
            stack.extend(missing)
        else:
            args = tuple([done[arg] for arg in node.args])
            done[node] = node if args == node.args else rebuild(node, args)
    return done[e]


def postorder(root: Expr, stop: Mapping[Expr, object] | None = None) -> Iterable[Expr]:
    """Every distinct node below `root`, arguments first; nodes in `stop` (and what only they reach) are left out."""
    return _below(root, stop) if stop else _everything(root)


@lru_cache(maxsize=CACHED_TRAVERSALS)
def _everything(root: Expr) -> tuple[Expr, ...]:
    return tuple(_below(root, {}))


def _below(root: Expr, stop: Mapping[Expr, object]) -> Iterator[Expr]:
    if root in stop:
        return
    seen: set[Expr] = {root}
    stack: list[tuple[Expr, Iterator[Expr]]] = [(root, iter(root.args))]
    while stack:
        node, rest = stack[-1]
        for arg in rest:
            if arg not in seen and arg not in stop:
                seen.add(arg)
                stack.append((arg, iter(arg.args)))
                break
        else:
            stack.pop()
            yield node


def var(name: str, lo: int | None = None, hi: int | None = None) -> Expr:
    """A variable with inclusive bounds; the same name with other bounds is another variable."""
    if not name.isidentifier():
        raise ExprError(f"`{name}` is not a name a variable can have")
    if lo is not None and hi is not None and lo > hi:
        raise ExprError(f"variable `{name}` has no value: its bounds are {lo}..{hi}")
    return make("var", name=name, bounds=(lo, hi))


def const(n: int) -> Expr:
    """The integer constant n."""
    known = _constants.get(n)
    if known is not None:
        return known
    n = int(n)
    if n.bit_length() > MAX_BITS:
        raise ExprError(f"a constant of {n.bit_length()} bits is too large for an index expression")
    made = make("const", value=n, bounds=(n, n))
    if -CACHED_CONSTANTS <= n <= CACHED_CONSTANTS:
        _constants[n] = made
    return made


TRUE = make("const", value=1, bounds=(1, 1), boolean=True)
FALSE = make("const", value=0, bounds=(0, 0), boolean=True)


def as_expr(x: ExprLike) -> Expr:
    """An expression from an integer, a truth value or an expression."""
    if isinstance(x, Expr):
        return x
    if isinstance(x, bool):
        return TRUE if x else FALSE
    if hasattr(x, "__index__"):
        return const(x.__index__())
    raise ExprError(f"{x!r} is not an integer or an index expression")


def apply(fname: str, *args: ExprLike, lo: int | None = None, hi: int | None = None) -> Expr:
    """An uninterpreted function of its arguments, with bounds on its value (a table lookup such as `expert(token)`)."""
    if not fname.isidentifier():
        raise ExprError(f"`{fname}` is not a name a function can have")
    return make("apply", tuple(as_expr(a) for a in args), name=fname, bounds=(lo, hi))
