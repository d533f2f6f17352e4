"""Without torch, the extra is named."""

from __future__ import annotations

import importlib
import sys

import pytest

from argus.cli.main import main


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "argus.torch" or name.startswith("argus.torch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'argus-kernels\[torch\]'"):
        importlib.import_module("argus.torch")


@pytest.mark.parametrize("verb", ["plan", "bench", "tune"])
def test_help_needs_no_torch(verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    assert f"usage: argus {verb}" in capsys.readouterr().out
