"""The vector table `VALU`, complete: importing this module enters every section.

    VALU["v_fma_f32"].fn(builder, a, b, c)

Sections: integers and bits, floats, comparisons, transcendental functions, division, conversions, packed and 16-bit.
"""

from __future__ import annotations

from argus.machine.semantics import (  # noqa: F401  (each import fills the table)
    divide,
    transcendental,
    valu_compare,
    valu_convert,
    valu_float,
    valu_packed,
)
from argus.machine.semantics.valu_int import SATURATING, VALU

__all__ = ["SATURATING", "VALU"]
