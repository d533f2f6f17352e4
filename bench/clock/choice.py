"""`python -m bench.clock.choice DIR`: does the clock rank hipBLASLt's solutions as its tuner did on the real chip?

    python -m bench.clock.choice objects --out choice.jsonl        # simulates; goes on where it was
    python -m bench.clock.choice --out choice.jsonl                # prints what the file holds, no objects needed

At each size the solution that the library's table names is timed beside others of the same table that may take it:
those chosen for the nearest other sizes, which are the hard ones to tell apart. The tuner measured all its solutions at
the size and kept the fastest, so the chosen one should be first, or within `NEAR` of the first. Printed is the share of
sizes where it is, and the sizes where it is not. Solutions that split K are not timed (`argus.bench.hipblaslt`), so
sizes whose choice splits K are left out, and counted. Times are as the tuner takes them (`bench.clock.hipblaslt`):
launches back to back, tensors rotated. A line keeps the profile of every launch, so that it can be timed with other
powers and floors, and says which code simulated it.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from argus.bench.contestant import executed
from argus.bench.hipblaslt import Entry, Solution, Table, work
from argus.clock import PARAMETERS
from argus.clock.profile import Profile
from argus.clock.protocol import Protocol, floor
from argus.clock.sampled import time_prepared
from bench.clock.hipblaslt import stays_warm
from bench.clock.rows import code_of

TABLE = "Cijk_Alik_Bljk_BBS_BH_UserArgs"
PROTOCOL: Protocol = "graph"
NEAR = 0.03
OTHERS = 3
SIZES = 36
LEAST, MOST = 1e9, 1.5e11
"""Operations of a product (up to 4096 x 4096 x 4096): smaller ones are all launch, larger ones cost minutes."""


def apart(one: Entry, other: Entry) -> float:
    """Distance of two sizes, in octaves along each axis."""
    return math.hypot(*(math.log2(a / b) for a, b in ((one.m, other.m), (one.n, other.n), (one.k, other.k))))


def rivals(table: Table, entry: Entry) -> list[Solution]:
    """The chosen solution, then the choices of the nearest other sizes that may take this one."""
    found = [table.solution(entry.index)]
    for other in sorted(table.entries, key=lambda each: apart(entry, each)):
        solution = table.solutions.get(other.index)
        known = solution is None or any(solution.parameters == each.parameters for each in found)
        if solution is not None and not known and solution.refusal(entry.m, entry.n, entry.k) is None:
            found.append(solution)
        if len(found) == 1 + OTHERS:
            break
    return found


def sizes(table: Table, count: int) -> tuple[list[Entry], int]:
    """Sizes spread over the table, and how many entries cannot be asked."""
    able = [
        entry
        for entry in table.entries
        if entry.batch == 1
        and LEAST <= 2.0 * entry.m * entry.n * entry.k <= MOST
        and (solution := table.solutions.get(entry.index)) is not None
        and solution.refusal(entry.m, entry.n, entry.k) is None
    ]
    able.sort(key=lambda entry: (entry.m * entry.n * entry.k, entry.m))
    step = max(1.0, len(able) / count)
    return [able[int(step * at)] for at in range(min(count, len(able)))], len(table.entries) - len(able)


def simulated(folder: Path, entry: Entry) -> dict[str, Any]:
    """In a worker: the launches of every rival at one size."""
    table = Table(folder)
    launches = {}
    start = time.process_time()
    for solution in rivals(table, entry):
        part = executed(work(solution, entry.m, entry.n, entry.k))
        warm = stays_warm(part.work.moved)
        launch = time_prepared(part.work, part.recorded, part.element, warm=warm, protocol=PROTOCOL)[1]
        launches[solution.text()] = launch.profile.to_json()
    return {
        "table": folder.name,
        "size": [entry.m, entry.n, entry.k],
        "chosen": table.solution(entry.index).text(),
        "launches": launches,
        "code": code_of("choice"),
        "seconds": round(time.process_time() - start, 1),
    }


def timed(line: Mapping[str, Any]) -> dict[str, float]:
    """Microseconds of every rival with the clock's present numbers."""
    gap = floor(PROTOCOL)
    profiles = {name: Profile.from_json(profile) for name, profile in line["launches"].items()}
    return {
        name: profile.busy_microseconds(profile.sustained(PARAMETERS, gap)) + gap for name, profile in profiles.items()
    }


def report(lines: Sequence[Mapping[str, Any]]) -> str:
    first = near = 0
    out = []
    for line in lines:
        times = timed(line)
        chosen, best = times[line["chosen"]], min(times.values())
        first += chosen == best
        near += chosen <= (1 + NEAR) * best
        if chosen > (1 + NEAR) * best:
            fastest = min(times, key=times.__getitem__)
            shape = " x ".join(map(str, line["size"]))
            out.append(f"{shape}: {line['chosen']} {chosen:.1f} us, {fastest} {best:.1f} us ({chosen / best - 1:+.1%})")
    total = len(lines)
    fewest = min((len(line["launches"]) for line in lines), default=0)
    here = sum(line["code"] == code_of("choice") for line in lines)
    out.append(
        f"{total} sizes, at least {fewest} solutions each: the chosen one is first at {first}, first or within "
        f"{NEAR:.0%} of it at {near} ({near / max(1, total):.0%}); {here} sizes were simulated by the present code"
    )
    return "\n".join(out)


def held(path: Path) -> dict[tuple[int, ...], dict[str, Any]]:
    """The lines of a file by their size; of several lines of one size the last."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {tuple(line["size"]): line for line in map(json.loads, lines)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clock.choice", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of hipBLASLt's objects (docs/foreign.md)")
    parser.add_argument("--table", default=TABLE)
    parser.add_argument("--sizes", type=int, default=SIZES)
    parser.add_argument("--out", type=Path, default=Path("out/choice.jsonl"), help="kept between runs")
    parser.add_argument("--again", action="store_true", help="simulate sizes that the file holds from other code anew")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    known = held(options.out)
    if options.folder is not None:
        table = Table(options.folder / options.table)
        wanted, left_out = sizes(table, options.sizes)
        print(f"{left_out} entries of the table split K, were not made, or are too small or large", flush=True)
        if options.again:
            known = {size: line for size, line in known.items() if line["code"] == code_of("choice")}
        open_ = [entry for entry in wanted if (entry.m, entry.n, entry.k) not in known]
        options.out.parent.mkdir(parents=True, exist_ok=True)
        context = multiprocessing.get_context("fork")
        with options.out.open("a", encoding="utf-8") as file, ProcessPoolExecutor(options.jobs, context) as pool:
            for future in as_completed([pool.submit(simulated, table.folder, entry) for entry in open_]):
                line = future.result()
                known[tuple(line["size"])] = line
                print(json.dumps(line), file=file, flush=True)
                times = {name: round(us, 1) for name, us in timed(line).items()}
                print(" x ".join(map(str, line["size"])), times, f"{line['seconds']} s", flush=True)
    print(report(list(known.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
