"""Verdicts of the checker against the machine, over random kernels and single-point mutants.

    python -m bench.verdict_fuzz --sources 20000 --shard 0/2 --out DIR [--resume] [--seed S]
    python -m bench.verdict_fuzz --report DIR                the tables over all shards of a folder
    python -m bench.verdict_fuzz --show N [--seed S]         the N-th source, its verdict and its truth
    python -m bench.verdict_fuzz --keep DIR                  minimise what was found and keep it in tests/check/found

A shard writes one line of JSON per source to DIR; a run that was cut off goes on with `--resume`. Exit code 1 if there
is a fault (see `judge`).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

from bench.verdict_fuzz.judge import judge
from bench.verdict_fuzz.keep import keep
from bench.verdict_fuzz.report import table
from bench.verdict_fuzz.sources import source

SEED = 17


def run_shard(sources: int, shard: tuple[int, int], out: Path, seed: int, resume: bool) -> int:
    """Judge every n-th source; the number of faults."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{seed}-{shard[0]}of{shard[1]}.jsonl"
    done = {json.loads(line)["n"] for line in path.read_text().splitlines()} if resume and path.exists() else set()
    faults = 0
    with path.open("a" if resume else "w") as file:
        for n in range(shard[0], sources, shard[1]):
            if n in done:
                continue
            row = judged(seed, n)
            faults += bool(row["fault"])
            if row["fault"]:
                print(
                    f"{n}: {row['fault']}: {row['family']} {row['mutation']}: {row['detail'] or row['shown']}",
                    flush=True,
                )
            file.write(json.dumps(row) + "\n")
            file.flush()
    return faults


def judged(seed: int, n: int) -> dict[str, Any]:
    """One source as a line of the result."""
    start = process_time()
    one = source(seed, n)
    record = judge(one.program, one.text, not one.mutation)
    return {
        "n": n, "seed": seed, "family": one.program.family, "mutation": one.mutation, "line": one.line,
        "constructs": one.program.constructs, "verdict": record.verdict, "truth": record.truth,
        "detail": record.detail, "rules": record.rules, "reasons": record.reasons, "fault": record.fault,
        "shown": record.notes.get("shown", ""), "exact": record.exact, "lost": record.lost,
        "check": round(record.seconds, 4), "seconds": round(process_time() - start, 4),
    }  # fmt: skip


def show(seed: int, n: int) -> None:
    one = source(seed, n)
    print(one.text)
    print(f"# {one.program.family} {one.mutation} at line {one.line}; launches {list(one.program.launches)}")
    print(json.dumps(judge(one.program, one.text, not one.mutation).to_json(), indent=1))


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench.verdict_fuzz", description=__doc__)
    words.add_argument("--sources", type=int, default=1000)
    words.add_argument("--shard", default="0/1")
    words.add_argument("--seed", type=int, default=SEED)
    words.add_argument("--out", type=Path)
    words.add_argument("--resume", action="store_true")
    words.add_argument("--report", type=Path)
    words.add_argument("--keep", type=Path)
    words.add_argument("--show", type=int)
    given = words.parse_args()
    if given.show is not None:
        show(given.seed, given.show)
        return 0
    if given.report is not None:
        print(table(given.report))
        return 0
    if given.keep is not None:
        for path in keep(given.keep):
            print(path)
        return 0
    if given.out is None:
        words.error("--out DIR is where the results go")
    part, of = (int(x) for x in given.shard.split("/"))
    faults = run_shard(given.sources, (part, of), given.out, given.seed, given.resume)
    print(table(given.out))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
