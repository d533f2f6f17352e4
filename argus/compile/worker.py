"""The process that runs LLVM. Started as a script, it imports nothing of Argus, and it may die.

LLVM's answer to an intrinsic it cannot select, or to a register file that is too small, is `abort()` or `exit(1)`.
Here that kills this process only; `argus.compile.backend` sees the end of the pipe and turns the last lines of
standard error into a coded error.

Protocol, both ways: four bytes little-endian length, JSON of that length; an answer `{"ok": true, "size": n}` is
followed by n bytes of object or assembly text. Requests: `{"ir": text, "opt": 0..3, "emit": "object" | "assembly"}`.
One process answers any number of requests; nothing is kept between them, so an answer depends on its request only.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

CPU, TRIPLE, FEATURES = "gfx942", "amdgcn-amd-amdhsa", "+sramecc"
"""XNACK is left open ("any"): LLVM then keeps loads replayable, and the object loads with retry of faults on or off."""


def read_exactly(stream: BinaryIO, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        piece = stream.read(size - len(data))
        if not piece:
            return None
        data += piece
    return data


def answer(request: dict[str, Any], binding: Any) -> bytes:
    module = binding.parse_assembly(request["ir"])
    machine = binding.Target.from_triple(TRIPLE).create_target_machine(
        cpu=CPU, features=FEATURES, opt=request.get("opt", 3)
    )
    module.data_layout = str(machine.target_data)
    module.verify()
    made: bytes | str = machine.emit_object(module) if request["emit"] == "object" else machine.emit_assembly(module)
    return made if isinstance(made, bytes) else made.encode()


def main() -> None:
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    while True:
        header = read_exactly(sys.stdin.buffer, 4)
        body = None if header is None else read_exactly(sys.stdin.buffer, int.from_bytes(header, "little"))
        if body is None:
            return
        payload = b""
        try:
            payload = answer(json.loads(body), binding)
            reply: dict[str, Any] = {"ok": True, "size": len(payload)}
        except RuntimeError as error:
            reply = {"ok": False, "message": str(error)}
        head = json.dumps(reply).encode()
        replies.write(len(head).to_bytes(4, "little") + head + payload)
        replies.flush()


if __name__ == "__main__":
    main()
