"""What is known about making kernels fast, as data: one file per technique."""

from argus.knowledge.base import Entry, EntryError, load, parse_entry
from argus.knowledge.search import matching, search

__all__ = ["Entry", "EntryError", "load", "matching", "parse_entry", "search"]
