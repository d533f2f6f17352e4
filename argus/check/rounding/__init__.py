"""How far a proved kernel's results may be from its specification, by rounding alone, before anything runs.

    found = rounding(kernel)
    found.bounds        one `ErrorBound` or `NoBound` for each output
    found.notes         hazards of floating point, with line and reason

`magnitudes` are the numbers (functions of input magnitudes and sizes), `rounded_value` is what is known of a register,
`arithmetic` and `functions` what operations do to it, `rounding_walk` walks the kernel, `error_bound` is the result.

Nothing here makes or takes away a verdict: the folder is not trusted by proofs.
"""

from __future__ import annotations

from argus.check.rounding.analysis import Rounding, rounding
from argus.check.rounding.error_bound import ErrorBound, NoBound

__all__ = ["ErrorBound", "NoBound", "Rounding", "rounding"]
