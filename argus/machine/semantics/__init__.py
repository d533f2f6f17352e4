"""What every instruction does, written once and read by every executor.

| module | instructions |
|---|---|
| `salu`, `salu_bits` | scalar arithmetic, over an `IntBuilder` |
| `valu` (sections `valu_*`, `transcendental`, `divide`) | vector arithmetic, over a `Builder` |
| `modifiers` | constants, source and output modifiers |

`builder.py` states the operations, `table.py` the signature language; `numpy_backend` and `scalar_backend` compute
them.
"""

from __future__ import annotations

from argus.machine.semantics import salu_bits  # noqa: F401  (fills SALU)
from argus.machine.semantics.builder import Builder, IntBuilder
from argus.machine.semantics.salu import SALU
from argus.machine.semantics.table import Op
from argus.machine.semantics.valu import SATURATING, VALU

__all__ = ["SALU", "SATURATING", "VALU", "Builder", "IntBuilder", "Op", "implemented"]


def implemented() -> frozenset[str]:
    """Every base mnemonic the machine can execute."""
    return frozenset(SALU) | frozenset(VALU)
