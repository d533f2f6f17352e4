"""What the built-in search reaches with several seeds, beside the library's best kernel on the same clock.

    python -m bench.agent_seeds [--tasks gemm,softmax,…] [--seeds 0-4] [--budget 40] [--workers 2] [--out FILE]

A search is that of `argus optimize TASK --seed N --budget B` with one judge. FILE gets a line of JSON per search and
per library kernel; a line of this commit that is there is not made again, so an interrupted run goes on where it was.
The search that was under way finds its judgements in the journal, and its CPU seconds are only those after the
interruption. Every task has a journal of its own in the folder `--journal`, so `--workers` tasks are searched at a
time, each with all its seeds one after the other. `--print` makes the table of what FILE has and runs nothing.

The library's best is the fastest of the kernels in `LIBRARY`, knobs included, that compute what the task computes,
timed by the clock in this run. Where the library has another contract it is timed with the task's: `fp8_matmul` takes B
arranged for its loads, and is timed with B by rows. Nothing of it is seen by a search. All times are simulated.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from argus.agent.fidelity import journaled_clock
from argus.agent.journal import Journal
from argus.agent.judging import Judges
from argus.agent.optimise import optimise
from argus.agent.policy import PolicyTable
from argus.agent.record import RunRecorder
from argus.agent.search_state import Settings
from argus.ir.kernel import Kernel
from argus.lang import read
from argus.tasks.task import load_task
from bench.agent_chains import timed

ROOT = Path(__file__).parents[1]
OWN = "examples/agent/tasks"
Knobs = dict[str, int | str | bool]


@dataclass(frozen=True, slots=True)
class LibraryKernel:
    """A kernel file of the library, its kernel and knobs, sizes that the task does not name, and what is replaced in
    the file for the contract of the task."""

    file: str
    kernel: str
    knobs: Knobs
    sizes: dict[str, int]
    replaced: tuple[str, str] = ("", "")

    def read(self) -> Kernel:
        """The kernel, as it is timed."""
        path = ROOT / "argus/kernels" / self.file
        old, new = self.replaced
        if not old:
            return read(str(path), self.knobs, kernel=self.kernel)
        text = path.read_text(encoding="utf-8")
        if old not in text:
            raise SystemExit(f"{self.file} has no {old!r}")
        return read(text.replace(old, new, 1), self.knobs, kernel=self.kernel)


def _rows(file: str, kernel: str) -> tuple[LibraryKernel, ...]:
    """Row kernels that hold 4096 elements: one, two or four waves, with and without masks."""
    held: tuple[Knobs, ...] = tuple(
        {"WAVES": waves, "CHUNKS": 8 // waves, "EXACT": exact} for waves in (1, 2, 4) for exact in (True, False)
    )
    return tuple(LibraryKernel(file, kernel, knobs, {}) for knobs in held)


def _small(**knobs: int | bool) -> tuple[LibraryKernel, ...]:
    """Products of a thousand rows: small blocks, with several steps on their way."""
    base: Knobs = {"BM": 64, "BN": 64, "WM": 2, "WN": 2, "KTAIL": True, **knobs}
    return tuple(
        LibraryKernel("matmul.py", "matmul", {**base, "INST": inst, "DEPTH": depth, "STAGES": stages, "XM": xm}, {})
        for inst in (16, 32)
        for depth, stages in ((1, 1), (2, 1), (2, 2), (4, 2))
        for xm in (0, 2)
    )


def _one(file: str, kernel: str, knobs: Knobs | None = None, **sizes: int) -> tuple[LibraryKernel, ...]:
    return (LibraryKernel(file, kernel, knobs or {}, sizes),)


BY_ROWS = ('B: ag.In["Nt Kc r=32 q=16", fp8]', f'B: ag.In["Nt Kc r=32 q=16", fp8, "{32 * 7168} 16 {7168} 1"]')
"""B of the task `fp8`, N x 7168 by rows, as the library's kernel sees it: blocks of 32 rows x 16 k, with strides."""


