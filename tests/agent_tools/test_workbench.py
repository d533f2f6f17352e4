"""The workbench without a protocol: what it reads, what it refuses, how its process ends."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from argus.agent.tools import TOOLS, Cancellation, KernelTexts, ToolError, Workbench, WorkspaceFolder
from argus.agent.tools.calls import decode, schema_of
from argus.agent.tools.process import ToolProcess, clean_environment
from argus.cli.parser import build_parser

VADD = Path("argus/kernels/vadd.py")
CANARY = "CANARY_OUTSIDE"


@pytest.fixture
def space(tmp_path: Path) -> WorkspaceFolder:
    """A workspace with every kind of way out of it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(f"{CANARY} = 1\n")
    root = tmp_path / "inside"
    (root / "deep").mkdir(parents=True)
    (root / "vadd.py").write_text(VADD.read_text())
    (root / "link.py").symlink_to(outside / "secret.py")
    (root / "folder").symlink_to(outside)
    (root / "loop.py").symlink_to(root / "loop.py")
    (root / "gone.py").symlink_to(outside / "gone.py")
    (root / "inner.py").symlink_to(root / "vadd.py")
    (root / "imports.py").write_text("import argus as ag\nfrom link import CANARY_OUTSIDE\n")
    (root / "large.py").write_text("#" * 300_000)
    (root / "bytes.py").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(root / "pipe.py")
    return WorkspaceFolder(root)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("../outside/secret.py", "ARG-W103"),
        ("link.py", "ARG-W103"),
        ("folder/secret.py", "ARG-W103"),
        ("gone.py", "ARG-W103"),
        ("../none.py", "ARG-W103"),
        ("/etc/hostname", "ARG-W103"),
        ("deep/../../outside/secret.py", "ARG-W103"),
        ("loop.py", "ARG-W104"),
        ("none.py", "ARG-W104"),
        ("vadd.py/x.py", "ARG-W104"),
        ("deep", "ARG-W104"),
        ("pipe.py", "ARG-W104"),
        ("large.py", "ARG-W104"),
        ("bytes.py", "ARG-W104"),
        ("", "ARG-W104"),
        ("a\0b.py", "ARG-W104"),
        ("x" * 5000 + ".py", "ARG-W104"),
    ],
)
def test_nothing_outside_is_read(space: WorkspaceFolder, name: str, code: str) -> None:
    with pytest.raises(ToolError) as found:
        space.text(name)
    assert found.value.code == code
    assert CANARY not in str(found.value)


def test_what_is_inside_is_read(space: WorkspaceFolder) -> None:
    """Also through a link that stays inside, and by its absolute path."""
    for name in ("vadd.py", "deep/../vadd.py", "inner.py", str(space.root / "vadd.py")):
        assert space.text(name) == VADD.read_text()


def test_an_import_does_not_lead_out(space: WorkspaceFolder) -> None:
    assert set(space.kernel("imports.py")) == {"imports.py"}


