"""Who does work: this process, or the workers of a Ray cluster. Both answer in the order they were asked.

    with pool_of(None) as pool: …            here, one piece of work after the other
    with pool_of("auto") as pool: …          on the cluster this machine belongs to

`answers` keeps no more than `pool.ahead` questions under way, so that a long list needs no memory and the first answers
are there before the last questions are asked.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from argus.cluster.errors import WorkerDiedError
from argus.cluster.work import answered, asked


@dataclass(frozen=True, slots=True)
class WorkAnswer:
    """What a function returned, and the machine it ran on."""

    value: Any
    machine: Mapping[str, str]

    @staticmethod
    def of(text: str) -> WorkAnswer:
        data = json.loads(text)
        return WorkAnswer(data["answer"], data["machine"])


class Waiting(Protocol):
    """An answer that may not be there yet."""

    def result(self) -> WorkAnswer: ...


class Pool(Protocol):
    """`ahead`: how many questions are worth asking before the first answer is taken."""

    @property
    def ahead(self) -> int: ...

    def ask(self, work: str, item: Any) -> Waiting: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Later:
    """An answer that is made when it is asked for."""

    make: Callable[[], WorkAnswer]

    def result(self) -> WorkAnswer:
        return self.make()


class HerePool:
    """This process. What it answers has gone through JSON, as on a cluster."""

    ahead = 1

    def ask(self, work: str, item: Any) -> Later:
        return Later(lambda: WorkAnswer.of(answered(asked(work, item))))

    def close(self) -> None:
        """Nothing to end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def pool_of(address: str | None, workers: int = 2) -> Pool:
    """The pool at an address; None is this process. Raises ClusterError."""
    if address is None:
        return HerePool()
    from argus.cluster.ray_pool import RayPool

    return RayPool(address, workers)


def answers(
    pool: Pool, work: str, items: Iterable[Any], died: Callable[[Any, WorkerDiedError], Any] | None = None
) -> Iterator[WorkAnswer]:
    """Answers in the order of the items. `died` answers for an item that ends every worker; without it, that raises."""
    waiting: deque[tuple[Any, Waiting]] = deque()

    def first() -> WorkAnswer:
        item, pending = waiting.popleft()
        try:
            return pending.result()
        except WorkerDiedError as error:
            if died is None:
                raise
            return WorkAnswer(died(item, error), {})

    for item in items:
        waiting.append((item, pool.ask(work, item)))
        if len(waiting) >= pool.ahead:
            yield first()
    while waiting:
        yield first()
