"""Tasks of KernelBench on Ray: the same records as from a process of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.bench.kernelbench.asking import ClusterTask, TaskProcess
from argus.bench.kernelbench.task_files import TaskFile, tasks_of
from argus.cluster import Pool

pytestmark = pytest.mark.full

RELU = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.rand(64, 96)]

def get_init_inputs():
    return []
"""
DIES = "import os\nos._exit(7)\n"


def judged(asker: TaskProcess | ClusterTask, task: TaskFile) -> dict[str, object]:
    """A record without what belongs to the machine."""
    record = asker.ask(task, "f32", timed=False)
    return {name: value for name, value in record.items() if name not in ("machine", "cpu_seconds")}


def test_records_are_the_same_as_alone(pool: Pool, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'argus-kernels[torch]'")
    folder = tmp_path / "level1"
    folder.mkdir()
    (folder / "1_ReLU.py").write_text(RELU)
    (folder / "2_Dies.py").write_text(DIES)
    alone, cluster = TaskProcess(), ClusterTask(pool)
    try:
        for task in tasks_of(tmp_path):
            assert judged(cluster, task) == judged(alone, task)
        solved, dead = (cluster.ask(task, "f32", timed=False) for task in tasks_of(tmp_path))
    finally:
        alone.close()
    assert (solved["status"], solved["machine"]["node"] != "") == ("solved", True)
    assert (dead["status"], dead["code"]) == ("failed", "ARG-G109")
    assert "ended with 7" in dead["reason"]