def _products(kernel: str, **knobs: int | str | bool) -> tuple[LibraryKernel, ...]:
    """Products of 4096 in tiles of 256 x 256, and in tiles of 256 x 224, of which there are 304."""
    tiles = [{"XM": 8}, {"BAND": 8}]
    filling = [{"INST": 16, "BM": 256, "BN": 224, **each, **knobs} for each in tiles]
    return _one("matmul.py", kernel, {"XM": 2, **knobs}) + tuple(
        LibraryKernel("matmul_tiles.py", f"{kernel}_tiles", each, {}) for each in filling
    )


LIBRARY: dict[str, tuple[LibraryKernel, ...]] = {
    "gemm": _products("matmul"),
    "attention": _one("attention.py", "attention", {"causal": True}),
    f"{OWN}/attention64.py": _one(
        "attention.py", "attention", {"causal": True, "D": 64, "WAVES": 4, "LAZY": 8}, Z=16, G=8, Sq=4096, Sk=4096
    ),
    "moe": _one("fp8_gemm.py", "moe_gate_up", {"BM": 128, "GROUP": 8}),
    "fp8": (LibraryKernel("fp8_gemm.py", "fp8_matmul", {}, {"Kb": 56, "Nb": 32, "Nt": 128, "Kc": 448}, BY_ROWS),),
    "softmax": _rows("softmax.py", "softmax"),
    "layernorm": _rows("layernorm.py", "layernorm"),
    "depthwise": _one("depthwise2d.py", "depthwise2d") + _one("depthwise2d.py", "depthwise2d", {"DEEP": 8}),
    "convolution": _one("conv2d.py", "conv2d", G=1),
    f"{OWN}/linear.py": _products("linear", B_T=True, ACT="relu"),
    f"{OWN}/transposed.py": _products("matmul", A_T=True, B_T=True),
    f"{OWN}/residual.py": _products("matmul", DTYPE="f16"),
    f"{OWN}/ragged.py": _small(),
    "pooling": _one("pool.py", "pool"),
    "scan": tuple(LibraryKernel("scan.py", "scan", {"CHUNKS": chunks}, {}) for chunks in (1, 2, 4)),
    "reduction": _one("to_scalar.py", "to_scalar", {"OP": "sum"}),
    "broadcast": _one("fused_map.py", "fused_map", {"S0": "silu"}),
}
"""By task; `residual` and `broadcast` stand beside kernels that read less, a residual and a factor and shift."""

TASKS = tuple(LIBRARY)


@dataclass(frozen=True, slots=True)
class SearchRow:
    """One search. `at`: the evaluation that found the best kernel; `cpu`: seconds, judges included."""

    task: str
    seed: int
    budget: int
    commit: str
    best: float
    at: int
    evaluations: int
    cpu: float
    way: str


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """The fastest kernel of the library for a task."""

    task: str
    commit: str
    library: str
    microseconds: float


Row = SearchRow | LibraryRow


