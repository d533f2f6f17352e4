"""The rows of the memory-bound families: time, bytes per second, and the share of what the memory gives.

    memory_row("softmax", 8192, 4096, "bf16")   -> MemoryRow(time=..., gbps=..., share=...)

Bytes are those of the operands, each moved once. The share is of the HBM rate a stream reaches on this clock
(`hbm_bandwidth` of the clock's parameters), at the predicted sustained clock and at 2100 MHz.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from argus.bench.contestant import from_choice
from argus.bench.kept import Timed
from argus.clock import PARAMETERS
from argus.clock.protocol import Protocol
from argus.ops.choice import BYTES, Choice, choose_elementwise, choose_rows, choose_transpose

FAMILIES = ("softmax", "rmsnorm", "layernorm", "rowreduce", "add", "mul", "silu", "gelu", "transpose")
DEFAULT: Mapping[str, tuple[int, int]] = {"add": (8192, 8192), "transpose": (8192, 8192)}
ROWS = (16384, 4096)


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One family at one shape; shares are of the achievable HBM rate."""

    family: str
    shape: tuple[int, int]
    time: Timed
    gbps: float
    share: float
    share_full_clock: float
    detail: str

    def to_json(self) -> dict[str, Any]:
        return {
            "family": self.family, "shape": list(self.shape), **self.time.to_json(), "gbps": self.gbps,
            "share": self.share, "share_full_clock": self.share_full_clock, "kernel": self.detail,
        }  # fmt: skip


def chosen(family: str, m: int, n: int, dtype: str) -> tuple[Choice, dict[str, int], int]:
    """Kernel, sizes and bytes moved."""
    size = BYTES[dtype]
    if family in ("add", "mul"):
        return choose_elementwise("binary", family, m * n, dtype), {"N": m * n}, 3 * m * n * size
    if family in ("silu", "gelu", "relu"):
        return choose_elementwise("unary", family, m * n, dtype), {"N": m * n}, 2 * m * n * size
    if family == "transpose":
        return choose_transpose(m, n, dtype), {"M": m, "N": n}, 2 * m * n * size
    moved = m * n * size + 4 * m if family == "rowreduce" else 2 * m * n * size
    return choose_rows(family, n, dtype, "sum"), {"M": m, "N": n}, moved


def memory_row(family: str, m: int, n: int, dtype: str = "bf16", protocol: Protocol = "stream") -> MemoryRow:
    choice, sizes, moved = chosen(family, m, n, dtype)
    launch = from_choice(family, choice, sizes).launches(protocol=protocol)[0]
    roof = PARAMETERS["hbm_bandwidth"]
    time = Timed.of([launch])
    gbps = moved / time.us * 1e-3
    return MemoryRow(
        family, (m, n), time, gbps, gbps / roof, moved / launch.microseconds * 1e-3 / roof,
        choice.text(),
    )  # fmt: skip


def table(rows: Sequence[MemoryRow]) -> str:
    lines = [
        "| operation | shape | us (simulated) | GB/s | of achievable HBM rate | at 2100 MHz | MHz | kernel |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row.family} | {row.shape[0]} x {row.shape[1]} | {row.time.text()} | {row.gbps:.0f} | "
            f"{100 * row.share:.0f} % | {100 * row.share_full_clock:.0f} % | {row.time.mhz:.0f} | {row.detail} |"
        )
    return "\n".join(lines)
