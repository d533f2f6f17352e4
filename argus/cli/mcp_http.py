"""The MCP server over streamable HTTP: on loopback only, with a token, Host and Origin checked.

    ARGUS_MCP_TOKEN=… argus mcp --http 8765          http://127.0.0.1:8765/mcp

A page in a browser can reach loopback addresses, and a name can be made to point there; so every request must carry
`Authorization: Bearer TOKEN`, a Host that is this address, and no Origin or one that is this address. All three are
checked before the request is read. The token comes from the environment, never from the command line, which other users
of the machine can see.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

from argus.agent.tools import ToolError

ADDRESS = "127.0.0.1"
TOKEN = "ARGUS_MCP_TOKEN"
SHORTEST = 16
MAX_BODY = 2 << 20
MAX_SESSIONS = 16

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def token_of_environment() -> str:
    """The token, or ARG-W109."""
    token = os.environ.get(TOKEN, "")
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable():
        raise ToolError("ARG-W109", f"{TOKEN} must hold a token of at least {SHORTEST} printable characters")
    return token


def guarded(app: App, token: str, port: int) -> App:
    """`app` behind the three checks."""
    hosts = {f"{name}:{port}" for name in (ADDRESS, "localhost")}
    origins = {f"http://{host}" for host in hosts}

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        refusal = refused(headers, token, hosts, origins)
        if refusal is None:
            await app(scope, receive, send)
            return
        status, text = refusal
        more = [(b"www-authenticate", b"Bearer")] if status == 401 else []
        start = {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain"), *more]}
        await send(start)
        await send({"type": "http.response.body", "body": text.encode()})

    return checked


def refused(headers: dict[str, list[str]], token: str, hosts: set[str], origins: set[str]) -> tuple[int, str] | None:
    """Status and reason of a request that is not let in; a header given twice is none."""
    if headers.get("host", []) not in [[host] for host in hosts]:
        return 421, "the Host is not this server"
    if headers.get("origin", []) not in [[], *([origin] for origin in origins)]:
        return 403, "the Origin is not this server"
    given = headers.get("authorization", [])
    if len(given) != 1 or not hmac.compare_digest(given[0].encode(), f"Bearer {token}".encode()):
        return 401, "no token, or not the right one"
    return None


def http_app(server: Server[Any], token: str, port: int) -> App:
    """The whole application: the checks, then the SDK's own, then the server."""
    hosts = [f"{name}:{port}" for name in (ADDRESS, "localhost")]
    settings = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])
    inner = server.streamable_http_app(
        transport_security=settings, max_request_body_size=MAX_BODY, max_sessions=MAX_SESSIONS
    )
    return guarded(inner, token, port)


def serve_http(server: Server[Any], port: int) -> None:
    """Serve until the process is told to end."""
    app = http_app(server, token_of_environment(), port)
    uvicorn.run(app, host=ADDRESS, port=port, log_level="warning", access_log=False, server_header=False)
