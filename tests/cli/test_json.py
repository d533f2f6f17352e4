"""`--json` of every verb: real output fits the schema in docs/schemas, errors included."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from argus.cli import optimize
from argus.cli.answers import ANSWERS, CheckAnswer, emit
from argus.cli.answers.__main__ import name_of, texts
from argus.cli.main import main
from argus.cli.parser import ArgusParser, build_parser
from tests.cli.test_clock import ROW
from tests.cli.test_optimize import Quick

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
VADD = str(ROOT / "argus" / "kernels" / "vadd.py")
LAYOUT = 'Layout(row=(8, 16), e=(8, 2)).xor(e="row[0:1]")'


def said(*words: str, code: int = 0) -> dict[str, Any]:
    """The one JSON document a command prints, checked against its schema."""
    out = StringIO()
    with redirect_stdout(out):
        assert main([*words, "--json"]) == code, out.getvalue()
    found: dict[str, Any] = json.loads(out.getvalue())
    schema = json.loads((SCHEMAS / f"{found['schema']}.json").read_text())
    jsonschema.validate(found, schema)
    assert found["version"] == 1
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder with a compiled object and a journal of one short run."""
    path = tmp_path_factory.mktemp("json")
    before = Path.cwd()
    os.chdir(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimize, "Judges", Quick)
        made = said("compile", VADD, "-o", "out")
        assert said("optimize", "gemm", "--budget", "4", "--journal", "journal")["evaluations"] == 4
    assert Path(made["object"]).name == "vadd.hsaco"
    (path / "rows.jsonl").write_text("\n".join(json.dumps({**ROW, "role": role}) for role in ("fit", "validate")))
    yield path
    os.chdir(before)


OBJECT = [
    "out/vadd.hsaco", "--grid", "4", "--block", "256", "--arg", "f32[4096]:normal", "--arg", "f32[4096]:ones",
    "--arg", "f32[8192]", "--arg", "i32=4096",
]  # fmt: skip
COMMANDS: dict[str, list[str]] = {
    "argus.init": ["init", "demo"],
    "argus.check": ["check", VADD, "--run"],
    "argus.check.show": ["check", VADD, "--show", "16"],
    "argus.ir": ["ir", VADD],
    "argus.compile": ["compile", VADD, "-o", "out", "--report"],
    "argus.layout": ["layout", LAYOUT, "--svg", "layout.svg"],
    "argus.explain": ["explain", "covers"],
    "argus.run": ["run", VADD, "--shape", "N=3000"],
    "argus.run.object": ["run", *OBJECT],
    "argus.run.algebra": ["run", VADD, "--algebra", "--shape", "N=1024"],
    "argus.time": ["time", VADD, "--shape", "N=65536"],
    "argus.compare": ["compare", f"{VADD} --shape N=65536", f"{VADD} --shape N=4096", "--clocks", "1"],
    "argus.clock.explain": ["clock", "explain", VADD, "--shape", "N=65536"],
    "argus.clock.validate": ["clock", "validate", "rows.jsonl"],
    "argus.clock.fit": ["clock", "fit", "rows.jsonl"],
    "argus.machine.corpus": ["machine", "corpus", "out"],
    "argus.history": ["history", "--journal", "journal"],
    "argus.history.run": ["history", "2", "--journal", "journal"],
    "argus.best": ["best", "--journal", "journal"],
    "argus.diff": ["diff", "c1", "--journal", "journal"],
    "argus.report": ["report", "--journal", "journal"],
    "argus.kb": ["kb", "list"],
    "argus.mcp.tools": ["mcp", "--list"],
    "argus.registers": ["registers", VADD],
    "argus.docs": ["docs", "swizzle"],
    "argus.doctor": ["doctor"],
    "argus.bench": ["bench", "add", "--shape", "M=256,N=256"],
    "argus.tune": ["tune", "--product", "64x64x512", "--decision", "split-k", "--budget", "1"],
}
"""Schema -> a command that answers with it."""
WITH_TORCH = ("argus.plan", "argus.bench.kernelbench")
"""Answers of commands that need torch: tests/torch."""


@pytest.mark.parametrize("schema", sorted(COMMANDS))
def test_real_output_fits_its_schema(schema: str, folder: Path) -> None:
    assert said(*COMMANDS[schema])["schema"] == schema


