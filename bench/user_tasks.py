"""Twenty things a user does, each really done: the command, its time, and the test that holds it.

    python -m bench.user_tasks --torch-python /path/to/python [--only 3,15] [--write]

Every command runs in a shell in a fresh folder that holds what `argus init demo` writes, with an empty cache, as on a
new machine. What it needs first (`before`) is done before the time is taken. CPU seconds are those of the command and
of all processes it waited for. `--write` puts the rows into docs/user_tasks.md. Exit code 1 if a command does not end
as it should.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "user_tasks.md"
BROKEN = "sed 's/y\\[start\\]/y[start + 1]/' demo.py > broken.py"
OTHER = "sed 's/knob(4/knob(1/' demo.py > other.py"
SOURCE = f"mkdir source && git -C {ROOT} archive HEAD | tar -x -C source"
TORCH = (
    "import torch; from argus import torch as at; a = torch.randn(64, 64, dtype=torch.bfloat16, requires_grad=True); "
)
HEAD = """\
# Twenty tasks of a user

Each command was run by `python -m bench.user_tasks --torch-python PYTHON --write`, all at once or some at a
time (`--only`), in a fresh folder with what `argus init demo` writes and an empty cache, on two shared cores of an AMD
EPYC machine without a GPU. CPU seconds are those of the command and of the processes it waited for (Ray's own processes
are not among them). Wall seconds depend on what else the machine does: where they are ten times the CPU seconds, twenty
processes shared the two cores. A task that is not done ends the command with exit code 1.

| | task | command | CPU s | wall s | held by |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class UserTask:
    """`before`: what is needed first. `exit`: the code that is right. `torch`: needs torch."""

    what: str
    command: str
    test: str
    before: str = ""
    exit: int = 0
    torch: bool = False


