"""What README and Makefile show can be repeated as it stands."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from argus.cli.history import folder
from argus.cli.main import main
from argus.cli.parser import build_parser

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_first_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The shell command of the README makes the wrong kernel, and the checker says what is printed there."""
    block = re.search(r"^```\n\$ (sed .*?)\n\$ argus check wrong_gemm.py\n(.*?)^…", README, re.DOTALL | re.MULTILINE)
    assert block is not None
    (tmp_path / "argus").symlink_to(ROOT / "argus")
    monkeypatch.chdir(tmp_path)
    subprocess.run(block[1], shell=True, check=True, timeout=20)
    assert main(["check", "wrong_gemm.py"]) == 1
    said = capsys.readouterr().out
    assert said.startswith(block[2])
    counts = re.search(r"^gemm: .* in ", README, re.MULTILINE)
    assert counts is not None
    assert counts[0] in said


def test_commands_of_the_makefile_share_one_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `make optimize` leaves is found by the commands it names, ignored by git and removed by `make clean`."""
    monkeypatch.delenv("ARGUS_JOURNAL", raising=False)
    makefile = (ROOT / "Makefile").read_text().replace("$(GEMM)", "argus/kernels/gemm.py")
    given = [
        build_parser().parse_args(line.split()) for line in re.findall(r"^\t\$\(BIN\)/argus (.*)$", makefile, re.M)
    ]
    journals = {folder(args) for args in given if hasattr(args, "journal")}
    assert journals == {folder(build_parser().parse_args(["history"]))}
    (name,) = map(str, journals)
    assert f"/{name}/" in (ROOT / ".gitignore").read_text().splitlines()
    clean = re.search(r"^clean:\n\t(.*)$", makefile, re.M)
    assert clean is not None
    assert name in clean[1].split()
