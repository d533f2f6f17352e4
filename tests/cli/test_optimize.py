"""`argus optimize` from the command line: what a run is begun with, is resumed with, and leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from argus.agent.journal import Journal
from argus.agent.journal.lineage import Story
from argus.agent.judge import Judgement
from argus.agent.policy import PolicyTable
from argus.agent.policy_file import read_policy, write_policy
from argus.agent.providers import Reply, Request
from argus.cli import optimize
from argus.cli.main import main
from argus.tasks.task import Task, load_task
from bench.agent_kills import small_task
from examples.agent.record import silent
from tests.agent.test_search import Scripted

LINE = 'FRAG = MMA.operand(row="row", k="k")'
Command = Callable[..., int]


class Quick(Scripted):
    """Stands for the pool of judges; keeps the seeds of the data."""

    seeds: ClassVar[list[int]] = []

    def __init__(self, workers: int = 1, remembered: object = None, pool: object = None) -> None:
        super().__init__()

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        self.seeds.append(seed)
        return super().judge(sources, task, seed=seed)

    def __enter__(self) -> Quick:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Model:
    """Adds a comment to one line with every answer; each takes 100 tokens, the `cut` first ones end too early."""

    def __init__(self, name: str, cut: int = 0, stops_after: int = 99) -> None:
        self.name = name
        self.cut = cut
        self.left = stops_after
        self.seen: list[Request] = []

    def ask(self, request: Request) -> Reply:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.seen.append(request)
        said = "half a fi" if len(self.seen) <= self.cut else self._edit(request.turns[-1].text)
        return Reply(said, "m", 60, 40, len(self.seen) <= self.cut)

    def _edit(self, text: str) -> str:
        old = next(line for line in text.splitlines() if line.startswith(LINE))
        return f"One more.\n\n<<<<<<< SEARCH\n{old}\n=======\n{old} # {len(self.seen)}\n>>>>>>> REPLACE"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setattr(optimize, "Judges", Quick)
    monkeypatch.setattr(optimize, "BenchTools", lambda bench: silent)
    monkeypatch.setattr(Quick, "seeds", [])

    def run(*words: str) -> int:
        return main(["optimize", *words, "--journal", str(tmp_path / "journal")])

    return run


@pytest.fixture
def talking(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Model]:
    """Every provider is this model."""

    def make(**kinds: int) -> Model:
        model = Model("openai:m", **kinds)
        monkeypatch.setattr(optimize, "choose", lambda name: None if name == "builtin" else model)
        return model

    return make


def story(tmp_path: Path) -> Story:
    with Journal.read(tmp_path / "journal") as journal:
        return Story.of(journal)


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_models_run_is_judged_with_the_seed_of_the_data(command: Command, talking: Callable[..., Model]) -> None:
    talking()
    assert command("gemm", "--provider", "openai:m", "--seed", "3", "--data-seed", "5", "--budget", "3") == 0
    assert set(Quick.seeds) == {5}


def test_winners_of_a_models_run_are_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With real judges: the evidence is made again with the data it was made with."""
    (tmp_path / "model.py").write_text("print('no edit')")
    words = [str(small_task(tmp_path)), "--provider", f"command:python3 {tmp_path / 'model.py'}", "--seed", "3"]
    journal = ["--journal", str(tmp_path / "journal")]
    assert main(["optimize", *words, "--budget", "2", "--workers", "1", "--json", *journal]) == 0
    assert main(["verify-all", *journal]) == 0


