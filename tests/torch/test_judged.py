"""A task judged as a whole: solved only if sampled workgroups at full size are right."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")

from argus.bench.kernelbench import judging
from argus.bench.kernelbench.full_size import FullSize
from argus.bench.kernelbench.summary import line, summary
from argus.bench.kernelbench.task_files import TaskFile

TASK = """
import torch

rows = 70
width = 5000


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


def get_inputs():
    return [torch.randn(rows, width)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def task(tmp_path: Path) -> TaskFile:
    path = tmp_path / "1_Small.py"
    path.write_text(TASK)
    return TaskFile(1, 1, "Small", path)


def test_solved_with_what_was_sampled(task: TaskFile) -> None:
    record = judging.judged(task, "f32", timed=False)
    assert record["status"] == "solved", record
    full = record["full_size"]
    assert full["launches"] == record["launches"] == 1
    assert full["blocks"] >= 3
    assert full["elements"] > 1000
    assert full["worst"] <= 1
    assert f"{full['elements']} elements of {full['blocks']} workgroups right at full size" in line(record, {})


def test_wrong_and_unsampled_tasks_are_not_solved(task: TaskFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "at_full_size", lambda plan: FullSize(wrong=["launch 0 (f): Y[7] is not written"]))
    wrong = judging.judged(task, "f32", timed=False)
    assert (wrong["status"], wrong["code"]) == ("wrong", "ARG-G108")
    assert wrong["reason"] == "at full size, launch 0 (f): Y[7] is not written"
    monkeypatch.setattr(judging, "at_full_size", lambda plan: FullSize(not_sampled=["launch 0 (f): atomics"]))
    unsampled = judging.judged(task, "f32", timed=False)
    assert (unsampled["status"], unsampled["not_sampled"]) == ("unsampled", ["launch 0 (f): atomics"])
    assert summary([wrong, unsampled], {})[0] == "level 1: 2 tasks: 1 unsampled, 1 wrong"
