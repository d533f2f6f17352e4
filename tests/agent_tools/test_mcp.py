"""The MCP server from outside: a scripted client over standard input and output."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp")

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.agent_tools.mender import mend

KERNELS = Path("argus/kernels")
FAULTS = {
    "race.py": ("gemm.py", "        ag.barrier()  # tile kt is visible to all waves\n", ""),
    "pair.py": ("gemm.py", "k=16 * ks, width=16) for j", "k=16 * (ks ^ 1), width=16) for j"),
    "value.py": ("vadd.py", "+ y[start].load", "+ x[start].load"),
}


@asynccontextmanager
async def session(folder: Path) -> AsyncIterator[ClientSession]:
    words = ["-m", "argus.cli.main", "mcp", "--workspace", str(folder)]
    server = StdioServerParameters(command=sys.executable, args=words, env={"PYTHONPATH": str(Path.cwd())})
    async with stdio_client(server) as (read, write), ClientSession(read, write) as found:
        await found.initialize()
        yield found


async def said(client: ClientSession, name: str, arguments: dict[str, Any], error: bool = False) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error is error, result
    (part,) = result.content
    return str(part.text)


def seeded(folder: Path) -> None:
    for name, (source, right, wrong) in FAULTS.items():
        text = (KERNELS / source).read_text()
        assert text.count(right) == 1
        (folder / name).write_text(text.replace(right, wrong))


def test_a_client_mends_three_kernels_with_the_tools_alone(tmp_path: Path) -> None:
    seeded(tmp_path)

    async def work() -> dict[str, list[str]]:
        async with session(tmp_path) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"check", "show", "time", "run", "diff"} <= names

            async def call(name: str, arguments: dict[str, object]) -> str:
                return await said(client, name, arguments)

            used = {name: await mend(call, tmp_path / name) for name in FAULTS}
            assert "correct:" in await said(client, "run", {"file": "value.py"})
            assert "simulated" in await said(client, "time", {"file": "value.py", "top": 3})
            return used

    used = anyio.run(work)
    assert used == {"race.py": ["race_free"], "pair.py": ["conform"], "value.py": ["value"]}


def test_failures_are_answers_with_codes(tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("/etc/hostname")
    (tmp_path / "bad.py").write_text("import os\nos.system('true')\n")

    async def work() -> None:
        async with session(tmp_path) as client:
            assert "ARG-W101" in await said(client, "shell", {}, error=True)
            assert "ARG-W102" in await said(client, "check", {"file": 3}, error=True)
            assert "ARG-W103" in await said(client, "check", {"file": "../x.py"}, error=True)
            assert "ARG-W103" in await said(client, "check", {"file": "link.py"}, error=True)
            assert "ARG-W104" in await said(client, "check", {"file": "none.py"}, error=True)
            assert "AG1" in await said(client, "check", {"file": "bad.py"}, error=True)

    anyio.run(work)


def test_a_long_call_reports_progress_and_can_be_canceled(tmp_path: Path) -> None:
    (tmp_path / "gemm.py").write_text((KERNELS / "gemm.py").read_text())
    (tmp_path / "empty.py").write_text("import argus as ag\n")
    heard: list[str] = []

    async def progress(amount: float, total: float | None, message: str | None) -> None:
        heard.append(str(message))

    async def work() -> None:
        async with session(tmp_path) as client:
            long = {"file": "gemm.py", "no_check": True, "shape": {"M": 2048, "N": 2048, "K": 2048}}
            with anyio.move_on_after(60) as scope:
                async with anyio.create_task_group() as group:

                    async def run() -> None:
                        await client.call_tool("run", long, progress_callback=progress)

                    group.start_soon(run)
                    while not heard:
                        await anyio.sleep(0.1)
                    group.cancel_scope.cancel()
            assert not scope.cancelled_caught
            assert "AG116" in await said(client, "check", {"file": "empty.py"}, error=True)

    anyio.run(work)
    assert heard[0].startswith("run:")
