"""The knowledge base: readable, closed, realisable where it says so."""

from __future__ import annotations

import pytest

from argus.agent.lower import LOWERINGS
from argus.knowledge import EntryError, load, matching, parse_entry, search

PAPER = (
    "software-pipelining", "split-k", "lds-swizzle", "stagger-k", "direct-to-lds", "lds-padding", "row-vectors",
    "loop-unrolling", "chiplet-order", "range-guards", "accumulation-registers", "instruction-scheduling",
)  # fmt: skip


def test_at_least_thirty_entries_and_the_twelve_of_the_paper() -> None:
    assert len(load()) >= 30
    assert set(PAPER) <= set(load())


def test_every_lowering_exists_and_every_one_is_known() -> None:
    named = {entry.id for entry in load().values() if entry.lowered}
    assert named == set(LOWERINGS)


@pytest.mark.parametrize("entry", load().values(), ids=lambda e: e.id)
def test_an_entry_says_what_it_must_keep(entry) -> None:  # type: ignore[no-untyped-def]
    assert entry.invariants
    assert entry.preserves
    assert entry.failure_modes
    assert len(entry.prose.split()) >= 15
    assert entry.choices


def test_prerequisites_have_no_cycles() -> None:
    entries = load()

    def depth(name: str, above: tuple[str, ...]) -> int:
        assert name not in above, f"{name} requires itself"
        return 1 + max((depth(n, (*above, name)) for n in entries[name].requires), default=0)

    for name in entries:
        assert depth(name, ()) <= 6


def test_search_ranks_by_words() -> None:
    assert search("bank conflicts of column reads")[0][1].id == "lds-swizzle"
    assert search("reciprocal instead of division")[0][1].id == "reciprocal"
    assert search("zzzz") == []


def test_filter_by_family_and_bottleneck() -> None:
    found = {entry.id for entry in matching(family="row", bottleneck="valu")}
    assert "reciprocal" in found
    assert "lds-staging" not in found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no fence", "starts with TOML"),
        ("+++\ntitle = \n+++\nx", "bad"),
        ("+++\ntitle = 'x'\n+++\nprose", "lacks"),
        (
            "+++\ntitle='x'\nclass='odd'\nfamilies=[]\nbottlenecks=[]\ngain=1\ninvariants=[]\n+++\nprose",
            "class is one of",
        ),
    ],
)
def test_what_is_no_entry_is_refused(text: str, problem: str) -> None:
    with pytest.raises(EntryError) as error:
        parse_entry("bad", text)
    assert problem in str(error.value)
