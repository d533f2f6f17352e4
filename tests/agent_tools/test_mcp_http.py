"""The MCP server over HTTP: who is let in, and a session of the official client."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import pytest

pytest.importorskip("mcp")

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from argus.cli.main import main

TOKEN = "canary-token-0123456789"
START = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("space")
    (folder / "empty.py").write_text("import argus as ag\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = probe.getsockname()[1]
    words = [sys.executable, "-m", "argus.cli.main", "mcp", "--workspace", str(folder), "--http", str(number)]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(words, env={**os.environ, "ARGUS_MCP_TOKEN": TOKEN}, stdout=log, stderr=log)
        try:
            _until_it_listens(number, server)
            yield number
        finally:
            server.terminate()
            server.wait(20)
    assert TOKEN not in (folder / "log").read_text()


def _until_it_listens(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert server.poll() is None
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://127.0.0.1:PORT"}, 200),
        ({}, 401),
        ({"Authorization": "Bearer wrong-token-0123456789"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://127.0.0.1:1"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "null"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example:PORT"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1"}, 421),
    ],
)
def test_who_is_let_in(port: int, headers: dict[str, str], status: int) -> None:
    given = {name: value.replace("PORT", str(port)) for name, value in headers.items()}
    answer = httpx.post(f"http://127.0.0.1:{port}/mcp", json=START, headers={**ACCEPT, **given})
    assert answer.status_code == status
    assert TOKEN not in answer.text


def test_a_body_that_is_too_large_is_refused(port: int) -> None:
    headers = {**ACCEPT, "Authorization": f"Bearer {TOKEN}"}
    answer = httpx.post(f"http://127.0.0.1:{port}/mcp", content=b"x" * (3 << 20), headers=headers)
    assert answer.status_code == 413


def test_the_official_client_calls_a_tool(port: int) -> None:
    async def work() -> str:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as client,
            streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=client) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            result = await session.call_tool("diff", {"before": "empty.py", "after": "empty.py"})
            return str(result.content[0].text)

    assert anyio.run(work) == "no difference"


def test_without_a_token_it_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for token in ("", "short"):
        monkeypatch.setenv("ARGUS_MCP_TOKEN", token)
        assert main(["mcp", "--workspace", str(tmp_path), "--http", "8765"]) == 2
        assert "ARG-W109" in capsys.readouterr().err
