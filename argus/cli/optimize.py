"""`argus optimize TASK`: from a naive kernel to a fast one, by typed transformations, each of them judged.

    argus optimize gemm                              a built-in task
    argus optimize mine.py --budget 60 -o best.py    a task of your own (see argus/tasks/task.py)
    argus optimize --resume                          resume the newest run of the journal
    argus optimize gemm --edit best.py               judge a kernel of your own and search on from it

No model and no network, unless `--provider` names a model that is to make the edits. The run is a function of the
task, the seed and the policy it starts from. Every candidate is read, proved, compiled, executed and timed by the
judge, in processes of its own; all of it is in the journal, and at the end in an HTML page beside it. A resumed
run stays what it was begun as: flags that say otherwise are refused.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from argus.agent.fidelity import journaled_clock
from argus.agent.free_edit.episode import ASKS_PER_ROUND
from argus.agent.free_edit.person import edits, hand_in
from argus.agent.free_edit.round_tools import BenchTools, Toolbox
from argus.agent.free_edit.search import Journaled, JournaledTools, edited
from argus.agent.journal import Journal
from argus.agent.judging import Judges
from argus.agent.optimise import optimise
from argus.agent.policy import PolicyTable
from argus.agent.policy_file import leave, read_policy
from argus.agent.providers import Budgeted, Daily, DayLedger, Provider, ReplayProvider, choose, token_limit
from argus.agent.record import RunRecorder, resumed
from argus.agent.roles.learnt import LearntEntries, distilled, learnt_of, leave_learnt, note_learnt, read_learnt
from argus.agent.roles.model_editor import ModelEditor
from argus.agent.roles.model_planner import TRIES, ModelPlanner
from argus.agent.search_state import Roles, SearchCandidate, Settings, State
from argus.agent.time_text import bounds
from argus.agent.tools import KernelTexts, Workbench
from argus.agent.view import RunView
from argus.cli.answers import OptimizeAnswer, emit
from argus.cli.history import folder
from argus.cli.many_machines import cluster
from argus.cli.usage import GOOD, WRONG, UsageError
from argus.cluster import Pool
from argus.report.run_page import run_page
from argus.tasks.task import load_task

FLAGS = {
    "data": "--data-seed",
    "feedback": "--no-feedback",
    "knowledge": "--no-knowledge",
    "max_tokens": "--max-tokens",
}


def handle(args: argparse.Namespace) -> int:
    started = time.monotonic()
    for flag in ("budget", "workers", "batch", "patience"):
        if getattr(args, flag) is not None and getattr(args, flag) < 1:
            raise UsageError(f"--{flag} takes at least 1, not {getattr(args, flag)}")
    if (args.task is None) == (args.resume is None):
        raise UsageError("give a task, or --resume to resume a run")
    with cluster(args) as pool, Journal.write(folder(args)) as journal:
        recorder, provider = _begun(args, journal) if args.resume is None else _gone_on(args, journal)
        if args.edit:
            _hand_in(args, recorder, provider)
        settings = recorder.settings
        with RunView() as view:
            if not args.json:
                title = f"{recorder.task.name}, seed {settings.seed}, run {recorder.run.id}"
                view.start(title, recorder.task.device, settings.budget)
            state = _run(recorder, provider, args.workers, pool, None if args.json else view)
        made = distilled(state, learnt_of(recorder.run), recorder.run.id)
        recorder.end(state)
        page = _page(args, journal, recorder.run.id)
    if args.policy:
        leave(state.learnt, recorder.run.id, Path(args.policy))
        leave_learnt(made, Path(args.policy))
    found = math.isfinite(state.best.microseconds)
    if args.output and found:
        Path(args.output).write_text(state.best.source, encoding="utf-8")
    if args.json:
        emit(OptimizeAnswer, _to_json(recorder.run.id, state, page))
    else:
        view.end(state)
        where = f" --journal {args.journal}" if args.journal else ""
        print(f"{time.monotonic() - started:.0f} s; the kernel: argus best {recorder.run.id}{where}")
        print("" if page is None else f"the report: {page}\n", end="")
    return GOOD if found else WRONG


def _run(
    recorder: RunRecorder, provider: Provider | None, workers: int, pool: Pool | None, view: RunView | None
) -> State:
    """The run from its beginning; what the journal holds of it is not judged or asked again."""
    task, settings = recorder.task, recorder.settings

    def listen(state: State, candidate: SearchCandidate) -> None:
        recorder.listen(state, candidate)
        if view is not None:
            view.listen(state, candidate)

    options: dict[str, Any] = {"policy": recorder.policy, "trying": None if view is None else view.trying}
    with Judges(workers, recorder.remembered, pool) as judges:
        if provider is None:
            options["clock"] = journaled_clock(recorder.run, task)
            return optimise(task, settings, judges, listen=listen, edits=edits(recorder.run), **options)
        most = settings.budget * (ASKS_PER_ROUND + TRIES)
        counted = provider if isinstance(provider, ReplayProvider) else Daily(provider, DayLedger.of_machine())
        asking = Budgeted(Journaled(counted, recorder.run), most, settings.max_tokens)
        with Workbench(KernelTexts({})) as bench:
            toolbox = JournaledTools(BenchTools(bench), recorder.run)
            if settings.mixed:
                roles = _roles(recorder, asking, toolbox)
                return optimise(
                    task, settings, judges, listen=listen, edits=edits(recorder.run), roles=roles, **options
                )
            return edited(task, settings, judges, asking, listen, toolbox=toolbox, **options)


def _roles(recorder: RunRecorder, asking: Provider, toolbox: Toolbox) -> Roles:
    """The parts that the model plays."""
    settings, task, learnt = recorder.settings, recorder.task, learnt_of(recorder.run)
    edits_too = settings.lowering != "builtin"
    planner = ModelPlanner(task, asking, edits_too, learnt) if settings.planner == "model" else None
    return Roles(planner, ModelEditor(task, asking, toolbox, learnt) if edits_too else None)


def _begun(args: argparse.Namespace, journal: Journal) -> tuple[RunRecorder, Provider | None]:
    given = _given(args)
    settings = Settings(**given)
    _agree(args, settings)
    provider = choose(settings.provider)
    settings = replace(settings, max_tokens=token_limit(settings.provider, given.get("max_tokens")))
    policy = read_policy(Path(args.policy)) if args.policy else PolicyTable()
    task = replace(load_task(args.task), device=args.device or "simulated")
    learnt = read_learnt(Path(args.policy)) if args.policy else LearntEntries()
    recorder = RunRecorder.begin(journal, task, settings, policy, args.task)
    note_learnt(recorder.run, learnt)
    return recorder, provider


def _gone_on(args: argparse.Namespace, journal: Journal) -> tuple[RunRecorder, Provider | None]:
    info = journal.info(args.resume or None)
    task = load_task(str(info.config["origin"]))
    task = replace(task, device=str(info.config.get("device", task.device)))
    recorder = resumed(journal, info.id, task)
    begun = {**recorder.settings.to_json(), "device": task.device}
    asked = {**_given(args), **({"device": args.device} if args.device else {})}
    for name, value in asked.items():
        if value != begun[name]:
            raise UsageError(
                f"{FLAGS.get(name, f'--{name}')} does not go with run {info.id}, which was begun with {name} "
                f"{begun[name]}; begin another run for it"
            )
    return recorder, choose(recorder.settings.provider)


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Settings the command line states."""
    names = Settings.__dataclass_fields__
    given = {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}
    return {**given, "planner": "bandit"} if given.get("planner") == "builtin" else given


