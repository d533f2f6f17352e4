"""`argus history`, `argus best`, `argus diff`, `argus verify-all`: what the journal of optimisations holds.

argus history [RUN]              the runs; or every candidate of one: what was tried, what the judge said
argus best [RUN] [-o FILE]       the best kernel of a run, and the way to it
argus diff A [B] [--run RUN]     what changed from candidate A to B (from its parent, if only one is given)
argus verify-all [--ray ADDRESS] judges every stored winner again, in processes started for it, and compares the
                                 evidence (verdict and times, if it was judged by another version)
"""

from __future__ import annotations

import argparse
import difflib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from argus.agent.journal import Journal, RunInfo
from argus.agent.journal.lineage import JournalCandidate, Story
from argus.agent.judge import Judgement, Problem
from argus.agent.judge.evidence import imports, program
from argus.agent.judging import Asking, ClusterJudges, LocalJudges, Pending
from argus.agent.labels import word
from argus.cli.answers import BestAnswer, DiffAnswer, HistoryAnswer, RunAnswer, VerifyAnswer, emit
from argus.cli.many_machines import cluster
from argus.cli.usage import GOOD, UNKNOWN, WRONG, UsageError
from argus.cluster import Pool

NO_RUN = "{}: no run yet; `argus optimize TASK` makes one"


def folder(args: argparse.Namespace) -> Path:
    """Where the journal is: --journal, $ARGUS_JOURNAL, or ./argus-journal."""
    return Path(args.journal or os.environ.get("ARGUS_JOURNAL") or "argus-journal")


def show(args: argparse.Namespace) -> int:
    with Journal.read(folder(args)) as journal:
        if args.run is None:
            rows = [Story.of(journal, run.id) for run in journal.runs()]
            if args.json:
                emit(HistoryAnswer, {"journal": str(folder(args)), "runs": [_run_json(story) for story in rows]})
            else:
                for story in rows:
                    print(_run_line(story))
                print("" if rows else f"{NO_RUN.format(folder(args))}\n", end="")
            return GOOD
        story = Story.of(journal, args.run)
    if args.json:
        emit(RunAnswer, {**_run_json(story), "candidates": [_json(c) for c in story.candidates]})
        return GOOD
    print(_run_line(story))
    for candidate in story.candidates:
        print(_line(candidate))
    return GOOD


def show_best(args: argparse.Namespace) -> int:
    with Journal.read(folder(args)) as journal:
        story = Story.of(journal, args.run)
        best = story.best()
        if best is None:
            raise UsageError(f"run {story.run.id} has no candidate that passed")
        source = journal.text(best.source)
    if args.output:
        Path(args.output).write_text(source, encoding="utf-8")
    if args.json:
        way = [candidate.id for candidate in story.ancestors(best)]
        found = {"run": story.run.id, "best": _json(best), "way": way, "kernel": source, "output": args.output}
        emit(BestAnswer, found)
        return GOOD
    print(_run_line(story))
    for candidate in story.ancestors(best):
        print(_line(candidate))
    print(f"evidence {best.judgement['evidence']}")
    print(f"written to {args.output}" if args.output else source)
    return GOOD


def show_diff(args: argparse.Namespace) -> int:
    with Journal.read(folder(args)) as journal:
        story = Story.of(journal, args.run)
        after = story.candidate(args.b or args.a)
        if args.b is None and after.parent is None:
            raise UsageError(f"candidate {after.id} has no parent; name two candidates")
        before = story.candidate(args.a if args.b else str(after.parent))
        old, new = (journal.text(c.source).splitlines(keepends=True) for c in (before, after))
    diff = "".join(difflib.unified_diff(old, new, before.id, after.id))
    if args.json:
        emit(DiffAnswer, {"run": story.run.id, "before": before.id, "after": after.id, "diff": diff})
    else:
        print(diff, end="")
    return GOOD


def verify_all(args: argparse.Namespace) -> int:
    """Exit 1 if a stored winner does not get the same judgement again, 3 if this machine cannot judge one."""
    found: list[dict[str, Any]] = []
    with Journal.read(folder(args)) as journal, cluster(args) as pool, _judges(args.workers, pool) as judges:
        winners = list(_winners(journal))
        asked = {run.id: _asked(judges, journal, run, best) for run, best in winners if best is not None}
        for run, best in winners:
            code, said = GOOD, "nothing passed, nothing to verify"
            if best is not None:
                code, said = _again(journal, run, best, asked[run.id].result())
            found.append({"run": run.id, "candidate": None if best is None else best.id, "exit": code, "said": said})
            if not args.json:
                print(f"{run.id}: {said if best is None else f'candidate {best.id} {said}'}")
    if args.json:
        emit(VerifyAnswer, {"runs": found})
    elif not found:
        print(NO_RUN.format(folder(args)))
    codes = {GOOD, *(row["exit"] for row in found)}
    return WRONG if WRONG in codes else max(codes)


