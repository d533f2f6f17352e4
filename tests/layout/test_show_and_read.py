"""Layouts read from text without executing it, and shown as text and SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from argus.layout import Layout, LayoutError, Owner
from argus.layout.read import read_layout, read_named
from argus.layout.show import svg, table

SOURCE = '''
"""A kernel file."""
import os
BM, BK = 256, 64
ROW = BK * 2
LDS = ag.Layout(row=(BM, ROW), chunk=(8, 16), e=(8, 2)).xor(chunk="row[0:3]")
COPY = ag.Owner(p=8, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")
EVIL = os.system("false")

def kernel():
    raise SystemExit
'''


def test_named_layouts_of_a_file() -> None:
    assert read_named(SOURCE, "LDS") == Layout(row=(256, 128), chunk=(8, 16), e=(8, 2)).xor(chunk="row[0:3]")
    assert isinstance(read_named(SOURCE, "COPY"), Owner)
    with pytest.raises(LayoutError, match="it has: LDS, COPY"):
        read_named(SOURCE, "OTHER")
    with pytest.raises(LayoutError, match=r"os\.system"):
        read_named(SOURCE, "EVIL")


@pytest.mark.parametrize(
    "text",
    [
        '__import__("os")',
        "Layout(row=(4, 4)).__class__",
        "Layout(row=(4, 4)).form",
        "Layout(row=(4, 4)).table()",
        "Layout(row=4)",
        "Layout(row=(1 << 9999999, 2))",
        "Layout(row=(10**9, 2))",
        "(" * 300,
        "-" * 10000 + "1",
        "Layout(row=(4, 2)).view('x')",
        "Layout(row=(4, 2)).slice(row='x')",
        "Layout(row=(4, 2)).split(row=3)",
        "Layout(row=(4, 2)).compose(3)",
        "Layout(row=(4, 2)).merge(k=3)",
        "Layout(row=(4, 2)).pad(row='3')",
        "Layout(row=(4, 2)).complement(8, 0)",
        "Layout(row=(4, 2)).replicate(b='x')",
        "Layout(row=(4, 2)).shift('x')",
        "Layout(**{'row': (4, 2)})",
        "Layout(row=(4, 2)).permute(*('row',))",
        "Layout(row=(4 // 0, 2))",
        "Owner(t=4).at(t=1)",
        "Owner(t=1 << 40, x='t').inverse()",
        "Owner(t=8, x='t << 62', y='t').inverse()",
        "Owner(t=8, x='8 // t').inverse()",
        "3",
        "x" * 30000,
        "a b",
        "\0",
    ],
)
def test_hostile_text_is_an_error_in_the_authors_words(text: str) -> None:
    with pytest.raises(LayoutError):
        read_layout(text)


def test_a_small_table_in_full() -> None:
    shown = table(Layout(row=(4, 16), e=(4, 4)).xor(e="row[0:2]"))
    assert shown.splitlines()[2:7] == [
        "row\\e   0   1   2   3",
        "    0   0   4   8  12",
        "    1  20  16  28  24",
        "    2  40  44  32  36",
        "    3  60  56  52  48",
    ]
    assert shown.endswith("injective")


def test_large_tables_say_what_they_leave_out() -> None:
    shown = table(Layout(row=(256, 128), k=(64, 2)), 4, 4)
    assert "shown: 4 of 256 rows, 4 of 64 columns" in shown
    assert "share an address" in table(Layout(row=(4, 2), k=(4, 2)))
    assert "hold the same element" in table(Owner(t=8, x="t//2"))


@pytest.mark.parametrize(
    "what",
    [
        Layout(row=(8, 128), k=(64, 2)).xor(k="row[0:3]"),
        Layout(row=(8, 128), chunk=(8, 16), e=(8, 2)),
        Layout(k=(8, 4)),
        Owner(lane=64, r=16, row="r//4*8 + lane//32*4 + r%4", col="lane%32"),
        Owner(t=8, x="t//2"),
    ],
)
def test_pictures_are_well_formed_and_complete(what: Layout | Owner) -> None:
    root = ElementTree.fromstring(svg(what, 8, 16))
    rectangles = [node for node in root.iter() if node.tag.endswith("rect")]
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert len(rectangles) >= 1 + 4
    assert len(texts) >= len(rectangles)


def test_cells_of_one_bank_share_a_colour() -> None:
    root = ElementTree.fromstring(svg(Layout(row=(4, 128), w=(32, 4)), 4, 32))
    cells = [node.get("fill") for node in root.iter() if node.tag.endswith("rect")][1:]
    rows = [cells[i * 32 : i * 32 + 32] for i in range(4)]
    assert rows[0] == rows[1] == rows[2] == rows[3]
    assert len(set(rows[0])) == 32
