"""Every mistake in a kernel file that has a diagnostic: a stable code, the sentence, the fix, an explanation.

`message` and `fix` are filled with the words of the program at hand ({name}, {width}, …). Codes are grouped:
AG1xx the file and its Python, AG2xx knobs and signature, AG3xx layouts, owners and memory, AG4xx tiles and types,
AG5xx control flow, AG6xx single functions. A code is never reused for another mistake.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.lang import catalogue_computes, catalogue_control, catalogue_file, catalogue_memory, catalogue_tiles


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    code: str
    name: str
    message: str
    fix: str
    explanation: str


def _entries() -> list[CatalogueEntry]:
    parts = (catalogue_file, catalogue_computes, catalogue_memory, catalogue_tiles, catalogue_control)
    return [CatalogueEntry(*row) for part in parts for row in part.ROWS]


CATALOGUE: dict[str, CatalogueEntry] = {entry.code: entry for entry in _entries()}
