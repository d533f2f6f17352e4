"""The interface that a cluster has, without one: order, what travels, which Argus answers."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from argus.bench.memory import MemoryRow, memory_row
from argus.bench.table_work import TableWork, lists, rows
from argus.cli.main import main
from argus.cluster import ClusterError, HerePool, WorkAnswer, WorkerDiedError, answers, work
from argus.cluster.environment import allowed, without_secrets
from argus.cluster.pool import Later

DOUBLED = "tests.ray.works:doubled"


@dataclass
class Shuffled(HerePool):
    """Does what is asked when it is asked, and remembers how many were under way at once."""

    ahead: int = 5
    under_way: int = 0
    most: int = 0
    done: list[Any] = field(default_factory=list)

    def ask(self, work: str, item: Any) -> Later:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        made = super().ask(work, item)

        def result() -> WorkAnswer:
            self.under_way -= 1
            if item == 13:
                raise WorkerDiedError("3 workers in a row died of this work")
            return made.result()

        return Later(result)


def test_answers_are_in_order_and_few_are_under_way() -> None:
    pool = Shuffled()
    items = [n for n in range(20) if n != 13]
    assert [found.value for found in answers(pool, DOUBLED, items)] == [2 * n for n in items]
    assert pool.most == 5


def test_work_that_ends_every_worker_is_answered_for_or_raised() -> None:
    def died(item: int, error: WorkerDiedError) -> str:
        return f"{item} {error.code}"

    found = [answer.value for answer in answers(Shuffled(), DOUBLED, [12, 13, 14], died)]
    assert found == [24, "13 ARG-R104", 28]
    with pytest.raises(WorkerDiedError):
        list(answers(Shuffled(), DOUBLED, [12, 13, 14]))


def test_what_travels_is_a_name_and_json() -> None:
    question = work.asked(DOUBLED, 21)
    assert json.loads(question)["work"] == DOUBLED
    answer = json.loads(work.answered(question, "a node"))
    assert answer["answer"] == 42
    assert answer["machine"] == {**work.machine(), "node": "a node"}


@pytest.mark.parametrize("what", ["python", "llvmlite", "z3-solver", "numpy", "files of argus", "files of tests"])
def test_every_difference_of_the_program_is_named(what: str) -> None:
    question = json.loads(work.asked(DOUBLED, 1))
    question["argus"][what] = "another"
    with pytest.raises(ClusterError, match=f"^ARG-R103: the worker on .* has another Argus: {what} .* there, another"):
        work.answered(json.dumps(question))


def test_a_changed_file_is_another_argus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(work, "PACKAGE", tmp_path)
    before = work.identity.__wrapped__("argus")
    (tmp_path / "a.py").write_text("x = 2\n")
    assert work.identity.__wrapped__("argus") != before


@pytest.mark.parametrize(
    ("name", "travels"),
    [
        ("PATH", True), ("HOME", True), ("ARGUS_CACHE", True), ("LC_ALL", True), ("PYTHONPATH", True),
        ("ANTHROPIC_API_KEY", False), ("OPENAI_API_KEY", False), ("ARGUS_API_KEY", False), ("RAY_AUTH_TOKEN", False),
        ("GITHUB_TOKEN", False), ("AWS_SECRET_ACCESS_KEY", False), ("DATABASE_URL", False), ("SSH_AUTH_SOCK", False),
    ],
)  # fmt: skip
def test_variables_that_a_local_ray_may_see(name: str, travels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "value")
    assert allowed(name) is travels
    with without_secrets({"RAY_SOMETHING": "1"}):
        assert (name in os.environ) is travels
        assert os.environ["RAY_SOMETHING"] == "1"
    assert os.environ[name] == "value"
    assert "RAY_SOMETHING" not in os.environ


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    journal = str(tmp_path / "journal")
    assert main(["optimize", "softmax", "--ray", "auto", "--journal", journal]) == 2
    assert capsys.readouterr().err == (
        "error[ARG-R102]: `--ray` needs the package ray, which is not installed: pip install 'argus-kernels[ray]'\n"
        "  = help: argus explain ARG-R102\n"
    )
    assert not Path(journal).exists()


@pytest.mark.parametrize("words", [["--workers", "0"], ["--write", "--search", "--ray", "auto"]])
def test_wrong_words(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gemm", *words]) == 2
    assert capsys.readouterr().err.startswith("error: --")


def test_rows_travel_whole() -> None:
    """A row that was JSON on its way is the row that is made here."""
    (found,) = rows(HerePool(), MemoryRow, [TableWork("add", (256, 1024))])
    assert found == memory_row("add", 256, 1024)
    ((first, *_),) = lists(HerePool(), [TableWork("softmax", (64, 512), what="ablate")])
    assert first[0].startswith("as chosen")
    assert first[1].us > 0
