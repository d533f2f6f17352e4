"""The verbs that read a journal, on a small run written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from argus.agent.journal import Journal
from argus.agent.journal.lineage import JournalCandidate
from argus.agent.judge import Judgement, Violation
from argus.cli.history import compared
from argus.cli.main import main
from bench.agent_kills import small_task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Journal.write(tmp_path) as journal:
        run = journal.begin("gemm", {"seed": 0})
        kernels = ["a = 1\nb = 2\n", "a = 1\nb = 3\n", "a = 1\nb = 3\nc = 4\n"]
        verdicts = [("pass", 400.0, "e0"), ("fail", None, "e1"), ("pass", 100.0, "e2"), ("pass", 1.0, "")]
        for step, (verdict, time, evidence) in enumerate(verdicts):
            candidate = {
                "id": f"c{step}",
                "parent": f"c{step - 2}" if step >= 2 else ("c0" if step else None),
                "source": journal.put(kernels[min(step, 2)]),
                "technique": "naive" if not step else "tile",
                "params": {"BM": 64 * step},
            }
            run.record(step, f"candidate:{step}", "candidate", candidate)
            judgement = {
                "candidate": f"c{step}",
                "verdict": verdict,
                "stage": "time" if time else "check",
                "violations": [] if time else [{"rule": "race_free", "line": 3, "message": "m"}],
                "times": {"M=1": time} if time else {},
                "evidence": evidence,
            }
            run.record(step, f"judgement:{step}", "judgement", judgement)
    return tmp_path


def test_history(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "--journal", str(folder), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["best"]["id"] == "c2", "without evidence nothing ranks"
    assert main(["history", run["run"], "--journal", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "fail at check: race_free" in out
    assert "BM=128" in out


def test_best_writes_the_kernel_and_shows_the_way(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "best.py"
    assert main(["best", "--journal", str(folder), "-o", str(target)]) == 0
    assert target.read_text().endswith("c = 4\n")
    out = capsys.readouterr().out
    assert out.index(" c0 ") < out.index(" c2 ")
    assert "c1" not in out.split("\n", 1)[1]


def test_diff(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "c2", "--journal", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "-b = 2" in out
    assert "+c = 4" in out
    assert main(["diff", "c1", "c2", "--journal", str(folder)]) == 0
    assert "-b = 2" not in capsys.readouterr().out


def test_an_entry_shows_what_the_journal_knows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Journal.write(folder) as journal:
        again = journal.begin("gemm", {"seed": 1})
        for step, (verdict, time) in enumerate((("pass", 400.0), ("pass", 200.0), ("unknown", None), ("pass", 200.0))):
            source = journal.put(f"x = {min(step, 2)}" if step < 3 else "x = 1")
            parent = "c0" if step else None
            name = "lds-swizzle" if step else "naive"
            again.record(
                step,
                f"candidate:{step}",
                "candidate",
                {"id": f"c{step}", "parent": parent, "source": source, "technique": name, "params": {}},
            )
            said = {"candidate": f"c{step}", "verdict": verdict, "evidence": f"e{step}"}
            wrong = [] if time else [{"rule": "bank_free"}, {"rule": "bank_free"}]
            times = {"M=1": time} if time else {}
            again.record(step, f"judgement:{step}", "judgement", {**said, "times": times, "violations": wrong})
    assert main(["kb", "show", "lds-swizzle", "--journal", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "tried 2 times, 1 passed, 1 undecided" in out, "the same source counts once"
    assert "the judge named: bank_free 1" in out
    assert "median 2.00, most 2.00 (gemm, 400.0 to 200.0 us" in out
    assert main(["kb", "show", "lds-swizzle", "--journal", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"][0]["evidence"]["gains"][0]["after_us"] == pytest.approx(200.0)


def test_winners_are_judged_again_with_the_data_they_were_judged_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "journal"
    asked = [str(small_task(tmp_path)), "--budget", "1", "--seed", "3", "--workers", "1"]
    assert main(["optimize", *asked, "--journal", str(folder), "--json"]) == 0
    assert main(["verify-all", "--journal", str(folder)]) == 0
    assert "same evidence" in capsys.readouterr().out
    with Journal.write(folder) as journal:
        (first,) = journal.runs()
        forged = journal.begin(first.task, dict(first.config))
        for event in list(journal.events(first.id)):
            payload = {**event.payload, "evidence": "0" * 64} if event.kind == "judgement" else event.payload
            forged.record(event.step, event.key, event.kind, payload)
    assert main(["verify-all", "--journal", str(folder)]) == 1
    assert "OTHER evidence" in capsys.readouterr().out


def test_a_task_with_imports_and_sizes_in_any_order_is_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The journal keeps a problem with sorted keys; the signature's order is another one. Files beside it are kept."""
    source = small_task(tmp_path).read_text().replace("M", "Z")
    owner = 'PART = ag.Owner(lane=64, n="lane")\n'
    assert owner in source
    (tmp_path / "parts.py").write_text(f"import argus as ag\n\n{owner}")
    task = tmp_path / "rows.py"
    task.write_text(
        source.replace(owner, "").replace("import argus as ag\n", "import argus as ag\nfrom parts import PART\n")
    )
    folder = tmp_path / "journal"
    asked = [str(task), "--budget", "3", "--workers", "1", "--journal", str(folder)]
    assert main(["optimize", *asked, "--json"]) == 0
    capsys.readouterr()
    (tmp_path / "parts.py").unlink()
    assert main(["verify-all", "--journal", str(folder)]) == 0
    assert "pass, same evidence" in capsys.readouterr().out
    assert main(["history", "--journal", str(folder), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert set(run["best"]["imports"]) == {"parts"}
    assert all(shape.startswith("Z=") for shape in run["best"]["judgement"]["times"])


def test_a_task_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", str(tmp_path / "nothere.py"), "--journal", str(tmp_path / "journal")]) == 2
    said = capsys.readouterr().err
    assert "error[AG100]: cannot read" in said
    assert "Errno" not in said


WINNER = JournalCandidate(
    "c1", 1, None, "s", {}, "tile", {}, "", {"verdict": "pass", "times": {"M=1": 5.0}, "evidence": "e"}
)
PASSED = Judgement("pass", "time", times={"M=1": 5.0}, evidence="e")
NO_GPU = Judgement("error", "time", (Violation("measure", "no HIP runtime", status="error"),))


@pytest.mark.parametrize(
    ("again", "device", "same_program", "code", "says"),
    [
        (PASSED, "simulated", True, 0, "same evidence"),
        (replace(PASSED, evidence="f"), "simulated", True, 1, "OTHER evidence"),
        (replace(PASSED, evidence="f"), "simulated", False, 0, "judged by another version"),
        (replace(PASSED, evidence="f", times={"M=1": 4.0}), "simulated", False, 1, "OTHER times: 4.0 µs, then 5.0 µs"),
        (replace(PASSED, times={"M=1": 4.0}), "hip", True, 0, "same evidence"),
        (replace(PASSED, evidence="f", times={"M=1": 4.0}), "hip", False, 0, "judged by another version"),
        (Judgement("fail", "small", (Violation("result", "m"),)), "hip", False, 1, "OTHER verdict: fail at small"),
        (NO_GPU, "hip", True, 3, "cannot be judged here: no HIP runtime"),
    ],
)
def test_an_update_is_no_forgery(again: Judgement, device: str, same_program: bool, code: int, says: str) -> None:
    found, said = compared(WINNER, again, device, same_program=same_program)
    assert found == code
    assert says in said


def test_without_a_gpu_a_run_ends_without_a_winner(tmp_path: Path) -> None:
    asked = [str(small_task(tmp_path)), "--device", "hip", "--budget", "1", "--workers", "1"]
    assert main(["optimize", *asked, "--journal", str(tmp_path / "journal"), "--json"]) == 1


def test_what_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["diff", "c0", "--journal", str(folder)]) == 2
    assert main(["diff", "zz", "--journal", str(folder)]) == 2
    assert main(["best", "nosuch", "--journal", str(folder)]) == 2
    assert main(["history", "--journal", str(tmp_path / "none")]) == 2
    assert "ARG-J102" in capsys.readouterr().err
