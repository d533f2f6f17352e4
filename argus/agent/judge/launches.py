"""Launches of a candidate's object on the judge's data: the data are put into device memory once, then run many times.

    on = Launches(kernel, code).on(sizes, given, scalars)
    seen = on.run(Options(workgroups=[3]))["C"]           what workgroup 3 wrote; everything else holds the pattern

Before every run outputs hold the pattern and tensors that are read and written hold what was given; after the last one,
inputs are compared with what was given, bit by bit. The arrays a run returns are device memory: the next run
overwrites them.

A kernel is translated once if it can be. The clock needs a translation that records what it executes; where the runs of
the judge are short (`RECORDED` executed instructions per instruction of the kernel), they use that one too, since
recording costs less than a second translation.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from argus import machine
from argus.agent.judge.data import Arrays, poisoned, strided
from argus.agent.judge.problem import Sizes, Violation
from argus.device.guards import launch_grid
from argus.device.launch import flat, scalar_values
from argus.gfx942.decoder import DecodeError, decode_all
from argus.ir.kernel import Kernel
from argus.machine import Options
from argus.machine.jit.errors import JitError
from argus.machine.jit.executor import execute, translate
from argus.machine.launch import LaunchResult, PreparedLaunch, interpret
from argus.machine.state import LANES

RECORDED = 500

Array = np.ndarray[Any, Any]


class WrongRun(Exception):
    """The machine reported something, or an input was changed."""

    def __init__(self, violations: tuple[Violation, ...]) -> None:
        super().__init__(violations[0].message)
        self.violations = violations


@dataclass
class Launches:
    """One candidate's object. `recorded`: whether its translated runs use the translation that records."""

    kernel: Kernel
    code: bytes
    recorded: bool = False
    loaded: machine.LoadedKernel = field(init=False)

    def __post_init__(self) -> None:
        self.loaded = machine.load(self.code).kernel(self.kernel.name)

    def translate_ahead(self, instructions: int) -> None:
        """So many wave instructions will be executed translated: decide how, and begin to translate meanwhile.

        What goes wrong with the translation is said by the first run that needs it.
        """
        loaded = self.loaded
        length = sum(1 for _ in decode_all(loaded.code.text, loaded.info.start, loaded.info.end))
        self.recorded = instructions <= RECORDED * length

        def begin() -> None:
            with suppress(JitError, DecodeError):
                full = self.kernel.threads % LANES == 0
                translate(loaded.code, loaded.info.name, full_waves=full, trace=self.recorded)

        threading.Thread(target=begin, daemon=True).start()

    def on(self, sizes: Sizes, given: Arrays, scalars: Mapping[str, float]) -> OnData:
        """The launch on these inputs, whose arrays are not changed."""
        kernel = self.kernel
        arrays = {**given, **poisoned(kernel, sizes)}
        values = scalar_values(kernel, sizes, scalars)
        tensors = [flat(arrays[tensor.name], tensor.written) for tensor in kernel.tensors]
        grid = launch_grid(kernel, sizes)
        prepared = self.loaded.prepare(grid, kernel.threads, [*tensors, *values], 0, None, Options())
        return OnData(self, prepared, arrays)


class OnData:
    """A launch whose data are in device memory. `instructions`: of all waves in the last run."""

    def __init__(self, launches: Launches, prepared: PreparedLaunch, start: Arrays) -> None:
        self._launches, self._prepared, self._start = launches, prepared, start
        arena = prepared.arena
        places = [place for place in arena.allocations if not place.internal]
        self._arrays: Arrays = {}
        for tensor, place in zip(launches.kernel.tensors, places, strict=True):
            like = start[tensor.name]
            steps = tuple(step // like.itemsize for step in like.strides)
            self._arrays[tensor.name] = strided(arena.read(place).view(like.dtype), like.shape, steps)
        self._used = False
        self.instructions = 0

    def run(self, options: Options) -> Arrays:
        """Execute; `options.checks` means the checking interpreter. Raises `WrongRun`."""
        tensors = self._launches.kernel.tensors
        if self._used:
            for tensor in tensors:
                if tensor.written:
                    self._arrays[tensor.name][...] = self._start[tensor.name]
        self._used = True
        result = self._execute(options)
        self.instructions = result.instructions
        if result.errors:
            raise WrongRun(tuple(Violation(r.code, str(r), detail=r.to_json()) for r in result.errors[:8]))
        return self._arrays

    def inputs_unchanged(self) -> None:
        """Compare the inputs with what they were before the first run, bit by bit. Raises `WrongRun`."""
        wrong = [
            Violation("inputs", f"the input {tensor.name} was changed")
            for tensor in self._launches.kernel.tensors
            if not tensor.written and not _same_bits(self._arrays[tensor.name], self._start[tensor.name])
        ]
        if wrong:
            raise WrongRun(tuple(wrong))

    def _execute(self, options: Options) -> LaunchResult:
        if options.checks:
            return interpret(replace(self._prepared, options=options))
        recording = replace(options, record=self._launches.recorded)
        return execute(replace(self._prepared, options=recording))


def _same_bits(a: Array, b: Array) -> bool:
    return np.array_equal(_words(a), _words(b))


def _words(array: Array) -> Array:
    plain = array.reshape(-1).view(np.uint8)
    return plain.view(np.uint64) if plain.size % 8 == 0 else plain
