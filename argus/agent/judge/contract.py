"""Does a candidate solve the task it was given? Compared with the naive kernel, argument by argument.

Same tensors in the same order with the same axes and element types, read and written alike; same scalars; same
specification. It may add `requires` of its own, but every shape of the task must satisfy them: a kernel that serves
only the shapes it is timed at fails at the held-out ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from argus.agent.judge.problem import Problem, Violation, shape_text
from argus.device.guards import LaunchError, check_sizes, tensor_shapes
from argus.ir.kernel import Kernel


def broken(candidate: Kernel, naive: Kernel, problem: Problem) -> Iterator[Violation]:
    """What of the contract the candidate does not keep."""
    if _spec(candidate.computes) != _spec(naive.computes):
        yield _says(f"the specification differs from the task's: {candidate.computes!r} instead of {naive.computes!r}")
    if [s.name for s in candidate.shapes] != [s.name for s in naive.shapes]:
        yield _says("the sizes differ from the task's")
        return
    given = [(s.name, s.dtype.name) for s in candidate.scalars]
    wanted = [(s.name, s.dtype.name) for s in naive.scalars]
    if given != wanted:
        yield _says(f"the scalar arguments are {given}, the task's are {wanted}")
    if [t.name for t in candidate.tensors] != [t.name for t in naive.tensors]:
        yield _says(f"the tensors are {_names(candidate)}, the task's are {_names(naive)}")
        return
    for mine, theirs in zip(candidate.tensors, naive.tensors, strict=True):
        if mine.dtype != theirs.dtype:
            yield _says(f"{mine.name} has elements of type {mine.dtype.name}, the task's {theirs.dtype.name}")
        if (mine.read, mine.written) != (theirs.read, theirs.written):
            yield _says(f"{mine.name} is not read and written as in the task")
    for sizes in (*problem.small, *problem.shapes, *problem.held_out):
        if tensor_shapes(candidate, sizes) != tensor_shapes(naive, sizes):
            yield _says(f"the tensors have other shapes than the task's at {shape_text(sizes)}")
            return
        try:
            check_sizes(candidate, sizes)
        except LaunchError as error:
            yield _says(f"does not serve {shape_text(sizes)}: {error}")


def _spec(text: str | None) -> str | None:
    return None if text is None else ast.dump(ast.parse(text))


def _names(kernel: Kernel) -> str:
    return ", ".join(t.name for t in kernel.tensors)


def _says(message: str) -> Violation:
    return Violation("contract", message)
