"""The error bound of one output: as text, and as numbers at a launch.

    C: |error| <= 0.00392 * |C| + (1.91e-06 + 1.79e-07 * K) * sum(|A[m, k]| * |B[n, k]|, k)

    bound.at(spec, arrays, symbols, value)      an array of the result's shape

|C| is the specified value, the last factor the specification at magnitudes of inputs. |X| in a coefficient is the
largest magnitude in X. A launch for which the analysis does not hold (relative errors above 1/8, a negative scalar
argument) has an infinite bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from math import expm1, inf
from typing import Any, assert_never

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus.check.rounding.arithmetic import SCALE, SMALL
from argus.check.rounding.magnitudes import LaunchQuantity, Magnitude, constant, digits
from argus.check.rounding.rounded_value import SCALAR, RoundedValue
from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.spec import Bounded, ResultSpec, evaluate
from argus.spec.evaluation import Positions
from argus.spec.printer import spec_text

Array = npt.NDArray[np.float64]
Kept = Callable[[Hashable, Callable[[], Bounded]], Bounded]
LARGE = 1 << 24
"""Elements from which on a tensor is not looked through: its magnitude is the largest of its type."""
OUTWARD = 1 + 1e-9
"""Beyond what evaluating a specification in float64 rounds."""
SHORT = 60
"""Longer specifications are not printed: C(|A|) is the specification of C at magnitudes of A."""
FIRST_ORDER = 1 / 64
"""Printed coefficients of sizes hold while the part of the factor that grows is below this."""


@dataclass(frozen=True, slots=True)
class NoBound:
    """No bound was derived: the line where that began, and why."""

    result: str
    line: int
    reason: str

    def text(self) -> str:
        where = f" (line {self.line})" if self.line else ""
        return f"value of {self.result}: no bound of the rounding error: {self.reason}{where}"

    def to_json(self) -> dict[str, Any]:
        return {"result": self.result, "bound": None, "reason": self.reason, "line": self.line}


@dataclass(frozen=True, slots=True)
class ErrorBound:
    result: str
    kernel: Kernel
    value: RoundedValue
    theta: Magnitude
    """The largest relative error on the way: below SMALL, or nothing is claimed."""
    shares: Magnitude
    """Absolute errors beside the least values of divisors and roots: below a half."""

    def at(
        self,
        spec: ResultSpec,
        arrays: Mapping[str, npt.NDArray[np.generic]],
        symbols: Mapping[str, float],
        specified: Array,
        positions: Positions | None = None,
        kept: Kept = lambda _, make: make(),
    ) -> Array:
        """The bound of every element of the result, whose specified values these are. `kept`: evaluations that were
        made before, by what was replaced by its magnitude."""
        x, known = self.value, _launch(self.kernel, arrays, symbols, self._atoms())
        everywhere = np.full(specified.shape, inf)
        if known is None or any(symbols[s.name] < 0 for s in self.kernel.scalars if SCALAR + s.name in x.inputs):
            return everywhere
        if not self.theta.at(known) <= SMALL or not self.shares.at(known) <= 0.5:
            return everywhere
        with np.errstate(all="ignore"):
            alpha, own = x.alpha.at(known), expm1(x.last)
            factor = expm1(x.theta.at(known))
            envelope = np.abs(specified)
            if not x.own and factor:
                made = kept(x.form, lambda: self._at_magnitudes(spec, arrays, symbols, positions))
                envelope = np.abs(made.value)
            if envelope.shape != specified.shape:
                return everywhere
            inner = factor * (envelope + alpha) + alpha
            found = np.asarray(((1 + own) * inner + own * np.abs(specified)) * OUTWARD, dtype=np.float64)
        return np.where(np.isnan(found), inf, found)

    def _at_magnitudes(
        self,
        spec: ResultSpec,
        arrays: Mapping[str, npt.NDArray[np.generic]],
        symbols: Mapping[str, float],
        positions: Positions | None,
    ) -> Bounded:
        """The specification where inputs are replaced by their magnitudes."""
        assert self.value.form is not None
        given, scalars = dict(arrays), dict(symbols)
        for name, status, _ in self.value.form:
            if status not in ("plus", "minus"):
                continue
            sign = -1.0 if status == "minus" else 1.0
            if name.startswith(SCALAR):
                scalars[name[1:]] = sign * abs(scalars[name[1:]])
            else:
                given[name] = sign * np.abs(np.asarray(given[name], dtype=np.float64))
        return evaluate(spec, given, scalars, positions)

    def _atoms(self) -> set[LaunchQuantity]:
        return self.value.theta.atoms() | self.value.alpha.atoms() | self.theta.atoms() | self.shares.atoms()

    @property
    def spec(self) -> ResultSpec:
        assert self.kernel.computes is not None
        return next(r for r in self.kernel.computes.results if r.result == self.result)

    def text(self) -> str:
        """One line."""
        x = self.value
        parts = []
        own = expm1(x.last)
        fixed, growing = _split(x.theta)
        factor = constant(expm1(fixed) * (1 + own)) + growing.times((1 + own) * (1 + expm1(fixed)) * (1 + FIRST_ORDER))
        if x.own:
            factor = factor + constant(own)
        elif own:
            parts.append(f"{digits(own)} * |{self.result}|")
        if factor:
            text = factor.text()
            parts.append(f"{f'({text})' if ' + ' in text else text} * {self._envelope_text(self.spec)}")
        alpha = x.alpha.times((1 + own) * SCALE)
        if alpha:
            parts.append(alpha.text())
        return f"value of {self.result}: |error| <= {' + '.join(parts) or '0'}, {self.dtype}"

    def to_json(self) -> dict[str, Any]:
        return {"result": self.result, "bound": self.text().partition(": ")[2], "reason": "", "line": 0}

    @property
    def dtype(self) -> str:
        return next(t.dtype.name for t in self.kernel.tensors if t.name == self.result)

    def _envelope_text(self, spec: ResultSpec) -> str:
        if self.value.own:
            return f"|{self.result}|"
        text = spec_text(spec.expression)
        if len(text) > SHORT:
            names = [f"|{n}|" for n, status, _ in self.value.form or () if status in ("plus", "minus")]
            return f"{self.result}({', '.join(names)})"
        for name, status, _ in self.value.form or ():
            if status in ("plus", "minus") and not name.startswith(SCALAR):
                sign = "-" if status == "minus" else ""
                text = re.sub(rf"\b{re.escape(name)}\[((?:[^\[\]]|\[[^\]]*\])*)\]", rf"{sign}|{name}[\1]|", text)
        if text.startswith("-") or " - " in text:
            return f"|{text}|"
        return f"({text})" if " + " in text or " / " in text else text


def _split(theta: Magnitude) -> tuple[float, Magnitude]:
    """The number in it, and the rest."""
    fixed = sum(c for p, c in theta.terms if not p)
    return fixed, Magnitude(tuple((p, c) for p, c in theta.terms if p))


def _launch(
    kernel: Kernel,
    arrays: Mapping[str, npt.NDArray[np.generic]],
    symbols: Mapping[str, float],
    atoms: set[LaunchQuantity],
) -> dict[tuple[str, str], float] | None:
    """What the atoms are at a launch; None if one is not known."""
    known: dict[tuple[str, str], float] = {}
    for atom in atoms:
        match atom.kind:
            case "tensor":
                known[atom.key] = _largest(arrays[atom.name])
            case "scalar":
                known[atom.key] = abs(float(symbols[atom.name]))
            case "size":
                known[atom.key] = float(symbols[atom.name])
            case "turns":
                most = None if atom.expr is None else _most(kernel, atom.expr, symbols)
                if most is None:
                    return None
                known[atom.key] = most
            case "least":
                continue
            case "turn":
                return None
            case _:
                assert_never(atom.kind)
    return known


def _largest(array: npt.NDArray[np.generic]) -> float:
    """The largest magnitude of a tensor."""
    if array.size >= LARGE:
        return float(ml_dtypes.finfo(array.dtype).max) if array.dtype.kind not in "iu" else 2.0**63
    return float(np.abs(array.astype(np.float64)).max()) if array.size else 0.0


def _most(kernel: Kernel, expr: Expr, symbols: Mapping[str, float]) -> float | None:
    """The largest value of an expression over all blocks of a launch, and over the data that the kernel allows."""
    sizes: dict[Expr, E.ExprLike] = {s: int(symbols[s.name]) for s in kernel.shapes}
    for block, extent in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), kernel.grid, strict=True):
        count = extent.subst(sizes)
        if count.op == "const":
            sizes[block] = E.var(f"launch_{block.name}", 0, max(0, count.value - 1))
    for op in ops.walk(kernel.body):
        for symbol in op.binds if op.declared.word == "symbol" else ():
            high = symbol.bounds()[1]
            for fact in op.mentioned[1:]:
                if fact.op == "le" and fact.args[0] is symbol:
                    stated = fact.args[1].subst(sizes).bounds()[1]
                    high = stated if high is None else high if stated is None else min(high, stated)
            sizes[symbol] = E.var(f"launch_{symbol.name}", symbol.bounds()[0], high)
    high = expr.subst(sizes).bounds()[1]
    return None if high is None else float(high)
