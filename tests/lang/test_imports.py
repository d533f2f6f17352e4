"""Kernel files that import kernel files: read as data, places in the right file, and a digest of all of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from argus.agent.judge.evidence import imports, question
from argus.agent.judge.problem import Problem
from argus.agent.lower import NotApplicableError, lower
from argus.check import proof_cache
from argus.check.engine import check
from argus.compile import cache as object_cache
from argus.compile.compiler import compile_kernel
from argus.ir.passes.schedule import scheduled
from argus.knowledge.base import load
from argus.lang import ProgramError, read, read_value
from argus.lang.imports import LIBRARY, MAX_DEPTH, MAX_TOTAL, KernelFolder, imports_of
from argus.layout.owner import Owner
from argus.ops.call import call
from argus.pipeline import program_of, prove
from argus.tasks.task import load_task

PARTS = """import argus as ag
from argus import f32

FACTOR = ag.knob(2, legal=(2, 3), why="what is multiplied by")
PART = ag.Owner(lane=64, n="lane")


def scaled(x):
    return x * f32(FACTOR)
"""
KERNEL = """import argus as ag
from argus import f32
from parts import FACTOR, PART, scaled


@ag.kernel(threads=64, requires="N == 64", computes=f"y[n] = x[n] * {FACTOR}", example=dict(N=64))
def scale(x: ag.In["N", f32], y: ag.Out["N", f32]):
    b = ag.grid(N // 64)
    y[64 * b].store(scaled(x[64 * b].load(PART, width=4)), width=4)
"""
TASK = 'TASK = dict(family="row", shapes=[dict(N=64)], small=[dict(N=64)])\n'
WRONG = "y[64 * b + 1].store(x, width=4)"
ROW_KERNELS = ("softmax", "layernorm", "rmsnorm", "rowreduce")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "scale.py").write_text(KERNEL)
    return tmp_path


def code(path: Path) -> str:
    with pytest.raises(ProgramError) as raised:
        read(path)
    return raised.value.code


def test_names_knobs_and_functions_come_over(folder: Path) -> None:
    kernel = read(folder / "scale.py", {"FACTOR": 3})
    assert kernel.settings == {"FACTOR": 3}
    assert [i.module for i in kernel.imports] == ["parts"]
    assert kernel.text_of(str(folder / "parts.py")) == PARTS
    proof = prove(program_of(folder / "scale.py", {"FACTOR": 3}), kept=False)
    assert proof.report.proved
    found = np.zeros(64, np.float32)
    call(str(folder / "scale.py"), "scale", (np.arange(64, dtype=np.float32), found), "checking", {"FACTOR": 3})
    assert (found == 3 * np.arange(64)).all()
    assert isinstance(read_value(folder / "scale.py", "PART"), Owner)


def test_text_with_the_files_beside_it_reads_alike(folder: Path) -> None:
    kernel = read(KERNEL, beside={"parts": PARTS})
    assert kernel.full_source == read(folder / "scale.py").full_source
    assert kernel.imports[0].file == "parts.py"
    with pytest.raises(ProgramError) as raised:
        read(KERNEL)
    assert raised.value.code == "AG103"


def test_nothing_of_an_imported_file_is_executed(folder: Path) -> None:
    (folder / "parts.py").write_text(f"open({str(folder / 'made')!r}, 'w')\n{PARTS}")
    assert code(folder / "scale.py") == "AG121"
    assert not (folder / "made").exists()


def test_a_mistake_in_an_imported_function_is_shown_there(folder: Path) -> None:
    (folder / "parts.py").write_text(PARTS.replace("f32(FACTOR)", "f32(FACTR)"))
    with pytest.raises(ProgramError) as raised:
        read(folder / "scale.py")
    text = raised.value.render()
    assert "parts.py:9:" in text
    assert "return x * f32(FACTR)" in text


def test_ops_of_an_imported_function_name_its_file(folder: Path) -> None:
    program = program_of(folder / "scale.py", {})
    sidecar = compile_kernel(program).sidecar
    files = {op["op"]: Path(op["span"][0]).name for op in sidecar["ops"]}
    assert files["map"] == "parts.py"
    assert files["store"] == "scale.py"
    assert {Path(name).name for name in sidecar["sources_sha256"]} == {"scale.py", "parts.py"}


def test_a_refutation_in_an_imported_function_quotes_it(folder: Path) -> None:
    (folder / "scale.py").write_text(
        KERNEL.replace("y[64 * b].store(scaled(", "stored(y, b, (").replace(", width=4)\n", ")\n")
    )
    (folder / "scale.py").write_text((folder / "scale.py").read_text().replace("scaled", "stored"))
    (folder / "parts.py").write_text(
        PARTS.replace("scaled(x)", "stored(y, b, x)").replace("return x * f32(FACTOR)", WRONG)
    )
    text = check(scheduled(read(folder / "scale.py"))).render()
    assert WRONG in text
    assert "parts.py:9:" in text


def test_every_key_changes_with_an_imported_file(folder: Path) -> None:
    (folder / "scale.py").write_text(TASK + KERNEL)
    task = load_task(folder / "scale.py")
    before = Problem.of(task)
    keys = [proof_cache.key(read(folder / "scale.py")), object_cache.key(read(folder / "scale.py"))]
    asked = question(task.source, before, 0)
    assert imports(task.source, before)
    (folder / "parts.py").write_text(PARTS + "\n# another file\n")
    after = Problem.of(load_task(folder / "scale.py"))
    again = [proof_cache.key(read(folder / "scale.py")), object_cache.key(read(folder / "scale.py"))]
    assert not set(keys) & set(again)
    assert question(task.source, after, 0) != asked
    assert Problem.from_json(json.loads(json.dumps(after.to_json(), sort_keys=True))).digest() == after.digest()


def test_evidence_changes_with_a_file_of_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = (LIBRARY / "softmax.py").read_text()
    problem = Problem("softmax", source, (), ())
    before = question(source, problem, 0)
    changed = tmp_path / "kernels"
    changed.mkdir()
    (changed / "rows.py").write_text((LIBRARY / "rows.py").read_text() + "\n# changed\n")
    monkeypatch.setattr("argus.lang.imports.LIBRARY", changed)
    assert question(source, problem, 0) != before


def test_a_kernel_without_imports_keeps_its_question() -> None:
    source = (LIBRARY / "vadd.py").read_text()
    assert imports(source, Problem("vadd", source, (), ())) == {}


def test_a_cycle_names_the_way(folder: Path) -> None:
    (folder / "parts.py").write_text("from more import PART, scaled\nFACTOR = 2\n")
    (folder / "more.py").write_text("from parts import FACTOR\n")
    with pytest.raises(ProgramError) as raised:
        read(folder / "scale.py")
    assert raised.value.code == "AG125"
    assert "parts → more → parts" in str(raised.value)
    assert len(imports_of(KERNEL, KernelFolder(folder))) == 2


def test_two_files_may_import_a_third_one(folder: Path) -> None:
    (folder / "more.py").write_text("from parts import PART\n\nTWICE = PART\n")
    (folder / "scale.py").write_text(KERNEL.replace("from parts", "from more import TWICE\nfrom parts"))
    assert [i.module for i in read(folder / "scale.py").imports] == ["more", "parts"]


def test_depth_and_size_are_bounded(folder: Path) -> None:
    for n in range(MAX_DEPTH + 2):
        (folder / f"level_{n}.py").write_text(f"from level_{n + 1} import PART\n")
    (folder / "parts.py").write_text("from level_0 import PART\n" + PARTS)
    assert code(folder / "scale.py") == "AG127"
    (folder / "parts.py").write_text(PARTS + "from large import X\n")
    (folder / "large.py").write_text("X = 1\n#" + "." * (MAX_TOTAL - 100))
    assert code(folder / "scale.py") == "AG127"


def test_only_the_own_folder_and_the_library(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    away = tmp_path_factory.mktemp("away") / "parts.py"
    away.write_text(PARTS)
    (folder / "parts.py").unlink()
    os.symlink(away, folder / "parts.py")
    assert code(folder / "scale.py") == "AG126"
    for module in ("os", "argus.agent.judge", "argus.kernels.sub.rows", "argus.kernels", "numpy.random"):
        (folder / "scale.py").write_text(KERNEL.replace("from parts", f"from {module}"))
        assert code(folder / "scale.py") in ("AG103", "AG123")
    (folder / "scale.py").write_text(KERNEL.replace("from parts", "from .parts"))
    assert code(folder / "scale.py") == "AG126"


def test_a_knob_has_one_definition(folder: Path) -> None:
    again = "\nFACTOR = ag.knob(2, legal=(2,))\n"
    (folder / "scale.py").write_text(KERNEL.replace("import FACTOR, ", "import ").replace("{FACTOR}", "2") + again)
    assert code(folder / "scale.py") == "AG203"


def test_a_kernel_cannot_be_imported(folder: Path) -> None:
    (folder / "other.py").write_text(KERNEL.replace("from parts", "from scale import scale\nfrom parts"))
    assert code(folder / "other.py") == "AG124"


@pytest.mark.parametrize("name", ROW_KERNELS)
def test_the_kernels_of_rows_share_one_preamble(name: str) -> None:
    text = (LIBRARY / f"{name}.py").read_text()
    assert "ag.knob(1, legal=(1, 2, 4, 8, 16)" not in text
    kernel = read(LIBRARY / f"{name}.py", {"WAVES": 4}, kernel=name)
    assert [i.file for i in kernel.imports] == ["argus/kernels/rows.py"]


@pytest.mark.parametrize("name", ROW_KERNELS)
def test_text_edits_of_such_a_file_can_be_read(name: str) -> None:
    """What a technique makes of it is read with the same imports."""
    source = (LIBRARY / f"{name}.py").read_text()
    cut = source[: source.rindex("@ag.kernel")]
    assert read(cut).name == name
    changed = set()
    for entry in load().values():
        for choice in entry.choices if entry.lowered else ():
            try:
                edited = read(lower(cut, entry.id, choice))
            except (NotApplicableError, ProgramError):
                continue
            changed.add(entry.id)
            assert edited.imports == read(cut).imports
    assert {"occupancy", "chiplet-order"} <= changed
