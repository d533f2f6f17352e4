"""`argus bench agents DIR --solutions FILE`: kernels of other agentic systems, as found, beside ours on one clock.

    argus bench agents DIR --solutions solutions.json --run-python
    argus bench agents DIR --problem gemm --system CUDAForge --shape N=4096 --no-time

DIR is the user's: the kernels as they were published. The file of solutions says which they are and how they are
launched (docs/agents_bench.md). HIP C++ is compiled by a clang of this machine (`--clang`), Triton's sources are Python
and are imported in a worker, if `--run-python` says so. What cannot take part is named with the reason.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from argus.bench.agents import solutions
from argus.bench.agents.launching import Compilers
from argus.bench.agents.problem import SIZES
from argus.bench.agents.problems import PROBLEMS
from argus.bench.agents.rows import AgentRow, AgentRun, agent_rows
from argus.bench.agents.solutions import ProblemName, SolutionSet
from argus.bench.agents.table import summary, table
from argus.bench.kept import Kept
from argus.cli.answers import AgentsAnswer, emit
from argus.cli.options import pairs
from argus.cli.usage import GOOD, UsageError
from argus.clock import LABEL


def handle(args: argparse.Namespace) -> int:
    root = Path(args.family[1]) if len(args.family) == 2 else None
    if root is None or not root.is_dir():
        raise UsageError("agents takes one folder, with the kernels in it: argus bench agents DIR")
    file = args.solutions or root / solutions.NAME
    if not file.is_file():
        raise UsageError(f"there is no {file}; it says which kernels are in the folder (docs/agents_bench.md)")
    try:
        found = solutions.read(file)
    except ValueError as error:
        raise UsageError(str(error)) from error
    systems = {solution.system: None for solution in found.solutions}
    for name in args.system:
        if name not in systems:
            raise UsageError(f"there is no system {name!r} in {file}; there are {', '.join(systems)}")
    compilers = Compilers(args.clang, args.run_python)
    run = AgentRun(found, root, compilers, Kept(args.keep, args.protocol), args.clocks, timing=not args.no_time)
    rows = agent_rows(run, args.system, args.problem, [_size(text) for text in args.shape])
    return _json(found, list(rows)) if args.json else _text(found, rows)


def _size(text: str) -> int:
    try:
        given = {name: int(value) for name, value in pairs([text], "--shape").items()}
    except ValueError as error:
        raise UsageError(f"--shape {text}: a size is a whole number") from error
    if set(given) != {"N"} or given["N"] not in SIZES:
        raise UsageError(f"--shape takes N= one of {', '.join(map(str, SIZES))} here, not {text!r}")
    return given["N"]


def _json(found: SolutionSet, rows: Sequence[AgentRow]) -> int:
    records: list[dict[str, Any]] = [row.to_json() for row in rows]
    emit(AgentsAnswer, {"label": LABEL, "source": found.source, "rows": records})
    return GOOD


def _text(found: SolutionSet, rows: Iterator[AgentRow]) -> int:
    print(f"{LABEL}\nkernels and published times: {found.source}")
    by_problem: dict[ProblemName, list[AgentRow]] = {name: [] for name in PROBLEMS}
    for row in rows:
        by_problem[row.problem].append(row)
        print(f"{row.problem} {row.size} {row.name}: {row.status}", file=sys.stderr, flush=True)
    for problem, those in by_problem.items():
        if those:
            print(f"\n{table(problem, those)}")
    print("\n" + "\n".join(summary([row for those in by_problem.values() for row in those])))
    return GOOD
