"""The HTML page: well formed, self-contained, escaped, and its numbers are those of the timing."""

from __future__ import annotations

from html.parser import HTMLParser

from programs import LANE, Program, load, read_lds

from argus.clock.launch import estimate
from argus.clock.model import Resources, time_waves
from argus.clock.page import page, roofline
from argus.clock.timing import LABEL, Timing

VOID = {"meta", "path", "circle", "rect"}


class Checker(HTMLParser):
    """Every tag is closed in order; texts are collected."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in VOID or tag == "rect":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _timing(events: bool) -> tuple[Program, Timing]:
    program = Program()
    ops = program.vmem(), program.lds(), program.wait(lgkm=0), program.matrix("mfma_32x32x8_bf16", 0, 600, 610)
    for step in range(40):
        program.add(ops[0], load(16, LANE * 16 + 1024 * step))
        program.add(ops[1], read_lds(128, LANE * 128))
        program.add(ops[2])
        program.add(ops[3], times=4)
    waves = {0: [program.wave(0, w) for w in range(4)]}
    return program, time_waves(program.ops, waves, Resources(vgprs=256, agprs=256), events=events)


def test_page_is_well_formed_and_complete() -> None:
    program, timing = _timing(events=True)
    launch = estimate(timing, 304, flops=1e9, element="bf16", hbm_bytes=1e7)
    source = {op.pc: f"k.py:{number + 1}" for number, op in enumerate(program.ops)}
    text = page("a < b", timing, launch, source, {"k.py": "load()\nread()\nwait()\nmfma() & <more>\n"})
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert checker.links == []
    words = " ".join(checker.texts)
    assert LABEL in words
    assert "mfma() & <more>" in words
    assert f"{100 * timing.utilisation['matrix']:.1f} %" in words
    assert "waiting for LDS" in words
    assert text.count("<rect") > 20
    assert "100.0 FLOP/B" in words


def test_page_without_extras() -> None:
    _, timing = _timing(events=False)
    launch = estimate(timing, 304, hbm_bytes=1e7)
    checker = Checker()
    text = page("plain", timing, launch)
    checker.feed(text)
    assert checker.open == []
    assert "<rect" not in text
    assert "there is no roofline" in roofline(launch)
