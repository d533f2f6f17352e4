"""Lemmas: what a question of arithmetic needs to be decided again, without looking for it.

    facts K % 64 == 0, kt < K//64, M >= 1, kt*64 + 63 >= K        cannot be true together
    lemma facts 0, 1 and 3, by elimination

A question is a set of facts that contradict each other, if what is asked follows. A lemma is found by the question's
name, a digest of its facts, and says which of them are needed and which method shows the contradiction; `open` says
that none does, so that nobody tries again. It is a hint: the prover takes facts of the question and nothing else, asks
the method, and decides as if there were no lemma where that shows nothing. So a wrong lemma can cost a proof or time.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from argus.layout.expr import Expr

Facts = tuple[Expr, ...]
Method = Literal["structural", "elimination", "cases", "digits", "Z3", "open"]


@dataclass(frozen=True, slots=True)
class Lemma:
    """Positions of the facts that are needed, counted in the order of digests, and how they contradict each other. For
    `digits` the fact to be contradicted stands first."""

    needed: tuple[int, ...]
    how: Method


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that was asked: whether its facts can be true together, and how that was decided."""

    facts: Facts
    answer: bool | None
    how: Method


def in_order(facts: Facts) -> Facts:
    """The facts in the order that lemmas count in, which no process changes."""
    return tuple(sorted(facts, key=lambda fact: fact.digest))


def question_name(facts: Facts) -> str:
    """A digest of the facts."""
    return blake2b(b"".join(sorted(fact.digest for fact in facts)), digest_size=12).hexdigest()


def chosen(facts: Facts, lemma: Lemma) -> Facts:
    """The facts of the question that the lemma names."""
    ordered = in_order(facts)
    return tuple(ordered[n] for n in lemma.needed if 0 <= n < len(ordered))
