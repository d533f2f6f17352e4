"""The rows of `argus bench gemm`: ours, Triton's best, published figures, and the share of perturbed clocks we win.

    row = gemm_row(4096, 4096, 4096, QUICK, clocks=5)
    row.ours, row.triton, row.published["hipBLASLt"], row.wins

TFLOPS are 2 M N K over the time at the predicted sustained clock; steps on zeros are not counted as work. The other
columns were measured by their authors on real chips: a row puts them side by side, it does not compare like with like.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argus.bench.contestant import Contestant, from_choice, shares
from argus.bench.triton_matmul import Config, TritonError, contestant
from argus.compile.errors import CompileError
from argus.lang.errors import ProgramError
from argus.ops.choice import Choice, choose_matmul, matmul_with
from argus.ops.launch import Unproved

PUBLISHED: Mapping[str, Any] = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))
COMPARABLE = 0.9
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "swizzle off": {"SWIZZLE": False},
    "XCD map off": {"XM": 0, "GROUP": 1},
    "one k-step ahead": {"DEPTH": 1, "STAGES": 1},
    "the other matrix instruction": {},
}


@dataclass(frozen=True, slots=True)
class Row:
    """One shape. Times in us at the sustained clock; `notes` says which configurations did not take part."""

    shape: tuple[int, int, int]
    ours: float
    mhz: float
    detail: str
    triton: float | None
    triton_detail: str
    wins: float | None
    published: Mapping[str, float]
    notes: tuple[str, ...]

    def tflops(self, microseconds: float) -> float:
        m, n, k = self.shape
        return 2.0 * m * n * k / microseconds * 1e-6

    def comparable(self) -> bool:
        """Whether Triton's best here reaches most of what was published for it."""
        known = self.published.get("Triton")
        return self.triton is None or known is None or self.tflops(self.triton) >= COMPARABLE * known

    def to_json(self) -> dict[str, Any]:
        return {
            "shape": list(self.shape), "us": self.ours, "tflops": self.tflops(self.ours), "mhz": self.mhz,
            "ours": self.detail, "triton_us": self.triton, "triton": self.triton_detail, "wins": self.wins,
            "comparable": self.comparable(), "published_tflops": dict(self.published), "notes": list(self.notes),
        }  # fmt: skip


def published(m: int, n: int, k: int) -> dict[str, float]:
    """Published TFLOPS at this shape, by library."""
    if not m == n == k:
        return {}
    columns = PUBLISHED["gemm bf16 M=N=K"]
    return {name: row[str(m)] for name, row in columns.items() if isinstance(row, dict) and str(m) in row}


def gemm_row(m: int, n: int, k: int, configs: Sequence[Config], clocks: int) -> Row:
    """Ours and the fastest of the configurations at one shape."""
    choice = choose_matmul(m, n, k, "bf16")
    ours = from_choice("ours", choice, {"M": m, "N": n, "K": k})
    notes, others = [], []
    for config in configs:
        try:
            others.append(contestant(config, m, n, k))
        except TritonError as error:
            notes.append(str(error))
    best = min(others, key=lambda c: c.microseconds(), default=None)
    wins = shares([ours, best], clocks)["ours"] if best is not None and clocks else None
    launches = ours.launches()
    return Row(
        shape=(m, n, k),
        ours=ours.microseconds(),
        mhz=launches[0].sustained.clock_mhz,
        detail=choice.text(),
        triton=None if best is None else best.microseconds(),
        triton_detail="" if best is None else best.detail,
        wins=wins,
        published=published(m, n, k),
        notes=tuple(notes),
    )


def table(rows: Sequence[Row]) -> str:
    """A Markdown table."""
    lines = [
        "| M x N x K | ours, TFLOPS (simulated) | us | MHz | Triton best, TFLOPS (simulated) | wins | hipBLASLt "
        "(published) | kernel |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        triton = "-" if row.triton is None else f"{row.tflops(row.triton):.0f}"
        if not row.comparable():
            triton += " (not comparable)"
        wins = "-" if row.wins is None else f"{100 * row.wins:.0f} %"
        known = row.published.get("hipBLASLt")
        lines.append(
            f"| {' x '.join(map(str, row.shape))} | {row.tflops(row.ours):.0f} | {row.ours:.1f} | {row.mhz:.0f} | "
            f"{triton} | {wins} | {'-' if known is None else f'{known:.0f}'} | {row.detail} |"
        )
    return "\n".join(lines)


def ablations(m: int, n: int, k: int) -> Iterator[tuple[str, float | str]]:
    """The chosen kernel with one idea taken away at a time: us at the sustained clock, or why it cannot be built."""
    choice = choose_matmul(m, n, k, "bf16", b_by_k=False)
    sizes = {"M": m, "N": n, "K": k}
    yield "as chosen", from_choice("as chosen", choice, sizes).microseconds()
    for name, change in ABLATIONS.items():
        knobs = {**choice.knobs, **change}
        if name.startswith("the other"):
            knobs["INST"] = 48 - int(knobs["INST"])
        if any(knob not in choice.knobs and knob != "SWIZZLE" for knob in change) or knobs == choice.knobs:
            continue
        if choice.kernel == "matmul_direct" and "SWIZZLE" in change:
            continue
        try:
            yield name, from_choice(name, Choice(choice.file, choice.kernel, knobs), sizes).microseconds()
        except (CompileError, ProgramError, Unproved) as error:
            yield name, str(error).splitlines()[0]


def search(m: int, n: int, k: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Choice, float | str]]:
    """Every candidate row of a table at this shape: us, or why it cannot be built."""
    for row in rows:
        choice = matmul_with(row, m, n, k, "bf16")
        try:
            found: Contestant = from_choice("candidate", choice, {"M": m, "N": n, "K": k})
            yield choice, found.microseconds()
        except (CompileError, ProgramError, Unproved) as error:
            yield choice, str(error).splitlines()[0]
