"""Coefficients of the polynomials by which a kernel's own functions are computed.

    fitted(kernel)      of a kernel that calls `ag.exp`: 0.4999999403953552, 0.16666516661643982, …

`ag.exp`, `ag.log`, `ag.tanh`, `ag.erf`, `ag.sigmoid` and `ag.pow` are programs of correctly rounded operations
(`argus.ir.maps.composites`), not instructions. A polynomial near a function is another function of the field, so what
such a coefficient has gone into is doubtful: it may be equal, and it proves no difference. Round numbers (few digits)
are left out: they have other uses, and every polynomial has coefficients that are none.
"""

from __future__ import annotations

import math

from argus.ir.kernel import Kernel
from argus.ir.maps import MAPS
from argus.ir.maps.program import MapConstant
from argus.ir.ops import walk

DIGITS = 12
"""Numbers with at most so many binary digits are round."""


def fitted(kernel: Kernel) -> frozenset[float]:
    """Magnitudes of the coefficients, as f32."""
    called = {op.map_function for op in walk(kernel.body) if op.map_function is not None}
    programs = [program for name in called if (program := MAPS[name].program) is not None]
    args = [arg for program in programs for step in program.steps for arg in step.args]
    return frozenset(abs(arg.value) for arg in args if isinstance(arg, MapConstant) and not _round(arg.value))


def _round(value: float) -> bool:
    return not math.isfinite(value) or (math.frexp(value)[0] * 2.0**DIGITS).is_integer()
