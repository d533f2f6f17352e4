"""Without torch, the extra is named."""

from __future__ import annotations

import importlib
import sys

import pytest


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "argus.torch" or name.startswith("argus.torch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'argus-kernels\[torch\]'"):
        importlib.import_module("argus.torch")