def _agree(args: argparse.Namespace, settings: Settings) -> None:
    """Parts of a model need one, and a model needs a part."""
    if settings.provider == "builtin" and (settings.planner == "model" or settings.lowering != "builtin"):
        part = "--planner model" if settings.planner == "model" else f"--lowering {settings.lowering}"
        raise UsageError(f"{part} needs a model: --provider openai:MODEL, anthropic:MODEL, command:LINE or replay:FILE")
    stated = args.planner is not None or args.lowering is not None
    if settings.provider != "builtin" and stated and not settings.mixed:
        raise UsageError("--provider names a model, and neither --planner nor --lowering gives it a part")


def _hand_in(args: argparse.Namespace, recorder: RunRecorder, provider: Provider | None) -> None:
    if provider is not None and not recorder.settings.mixed:
        raise UsageError("--edit goes with the built-in planner; a model's run holds the model's edits alone")
    if recorder.journal.event(recorder.run.id, "end") is not None:
        raise UsageError(f"run {recorder.run.id} has ended; begin another: argus optimize TASK --edit {args.edit}")
    hand_in(recorder.run, Path(args.edit).read_text(encoding="utf-8"), Path(args.edit).name)


def _page(args: argparse.Namespace, journal: Journal, run: str) -> Path | None:
    if args.no_report:
        return None
    path = Path(args.report) if args.report else journal.folder / f"{run}.html"
    path.write_text(run_page(journal, run), encoding="utf-8")
    return path


def _to_json(run: str, state: State, page: Path | None) -> dict[str, Any]:
    best = state.best
    return {
        "run": run,
        "ended": state.ended,
        "evaluations": state.spent,
        "steps": state.step,
        "naive_us": state.naive.microseconds if math.isfinite(state.naive.microseconds) else None,
        "naive_interval": bounds(state.naive.judgement.times, state.naive.judgement.intervals),
        "best_interval": bounds(best.judgement.times, best.judgement.intervals),
        "best_us": best.microseconds if math.isfinite(best.microseconds) else None,
        "best": f"c{best.number}",
        "way": list(best.done),
        "evidence": best.judgement.evidence,
        "report": None if page is None else str(page),
        "source": best.source,
    }
