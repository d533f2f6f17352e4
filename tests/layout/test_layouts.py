"""Layouts and owners as an author writes them: values, decisions, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from argus.layout import Layout, LayoutError, Owner
from argus.layout import expr as E

LDS = Layout(row=(256, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")
COPY = Owner(p=8, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")


def swizzled(row: int, k: int) -> int:
    return row * 128 + ((k // 8) ^ (row & 7)) * 16 + k % 8 * 2


def test_address_by_axis_and_by_digit() -> None:
    for row, k in itertools.product(range(0, 256, 37), range(64)):
        assert LDS.address(row=row, k=k).value == swizzled(row, k)
        assert LDS.address(row=row, chunk=k // 8, e=k % 8).value == swizzled(row, k)
    assert LDS.size_bytes == 32768
    assert LDS.axes == {"row": 256, "k": 64}
    assert LDS.itemsize == 2


def test_address_of_symbols_is_simple() -> None:
    lane, ks = E.var("lane", 0, 63), E.var("ks", 0, 3)
    e = LDS.address(row=lane % 32 + 64, k=ks * 16 + lane // 32 * 8)
    for x, y in itertools.product(range(64), range(4)):
        assert E.evaluate(e, {"lane": x, "ks": y}) == swizzled(x % 32 + 64, y * 16 + x // 32 * 8)
    part = E.split(LDS.address(row=lane, k=0) + E.var("slot", 0) * 32768, [lane])
    assert part is not None
    assert str(part[1]) == "slot*32768"


def test_coordinates_undo_address() -> None:
    a = E.var("a", 0, 32767)
    found = LDS.coordinates(a)
    for row, k in itertools.product(range(0, 256, 11), range(64)):
        assert E.evaluate(found["row"], {"a": swizzled(row, k)}) == row
        assert E.evaluate(found["k"], {"a": swizzled(row, k)}) == k
    row, k = E.var("row", 0, 255), E.var("k", 0, 63)
    assert LDS.coordinates(LDS.address(row=row, k=k)) == {"row": row, "k": k}
    padded = Layout(row=(64, 272), k=(128, 2))
    assert padded.coordinates(padded.address(row=row, k=k))["row"] is row


def test_composition_with_an_owner() -> None:
    writes = LDS.compose(COPY)
    for p, t, e in itertools.product(range(8), range(0, 256, 17), range(8)):
        assert writes.address(p=p, t=t, e=e).value == swizzled(p * 32 + t // 8, t % 8 * 8 + e)


def test_owner_inverse_and_questions() -> None:
    back = COPY.inverse()
    for row, k in itertools.product(range(0, 256, 7), range(64)):
        holder = {name: v.value for name, v in back.at(row=row, k=k).items()}
        assert (holder["p"] * 32 + holder["t"] // 8, holder["t"] % 8 * 8 + holder["e"]) == (row, k)
    assert COPY.onto(row=256, k=64)
    assert not COPY.onto(row=256, k=128)
    assert COPY.injective()
    gray = Owner(t=64, x="t ^ t//8")
    assert gray.inverse().inverse() == gray
    twice = Owner(t=8, x="t//2")
    first, second = twice.collision() or ({}, {})
    assert first["t"] // 2 == second["t"] // 2
    assert first != second
    with pytest.raises(LayoutError, match="hold the same element"):
        twice.inverse()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Owner(t=0, x="t"), "at least 1"),
        (lambda: Owner(t=8, x="s"), "not known"),
        (lambda: Owner(t=8), "at least one coordinate"),
        (lambda: Owner(t=8, x=E.var("z", 0, 3)), "not one of its inputs"),
        (lambda: Owner(t=8, x="t-4").inverse(), "negative"),
        (lambda: Owner(t=8, x="t*2").inverse(), "8 holders for the 15 elements"),
        (lambda: COPY.at(q=1), "not `q`"),
        (lambda: Layout(), "at least one axis"),
        (lambda: Layout(row=3), "is written row="),
        (lambda: Layout(row=(0, 2)), "extent 0"),
        (lambda: Layout(row=(4, 1 << 70)), "2\\*\\*62"),
        (lambda: Layout(row=(4, 2), k=("row", "row")), "different axes"),
        (lambda: Layout(row=(4, 2), k=("col",)), "no axis `col`"),
        (lambda: LDS.address(row=3), "`k` is missing"),
        (lambda: LDS.address(row=3, k=1, z=2), "no axis `z`"),
        (lambda: LDS.xor(chunk="row[0:4]"), "more bits than `chunk`"),
        (lambda: LDS.xor(chunk="row*row"), "not an exclusive or"),
        (lambda: Layout(row=(8, 136), c=(8, 16)).xor(c="row[0:3]"), "136 of `row` is not a power of two"),
        (lambda: Layout(row=(8, 16), c=(8, 8)).xor(c="row[0:3]"), "not separate bits"),
        (lambda: LDS.pad(row=16), "under an exclusive or"),
        (lambda: LDS.permute("row"), "look at `k`"),
        (lambda: LDS.view(32), "not a multiple of 16"),
        (lambda: LDS.view(3), "cannot be read"),
        (lambda: LDS.slice(row=256), "outside `row`"),
        (lambda: LDS.split(row={"a": 3, "b": 64}), "3 \\* 64 is not the extent 256"),
        (lambda: Layout(t=(4, 2)).complement(6), "size 6 is not a multiple of 8"),
        (lambda: Layout(t=(4, 2), u=(2, 3)).complement(24), "no multiple of"),
        (lambda: Layout(t=(4, 0)).complement(24), "replica"),
        (lambda: Layout(a=(6, 5), b=(4, 1)).compose(Layout(t=(8, 3))), "`t` crosses a boundary of `b`"),
        (lambda: Layout(a=(6, 5)).compose(Layout(t=(8, 1))), "index 7"),
        (lambda: Layout(row=(4, 272), k=(128, 2)).inverse(), "between `k` and `row`"),
        (lambda: Layout(row=(4, 2), k=(4, 2)).inverse(), "reach the same address"),
        (lambda: Layout(row=(4, 2), k=(4, 2)).coordinates(E.var("a", 0, 20)), "overlap"),
        (lambda: Layout(m=(8, E.var("lda", 1) * 2)).table(), "known only at launch"),
    ],
)
def test_refusals_say_why(build: object, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        build()  # type: ignore[operator]


def test_misfits_name_the_two_digits() -> None:
    with pytest.raises(LayoutError) as caught:
        Layout(a=(6, 5), b=(4, 1)).compose(Layout(t=(8, 3)))
    assert caught.value.digits == ("t", "b")
    with pytest.raises(LayoutError) as caught:
        Layout(row=(4, 272), k=(128, 2)).inverse()
    assert caught.value.digits == ("k", "row")


def test_view_keeps_the_swizzle_on_bytes() -> None:
    words = LDS.view(4)
    for row, k in itertools.product(range(0, 256, 5), range(32)):
        assert words.address(row=row, k=k).value == swizzled(row, 2 * k)
    with pytest.raises(LayoutError, match="divides the"):
        Layout(row=(8, 16), e=(8, 2)).xor(e="row[0:3]").view(4)


def test_decisions_with_witnesses() -> None:
    assert LDS.injective()
    assert LDS.onto()
    clash = Layout(row=(4, 4), e=(4, 2))
    one, other = clash.collision() or ({}, {})
    assert one["row"] * 4 + one["e"] * 2 == other["row"] * 4 + other["e"] * 2
    assert one != other
    assert not Layout(row=(4, 272), e=(128, 2)).onto()
    plain = Layout(row=(256, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e"))
    where = LDS.difference(plain) or {}
    assert swizzled(**where) != where["row"] * 128 + where["k"] * 2
    assert LDS.equal(plain.xor(chunk="row[0:3]"))
    assert LDS.equal(plain.xor(chunk="row[0:3]").permute("k", "row"))


def test_symbolic_strides() -> None:
    lda = E.var("lda", 64, 1 << 20)
    tile = Layout(m=(128, lda * 2), k=(64, 2))
    assert tile.injective()
    narrow = Layout(m=(128, E.var("lda", 1, 1 << 20) * 2), k=(64, 2))
    one, other = narrow.collision() or ({}, {})
    assert one != other
    threads = tile.compose(Owner(t=256, e=8, m="t//8", k="t%8*8 + e"))
    t, e = E.var("t", 0, 255), E.var("e", 0, 7)
    assert threads.address(t=t, e=e) is t // 8 * (lda * 2) + t % 8 * 16 + e * 2
    assert tile.equal(Layout(m=(128, lda + lda), k=(64, 2)))
    assert not tile.equal(Layout(m=(128, lda * 2), k=(64, 4)))
    rows = Layout(m=(E.var("M", 1), lda * 2), k=(64, 2))
    m, k = E.var("m", 0), E.var("k", 0, 63)
    assert rows.address(m=m, k=k) is m * lda * 2 + k * 2
    assert rows.slice(m=(2, 5)).address(m=m, k=k) is (m + 2) * lda * 2 + k * 2


def test_replicas_are_explicit() -> None:
    both = LDS.replicate(half=2)
    assert both.address(half=1, row=3, k=17).value == swizzled(3, 17)
    assert not both.injective()


def test_large_layouts_are_refused_not_tried() -> None:
    huge = Layout(row=(1 << 20, 1 << 20), k=(1 << 19, 2))
    assert huge.address(row=1, k=1).value == (1 << 20) + 2
    with pytest.raises(LayoutError, match="at most"):
        huge.table()


def test_tables_are_read_only_and_right() -> None:
    addresses = LDS.table()
    assert addresses.shape == (256, 64)
    assert not addresses.flags.writeable
    expected = np.array([[swizzled(row, k) for k in range(64)] for row in range(256)])
    assert (addresses == expected).all()
