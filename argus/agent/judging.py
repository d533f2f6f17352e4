"""From tasks to judgements: several judge processes, asked in order, each question answered once.

    with Judges(workers=2) as judges:
        for judgement in judges.judge([source, other], task, seed=0): …       in the order of the sources

All sources are judged at once, as far as there are processes; a judgement is handed out as soon as it and those before
it are there, so that whoever keeps them loses little when it is killed. The judge itself lives in `argus.agent.judge`,
in processes of its own. `remembered` looks an answer up before anybody is asked (a journal, for resumed
runs). Answers for which the machine was to blame are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType

from argus.agent.judge import Judgement, JudgeProcess, Problem
from argus.agent.judge.evidence import question
from argus.tasks.task import Task


class Judges:
    """A pool of judge processes; the same question is asked once."""

    def __init__(self, workers: int = 1, remembered: Callable[[str], Judgement | None] | None = None) -> None:
        self._processes = [JudgeProcess() for _ in range(workers)]
        self._free: SimpleQueue[JudgeProcess] = SimpleQueue()
        for process in self._processes:
            self._free.put(process)
        self._threads = ThreadPoolExecutor(workers)
        self._answers: dict[str, Judgement] = {}
        self._remembered = remembered

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> Iterable[Judgement]:
        """Judgements in the order of the sources, each as soon as it and those before it are there."""
        problem = Problem.of(task)
        asked = [question(source, problem, seed) for source in sources]
        waiting: dict[str, Future[Judgement]] = {}

        def ask(source: str) -> Judgement:
            process = self._free.get()
            try:
                return process.judge(source, problem, seed=seed)
            finally:
                self._free.put(process)

        for name, source in zip(asked, sources, strict=True):
            if name not in self._answers and name not in waiting:
                known = self._remembered(name) if self._remembered is not None else None
                if known is not None:
                    self._answers[name] = known
                else:
                    waiting[name] = self._threads.submit(ask, source)
        for name in asked:
            judgement = waiting[name].result() if name in waiting else self._answers[name]
            if not judgement.of_machine:
                self._answers[name] = judgement
            yield judgement

    def close(self) -> None:
        """End the judges, also in the middle of a question."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.stop()
        self._threads.shutdown()
        for process in self._processes:
            process.close()

    def __enter__(self) -> Judges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
