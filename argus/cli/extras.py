"""Packages that only some verbs need, and the extra of Argus that installs each.

    extra_of("triton")  ->  "this needs the package triton: pip install 'argus-kernels[bench]'"

`tests/cli/test_first_hour.py` compares the table with pyproject.toml.
"""

from __future__ import annotations

EXTRAS = {"triton": "bench", "torch": "torch", "mcp": "mcp", "ray": "ray"}
"""Module to import -> extra."""


def extra_of(module: str | None) -> str | None:
    """What to install for a module that is missing, or None where no extra has it."""
    name = (module or "").partition(".")[0]
    if name not in EXTRAS:
        return None
    return f"this needs the package {name}, which is not installed: pip install 'argus-kernels[{EXTRAS[name]}]'"
