"""The whole comparison as a file: which sizes, lines that hold are not made again, and what is said of them in all."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from argus.bench import gemm_lines, hipblaslt_best, table_work
from argus.bench.gemm import GemmRow
from argus.bench.gemm_lines import Lines, made
from argus.bench.gemm_sizes import WHICH, inference, layers, sizes
from argus.bench.gemm_summary import report, summary
from argus.bench.hipblaslt import HipblasltError
from argus.bench.kept import Timed
from argus.bench.others import Best, Yardstick
from argus.bench.our_product import our_product
from argus.bench.table_work import TableWork
from argus.cli.arguments import choices
from argus.cli.main import main
from argus.clock.paired import decided
from argus.clock.uncertainty import Interval, Regime
from argus.cluster import HerePool, WorkerDiedError
from argus.cluster.process_pool import ProcessPool
from argus.ops.choice import NoKernel

SHAPE = (512, 1024, 256)
INTERVAL = Interval(1.0, 3.0, Regime.SMALL)


def died(item: int) -> None:
    os._exit(item)


def tables(root: Path) -> Path:
    folder = root / "Cijk_Alik_Bljk_BBS_BH_UserArgs"
    folder.mkdir()
    found = [[1024, 512, 1, 256, 7, 0.0], [64, 64, 1, 64, 7, 0.0], [96, 32, 1, 64, 7, 0.0], [64, 64, 12, 64, 7, 0.0]]
    (folder / "table.json").write_text(json.dumps({"kind": "Equality", "rows": found}))
    return root


def row(shape: tuple[int, int, int], ratio: float, kind: Yardstick = Yardstick.CHOICE, **missing: str) -> GemmRow:
    others = {"hipBLASLt": Best(2.0 * ratio, "solution 7", 1, (), INTERVAL, kind)}
    pair = decided(-math.log(ratio), [], 0.1)
    return GemmRow(shape, Timed(2.0, 2100.0, "", INTERVAL), "matmul", {} if missing else others, pair, {}, missing)


def test_sizes_of_a_table_are_in_our_words_and_without_batches(tmp_path: Path) -> None:
    found = sizes("table", tables(tmp_path))
    assert found.shapes == ((32, 96, 64), (64, 64, 64), SHAPE)
    assert found.left_out == ("1 entries of the tables are batched products",)
    assert sizes("squares", tmp_path).shapes[0] == (64, 64, 64)
    assert sizes("published", tmp_path).shapes[0] == (1024, 1024, 1024)


def test_drawn_sizes_follow_from_the_seed_and_are_all_if_there_are_few(tmp_path: Path) -> None:
    tables(tmp_path)
    assert sizes("drawn", tmp_path, count=2, seed=5) == sizes("drawn", tmp_path, count=2, seed=5)
    assert len({sizes("drawn", tmp_path, count=2, seed=seed).shapes for seed in range(20)}) == 3
    assert sizes("drawn", tmp_path, count=20).shapes == sizes("table", tmp_path).shapes


def test_layers_of_language_models_are_thirty_with_their_sources() -> None:
    assert len(layers()) == 30
    assert {m for m, _, _ in layers()} >= {1, 16384}
    assert all("config" in model for model in inference()["models"].values())
    assert layers()[16, 8192, 8192] == "Llama-3-70B o"


def test_tables_that_are_not_there_are_named(tmp_path: Path) -> None:
    assert choices.GEMM_SIZES == WHICH
    with pytest.raises(HipblasltError, match="no folder is given"):
        sizes("table")
    with pytest.raises(HipblasltError, match="no table Cijk_"):
        sizes("drawn", tmp_path)


def test_a_line_that_holds_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []

    def one(shape: tuple[int, int, int], *_: object) -> GemmRow:
        asked.append(shape)
        return row(shape, 1.5)

    objects = ["an object"]
    monkeypatch.setattr(table_work.gemm, "gemm_row", one)
    monkeypatch.setattr(hipblaslt_best, "identity", lambda *_: objects)
    path = tmp_path / "out" / "rows.jsonl"
    works = [TableWork("gemm", shape, hipblaslt="objects", triton="none") for shape in (SHAPE, (64, 64, 64))]

    def again(works: list[TableWork]) -> int:
        asked.clear()
        with HerePool() as pool:
            lines = list(made(Lines(path), pool, works))
        assert [line.row.shape for line in lines] == asked
        return len(asked)

    assert again(works) == 2
    assert again(works) == 0
    assert [line.row for line in Lines(path).latest()] == [row(work.shape, 1.5) for work in works]  # type: ignore[arg-type]
    path.write_text(path.read_text()[:-30])
    assert Lines(path).broken == 1
    assert again(works) == 1
    assert Lines(path).broken == 1, "what was cut off stays a line of its own"
    assert again([replace(work, clocks=20) for work in works]) == 2
    objects.append("another")
    assert again(works) == 2
    for name in ("clock_digest", "toolchain", "_source"):
        with monkeypatch.context() as changed:
            changed.setattr(gemm_lines, name, lambda *_: "changed")
            assert again(works) == 2
        assert Lines(path).latest()[0].present == (name != "clock_digest")
    found = Lines(path)
    assert len(found.lines) > len(found.latest()) == 4
    assert sorted(len(lines) for lines in found.groups().values()) == [2, 2]


def test_ours_is_one_choice_beyond_two_gib_too() -> None:
    for shape, dtype in (
        ((2097152, 7168, 8192), "bf16"),
        ((300_001, 8192, 8192), "f16"),
        ((262144, 1024, 8192), "fp8"),
    ):
        ours = our_product(shape, dtype, "NN" if dtype == "f16" else "TN")
        assert (ours.shape, ours.text()) == (shape, ours.choice.text())
    with pytest.raises(NoKernel, match="split the product"):
        our_product((64, 64, 1 << 26), "bf16", "NT")


def test_means_stand_apart_for_what_is_comparable_to_different_degrees() -> None:
    text = summary([
        row((64, 64, 64), 2.0), row(SHAPE, 0.5), row((16, 8192, 8192), 1.1, Yardstick.NEAR),
        row((2, 4096, 8192), 0.9, Yardstick.DIVIDED), row((3, 3, 3), 9.0, ours="no kernel"),
    ])  # fmt: skip
    mine, divided, near, *left = text.splitlines()
    assert mine.startswith("* 2 sizes beside its choice: ours to the best simulated other: geometric mean 1.00, ")
    assert mine.endswith("faster at 1, tie at 0, slower at 1; below 0.95 at 1 (512 x 1024 x 256)")
    assert "added by our combine" in divided
    assert "1 sizes beside the fastest of its near solutions, not its choice" in near
    assert left == ["* 1 sizes left out, in no mean:", "  * ours: no kernel (3 x 3 x 3)"]
    assert summary([]) == "no rows"


def test_a_file_is_shown_without_running_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = Lines(tmp_path / "rows.jsonl")
    how = gemm_lines.how(TableWork("gemm", SHAPE, hipblaslt="objects", triton="none"))
    held.add(gemm_lines.Line("key", "model 9", "another", "others", how, 3.0, row(SHAPE, 1.5)))
    assert "holds no row" in report(Lines(tmp_path / "none.jsonl"))
    assert main(["bench", "gemm", "--out", str(held.path), "--print"]) == 0
    text = capsys.readouterr().out
    assert "### gemm bf16 TN, protocol stream, beside hipblaslt" in text
    assert "model 9; 3 s of CPU; 1 of 1 lines are not of the present clock" in text
    assert "geometric mean 1.50" in text
    assert main(["bench", "gemm", "--out", str(held.path), "--print", "--json"]) == 0
    held.add(replace(held.lines[0], how={**how, "nearest": 4, "clocks": 20}))
    assert "protocol stream, 4 near solutions without an entry, 20 perturbed clocks, beside hipblaslt" in report(held)
    (found,) = json.loads(capsys.readouterr().out)["results"]
    assert found["rows"][0]["others"]["hipBLASLt"]["kind"] == "its choice"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--print"], "--out FILE --print"),
        (["--nearest", "-1"], "--nearest takes 0 or more"),
        (["--sizes", "drawn", "--count", "0"], "--count 1 or more"),
        (["--sizes", "table"], "no folder is given"),
    ],
)
def test_mistakes_end_in_a_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gemm", *words]) == 2
    assert said in capsys.readouterr().err


def test_files_of_rows_are_for_products(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "softmax", "--out", str(tmp_path / "rows.jsonl")]) == 2
    assert "--out and --print are for gemm alone" in capsys.readouterr().err


def test_processes_answer_in_order_and_one_that_dies_is_named() -> None:
    with ProcessPool(2) as pool:
        waiting = [pool.ask("argus.cluster.work:presence", n) for n in range(5)]
        assert [each.result().value for each in waiting] == list(range(5))
        with pytest.raises(WorkerDiedError, match="a process died on tests"):
            pool.ask("tests.ops.test_gemm_lines:died", 1).result()
