"""The page of a run holds what the journal holds, stands alone, and obeys nothing that is written in the journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from argus.agent.bottleneck import bottleneck
from argus.agent.journal import Journal
from argus.agent.journal.lineage import Story
from argus.agent.judge import Judgement
from argus.agent.view import RunView
from argus.cli.main import main
from argus.report.run_page import run_page
from tests.report.html_checker import HtmlChecker

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
COUNTEREXAMPLE = {
    "where": {"sizes": {"M": 128}, "loop": {"kt": 1}, "block": [0, 0, 0], "wave": 2},
    "operands": [{"thread": 7, "name": "a", "element": 0, "tag": {"tensor": "A", "coords": {"M": 3, "K": 64}}}],
}
STEPS = (("naive", "pass", 400.0), ("tile <b>", "fail", None), ("swizzle", "pass", 150.0))


def write(
    folder: Path,
    config: dict[str, Any] | None = None,
    steps: tuple[tuple[str, str, float | None], ...] = STEPS,
    text: str = "two waves & one byte",
) -> None:
    """A small run; `text` is put wherever a candidate, a checker or a model has a say."""
    with Journal.write(folder) as journal:
        run = journal.begin("gemm", {"seed": 0, "budget": 3, **(config or {})})
        for step, (technique, verdict, took) in enumerate(steps):
            source = journal.put(f"# kernel {text}\nif x:\n    barrier({step})\nstore < 1\n")
            data = {
                "id": f"c{step}",
                "parent": None if not step else "c0",
                "source": source,
                "technique": technique,
                "params": {"BM": step},
                "why": text,
            }
            run.record(step, f"c{step}", "candidate", data)
            violation = {"rule": "race_free", "line": 3, "message": text, "help": text, "detail": COUNTEREXAMPLE}
            judgement = {
                "candidate": f"c{step}",
                "verdict": verdict,
                "stage": "time" if took else "check",
                "violations": [] if took else [violation],
                "times": {"M=4096": took} if took else {},
                "roof": {"M=4096": 100.0},
                "bottleneck": {
                    "bound": "compute",
                    "stalls": {"barrier": 70, "wait_vmem": 30},
                    "utilisation": {"matrix": 0.4},
                    "helps": {"barriers free": 0.2},
                },
                "evidence": "e" * 64,
            }
            run.record(step, f"j{step}", "judgement", judgement)


def test_page(tmp_path: Path) -> None:
    write(tmp_path / "journal")
    target = tmp_path / "run.html"
    assert main(["report", "--journal", str(tmp_path / "journal"), "-o", str(target)]) == 0
    page = target.read_text()
    found = HtmlChecker.of(page)
    words = " ".join(found.texts)
    for said in ("400.0 µs", "150.0 µs", "67 % of the roofline", "2.67×", "A[K=64, M=3]", "time in µs", "evaluation"):
        assert said in words, said
    assert "tile &lt;b&gt;" in page
    assert "<span class=new>+    barrier(2)</span>" in page
    assert page.count('class="point"') == 2
    assert page.count('class="wrong"') == 1


def test_a_failure_shows_its_reason_at_once(tmp_path: Path) -> None:
    """In its row of the table and in its own box, outside anything that has to be opened."""
    write(tmp_path)
    with Journal.read(tmp_path) as journal:
        page = run_page(journal)
    row = page[page.index('<tr data-verdict="fail"') :].split("</tr>")[0]
    assert "check: race_free: two waves &amp; one byte" in row
    assert 'href="#failure-c1"' in row
    assert page.count('id="failure-c1"') == 1
    box = page[page.index("<article class=failure") :].split("<details")[0]
    assert "two waves &amp; one byte" in box


def test_sources_keep_their_indentation(tmp_path: Path) -> None:
    write(tmp_path)
    with Journal.read(tmp_path) as journal:
        page = run_page(journal)
    kernel = page[page.index("<h2>The kernel</h2>") :]
    assert "<pre class=source>" in kernel
    assert "</span>    barrier(2)</span>" in kernel


def test_report_and_view_agree_on_what_bounds_a_kernel(tmp_path: Path) -> None:
    write(tmp_path)
    with Journal.read(tmp_path) as journal:
        page = run_page(journal)
        best = Story.of(journal).best()
    assert best is not None
    word = bottleneck(Judgement.from_json(best.judgement))
    assert word == "barrier"
    assert page.count(f"bottleneck <b>{word}</b>") == 2
    assert f"<dt>bottleneck</dt><dd>{word}</dd>" in page
    assert page.count(f"<td>{word}</td>") == 2
    assert "bound by" not in page


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    """Every text a journal holds may come from a model."""
    steps = tuple((f"{technique}{HOSTILE}", verdict, took) for technique, verdict, took in STEPS)
    write(tmp_path, {"library": HOSTILE, "published": {HOSTILE: 1}, "planner": HOSTILE}, steps, HOSTILE)
    with Journal.read(tmp_path) as journal:
        page = run_page(journal)
    found = HtmlChecker.of(page)
    assert "img" not in found.tags
    assert found.tags.count("script") == 1
    assert any(HOSTILE in text for text in found.texts)


def test_times_of_a_device_are_called_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {"device": "hip"})
    assert main(["report", "--journal", str(tmp_path), "-o", str(tmp_path / "x.html")]) == 0
    page = (tmp_path / "x.html").read_text()
    assert "150.0 µs measured" in page
    assert "best time, measured" in page
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
    HtmlChecker.of((tmp_path / "x.html").read_text())