TASKS: Sequence[UserTask] = (
    UserTask(
        "install into an empty environment",
        "python3 -m venv env && env/bin/pip install --quiet ./source && env/bin/argus --version",
        ".ci/wheel",
        SOURCE,
    ),
    UserTask(
        "start a project",
        "argus init mine",
        "tests/cli/test_first_hour.py::test_what_init_writes_is_checked_and_a_task",
    ),
    UserTask(
        "first proof",
        "argus check demo.py",
        "tests/cli/test_first_hour.py::test_a_proof_is_one_line_with_its_premises",
    ),
    UserTask(
        "first counterexample",
        "argus check broken.py",
        "tests/cli/test_first_hour.py::test_what_is_not_proved_is_shown_in_full",
        BROKEN,
        exit=1,
    ),
    UserTask(
        "what a rule or code means", "argus explain placed", "tests/cli/test_explain.py::test_a_rule_has_its_page"
    ),
    UserTask(
        "run a kernel", "argus run demo.py --shape N=3000", "tests/cli/test_json.py::test_real_output_fits_its_schema"
    ),
    UserTask("time a kernel", "argus time demo.py", "tests/cli/test_json.py::test_real_output_fits_its_schema"),
    UserTask(
        "why it takes its time",
        "argus clock explain demo.py",
        "tests/cli/test_clock_explain.py::test_the_text_is_the_stored_one",
    ),
    UserTask(
        "compare two kernels",
        'argus compare "demo.py --shape N=1048576" "other.py --shape N=1048576"',
        "tests/cli/test_clock.py::test_compare_says_who_is_faster",
        OTHER,
    ),
    UserTask(
        "a timeline and a roofline in a browser, a trace for Perfetto",
        "argus time demo.py --html page.html --trace trace.json",
        "tests/report/test_browser.py::test_the_timeline_is_drawn_and_its_legend_hides_a_kind",
    ),
    UserTask(
        "JSON into a script",
        "argus check demo.py --json | python -c 'import json, sys; print(json.load(sys.stdin)[\"status\"])'",
        "tests/cli/test_json.py::test_real_output_fits_its_schema",
    ),
    UserTask(
        "a code object with launchers",
        "argus compile demo.py -o out && ls out",
        "tests/compile/test_export.py::test_python_launcher_runs",
    ),
    UserTask(
        "optimize a task of one's own",
        "argus optimize demo_task.py --budget 4 -o fast.py",
        "tests/cli/test_first_hour.py::test_what_init_writes_is_checked_and_a_task",
    ),
    UserTask(
        "resume after a kill",
        "argus optimize --resume",
        "tests/cli/test_optimize.py::test_a_run_goes_on_as_it_was_begun",
        "argus optimize demo_task.py --budget 4 & until argus history | grep -q candidates; do sleep 1; done; "
        "kill -KILL $!; wait",
    ),
    UserTask(
        "judge every winner again",
        "argus verify-all",
        "tests/cli/test_optimize.py::test_winners_of_a_models_run_are_verified",
        "argus optimize demo_task.py --budget 2",
    ),
    UserTask(
        "two Ray workers",
        "argus optimize demo_task.py --budget 4 --ray local --workers 2",
        "tests/ray/test_judging.py::test_a_killed_worker_or_judge_changes_nothing",
    ),
    UserTask("what this machine can do", "argus doctor", "tests/cli/test_doctor.py::test_without_a_gpu"),
    UserTask(
        "completion and types in an editor",
        "python -m mypy --config-file pyproject.toml demo.py",
        "tests/lang/test_editor_stub.py::test_mypy_accepts_kernels_as_they_are",
    ),
    UserTask(
        "use it from PyTorch, with a gradient",
        f"python -c '{TORCH}at.matmul(a, a).float().sum().backward(); print(a.grad.shape)'",
        "tests/torch/test_gradients.py::test_gradients",
        torch=True,
    ),
    UserTask(
        "under torch.compile",
        f"python -c '{TORCH}f = torch.compile(at.softmax, fullgraph=True, backend=\"aot_eager\"); print(f(a).shape)'",
        "tests/torch/test_compile.py::test_a_graph_without_breaks_has_the_same_results_and_gradients",
        torch=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds of a command, and whether it ended as it should."""

    cpu: float
    wall: float
    right: bool


def shims(folder: Path, python: str) -> Path:
    """`argus` and `python` as a user has them, of this tree and the given interpreter."""
    folder.mkdir()
    for name, words in (("argus", "-m argus.cli.main"), ("python", "")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {python} {words} "$@"\n')
        path.chmod(0o755)
    return folder


def done(task: UserTask, start: Path, python: str) -> Taken:
    """Do one task in a copy of `start`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "demo"
        shutil.copytree(start, folder)
        path = f"{shims(Path(name) / 'bin', python)}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "ARGUS_CACHE": str(Path(name) / "cache")}
        if task.what.startswith("install"):
            del environment["PYTHONPATH"]
        run = {
            "shell": True,
            "cwd": folder,
            "env": environment,
            "stdout": subprocess.DEVNULL,
            "executable": "/bin/bash",
        }
        if task.before:
            subprocess.run(task.before, check=False, stderr=subprocess.DEVNULL, **run)
        before, started = _children(), time.monotonic()
        ended = subprocess.run(f"set -o pipefail; {task.command}", check=False, **run)
        return Taken(_children() - before, time.monotonic() - started, ended.returncode == task.exit)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def row(number: int, task: UserTask, taken: Taken | None) -> str:
    times = "- | -" if taken is None else f"{taken.cpu:.1f} | {taken.wall:.1f}"
    command = task.command.replace("|", "\\|")
    more = f" (exit code {task.exit}, as it should)" if task.exit else ""
    return f"| {number} | {task.what} | `{command}`{more} | {times} | `{task.test}` |"


def write(lines: Mapping[int, str]) -> None:
    """Put rows into the page; those of other tasks stay."""
    known = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    rows = []
    for number, task in enumerate(TASKS, 1):
        beginning = f"| {number} | {task.what} | "
        before = [line for line in known if line.startswith(beginning)]
        rows.append(lines.get(number) or (before[0] if before else row(number, task, None)))
    PAGE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--torch-python", metavar="PYTHON", help="an interpreter with torch, for the tasks that need it"
    )
    parser.add_argument("--only", metavar="1,2,…", help="these tasks only")
    parser.add_argument("--write", action="store_true", help="put the rows into docs/user_tasks.md")
    args = parser.parse_args()
    chosen = {int(n) for n in args.only.split(",")} if args.only else set(range(1, len(TASKS) + 1))
    lines: dict[int, str] = {}
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        start = Path(name) / "demo"
        subprocess.run([sys.executable, "-m", "argus.cli.main", "init", str(start)], check=True, cwd=ROOT)
        for number, task in enumerate(TASKS, 1):
            if number not in chosen:
                continue
            python = args.torch_python if task.torch else sys.executable
            taken = None if python is None else done(task, start, python)
            wrong += taken is not None and not taken.right
            lines[number] = row(number, task, taken)
            print(lines[number] + ("" if taken is None or taken.right else "  NOT DONE"), flush=True)
    if args.write and not wrong:
        write(lines)
    print(f"{len(lines)} tasks, {wrong} not done")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
