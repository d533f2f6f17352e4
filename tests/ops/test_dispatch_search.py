"""The search for the dispatch table: what is timed, what gets a row, and what the dispatcher is judged by."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from argus.bench import holdout, product_table, search
from argus.bench.candidates import CANDIDATES
from argus.bench.kept import Kept, LaunchAccount, Timed
from argus.bench.product_shapes import Shape, drawn
from argus.bench.product_table import Entrant, near, of_table
from argus.clock.profile import Profile
from argus.ops.choice import DIRECT, Choice, choose_matmul, table

KEPT = Kept(None)
SQUARE = (1000, 1000, 1024)


def times(faster: str, us: float) -> Callable[[Choice, Shape, Kept], Timed]:
    """Every choice takes 100 us, those with these words `us`."""
    return lambda choice, shape, store: Timed(us if faster in choice.text() else 100.0, 2100.0)


@pytest.fixture
def field() -> list[Entrant]:
    return of_table(CANDIDATES, table("matmul"))


def test_near_is_what_the_least_estimate_says(field: list[Entrant]) -> None:
    every = near(field, SQUARE, math.inf)
    assert [guess for *_, guess in every] == sorted(guess for *_, guess in every)
    few = near(field, SQUARE, 1.3)
    assert few == every[: len(few)]
    assert few[-1][2] <= 1.3 * few[0][2] < every[len(few)][2]


def test_the_search_takes_the_fastest_and_one_for_other_layouts(
    field: list[Entrant], monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = next(choice for _, choice, _ in near(field, SQUARE, 1.3) if choice.kernel == "matmul_direct")
    monkeypatch.setattr(search, "timed", times(direct.text(), 9.0))
    rows = list(search.rows([SQUARE], KEPT, field, proved=lambda found: True))
    assert len(rows) == 2
    assert rows[0]["kernel"] == "matmul_direct"
    assert rows[0]["us"] == 9.0
    assert rows[1]["kernel"] not in DIRECT
    only = list(search.rows([SQUARE], KEPT, field, proved=lambda found: found.row["kernel"] not in DIRECT))
    assert [row["kernel"] for row in only] == [rows[1]["kernel"]]


def test_what_cannot_be_built_comes_last(field: list[Entrant], monkeypatch: pytest.MonkeyPatch) -> None:
    first = near(field, SQUARE, 1.3)[0][1].text()
    refused = Timed(0.0, 0.0, "no registers")
    monkeypatch.setattr(
        search, "timed", lambda choice, *_: refused if choice.text() == first else Timed(5.0, 2100.0)
    )  # fmt: skip
    assert search.searched(SQUARE, KEPT, field)[-1].time.why == "no registers"


def test_regret_is_of_the_choice_to_the_fastest(field: list[Entrant], monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose_matmul(*SQUARE, "bf16").text()
    monkeypatch.setattr(holdout, "timed", times(chosen, 130.0))
    (judged,) = holdout.regrets([SQUARE], KEPT, field, whole=0)
    assert judged.regret == pytest.approx(1.3)
    assert judged.timed < judged.of
    (whole,) = holdout.regrets([SQUARE], KEPT, field, whole=1)
    assert whole.timed == whole.of
    assert "geometric mean 1.3000" in holdout.summary([judged], 1.25, (40.0, 60.0))


def test_a_shape_with_a_row_is_not_judged(field: list[Entrant]) -> None:
    row = table("matmul")["rows"][0]
    with pytest.raises(ValueError, match="has a row"):
        list(holdout.regrets([(row["M"], row["N"], row["K"])], KEPT, field))


def test_judged_shapes_are_not_those_of_the_training() -> None:
    trained = {*drawn(search.TRAINED, search.SHAPES_TRAINED), *search.SHAPES}
    assert not trained & set(drawn(0, 60))


def test_what_was_timed_teaches_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    row = CANDIDATES[1]
    slow = Profile(((2100.0, 1e6),), {"bf16": 1e3}, l2_bytes=1e6, workgroups=32)

    def accounts(choice: Choice, shape: Shape, kept: Kept) -> tuple[Timed, list[LaunchAccount]]:
        return Timed(479.0, 2100.0), [LaunchAccount(479.0, 2100.0, 1.0, slow)]

    monkeypatch.setattr(product_table, "accounts", accounts)
    shapes: list[Shape] = [(16, 1024, 4096), (16, 1000, 4096), (10, 1008, 4096)]
    (taught,) = product_table.trained([row], shapes, KEPT)
    choice = taught.at((12, 1000, 4096))
    assert choice is not None
    assert taught.estimate((12, 1000, 4096)) == pytest.approx(479.0, rel=0.1)


def test_the_written_table_is_read_again(tmp_path: Path) -> None:
    search.write(table("matmul"), tmp_path / "matmul.json")
    read = json.loads((tmp_path / "matmul.json").read_text())
    assert read == table("matmul")
    assert "model" in read["clock"]
