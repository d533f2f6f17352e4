"""`argus explain RULE`: every rule of the checker has a page."""

from __future__ import annotations

import pytest

from argus.cli.explain import RULES, page_of


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_has_its_page(rule: str) -> None:
    page = page_of(rule)
    assert page is not None
    assert page.startswith(f"# rule {rule}\n")
    assert len(page) > 200
