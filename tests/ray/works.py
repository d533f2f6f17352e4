"""Work for the workers of a test: functions that are named, as those of Argus are."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


def doubled(item: int) -> int:
    return 2 * item


def environment(item: None) -> list[str]:
    return sorted(os.environ)


def refused(item: str) -> None:
    raise LookupError(item)


def dying(item: dict[str, Any]) -> int:
    """Leaves a line in a file, then dies of SIGKILL as often as is asked; how often it was begun."""
    path = Path(item["file"])
    begun = len(path.read_text().splitlines()) + 1 if path.exists() else 1
    with path.open("a") as file:
        file.write(f"{os.getpid()}\n")
    if begun <= item["times"]:
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    return begun
