"""The measuring protocol against a stub of the call table with its own clocks: order, flushes, what is not believed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from argus.agent.judge import Problem, court
from argus.agent.judge.court import Court
from argus.agent.judge.measure import WARM_UP, Contender, MeasuringBench, Sample, UnbelievableError
from argus.compile.cache import compile_cached
from argus.ir.passes.schedule import scheduled
from argus.lang import read

FLUSH = 1 << 30
ADD = """
import argus as ag
from argus import f32

PART = ag.Owner(t=64, n="t")


@ag.kernel(threads=64, requires="N % 64 == 0", computes="Y[n] = X[n] + 1", example=dict(N=128))
def {name}(X: ag.In["N", f32], Y: ag.Out["N", f32]):
    at = 64 * ag.grid(N // 64)
    Y[at].store(X[at].load(PART, width=4) + 1.0, width=4)
"""


class Stub:
    """Counts what is asked for; `seconds` is what the events and the host's clock see of each kernel."""

    def __init__(self, seconds: dict[str, tuple[float, float]]) -> None:
        self.seconds = seconds
        self.now = 0.0
        self.launched: list[str] = []
        self.functions: list[str] = []
        self.held: set[int] = set()
        self.sizes: list[int] = []
        self.grids: dict[str, int] = {}
        self.last = 0.0
        self.drift = 0.0

    def device_count(self) -> int:
        return 2

    def architecture(self, device: int) -> str:
        return ("gfx90a", "gfx942:sramecc+")[device]

    def set_device(self, device: int) -> None:
        assert device == 1

    def malloc(self, size: int) -> int:
        self.sizes.append(size)
        self.held.add(pointer := 4096 * len(self.sizes))
        return pointer

    def free(self, pointer: int) -> None:
        self.held.remove(pointer)

    def copy_in(self, pointer: int, data: bytes) -> None:
        assert pointer in self.held
        assert len(data) == self.sizes[pointer // 4096 - 1]

    def copy_out(self, pointer: int, size: int) -> bytes:
        raise AssertionError("results are judged elsewhere")

    def module_load(self, image: bytes) -> int:
        self.held.add(1)
        return 1

    def module_unload(self, module: int) -> None:
        self.held.discard(1)

    def module_function(self, module: int, name: str) -> int:
        self.functions.append(name)
        return len(self.functions) - 1

    def launch(
        self, function: int, grid: Sequence[int], block: Sequence[int], lds: int, stream: int, arguments: bytes
    ) -> None:
        name = self.functions[function]
        self.launched.append(name)
        self.grids[name] = int(np.prod(grid)) * block[0]
        events, host = self.seconds.get(name, (1e-3, 1e-3))
        self.last = events * (1 + self.drift * len(self.launched))
        self.now += host * (1 + self.drift * len(self.launched))

    def event_create(self) -> int:
        return 7

    def event_record(self, event: int, stream: int) -> None:
        pass

    def event_milliseconds(self, start: int, stop: int) -> float:
        return 1e3 * self.last

    def event_destroy(self, event: int) -> None:
        pass

    def synchronize(self, stream: int) -> None:
        pass


def contender(name: str) -> Contender:
    kernel = read(ADD.replace("{name}", name))
    x = np.zeros(128, np.float32)
    return Contender(kernel, compile_cached(scheduled(kernel)).object, {"N": 128}, {"X": x, "Y": x.copy()}, {})


def measured(stub: Stub, *, least: float = 0.0) -> dict[str, float]:
    bench = MeasuringBench(stub, clock=lambda: stub.now)
    found = bench.compare(contender("known"), contender("fresh"), least=least, rounds=6)
    return {name: sample.median for name, sample in found.items()}


def test_contenders_take_turns_and_every_launch_is_cold() -> None:
    stub = Stub({"known": (2e-4, 2.1e-4), "fresh": (1e-4, 1.1e-4)})
    found = measured(stub)
    assert found == pytest.approx({"baseline": 2e-4, "candidate": 1e-4})
    assert stub.launched[::2] == ["flush"] * (2 * (6 + WARM_UP))
    turns = stub.launched[1::2]
    assert [set(turns[n : n + 2]) for n in range(0, len(turns), 2)] == [{"known", "fresh"}] * (6 + WARM_UP)
    assert {turns[n] for n in range(0, len(turns), 2)} == {"known", "fresh"}
    assert max(stub.sizes) >= FLUSH
    assert 16 * stub.grids["flush"] >= FLUSH
    assert not stub.held


def test_what_is_not_believed() -> None:
    with pytest.raises(UnbelievableError, match=r"^events"):
        measured(Stub({"known": (2e-4, 2.1e-4), "fresh": (2e-4, 1e-4)}))
    with pytest.raises(UnbelievableError, match=r"^elsewhere"):
        measured(Stub({"known": (2e-4, 2.1e-4), "fresh": (1e-5, 2.1e-4)}))
    with pytest.raises(UnbelievableError, match=r"^floor"):
        measured(Stub({"known": (2e-4, 2.1e-4), "fresh": (1e-5, 2e-5)}), least=1e-4)
    unsteady = Stub({"known": (2e-4, 2.1e-4), "fresh": (2e-4, 2.1e-4)})
    unsteady.drift = 0.02
    with pytest.raises(UnbelievableError, match=r"^unsteady"):
        measured(unsteady)
    assert not unsteady.held


def test_a_strided_argument_is_measured_with_its_whole_extent() -> None:
    """A row stride of 80 elements: the GPU gets the gaps too, not only the elements."""
    source = ADD.replace("{name}", "rows").replace('"N", f32]', '"M N", f32, "ld 1"]').replace("[n]", "[m, n]")
    source = source.replace("dict(N=128)", "dict(M=3, N=128, ld=128)")
    source = source.replace("at = 64 * ag.grid(N // 64)", "m, b = ag.grid(M, N // 64)").replace("[at]", "[m, 64 * b]")
    kernel = read(source)
    memory = np.zeros(2 * 80 + 64, np.float32)
    arrays = {name: np.lib.stride_tricks.as_strided(memory.copy(), (3, 64), (320, 4)) for name in "XY"}
    rows = Contender(kernel, compile_cached(scheduled(kernel)).object, {"M": 3, "N": 64, "ld": 80}, arrays, {})
    stub = Stub({"known": (2e-4, 2.1e-4), "rows": (2e-4, 2.1e-4)})
    MeasuringBench(stub, clock=lambda: stub.now).compare(contender("known"), rows, rounds=6)
    assert stub.sizes[-2:] == [memory.nbytes] * 2


def test_every_shape_is_measured_on_its_own_data(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, bytes]] = []

    def compare(self: MeasuringBench, baseline: Contender, candidate: Contender, *, least: float) -> dict[str, Sample]:
        assert candidate.arrays["X"].shape == (candidate.sizes["N"],)
        seen.append((candidate.sizes["N"], candidate.arrays["X"].tobytes()))
        took = 1e-3 * len(seen)
        return {"baseline": Sample(took, took, took, took), "candidate": Sample(took, took, took, took)}

    monkeypatch.setattr(MeasuringBench, "compare", compare)
    monkeypatch.setattr(court, "load_hip", lambda: None)
    source = ADD.replace("{name}", "plain")
    problem = Problem("plain", source, ({"N": 128},), ({"N": 128}, {"N": 256}), device="hip")
    first, second = (court.Court(problem).judge(source, 0) for _ in range(2))
    assert first.verdict == "pass", first.violations
    assert first.times == pytest.approx({"N=128": 1e3, "N=256": 2e3})
    assert first.evidence == second.evidence, "measured times are no part of it"
    assert second.times != first.times
    assert [size for size, _ in seen] == [128, 256, 128, 256]


def test_without_a_gpu_a_judgement_of_measured_times_is_an_error() -> None:
    source = ADD.replace("{name}", "plain")
    sizes = ({"N": 128},)
    problem = Problem("plain", source, sizes, sizes, device="hip")
    found = Court(problem).judge(source, 0)
    assert (found.verdict, found.stage) == ("error", "time")
    assert found.violations[0].rule == "measure"
    assert not found.times
