"""`argus run` prints reports of every level and fails for errors only."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from assembly import assemble

from argus import machine
from argus.cli import run
from argus.cli.main import main
from argus.device.launch import LaunchOutcome
from argus.device.simulated import CheckingDevice

VADD = Path(__file__).parents[2] / "argus" / "kernels" / "vadd.py"

HALF_READ = (
    "s_load_dwordx2 s[4:5], s[0:1], 0\nv_lshlrev_b32 v1, 2, v0\nv_lshlrev_b32 v2, 4, v0\n"
    "v_mov_b32 v4, v0\nv_mov_b32 v5, v0\nv_mov_b32 v6, v0\nv_mov_b32 v7, v0\ns_waitcnt lgkmcnt(0)\n"
    "ds_write_b128 v2, v[4:7]\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
    "ds_read_b64 v[8:9], v2\nds_read_b64 v[10:11], v2\n{wait}\n"
    "v_add_u32 v3, v8, v10\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, s[4:5]\ns_endpgm\n"
)


def command(tmp_path: Path, wait: str) -> list[str]:
    path = tmp_path / "kernel.hsaco"
    path.write_bytes(assemble(HALF_READ.format(wait=wait), lds=2064))
    return ["run", str(path), "--grid", "1", "--block", "128", "--arg", "u32[128]"]


def test_an_object_with_a_warning_is_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = command(tmp_path, "s_waitcnt lgkmcnt(0)")
    assert main(words) == 0
    assert "ARG-M114 lost data (warning): " in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert [r["level"] for r in json.loads(capsys.readouterr().out)["reports"]] == ["warning"]


def test_an_object_with_an_error_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tmp_path, "s_nop 0")) == 1
    printed = capsys.readouterr().out
    assert "ARG-M102 " in printed
    assert "(error)" not in printed


class Reporting(CheckingDevice):
    """The machine, which has something to say about every launch."""

    def __init__(self, reports: list[machine.MachineReport]) -> None:
        super().__init__()
        self._said = reports

    def launch(self, *words: Any, **more: Any) -> LaunchOutcome:
        return replace(super().launch(*words, **more), reports=self._said)


@pytest.mark.parametrize(
    ("levels", "code"), [(("note",), 0), (("warning", "note"), 0), (("error",), 1), (("note", "error"), 1)]
)
def test_a_kernel_file(
    levels: tuple[Any, ...], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [machine.MachineReport("ARG-M103", f"said as {level}", level=level) for level in levels]
    monkeypatch.setattr(run, "choose", lambda name, simulated, tell: Reporting(said))
    assert main(["run", str(VADD), "--shape", "N=300"]) == code
    printed = capsys.readouterr().out
    assert all(f"said as {level}" in printed for level in levels)
    assert "correct: " in printed
