"""Packed attention, whose rows and keys are where loaded numbers say: proved with its specification, for the rows of O
and their logarithms L; wrong ones never are, nor ones that do not state what the proof needs to know of the numbers.

No launch is searched for: it is enough that nothing wrong is proved.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

FILE = Path(__file__).parents[3] / "argus" / "kernels" / "attention.py"
SMALL: dict[str, int | str | bool] = {"BC": 32, "WAVES": 4, "D": 64}
CAUSAL = SMALL | {"causal": True}

WRONG: dict[str, tuple[str, str, dict[str, int | str | bool]]] = {
    "a row of the next tile is stored": ("m0 + Sq < rows)", "m0 + Sq <= rows)", SMALL),
    "the last row is not stored": ("m0 + Sq < rows)", "m0 + Sq < rows - 1)", SMALL),
    "a key of the next sequence": ("else keys - 1) - BC", "else keys) - BC", SMALL),
    "shifted by rows of the tile": ("shift = keys - (q2 - q0)", "shift = keys - rows", CAUSAL),
    "shifted by one": ("shift = keys - (q2 - q0)", "shift = keys - (q2 - q0) + 1", CAUSAL),
    "queries of the first rows": ("Q[q0 + m0, kv, g]", "Q[m0, kv, g]", SMALL),
    "keys of the first sequence": ("K[k0 + BC * j, kv]", "K[BC * j, kv]", SMALL),
    "values of the first sequence": ("V[k0 + BC * j, kv]", "V[BC * j, kv]", SMALL),
    "values cut off one early": ("BC * j + Sk < keys", "BC * j + Sk < keys - 1", SMALL),
    "too few steps": ("ag.max(rows + shift, 0), keys) if causal", "ag.max(shift, 0), keys) if causal", CAUSAL),
    "mask skipped where it is needed": ("shift + 1 if causal else keys", "shift + 9 if causal else keys", CAUSAL),
    "rows twice": ("ag.lane() < 32 and m0 + ag.lane() < rows", "m0 + ag.lane() % 32 < rows", SMALL),
    "ends of another sequence": ("k1 = ag.as_index(EndK[b]", "k1 = ag.as_index(EndK[0]", SMALL),
    "rows of another tile": ("q0 = ag.as_index(Row[tile]", "q0 = ag.as_index(Row[w]", SMALL),
    "tiles are not said to be different": (', w, w, name="place")', ', 0, W - 1, name="place")', SMALL),
    "the first row is not said": (', 0, 0, name="first_row")', ', 0, Tq, name="first_row")', SMALL),
    "the last row is not said": (', Tq, Tq, name="last_row")', ', 0, Tq, name="last_row")', SMALL),
    "tiles may be too long": ("q0, ag.min(q0 + BR, q2)", "q0, q2", SMALL),
    "tiles may be of two sequences": ("ag.min(q0 + BR, q2)", "q0 + BR", CAUSAL),
    "rows may be of another sequence": ("b - beyond, b + beyond", "0, b + beyond", SMALL),
    "said of one row too few": ("ag.max(mine - rows + 1, 0)", "ag.max(mine - rows + 2, 0)", SMALL),
}


@pytest.mark.full
@pytest.mark.parametrize("settings", [SMALL, CAUSAL, {"BC": 32}, {"BC": 32, "causal": True}], ids=str)
def test_proved_in_the_order_in_which_it_is_emitted(settings: dict[str, int | str | bool]) -> None:
    report = check(scheduled(read(FILE, settings=settings, kernel="attention_lengths")))
    assert report.status == "proved", report.render()
    assert not report.notes
    for rule in ("value", "placed", "covers", "reduced"):
        assert len({v.span.line for v in report.verdicts if v.rule == rule}) == 2


@pytest.mark.full
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_not_proved(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argus.check.explain.refuters.counterexample", lambda *_: None)
    old, new, settings = WRONG[name]
    text = FILE.read_text()
    assert text.count(old) == 1
    file = tmp_path / "attention.py"
    file.write_text(text.replace(old, new))
    assert check(scheduled(read(file, settings=settings, kernel="attention_lengths"))).status != "proved"
