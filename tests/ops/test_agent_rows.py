"""`argus bench agents`: rows with objects of our own in place of compiled ones; a wrong or missing one wins nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from argus.bench.agents import gemm_problem, hip_compile, rows
from argus.bench.agents.attention_problem import AttentionProblem
from argus.bench.agents.gemm_problem import GemmProblem
from argus.bench.agents.hip_compile import Clang, ClangMissing
from argus.bench.agents.judging import compared
from argus.bench.agents.launching import Compilers
from argus.bench.agents.moe_problem import SMALL, MoeProblem
from argus.bench.agents.problem import F32, OursTimed, SmallCase, never_written
from argus.bench.agents.rows import AgentRow, AgentRun, agent_rows, steps_of
from argus.bench.agents.solutions import AgentSolution, AgentVariant, PublishedReference, SolutionSet
from argus.bench.agents.table import summary, table
from argus.bench.contestant import Contestant
from argus.bench.kept import Kept, Timed
from argus.cli.main import main
from argus.clock.paired import Paired
from argus.clock.staged import Operand
from argus.clock.uncertainty import Interval, Regime
from argus.ops.moe_reference import routing
from tests.machine.assembly import assemble

SCHEMA = Path(__file__).parents[2] / "docs/schemas/argus.bench.agents.json"
COPY = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
s_lshl_b32 s3, s2, 8
v_lshlrev_b32 v1, 2, v0
v_add_u32 v1, s3, v1
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
{change}
global_store_dword v1, v2, s[6:7]
s_endpgm
"""
RIGHT = assemble(COPY.format(change=""), args=2)
DOUBLED = assemble(COPY.format(change="v_add_f32 v2, v2, v2"), args=2)
SILENT = assemble("s_endpgm", args=2)
INVALID = assemble(".long 0xffffffff\ns_endpgm", args=2)
OBJECTS = {"right": RIGHT, "doubled": DOUBLED, "silent": SILENT, "invalid": INVALID, "junk": b"no object"}
OURS = Timed(100.0, 2100.0, "", Interval(80.0, 120.0, Regime.SMALL))


class CopyProblem:
    """Y = X; a stand-in for the three problems, whose sizes and operands are large."""

    axis = "N"

    def sizes(self, size: int) -> dict[str, int]:
        return {"N": size}

    def operands(self, size: int) -> dict[str, Any]:
        return {"X": Operand((size,), F32, 0), "Y": Operand((size,), F32, blank=True)}

    def small(self) -> SmallCase:
        x = np.arange(1, 129, dtype=np.float32)
        return SmallCase({"N": 128}, {"X": x, "Y": never_written((128,), F32)}, {"Y": x.astype(np.float64)})

    def ours(self, size: int, kept: Kept) -> OursTimed:
        return OursTimed(OURS, "copy", lambda: Contestant("ours", "", ()))


def solution(system: str, **changes: Any) -> AgentSolution:
    known: dict[str, Any] = {"problem": "gemm", "language": "hip", "file": f"{system}.cu", "kernel": "kernel"}
    known |= {"grid": ("cdiv(N, 64)",), "block": (64,), "arguments": {"x": "X", "y": "Y"}}
    known["variants"] = (AgentVariant(published_ms={"1024": 0.5}),)
    return AgentSolution(system=system, **{**known, **changes})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[AgentRow]]:
    """Rows of solutions whose compiled object is the one their file names."""
    monkeypatch.setattr(hip_compile, "clang", lambda named: Clang("clang", "19"))
    monkeypatch.setattr(hip_compile, "compiled", lambda text, flags, clang: OBJECTS[text.split("//")[0].split()[-1]])
    monkeypatch.setattr("argus.bench.agents.launching.device_text", lambda path, *_: path.read_text())
    for name in OBJECTS:
        (tmp_path / f"{name}.cu").write_text(name)

    def of(*solutions: AgentSolution, **changes: Any) -> list[AgentRow]:
        found = SolutionSet(
            source="us", solutions=solutions,
            references={"gemm": PublishedReference(name="library", published_ms={"1024": 0.25})},
        )  # fmt: skip
        whole = AgentRun(found, tmp_path, Compilers(), Kept(None), problems={"gemm": CopyProblem()}, **changes)
        return list(agent_rows(whole, sizes=[1024]))

    return of


