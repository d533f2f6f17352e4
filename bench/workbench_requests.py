"""Malformed requests to `argus mcp`: nothing crashes, nothing outside the workspace is opened.

    python -m bench.workbench_requests [--requests 1000] [--seed 0]

A server is started on standard input and output, as a coding agent does, and gets raw lines: no JSON, JSON that is no
message, messages of unknown methods, calls of unknown tools, arguments of every wrong type, paths by every way out of
the workspace (`..`, absolute, links, a link to a folder, pipes, devices, names with control characters), and hostile
kernel files. A request with an id must be answered under that id; the server must answer a right request at the end.

What was opened is seen by an audit hook in the server and in the tools' process (`sitecustomize` in a folder of
PYTHONPATH), which share no code with the workspace: no opened file may lie, by its real path, in the folder of decoys
or in `/etc`. The hook is proved to work by a file that must have been opened. Exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

HOOK = """\
import os, sys
_log = os.open(os.environ["AUDIT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def _hook(event, args):
    if event == "open" and isinstance(args[0], (str, bytes, os.PathLike)):
        try:
            name = os.fsdecode(args[0])
            real = os.path.realpath(name)
        except (ValueError, OSError):
            return
        os.write(_log, os.fsencode(real) + b"\\n")
sys.addaudithook(_hook)
"""
VADD = Path("argus/kernels/vadd.py")
CANARY = "canary-outside-the-workspace"
TOOLS = ("check", "show", "time", "run", "diff", "registers", "kb", "docs", "judge", "shell", "", "CHECK", "check ")
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 2**70, 1.5, "", "x", "\x00", "\ud800".encode("utf-16", "surrogatepass").hex(), [], [[]], {},
    {"a": {"b": []}}, "--help", "-o", "$(id)", "'; --", "A" * 5000,
)  # fmt: skip
SECONDS = 120.0


def paths(root: Path, outside: Path) -> list[str]:
    """Ways out of the workspace, and names that are none."""
    return [
        "../outside/secret.py", "../../outside/secret.py", str(outside / "secret.py"), "/etc/passwd", "link.py",
        "folder/secret.py", "deep/../../outside/secret.py", "./../outside/./secret.py", "up/outside/secret.py",
        "/proc/self/environ", "/proc/self/environ.py", "/dev/zero", "pipe.py", "loop.py", "gone.py", "~/secret.py",
        "%2e%2e/outside/secret.py", "..\\outside\\secret.py", "file:///etc/passwd", "imports.py", "deep", ".", "..",
        "vadd.py\x00", "vadd.py\n", " vadd.py", "VADD.PY", "x" * 3000 + ".py", "-o.py", "vadd.py/secret.py",
        str(root / ".." / "outside" / "secret.py"), "//etc//passwd", "nul\x00/etc/passwd",
    ]  # fmt: skip


def workspace(folder: Path) -> tuple[Path, Path]:
    """A workspace with links out of it and hostile files, and the folder of decoys."""
    root, outside = folder / "inside", folder / "outside"
    for path in (root / "deep", outside):
        path.mkdir(parents=True)
    (outside / "secret.py").write_text(f'import argus as ag\nSECRET = "{CANARY}"\n')
    (root / "vadd.py").write_text(VADD.read_text())
    (root / "link.py").symlink_to(outside / "secret.py")
    (root / "folder").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "loop.py").symlink_to("loop.py")
    (root / "gone.py").symlink_to(outside / "gone.py")
    (root / "imports.py").write_text("import argus as ag\nfrom link import SECRET\n")
    os.mkfifo(root / "pipe.py")
    for number, text in enumerate(hostile()):
        (root / f"hostile{number}.py").write_bytes(text)
    return root, outside


def hostile() -> list[bytes]:
    """Kernel files that are none."""
    right = VADD.read_text()
    return [
        b"", b"\x00", b"\xff\xfe", b"(" * 5000, b"x = " + b"-" * 100_000 + b"1\n", b"import os\nos.system('id')\n",
        b"from os import system\n", b"x = 10 ** 10 ** 10\n", b"__import__('os')\n", b"#" * 300_000,
        right.replace("256", "2" + "0" * 40).encode(), right.replace("N", "_").encode(),
        right.replace("def vadd", "async def vadd").encode(), right.replace("+ y", "@ y").encode(),
        right.replace("import argus as ag", "import argus as ag\nfrom ..outside.secret import SECRET").encode(),
        right.replace("import argus as ag", "import argus as ag\nfrom link import SECRET").encode(),
        f"import argus as ag\nag.knob('{'a' * 9000}')\n".encode(), b"while True: pass\n", b"lambda: 0\n",
        right.replace("PER_THREAD = ag.knob(4", "PER_THREAD = ag.knob(4" + " + 0" * 3000).encode(),
    ]  # fmt: skip


def requests(count: int, seed: int, root: Path, outside: Path) -> Iterator[bytes]:
    """Raw lines; those with a number of their own expect an answer."""
    rng = random.Random(seed)
    ways = paths(root, outside)
    for number in range(1, count + 1):
        yield rng.choice(KINDS)(rng, number, ways)


def _garbage(rng: random.Random, number: int, ways: list[str]) -> bytes:
    kind = rng.randrange(5)
    if kind == 0:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 80))).replace(b"\n", b" ")
    if kind == 1:
        return b"{" * rng.randrange(1, 3000)
    if kind == 2:
        return b'{"jsonrpc": "2.0", "id": ' + b"[" * rng.randrange(1, 500)
    if kind == 3:
        return json.dumps(rng.choice(ODD)).encode()
    return b'"' + b"\\u0000" * rng.randrange(1, 500)


def _message(rng: random.Random, number: int, ways: list[str]) -> bytes:
    """A message with fields left out or of other types; no answer is asked for by its number."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": rng.choice(ODD), "method": "tools/call", "params": {}}
    for key in rng.sample(sorted(message), rng.randrange(1, 4)):
        if rng.random() < 0.5:
            del message[key]
        else:
            message[key] = rng.choice(ODD)
    return json.dumps(message).encode()


def _method(rng: random.Random, number: int, ways: list[str]) -> bytes:
    method = rng.choice(["tools/calls", "", "resources/read", "prompts/get", "initialize", "x" * 2000, "../tools/list"])
    params = rng.choice([{}, {"uri": f"file://{rng.choice(ways)}"}, {"name": rng.choice(ways)}])
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def _call(number: int, name: Any, arguments: Any) -> bytes:
    params = {"name": name, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


def _types(rng: random.Random, number: int, ways: list[str]) -> bytes:
    right: dict[str, Any] = {"file": "vadd.py", "line": 12, "before": "vadd.py", "after": "vadd.py"}
    arguments = {key: value for key, value in right.items() if rng.random() < 0.7}
    for key in rng.sample(["file", "set", "shape", "line", "kernel", "format", "before", "seed", "at", "top"], 3):
        arguments[key] = rng.choice(ODD)
    return _call(number, rng.choice(TOOLS), arguments)


def _path(rng: random.Random, number: int, ways: list[str]) -> bytes:
    way = rng.choice(ways)
    tool = rng.choice(["check", "show", "run", "time", "registers", "diff", "docs", "judge"])
    many: dict[str, dict[str, Any]] = {"show": {"line": 3}, "judge": {"task": "gemm"}}
    arguments = {"file": way, **many.get(tool, {})}
    if tool == "diff":
        arguments = {"before": "vadd.py", "after": way} if rng.random() < 0.5 else {"before": way, "after": "vadd.py"}
    return _call(number, tool, {"page": way} if tool == "docs" else arguments)


def _hostile(rng: random.Random, number: int, ways: list[str]) -> bytes:
    tool = rng.choice(["check", "show", "run"])
    arguments: dict[str, Any] = {"file": f"hostile{rng.randrange(len(hostile()))}.py"}
    return _call(number, tool, {**arguments, "line": 3} if tool == "show" else arguments)


KINDS: tuple[Callable[[random.Random, int, list[str]], bytes], ...] = (
    _garbage, _message, _method, _types, _types, _path, _path, _path, _hostile,
)  # fmt: skip


@dataclass
class Server:
    """`argus mcp` with raw lines."""

    process: subprocess.Popen[bytes]
    answers: dict[Any, dict[str, Any]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    _rest: bytes = b""

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self, until: Callable[[], bool], seconds: float = SECONDS) -> bool:
        """Read answers until it is so; False if it takes too long or the server ended."""
        assert self.process.stdout is not None
        end = time.monotonic() + seconds
        while not until():
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not part:
                return False
            *lines, self._rest = (self._rest + part).split(b"\n")
            for line in lines:
                self.said.append(line.decode(errors="replace"))
                found = json.loads(line)
                if isinstance(found.get("id"), int):
                    self.answers[found["id"]] = found
        return True


def started(folder: Path, root: Path) -> Server:
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    more = {"PYTHONPATH": f"{folder / 'hook'}:{Path.cwd()}", "AUDIT_LOG": str(folder / "opened.log")}
    words = [sys.executable, "-m", "argus.cli.main", "mcp", "--workspace", str(root)]
    with (folder / "stderr.log").open("wb") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **more}
        )
    server = Server(process)
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}
    server.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}).encode())
    if not server.receive(lambda: 0 in server.answers):
        raise SystemExit(f"the server does not start: {(folder / 'stderr.log').read_text()}")
    server.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    return server


