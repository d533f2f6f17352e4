"""Transformations of attention: the chain from the naive kernel is proved, and a wrong mask or bound is not.

The oracle is the checker, on the program as it is scheduled.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.agent.lower import NotApplicableError, lower
from argus.check import check
from argus.compile import compile_kernel
from argus.compile.decoded import decode
from argus.gfx942.hazards import violations
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.tasks.task import load_task

STRUCTURE = (
    ("query-waves", {"waves": 4}),
    ("key-tiles", {"tiles": 2}),
    ("causal-skip", {}),
    ("causal-order", {}),
    ("lds-staging", {"barriers": "both"}),
)
SPEED = (
    ("wide-fragments", {}),
    ("lds-swizzle", {"kind": "reads", "amount": 3}),
    ("software-pipelining", {"depth": "fetch"}),
    ("reciprocal", {}),
    ("instruction-scheduling", {"mfma": 2}),
)

SOFTMAX = (
    ("lds-swizzle", {"kind": "xor", "amount": 3}),
    ("diagonal-mask", {}),
    ("fused-scale", {}),
    ("finite-rounding", {}),
)
SKEW = (
    ("wide-values", {}),
    ("single-fragments", {}),
    ("score-pipeline", {"ahead": 2}),
    ("softmax-schedule", {"valu": 6}),
)
LAZY = ("lazy-rescale", {"powers": 8})
SHORT_HEADS = str(Path(__file__).parents[2] / "examples/agent/tasks/attention64.py")


def lowered(*steps: tuple[str, dict[str, object]]) -> str:
    text = load_task("attention").source
    for name, params in steps:
        text = lower(text, name, params)
    return text


def skewed(task: str, waves: int, *more: tuple[str, dict[str, object]]) -> str:
    """The turns skewed, with scores beside the softmax."""
    text = load_task(task).source
    steps = (("query-waves", {"waves": waves}), *STRUCTURE[1:], *SPEED[:1], *SOFTMAX, *SKEW, *more)
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
    text = lowered(*STRUCTURE[:2], ("lds-staging", {"barriers": "after"}))
    assert "race_free" in verdicts(text)["refuted"]


def test_only_operands_that_meet_another_loaded_one_get_wide() -> None:
    text = lowered(*STRUCTURE[:2], ("wide-fragments", {}))
    assert 'KEY = MMA.operand(row="Sk", k="D", wide=8)' in text
    assert 'VALUE = MMA.operand(row="D", k="Sk")' in text
    assert "for nt, h, ks in ag.unroll(KEY_TILES, 2, 8)" in text


@pytest.mark.parametrize("name", ["query-waves", "key-tiles", "causal-skip", "causal-order"])
def test_a_product_has_no_place_for_them(name: str) -> None:
    with pytest.raises(NotApplicableError):
        lower(load_task("gemm").source, name, {"waves": 4, "tiles": 2})


@pytest.mark.parametrize(("name", "params"), [*STRUCTURE[:4]])
def test_nothing_is_done_twice(name: str, params: dict[str, object]) -> None:
    text = lowered((name, params))
    with pytest.raises(NotApplicableError):
        lower(text, name, params)


def test_the_skewed_chain_is_proved() -> None:
    assert set(verdicts(skewed(SHORT_HEADS, 4, LAZY))) == {"proved"}


def test_a_skewed_turn_without_its_barrier_is_refuted() -> None:
    text = skewed(SHORT_HEADS, 4)
    inside = "highest = now\n                ag.barrier()\n"
    assert inside in text
    assert "race_free" in verdicts(text.replace(inside, "highest = now\n", 1))["refuted"]


@pytest.mark.full
def test_the_skewed_chain_of_long_heads_is_proved() -> None:
    assert set(verdicts(skewed("attention", 8, LAZY))) == {"proved"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("k.append(ring[1 - u].sK", "k.append(ring[u].sK"),
        ("x.Keys + KEYS * (t + 1) <= x.Rows", "x.Keys + KEYS * t <= x.Rows"),
        ("if KEYS * (t + 1 + 1) > 32 * tile + 1", "if KEYS * (t + 1) > 32 * tile + 1"),
        ("guard=t + 3 < 2 * pairs", "guard=t + 4 < 2 * pairs"),
        ("y = y * fade\n", "y = y\n"),
    ],
)
def test_a_wrong_skewed_turn_is_not_proved(right: str, wrong: str) -> None:
    text = skewed(SHORT_HEADS, 4)
    assert right in text
    assert set(verdicts(text.replace(right, wrong, 1))) != {"proved"}


def test_a_skewed_turn_reads_like_the_turn_it_came_from() -> None:
    text = skewed("attention", 8)
    assert "ring = ag.ring(2, sK=(LDS_K, bf16), sV=(LDS_V, bf16))" in text
    assert "pairs = ag.cdiv(ag.min(32 * WAVES * (group + 1), Sk), 2 * KEYS)" in text
    assert 'requires="Sk % (2 * KEYS) == 0 and Sq % (32 * WAVES) == 0 and scale > 0"' in text
    assert "s = ag.where(s.Sk + KEYS * (j + 1) <= s.Sq, s, -inf)" in text
    assert 'keep = ag.full(SCORES.per("Sq"), f32, 1.0, at=rows)' in text
    assert "ag.check.race_free(ring)" in text


def test_a_fetch_that_runs_ahead_is_undone_first() -> None:
    text = lowered(*STRUCTURE, *SPEED[:1], ("software-pipelining", {"depth": "fetch"}), *SOFTMAX, *SKEW)
    again = lowered(*STRUCTURE, *SPEED[:1], *SOFTMAX, *SKEW)
    assert text == again


def test_outputs_are_rescaled_where_the_reference_moved() -> None:
    text = skewed("attention", 8, LAZY)
    assert text.count('name="moved") == 1:\n') == 2
    assert text.count("new = ag.where((new - top) * factor > 8.0, new, top)") == 2
    with pytest.raises(NotApplicableError):
        lower(text, *LAZY)


def test_the_inverse_is_of_the_last_sum() -> None:
    text = skewed("attention", 8, ("reciprocal", {}))
    assert text.index("inverse = ag.rcp(den)") > text.index("# what is left of the last one")


def test_blocks_in_pairs_are_all_done_once() -> None:
    text = lowered(*STRUCTURE[:3], STRUCTURE[4], ("causal-pairs", {}))
    assert verdicts(text).keys() == {"proved"}
    twice = text.replace("rows_of(Sq // (32 * WAVES) - 1 - place)", "rows_of(place)")
    assert twice != text
    assert "covers" in verdicts(twice)["refuted"]


def test_blocks_that_have_an_order_are_not_paired() -> None:
    with pytest.raises(NotApplicableError):
        lower(lowered(*STRUCTURE), "causal-pairs", {})


def test_scores_right_behind_the_mask_are_far_enough_from_their_product(tmp_path: Path) -> None:
    """LLVM pads the way through the branch with one wait state too few, and counts ours as its own."""
    path = tmp_path / "masked.py"
    path.write_text(lowered(*STRUCTURE, SPEED[0], *SOFTMAX[:3]), encoding="utf-8")
    made = compile_kernel(scheduled(read(path)))
    assert not violations(decode(made.object, made.name).insts)


@pytest.mark.parametrize("name", ["diagonal-mask", "fused-scale", "finite-rounding", "wide-values", "single-fragments"])
def test_a_softmax_between_products_is_needed(name: str) -> None:
    with pytest.raises(NotApplicableError):
        lower(load_task("gemm").source, name, {})


@pytest.mark.parametrize("name", ["score-pipeline", "softmax-schedule", "lazy-rescale"])
def test_a_turn_that_is_not_prepared_stays(name: str) -> None:
    with pytest.raises(NotApplicableError):
        lower(lowered(*STRUCTURE), name, {})
