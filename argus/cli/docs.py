"""`argus docs [WORDS]`: search or read the reference that comes with Argus.

    argus docs                                    the pages
    argus docs swizzle bank conflict              the sections that say most about it
    argus docs --page language --section Owners   one section

The pages are the files of docs/: beside the package in a clone of the repository, in `share/argus-kernels/docs` of the
environment where the wheel is installed. A section is what stands below one heading. Sections are ranked as search
engines do (BM25): by the words they hold, rare words first, long sections less, words of the heading once more.
"""

from __future__ import annotations

import argparse
import math
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from argus.cli.answers import DocsAnswer, emit
from argus.cli.parser import near
from argus.cli.usage import GOOD, UsageError
from argus.provenance import PACKAGE

BESIDE = PACKAGE.parent / "docs"
INSTALLED = Path(sysconfig.get_path("data")) / "share" / "argus-kernels" / "docs"
HEADING = re.compile(r"^#{1,4} (.+)$")
WORD = re.compile(r"[a-z0-9_]+")
LONGEST = 6_000
"""Characters of a section that a search shows."""
FIRST_PAGES = {"language": 2.0, "tutorial": 1.3, "kernels": 1.3, "from_triton": 1.3}
"""Pages for who writes kernels, and how much more their sections weigh."""
SATURATION, BY_LENGTH = 1.2, 0.6


@dataclass(frozen=True, slots=True)
class DocSection:
    """What stands below one heading, with the heading."""

    page: str
    title: str
    text: str


def handle(args: argparse.Namespace) -> int:
    sections = all_sections()
    if args.most < 1:
        raise UsageError(f"--most takes at least 1, not {args.most}")
    if args.page is not None:
        sections = [s for s in sections if s.page == _known(args.page, {s.page for s in sections}, "page")]
    if args.section is not None:
        if args.page is None:
            raise UsageError("--section needs --page")
        sections = [s for s in sections if s.title == _known(args.section, {s.title for s in sections}, "section")]
    if args.words:
        sections = ranked(sections, args.words)[: args.most]
    pages: dict[str, str] = {}
    for section in all_sections():
        pages.setdefault(section.page, section.title)
    shown = sections if args.words or args.page is not None else []
    if args.json:
        listed = [{"page": page, "title": title} for page, title in pages.items()] if not shown else []
        found = [{"page": s.page, "section": s.title, "text": s.text} for s in shown]
        emit(DocsAnswer, {"pages": listed, "sections": found})
        return GOOD
    if not shown:
        print("nothing found" if args.words else "\n".join(f"{page:<20} {title}" for page, title in pages.items()))
    for section in shown:
        head = f"[{section.page}: {section.title}]\n" if args.words else ""
        more = f"\n… argus docs --page {section.page} --section {section.title!r}"
        text = section.text
        print(f"{head}{text[:LONGEST] + more if args.words and len(text) > LONGEST else text}\n")
    return GOOD


def _known(given: str, known: set[str], kind: str) -> str:
    """The name as it is written, whatever the case and ending that was given."""
    by_word = {name.lower(): name for name in known}
    word = given.lower().removesuffix(".md")
    if word not in by_word:
        raise UsageError(
            f"there is no {kind} {given!r}{near(word, by_word) or '; there are ' + ', '.join(sorted(known))}"
        )
    return by_word[word]


@cache
def all_sections() -> Sequence[DocSection]:
    """Every section of every page, in order."""
    folder = BESIDE if (BESIDE / "language.md").is_file() else INSTALLED
    if not folder.is_dir():
        raise UsageError(f"the reference is not installed: neither {BESIDE} nor {INSTALLED} is there")
    return [s for path in sorted(folder.glob("*.md")) for s in _sections(path.stem, path.read_text(encoding="utf-8"))]


def _sections(page: str, text: str) -> Iterator[DocSection]:
    title, fenced = page, False
    lines: list[str] = []
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else HEADING.match(line)
        if heading is not None:
            if any(part.strip() for part in lines):
                yield DocSection(page, title, "\n".join(lines).strip())
            title, lines = heading[1], []
        lines.append(line)
    yield DocSection(page, title, "\n".join(lines).strip())


def ranked(sections: Sequence[DocSection], words: Sequence[str]) -> list[DocSection]:
    """Those that hold at least one word, best first."""
    wanted = {word for text in words for word in WORD.findall(text.lower())}
    counts = [Counter(WORD.findall(f"{section.title} {section.text}".lower())) for section in sections]
    having = Counter(word for count in counts for word in wanted if count[word])
    usual = sum(len(section.text) for section in sections) / max(1, len(sections))
    scored = []
    for number, (section, count) in enumerate(zip(sections, counts, strict=True)):
        titled = set(WORD.findall(section.title.lower()))
        slack = SATURATION * (1 - BY_LENGTH + BY_LENGTH * len(section.text) / usual)
        score = sum(
            math.log(1 + len(sections) / having[word]) * (count[word] / (count[word] + slack) + (word in titled))
            for word in wanted
            if count[word]
        )
        if score:
            scored.append((-score * FIRST_PAGES.get(section.page, 1.0), number, section))
    return [section for _, _, section in sorted(scored, key=lambda row: row[:2])]