def test_parts_that_come_seldom(folder: Path, tmp_path: Path) -> None:
    """A refutation with its counterexample, one entry with evidence, results that are wrong."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(Path(VADD).read_text().replace("z[i] = x[i] + y[i]", "z[i] = x[i] - y[i]"))
    refuted = said("check", str(wrong), code=1)
    assert refuted["status"] == "refuted"
    assert [v["counterexample"]["rule"] for v in refuted["verdicts"] if v["counterexample"]] == ["value"]
    stopped = said("run", str(wrong), code=1)
    assert (stopped["schema"], stopped["kind"], stopped["exit"]) == ("argus.error", "refused", 1)
    assert stopped["detail"]["kernel"] == "vadd"
    assert said("run", str(wrong), "--force", code=1)["comparison"]["first_wrong"]["index"]
    assert said("kb", "show", "lds-swizzle", "--journal", "journal")["entries"][0]["evidence"]["tried"] >= 0
    assert said("kb", "search", "bank", "conflict")["entries"]
    assert said("run", *OBJECT)["arrays"][2]["mean"] == "nan", "half of it is never written"


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        (["chekc"], "usage", None),
        (["check", VADD, "--jsno"], "usage", None),
        (["check", VADD, "--set", "NOPE"], "usage", None),
        (["check", "nothere.py"], "program", "AG100"),
        (["check", VADD, "--set", "PER_THREAD=3"], "program", "AG201"),
        (["run", VADD, "--shape", "N=3"], "input", "ARG-D102"),
        (["run", VADD, "--device", "hip"], "input", "ARG-D201"),
        (["run", "nothere.hsaco"], "system", None),
        (["history", "--journal", "nowhere"], "journal", "ARG-J102"),
        (["optimize", "gem", "--journal", "journal2"], "input", None),
        (["explain", "XX999"], "usage", None),
        (["machine", "corpus", "nowhere"], "usage", None),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_errors_are_answers_on_standard_output(
    words: list[str], kind: str, code: str | None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said(*words, code=2)
    assert (found["schema"], found["exit"], found["kind"], found["code"]) == ("argus.error", 2, kind, code)
    assert found["message"]
    assert capsys.readouterr().err == ""


def test_a_fault_of_argus_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from argus.cli import ir

    def fails(args: argparse.Namespace) -> int:
        raise RuntimeError("broken")

    monkeypatch.setattr(ir, "handle", fails)
    assert said("ir", VADD, code=70)["kind"] == "internal"

    def stopped(args: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(ir, "handle", stopped)
    assert said("ir", VADD, code=2)["kind"] == "stopped"


def test_verifying_an_empty_journal(tmp_path: Path) -> None:
    from argus.agent.journal import Journal

    Journal.write(tmp_path).close()
    assert said("verify-all", "--journal", str(tmp_path))["runs"] == []


def test_every_verb_takes_json() -> None:
    def leaves(parser: ArgusParser) -> Iterator[ArgusParser]:
        below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if not below:
            yield parser
        for action in below:
            for child in action.choices.values():
                yield from leaves(child)

    without = [parser.prog for parser in leaves(build_parser()) if "--json" not in parser.options()]
    assert without == []


def test_every_answer_is_tested_or_named() -> None:
    known = {name_of(kind) for kind in ANSWERS}
    elsewhere = {"argus.error", "argus.verify-all", "argus.optimize", "argus.clock.ablate", *WITH_TORCH}
    elsewhere.add("argus.bench.agents")  # tests/ops/test_agent_rows.py
    assert known == set(COMMANDS) | elsewhere


def test_schemas_are_current() -> None:
    """Made by `python -m argus.cli.answers docs/schemas`."""
    assert {p.name: p.read_text() for p in SCHEMAS.glob("*.json")} == texts()


def test_what_does_not_fit_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        emit(CheckAnswer, {"kernel": "k"})
    assert capsys.readouterr().out == ""


def test_a_schema_refuses_what_is_missing() -> None:
    """The schemas can fail: without a field, with another type, with another name."""
    schema = json.loads((SCHEMAS / "argus.explain.json").read_text())
    right = {"schema": "argus.explain", "version": 1, "code": "covers", "page": "…"}
    jsonschema.validate(right, schema)
    change: Callable[[dict[str, Any]], dict[str, Any]]
    for change in (
        lambda d: {k: v for k, v in d.items() if k != "page"},
        lambda d: {**d, "page": 3},
        lambda d: {**d, "schema": "argus.check"},
        lambda d: {**d, "version": 2},
        lambda d: {k: v for k, v in d.items() if k != "version"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(change(right), schema)
    jsonschema.validate({**right, "new": 1}, schema)
