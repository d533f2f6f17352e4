"""What single techniques of the knowledge base are worth: a kernel before and after one transformation, on the clock.

    python -m bench.agent_techniques [--only split-k,lds-ring] [--time-only]

Each row lowers a naive kernel by a chain, then by one step more; both are timed at the sizes named, the second is
proved first unless `--time-only`. The figures stand in the entries (`argus kb show ENTRY`). All times simulated, with
their intervals; both kernels are of one family, so an error of the clock moves both alike.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from argus.agent.lower import lower
from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.tasks.task import load_task
from bench.agent_chains import ROOT, Step, timed

BOTH: Step = ("lds-staging", {"barriers": "both"})
CROSS: Step = ("lds-swizzle", {"kind": "cross", "amount": 2})
VECTOR: Step = ("row-vectors", {"per_lane": 8})
RESIDENT: Step = ("row-resident", {"widest": 4096})
SQUARE = {"M": 4096, "N": 4096, "K": 4096}
ROWS = {"M": 8192, "N": 4096}
LONG = {"M": 2048, "N": 65536}
STATISTICS = str(ROOT / "examples/agent/tasks/statistics.py")


def blocked(rows: int, columns: int, waves_col: int, slices: int) -> tuple[Step, ...]:
    sizes: dict[str, object] = {"tiles_row": rows, "tiles_col": columns, "tiles_k": slices}
    return (
        ("register-blocking", {**sizes, "waves_row": 2, "waves_col": waves_col}),
        ("wide-fragments", {}),
        ("vector-stores", {}),
    )


@dataclass(frozen=True, slots=True)
class Case:
    """An entry, the task and chain it is tried on, the step itself (and what it brings along), the sizes."""

    entry: str
    task: str
    before: tuple[Step, ...]
    steps: tuple[Step, ...]
    sizes: dict[str, int]


EIGHT = (*blocked(4, 2, 4, 4), BOTH, CROSS)
PLAIN = (*blocked(2, 2, 2, 8), BOTH)
CASES = (
    Case("split-k", "gemm", blocked(1, 1, 2, 4), (("split-k", {"parts": 4}),), {"M": 256, "N": 256, "K": 16384}),
    Case("lds-ring", "gemm", EIGHT, (("lds-ring", {"slots": 2}),), SQUARE),
    Case("wave-groups", "gemm", EIGHT, (("wave-groups", {}),), SQUARE),
    Case("direct-to-lds", "gemm", PLAIN, (("direct-to-lds", {"slots": 1}),), SQUARE),
    Case(
        "stagger-k",
        "gemm",
        (*PLAIN, ("lds-swizzle", {"kind": "xor", "amount": 3})),
        (("stagger-k", {"stride": 1}),),
        SQUARE,
    ),
    Case("range-guards", "gemm", PLAIN, (("range-guards", {"axes": "grid"}),), SQUARE),
    Case("persistent-groups", "softmax", (VECTOR, RESIDENT), (("persistent-groups", {"turns": 4}),), ROWS),
    Case("loop-unrolling", "layernorm", (), (("loop-unrolling", {"turns": 4}),), ROWS),
    Case("waves-per-row", "softmax", (VECTOR,), (("waves-per-row", {"waves": 16}), RESIDENT), LONG),
    Case("online-softmax", "softmax", (VECTOR,), (("online-softmax", {}),), LONG),
    Case("packed-arithmetic", "softmax", (VECTOR, RESIDENT), (("packed-arithmetic", {}),), ROWS),
    Case("fused-stages", STATISTICS, (VECTOR,), (("fused-stages", {}),), LONG),
)


def row(case: Case, proved: bool) -> str:
    text = load_task(case.task).source
    for step, params in case.before:
        text = lower(text, step, params)
    after = text
    for step, params in case.steps:
        after = lower(after, step, params)
    status = f", {check(scheduled(read(after))).status}" if proved else ""
    (old, before), (new, now) = timed(read(text), case.sizes), timed(read(after), case.sizes)
    sizes = " x ".join(str(n) for n in case.sizes.values())
    return f"{case.entry}: {sizes}: {before} -> {now}, {old / new:.2f}x{status}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="entries, separated by commas")
    parser.add_argument("--time-only", action="store_true", help="without the checker")
    args = parser.parse_args()
    wanted = set(args.only.split(",")) - {""}
    for case in CASES:
        if not wanted or case.entry in wanted:
            print(row(case, not args.time_only), flush=True)


if __name__ == "__main__":
    main()
