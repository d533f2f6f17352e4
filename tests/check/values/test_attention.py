"""The library's attention: every form of it is proved, for the rows of O and their logarithms L; wrong ones never are.

A wrong one changes one place: an accumulator, sum or weight scaled by something else, a mask at the wrong edge or left
out where it is needed, a step too few, a logarithm of something else. Here it is enough that nothing of it is proved;
how a wrong result is shown is tested elsewhere, so no launch is searched for.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

FILE = Path(__file__).parents[3] / "argus" / "kernels" / "attention.py"
FORMS: list[dict[str, int | str | bool]] = [
    {"causal": True, "RAGGED": True, "BC": 32, "WAVES": 4, "LAZY": 8},
    {"causal": False, "BC": 32},
]
MORE: list[dict[str, int | str | bool]] = [
    {"causal": causal, "RAGGED": ragged, "D": d}
    for causal, ragged, d in product((False, True), (False, True), (64, 128))
]
MORE += [{"causal": True, "OPPOSITE": True}, {"causal": True, "LAZY": 8, "OPPOSITE": True}, {"XCD": False}]
MORE += [{"causal": True, "MIRROR": True, "BC": 32, "WAVES": 4}, {"causal": True, "MIRROR": True, "RAGGED": True}]

SMALL: dict[str, int | str | bool] = {"BC": 32, "WAVES": 4, "D": 64}
WRONG: dict[str, tuple[str, str, dict[str, int | str | bool]]] = {
    "sum is not rescaled": ("den = den * keep + total", "den = den + total", {}),
    "mask one short": ("i32(s.Sk - half) <= last", "i32(s.Sk - half) < last", {"causal": True}),
}
WRONG_TOO: dict[str, tuple[str, str, dict[str, int | str | bool]]] = {
    "accumulator is not rescaled": ("            if not LAZY:\n                o *= keep\n", "", {}),
    "rescaled the other way": ("keep = ag.exp2((top - new) * c)", "keep = ag.exp2((new - top) * c)", {}),
    "weights by the maximum before": (
        "top = new\n            p = ag.exp2(ag.fma(s, c, -(new * c)))",
        "p = ag.exp2(ag.fma(s, c, -(top * c)))\n            top = new",
        {},
    ),
    "weights without the scale": ("p = ag.exp2(ag.fma(s, c, -(new * c)))", "p = ag.exp2(s - new)", {}),
    "mask skipped where it is needed": ("BC * (j + 2) > clear", "BC * (j + 1) > clear", {"causal": True}),
    "first mask skipped": ("clear < BC:", "clear < 1:", {"causal": True}),
    "mask one too far": ("last = i32((m0 + shift", "last = i32((m0 + 1 + shift", {"causal": True}),
    "keys past the end": ("else keys - 1)", "else keys)", {"RAGGED": True}),
    "a step too few": ("ag.cdiv(seen, 2 * BC)", "seen // (2 * BC)", {"RAGGED": True}),
    "last factor is lost": ("    o *= keep\n    den = den * keep + p.sum", "    den = den * keep + p.sum", {}),
    "last sum is lost": ("den = den * keep + p.sum(\"Sk\")", "den = den * keep", {}),
    "empty rows": ("ag.where(den > 0.0, ag.rcp(den), 0.0)", "ag.where(den > 0.0, ag.rcp(den), 1.0)", {"causal": True}),
    "logarithm without scale": ("top * c + ag.log2(den)", "top + ag.log2(den)", {}),
    "logarithm of base two": ("(top * c + ag.log2(den)) / LOG2E", "top * c + ag.log2(den)", {}),
    "taken over when it has not grown": ("> 1.0 * LAZY, new, top)", "< 1.0 * LAZY, new, top)", {"LAZY": 8}),
    "grown without limit": ("> 1.0 * LAZY, new, top)", "> 1000.0 * LAZY, new, top)", {"LAZY": 8}),
    "left out when it is two": ("ag.where(keep != 1.0,", "ag.where(keep != 2.0,", {"LAZY": 8}),
    "tile in the middle twice": ("2 * place + 1 < tiles", "2 * place < tiles", {"MIRROR": True, "causal": True}),
    "tile before the middle lost": ("2 * place + 1 < tiles", "2 * place + 2 < tiles", {"MIRROR": True, "causal": True}),
    "mirrored at another tile": ("tile(tiles - 1 - place)", "tile(tiles - place)", {"MIRROR": True, "causal": True}),
    "no barrier between two tiles": (
        "            ag.barrier()  # the values of the first tile have been read\n",
        "",
        {"MIRROR": True, "causal": True},
    ),
    "any scale": (' + " and scale > 0"', "", {}),
}  # fmt: skip


@pytest.mark.parametrize("settings", [*FORMS, *(pytest.param(form, marks=pytest.mark.full) for form in MORE)], ids=str)
def test_every_form_is_proved_in_the_order_in_which_it_is_emitted(settings: dict[str, int | str | bool]) -> None:
    report = check(scheduled(read(FILE, settings=settings, kernel="attention")))
    assert report.status == "proved", report.render()
    assert not report.notes
    stores = {v.span.line for v in report.verdicts if v.rule == "value"}
    assert len(stores) == 2


@pytest.mark.parametrize("name", [*WRONG, *(pytest.param(name, marks=pytest.mark.full) for name in WRONG_TOO)])
def test_wrong_ones_are_not_proved(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argus.check.explain.refuters.counterexample", lambda *_: None)
    old, new, settings = (WRONG | WRONG_TOO)[name]
    text = FILE.read_text()
    assert text.count(old) >= 1
    file = tmp_path / "attention.py"
    file.write_text(text.replace(old, new, 1))
    assert check(scheduled(read(file, settings=SMALL | settings, kernel="attention"))).status != "proved"
