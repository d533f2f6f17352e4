"""From tasks to judgements: several judge processes, asked in order, each question answered once.

    with Judges(workers=2) as judges:
        judges.judge([source, other], task, seed=0)        one Judgement per source, in the order of the sources

The judge itself lives in `argus.agent.judge`, in processes of its own. `remembered` looks an answer up before anybody
is asked (a journal, for runs that are gone on with).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        """Judgements in the order of the sources."""
        problem = Problem.of(task)
        asked = [question(source, problem.digest(), seed) for source in sources]
        fresh: dict[str, str] = {}
        for name, source in zip(asked, sources, strict=True):
            if name not in self._answers:
                known = self._remembered(name) if self._remembered is not None else None
                if known is not None:
                    self._answers[name] = known
                else:
                    fresh[name] = source

        def ask(item: tuple[str, str]) -> tuple[str, Judgement]:
            process = self._free.get()
            try:
                return item[0], process.judge(item[1], problem, seed=seed)
            finally:
                self._free.put(process)

        self._answers.update(self._threads.map(ask, fresh.items()))
        return [self._answers[name] for name in asked]

    def close(self) -> None:
        self._threads.shutdown()
        for process in self._processes:
            process.close()

    def __enter__(self) -> Judges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
