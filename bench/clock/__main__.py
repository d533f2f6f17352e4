"""`python -m bench.clock DIRS… --out rows.jsonl`: simulates every published time whose program is at hand.

    python -m bench.clock FACTS AITER HIPBLASLT --out rows.jsonl            # goes on where a killed run was
    python -m bench.clock FACTS AITER --out rows.jsonl --family fmha --again
    python -m bench.clock --smoke --out /tmp/smoke.jsonl                    # a few tiny rows, no folder

Each folder is recognized by what is in it. A row is simulated unless the file holds it from the same code (`code`, a
digest of clock, machine and the family's file). Lines are appended as they come; when all are done, the file is written
anew, one line per row, families in order. A row that fails is named, left out, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from argus.clock import PARAMETERS
from bench.clock.families import FAMILIES, SMOKE, tasks_of
from bench.clock.rows import Folders, LeftOut, Task, code_of, executed, line

Key = tuple[str, str, str]
Job = tuple[str, Task]

JOBS: list[Job] = []
"""What the workers, which are forks of this process, choose from by number."""


def folders(given: Iterable[Path]) -> Folders:
    """The folders by what they hold."""
    found: dict[str, Path] = {}
    for path in given:
        if (path / "calibration.csv").is_file():
            found["facts"] = path
        elif (
            inner := next((p for p in (path, path / "hsa/gfx942") if (p / "fmha_v3_fwd").is_dir()), None)
        ) is not None:
            found["aiter"] = inner
        elif any(path.glob("Cijk_*")):
            found["hipblaslt"] = path
        else:
            raise SystemExit(f"{path} holds neither calibration.csv, nor fmha_v3_fwd, nor Cijk_…: what is it?")
    return Folders(**found)


def held(path: Path) -> dict[Key, dict[str, Any]]:
    """The rows of a file by their key; of several lines of a row the last, a line that was cut off is none."""
    rows: dict[Key, dict[str, Any]] = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            data = json.loads(text)
            if "module" in data["simulated"]:
                rows[data["family"], data["program"], data["shape"]] = data
        except (json.JSONDecodeError, KeyError):
            continue
    return rows


def simulated(number: int) -> tuple[str, float]:
    """In a worker: the line of one row, and its CPU seconds."""
    module, task = JOBS[number]
    start = time.process_time()
    launches = executed(task)(PARAMETERS)
    seconds = time.process_time() - start
    return json.dumps(line(task, launches, module, seconds)), seconds


def run(jobs: Sequence[Job], out: Path, workers: int) -> int:
    """Simulates and appends; the number of rows that failed."""
    JOBS[:] = jobs
    failed = 0
    context = multiprocessing.get_context("fork")
    if out.exists() and not out.read_bytes().endswith(b"\n"):
        with out.open("a", encoding="utf-8") as file:
            file.write("\n")
    with out.open("a", encoding="utf-8") as file, ProcessPoolExecutor(workers, context) as pool:
        pending = {pool.submit(simulated, number): number for number in range(len(jobs))}
        for done, future in enumerate(as_completed(pending), 1):
            row = jobs[pending[future]][1].row
            name = f"[{done}/{len(jobs)}] {row.family}, {row.program}, {row.shape}"
            if (error := future.exception()) is not None:
                failed += 1
                print(f"{name}: FAILED, {type(error).__name__}: {error}", flush=True)
                continue
            text, seconds = future.result()
            print(text, file=file, flush=True)
            print(f"{name}: {seconds:.1f} s", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clock", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*", help="facts, ROCm/aiter, hipBLASLt objects, in any order")
    parser.add_argument("--out", type=Path, required=True, help="lines of JSON; rows it holds are not simulated again")
    parser.add_argument("--family", choices=tuple(FAMILIES), action="append")
    parser.add_argument("--again", action="store_true", help="simulate rows that the file holds from other code anew")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--smoke", action="store_true", help="a few tiny rows that need no folder")
    options = parser.parse_args()
    given = folders(options.folders)
    wanted = SMOKE if options.smoke else {n: FAMILIES[n] for n in options.family or FAMILIES}
    old = held(options.out)
    jobs: list[Job] = []
    order: list[Key] = []
    for name, family in wanted.items():
        for item in tasks_of(name, family, given):
            if isinstance(item, LeftOut):
                print(f"left out: {item.rows} rows of {item.family}: {item.reason}", flush=True)
                continue
            key = item.row.key
            if key in order:
                raise ValueError(f"two rows are called {key}")
            order.append(key)
            if key not in old or (options.again and old[key]["simulated"]["code"] != code_of(family.module)):
                jobs.append((family.module, item))
    codes = {family.module: code_of(family.module) for family in wanted.values()}
    made = [data["simulated"] for data in old.values()]
    stale = sum(how["code"] != codes[how["module"]] for how in made if how["module"] in codes)
    print(f"{len(order)} rows, {len(jobs)} to simulate, {stale} held from other code", flush=True)
    failed = run(jobs, options.out, options.jobs)
    now = held(options.out)
    kept = [*order, *(key for key in now if key not in order)]
    whole = options.out.with_suffix(".part")
    whole.write_text("".join(json.dumps(now[key]) + "\n" for key in kept if key in now), encoding="utf-8")
    whole.replace(options.out)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
