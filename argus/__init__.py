"""Argus: a tile language for AMD MI300X kernels whose data flow is proved before anything runs.

    import argus as ag                      the names of the language, for kernel files
    from argus.lang import read             the reader: kernel file -> kernel IR

Names are looked up when used, so that importing one room of the house does not load the others.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module 'argus' has no attribute {name!r}")
    from argus.surface import lookup

    return lookup(name)
