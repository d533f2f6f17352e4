"""Does a candidate solve the task it was given? Compared with the naive kernel, argument by argument.

Same tensors in the same order with the same axes, strides and element types, read and written alike; same scalars;
same specification. It may add `requires` of its own, but every shape of the task must satisfy them: a kernel that
serves only the shapes it is timed at fails at the held-out ones. Of scalars it may not demand more than the task, and
of data it may not state more (`statements.py`): the judge's data cannot show everything that a task allows.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.agent.judge.problem import Problem, Violation, shape_text
from argus.agent.judge.statements import unfounded
from argus.device.guards import LaunchRefused, check_sizes, element_strides, tensor_shapes
from argus.ir.kernel import Kernel


def broken(candidate: Kernel, naive: Kernel, problem: Problem) -> Iterator[Violation]:
    """What of the contract the candidate does not keep."""
    if candidate.computes != naive.computes:
        yield _says(f"the specification differs from the task's: '{candidate.computes}' instead of '{naive.computes}'")
    if [s.name for s in candidate.shapes] != [s.name for s in naive.shapes]:
        yield _says("the sizes differ from the task's")
        return
    given = [(s.name, s.dtype.name) for s in candidate.scalars]
    wanted = [(s.name, s.dtype.name) for s in naive.scalars]
    if given != wanted:
        yield _says(f"the scalar arguments are {given}, the task's are {wanted}")
        return
    for scalar, theirs in zip(candidate.scalars, naive.scalars, strict=True):
        if scalar.positive and not theirs.positive:
            yield _says(f"requires {scalar.name} > 0, which the task does not")
    if [t.name for t in candidate.tensors] != [t.name for t in naive.tensors]:
        yield _says(f"the tensors are {_names(candidate)}, the task's are {_names(naive)}")
        return
    for mine, asked in zip(candidate.tensors, naive.tensors, strict=True):
        if mine.dtype != asked.dtype:
            yield _says(f"{mine.name} has elements of type {mine.dtype.name}, the task's {asked.dtype.name}")
        if (mine.read, mine.written) != (asked.read, asked.written):
            yield _says(f"{mine.name} is not read and written as in the task")
    shapes = (*problem.small, *problem.shapes, *problem.held_out)
    for sizes in shapes:
        if tensor_shapes(candidate, sizes) != tensor_shapes(naive, sizes):
            yield _says(f"the tensors have other shapes than the task's at {shape_text(sizes)}")
            return
        if element_strides(candidate, sizes) != element_strides(naive, sizes):
            yield _says(f"the tensors have other strides than the task's at {shape_text(sizes)}")
            return
        try:
            check_sizes(candidate, sizes)
        except LaunchRefused as error:
            yield _says(f"does not serve {shape_text(sizes)}: {error}")
    yield from map(_says, unfounded(candidate, naive, shapes))


def _names(kernel: Kernel) -> str:
    return ", ".join(t.name for t in kernel.tensors)


def _says(message: str) -> Violation:
    return Violation("contract", message)
