"""Laws of tuning: an empty table changes nothing, a row that does not apply is ignored, and nothing gets a row that is
not proved, right and faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from argus.agent.tuning import value
from argus.agent.tuning.proposals import ranked
from argus.agent.tuning.table import FIELDS, merged, text
from argus.agent.tuning.tuner import LaunchesTime, TrialRefused, TuningSettings, differing, tune, with_answer
from argus.agent.tuning.value import why_not
from argus.knowledge import load, matching
from argus.ops.choice import KERNELS
from argus.pipeline import program_of, report_of
from argus.plan.choices import DECISIONS, Choices, DecisionPoint, DispatchRow, shipped
from argus.plan.evaluate import values
from argus.plan.graph import Graph
from argus.plan.one_product import one_product
from argus.plan.plan import PlannedLaunch
from argus.plan.planner import planned
from argus.tasks.task import builtin_tasks, load_task
from tests.plan.graphs import Builder
from tests.plan.test_products import typed

KERNELS_OF_A_ROW = 1
"""Of every row so many kernels are proved again here; all, when the row is made."""


def chained() -> Graph:
    """A product with a bias and an activation."""
    made = Builder()
    x = made.linear(made.input(96, 64), 80)
    return typed(made.graph(made.add("square", made.add("sigmoid", x))))


def reduced() -> Graph:
    """A mean of squares."""
    made = Builder()
    return typed(made.graph(made.reduce(made.add("square", made.add("relu", made.input(96, 80))), "mean", (1,))))


def pooled(size: int = 40) -> Graph:
    made = Builder()
    x = made.input(2, 3, size, size)
    shape = (2, 3, size // 4, size // 4)
    at: dict[str, Any] = {"kind": "max", "window": (4, 4), "stride": (4, 4), "padding": (0, 0), "dilation": (1, 1)}
    return made.graph(made.add("pool", x, shape=shape, **at))


def asked(graph: Graph, rows: Sequence[DispatchRow] = ()) -> tuple[Any, Choices]:
    choices = Choices(rows)
    return planned(graph, choices=choices), choices


def point_of(graph: Graph, decision: str) -> DecisionPoint:
    return next(p for p in asked(graph)[1].points.values() if p.decision == decision)


class Stub:
    """A clock of a table: microseconds of a launch by its file; every kernel is proved, or none."""

    clock = "stub"

    def __init__(self, cheap: Mapping[str, Any] | None, proved: bool = True, won: int = 4) -> None:
        self.cheap, self.is_proved, self.won = cheap, proved, won

    def time(self, launches: Sequence[PlannedLaunch]) -> LaunchesTime:
        wanted = self.cheap or {"BM": 0}
        us = sum(1.0 if wanted.items() <= each.knobs.items() else 10.0 for each in launches)
        return LaunchesTime(us, 0.9 * us, 1.2 * us)

    def faster(self, ours: Sequence[PlannedLaunch], theirs: Sequence[PlannedLaunch]) -> dict[str, Any]:
        ratio = self.time(ours).us / self.time(theirs).us
        return {"ratio": ratio, "low": 0.9 * ratio, "high": 1.1 * ratio, "won": self.won, "clocks": 4}

    def evidence(self, launches: Sequence[PlannedLaunch]) -> list[dict[str, Any]]:
        if not self.is_proved:
            raise TrialRefused("unknown")
        return [{"kernel": launch.kernel} for launch in launches]


GRAPHS = {"chain": chained(), "reduction": reduced(), "pool": pooled(), "odd": one_product(300, 200, 129, "bf16")}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_an_empty_table_leaves_the_rules(graph: Graph) -> None:
    """Every point takes its default, which is admissible; rows of other classes change nothing."""
    plan, choices = asked(graph)
    assert choices.points
    for point in choices.points.values():
        assert point.taken == point.default
        assert point.default in [dict(take) for take in point.admissible()] or point.decision == "product-tile"
    elsewhere = [{"decision": name, "shape": {"m": -1}, "take": {"fused": False}} for name in DECISIONS]
    assert asked(graph, elsewhere)[0] == plan
    assert not choices.departed


def test_a_row_is_taken_and_one_that_does_not_apply_is_ignored() -> None:
    graph = chained()
    point = point_of(graph, "fuse-chain")
    row = {"decision": "fuse-chain", "shape": dict(point.shape), "take": {"fused": False}}
    apart, choices = asked(graph, [row])
    assert len(apart.launches) == len(asked(graph)[0].launches) + 1
    assert choices.departed
    for take in ({"fused": "perhaps"}, {"BM": 64}, {}):
        assert asked(graph, [{**row, "take": take}])[0] == asked(graph)[0]


def test_the_row_with_more_entries_counts() -> None:
    point = point_of(chained(), "fuse-chain")
    general = {"decision": "fuse-chain", "shape": {"head": "matmul"}, "take": {"fused": False}}
    exact = {"decision": "fuse-chain", "shape": dict(point.shape), "take": {"fused": True}}
    for rows in ([general, exact], [exact, general]):
        assert not asked(chained(), rows)[1].departed
    assert asked(chained(), [general])[1].departed


CASES = {"fuse-chain": chained(), "fuse-reduction": reduced(), "pool-passes": pooled()}


@pytest.mark.parametrize(("decision", "graph"), CASES.items(), ids=CASES)
def test_every_alternative_computes_the_same(decision: str, graph: Graph) -> None:
    """The composition of `computes` and a run of the plan, both against the graph."""
    point = point_of(graph, decision)
    base = asked(graph)[0]
    for take in point.admissible():
        if dict(take) != dict(point.default):
            other = with_answer(graph, point, take, ())
            assert other is not None
            assert all(differing(base, other))
            assert why_not(base, other, lambda: [graph], decision, take) == ""


def test_what_computes_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph with another activation stands for a rewrite that is wrong; no reduced sizes at all are no evidence."""
    graph, point = chained(), point_of(chained(), "fuse-chain")
    other = with_answer(graph, point, {"fused": False}, ())
    assert other is not None
    base = asked(graph)[0]
    assert why_not(base, other, list, "fuse-chain", {"fused": False}) == "no reduced sizes have it"
    monkeypatch.setattr(value, "values", lambda g, x: {name: 1.001 * y for name, y in values(g, x).items()})
    assert "computes another" in why_not(base, other, lambda: [graph], "fuse-chain", {"fused": False})
    monkeypatch.setattr(value, "meaning", lambda plan, x: {name: y + 0.5 for name, y in values(graph, x).items()})
    monkeypatch.setattr(value, "values", lambda g, x: {name: y + 0.5 for name, y in values(g, x).items()})
    monkeypatch.setattr(value, "OF_RULE", 0.0)
    assert "is allowed" in why_not(base, other, lambda: [graph], "fuse-chain", {"fused": False})