def test_a_right_one_is_timed_and_compared(run: Callable[..., list[AgentRow]]) -> None:
    (row,) = run(solution("right", steps="bx % 2 + 1"))
    assert (row.status, row.reason) == ("right", "")
    assert row.error_share == 0.0
    assert row.theirs is not None
    assert row.verdict is not None
    assert row.verdict.ratio == pytest.approx(OURS.us / row.theirs.us)
    assert row.published_ratio == 0.5


def test_a_wrong_one_is_no_win(run: Callable[..., list[AgentRow]]) -> None:
    doubled, silent = run(solution("doubled"), solution("silent"))
    assert doubled.status == silent.status == "wrong"
    assert "of 128 elements are wrong, median of got ÷ wanted 2" in doubled.reason
    assert "128 of them never written" in silent.reason
    assert doubled.theirs is not None
    assert doubled.verdict is None
    assert silent.verdict is None
    (said,) = summary([doubled, silent])
    assert said == "2 rows: 0 right, 2 wrong, 0 left out; ours beside the 0 that are right and timed"
    assert silent.to_json()["error_share"] == "inf"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"system": "junk"}, ""),
        ({"system": "invalid"}, "ARG-M110"),
        ({"system": "right", "kernel": "other"}, "0 kernels other"),
        ({"system": "right", "block": ()}, "threads of its workgroup"),
        ({"system": "right", "grid": ("cdiv(Z, 64)",)}, "Z is not known"),
        ({"system": "right", "arguments": {"x": "X", "y": "X"}}, "no argument is an output"),
        ({"system": "right", "arguments": {"y": "Y"}}, "takes 2 arguments"),
        ({"system": "right", "block": (2048,)}, "2048 threads"),
        ({"system": "right", "file": "gone.cu"}, "no gone.cu"),
        ({"system": "right", "language": "triton"}, "--run-python"),
    ],
)
def test_what_cannot_take_part_is_named(run: Callable[..., list[AgentRow]], changes: dict[str, Any], why: str) -> None:
    (row,) = run(solution(**changes))
    assert row.status == "left out"
    assert row.reason
    assert why in row.reason
    assert row.verdict is None
    assert row.published_ms == 0.5, "the published figure stands beside"