def test_experience_is_added_to_never_erased(
    command: Command, talking: Callable[..., Model], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.json"
    held = PolicyTable()
    held.learn(("row", "hbm", "row-vectors"), 0.5, 0)
    write_policy(held, path)
    before = path.read_text()
    talking()
    assert command("gemm", "--provider", "openai:m", "--policy", str(path), "--budget", "3") == 0
    assert path.read_text() == before, "a model's run has learnt nothing that has a name"
    assert command("gemm", "--policy", str(path), "--budget", "6", "--json") == 0
    after = read_policy(path)
    assert after.rows["row", "hbm", "row-vectors"] == held.rows["row", "hbm", "row-vectors"]
    assert (after.updates, len(after.runs)) == (6, 1)
    assert command("--resume", "--policy", str(path)) == 0
    assert read_policy(path).to_json() == after.to_json(), "a run is learnt from once"
    other = tmp_path / "other.json"
    write_policy(held, other)
    assert command("--resume", "--policy", str(other)) == 0
    assert read_policy(other).updates == 6


def test_a_run_goes_on_as_it_was_begun(
    command: Command, talking: Callable[..., Model], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = talking(stops_after=1)
    assert command("gemm", "--provider", "openai:m", "--budget", "4", "--seed", "1") == 2
    assert story(tmp_path).ended is None
    for words in (
        ("--budget", "30"),
        ("--seed", "2"),
        ("--provider", "builtin"),
        ("--device", "hip"),
        ("--no-feedback",),
        ("--max-tokens", "9"),
    ):
        capsys.readouterr()
        assert command("--resume", *words) == 2
        assert f"{words[0]} does not go with run" in capsys.readouterr().err
    model.left = 99
    assert command("--resume", "--budget", "4") == 0
    assert len(model.seen) == 3, "what was asked before is not asked again"
    assert len(story(tmp_path).candidates) == 4


def test_tokens_are_counted_over_the_whole_run(
    command: Command, talking: Callable[..., Model], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """300 tokens are three answers, however often the run is stopped; then it ends with the best so far."""
    best = tmp_path / "best.py"
    words = ("gemm", "--provider", "openai:m", "--max-tokens", "300", "--budget", "9")
    model = talking(stops_after=2)
    assert command(*words) == 2
    model.left = 99
    assert command("--resume", "-o", str(best), "--json") == 0
    out = capsys.readouterr().out
    said = json.loads(out[out.index("{\n") :])
    assert len(model.seen) == 3
    assert "ARG-P108" in said["ended"]
    assert "300 of 300 tokens" in said["ended"]
    assert best.exists()
    assert story(tmp_path).ended is not None


def test_the_limit_of_a_day_holds_over_runs_and_a_run_goes_on_the_next(
    command: Command,
    talking: Callable[..., Model],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ARGUS_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setenv("ARGUS_CALLS_PER_DAY", "2")
    model = talking()
    assert command("gemm", "--provider", "openai:m", "--budget", "4") == 2
    assert "ARG-P113" in capsys.readouterr().err
    assert len(model.seen) == 2
    assert command("--resume") == 2
    assert len(model.seen) == 2
    (tmp_path / "ledger").unlink()  # another day
    assert command("--resume") == 0
    assert len(model.seen) == 3


def test_an_answer_that_was_cut_off_is_told_back(
    command: Command, talking: Callable[..., Model], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = talking(cut=1)
    assert command("gemm", "--provider", "openai:m", "--budget", "3") == 0
    assert [c.verdict for c in story(tmp_path).candidates] == ["pass", "pass", "pass"]  # it did not count
    assert "ARG-P107" in model.seen[1].turns[-1].text


def test_a_limit_on_tokens_nobody_counts_is_refused(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("gemm", "--provider", "command:true", "--max-tokens", "1000") == 2
    assert "ARG-P112" in capsys.readouterr().err


def test_a_model_reads_the_lessons_and_a_persons_notes(
    command: Command, talking: Callable[..., Model], tmp_path: Path
) -> None:
    path, text = tmp_path / "p.json", tmp_path / "p.json.md"
    assert command("gemm", "--policy", str(path), "--budget", "6") == 0
    assert "version 1" in text.read_text()
    assert "attempts: 5" in text.read_text()
    text.write_text(text.read_text() + "\nSquare products: never split k.\n")
    model = talking()
    assert command("gemm", "--provider", "openai:m", "--policy", str(path), "--budget", "2") == 0
    first = model.seen[0].turns[0].text
    assert "> gemm, bottleneck" in first
    assert "never split k" in first
    assert command("gemm", "--policy", str(path), "--budget", "6", "--seed", "1") == 0
    assert "version 2" in text.read_text()
    assert text.read_text().count("never split k") == 1
    assert text.read_text().count("What runs have taught") == 1


def test_a_persons_edit_is_a_candidate_and_is_built_upon(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(load_task("gemm").source.replace(LINE, f"{LINE}  # .xor( a0 = ag.schedule"))
    assert command("gemm", "--edit", str(mine), "--budget", "8") == 0
    found = story(tmp_path)
    edit = found.candidates[1]
    assert (edit.technique, edit.parent, edit.verdict) == ("edit", "c0", "pass")
    assert found.candidates[2].parent == edit.id, "it is the best, so the search goes on from it"
    with Journal.read(tmp_path / "journal") as journal:
        policy = next(journal.events(kind="policy")).payload
        origins = [event.payload["origin"] for event in journal.events(kind="candidate")]
    assert origins[:3] == ["builtin", "person", "builtin"]
    assert not any(row["key"][2] == "edit" for row in policy["rows"])
    assert command("--resume") == 0, "taken up at the same place again"
    assert command("--resume", "--edit", str(mine)) == 2, "the run has ended"
    assert command("gemm", "--edit", str(mine), "--budget", "1") == 0
    assert "is spent, an edit is left" in capsys.readouterr().out


def test_an_edit_in_the_middle_of_a_run(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(load_task("gemm").source + "\n# mine\n")
    whole = Quick.judge

    def stops(self: Quick, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        if len(self.asked) >= 3:
            raise KeyboardInterrupt
        return whole(self, sources, task, seed=seed)

    monkeypatch.setattr(Quick, "judge", stops)
    assert command("gemm", "--budget", "9") == 2
    held = [c.source for c in story(tmp_path).candidates]
    monkeypatch.setattr(Quick, "judge", whole)
    assert command("--resume", "--edit", str(mine)) == 0
    found = story(tmp_path).candidates
    assert [c.source for c in found][: len(held)] == held
    (edit,) = [c for c in found if c.technique == "edit"]
    assert int(edit.id[1:]) >= len(held)
    assert command("--resume") == 0


def test_what_is_tried_is_shown_before_it_is_judged(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command("gemm", "--budget", "4") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "simulated MI300X" in lines[1]
    tried = [n for n, line in enumerate(lines) if line.startswith("     trying")]
    judged = [n for n, line in enumerate(lines) if "  step " in line]
    assert len(tried) == len(judged) == 4
    assert all(before < after for before, after in zip(tried, judged, strict=True))
    assert "bottleneck" in lines[tried[1]]
    assert any(line.startswith("ended: the budget of 4") for line in lines)
    assert any(line.startswith("learnt: gemm") for line in lines)


def test_a_run_leaves_its_page(command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command("gemm", "--budget", "4", "--json") == 0
    said = result(capsys)
    assert Path(said["report"]) == tmp_path / "journal" / f"{said['run']}.html"
    page = Path(said["report"]).read_text()
    assert "613.1" in page
    assert "matmul.py" in page
    assert "µs simulated" in page
    assert "What was learnt" in page
    assert command("gemm", "--budget", "2", "--report", str(tmp_path / "mine.html")) == 0
    assert f"the report: {tmp_path / 'mine.html'}" in capsys.readouterr().out
    assert command("gemm", "--budget", "2", "--no-report", "--json") == 0
    assert result(capsys)["report"] is None
