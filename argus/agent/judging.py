"""From tasks to judgements: several judges, asked in order, each question answered once.

    with Judges(workers=2) as judges:
        for judgement in judges.judge([source, other], task, seed=0): …       in the order of the sources

All sources are judged at once, as far as there are judges; a judgement is handed out as soon as it and those before
it are there, so that whoever keeps them loses little when it is killed, and whoever decides by them decides the same
whichever was ready first. The judge itself lives in `argus.agent.judge`, in processes of its own: children of this one
(`LocalJudges`), or of the workers of a cluster (`ClusterJudges`). `remembered` looks an answer up before anybody is
asked (a journal, for resumed runs). Answers for which the machine was to blame are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue
from types import TracebackType
from typing import Protocol

from argus.agent.judge import Judgement, JudgeProcess, Problem
from argus.agent.judge.evidence import question
from argus.agent.judge.process import ended
from argus.agent.judge.remote import WORK, asked_of, judgement_of
from argus.cluster import Pool, Waiting, WorkerDiedError
from argus.cluster.work import machine
from argus.tasks.task import Task


class Pending(Protocol):
    """A judgement that may not be there yet."""

    def result(self) -> Judgement: ...


class Asking(Protocol):
    """Whoever judges: takes any number of questions at once."""

    def ask(self, source: str, problem: Problem, seed: int) -> Pending: ...

    def close(self) -> None: ...


class LocalJudges:
    """Judge processes on this machine."""

    def __init__(self, workers: int) -> None:
        self._processes = [JudgeProcess() for _ in range(workers)]
        self._free: SimpleQueue[JudgeProcess] = SimpleQueue()
        for process in self._processes:
            self._free.put(process)
        self._threads = ThreadPoolExecutor(workers)

    def ask(self, source: str, problem: Problem, seed: int) -> Pending:
        return self._threads.submit(self._asked, source, problem, seed)

    def _asked(self, source: str, problem: Problem, seed: int) -> Judgement:
        process = self._free.get()
        try:
            return replace(process.judge(source, problem, seed=seed), machine=machine())
        finally:
            self._free.put(process)

    def close(self) -> None:
        """End the judges, also in the middle of a question."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.stop()
        self._threads.shutdown()
        for process in self._processes:
            process.close()


@dataclass(frozen=True, slots=True)
class ClusterPending:
    """A question on its way. One that ends every worker which takes it is an `error` of this candidate alone."""

    waiting: Waiting
    source: str
    problem: Problem
    seed: int

    def result(self) -> Judgement:
        try:
            return judgement_of(self.waiting.result())
        except WorkerDiedError as error:
            return ended(self.source, self.problem, self.seed, str(error))


@dataclass(frozen=True, slots=True)
class ClusterJudges:
    """The workers of a pool that somebody else opened and will close."""

    pool: Pool

    def ask(self, source: str, problem: Problem, seed: int) -> Pending:
        return ClusterPending(self.pool.ask(WORK, asked_of(source, problem, seed)), source, problem, seed)

    def close(self) -> None:
        """The pool is not ours."""


class Judges:
    """The same question is asked once. `pool`: a cluster that judges instead of `workers` processes of this machine."""

    def __init__(
        self,
        workers: int = 1,
        remembered: Callable[[str], Judgement | None] | None = None,
        pool: Pool | None = None,
    ) -> None:
        self._asking: Asking = LocalJudges(workers) if pool is None else ClusterJudges(pool)
        self._answers: dict[str, Judgement] = {}
        self._remembered = remembered

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> Iterable[Judgement]:
        """Judgements in the order of the sources, each as soon as it and those before it are there."""
        problem = Problem.of(task)
        asked = [question(source, problem, seed) for source in sources]
        waiting: dict[str, Pending] = {}
        for name, source in zip(asked, sources, strict=True):
            if name not in self._answers and name not in waiting:
                known = self._remembered(name) if self._remembered is not None else None
                if known is not None:
                    self._answers[name] = known
                else:
                    waiting[name] = self._asking.ask(source, problem, seed)
        for name in asked:
            judgement = waiting[name].result() if name in waiting else self._answers[name]
            if not judgement.of_machine:
                self._answers[name] = judgement
            yield judgement

    def close(self) -> None:
        """End the judges, also in the middle of a question."""
        self._asking.close()

    def __enter__(self) -> Judges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
