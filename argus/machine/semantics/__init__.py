"""What every instruction does, written once and read by every executor.

| module | instructions |
|---|---|
| `salu`, `salu_bits` | scalar arithmetic, over an `IntBuilder` |
| `valu` (sections `valu_*`, `transcendental`, `divide`) | vector arithmetic, over a `Builder` |
| `matrix` | MFMA arithmetic (lane maps: `argus.gfx942.mfma`) |
| `mem`, `atomics` | loads, stores, atomics: shapes as data, updates over a `Builder` |
| `lanes` | DPP, swizzles, permutes, readlane |
| `control` | branches, barriers, waits, hardware registers |
| `modifiers` | constants, source and output modifiers |

`builder.py` states the operations, `table.py` the signature language; `numpy_backend` and `scalar_backend` compute
them.
"""

from __future__ import annotations

from argus.machine.semantics import salu_bits  # noqa: F401  (fills SALU)
from argus.machine.semantics.atomics import ATOMICS
from argus.machine.semantics.builder import Builder, IntBuilder
from argus.machine.semantics.control import CONTROL
from argus.machine.semantics.lanes import LANE_OPS
from argus.machine.semantics.matrix import MATRIX
from argus.machine.semantics.mem import MEMORY
from argus.machine.semantics.salu import SALU
from argus.machine.semantics.table import MachineOp
from argus.machine.semantics.valu import SATURATING, VALU

__all__ = [
    "ATOMICS",
    "CONTROL",
    "LANE_OPS",
    "MATRIX",
    "MEMORY",
    "SALU",
    "SATURATING",
    "VALU",
    "Builder",
    "IntBuilder",
    "MachineOp",
    "implemented",
]


def implemented() -> frozenset[str]:
    """Every base mnemonic the machine can execute."""
    return frozenset(SALU) | frozenset(VALU) | frozenset(MEMORY) | LANE_OPS | MATRIX | CONTROL
