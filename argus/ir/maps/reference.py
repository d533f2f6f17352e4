"""The table of elementwise functions in docs/language.md, made from the rows.

python -m argus.ir.maps.reference        prints it; tests hold that the page has it
"""

from __future__ import annotations

from argus.ir.maps import MAPS, MapFn

HEAD = (
    "| function | meaning | defined for | in `computes` | error, ulp of f32 | issue slots |",
    "|---|---|---|---|---|---|",
)


def reference() -> str:
    """One line per function that kernels call by name."""
    return "\n".join([*HEAD, *(_line(row) for row in MAPS.values() if row.exposed)]) + "\n"


def _line(row: MapFn) -> str:
    call = f"`ag.{row.name}({', '.join('xyz'[: row.arity])})`"
    spec = f"`{row.spec}`" if row.spec else ""
    measured = f", over 2^{row.inputs.bit_length() - 1} inputs" if row.inputs else ""
    error = f"{row.ulps:g}{measured}"
    return f"| {call} | {row.meaning} | {row.domain or 'all numbers'} | {spec} | {error} | {row.slots} |"


if __name__ == "__main__":
    print(reference(), end="")
