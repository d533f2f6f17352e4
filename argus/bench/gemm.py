"""The rows of `argus bench gemm`: ours, Triton, AITER and hipBLASLt beside each other, published figures, verdicts.

    row = gemm_row((4096, 4096, 4096), Others(triton="full", hipblaslt=Path("objects")), clocks=20)
    row.ours.us, row.others["Triton"].us, row.others["hipBLASLt"].us, row.published["hipBLASLt"], row.verdict

TFLOPS are 2 M N K over the time at the predicted sustained clock; steps on zeros are not counted as work. Published
columns were measured by their authors on real chips: they stand beside, and form no ratio with what is simulated.
hipBLASLt is the one solution its own tables choose for the size (or, said so, the fastest of some near ones:
`hipblaslt_best.py`). A library that was asked for and has nothing to show at a size is named, and the row does not
count in the mean: its absence is not a win. Neither does a row without a kernel of ours; its reason is named, too.

`full` tries all 56 configurations of Triton up to 4096 x 4096 x 4096, and beyond the forty that are fastest there. Of
AITER's objects it takes, beyond 2048, the three that are fastest there. A sample of a large product costs much. With at
most 128 rows Triton runs 44 configurations made for that (`triton_few.py`); AITER does not divide K.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from argus.bench import aiter_matmul, aiter_objects, hipblaslt_best, triton_compile, triton_few, triton_matmul
from argus.bench.aiter_objects import AiterError
from argus.bench.contestant import Contestant
from argus.bench.hipblaslt import HipblasltError
from argus.bench.kept import Kept, Timed
from argus.bench.others import Best, Others, Yardstick, best_triton, fastest, swept, to_ours
from argus.bench.our_product import our_product
from argus.bench.triton_compile import TritonError
from argus.bench.triton_few import Few
from argus.bench.triton_matmul import FULL, QUICK, MatmulConfig
from argus.bench.verdict import HEADER, cell, counted, verdict
from argus.clock.paired import Paired
from argus.ir.compile_error import CompileError
from argus.lang.errors import ProgramError
from argus.machine import MachineError
from argus.ops.choice import NoKernel
from argus.pipeline import Unproved

PUBLISHED: Mapping[str, Any] = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))
COMPARABLE = 0.9
MIDDLE, SWEPT = (2048, 2048, 2048), (4096, 4096, 4096)
TOP, TOP_AITER = 40, 3
CONFIGURATIONS: Mapping[str, Sequence[MatmulConfig]] = {"none": (), "quick": QUICK, "full": FULL}
QUICK_FEW = 4
"""Of every so many configurations for few rows `quick` takes one."""

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class GemmRow:
    """One shape. Times in us at the sustained clock; `verdict`: ours against the fastest of the others."""

    shape: Shape
    ours: Timed
    detail: str
    others: Mapping[str, Best] = field(default_factory=dict)
    verdict: Paired | None = None
    published: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    """Libraries that were asked for and take no part here, with the reason; so for `ours`."""

    def tflops(self, microseconds: float) -> float:
        m, n, k = self.shape
        return 2.0 * m * n * k / microseconds * 1e-6

    def comparable(self) -> bool:
        """Whether Triton's best here reaches most of what was published for it."""
        known, found = self.published.get("Triton"), self.others.get("Triton")
        return found is None or known is None or self.tflops(found.us) >= COMPARABLE * known

    def kind(self) -> Yardstick:
        """What hipBLASLt's time is the time of."""
        found = self.others.get("hipBLASLt")
        return Yardstick.CHOICE if found is None else found.kind

    def ratio(self) -> float | None:
        """The best of the others to ours; None if there is none, or if one that was asked for is missing."""
        return None if self.missing else to_ours(self.others, self.ours.us)

    def to_json(self) -> dict[str, Any]:
        others = {name: best.to_json(self.tflops) for name, best in self.others.items()}
        return {
            "shape": list(self.shape), **self.ours.to_json(),
            "tflops": None if self.ours.why else self.tflops(self.ours.us),
            "verdict": None if self.verdict is None else self.verdict.to_json(),
            "ours": self.detail, "others": others, "comparable": self.comparable(),
            "published_tflops": dict(self.published), "missing": dict(self.missing),
        }  # fmt: skip


def published(m: int, n: int, k: int) -> dict[str, float]:
    """Published TFLOPS at this shape, by library."""
    if not m == n == k:
        return {}
    columns = PUBLISHED["gemm bf16 M=N=K"]
    return {name: row[str(m)] for name, row in columns.items() if isinstance(row, dict) and str(m) in row}


def gemm_row(
    shape: Shape, others: Others, clocks: int = 0, kept: Kept | None = None, dtype: str = "bf16", layout: str = "TN"
) -> GemmRow:
    """Ours and the fastest of the others at one shape.

    dtype   "bf16"; "f16", or "fp8" with a result in bf16, beside hipBLASLt only
    layout  hipBLASLt's word: "TN" is A[m, k] @ B[n, k].T; "NN" has B as [k, n], "NT" also A as [k, m] (hipBLASLt only)
    """
    store = Kept(None) if kept is None else kept
    plain = (dtype, layout) == ("bf16", "TN")
    found: dict[str, Best] = {}
    missing: dict[str, str] = {}
    try:
        ours = our_product(shape, dtype, layout)
        mine = ours.time(store)
    except WITHOUT as error:
        why = str(error).splitlines()[0]
        return GemmRow(shape, Timed(0.0, 0.0, why), "", missing={"ours": why})
    if others.triton != "none" and plain:
        found |= best_triton(
            lambda: _configurations(shape, others.triton, store), lambda config: _triton_time(config, shape, store)
        )
    if others.aiter is not None and plain:
        found |= _aiter(shape, others.aiter, store)
    if others.hipblaslt is not None:
        try:
            best = hipblaslt_best.hipblaslt_best(shape, others.hipblaslt, store, dtype, layout, others.nearest)
            found["hipBLASLt"] = best
        except HipblasltError as error:
            missing["hipBLASLt"] = str(error)
    against = None
    if found and not missing:
        name = min(found, key=lambda name: found[name].us)
        rival = partial(_made, name, found[name], shape, others, store, dtype, layout)
        against = verdict(mine, found[name], lambda: (ours.contestant(), rival()), clocks, store.protocol)
    return GemmRow(shape, mine, ours.text(), found, against, published(*shape) if plain else {}, missing)