def test_without_a_compiler_the_row_is_left_out(
    run: Callable[..., list[AgentRow]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(named: str | None) -> Clang:
        raise ClangMissing("no clang 17 or later")

    monkeypatch.setattr(hip_compile, "clang", missing)
    (row,) = run(solution("right"))
    assert (row.status, row.reason) == ("left out", "no clang 17 or later")


def test_a_right_one_that_is_not_timed_has_no_verdict(run: Callable[..., list[AgentRow]]) -> None:
    told, failed = run(solution("right", untimed="too long"), solution("right", steps="bx + NOWHERE"))
    assert told.status == failed.status == "right"
    assert told.reason == "not timed: too long"
    assert "NOWHERE is not known" in failed.reason
    assert told.verdict is failed.verdict is told.theirs is None


def test_sizes_of_a_variant_and_rows_without_the_clock(run: Callable[..., list[AgentRow]]) -> None:
    assert not run(solution("right", variants=(AgentVariant(sizes=(2048,)),)))
    (row,) = run(solution("right"), timing=False)
    assert row.status == "right"
    assert row.ours is row.theirs is None


def test_steps_of_every_workgroup() -> None:
    assert steps_of("bx + 1", {}, (3, 2, 1)) == [1, 2, 3, 1, 2, 3]
    assert steps_of("by * N", {"N": 5}, (2, 2, 1)) == [0, 0, 5, 5]


def test_the_table_says_where_figures_come_from() -> None:
    row = AgentRow(
        "Other", "64x64", "gemm", 1024, "right", "", 0.1, OURS, "", replace(OURS, us=1000.0),
        Paired("faster", 0.1, 0.08, 0.12, 0), 0.9, "library", 0.3,
    )  # fmt: skip
    text = table("gemm", [row, replace(row, status="left out", reason="a|b" * 80, theirs=None, verdict=None)])
    head, _, first, second = text.splitlines()
    assert head.count("(simulated") == 3
    assert head.count("(published)") == 2
    assert "| faster, 0.1 (0.08 to 0.12) | 900.0 | 0.333 (library) |" in first
    assert "left out: a/b" in second
    assert "…" in second


def test_references_are_those_of_the_problems() -> None:
    """Written once more with loops, at a few places."""
    case = GemmProblem().small()
    a, b = (case.arrays[name].astype(np.float64) for name in "AB")
    assert case.wanted["C"][3, 5] == pytest.approx(sum(a[3, k] * b[5, k] for k in range(gemm_problem.SMALL)))
    case = AttentionProblem().small()
    q, k, v = (case.arrays[f"{name}H"].astype(np.float64) for name in "QKV")
    weights = np.exp([q[1, 2, 9] @ k[1, 0, t] / np.sqrt(128) for t in range(10)])
    want = sum(weight * v[1, 0, t] for t, weight in enumerate(weights)) / weights.sum()
    assert np.allclose(case.wanted["OH"][1, 2, 9], want, rtol=1e-6)
    assert np.array_equal(case.wanted["O"][1, 9, 2], case.wanted["OH"][1, 2, 9])
    case = MoeProblem().small()
    arrays = case.arrays
    assert np.array_equal(arrays["IDS"], routing("uniform", SMALL["T"], SMALL["E"], SMALL["TOPK"]))
    x = arrays["X"][2].astype(float) * np.repeat(arrays["SX"][2].astype(float), 128)
    total = 0.0
    for expert, share in zip(arrays["IDS"][2], arrays["WEIGHTS"][2], strict=True):
        s1 = np.repeat(arrays["S1"][expert].reshape(8, 8).astype(float), 128, axis=1)
        first = np.array([(arrays["W1"][expert, n].astype(float) * s1[n // 128]) @ x for n in range(1024)])
        h = first[:512] / (1 + np.exp(-first[:512])) * first[512:]
        s2 = np.repeat(arrays["S2"][expert].reshape(8, 4).astype(float), 128, axis=1)
        total += float(share) * float((arrays["W2"][expert, 300].astype(float) * s2[300 // 128]) @ h)
    assert case.wanted["OUT"][2, 300] == pytest.approx(total)


def test_a_factor_of_two_and_a_row_left_out_are_wrong_and_rounding_is_not() -> None:
    want = np.random.default_rng(0).standard_normal((64, 64))
    assert compared(want * (1 + 2.0**-8), want).right
    assert not compared(2.0 * want, want).right
    assert not compared(np.where(np.arange(64)[:, None] < 63, want, 0.0), want).right


def test_the_command_answers_and_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "PROBLEMS", {"gemm": CopyProblem()})
    for words, why in (
        ([], "takes one folder"),
        ([str(tmp_path / "gone")], "takes one folder"),
        ([str(tmp_path)], "there is no "),
    ):
        assert main(["bench", "agents", *words]) == 2
        assert why in capsys.readouterr().err
    entry = {"system": "S", "problem": "gemm", "language": "hip", "file": "gone.cu", "kernel": "k", "grid": ["1"]}
    file = tmp_path / "solutions.json"
    file.write_text(json.dumps({"source": "us", "solutions": [{**entry, "arguments": {"y": "Y"}}]}))
    for flag, why in (("--system=T", "no system 'T'"), ("--shape=N=5", "one of 1024")):
        assert main(["bench", "agents", str(tmp_path), flag]) == 2
        assert why in capsys.readouterr().err
    words = ["bench", "agents", str(tmp_path), "--shape", "N=1024", "--no-time"]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, json.loads(SCHEMA.read_text()))
    assert [(row["status"], row["reason"]) for row in answer["rows"]] == [("left out", "there is no gone.cu")]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "left out: there is no gone.cu" in said
    assert "1 rows: 0 right, 0 wrong, 1 left out" in said
    file.write_text("{")
    assert main(words) == 2
