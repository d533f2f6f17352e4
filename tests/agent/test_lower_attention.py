"""Transformations of attention: the chain from the naive kernel is proved, and a wrong mask or bound is not.

The oracle is the checker, on the program as it is scheduled.
"""

from __future__ import annotations

import pytest

from argus.agent.lower import NotApplicableError, lower
from argus.check import check
from argus.compile.schedule import scheduled
from argus.lang import read
from argus.tasks.task import load_task

STRUCTURE = (
    ("query_waves", {"waves": 4}),
    ("key_tiles", {"tiles": 2}),
    ("causal_skip", {}),
    ("causal_order", {}),
    ("staging", {"barriers": "both"}),
)
SPEED = (
    ("wide_fragments", {}),
    ("swizzle", {"kind": "reads", "amount": 3}),
    ("software_pipeline", {"depth": "fetch"}),
    ("reciprocal", {}),
    ("interleave", {"mfma": 2}),
)


def lowered(*steps: tuple[str, dict[str, object]]) -> str:
    text = load_task("attention").source
    for name, params in steps:
        text = lower(text, name, params)
    return text


def verdicts(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for verdict in check(scheduled(read(text))).verdicts:
        found.setdefault(verdict.status, set()).add(verdict.rule)
    return found


def test_the_whole_chain_is_proved() -> None:
    text = lowered(*STRUCTURE, *SPEED)
    assert "\n    inverse = ag.rcp(den)\n" in text
    assert set(verdicts(text)) == {"proved"}


def test_each_turn_takes_more_keys_and_the_loop_ends_early() -> None:
    text = lowered(*STRUCTURE[:3])
    assert "s[nt] = ag.mfma(k[nt, ks], q[ks], s[nt])" in text
    assert "pb[ns // 4].regs(4 * (ns % 4), 4)" in text
    assert "steps = ag.cdiv(ag.min(32 * WAVES * (group + 1), Sk), KEYS)" in text
    assert set(verdicts(text)) == {"proved"}


def test_a_loop_that_ends_a_tile_too_early_is_not_proved() -> None:
    text = lowered(*STRUCTURE[:3]).replace("(group + 1), Sk)", "(group + 0), Sk)")
    assert set(verdicts(text)) != {"proved"}


def test_a_missing_barrier_is_refuted() -> None:
    text = lowered(*STRUCTURE[:2], ("staging", {"barriers": "after"}))
    assert "race_free" in verdicts(text)["refuted"]


def test_only_operands_that_meet_another_loaded_one_get_wide() -> None:
    text = lowered(*STRUCTURE[:2], ("wide_fragments", {}))
    assert 'KEY = MMA.operand(row="Sk", k="D", wide=8)' in text
    assert 'VALUE = MMA.operand(row="D", k="Sk")' in text
    assert "for nt, h, ks in ag.unroll(KEY_TILES, 2, 8)" in text


@pytest.mark.parametrize("name", ["query_waves", "key_tiles", "causal_skip", "causal_order"])
def test_a_product_has_no_place_for_them(name: str) -> None:
    with pytest.raises(NotApplicableError):
        lower(load_task("gemm").source, name, {"waves": 4, "tiles": 2})


@pytest.mark.parametrize(("name", "params"), [*STRUCTURE[:4]])
def test_nothing_is_done_twice(name: str, params: dict[str, object]) -> None:
    text = lowered((name, params))
    with pytest.raises(NotApplicableError):
        lower(text, name, params)
