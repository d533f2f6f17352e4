"""A run of KernelBench's tasks that is killed again and again and resumed, beside one that is left alone.

    python -m bench.kernelbench_kills DIR [--tasks 19-60] [--kills 50] [--seed 0]

`argus bench kernelbench DIR --level 1 --task 19-60 --dtype f32 --no-time` is started and killed with SIGKILL at a
random moment, while it starts, judges or writes, until it has been killed so often; then it may end. After every kill
the processes it had started must go by themselves, and every record that was written before must still be there. At the
end every task has one record, made once, and the records are those of the run that was left alone, but for the seconds
they took. DIR holds KernelBench's `level1` and `level2`; its files are executed. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.kills import Lives

TOOK = frozenset({"cpu_seconds", "machine"})
"""What of a record may differ between two runs."""


def command(folder: str, tasks: str, records: Path) -> list[str]:
    asked = ["--run-python", "--level", "1", "--task", tasks, "--dtype", "f32", "--no-time", "--workers", "1"]
    return [sys.executable, "-m", "argus.cli.main", "bench", "kernelbench", folder, *asked, "--records", str(records)]


def written(file: Path) -> list[dict[str, Any]]:
    """All records that are whole, in the order in which they were made; a line that a kill cut off is none."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def judged(records: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {record["task"]: {key: value for key, value in record.items() if key not in TOOK} for record in records}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--tasks", default="19-60")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    lives = Lives(random.Random(args.seed))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        killed, alone = Path(name) / "killed.jsonl", Path(name) / "alone.jsonl"
        subprocess.run(command(args.folder, args.tasks, alone), check=True, stdout=subprocess.DEVNULL)
        kills = 0
        while kills < args.kills:
            held = written(killed)
            if not lives.one(command(args.folder, args.tasks, killed), lambda: len(written(killed))):
                break
            kills += 1
            now = written(killed)
            if now[: len(held)] != held:
                raise SystemExit(f"kill {kills}: records that were written are gone")
            print(f"# kill {kills}: {len(now)} records", flush=True)
        subprocess.run(command(args.folder, args.tasks, killed), check=True, stdout=subprocess.DEVNULL)
        ended, quiet = written(killed), written(alone)
    twice = sorted(task for task, times in Counter(record["task"] for record in ended).items() if times > 1)
    same = judged(ended) == judged(quiet)
    took = time.monotonic() - started
    print(
        f"{kills} kills, {len(ended)} records, {len(quiet)} in the quiet run, the same: {same}; judged twice: "
        f"{twice or 'none'}; {took:.0f} s"
    )
    raise SystemExit(0 if same and not twice else 1)


if __name__ == "__main__":
    main()
