"""docs/semantics.md is made from the rules."""

from pathlib import Path

from argus.ir.semantics import RULES
from argus.ir.semantics.reference import page

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_made_from_the_rules() -> None:
    """`python -m argus.ir.semantics.reference` prints it."""
    assert (DOCS / "semantics.md").read_text() == page()


def test_every_rule_has_a_source_or_says_that_it_is_assumed() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.source and rule.where and rule.says for rule in RULES)
    assert any(rule.assumed for rule in RULES)


def test_rules_name_rooms_that_exist() -> None:
    root = DOCS.parent / "argus"
    for rule in RULES:
        for part in rule.where.replace(";", ",").replace(":", ",").split(","):
            first = part.strip().split(" ")[0]
            if "/" in first:
                assert (root / first).exists() or (root / f"{first}.py").exists(), (rule.name, first)