def seeds_of(text: str) -> list[int]:
    """`0-4`, `1,3`, or both."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def read_rows(path: Path) -> list[Row]:
    """What a file has; a line that was cut off is left out."""
    found: list[Row] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        found.append(SearchRow(**data) if "seed" in data else LibraryRow(**data))
    return found


def add_row(path: Path, row: Row) -> None:
    """A line at the end; behind one that was cut off, a new line."""
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        file.write(("\n" if text and not text.endswith("\n") else "") + json.dumps(asdict(row)) + "\n")


def table(rows: Sequence[Row]) -> str:
    """Task by seed: time, share of the library's best, evaluation of all, seconds of CPU. The newest of equal rows."""
    theirs = {row.task: row for row in rows if isinstance(row, LibraryRow)}
    searches = {(row.task, row.seed, row.budget): row for row in rows if isinstance(row, SearchRow)}
    lines = [
        "| task | library's best, us | seed | best, us | share | at evaluation | CPU, s | commit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (task, seed, budget), row in sorted(searches.items()):
        beside = theirs.get(task)
        library = "" if beside is None else f"`{beside.library}` {beside.microseconds:.1f}"
        share = "" if beside is None else f"{100 * beside.microseconds / row.best:.0f} %"
        lines.append(
            f"| {Path(task).stem} | {library} | {seed} | {row.best:.1f} | {share} "
            f"| {row.at} of {row.evaluations} ({budget}) | {row.cpu:.0f} | {row.commit} |"
        )
    return "\n".join(lines)


def fastest_of_library(task: str, commit: str) -> LibraryRow | None:
    """The fastest of the library's kernels at the task's first shape."""
    given = load_task(task)
    found: list[tuple[float, str]] = []
    for each in LIBRARY.get(task, ()):
        kernel = each.read()
        sizes = {**given.shapes[0], **each.sizes}
        took = timed(kernel, {shape.name: sizes[shape.name] for shape in kernel.shapes}, given.routing)[0]
        words = [each.kernel, *(f"{name}={value}" for name, value in each.knobs.items())]
        found.append((took, " ".join([*words, *(["with the task's layout"] if each.replaced[0] else [])])))
    if not found:
        return None
    took, name = min(found)
    return LibraryRow(task, commit, name, took)


def cpu() -> float:
    """Seconds of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def searched(journal: Journal, name: str, seed: int, budget: int, commit: str) -> SearchRow:
    """One search with one judge, as the command line makes it."""
    task, settings, policy = load_task(name), Settings(seed=seed, budget=budget), PolicyTable()
    recorder = RunRecorder.begin(journal, task, settings, policy, task.name)
    before = cpu()
    with Judges(1, recorder.remembered) as judges:
        clock = journaled_clock(recorder.run, task)
        state = optimise(task, settings, judges, policy=policy, listen=recorder.listen, clock=clock)
    recorder.end(state)
    best = state.best
    way = " > ".join(step.split(" ", 1)[0] for step in best.done)
    return SearchRow(
        name, seed, budget, commit, best.microseconds, best.number + 1, state.spent, round(cpu() - before, 1), way
    )


def commit_of(root: Path) -> str:
    """The commit of the code, with a plus where files differ from it."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=root, capture_output=True, text=True
    )
    return said.stdout.strip() or "unknown"


def all_seeds(name: str, seeds: str, budget: int, out: Path, journals: Path) -> None:
    """The searches of a task that `out` does not have of this commit."""
    commit = commit_of(ROOT)
    known = [row for row in read_rows(out) if row.task == name and row.commit == commit]
    if not any(isinstance(row, LibraryRow) for row in known):
        theirs = fastest_of_library(name, commit)
        if theirs is not None:
            add_row(out, theirs)
    done = {(row.seed, row.budget) for row in known if isinstance(row, SearchRow)}
    for seed in seeds_of(seeds):
        if (seed, budget) not in done:
            with Journal.write(journals / Path(name).stem) as journal:
                row = searched(journal, name, seed, budget, commit)
            add_row(out, row)
            took = f"{row.best:.1f} us at {row.at} of {row.evaluations}, {row.cpu:.0f} s of CPU"
            print(f"# {name}, seed {seed}: {took}", flush=True)


def _apart(args: argparse.Namespace, name: str) -> int:
    """One task in a process of its own; its exit code."""
    words = ["--tasks", name, "--seeds", args.seeds, "--budget", str(args.budget)]
    words += ["--out", str(args.out), "--journal", str(args.journal)]
    done = subprocess.run([sys.executable, "-m", "bench.agent_seeds", *words], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("#")]
    print("\n".join([*lines, *([done.stderr] if done.returncode else [])]), flush=True)
    return done.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--budget", type=int, default=Settings().budget)
    parser.add_argument("--out", type=Path, default=Path("agent-seeds.jsonl"))
    parser.add_argument("--journal", type=Path, default=Path("argus-seeds"))
    parser.add_argument("--workers", type=int, default=1, help="tasks at a time")
    parser.add_argument("--print", action="store_true", dest="only_print")
    args = parser.parse_args()
    names = [] if args.only_print else args.tasks.split(",")
    if args.workers > 1 and len(names) > 1:
        with ThreadPoolExecutor(args.workers) as threads:
            failed = [name for name, code in zip(names, threads.map(partial(_apart, args), names), strict=True) if code]
        print(table(read_rows(args.out)))
        raise SystemExit(f"not searched to the end: {', '.join(failed)}" if failed else 0)
    for name in names:
        all_seeds(name, args.seeds, args.budget, args.out, args.journal)
    print(table(read_rows(args.out)))


if __name__ == "__main__":
    main()
