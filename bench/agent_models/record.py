"""Record one episode: a model answers through a folder, its edits are judged, everything is written down.

    python -m bench.agent_models.record grouped_gemm first 1 --folder /tmp/episode --model NAME

The folder is made; it holds `tool.py` (the model's workbench, examples/agent/mailbox_client.py), README.md and the
first question. What to tell the model, and nothing else, is in README.md: it does not say which arm it is in. The
recording is `examples/agent/episodes/TASK-ARM-NUMBER.jsonl`; with a new folder, an episode that was broken
off goes on where its recording ends.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argus.agent.free_edit.arms import ARMS, ArmTools
from argus.agent.free_edit.episode import Attempt, episode
from argus.agent.free_edit.round_tools import BenchTools
from argus.agent.judging import Judges
from argus.agent.providers import Provider, ProviderError, ReplayProvider, Reply, ReplyRecorder, Request
from argus.agent.providers.command import Command
from argus.agent.reward import microseconds
from argus.agent.tools import KernelTexts, Workbench
from argus.tasks.task import load_task
from bench.agent_models.episodes import EPISODES, EXAMPLES, NEAR, TASKS, attempt_line, path_of, read_episode

BUDGET = 10
CALLS = 24
SECONDS = 3 * 3600.0
README = """\
You make a GPU kernel faster without making it wrong, in a small language you have not seen before.

Everything you need is in this folder. Do not look at any other folder of this machine, do not install or import Argus,
and do not search for the library's kernels: the task is to write this one yourself.

    python3 tool.py question       read it first: task, language, tools, the current kernel
    python3 tool.py                how the tools are called

Write drafts here (draft.py), look at them with the tools, and hand one in with `submit`. Each hand-in is judged, is one
of your {edits} evaluations, and is answered with what the judge says; then the next round begins. A round allows
{calls} calls of tools; they cost nothing else. The fastest kernel that the judge accepts counts in the end; a kernel
that is not accepted counts for nothing. Calls can take minutes: the tool says so, then `python3 tool.py wait`. Go on
until all evaluations are used, or until you have no idea left: then `python3 tool.py stop`.
"""


@dataclass
class Continued:
    """Answers that were recorded already, then those of `inner`."""

    known: Provider
    inner: Provider

    @property
    def name(self) -> str:
        return self.inner.name

    def ask(self, request: Request) -> Reply:
        try:
            return self.known.ask(request)
        except ProviderError as error:
            if error.code != "ARG-P109":
                raise
        return self.inner.ask(request)


def commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def prepare(folder: Path, budget: int) -> None:
    """The folder of who answers."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty; take a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(EXAMPLES / "mailbox_client.py", folder / "tool.py")
    (folder / "README.md").write_text(README.format(edits=budget - 1, calls=CALLS), encoding="utf-8")


def provider(target: Path, folder: Path, seconds: float) -> Provider:
    line = f"{sys.executable} {EXAMPLES / 'mailbox.py'} {folder.resolve()}"
    recorder = ReplyRecorder(Command(line, seconds), target)
    return Continued(ReplayProvider(target), recorder)


def note(target: Path, kind: str, data: dict[str, Any]) -> None:
    with target.open("a", encoding="utf-8") as file:
        file.write(json.dumps({kind: data}, sort_keys=True) + "\n")


def recorded(
    target: Path, head: dict[str, Any], folder: Path, seconds: float, workers: int = 1
) -> list[dict[str, Any]]:
    """Play the episode; the attempts."""
    task = load_task(TASKS / f"{head['task']}.py")
    arm = ARMS[head["arm"]]
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        note(target, "episode", head)
    known = {attempt["number"] for attempt in read_episode(target).attempts}
    found: list[dict[str, Any]] = []
    ended = "the budget is spent"
    with Judges(workers) as judges, Workbench(KernelTexts({})) as bench:
        tools = ArmTools(BenchTools(bench), arm, NEAR[head["task"]], dict(task.shapes[0]))
        going = episode(
            task, provider(target, folder, seconds), judges, rounds=head["budget"] - 1, seed=0, toolbox=tools, arm=arm,
            calls=CALLS, library=False,
        )  # fmt: skip
        try:
            for attempt in going:
                found.append(attempt_line(attempt))
                if attempt.number not in known:
                    note(target, "attempt", found[-1])
                _keep_best(folder, attempt, found)
                print(said(found[-1]), flush=True)
        except ProviderError as error:
            ended = str(error)
    (folder / "over.md").write_text(f"The episode is over: {ended}.\n", encoding="utf-8")
    print(ended)
    return found


def _keep_best(folder: Path, attempt: Attempt, found: list[dict[str, Any]]) -> None:
    """The current kernel, for who answers."""
    (folder / "kernel.py").write_text(attempt.source, encoding="utf-8")
    times = [float(each["microseconds"]) for each in found if each["microseconds"] is not None]
    if times and microseconds(attempt.judgement) <= min(times) + 1e-3:
        (folder / "best.py").write_text(attempt.source, encoding="utf-8")


def said(attempt: dict[str, Any]) -> str:
    took = "" if attempt["microseconds"] is None else f" {attempt['microseconds']:.1f} us simulated"
    rules = ", ".join(attempt["rules"])
    return f"{attempt['number']}: {attempt['verdict']} at {attempt['stage']}{took} {rules}".rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=tuple(NEAR))
    parser.add_argument("arm", choices=tuple(ARMS))
    parser.add_argument("number", type=int)
    parser.add_argument("--folder", required=True, type=Path, help="where question and answers lie")
    parser.add_argument("--model", default="unnamed", help="who answers, for the recording")
    parser.add_argument("--budget", type=int, default=BUDGET, help="evaluations, the naive kernel included")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long an answer is waited for")
    args = parser.parse_args()
    EPISODES.mkdir(exist_ok=True)
    prepare(args.folder, args.budget)
    head = {
        "task": args.task, "arm": args.arm, "number": args.number, "budget": args.budget, "model": args.model,
        "commit": commit(),
    }  # fmt: skip
    recorded(path_of(args.task, args.arm, args.number), head, args.folder, args.seconds)


if __name__ == "__main__":
    main()
