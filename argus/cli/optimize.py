"""`argus optimize TASK`: from a naive kernel to a fast one, by typed transformations, each of them judged.

    argus optimize gemm                              a built-in task
    argus optimize mine.py --budget 60 -o best.py    a task of your own (see argus/tasks/task.py)
    argus optimize --resume                          go on with the newest run of the journal

No model and no network, unless `--provider` names a model that is to make the edits. The run is a function of the
task, the seed and the policy it starts from. Every candidate is read, proved, compiled, executed and timed by the
judge, in processes of its own; all of it is in the journal.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from argus.agent.free_edit.search import Journaled, edited
from argus.agent.journal import Journal
from argus.agent.judging import Judges
from argus.agent.optimise import Candidate, Settings, State, optimise
from argus.agent.policy import Policy, read_policy, write_policy
from argus.agent.providers import Budgeted, choose
from argus.agent.record import Recorder, resumed
from argus.agent.view import View
from argus.cli.history import add_journal, folder
from argus.cli.options import GOOD, WRONG, UsageError
from argus.tasks.task import builtin_tasks, load_task


def register(verbs: Any) -> None:
    parser = verbs.add_parser("optimize", help="make a kernel fast: plan, transform, prove, run, time, learn")
    parser.add_argument("task", nargs="?", help=f"a task file, or one of: {', '.join(builtin_tasks())}")
    parser.add_argument(
        "--device", choices=("simulated", "hip"), default="simulated", help="whose times count (default simulated)"
    )
    parser.add_argument("--budget", type=int, default=40, help="evaluations (default 40)")
    parser.add_argument("--seed", type=int, default=0, help="seed of every decision")
    parser.add_argument("--data-seed", type=int, default=0, help="seed of the judge's data (default 0)")
    parser.add_argument("--workers", type=int, default=2, help="judge processes (default 2)")
    parser.add_argument("--batch", type=int, default=2, help="candidates judged before the next decision (default 2)")
    parser.add_argument("--patience", type=int, default=8, help="steps without a gain after which to end")
    parser.add_argument("--planner", choices=("bandit", "random"), default="bandit", help="how proposals are ranked")
    parser.add_argument("--no-feedback", action="store_true", help="do not repair what the judge finds wrong")
    parser.add_argument("--no-knowledge", action="store_true", help="no prerequisites, no gains, no bottlenecks")
    parser.add_argument("--policy", metavar="FILE", help="start from this experience and leave the new one there")
    parser.add_argument(
        "--provider",
        default="builtin",
        help="who makes the candidates: builtin, openai:MODEL, anthropic:MODEL, command:LINE or replay:FILE",
    )
    parser.add_argument("--max-tokens", type=int, default=2_000_000, help="what a model may use in the run")
    parser.add_argument("--resume", nargs="?", const="", metavar="RUN", help="go on with a run of the journal")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the best kernel there")
    parser.add_argument("--json", action="store_true", help="machine-readable result")
    add_journal(parser)
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    started = time.monotonic()
    for flag in ("budget", "workers", "batch", "patience"):
        if getattr(args, flag) < 1:
            raise UsageError(f"--{flag} takes at least 1, not {getattr(args, flag)}")
    if (args.task is None) == (args.resume is None):
        raise UsageError("give a task, or --resume to go on with a run")
    provider = choose(args.provider)
    with Journal.write(folder(args)) as journal:
        recorder = _recorder(args, journal)
        view = View()
        if not args.json:
            view.start(f"{recorder.task.name}, seed {recorder.settings.seed}, run {recorder.run.id}")

        def listen(state: State, candidate: Candidate) -> None:
            recorder.listen(state, candidate)
            if not args.json:
                view.listen(state, candidate)

        task, settings = recorder.task, recorder.settings
        with Judges(args.workers, recorder.remembered) as judges:
            if provider is None:
                state = optimise(task, settings, judges, policy=recorder.policy, listen=listen)
            else:
                asking = Journaled(Budgeted(provider, settings.budget, args.max_tokens), recorder.run)
                state = edited(task, settings, judges, asking, listen)
        recorder.end(state)
    if args.policy:
        write_policy(state.policy, Path(args.policy))
    if args.output:
        Path(args.output).write_text(state.best.source, encoding="utf-8")
    if args.json:
        print(json.dumps(_to_json(recorder.run.id, state), indent=2))
    else:
        view.end(state)
        print(f"{time.monotonic() - started:.0f} s; the kernel: argus best {recorder.run.id}")
    return GOOD if math.isfinite(state.best.microseconds) else WRONG


def _recorder(args: argparse.Namespace, journal: Journal) -> Recorder:
    if args.resume is not None:
        info = journal.info(args.resume or None)
        task = load_task(str(info.config["origin"]))
        return resumed(journal, info.id, replace(task, device=str(info.config.get("device", task.device))))
    settings = Settings(
        seed=args.seed,
        data=args.data_seed,
        budget=args.budget,
        batch=args.batch,
        patience=args.patience,
        planner=args.planner,
        feedback=not args.no_feedback,
        knowledge=not args.no_knowledge,
    )
    policy = read_policy(Path(args.policy)) if args.policy else Policy()
    task = replace(load_task(args.task), device=args.device)
    return Recorder.begin(journal, task, settings, policy, args.task)


def _to_json(run: str, state: State) -> dict[str, Any]:
    best = state.best
    return {
        "run": run,
        "evaluations": state.spent,
        "steps": state.step,
        "naive_us": state.naive.microseconds if math.isfinite(state.naive.microseconds) else None,
        "best_us": best.microseconds if math.isfinite(best.microseconds) else None,
        "best": f"c{best.number}",
        "way": list(best.done),
        "evidence": best.judgement.evidence,
        "source": best.source,
    }
