"""Pictures of counterexamples are well-formed, show every lane of the access, and frame the thread that is named."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from argus.check import Report, check
from argus.check.explain.picture import PictureError, page, pictures
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNELS = Path(__file__).parents[1] / "public" / "kernels"
SVG = "{http://www.w3.org/2000/svg}"


def report(name: str, fixed: int = 0) -> Report:
    return check(scheduled(read(KERNELS / f"{name}.py", settings={"FIXED": fixed})))


@pytest.mark.parametrize(("name", "count"), [("triton_10290", 2), ("flashinfer_207", 1), ("triton_11696", 2)])
def test_one_picture_per_place_with_the_thread_framed(name: str, count: int) -> None:
    made = pictures(report(name))
    assert len(made) == count
    for text in made:
        root = ElementTree.fromstring(text)
        assert [r for r in root.iter(f"{SVG}rect") if r.get("class") == "m"]


def test_colliding_lanes_stand_in_one_bank_column() -> None:
    """flashinfer #207: 16 lanes read 8 bytes each; the words of lanes 0 and 8 are in the same two banks."""
    (text,) = pictures(report("flashinfer_207"))
    root = ElementTree.fromstring(text)
    words = [t for t in root.iter(f"{SVG}text") if t.text in ("0", "8") and t.get("class") is None]
    columns = {lane: {t.get("x") for t in words if t.text == lane} for lane in ("0", "8")}
    assert columns["0"] == columns["8"]
    assert len(columns["0"]) == 2


def test_the_page_holds_the_report() -> None:
    found = report("triton_10290")
    text = page(found)
    assert "do not pair the same K" in text
    assert text.count("<svg") == 2


def test_a_proved_kernel_has_no_picture() -> None:
    with pytest.raises(PictureError, match="nothing is refuted"):
        pictures(report("flashinfer_207", 1))
