"""The page of a kernel: well formed, self-contained, escaped, and its numbers are those of the timing."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from argus.clock.bottleneck import BOTTLENECKS
from argus.clock.launch import estimate
from argus.clock.model import Resources, time_waves
from argus.clock.timing import LABEL, Timing
from argus.clock.whatif import Change
from argus.report.axes import Scale, tick_text
from argus.report.kernel_page import kernel_page, limit
from argus.report.roofline import roofline
from argus.report.timeline_figure import window
from tests.clock.programs import LANE, Program, load, read_lds
from tests.report.html_checker import HtmlChecker

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def timed(timeline: bool, name: str = "") -> tuple[Program, Timing]:
    program = Program()
    ops = program.vmem(), program.lds(), program.wait(lgkm=0), program.matrix("mfma_32x32x8_bf16", 0, 600, 610)
    for op in ops:
        op.text += name
    for step in range(40):
        program.add(ops[0], load(16, LANE * 16 + 1024 * step))
        program.add(ops[1], read_lds(128, LANE * 128))
        program.add(ops[2])
        program.add(ops[3], times=4)
    waves = {0: [program.wave(0, w) for w in range(4)]}
    return program, time_waves(program.ops, waves, Resources(vgprs=256, agprs=256), timeline=timeline)


def page_of(title: str = "a < b", name: str = "") -> tuple[str, Timing]:
    program, timing = timed(timeline=True, name=name)
    launch = estimate(timing, 304, flops=1e9, element="bf16", hbm_bytes=1e7)
    source = {op.pc: f"k{name}.py:{number + 1}" for number, op in enumerate(program.ops)}
    text = "def k():\n    load()\n        deep()\n\tmfma() & <more>\n"
    changes = [Change("no bank conflicts", 1, 0.2), Change("matrix core only", 1, 0.9)]
    return kernel_page(title, timing, launch, changes, source, {f"k{name}.py": text}), timing


def test_page_is_well_formed_and_complete() -> None:
    text, timing = page_of()
    found = HtmlChecker.of(text)
    assert found.links == []
    words = " ".join(found.texts)
    assert LABEL in words
    assert "mfma() & <more>" in words
    assert "        deep()" in found.texts
    assert f"{100 * timing.utilisation['matrix']:.1f} %" in words
    assert "waiting for LDS" in words
    assert "100.0 FLOP/B" in words
    assert "FLOP per byte of memory" in words
    assert {"0.1", "1", "10", "100", "1000", "10k"} <= set(found.texts)
    assert BOTTLENECKS["banks"] in words


def test_the_timeline_holds_every_slice() -> None:
    text, timing = page_of()
    block = re.search(r'<script type="application/json" id="timeline-data">(.*?)</script>', text)
    assert block is not None
    data = json.loads(block[1])
    assert timing.timeline is not None
    assert sum(map(len, data["slices"])) == 6 * len(timing.timeline.slices)
    assert [title for title, _ in data["tracks"]] == [track.title for track in timing.timeline.tracks()]
    drawn: Counter[str] = Counter()
    for row in data["slices"]:
        for n in range(0, len(row), 6):
            assert data["start"] <= row[n] + data["start"] < data["end"]
            if row[n + 4] < 0:
                drawn[data["kinds"][row[n + 3]]] += 1
    matrix = next(row.executed for row in timing.rows if row.text.startswith("mfma"))
    assert drawn["matrix"] == 2 * matrix  # on its wave's row and on the matrix core's


def test_a_long_timeline_is_cut_around_its_middle() -> None:
    _, timing = timed(timeline=True)
    assert timing.timeline is not None
    start, end = window(timing.timeline, most=100)
    kept = [s for s in timing.timeline.slices if start <= s.start < end]
    assert 60 <= len(kept) <= 100
    assert window(timing.timeline) == (0, max(s.end for s in timing.timeline.slices))


def test_page_without_extras() -> None:
    _, timing = timed(timeline=False)
    launch = estimate(timing, 304, hbm_bytes=1e7)
    text = kernel_page("plain", timing, launch)
    HtmlChecker.of(text)
    assert "timeline" not in text.split("<body>")[1].split("<script>")[0].lower()
    assert "there is no roofline" in roofline(launch)


def test_hostile_names_stay_text() -> None:
    text, _ = page_of(HOSTILE, HOSTILE)
    found = HtmlChecker.of(text)
    assert "img" not in found.tags
    assert found.tags.count("script") == 3  # the data and the two scripts of this package
    assert HOSTILE in found.texts


def test_what_bounds_it_is_said_by_one_function() -> None:
    _, timing = timed(timeline=False)
    launch = estimate(timing, 304, hbm_bytes=1e7)
    assert limit(launch, timing, [Change("no bank conflicts", 1, 0.2)]) == "banks"
    assert limit(launch, timing, []) in BOTTLENECKS


def test_the_manual_has_every_word() -> None:
    text = (Path(__file__).parents[2] / "docs" / "seeing.md").read_text(encoding="utf-8")
    table = text[text.index("| word |") :].split("\n\n")[0].splitlines()[2:]
    assert {word.strip() for row in table for word in row.split("|")[1].split(",")} == set(BOTTLENECKS)


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(0.1, 1e4, 0, 1, log=True), [0.1, 1, 10, 100, 1000, 10000]),
        (Scale(30, 600, 0, 1, log=True), [50, 100, 200, 500]),
        (Scale(41, 47, 0, 1, log=True), [41, 42, 43, 44, 45, 46, 47]),
        (Scale(0, 40, 0, 1), [0, 5, 10, 15, 20, 25, 30, 35, 40]),
        (Scale(0, 3, 0, 1, whole=True), [0, 1, 2, 3]),
    ],
)
def test_ticks_are_round_numbers(scale: Scale, ticks: list[float]) -> None:
    assert scale.ticks() == pytest.approx(ticks)
    places = [scale.at(tick) for tick in ticks]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= 1


def test_tick_text() -> None:
    assert [tick_text(v) for v in (0.1, 1, 20, 5000, 20000, 2e6)] == ["0.1", "1", "20", "5000", "20k", "2M"]
