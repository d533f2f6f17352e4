"""The chip as data: instructions, matrix units, LDS, registers, caches, wait counters of gfx942 (AMD Instinct MI300X).

from argus.gfx942 import mfma_32x32x8_bf16      the matrix instruction under its author's name
from argus.gfx942 import v_perm_b32             the declaration of an instruction kernels may call
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("mfma_"):
        from argus.gfx942.fragments import matrix

        found = matrix(name)
        if found is not None:
            return found
    if name.startswith(("v_", "s_", "ds_")):
        from argus.gfx942.calling import entry

        declared = entry(name)
        if declared is not None:
            return declared
    raise AttributeError(f"module 'argus.gfx942' has no attribute {name!r}")
