"""`argus mcp`: the workbench for coding agents, by the Model Context Protocol.

    argus mcp --workspace kernels                     on standard input and output; a coding agent starts it so
    ARGUS_MCP_TOKEN=… argus mcp --http 8765           streamable HTTP on 127.0.0.1
    argus mcp --list                                  the tools and what they take

docs/workbench.md says how common coding agents are told about it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import anyio
from mcp.server.stdio import stdio_server

from argus.agent.tools import TOOLS, Workbench, WorkspaceFolder
from argus.agent.tools.calls import schema_of
from argus.cli.answers import ToolsAnswer, emit
from argus.cli.mcp_http import serve_http
from argus.cli.mcp_server import build_server
from argus.cli.usage import GOOD, UsageError


def handle(args: argparse.Namespace) -> int:
    if args.list:
        return _list(args)
    if not 1 <= args.workers <= 8:
        raise UsageError(f"--workers takes 1 to 8, not {args.workers}")
    if args.http is not None and not 1 <= args.http <= 65535:
        raise UsageError(f"--http takes a port from 1 to 65535, not {args.http}")
    with Workbench(WorkspaceFolder(Path(args.workspace)), args.workers) as bench:
        if args.http is not None:
            serve_http(build_server(bench), args.http)
        else:
            anyio.run(_stdio, bench)
    return GOOD


def _list(args: argparse.Namespace) -> int:
    if args.json:
        rows = [{"name": t.name, "text": t.text, "parameters": schema_of(t.call)} for t in TOOLS.values()]
        emit(ToolsAnswer, {"tools": rows})
        return GOOD
    for tool in TOOLS.values():
        schema = schema_of(tool.call)
        words = [name if name in schema.get("required", []) else f"[{name}]" for name in schema["properties"]]
        print(f"{tool.name} {' '.join(words)}\n    {tool.text}")
    return GOOD


async def _stdio(bench: Workbench) -> None:
    server = build_server(bench)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
