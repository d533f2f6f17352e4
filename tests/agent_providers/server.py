"""A local server that speaks both protocols and does what a test has scripted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Scripted:
    """`answers` are (status, headers, body) in order; the last one is repeated. `seen` are (path, headers, body)."""

    answers: list[tuple[int, dict[str, str], bytes]]
    seen: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    url: str = ""


def openai_answer(text: str | None, reason: str = "stop") -> bytes:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}).encode()


def anthropic_answer(text: str, reason: str = "end_turn") -> bytes:
    parts = [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": text}]
    return json.dumps(
        {"content": parts, "stop_reason": reason, "usage": {"input_tokens": 5, "output_tokens": 3}}
    ).encode()


@contextmanager
def serving(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[Scripted]:
    script = Scripted(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            script.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(body)))
            status, headers, reply = script.answers[min(len(script.seen), len(script.answers)) - 1]
            if status == 0:
                self.connection.close()
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
