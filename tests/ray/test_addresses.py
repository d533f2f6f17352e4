"""`--ray` with an address where there is no cluster: a code, soon, and nothing begun."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from argus.cli.main import main
from argus.cluster import ray_pool

pytest.importorskip("ray", reason="ray is not installed; `make ray` runs these tests")
pytestmark = pytest.mark.full
SOON = 30.0


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "--ray 127.0.0.1:1: [Errno 111] Connection refused"),
        ("ray://127.0.0.1:1", "--ray ray://127.0.0.1:1: [Errno 111] Connection refused"),
        ("nowhere.invalid:6379", "--ray nowhere.invalid:6379: [Errno -"),
        ("nonsense", "--ray takes local, auto, ray://HOST:PORT or HOST:PORT, not 'nonsense'"),
        ("http://head:8265", "--ray http://head:8265: "),
        ("127.0.0.1:99999", "--ray 127.0.0.1:99999: "),
    ],
)
@pytest.mark.parametrize("verb", [["optimize", "softmax"], ["verify-all"], ["bench", "softmax"]])
def test_no_cluster_there(
    verb: list[str], address: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("ARGUS_JOURNAL", str(tmp_path / "journal"))
    if verb == ["verify-all"]:
        from argus.agent.journal import Journal

        Journal.write(tmp_path / "journal").close()
    started = time.monotonic()
    assert main([*verb, "--ray", address]) == 2
    assert time.monotonic() - started < SOON
    told = capsys.readouterr().err
    assert told.startswith(f"error[ARG-R101]: {said}")
    assert told.endswith("\n  = help: argus explain ARG-R101\n")
    assert verb[0] == "verify-all" or not (tmp_path / "journal").exists()


def test_an_error_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", "softmax", "--ray", "127.0.0.1:1", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["kind"], found["code"]) == ("argus.error", "cluster", "ARG-R101")


@pytest.mark.parametrize("how", ["", "ray://"])
def test_what_listens_but_is_no_ray(how: str, silent: int) -> None:
    """In a process of its own: Ray's connection is cut off in the middle."""
    text = "from argus.cluster import ray_pool; ray_pool.CONNECT = 4.0; ray_pool.RayPool({!r}, 2)"
    asked = text.format(f"{how}127.0.0.1:{silent}")
    started = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    assert time.monotonic() - started < 2 * SOON
    assert "argus.cluster.errors.ClusterError: ARG-R101: " in ended.stderr


def test_no_cluster_on_this_machine(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr(ray_pool, "CONNECT", 4.0)
    assert main(["bench", "softmax", "--ray", "auto"]) == 2
    assert "error[ARG-R101]: --ray auto: " in capsys.readouterr().err
