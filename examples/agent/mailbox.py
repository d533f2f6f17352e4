"""A model behind a folder: `argus optimize TASK --provider "command:python3 /path/to/mailbox.py FOLDER"`.

The question of each call is written to FOLDER/question-001.md, 002, …; then this waits until somebody has put one
into FOLDER/answer-001.md, and prints it. FOLDER/stop ends the episode. Nothing of Argus is imported, and who answers
needs nothing but the folder (`tool.py` in it makes that comfortable: examples/agent/mailbox_client.py).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

PAUSE = 0.5
STOPPED = 3


def asked(folder: Path, question: str) -> int:
    """Put the question there; its number."""
    number = len(list(folder.glob("question-*.md"))) + 1
    written(folder / f"question-{number:03}.md", question)
    return number


def written(path: Path, text: str) -> None:
    """Write a file so that nobody sees half of it."""
    beside = path.with_name(f".{path.name}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def answered(folder: Path, number: int) -> str | None:
    """Wait for the answer; None where the episode is to end."""
    path = folder / f"answer-{number:03}.md"
    while not path.exists():
        if (folder / "stop").exists():
            return None
        time.sleep(PAUSE)
    return path.read_text(encoding="utf-8")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: mailbox.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    answer = answered(folder, asked(folder, sys.stdin.read()))
    if answer is None:
        print("the one who answers has stopped", file=sys.stderr)
        return STOPPED
    sys.stdout.write(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