WITHOUT = (NoKernel, CompileError, ProgramError, MachineError, Unproved)
"""Why there may be no time of ours."""


def _words(text: str, shape: Shape) -> str:
    return f"{text} at {' x '.join(map(str, shape))}"


def _configurations(shape: Shape, which: str, store: Kept) -> Sequence[MatmulConfig | Few]:
    """Those to try: for few rows such as are made for them, of larger products the fastest at a smaller one."""
    if shape[0] <= triton_few.MOST:
        return triton_few.fitting(shape[0])[:: 1 if which == "full" else QUICK_FEW]
    every = CONFIGURATIONS[which]
    if which == "full" and math.prod(shape) > math.prod(SWEPT):
        every = swept(every, lambda config: _triton_time(config, SWEPT, store), TOP)
    return every


def _triton_time(config: MatmulConfig | Few, shape: Shape, store: Kept) -> Timed:
    source = triton_few.SOURCE if isinstance(config, Few) else triton_matmul.SOURCE
    words = _words(f"{triton_compile.identity(source)} {config.text()}", shape)
    return store.time(words, lambda: _of_triton(config, shape), TritonError)


def _of_triton(config: MatmulConfig | Few, shape: Shape) -> Contestant:
    if isinstance(config, Few):
        return triton_few.contestant(config, *shape)
    return triton_matmul.contestant(config, *shape)


def _aiter(shape: Shape, root: Path, store: Kept) -> dict[str, Best]:
    every = aiter_matmul.objects(root)
    if math.prod(shape) > math.prod(MIDDLE):
        every = swept(every, lambda one: _aiter_time(root, one, MIDDLE, store), TOP_AITER)
    timed = {one.text(): _aiter_time(root, one, shape, store) for one in every}
    return fastest("AITER", timed)


def _aiter_time(root: Path, one: aiter_matmul.Object, shape: Shape, store: Kept) -> Timed:
    words = _words(f"aiter {one.text()} {aiter_objects.named(root, one.path)}", shape)
    return store.time(words, lambda: aiter_matmul.contestant(root, one, *shape), AiterError)


def _made(name: str, best: Best, shape: Shape, others: Others, store: Kept, dtype: str, layout: str) -> Contestant:
    """The winner of a library once more, with its sample."""
    if name == "hipBLASLt":
        return hipblaslt_best.again(best.detail, shape, others.hipblaslt or Path(), dtype, layout, others.nearest)
    if name == "Triton":
        every = _configurations(shape, others.triton, store)
        return _of_triton(next(config for config in every if config.text() == best.detail), shape)
    root = others.aiter or Path()
    return aiter_matmul.contestant(root, next(o for o in aiter_matmul.objects(root) if o.text() == best.detail), *shape)


def table(rows: Sequence[GemmRow]) -> str:
    """A Markdown table."""
    lines = [
        "| M x N x K | ours, TFLOPS (simulated) | us | MHz | Triton best, TFLOPS (simulated) | AITER best, TFLOPS "
        f"(simulated) | hipBLASLt's choice, TFLOPS (simulated) | {HEADER} | hipBLASLt, TFLOPS (published) | kernel |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = []
        for name in ("Triton", "AITER", "hipBLASLt"):
            best = row.others.get(name)
            said = "" if best is None else f"{best.text()} us; {best.detail}; {best.tried} tried"
            none = "left out" if name in row.missing else "-"
            said += "" if best is None or best.kind != Yardstick.NEAR else f"; {best.kind}"
            cells.append(none if best is None else f"{row.tflops(best.us):.0f} ({said})")
        cells[0] += "" if row.comparable() else " (not comparable)"
        cells.append(cell(row.verdict))
        known = row.published.get("hipBLASLt")
        last = "-" if known is None else f"{known:.0f}"
        mine = "left out | - | -"
        if not row.ours.why:
            mine = f"{row.tflops(row.ours.us):.0f} | {row.ours.text()} | {row.ours.mhz:.0f}"
        lines.append(f"| {' x '.join(map(str, row.shape))} | {mine} | {' | '.join(cells)} | {last} | {row.detail} |")
    return "\n".join(lines)


def summary(rows: Sequence[GemmRow]) -> str:
    """Geometric mean and least of ours to the best simulated other, and the verdicts."""
    ratios = {row.shape: ratio for row in rows if (ratio := row.ratio()) is not None}
    short = sum(bool(row.missing) for row in rows)
    without = f"; {short} rows without a library that was asked for do not count" if short else ""
    if not ratios:
        return "no other was simulated" + without
    mean = math.exp(sum(math.log(ratio) for ratio in ratios.values()) / len(ratios))
    least = min(ratios, key=lambda shape: ratios[shape])
    return (
        f"ours to the best simulated other: geometric mean {mean:.2f}, least {ratios[least]:.2f} at "
        f"{' x '.join(map(str, least))}" + counted([row.verdict for row in rows]) + without
    )
