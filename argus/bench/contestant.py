"""A launch that takes part in a comparison: executed once (a sample of it), then timed under any clock.

    ours = from_choice("ours", choose_matmul(4096, 4096, 4096, "bf16"), {"M": 4096, "N": 4096, "K": 4096})
    ours.launches()[0].sustained.microseconds         at the predicted sustained clock

An operation of two launches (a split product and its sum) is one contestant: its times add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.clock import PARAMETERS, Launch, Parameters, Recorded
from argus.clock.protocol import Protocol
from argus.clock.sampled import Work, matrix_element, prepared, sample, time_prepared
from argus.compile.cache import compile_cached
from argus.ops.choice import Choice
from argus.ops.launch import ProvedKernel
from argus.ops.launch import prepared as prove
from argus.pipeline import program_of
from argus.tasks.work import work_of


@dataclass(frozen=True, slots=True)
class Part:
    """One launch of a contestant."""

    work: Work
    recorded: Recorded
    element: str | None

    def launch(self, parameters: Parameters = PARAMETERS, protocol: Protocol = "stream") -> Launch:
        return time_prepared(self.work, self.recorded, self.element, parameters=parameters, protocol=protocol)[1]


@dataclass(frozen=True, slots=True)
class Contestant:
    """Launches that together do the work; `detail` says with which knobs."""

    name: str
    detail: str
    parts: tuple[Part, ...]

    def launches(self, parameters: Parameters = PARAMETERS, protocol: Protocol = "stream") -> list[Launch]:
        return [part.launch(parameters, protocol) for part in self.parts]


def compiled(choice: Choice) -> ProvedKernel:
    """The kernel and its object, not proved."""
    program = program_of(choice.path, choice.knobs, choice.kernel)
    return ProvedKernel(program.read, compile_cached(program).object)


def executed(work: Work, seed: int = 0) -> Part:
    """The launch with a sample of it executed."""
    seen = sample(work, seed)
    return Part(work, prepared(seen, seed), matrix_element(seen))


def from_choice(name: str, choice: Choice, sizes: Mapping[str, int], proved: bool = True) -> Contestant:
    """A kernel of the library, proved first unless it is only to be looked at (`proved=False`)."""
    parts = []
    step: Choice | None = choice
    while step is not None:
        ready = prove(step) if proved else compiled(step)
        kernel = ready.kernel
        known = {symbol.name: sizes[symbol.name] for symbol in kernel.shapes}
        parts.append(executed(work_of(kernel, ready.code, known, seed=0)))
        step = step.then
    return Contestant(name, choice.text(), tuple(parts))
