"""The elementwise functions of `Map`: one row each, read by every pass that has to know what a function is.

    MAPS["tanh"].numpy       what the interpreter computes
    MAPS["tanh"].program     what the compiler emits, and the interpreter runs: primitive functions in order
    MAPS["rcp"].real         what it means for real numbers, which the checker's terms are made of
    MAPS["exp2"].slots       what it costs

`argus.ir.maps.row` says what a row holds; `primitives` are the functions with machine code of their own, `composites`
programs of these. docs/extending.md says how to add one.
"""

from __future__ import annotations

from argus.ir.maps.composites import COMPOSITES
from argus.ir.maps.primitives import PRIMITIVES
from argus.ir.maps.row import MapFn

__all__ = ["JUMPS", "MAPS", "MapFn"]

MAPS: dict[str, MapFn] = {**PRIMITIVES, **COMPOSITES}
_OWN = [row for row in MAPS.values() if "float" in row.kinds and row.out == "same" and row.real is None]
JUMPS = frozenset(row.name for row in _OWN if not row.ulps) - {"abs"}
"""Functions of floats that are not steady: exact ones without a formula, but the magnitude. They choose digits."""
