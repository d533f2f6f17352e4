"""The first hour of a new user: help comes at once, mistakes are answered with the nearest word, a project starts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import argus
from argus.agent.journal import Journal, JournalError
from argus.agent.tuning.tuner import TuningSettings
from argus.bench import gemm, kept, memory
from argus.check import Report
from argus.check.executed.outcome import Executed
from argus.cli import bench_kernelbench, bench_layers, extras
from argus.cli.arguments import choices
from argus.cli.check_text import short
from argus.cli.main import main
from argus.clock import protocol, sensitivity
from argus.device import choose
from argus.gfx942 import chip
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.pipeline import report_of
from argus.plan import choices as decisions
from argus.tasks.task import builtin_tasks, load_task

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "argus" / "kernels"
LIGHT = {"argus", "argus.cli", "argus.cli.main", "argus.cli.parser", "argus.cli.usage"}
"""Modules of Argus that help may load, besides `argus.cli.arguments`."""


def loaded(*words: str) -> set[str]:
    """The modules that a command leaves loaded in a fresh interpreter."""
    code = (
        "import sys, contextlib, io\n"
        "from argus.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(sys.argv[1:])\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "words", [("--help",), ("--version",), ("check", "--help"), ("optimize", "--help"), ("clock", "explain", "--help"),
              ("bench", "--help"), ("chekc",), ("check", "x.py", "--jsno")],
    ids=" ".join,
)  # fmt: skip
def test_help_loads_nothing_but_the_command_line(words: tuple[str, ...]) -> None:
    found = loaded(*words)
    ours = {name for name in found if name.partition(".")[0] == "argus"}
    assert {name for name in ours if not name.startswith("argus.cli.arguments")} <= LIGHT
    assert not found & {"numpy", "z3", "llvmlite", "httpx", "msgpack", "ml_dtypes", "asyncio", "sqlite3"}


def test_words_of_other_rooms_are_theirs() -> None:
    assert choices.PROTOCOLS == protocol.PROTOCOLS
    assert choices.DEVICES == choose.DEVICES
    assert tuple(sorted(gemm.CONFIGURATIONS)) == choices.TRITON
    assert tuple(bench_layers.LAYERS) == choices.LAYERS
    assert choices.MEMORY_BOUND == memory.FAMILIES
    assert builtin_tasks() == choices.TASKS
    assert choices.PERTURBED_CLOCKS == sensitivity.CLOCKS
    assert choices.CLOCK_MAX_MHZ == chip.CLOCK_MAX_MHZ
    assert Path(choices.KEPT_TIMES) == kept.DIRECTORY
    assert tuple(decisions.DECISIONS) == choices.DECISIONS
    assert TuningSettings().budget == choices.TUNED
    assert Path(choices.KERNELBENCH) == bench_kernelbench.RECORDS


def test_every_verb_has_something_that_runs_it() -> None:
    """Handlers are names, so a misspelt one would be found by a user."""
    import importlib

    names = re.findall(r'"(argus\.cli\.\w+):(\w+)"', "".join(p.read_text() for p in _argument_files()))
    assert len(names) >= 20
    for module, function in names:
        assert callable(getattr(importlib.import_module(module), function))


def _argument_files() -> list[Path]:
    return sorted((ROOT / "argus" / "cli" / "arguments").glob("*.py"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chekc", "x.py"], "there is no verb 'chekc'; did you mean check?"),
        (["verify"], "did you mean verify-all?"),
        (["qqq"], "there are init, check"),
        (["check", "x.py", "--jsno"], "unrecognized arguments: --jsno; did you mean --json?"),
        (["time", "x.py", "--protocol", "steam"], "did you mean stream?"),
        (["clock", "expain"], "there is no action 'expain'; did you mean explain?"),
        (["time", str(KERNELS / "vadd.py"), "--without", "power of lds"], "did you mean power of LDS?"),
        (["bench", "sofmax"], "there is no family 'sofmax'; did you mean softmax?"),
        (["explain", "cover"], "did you mean covers?"),
        (["optimize", "nothere.py"], "cannot read nothere.py: No such file"),
        (["compare", "a.py --shpae N=1", "b.py"], "did you mean --shape?"),
    ],
)
def test_the_nearest_word_is_offered(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_no_words_at_all_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "argus init demo" in capsys.readouterr().err


def test_the_version_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"argus {argus.__version__}\n"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "argus.__version__"}


def test_the_newest_section_of_the_changelog_is_this_version() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == argus.__version__


def test_outsiders_run_what_is_run_here() -> None:
    """The workflow calls .ci/run, which names every check; templates ask for the version."""
    assert "- run: .ci/run\n" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    checks = (ROOT / ".ci" / "run").read_text()
    assert set(re.findall(r"make \w+|\.ci/\w+", checks)) == {
        "make lint",
        "make test",
        "make extras",
        "make torch",
        "make ray",
        ".ci/wheel",
    }
    assert (ROOT / "SECURITY.md").is_file()
    assert len(list((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))) >= 3


def test_extras_are_those_of_the_package() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for module, extra in extras.EXTRAS.items():
        assert any(line.startswith(module) for line in stated[extra])


def test_a_missing_extra_is_named_below_the_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from argus.cli import bench

    def missing(args: object) -> int:
        raise ModuleNotFoundError("No module named 'triton'", name="triton.language")

    monkeypatch.setattr(bench, "handle", missing)
    assert main(["bench", "gemm"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: argus bench")
    assert "pip install 'argus-kernels[bench]'" in said


def test_another_missing_module_is_a_fault(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from argus.cli import bench

    def missing(args: object) -> int:
        raise ModuleNotFoundError("No module named 'argus.nothing'", name="argus.nothing")

    monkeypatch.setattr(bench, "handle", missing)
    assert main(["bench", "gemm"]) == 70
    assert "internal error" in capsys.readouterr().err


# -- check, in one line ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def proved() -> Report:
    return report_of(scheduled(read(KERNELS / "vadd.py")))


def test_a_proof_is_one_line_with_its_premises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(KERNELS / "vadd.py")]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert re.match(
        r"vadd: proved for every launch it accepts \(6 claims, executed 6 launches, [\d.]+ s\), where ", line
    )
    assert "inputs are finite and not subnormal and no number is beyond the largest of its type;" in line
    assert main(["check", "-v", str(KERNELS / "vadd.py")]) == 0
    long = capsys.readouterr().out
    assert long.count("proved[") == 6
    assert "value of z: |error| <=" in long


def test_nothing_that_limits_the_claim_leaves_the_line(proved: Report) -> None:
    """Words of every premise and note of the long form, and why nothing was executed, are on the line."""
    from dataclasses import replace

    notes = ("no specification (computes=…): value was not checked", "silent about D")
    line = short(replace(proved, notes=notes, executed=Executed(skipped="no launch is small enough")))
    assert "\n" not in line
    for part in (*notes, "executed nothing: no launch is small enough"):
        assert part in line
    for premise in proved.premises:
        for words in re.split(r" \([^()]*\)", premise):
            assert words in line


def test_hazards_and_missing_bounds_stay() -> None:
    line = short(report_of(scheduled(read(ROOT / "examples" / "kernels" / "kl.py"))))
    assert "\n" not in line
    assert "no bound of the rounding error of D" in line
    assert "hazards of rounding: division (line 30)" in line
    assert "none that is too small for its type is divided by" in line


def test_what_is_not_proved_is_shown_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.py"
    path.write_text((KERNELS / "vadd.py").read_text().replace("z[i] = x[i] + y[i]", "z[i] = x[i] - y[i]"))
    assert main(["check", str(path)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("error[value]")
    assert "proved[" not in said
    assert re.search(r"^vadd: 5 proved, 1 refuted in ", said, re.MULTILINE)


# -- a project ---------------------------------------------------------------------------------------------------------


def test_what_init_writes_is_checked_and_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "my-demo"]) == 0
    assert "argus check my_demo.py" in capsys.readouterr().out
    folder = tmp_path / "my-demo"
    assert main(["check", str(folder / "my_demo.py")]) == 0
    assert main(["check", str(folder / "my_demo_task.py")]) == 0
    assert main(["run", str(folder / "my_demo.py"), "--shape", "N=3000"]) == 0
    assert "correct: 3000 elements" in capsys.readouterr().out
    assert load_task(folder / "my_demo_task.py").family == "row"
    assert "NAME" not in "".join(p.read_text() for p in folder.iterdir())


def test_init_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "pyproject.toml").write_text("mine")
    assert main(["init", str(tmp_path / "demo")]) == 2
    assert "is there already; nothing was written" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "demo").iterdir()] == ["pyproject.toml"]


@pytest.mark.parametrize("name", ["3d", "for", "a b"])
def test_a_name_that_is_none_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / name)]) == 2
    assert "cannot be the name of a kernel" in capsys.readouterr().err


# -- the journal -------------------------------------------------------------------------------------------------------


def test_an_empty_journal_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Journal.write(tmp_path).close()
    for verb in ("history", "verify-all"):
        assert main([verb, "--journal", str(tmp_path)]) == 0
        assert "no run yet; `argus optimize TASK` makes one" in capsys.readouterr().out
    assert main(["history", "--json", "--journal", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == []


def test_a_run_by_the_beginning_of_its_name(tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        first, second = journal.begin("gemm", {}), journal.begin("softmax", {})
        start = first.id[: first.id.index("-gemm") + 2]
        assert journal.info(start).id == first.id
        assert journal.info(first.id).id == first.id
        assert journal.info().id == second.id
        with pytest.raises(JournalError, match=f"2 runs begin with .*{first.id}, {second.id}"):
            journal.info(first.id[:4])
        with pytest.raises(JournalError, match="no run nothing"):
            journal.info("nothing")
