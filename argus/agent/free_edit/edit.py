"""From an answer to a new kernel file.

An answer holds the whole file in one ```python block, or a unified diff in a ```diff block (`unified_diff`), or pieces
to replace, each a text found exactly once in the file:

    <<<<<<< SEARCH
        ag.barrier()
    =======
        ag.wait(lds=0)
        ag.barrier()
    >>>>>>> REPLACE

Pieces are replaced in the order given. Text around the blocks is the model's reasoning and is not read. What cannot be
applied is refused with a sentence that the model can act on; nothing is applied in part.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from argus.agent.free_edit.unified_diff import patched
from argus.agent.providers.errors import ProviderError

SEARCH, MIDDLE, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
DIFF = re.compile(r"^```(?:diff|patch)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```(?:python|py)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
LARGEST = 400_000


def apply(answer: str, source: str) -> str:
    """The file `source` after the edit in `answer`."""
    pieces = _pieces(answer)
    if pieces:
        for number, (old, new) in enumerate(pieces, 1):
            source = _replaced(source, old, new, number)
        return source
    diffs = DIFF.findall(answer)
    if diffs:
        for diff in diffs:
            source = patched(source, diff)
        return sized(source)
    blocks = FENCE.findall(answer)
    if len(blocks) == 1 and "@" in blocks[0]:
        return sized(str(blocks[0]))
    if len(blocks) > 1:
        raise ProviderError(
            "ARG-P120", f"the answer holds {len(blocks)} code blocks; give one file, one diff, or SEARCH/REPLACE pieces"
        )
    if "```" in answer:
        raise ProviderError("ARG-P120", "the code block is not closed, or holds no kernel")
    raise ProviderError(
        "ARG-P120", "the answer holds no ```python block, no ```diff block and no SEARCH/REPLACE pieces"
    )


def _pieces(answer: str) -> list[tuple[str, str]]:
    pieces: list[tuple[str, str]] = []
    old: list[str] = []
    new: list[str] = []
    state = "outside"
    for line in answer.splitlines():
        mark = line.rstrip()
        if mark == SEARCH:
            if state != "outside":
                raise ProviderError("ARG-P120", f"piece {len(pieces) + 1} begins inside another one")
            state, old, new = "old", [], []
        elif mark == MIDDLE and state == "old":
            state = "new"
        elif mark == REPLACE:
            if state != "new":
                raise ProviderError("ARG-P120", f"piece {len(pieces) + 1} ends without {SEARCH} and {MIDDLE} before it")
            pieces.append(("\n".join(old), "\n".join(new)))
            state = "outside"
        elif state == "old":
            old.append(line)
        elif state == "new":
            new.append(line)
    if state != "outside":
        raise ProviderError("ARG-P120", f"piece {len(pieces) + 1} is not closed by {REPLACE}")
    return pieces


def _replaced(source: str, old: str, new: str, number: int) -> str:
    if not old.strip():
        raise ProviderError("ARG-P121", f"piece {number} searches for nothing")
    lines, wanted = source.splitlines(), old.splitlines()
    size = len(wanted)
    found = [at for at in range(len(lines) - size + 1) if lines[at : at + size] == wanted]
    if len(found) == 1:
        at = found[0]
        return sized("\n".join([*lines[:at], *new.splitlines(), *lines[at + size :]]) + "\n")
    if not found and source.count(old) == 1:
        return sized(source.replace(old, new))
    times = len(found) or source.count(old)
    where = f"{times} times in the file" if times else f"not in the file{_near(lines, wanted[0])}"
    raise ProviderError(
        "ARG-P121", f"piece {number} ({wanted[0].strip()!r} …) is {where}; it must be there exactly once"
    )


def _near(lines: list[str], wanted: str) -> str:
    """The line that was perhaps meant."""
    found = get_close_matches(wanted.strip(), [line.strip() for line in lines], n=1, cutoff=0.7)
    if not found:
        return ""
    number = next(n for n, line in enumerate(lines, 1) if line.strip() == found[0])
    return f" (line {number} is {found[0]!r})"


def sized(source: str) -> str:
    if len(source) > LARGEST:
        raise ProviderError("ARG-P121", f"the new file has {len(source)} characters; {LARGEST} are allowed")
    return source
