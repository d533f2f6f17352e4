"""A task judged as a whole: solved only if sampled workgroups at full size are right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")

import torch

from argus.bench.kernelbench import judging, plan_digest
from argus.bench.kernelbench.full_size import FullSize
from argus.bench.kernelbench.summary import each_task, line, read_eager, read_published, summary, table
from argus.bench.kernelbench.task_files import TaskFile
from argus.ir.kernel import Kernel, KnobValue
from argus.torch.module_file import MadeModule

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


def test_what_torch_lacks_in_a_type_is_made_in_f32_and_rounded() -> None:
    """Average pooling of volumes in bf16 on the CPU; what torch has is run as it is."""
    x = torch.linspace(-1, 1, 4 * 6 * 6 * 6).reshape(1, 4, 6, 6, 6).to(torch.bfloat16)
    lacking, there = (pool(3) for pool in (torch.nn.AvgPool3d, torch.nn.MaxPool3d))
    with pytest.raises(NotImplementedError):
        lacking(x)
    [found] = judging.eager(MadeModule(lacking, (x,)))
    wanted = lacking(x.float())
    assert np.array_equal(found, wanted.to(torch.bfloat16).double().numpy())
    assert not np.array_equal(found, wanted.double().numpy())
    assert np.array_equal(judging.eager(MadeModule(there, (x,)))[0], there(x).double().numpy())


def test_wrong_and_unsampled_tasks_are_not_solved(task: TaskFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "at_full_size", lambda plan: FullSize(wrong=["launch 0 (f): Y[7] is not written"]))
    wrong = judging.judged(task, "f32", timed=False)
    assert (wrong["status"], wrong["code"]) == ("wrong", "ARG-G108")
    assert wrong["reason"] == "at full size, launch 0 (f): Y[7] is not written"
    monkeypatch.setattr(judging, "at_full_size", lambda plan: FullSize(not_sampled=["launch 0 (f): atomics"]))
    unsampled = judging.judged(task, "f32", timed=False)
    assert (unsampled["status"], unsampled["not_sampled"]) == ("unsampled", ["launch 0 (f): atomics"])
    assert summary([wrong, unsampled], {})[0] == "level 1: 2 tasks: 1 unsampled, 1 wrong"


def test_plans_made_again_have_the_digests_of_the_judgement(task: TaskFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the plan, a kernel's text or a parameter is another one."""
    judged = judging.judged(task, "f32", timed=False)["rests"]
    assert judging.judged(task, "f32", timed="plan")["rests"] == judged
    task.path.write_text(TASK.replace("* 2", "* 3"))
    other = judging.judged(task, "f32", timed="plan")["rests"]
    assert all(other[name] != judged[name] for name in ("plan", "reduced"))
    task.path.write_text(TASK)
    read = plan_digest.kernel_of

    def edited(file: str, kernel: str, knobs: tuple[tuple[str, KnobValue], ...]) -> Kernel:
        found = read(file, kernel, knobs)
        return replace(found, source=found.source + "\n# another text\n")

    monkeypatch.setattr(plan_digest, "kernel_of", edited)
    other = judging.judged(task, "f32", timed="plan")["rests"]
    assert all(other[name] != judged[name] for name in ("plan", "reduced"))


def test_a_table_counts_what_holds_and_lists_the_rest() -> None:
    solved = {"level": 1, "task": 2, "status": "solved", "family": "map", "unknown": 0}
    timed = {
        "level": 1,
        "task": 3,
        "status": "timed",
        "family": "map",
        "simulated_us": 2.0,
        "low_us": 1.0,
        "high_us": 4.0,
    }
    wrong = {"level": 1, "task": 5, "status": "wrong", "family": "scan", "unknown": 0}
    rows = table([solved, timed, wrong], {"L1_3": 4.0}, {1: [1, 2, 3, 4, 5, 6, 7]})
    assert rows[2] == "| 1 | map | 2 | 1 | 1 | 1 | 1 | 2.00 (1.00 to 4.00) | 1 of 1 |  |  |"
    assert rows[3] == "| 1 | scan | 1 | 0 | 1 | 0 | 0 |  |  | 5 wrong |  |"
    assert rows[4] == "| 1 | *all* | 7 | 1 | 2 | 1 | 1 | 2.00 (1.00 to 4.00) | 1 of 1 | 5 wrong | 1, 4, 6–7 |"


def test_a_row_for_every_task_has_published_times_beside_and_no_ratio_of_them(tmp_path: Path) -> None:
    file = tmp_path / "eager.csv"
    file.write_text("task,eager_min_ms,published_kernel_min_ms\nL1_1,0.2,1.5\nL1_2,,\n")
    known = {"level": 1, "status": "solved", "launches": 2, "simulated_us": 100.0, "low_us": 90.0, "high_us": 130.0}
    records = [{**known, "task": 1, "name": "One_"}, {**known, "task": 2, "name": "Two"}]
    assert each_task(records, read_eager(file), read_published(file))[2:] == [
        "| L1_1 | One | solved | 2 | 100 (90 to 130) | 200 | 2.00 | 1500 |",
        "| L1_2 | Two | solved | 2 | 100 (90 to 130) | none |  | none |",
    ]
