"""From an answer to a new kernel file.

An answer holds either the whole file in one ```python block, or pieces to replace, each found exactly once in the file:

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

from argus.agent.providers.errors import ProviderError

SEARCH, MIDDLE, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
FENCE = re.compile(r"^```(?:python|py)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
LARGEST = 400_000


def apply(answer: str, source: str) -> str:
    """The file `source` after the edit in `answer`."""
    pieces = _pieces(answer)
    if pieces:
        for number, (old, new) in enumerate(pieces, 1):
            source = _replaced(source, old, new, number)
        return source
    blocks = FENCE.findall(answer)
    if len(blocks) == 1 and "@" in blocks[0]:
        return _sized(str(blocks[0]))
    if len(blocks) > 1:
        raise ProviderError(
            "ARG-P120", f"the answer holds {len(blocks)} code blocks; give one file, or SEARCH/REPLACE pieces"
        )
    if "```" in answer:
        raise ProviderError("ARG-P120", "the code block is not closed, or holds no kernel")
    raise ProviderError("ARG-P120", "the answer holds neither a ```python block nor SEARCH/REPLACE pieces")


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
    if len(found) != 1:
        where = "not in the file" if not found else f"{len(found)} times in the file"
        raise ProviderError(
            "ARG-P121", f"piece {number} ({wanted[0].strip()!r} …) is {where}; it must be there exactly once"
        )
    at = found[0]
    return _sized("\n".join([*lines[:at], *new.splitlines(), *lines[at + size :]]) + "\n")


def _sized(source: str) -> str:
    if len(source) > LARGEST:
        raise ProviderError("ARG-P121", f"the new file has {len(source)} characters; {LARGEST} are allowed")
    return source