def wrong(count: int, seed: int) -> tuple[list[str], Counter[str]]:
    """What went wrong, and the codes that were answered."""
    found: list[str] = []
    codes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="argus-requests-") as name:
        folder = Path(name)
        root, outside = workspace(folder)
        server = started(folder, root)
        for number, line in enumerate(requests(count, seed, root, outside), 1):
            server.send(line)
            if b'"id": %d,' % number in line and not server.receive(partial(server.answers.__contains__, number)):
                found.append(f"no answer to {line[:200]!r}")
                break
        last = count + 1
        server.send(_call(last, "check", {"file": "vadd.py"}))
        if not server.receive(lambda: last in server.answers):
            found.append("the last request is not answered")
        elif "proved" not in json.dumps(server.answers[last]):
            found.append(f"the last request is answered with {server.answers[last]}")
        if server.process.poll() is not None:
            found.append(f"the server ended with {server.process.returncode}")
        server.process.kill()
        server.process.wait()
        found += [f"{CANARY} in an answer: {text[:300]}" for text in server.said if CANARY in text]
        found += [f"a traceback in an answer: {text[:300]}" for text in server.said if "Traceback" in text]
        opened = (folder / "opened.log").read_bytes().decode(errors="replace").splitlines()
        forbidden = (str(outside.resolve()), "/etc/passwd", "/etc/hostname")
        found += [f"opened {path}" for path in sorted(set(opened)) if path.startswith(forbidden)]
        if str((root / "vadd.py").resolve()) not in opened:
            found.append("the hook has not seen the file that must have been opened")
        for number, answer in server.answers.items():
            if 0 < number <= count:
                codes[_code(answer)] += 1
    return found, codes


def _code(answer: dict[str, Any]) -> str:
    """The code of an answer, in short."""
    if "error" in answer:
        return f"protocol {answer['error']['code']}"
    text = str(answer["result"]["content"][0]["text"]) if "content" in answer["result"] else "other"
    found = re.search(r"ARG-W\d+|error\[(\w+)\]", text)
    return "answered" if found is None else found[1] or found[0]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found, codes = wrong(args.requests, args.seed)
    for code, count in codes.most_common():
        print(f"{count:>5}  {code}")
    print("\n".join(found) or f"{args.requests} requests: no crash, nothing outside opened")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
