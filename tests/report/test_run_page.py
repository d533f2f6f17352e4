"""The page of a run holds what the journal holds, and stands alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from argus.agent.journal import Journal
from argus.agent.view import RunView
from argus.cli.main import main

COUNTEREXAMPLE = {
    "where": {"sizes": {"M": 128}, "loop": {"kt": 1}, "block": [0, 0, 0], "wave": 2},
    "operands": [{"thread": 7, "name": "a", "element": 0, "tag": {"tensor": "A", "coords": {"M": 3, "K": 64}}}],
}


class Tags(HTMLParser):
    """Every opened element is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass


def write(folder: Path, config: dict[str, str] | None = None) -> None:
    with Journal.write(folder) as journal:
        run = journal.begin("gemm", {"seed": 0, "budget": 3, **(config or {})})
        steps = [("naive", "pass", 400.0), ("tile <b>", "fail", None), ("swizzle", "pass", 150.0)]
        for step, (technique, verdict, took) in enumerate(steps):
            source = journal.put(f"# kernel\nbarrier({step})\nstore < 1\n")
            parent = None if not step else "c0"
            data = {
                "id": f"c{step}",
                "parent": parent,
                "source": source,
                "technique": technique,
                "params": {"BM": step},
            }
            run.record(step, f"c{step}", "candidate", data)
            violation = {"rule": "race_free", "line": 2, "message": "two waves & one byte", "detail": COUNTEREXAMPLE}
            judgement = {
                "candidate": f"c{step}",
                "verdict": verdict,
                "stage": "time" if took else "check",
                "violations": [] if took else [violation],
                "times": {"M=4096": took} if took else {},
                "roof": {"M=4096": 100.0},
                "bottleneck": {"bound": "compute", "utilisation": {"matrix": 0.4}, "helps": {"barriers free": 0.2}},
                "evidence": "e" * 64,
            }
            run.record(step, f"j{step}", "judgement", judgement)


def test_page(tmp_path: Path) -> None:
    write(tmp_path / "journal")
    target = tmp_path / "run.html"
    assert main(["report", "--journal", str(tmp_path / "journal"), "-o", str(target)]) == 0
    page = target.read_text()
    parser = Tags()
    parser.feed(page)
    assert not parser.open
    assert not re.search(r"https?://|<script|src=|<link", page)
    for said in (
        "400.0 µs",
        "150.0 µs",
        "67 % of the roofline",
        "2.67",
        "two waves &amp; one byte",
        "tile &lt;b&gt;",
    ):
        assert said in page, said
    assert "A[K=64, M=3]" in page
    assert "<span class=new>+barrier(2)</span>" in page
    assert page.count('class="point"') == 2
    assert page.count('class="wrong"') == 1


def test_times_of_a_device_are_called_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {"device": "hip"})
    assert main(["report", "--journal", str(tmp_path), "-o", str(tmp_path / "x.html")]) == 0
    page = (tmp_path / "x.html").read_text()
    assert "150.0 µs measured" in page
    assert "simulated" not in page
    capsys.readouterr()
    assert main(["history", "--journal", str(tmp_path)]) == 0
    assert "150.0 µs measured" in capsys.readouterr().out
    RunView().start("gemm", "hip")
    assert "measured on" in capsys.readouterr().out


def test_page_of_a_run_where_nothing_passed(tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        journal.begin("gemm", {})
    assert main(["report", "--journal", str(tmp_path), "-o", str(tmp_path / "x.html")]) == 0
