"""Reads a page as a browser would, and insists that every element is closed in order and nothing comes from outside."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "input"}


class HtmlChecker(HTMLParser):
    """Tags, texts and links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []

    @staticmethod
    def of(text: str) -> HtmlChecker:
        """The page, read to its end."""
        found = HtmlChecker()
        found.feed(text)
        assert found.open == []
        assert not re.search(r"https?://", text)
        assert all(link.startswith("#") for link in found.links)
        return found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def _seen(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "srcset", "action")]
        assert not any(name.startswith("on") for name, _ in attrs)
