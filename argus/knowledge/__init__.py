"""What is known about making kernels fast, as data: one file per technique."""

from argus.knowledge.base import EntryError, KnowledgeEntry, load, parse_entry
from argus.knowledge.search import matching, search

__all__ = ["EntryError", "KnowledgeEntry", "load", "matching", "parse_entry", "search"]
