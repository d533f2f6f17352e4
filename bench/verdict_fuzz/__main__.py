"""Verdicts of the checker against the machine, over random kernels and single-point mutants.

    python -m bench.verdict_fuzz --sources 20000 --shard 0/2 --out DIR [--resume] [--seed S]
    python -m bench.verdict_fuzz --sources 20000 --out DIR --ray auto        on a Ray cluster (docs/many_machines.md)
    python -m bench.verdict_fuzz --again 'exp|log' --shard 0/2 --out DIR     sources whose text matches, judged anew
    python -m bench.verdict_fuzz --recheck --shard 0/2 --out DIR             all verdicts of DIR anew (`kept_truth`)
    python -m bench.verdict_fuzz --sources 20000 --seed 61 --kept --out DIR  truths of the repository where they hold
    python -m bench.verdict_fuzz --pack DIR                  the truths of DIR become kept ones (`packed_truths`)
    python -m bench.verdict_fuzz --report DIR                the tables over all shards of a folder
    python -m bench.verdict_fuzz --show N [--seed S]         the N-th source, its verdict and its truth
    python -m bench.verdict_fuzz --keep DIR                  minimise what was found and keep it in tests/check/found

A shard writes one line of JSON per source to DIR; a run that was cut off goes on with `--resume`. After a change of the
checker that concerns few sources, `--again` judges those once more, and the tables take their new lines. Exit code 1 if
there is a fault (see `judge`).
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from argus.cluster import ClusterError, Pool, answers, pool_of
from bench.verdict_fuzz.judge import judge
from bench.verdict_fuzz.keep import keep
from bench.verdict_fuzz.packed_truths import kept, pack
from bench.verdict_fuzz.report import AGAIN, Row, rows_of, table
from bench.verdict_fuzz.rows import WORK, died
from bench.verdict_fuzz.sources import source

SEED = 17
COLLECT_AFTER = 100_000
"""New objects between two collections of garbage; with the usual 700 they take a sixth of the time."""


def run_shard(
    numbers: Iterable[int], path: Path, seed: int, resume: bool, pool: Pool, before: Mapping[int, Row] | None = None
) -> int:
    """Judge sources; the number of faults. Lines are written in the order of the sources."""
    path.parent.mkdir(parents=True, exist_ok=True)
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
    done = {json.loads(line)["n"] for line in path.read_text().splitlines()} if resume and path.exists() else set()
    faults = 0
    with path.open("a" if resume else "w") as file:
        known = before or {}
        left = ({"seed": seed, "n": n, "before": known.get(n)} for n in numbers if n not in done)
        for found in answers(pool, WORK, left, died):
            row = found.value
            faults += bool(row["fault"])
            if row["fault"]:
                print(
                    f"{row['n']}: {row['fault']}: {row['family']} {row['mutation']}: {row['detail'] or row['shown']}",
                    flush=True,
                )
            file.write(json.dumps(row) + "\n")
            file.flush()
    return faults


def matching(out: Path, seed: int, pattern: str, shard: tuple[int, int]) -> Iterator[int]:
    """The sources of a run whose text matches, and that are not refuted; and whatever was a fault."""
    rows = {row["n"]: row for row in rows_of(out) if row["seed"] == seed}
    numbers = sorted(n for n, row in rows.items() if row["verdict"] != "refuted" or row.get("fault"))
    mine = numbers[shard[0] :: shard[1]]
    return (n for n in mine if rows[n].get("fault") or re.search(pattern, source(seed, n).text))


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
    words.add_argument(
        "--again", metavar="PATTERN", help="of the text; those of DIR that match and are not refuted, and all faults"
    )
    words.add_argument("--recheck", action="store_true", help="verdicts of DIR anew; truth is kept where it holds")
    words.add_argument("--kept", action="store_true", help="begin with the truths that are kept (`packed_truths`)")
    words.add_argument("--pack", type=Path, metavar="DIR", help="keep the truths of a run")
    words.add_argument("--trust", default="", metavar="DIGEST", help="with --recheck: an older oracle (`kept_truth`)")
    words.add_argument("--report", type=Path)
    words.add_argument("--keep", type=Path)
    words.add_argument("--show", type=int)
    words.add_argument("--ray", metavar="ADDRESS", help="local, auto, HOST:PORT or ray://HOST:PORT")
    words.add_argument("--workers", type=int, default=2, help="with --ray local (default 2)")
    given = words.parse_args()
    if given.show is not None:
        show(given.seed, given.show)
        return 0
    if given.report is not None:
        print(table(given.report))
        return 0
    if given.pack is not None:
        for path in pack(given.pack):
            print(path)
        return 0
    if given.keep is not None:
        for path in keep(given.keep):
            print(path)
        return 0
    if given.out is None:
        words.error("--out DIR is where the results go")
    part, of = (int(x) for x in given.shard.split("/"))
    try:
        with pool_of(given.ray, given.workers) as pool:
            once_more = AGAIN if given.again or given.recheck else ""
            path = given.out / f"{given.seed}-{once_more}{part}of{of}.jsonl"
            before: dict[int, Row] = {}
            numbers: Iterable[int] = range(part, given.sources, of)
            if given.again:
                numbers = matching(given.out, given.seed, given.again, (part, of))
            if given.kept:
                before = kept(given.seed)
            if given.recheck:
                rows = [row for row in rows_of(given.out) if row["seed"] == given.seed]
                before = {row["n"]: {**row, "trusted": row.get("oracle") == given.trust} for row in rows}
                numbers = sorted(before)[part::of]
            faults = run_shard(numbers, path, given.seed, given.resume, pool, before)
    except ClusterError as error:
        print(f"error[{error.code}]: {error.message}; what was judged is in {given.out}", file=sys.stderr)
        return 2
    print(table(given.out))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