TILE = {"BM": 64, "BN": 96}


BENCHES = [
    (Stub(TILE), ""), (Stub(TILE, proved=False), "unknown"), (Stub(None), "nothing is faster"),
    (Stub(TILE, won=2), "2 of 4"),
]  # fmt: skip


@pytest.mark.parametrize(("bench", "why"), BENCHES, ids=["faster", "unproved", "slower", "not surely"])
def test_only_what_is_proved_and_faster_gets_a_row(bench: Stub, why: str) -> None:
    graph = one_product(1000, 2000, 512, "bf16")
    found = [*tune(graph, list, bench, (), TuningSettings(("product-tile",), budget=60))]
    assert len(found) == 1
    assert why in found[0].why
    assert (found[0].row is not None) == (why == "")
    if found[0].row is not None:
        assert set(found[0].row) == set(FIELDS)
        assert asked(graph, [found[0].row])[0].launches[0].knobs.items() >= TILE.items()


class Unbuilt(Stub):
    """Nothing but one tile compiles."""

    def time(self, launches: Sequence[PlannedLaunch]) -> LaunchesTime:
        if any(not TILE.items() <= each.knobs.items() for each in launches):
            raise TrialRefused("C130")
        return super().time(launches)


def test_where_the_rule_does_not_compile_what_does_gets_the_row() -> None:
    graph = one_product(1000, 2000, 512, "bf16")
    row = next(iter(tune(graph, list, Unbuilt(TILE), (), TuningSettings(("product-tile",), budget=60)))).row
    assert row is not None
    assert row["take"].items() >= TILE.items()
    assert row["default_us"] is row["paired"] is None
    assert any(tried.get("why") == "C130" for tried in row["tried"])


def test_the_budget_is_kept_and_what_won_nearby_comes_first() -> None:
    graph, near = one_product(1000, 2000, 512, "bf16"), one_product(1008, 2000, 512, "bf16")
    row = next(iter(tune(near, list, Stub(TILE), (), TuningSettings(("product-tile",), budget=60)))).row
    assert row is not None
    point = point_of(graph, "product-tile")
    first = ranked([point], {point.name: 100.0}, [row], 5)
    assert len(first) == 5
    assert first[0].take == row["take"]
    assert sum(len(each.tried) for each in tune(graph, list, Stub(None), (), TuningSettings(budget=7))) <= 7


def test_rows_are_kept_by_class() -> None:
    rows: list[dict[str, Any]] = [{**dict.fromkeys(FIELDS, 0), "shape": {}, "decision": name} for name in "bab"]
    assert [row["decision"] for row in merged(rows, [])] == ["a", "b"]
    assert text(merged(rows, [])).count("\n  {") == 2


def test_every_decision_has_an_entry_and_no_kernel_search_meets_it() -> None:
    plans = [entry for entry in load().values() if entry.kind == "plan"]
    assert {name for entry in plans for name in entry.decisions} == set(DECISIONS)
    families = {load_task(name).family for name in builtin_tasks()}
    assert not [entry for family in families for entry in matching(family=family) if entry.kind == "plan"]


def named(row: DispatchRow) -> str:
    return f"{row['decision']} {'x'.join(map(str, [*row['shape'].values()][:4]))}"


ROWS = [*shipped()]
OF_PRODUCTS = [row for row in ROWS if row["decision"] in ("product-tile", "split-k", "aligned-copies")]


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_shipped_row_is_whole_and_its_kernels_are_proved(row: DispatchRow) -> None:
    assert set(row) == set(FIELDS)
    assert row["default_us"] is None or row["us"] < row["default_us"]
    assert (row["default_us"] is None) == (row["paired"] is None)
    assert row["low"] <= row["us"] <= row["high"]
    assert {"take": row["take"], "us": row["us"], "low": row["low"], "high": row["high"]} in row["tried"]
    assert row["take"] != row["default"]
    for made in row["kernels"][:KERNELS_OF_A_ROW]:
        assert report_of(program_of(KERNELS / f"{made['file']}.py", made["knobs"], made["kernel"])).proved


@pytest.mark.parametrize("row", OF_PRODUCTS, ids=named)
def test_a_shipped_row_of_a_product_is_admissible(row: DispatchRow) -> None:
    at = row["shape"]
    if at["z"] == 1:
        graph = one_product(at["m"], at["n"], at["k"], "bf16", a_by_k=at["a_by_k"], b_by_k=at["b_by_k"])
        choices = asked(graph, [row])[1]
        taken = [dict(p.taken) for p in choices.points.values() if p.decision == row["decision"]]
        assert taken in ([row["take"]], [])
