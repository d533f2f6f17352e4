"""Processes of this machine that do work: the same questions and answers as a cluster's, without one.

    with ProcessPool(2) as pool:
        pool.ask("argus.bench.table_work:answer", item).result()

Processes are started fresh, not forked: translated code and libraries' threads are not carried over. One that dies
ends the run (ARG-R104): what it was doing would end another one, too.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from argus.cluster.errors import WorkerDiedError
from argus.cluster.parent_death import die_with_parent
from argus.cluster.pool import WorkAnswer
from argus.cluster.work import answered, asked

AHEAD = 2
"""Questions per process that are worth asking ahead: a short one does not wait for a long one before it."""


@dataclass(frozen=True, slots=True)
class Running:
    """An answer under way in a process."""

    work: str
    future: Future[str]

    def result(self) -> WorkAnswer:
        try:
            return WorkAnswer.of(self.future.result())
        except BrokenProcessPool as error:
            raise WorkerDiedError(f"a process died on {self.work}") from error


class ProcessPool:
    """`workers` processes."""

    def __init__(self, workers: int) -> None:
        self.ahead = AHEAD * workers
        self._pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), die_with_parent)

    def ask(self, work: str, item: Any) -> Running:
        return Running(work, self._pool.submit(answered, asked(work, item)))

    def close(self) -> None:
        """Ends the processes; what was not begun is not done."""
        self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
