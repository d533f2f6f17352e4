"""A command that does not outlive the run which asked it: `python guard.py PIPE COMMAND ARGUMENT …`.

PIPE is the number of an inherited pipe whose other end the run holds. Nothing is ever written to it; it closes when the
run ends, however that happens, also by `kill -9`. Then the whole process group goes: the guard, the command and the
children of the command. The guard passes the command's streams and exit code on. It imports nothing of Argus, so it
starts at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

NOT_STARTED = 127
BY_SIGNAL = 128


def end_with(pipe: int) -> None:
    """Wait until the pipe closes, then end the group."""
    os.read(pipe, 1)
    os.killpg(0, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    threading.Thread(target=end_with, args=(int(arguments[0]),), daemon=True).start()
    try:
        code = subprocess.Popen(arguments[1:]).wait()
    except OSError as error:
        print(error, file=sys.stderr)
        return NOT_STARTED
    return code if code >= 0 else BY_SIGNAL - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
