"""Times on a real MI300X: the candidate and a baseline in turn, cold caches, two clocks, a floor.

    MeasuringBench(calls).compare(baseline, candidate, rounds=20)  ->  {"candidate": Sample(median, p10, p90),
    "baseline": …}

One round is flush, baseline, flush, candidate; the next one goes the other way round, so a clock that drifts meets
both. A flush is a kernel that reads and writes a buffer of 1 GiB, four times what the last-level cache holds. A launch
is timed twice: by HIP events on the stream, and by the host's clock between two synchronisations. Nothing is believed

    events       if they say more than the host's clock, which contains them
    elsewhere    if the host waits longer after a candidate than after the baseline: work that the events do not see
    unsteady     if the baseline's first and second half differ by more than 5 %
    floor        below nine tenths of the least possible time (`floor`), as on the simulated clock

It has been tested against a stub of the call table only: no GPU was at hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from argus.agent.judge.floor import ALLOWED
from argus.compile.cache import compile_cached
from argus.device.guards import launch_grid
from argus.device.hip import find_gfx942
from argus.device.hip_calls import HipCalls
from argus.device.hip_modules import KernelOnGpu, loaded_kernel, refuse_other_mode
from argus.device.launch import flat, scalar_values
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read

FLUSH_BYTES = 1 << 30
WARM_UP, ROUNDS = 3, 20
DRIFT = 0.05
SLACK_SECONDS = 20e-6

FLUSH = '''"""Every byte of a buffer read and written once."""
import argus as ag
from argus import u32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256, requires="N % 1024 == 0", example=dict(N=2048))
def flush(X: ag.InOut["N", u32]):
    at = 1024 * ag.grid(N // 1024)
    X[at].store(X[at].load(PART, width=16) + 1, width=16)
'''


class UnbelievableError(RuntimeError):
    """A measurement contradicts itself; the first word says how."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds of one contender over all rounds, by events."""

    median: float
    p10: float
    p90: float
    host: float


@dataclass(frozen=True, slots=True)
class Contender:
    """A kernel with its data, to be launched again and again."""

    kernel: Kernel
    code: bytes
    sizes: Mapping[str, int]
    arrays: Mapping[str, npt.NDArray[np.generic]]
    scalars: Mapping[str, float]


@dataclass
class _Loaded:
    """A contender on the device."""

    kernel: KernelOnGpu
    grid: tuple[int, int, int]
    threads: int
    arguments: bytes
    events: list[float] = field(default_factory=list)
    host: list[float] = field(default_factory=list)


@dataclass
class MeasuringBench:
    """One device; `clock` is the host's, in seconds."""

    calls: HipCalls
    clock: Callable[[], float] = time.perf_counter
    flush_bytes: int = FLUSH_BYTES
    _device: int = field(default=0, init=False)
    _modules: list[int] = field(default_factory=list, init=False)
    _owned: list[int] = field(default_factory=list, init=False)

    def compare(
        self, baseline: Contender, candidate: Contender, *, least: float = 0.0, rounds: int = ROUNDS
    ) -> dict[str, Sample]:
        """Both in turn. `least`: the least possible seconds. Raises `UnbelievableError`."""
        self._device = find_gfx942(self.calls)
        self.calls.set_device(self._device)
        try:
            flush = self._load(self._flush())
            pair = {"baseline": self._load(baseline), "candidate": self._load(candidate)}
            for number in range(-WARM_UP, rounds):
                order = list(pair.values())[:: 1 if number % 2 else -1]
                for contender in order:
                    self._run(flush)
                    self._timed(contender, keep=number >= 0)
        finally:
            for pointer in self._owned:
                self.calls.free(pointer)
            for module in self._modules:
                self.calls.module_unload(module)
            self._owned, self._modules = [], []
        _believable(pair["baseline"], pair["candidate"], least)
        return {name: _sample(loaded) for name, loaded in pair.items()}

    def _flush(self) -> Contender:
        program = scheduled(read(FLUSH))
        words = np.zeros(self.flush_bytes // 4, np.uint32)
        return Contender(program.read, compile_cached(program).object, {"N": words.size}, {"X": words}, {})

    def _load(self, contender: Contender) -> _Loaded:
        kernel, calls = contender.kernel, self.calls
        refuse_other_mode(contender.code, kernel.name, calls.architecture(self._device))
        module = calls.module_load(contender.code)
        self._modules.append(module)
        pointers = []
        for tensor in kernel.tensors:
            memory = flat(contender.arrays[tensor.name], tensor.written)
            pointer = calls.malloc(max(memory.nbytes, 1))
            self._owned.append(pointer)
            calls.copy_in(pointer, memory.tobytes())
            pointers.append(np.uint64(pointer))
        values = [*pointers, *scalar_values(kernel, contender.sizes, contender.scalars)]
        loaded = loaded_kernel(calls, module, contender.code, kernel.name)
        return _Loaded(loaded, launch_grid(kernel, contender.sizes), kernel.threads, loaded.packed(values))

    def _run(self, loaded: _Loaded) -> None:
        self.calls.launch(loaded.kernel.handle, loaded.grid, (loaded.threads, 1, 1), 0, 0, loaded.arguments)
        self.calls.synchronize(0)

    def _timed(self, loaded: _Loaded, *, keep: bool) -> None:
        calls = self.calls
        start, stop = calls.event_create(), calls.event_create()
        try:
            before = self.clock()
            calls.event_record(start, 0)
            calls.launch(loaded.kernel.handle, loaded.grid, (loaded.threads, 1, 1), 0, 0, loaded.arguments)
            calls.event_record(stop, 0)
            calls.synchronize(0)
            after = self.clock()
            if keep:
                loaded.events.append(1e-3 * calls.event_milliseconds(start, stop))
                loaded.host.append(after - before)
        finally:
            calls.event_destroy(start)
            calls.event_destroy(stop)


def _sample(loaded: _Loaded) -> Sample:
    low, middle, high = np.percentile(loaded.events, (10, 50, 90))
    return Sample(float(middle), float(low), float(high), float(np.median(loaded.host)))


def _believable(baseline: _Loaded, candidate: _Loaded, least: float) -> None:
    for loaded in (baseline, candidate):
        if any(event > host for event, host in zip(loaded.events, loaded.host, strict=True)):
            raise UnbelievableError("events: they say more time than the host's clock saw pass")
    half = len(baseline.events) // 2
    first, second = _median(baseline.events[:half]), _median(baseline.events[half:])
    if abs(first - second) > DRIFT * min(first, second):
        message = f"{1e6 * first:.1f} µs, then {1e6 * second:.1f} µs"
        raise UnbelievableError(f"unsteady: the baseline took {message}")
    waits = [_median(loaded.host) - _median(loaded.events) for loaded in (baseline, candidate)]
    if waits[1] > waits[0] + max(SLACK_SECONDS, 0.2 * waits[0]):
        more = 1e6 * (waits[1] - waits[0])
        raise UnbelievableError(f"elsewhere: the host waited {more:.0f} µs longer than for the baseline")
    took = _median(candidate.events)
    if took < ALLOWED * least:
        message = f"{1e6 * took:.1f} µs, less than the least possible {1e6 * least:.1f} µs"
        raise UnbelievableError(f"floor: {message}")


def _median(values: Sequence[float]) -> float:
    return float(np.median(np.asarray(values)))
