"""The table of seeds: what a file keeps, and what a share is."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.device.guards import element_strides
from argus.tasks.task import load_task
from bench.agent_seeds import LIBRARY, TASKS, LibraryRow, SearchRow, add_row, read_rows, seeds_of, table

ROW = SearchRow("softmax", 1, 40, "abc", 34.7, 9, 24, 61.0, "row-vectors > full-rows")
THEIRS = LibraryRow("softmax", "abc", "softmax WAVES=2", 34.0)


def test_a_line_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert read_rows(path) == []
    add_row(path, THEIRS)
    path.write_text(path.read_text() + '{"task": "soft')
    add_row(path, ROW)
    assert read_rows(path) == [THEIRS, ROW]


def test_a_share_is_the_librarys_time_over_the_one_found() -> None:
    (row,) = table([THEIRS, ROW]).splitlines()[2:]
    assert "| 98 % | 9 of 24 (40) | 61 | abc |" in row
    assert "softmax WAVES=2" in row


def test_seeds() -> None:
    assert seeds_of("0-2,7") == [0, 1, 2, 7]


@pytest.mark.parametrize("task", TASKS)
def test_library_kernels_have_the_sizes_of_their_task(task: str) -> None:
    sizes = load_task(task).shapes[0]
    for each in LIBRARY.get(task, ()):
        kernel = each.read()
        assert {shape.name for shape in kernel.shapes} <= {*sizes, *each.sizes}


def test_the_library_is_timed_with_the_contract_of_the_task() -> None:
    """B of the fp8 product by rows: the strides of the library's blocks are those of N x K."""
    (each,) = LIBRARY["fp8"]
    (b,) = [tensor for tensor in each.read().tensors if tensor.name == "B"]
    sizes = load_task("fp8").shapes[0]
    assert element_strides(each.read(), {**sizes, **each.sizes})[b.name] == (32 * sizes["K"], 16, sizes["K"], 1)
