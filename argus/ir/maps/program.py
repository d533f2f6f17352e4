"""A composite function as a program of primitive ones: straight-line, one result, the same for every element.

    def sigmoid_like(x: Node) -> Node:
        return 1.0 / (exp_of(-x) + 1.0)

    MapProgram.traced(1, sigmoid_like).steps     Step("neg", (0,)), ... , Step("div", (Number(1.0), 7))

Interpreter and compiler run the same steps in f32. A program uses only functions that are rounded correctly or exact,
so both give the same bits, on the simulated machine as on any other that rounds to nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Number:
    """A constant of a program, exactly an f32."""

    value: float


@dataclass(frozen=True, slots=True)
class Step:
    """One primitive function. An operand is a constant, or the number of an earlier value: operands of the program come
    first, then the results of the steps."""

    fn: str
    args: tuple[int | Number, ...]


@dataclass(frozen=True, slots=True)
class MapProgram:
    arity: int
    steps: tuple[Step, ...]

    @staticmethod
    def traced(arity: int, write: Callable[..., Node]) -> MapProgram:
        """The program that a function of nodes writes down. A step that is written twice is one step."""
        steps: list[Step] = []
        result = write(*(Node(steps, arity, n) for n in range(arity)))
        if result.number != arity + len(steps) - 1:
            raise ValueError("the last step of a program is its result")
        return MapProgram(arity, tuple(steps))

    def run(self, functions: Mapping[str, Callable[..., Any]], *args: Any) -> Any:
        """The result on f32 arrays."""
        values = [np.asarray(x, dtype=np.float32) for x in args]
        for step in self.steps:
            given = [np.float32(a.value) if isinstance(a, Number) else values[a] for a in step.args]
            values.append(functions[step.fn](*given))
        return values[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A value of a program that is being written."""

    steps: list[Step]
    arity: int
    number: int

    def then(self, fn: str, *others: Node | float) -> Node:
        """`fn` of this value and further ones."""
        return self.step(fn, self, *others)

    def step(self, fn: str, *given: Node | float) -> Node:
        args = tuple(a.number if isinstance(a, Node) else _number(a) for a in given)
        made = Step(fn, args)
        if made in self.steps:
            return Node(self.steps, self.arity, self.arity + self.steps.index(made))
        self.steps.append(made)
        return Node(self.steps, self.arity, self.arity + len(self.steps) - 1)

    def __add__(self, other: Node | float) -> Node:
        return self.then("add", other)

    def __sub__(self, other: Node | float) -> Node:
        return self.then("sub", other)

    def __rsub__(self, other: float) -> Node:
        return self.step("sub", other, self)

    def __mul__(self, other: Node | float) -> Node:
        return self.then("mul", other)

    def __truediv__(self, other: Node | float) -> Node:
        return self.then("div", other)

    def __rtruediv__(self, other: float) -> Node:
        return self.step("div", other, self)

    def __neg__(self) -> Node:
        return self.then("neg")

    def fma(self, y: Node | float, z: Node | float) -> Node:
        """self * y + z, rounded once."""
        return self.then("fma", y, z)

    def polynomial(self, coefficients: tuple[float, ...]) -> Node:
        """c[0] + c[1]*self + ..., by Horner's rule, each step rounded once."""
        *lower, highest = coefficients
        made: Node | float = highest
        for c in reversed(lower):
            made = self.step("fma", made, self, c)
        assert isinstance(made, Node)
        return made

    def where(self, yes: Node | float, no: Node | float) -> Node:
        """`yes` where this condition holds."""
        return self.then("select", yes, no)


def _number(value: float) -> Number:
    exact = float(np.float32(value))
    if exact != value and value == value:
        raise ValueError(f"{value!r} is not a number of f32")
    return Number(exact)
