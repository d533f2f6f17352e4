"""A composite function as a program of primitive ones: straight-line, one result, the same for every element.

    def sigmoid_like(x: MapNode) -> MapNode:
        return 1.0 / (exp_of(-x) + 1.0)

    MapProgram.traced(1, sigmoid_like).steps     MapStep("neg", (0,)), ... , MapStep("div", (MapConstant(1.0), 7))

Interpreter and compiler run the same steps in f32. A program uses only functions that are rounded correctly or exact,
so both give the same bits, on the simulated machine as on any other that rounds to nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class MapConstant:
    """A constant of a program, exactly an f32."""

    value: float


@dataclass(frozen=True, slots=True)
class MapStep:
    """One primitive function. An operand is a constant, or the number of an earlier value: operands of the program come
    first, then the results of the steps."""

    fn: str
    args: tuple[int | MapConstant, ...]


@dataclass(frozen=True, slots=True)
class MapProgram:
    arity: int
    steps: tuple[MapStep, ...]

    @staticmethod
    def traced(arity: int, write: Callable[..., MapNode]) -> MapProgram:
        """The program that a function of nodes writes down. A step that is written twice is one step."""
        steps: list[MapStep] = []
        result = write(*(MapNode(steps, arity, n) for n in range(arity)))
        if result.number != arity + len(steps) - 1:
            raise ValueError("the last step of a program is its result")
        return MapProgram(arity, tuple(steps))

    def run(self, functions: Mapping[str, Callable[..., Any]], *args: Any) -> Any:
        """The result on f32 arrays."""
        values = [np.asarray(x, dtype=np.float32) for x in args]
        for step in self.steps:
            given = [np.float32(a.value) if isinstance(a, MapConstant) else values[a] for a in step.args]
            values.append(functions[step.fn](*given))
        return values[-1]


@dataclass(frozen=True, slots=True, eq=False)
class MapNode:
    """A value of a program that is being written."""

    steps: list[MapStep]
    arity: int
    number: int

    def then(self, fn: str, *others: MapNode | float) -> MapNode:
        """`fn` of this value and further ones."""
        return self.step(fn, self, *others)

    def step(self, fn: str, *given: MapNode | float) -> MapNode:
        args = tuple(a.number if isinstance(a, MapNode) else _number(a) for a in given)
        made = MapStep(fn, args)
        if made in self.steps:
            return MapNode(self.steps, self.arity, self.arity + self.steps.index(made))
        self.steps.append(made)
        return MapNode(self.steps, self.arity, self.arity + len(self.steps) - 1)

    def __add__(self, other: MapNode | float) -> MapNode:
        return self.then("add", other)

    def __sub__(self, other: MapNode | float) -> MapNode:
        return self.then("sub", other)

    def __rsub__(self, other: float) -> MapNode:
        return self.step("sub", other, self)

    def __mul__(self, other: MapNode | float) -> MapNode:
        return self.then("mul", other)

    def __truediv__(self, other: MapNode | float) -> MapNode:
        return self.then("div", other)

    def __rtruediv__(self, other: float) -> MapNode:
        return self.step("div", other, self)

    def __neg__(self) -> MapNode:
        return self.then("neg")

    def fma(self, y: MapNode | float, z: MapNode | float) -> MapNode:
        """self * y + z, rounded once."""
        return self.then("fma", y, z)

    def polynomial(self, coefficients: tuple[float, ...]) -> MapNode:
        """c[0] + c[1]*self + ..., by Horner's rule, each step rounded once."""
        *lower, highest = coefficients
        made: MapNode | float = highest
        for c in reversed(lower):
            made = self.step("fma", made, self, c)
        assert isinstance(made, MapNode)
        return made

    def where(self, yes: MapNode | float, no: MapNode | float) -> MapNode:
        """`yes` where this condition holds."""
        return self.then("select", yes, no)


def _number(value: float) -> MapConstant:
    exact = float(np.float32(value))
    if exact != value and value == value:
        raise ValueError(f"{value!r} is not a number of f32")
    return MapConstant(exact)
