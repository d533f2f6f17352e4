"""hipBLASLt as a contestant: its tables' own choice, what it relies on, and that absence is never a win."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from argus.bench import hipblaslt, hipblaslt_best
from argus.bench.gemm import GemmRow, gemm_row, summary
from argus.bench.gemm import table as table_of
from argus.bench.hipblaslt import Entry, HipblasltError, MissingSolutionError, Solution, Table, TableChoice
from argus.bench.kept import Kept, Timed
from argus.bench.others import Best, Others, Yardstick

PARAMETERS = {
    "MacroTile0": 64, "MacroTile1": 32, "DepthU": 64, "GlobalSplitU": 1, "NumThreads": 256, "StaggerU": 8,
    "AssertFree0ElementMultiple": 8, "AssertFree1ElementMultiple": 1, "AssertSummationElementMultiple": 32,
    "WorkGroupMappingXCC": 8, "WorkGroupMappingXCCGroup": -1, "WorkGroupMapping": 4, "_staggerStrideShift": 3,
    "StaggerUMapping": 1, "GlobalSplitUCoalesced": False, "GlobalSplitUWorkGroupMappingRoundRobin": False,
}  # fmt: skip
NAME = "Cijk_Alik_Bljk_BBS_BH_UserArgs"
ARGS = ["Gemm info", "kernel info0", "kernel info1", "numWG", "SizesFree0", "D", "strideA0", "strideB0", "alpha"]


def made(root: Path, name: str = NAME, kind: str = "Equality", **changed: object) -> Table:
    folder = root / name
    folder.mkdir(parents=True)
    rows = [[1024, 512, 1, 256, 7, 0.0], [4096, 4096, 1, 4096, 7, 0.0], [128, 128, 1, 128, 8, 8, 8, 8, 9, 0.0]]
    (folder / "table.json").write_text(json.dumps({"kind": kind, "rows": rows}))
    (folder / "7.co").write_bytes(b"no object")
    (folder / "7.json").write_text(json.dumps({**PARAMETERS, **changed}))
    (folder / "7.args").write_text("\n".join(ARGS))
    return Table(folder)


def test_an_exact_entry_is_taken_and_no_other_by_a_table_of_exact_sizes(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert found.choice(1024, 512, 1, 256).text() == "solution 7, 64x32x64, exact entry"
    with pytest.raises(HipblasltError, match="no entry for 1024 x 512 x 257"):
        found.choice(1024, 512, 1, 257)
    with pytest.raises(MissingSolutionError, match="solution 9 was not made"):
        found.choice(128, 128, 1, 128)


def test_a_grid_takes_the_nearest_entry_by_the_librarys_distance(tmp_path: Path) -> None:
    assert made(tmp_path, kind="GridBased").choice(1000, 500, 1, 300).how == "nearest entry 1024 x 512 x 256"


def test_the_distance_is_the_librarys() -> None:
    entry = Entry(1024, 512, 1, 256, 0, 0.0)
    assert hipblaslt.distance((1024, 512, 1, 256), entry) == 100
    assert hipblaslt.distance((1024, 512, 1, 512), entry) == 100 + 256 / (256 + 8 * 512)
    assert hipblaslt.distance((512, 512, 1, 256), entry) == 400
    assert hipblaslt.distance((2048, 512, 1, 256), entry) == 200
    assert hipblaslt.distance((40000, 512, 1, 256), entry) == 10000 * (40000 - 1024)


@pytest.mark.parametrize(
    ("size", "why"),
    [((1020, 512, 256), "multiples of 8, not 1020"), ((1024, 512, 250), "multiples of 32, not 250")],
)
def test_sizes_that_a_solution_does_not_state_are_refused(tmp_path: Path, size: tuple[int, int, int], why: str) -> None:
    solution = made(tmp_path).solution(7)
    with pytest.raises(HipblasltError, match=why):
        hipblaslt.work(solution, *size)


def test_a_split_of_k_is_refused(tmp_path: Path) -> None:
    assert "divides K by 4" in str(made(tmp_path, GlobalSplitU=4).solution(7).refusal(64, 64, 64))


def test_parts_left_in_a_workspace_are_added_by_our_own_kernel(tmp_path: Path) -> None:
    solution = made(tmp_path, GlobalSplitU=10, GlobalSplitUAlgorithm="MultipleBuffer").solution(7)
    assert solution.refusal(64, 64, 64, parts=True) is None
    assert "divides K by 10" in str(solution.refusal(64, 64, 64))
    assert solution.grid(128, 32) == 20
    added = hipblaslt.summed(solution, 64)
    assert (added.kernel, added.knobs["SPLITS"], added.knobs["DTYPE"]) == ("combine", 8, "bf16")
    assert "K in 10 parts, added by our combine" in TableChoice(solution, "exact entry").text()


def test_parts_added_by_the_last_workgroup_and_kernels_written_by_hand_are_refused(tmp_path: Path) -> None:
    last = made(tmp_path / "a", GlobalSplitU=8, GlobalSplitUAlgorithm="MultipleBufferSingleKernel").solution(7)
    assert "MultipleBufferSingleKernel" in str(last.refusal(64, 64, 64, parts=True))
    assert "written by hand" in str(made(tmp_path / "b", CustomKernelName="x").solution(7).refusal(64, 64, 64))


def test_near_solutions_take_part_only_where_no_table_says_anything(tmp_path: Path) -> None:
    made(tmp_path)
    kind, found = hipblaslt_best.candidates((512, 1000, 256), tmp_path, "bf16", "TN", nearest=3)
    assert (kind, [choice.how for choice in found]) == (Yardstick.NEAR, ["near entry 1024 x 512 x 256"])
    kind, found = hipblaslt_best.candidates((512, 1024, 256), tmp_path, "bf16", "TN", nearest=3)
    assert (kind, [choice.how for choice in found]) == (Yardstick.CHOICE, ["exact entry"])
    for nearest, shape, why in (
        (0, (512, 1000, 256), "no entry"),
        (3, (128, 128, 128), "solution 9 was not made"),
        (3, (512, 1001, 256), "no solution at hand may take 1001 x 512 x 256"),
    ):
        with pytest.raises(HipblasltError, match=why):
            hipblaslt_best.candidates(shape, tmp_path, "bf16", "TN", nearest)
        assert why in hipblaslt_best.identity(shape, tmp_path, "bf16", "TN", nearest)[0]


def test_the_fastest_near_solution_counts_and_says_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)
    for name in ("co", "json", "args"):
        (table.folder / f"8.{name}").write_bytes((table.folder / f"7.{name}").read_bytes())
    rows = [[1024, 512, 1, 256, 7, 0.0], [2048, 512, 1, 256, 8, 0.0]]
    (table.folder / "table.json").write_text(json.dumps({"kind": "Equality", "rows": rows}))
    times = {7: Timed(9.0, 2100.0), 8: Timed(5.0, 2100.0)}

    def timed(choice: TableChoice, *_: object) -> Timed:
        return times[choice.solution.index]

    monkeypatch.setattr(hipblaslt_best, "_time", timed)
    best = hipblaslt_best.hipblaslt_best((512, 1000, 256), tmp_path, Kept(None), "bf16", "TN", 4)
    assert (best.us, best.tried, best.kind) == (5.0, 2, Yardstick.NEAR)
    row = GemmRow((512, 1000, 256), Timed(5.0, 2100.0), "", {"hipBLASLt": best})
    assert "not its choice" in table_of([row])
    times.update({7: Timed(0.0, 0.0, "refused by the machine"), 8: Timed(0.0, 0.0, "refused by the machine")})
    with pytest.raises(HipblasltError, match=r"^refused by the machine$"):
        hipblaslt_best.hipblaslt_best((512, 1000, 256), tmp_path, Kept(None), "bf16", "TN", 4)


def test_files_beside_the_folders_are_no_tables(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / f"{NAME}.log").write_text("")
    assert [table.folder.name for table in hipblaslt.tables(tmp_path, "TN", "bf16")] == [NAME]


def test_a_size_beyond_our_kernels_is_named_and_its_rival_is_not_timed(tmp_path: Path) -> None:
    row = gemm_row((64, 64, 1 << 26), Others("none", hipblaslt=tmp_path), layout="NT")
    assert "split the product" in row.missing["ours"]
    assert list(row.missing) == ["ours"]
    assert row.ratio() is None
    assert "left out" in table_of([row])
    assert row.to_json()["tflops"] is None


def test_arguments_are_packed_as_the_library_does(tmp_path: Path) -> None:
    solution = made(tmp_path).solution(7)
    values = dict(zip(ARGS, hipblaslt.arguments(solution, "D", "A", "B", 1024, 512, 256), strict=True))
    assert values["kernel info0"] == (8 | 3 << 8 | 1 << 13) << 16 | 1
    assert values["kernel info1"] == 304 << 22 | 8 << 16 | 4
    assert values["numWG"] == 16 * 16
    assert (values["strideA0"], values["strideB0"]) == (256, 256)
    assert values["D"] == "D"


def test_layouts_say_what_runs_fastest(tmp_path: Path) -> None:
    for name, shapes in {
        "Cijk_Alik_Bljk_BBS_BH": ((10, 30), (20, 30), (20, 10)),
        "Cijk_Ailk_Bljk_BBS_BH": ((30, 10), (20, 30), (20, 10)),
        "Cijk_Ailk_Bjlk_BBS_BH": ((30, 10), (30, 20), (20, 10)),
    }.items():
        assert hipblaslt.stored(made(tmp_path, name).solution(7), 10, 20, 30) == shapes


def test_an_argument_nobody_knows_is_named(tmp_path: Path) -> None:
    solution = made(tmp_path).solution(7)
    (solution.folder / "7.args").write_text("mystery")
    with pytest.raises(HipblasltError, match="unknown arguments mystery"):
        hipblaslt.arguments(solution, "D", "A", "B", 64, 64, 64)


def test_an_object_that_does_not_load_is_named(tmp_path: Path) -> None:
    solution = made(tmp_path).solution(7)
    with pytest.raises(HipblasltError, match="solution 7"):
        hipblaslt.contestant(TableChoice(solution, "exact entry"), 1024, 512, 256)


def test_what_is_missing_is_named_and_counts_for_nobody(tmp_path: Path) -> None:
    row = gemm_row((64, 64, 64), Others("none", hipblaslt=tmp_path))
    assert "no table Cijk_" in row.missing["hipBLASLt"]
    assert row.ratio() is None
    assert "left out" in table_of([row])
    beside = GemmRow((64, 64, 64), Timed(1.0, 2100.0), "", {"Triton": Best(9.0, "", 1, ())}, missing=row.missing)
    assert summary([beside]) == "no other was simulated; 1 rows without a library that was asked for do not count"


def test_a_right_object_passes_its_check_and_a_wrong_one_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = TableChoice(made(tmp_path).solution(7), "exact entry")

    def wrong(solution: Solution) -> float:
        return 3.0

    monkeypatch.setattr(hipblaslt, "checked", wrong)
    with pytest.raises(HipblasltError, match=r"wrong by 3\.0 times"):
        hipblaslt.contestant(chosen, 1024, 512, 256)
