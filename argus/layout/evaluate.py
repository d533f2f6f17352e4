"""The numpy interpreter: an expression's value at one point or at many at once.

    t = var("t", 0, 255)
    evaluate(t // 8 * 128, {"t": 9})                    -> 128
    evaluate(t // 8 * 128, {"t": np.arange(256)})       -> 256 addresses in one pass

With integers only, arithmetic is Python's and exact.  With arrays it is int64; an interval computed from the actual
data travels along, and where int64 could overflow the node is computed with exact Python integers instead, so the
result is never silently wrapped.  A result that itself needs more than 64 bits is an error.

What it cannot do: variables' declared bounds are not enforced here; the caller chooses the points.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.layout.interval import Interval, transfer
from argus.layout.node import MAX_BITS, Expr, ExprError, postorder

Value = int | NDArray[Any]

_LARGEST = (1 << 63) - 1

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "xor": lambda a, b: a ^ b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "land": lambda a, b: a & b,
    "lor": lambda a, b: a | b,
    "min": lambda a, b: np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b),
    "max": lambda a, b: np.maximum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else max(a, b),
}
_TRUTH = frozenset({"lt", "le", "eq", "ne"})


def evaluate(
    e: Expr,
    env: Mapping[str, int | NDArray[Any]],
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """The value of `e`: an int when every input is one, else an int64 array."""
    values: dict[Expr, Value] = {}
    _fill(e, env, functions, values, {})
    return _finish(values[e], e)


def _fill(
    e: Expr,
    env: Mapping[str, int | NDArray[Any]],
    functions: Mapping[str, Callable[..., Any]] | None,
    values: dict[Expr, Value],
    ranges: dict[Expr, Interval],
) -> list[Expr]:
    """Values and ranges of every node below `e` that has none yet; these nodes."""
    new: list[Expr] = []
    for node in postorder(e):
        if node in values:
            continue
        new.append(node)
        if node.op == "const":
            values[node], ranges[node] = node.value, (node.value, node.value)
        elif node.op == "var":
            if node.name not in env:
                raise ExprError(f"no value was given for `{node.name}`")
            values[node] = _checked(env[node.name], node)
            ranges[node] = _range(values[node])
        elif node.op == "apply":
            if functions is None or node.name not in functions:
                raise ExprError(f"no definition was given for the function `{node.name}`")
            values[node] = _checked(functions[node.name](*(values[arg] for arg in node.args)), node)
            ranges[node] = _range(values[node])
        else:
            args = [values[arg] for arg in node.args]
            bounds = tuple(ranges[arg] for arg in node.args)
            if all(isinstance(arg, int) for arg in args):
                values[node] = _step(node, args, bounds)
                ranges[node] = _range(values[node])
                continue
            ranges[node] = transfer(node.op, bounds)
            if not _fits(node, ranges[node], bounds):
                args = [arg.astype(object) if isinstance(arg, np.ndarray) else arg for arg in args]
            value = values[node] = _step(node, args, bounds)
            if isinstance(value, np.ndarray) and value.dtype == object:
                ranges[node] = _range(value)
    return new


class Environment:
    """Names whose values change one by one. What an expression is worth is computed once, until a name that it depends
    on changes: an iteration of a loop computes what depends on its counter.

        here = Environment({"lane": np.arange(64)})
        here["i"] = 3
        here.evaluate(E.var("lane") * 4 + E.var("i"))       an array that must not be written to
    """

    def __init__(self, names: Mapping[str, int | NDArray[Any]]) -> None:
        self._names = dict(names)
        self._values: dict[Expr, Value] = {}
        self._ranges: dict[Expr, Interval] = {}
        self._depend: dict[str, set[Expr]] = {}
        """Nodes that depend on names that were set after the others."""

    def __getitem__(self, name: str) -> int | NDArray[Any]:
        return self._names[name]

    def __setitem__(self, name: str, value: int | NDArray[Any]) -> None:
        self._forget(name)
        self._names[name] = value

    def remove(self, name: str) -> None:
        self._forget(name)
        self._names.pop(name, None)

    def items(self) -> ItemsView[str, int | NDArray[Any]]:
        return self._names.items()

    def evaluate(self, e: Expr) -> Any:
        """As `evaluate`, in this environment."""
        try:
            new = _fill(e, self._names, None, self._values, self._ranges)
        except ExprError:
            self._values.clear()  # what was begun has no owner
            raise
        for node in new if self._depend else ():
            for variable in node.free():
                if variable.name in self._depend:
                    self._depend[variable.name].add(node)
        return _finish(self._values[e], e)

    def _forget(self, name: str) -> None:
        if name in self._depend:
            for node in self._depend[name]:
                self._values.pop(node, None)
        elif name in self._names:
            self._values.clear()
        self._depend[name] = set()


def _checked(value: Any, node: Expr) -> Value:
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return value
        if not (np.issubdtype(value.dtype, np.integer) or value.dtype == np.bool_):
            raise ExprError(f"`{node}` was given values of type {value.dtype}; integers are needed")
        if value.dtype == np.uint64 and value.size and int(np.max(value)) > _LARGEST:
            return value.astype(object)
        return value.astype(np.int64)
    if hasattr(value, "__index__"):
        return int(value.__index__())
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    raise ExprError(f"`{node}` was given {value!r}; an integer is needed")


def _range(value: Value) -> Interval:
    if isinstance(value, int):
        return value, value
    if value.size == 0:
        return 0, 0
    return int(value.min()), int(value.max())


def _fits(node: Expr, result: Interval, args: tuple[Interval, ...]) -> bool:
    """int64 arithmetic is exact: the result and every partial result of an n-ary operator are in range."""
    if not all(_inside(interval) for interval in (result, *args)):
        return False
    if node.op in ("add", "mul") and len(args) > 2:
        return all(_inside(transfer(node.op, args[:i])) for i in range(2, len(args)))
    return True


def _inside(interval: Interval) -> bool:
    lo, hi = interval
    return lo is not None and hi is not None and lo >= -(1 << 63) and hi < (1 << 63)


def _step(node: Expr, args: list[Value], bounds: tuple[Interval, ...]) -> Value:
    op = node.op
    if op in ("floordiv", "mod") and _has_zero(args[1]):
        raise ExprError(f"`{node}` divides by zero at a point of its domain")
    if op in ("shl", "shr") and (bounds[1][0] is None or bounds[1][0] < 0):
        raise ExprError(f"`{node}` shifts by a negative number of bits at a point of its domain")
    if op in ("shl", "shr") and (bounds[1][1] is None or bounds[1][1] > MAX_BITS):
        raise ExprError(f"`{node}` shifts by more than {MAX_BITS} bits at a point of its domain")
    if op in ("shl", "shr") and (bounds[1][1] is None or bounds[1][1] > 63):
        args = [arg.astype(object) if isinstance(arg, np.ndarray) else arg for arg in args]
    if op == "select":
        condition, yes, no = args
        if isinstance(condition, int):
            return yes if condition else no
        if any(isinstance(arm, np.ndarray) and arm.dtype == object for arm in (yes, no)):
            return np.where(condition.astype(bool), np.asarray(yes, dtype=object), np.asarray(no, dtype=object))
        return np.where(condition.astype(bool), yes, no)
    if op == "not":
        return 1 - args[0]
    result = reduce(_OPERATORS[op], args)
    if op in _TRUTH:
        return result.astype(np.int64) if isinstance(result, np.ndarray) else int(result)
    return result


def _has_zero(divisor: Value) -> bool:
    return divisor == 0 if isinstance(divisor, int) else bool((divisor == 0).any())


def _finish(value: Value, e: Expr) -> Any:
    if isinstance(value, int):
        return value
    if value.dtype == object:
        if not _inside(_range(value)):
            raise ExprError(f"`{e}` takes values that do not fit into 64 bits")
        return value.astype(np.int64)
    return value