def _winners(journal: Journal) -> Iterator[tuple[RunInfo, JournalCandidate | None]]:
    for run in journal.runs():
        yield run, Story.of(journal, run.id).best()


@contextmanager
def _judges(workers: int, pool: Pool | None) -> Iterator[Asking]:
    judges: Asking = LocalJudges(workers) if pool is None else ClusterJudges(pool)
    try:
        yield judges
    finally:
        judges.close()


def _problem(journal: Journal, run: RunInfo) -> Problem:
    return Problem.from_json(json.loads(journal.text(run.config["problem"])))


def _asked(judges: Asking, journal: Journal, run: RunInfo, best: JournalCandidate) -> Pending:
    """A winner on its way to be judged once more."""
    return judges.ask(journal.text(best.source), _problem(journal, run), run.config["data"])


def _again(journal: Journal, run: RunInfo, best: JournalCandidate, again: Judgement) -> tuple[int, str]:
    """A winner that was judged once more."""
    problem, source = _problem(journal, run), journal.text(best.source)
    same = run.config.get("program") == program() and best.imports == imports(source, problem)
    return compared(best, again, problem.device, same_program=same)


def compared(best: JournalCandidate, again: Judgement, device: str, *, same_program: bool) -> tuple[int, str]:
    """The exit code for a winner that was judged again, and what to say of it.

    The same program, with the same library files that the winner imports, must give the same evidence; another one,
    which has other hashes, the same verdict and times.
    """
    if again.of_machine:
        return UNKNOWN, f"cannot be judged here: {again.violations[0].message}"
    if again.verdict != best.verdict:
        rules = ", ".join(sorted({v.rule for v in again.violations}))
        return WRONG, f"OTHER verdict: {again.verdict} at {again.stage} ({rules})"
    if same_program:
        if again.evidence == best.judgement["evidence"]:
            return GOOD, f"{again.verdict}, same evidence"
        return WRONG, f"{again.verdict}, OTHER evidence ({again.evidence[:12]})"
    if device == "simulated" and not _same_times(again.times, best.judgement["times"]):
        now, then = (
            ", ".join(f"{time:.1f} µs" for time in times.values()) for times in (again.times, best.judgement["times"])
        )
        return WRONG, f"{again.verdict}, judged by another version, OTHER times: {now}, then {then}"
    return GOOD, f"{again.verdict}, judged by another version"


def _same_times(a: Mapping[str, float], b: Mapping[str, float]) -> bool:
    return a.keys() == b.keys() and all(math.isclose(a[shape], b[shape], rel_tol=1e-6) for shape in a)


def _run_line(story: Story) -> str:
    best = story.best()
    passed = sum(c.verdict == "pass" for c in story.candidates)
    state = "ended" if story.ended is not None else "not ended"
    called = word(story.run.config.get("device"))
    time = f"best {best.time} {called} (candidate {best.id})" if best is not None else "nothing passed"
    return f"{story.run.id}  {story.run.task}  {len(story.candidates)} candidates, {passed} passed, {time}, {state}"


def _line(candidate: JournalCandidate) -> str:
    params = " ".join(f"{name}={value}" for name, value in candidate.params.items())
    if candidate.microseconds is not None:
        said = candidate.time
    else:
        rules = sorted({v["rule"] for v in candidate.judgement.get("violations", [])})
        said = f"{candidate.verdict} at {candidate.judgement.get('stage', '?')}: {', '.join(rules)}"
    return f"  {candidate.id:>8}  {candidate.technique:24} {params:32} {said}"


def _run_json(story: Story) -> dict[str, Any]:
    best = story.best()
    return {
        "run": story.run.id,
        "task": story.run.task,
        "created": story.run.created,
        "config": story.run.config,
        "candidates": len(story.candidates),
        "best": None if best is None else _json(best),
        "ended": story.ended,
    }


def _json(candidate: JournalCandidate) -> dict[str, Any]:
    return {
        "id": candidate.id,
        "parent": candidate.parent,
        "technique": candidate.technique,
        "params": dict(candidate.params),
        "source": candidate.source,
        "imports": dict(candidate.imports),
        "microseconds": candidate.microseconds,
        "judgement": dict(candidate.judgement),
    }
