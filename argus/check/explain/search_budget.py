"""How long counterexamples are looked for.

    with searching(True):
        may_search()        looking for counterexamples is still allowed
        may_search(3)       so are three executions of the kernel; the budget of the rule at work pays for them

A search is paid by the budget of its rule (`solve.limits`). When it has used that up, the rule's verdicts are asked for
once more without a search, and what it had proved stays proved. A kept certificate is replayed without any.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from argus.check.solve.limits import spend

EXECUTION = 50_000
"""Steps that one execution of the kernel by the interpreter counts for."""
_SEARCHING: ContextVar[bool] = ContextVar("counterexamples are looked for", default=True)


@contextmanager
def searching(allowed: bool) -> Iterator[None]:
    """Whether counterexamples are looked for inside."""
    token = _SEARCHING.set(allowed)
    try:
        yield
    finally:
        _SEARCHING.reset(token)


def may_search(executions: int = 0) -> bool:
    """Counterexamples may still be looked for; so many executions are about to be."""
    if _SEARCHING.get() and executions:
        spend(executions * EXECUTION)
    return _SEARCHING.get()