def test_imports_come_along(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from b import X\nfrom argus.kernels.rows import ROW\n")
    (tmp_path / "b.py").write_text("from c import X\n")
    (tmp_path / "c.py").write_text("X = 1\n")
    (tmp_path / "d.py").write_text("X = 1\n")
    assert set(WorkspaceFolder(tmp_path).kernel("a.py")) == {"a.py", "b.py", "c.py"}
    texts = KernelTexts({path.name: path.read_text() for path in tmp_path.iterdir()})
    assert texts.kernel("a.py") == WorkspaceFolder(tmp_path).kernel("a.py")


def test_a_workspace_must_be_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none", VADD):
        with pytest.raises(ToolError, match="ARG-W109"):
            WorkspaceFolder(path)


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_every_command_is_one_the_command_line_takes(name: str) -> None:
    """With all arguments given, and with the least."""
    tool = TOOLS[name]
    if tool.command is None:
        return
    build_parser().parse_args(tool.command(decode(tool.call, LEAST[name]), "k.py"))
    full = {**LEAST[name], **FULL[name]}
    assert set(schema_of(tool.call)["properties"]) == set(full)
    build_parser().parse_args(tool.command(decode(tool.call, full), "k.py"))


KERNEL = {"kernel": "k", "set": {"A": 1, "B": True, "C": "word"}, "shape": {"M": 5}, "format": "json"}
LEAST: dict[str, dict[str, object]] = {
    "check": {"file": "k.py"},
    "show": {"file": "k.py", "line": 3},
    "time": {"file": "k.py"},
    "run": {"file": "k.py"},
    "diff": {"before": "k.py", "after": "k.py"},
    "registers": {"file": "k.py"},
    "kb": {},
    "docs": {},
}
FULL: dict[str, dict[str, object]] = {
    "check": {**KERNEL, "verbose": True},
    "show": {**KERNEL, "thread": 3, "block": [0, 1, 2], "at": {"kt": 3}},
    "time": {**KERNEL, "top": 3, "quick": False, "no_check": True},
    "run": {**KERNEL, "seed": 3, "no_check": True},
    "diff": {},
    "registers": {**KERNEL, "top": 3},
    "kb": {"format": "json", "entry": "lds-ring", "words": "ring of slots", "family": "gemm", "bottleneck": "lds"},
    "docs": {"format": "json", "words": "owners", "page": "language", "section": "Owners and layouts"},
}


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_a_schema_says_what_is_taken(name: str) -> None:
    """The schema and the type agree on what is right and on what is wrong."""
    tool = TOOLS[name]
    schema = schema_of(tool.call)
    jsonschema.Draft202012Validator.check_schema(schema)
    right = {**LEAST[name], **FULL[name]}
    jsonschema.validate(right, schema)
    wrong = [{**right, "more": 1}]
    wrong += [{k: v for k, v in right.items() if k not in LEAST[name]}] if LEAST[name] else []
    wrong += [{**right, key: {"no": ["such"]}} for key in right]
    wrong += [{**right, key: "--json"} for key in LEAST[name]]
    for arguments in wrong:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(arguments, schema)
        with pytest.raises(ToolError, match="ARG-W102"):
            decode(tool.call, arguments)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("bench")
    (folder / "vadd.py").write_text(VADD.read_text())
    (folder / "empty.py").write_text("import argus as ag\n")
    with Workbench(WorkspaceFolder(folder)) as found:
        yield found


def test_a_document_is_that_of_the_command_line(bench: Workbench) -> None:
    found = bench.call("check", {"file": "vadd.py", "format": "json"})
    assert (found.exit, found.document) == (0, True)
    document = json.loads(found.text)
    jsonschema.validate(document, json.loads(Path("docs/schemas/argus.check.json").read_text()))
    assert document["file"] == "vadd.py"
    failed = bench.call("check", {"file": "empty.py", "format": "json"})
    assert failed.failed
    assert json.loads(failed.text)["code"] == "AG116"


def test_unchecked_is_said(bench: Workbench) -> None:
    found = bench.call("run", {"file": "vadd.py", "no_check": True})
    assert found.exit == 0
    assert "not checked: nothing about it is proved" in found.text


def test_a_limit_of_processor_time_ends_the_process() -> None:
    process = ToolProcess()
    with pytest.raises(ToolError, match="ARG-W105"):
        process.call(["check", "vadd.py", "--no-cache"], {"vadd.py": VADD.read_text()}, 0.0, Cancellation())
    said = process.call(["explain", "covers"], {}, 60, Cancellation())
    process.close()
    assert said.exit == 0


def test_a_canceled_call_ends_and_the_next_one_is_answered() -> None:
    process, switch = ToolProcess(), Cancellation()
    threading.Timer(0.3, switch.cancel).start()
    with pytest.raises(ToolError, match="ARG-W107"):
        process.call(["check", "vadd.py", "--no-cache"], {"vadd.py": VADD.read_text()}, 60, switch)
    with pytest.raises(ToolError, match="ARG-W107"):
        process.call(["explain", "covers"], {}, 60, switch)
    process.close()


def test_the_process_sees_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    monkeypatch.setenv("ARGUS_MCP_TOKEN", "canary-token")
    assert not [value for value in clean_environment().values() if "canary" in value]
