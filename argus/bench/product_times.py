"""Times of the library's matrix products by the clock, kept by the bytes of their objects.

    timed(choice, (4096, 4096, 4096), kept)        -> Timed(us, mhz, ...)
    accounts(choice, (4096, 4096, 4096), kept)     -> (Timed(...), [LaunchAccount(...)])

An object is what is timed, so an edit of a kernel's file that leaves the object as it was leaves its times, too.
"""

from __future__ import annotations

from argus.bench.contestant import Contestant, compiled, executed
from argus.bench.kept import Kept, LaunchAccount, Timed, mark
from argus.bench.product_shapes import Shape
from argus.ir.compile_error import CompileError
from argus.lang.errors import ProgramError
from argus.ops.choice import Choice
from argus.ops.launch import ProvedKernel
from argus.tasks.work import work_of


class CandidateRefused(Exception):
    """A candidate that is not legal or does not fit the registers."""


def timed(choice: Choice, shape: Shape, kept: Kept) -> Timed:
    """The time of a choice at these sizes; `why` says what cannot be built."""
    return accounts(choice, shape, kept)[0]


def accounts(choice: Choice, shape: Shape, kept: Kept) -> tuple[Timed, list[LaunchAccount]]:
    """The time with an account of each launch."""
    try:
        parts = _objects(choice)
    except CandidateRefused as error:
        return Timed(0.0, 0.0, str(error).splitlines()[0]), []
    objects = " ".join(mark(part.code) for part in parts)
    words = f"{choice.text()} at {shape} as {objects}"
    return kept.timed_parts(words, lambda: _executed(parts, choice, shape), CandidateRefused)


def _objects(choice: Choice) -> list[ProvedKernel]:
    try:
        return [compiled(choice), *(_objects(choice.then) if choice.then is not None else [])]
    except (CompileError, ProgramError) as error:
        raise CandidateRefused(str(error)) from error


def _executed(parts: list[ProvedKernel], choice: Choice, shape: Shape) -> Contestant:
    sizes = dict(zip("MNK", shape, strict=True))
    works = []
    for part in parts:
        known = {symbol.name: sizes[symbol.name] for symbol in part.kernel.shapes}
        works.append(executed(work_of(part.kernel, part.code, known, seed=0)))
    return Contestant("candidate", choice.text(), tuple(works))
