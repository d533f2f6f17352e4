"""Every row of the dispatch tables, checked: `python bench/dispatch_proofs.py [KERNEL ...]`. Exit 1 if not proved.

Prints CPU seconds and, last, their sum. With names of kernels, only rows of these.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from argus.check import check
from argus.compile.schedule import scheduled
from argus.lang import read

KERNELS = Path(__file__).resolve().parent.parent / "argus" / "kernels"
ROW_KERNELS = ("softmax", "rmsnorm", "layernorm", "rowreduce")


def rows() -> list[tuple[str, str, dict[str, Any]]]:
    """(file, kernel, knobs) of every row, each once."""
    found = []
    for row in json.loads((KERNELS / "matmul.json").read_text())["rows"]:
        file = "matmul_direct" if row["kernel"] == "matmul_direct" else "matmul"
        found.append((file, row["kernel"], row["knobs"]))
    for knobs in json.loads((KERNELS / "rows.json").read_text())["rows"]:
        found += [(name, name, {**knobs, "EXACT": exact}) for name in ROW_KERNELS for exact in (False, True)]
    long = json.loads((KERNELS / "rows.json").read_text())["long"]
    found += [(name, f"{name}_long", long) for name in ROW_KERNELS]
    experts = json.loads((KERNELS / "moe.json").read_text())
    found += [("fp8_gemm", "fp8_matmul", row["knobs"]) for row in experts["fp8_matmul"]]
    for row in experts["moe"]:
        found += [("fp8_gemm", f"moe_{part}", {"BM": row["BM"], **row[part]}) for part in ("gate_up", "down")]
    found += [("moe", "quantise", {}), ("moe", "combine", {})]
    return [row for number, row in enumerate(found) if row not in found[:number]]


def main() -> int:
    wrong, total = 0, 0.0
    for file, kernel, knobs in rows():
        if sys.argv[1:] and kernel not in sys.argv[1:]:
            continue
        started = time.process_time()
        report = check(scheduled(read(KERNELS / f"{file}.py", settings=knobs, kernel=kernel)))
        wrong += report.status != "proved"
        seconds = time.process_time() - started
        total += seconds
        print(kernel, knobs, dict(report.count()), f"{seconds:.1f} s", flush=True)
    print(f"{total:.1f} s in all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
