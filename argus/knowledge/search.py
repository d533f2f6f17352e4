"""Finding entries: a predicate filter, then BM25 over their words.

    search("bank conflicts of column reads", family="gemm")     best first

BM25 with k1 = 1.2, b = 0.75 over lower-case words; a word's weight falls with the number of entries that have it. Some
forty short texts need no index and no embedding.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from argus.knowledge.base import KnowledgeEntry, load

K1, B = 1.2, 0.75
_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    return [w.rstrip("s") if len(w) > 3 else w for w in _WORD.findall(text.lower())]


def matching(*, family: str | None = None, bottleneck: str | None = None) -> list[KnowledgeEntry]:
    """Entries for a family and a bottleneck; None matches everything."""
    return [
        entry
        for entry in load().values()
        if (family is None or family in entry.families or "any" in entry.families)
        and (bottleneck is None or bottleneck in entry.bottlenecks or "any" in entry.bottlenecks)
    ]


def search(
    query: str, entries: Iterable[KnowledgeEntry] | None = None, *, family: str | None = None
) -> list[tuple[float, KnowledgeEntry]]:
    """Entries with a word of the query, by score."""
    pool = list(matching(family=family) if entries is None else entries)
    documents = [Counter(words(entry.text())) for entry in pool]
    lengths = [sum(d.values()) for d in documents]
    mean = sum(lengths) / max(1, len(lengths))
    found = []
    for entry, document, length in zip(pool, documents, lengths, strict=True):
        score = 0.0
        for word in dict.fromkeys(words(query)):
            having = sum(word in d for d in documents)
            rarity = math.log(1 + (len(pool) - having + 0.5) / (having + 0.5))
            often = document[word]
            score += rarity * often * (K1 + 1) / (often + K1 * (1 - B + B * length / mean))
        if score > 0:
            found.append((score, entry))
    return sorted(found, key=lambda item: (-item[0], item[1].id))
