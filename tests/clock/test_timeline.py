"""The timeline: nothing crosses, nothing is missing, and its stalls are those the compute unit booked."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import LANE, Program, load, read_lds

from argus.clock.model import Resources, time_waves
from argus.clock.perfetto import trace
from argus.clock.timeline import Timeline, counted
from argus.clock.timing import Timing

HALF = Resources(vgprs=128, agprs=64)


def _program(steps: list[int]) -> Program:
    program = Program()
    matrix = program.matrix("mfma_32x32x8_bf16", 0, 600, 610)
    after = program.matrix("mfma_16x16x16_bf16", 0, 600, 610)
    vmem, lds, valu, slow = program.vmem(), program.lds(), program.valu(), program.valu(clocks=16, reads=1)
    waits, barrier = program.wait(vm=0, lgkm=0), program.barrier()
    for number, step in enumerate(steps):
        match step:
            case 0:
                program.add(vmem, load(16, LANE * 16 + 1024 * number), times=3)
            case 1:
                program.add(lds, read_lds(128, LANE * 128), times=2)
            case 2:
                program.add(waits)
            case 3:
                program.add(matrix, times=2)
            case 4:
                program.add(valu, times=2)
            case 5:
                program.add(barrier)
            case 6:
                program.add(after)
            case _:
                program.add(slow)
    program.add(waits)
    return program


def _timed(steps: list[int], waves: int = 8, **options: Any) -> Timing:
    program = _program(steps)
    groups = {0: [program.wave(0, w) for w in range(waves)]}
    return time_waves(program.ops, groups, HALF, resident=1, **options)


def _kept(timing: Timing) -> Timeline:
    assert timing.timeline is not None
    return timing.timeline


MIXED = [0, 4, 1, 2, 3, 6, 5, 3, 7, 1, 2, 5, 0, 2, 3, 4] * 3
STEPS = st.lists(st.integers(0, 7), min_size=1, max_size=25)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.integers(1, 8))
def test_slices_of_a_track_do_not_overlap_and_waves_have_no_gap(steps: list[int], waves: int) -> None:
    timing = _timed(steps, waves, timeline=True)
    by_track = defaultdict(list)
    for found in _kept(timing).slices:
        assert found.start < found.end
        by_track[found.track].append((found.start, found.end))
    for track, spans in by_track.items():
        for (_, end), (start, _) in pairwise(sorted(spans)):
            assert start >= end
            assert track.kind != "wave" or start == end


@settings(max_examples=40, deadline=None)
@given(STEPS, st.integers(1, 8))
def test_the_account_is_that_of_the_plain_unit(steps: list[int], waves: int) -> None:
    """Same clocks as without a timeline; turns and stalls of the waves' tracks are the ones that were booked."""
    plain, timing = _timed(steps, waves), _timed(steps, waves, timeline=True)
    assert plain.timeline is None
    assert (plain.cycles, plain.rows) == (timing.cycles, timing.rows)
    stalls: Counter[Any] = Counter()
    issued: Counter[int] = Counter()
    for found in _kept(timing).slices:
        if found.track.kind == "wave":
            if found.stall is None:
                issued[found.op] += 1
            else:
                stalls[found.stall] += found.end - found.start
    assert stalls == Counter(timing.reasons)
    assert issued == Counter({number: row.executed for number, row in enumerate(timing.rows) if row.executed})


def test_units_work_as_long_as_their_utilisation_says() -> None:
    timing = _timed(MIXED, timeline=True)
    clocks: Counter[str] = Counter()
    for found in _kept(timing).slices:
        clocks[found.track.kind] += found.end - found.start
    assert clocks["matrix"] / (4 * timing.cycles) == pytest.approx(timing.utilisation["matrix"])
    assert clocks["valu"] / (4 * timing.cycles) == pytest.approx(timing.utilisation["valu"])
    assert clocks["vmem"] / timing.cycles == pytest.approx(timing.utilisation["vector memory"], abs=0.01)
    assert clocks["lds"] / (2 * timing.cycles) == pytest.approx(timing.utilisation["lds ports"], abs=0.01)


def test_perfetto_slices_nest() -> None:
    """As Perfetto sees them, in whole nanoseconds, slices of a thread nest or do not overlap."""
    data = json.loads(json.dumps(trace(_timed(MIXED, timeline=True))))
    tracks = defaultdict(list)
    for event in data["traceEvents"]:
        if event["ph"] == "X":
            start = round(1000 * event["ts"], 6)
            end = start + round(1000 * event["dur"], 6)
            assert start == int(start)
            assert end == int(end)
            tracks[event["pid"], event["tid"]].append((int(start), int(end)))
    assert len(tracks) > 8 + 2
    for spans in tracks.values():
        stack: list[int] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or end <= stack[-1]
            stack.append(end)


def test_perfetto_has_a_named_track_per_unit_and_counters() -> None:
    events = trace(_timed(MIXED, timeline=True))["traceEvents"]
    names = Counter(e["args"]["name"] for e in events if e["name"] == "thread_name")
    assert names["matrix core"] == names["VALU"] == 4
    assert names["vector memory"] == names["LDS port 0"] == names["LDS port 1"] == 1
    assert sum(number for name, number in names.items() if name.startswith("wave ")) == 8
    counters = defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            counters[event["name"]].append((event["ts"], event["args"]["value"]))
    assert {"vector memory accesses in flight", "matrix cores busy", "waves stalled: memory"} <= set(counters)
    for found in counters.values():
        assert found == sorted(found)
        assert found[-1][1] == 0
        assert all(value >= 0 for _, value in found)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=12))
def test_counted(spans: list[tuple[int, int]]) -> None:
    """At every clock the last number before it is how many spans hold there."""
    whole = [(start, start + length) for start, length in spans]
    found = counted(whole)
    for clock in range(45):
        said = [number for at, number in found if at <= clock]
        assert (said[-1] if said else 0) == sum(start <= clock < end for start, end in whole)
