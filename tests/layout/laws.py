"""The laws of the layout algebra, one function per operation, judged by an oracle of its own.

A `Spec` is a layout written down as plain numbers; `value` reads it with Python integers and knows nothing of the code
under test.  Each law makes one random case, runs the operation, reads the *result's data* with the same oracle, and
compares at every point.  Outcomes:

    held       the operation returned a layout and it is right at every point
    refused    the operation raised LayoutError
    missed     it refused although a brute-force search finds a layout of the required kind
    mismatch   it returned a layout that is wrong at some point            (must never happen)
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod

import numpy as np

from argus.layout import compose, inverse, reshape, tiling
from argus.layout import expr as E
from argus.layout.error import LayoutDefect, LayoutError
from argus.layout.form import Axis, Digit, LayoutForm, address
from argus.layout.owner import Owner
from argus.layout.swizzle import Swizzle

Point = tuple[int, ...]
EXTENTS = (1, 2, 2, 3, 4, 4, 5, 6, 8)


@dataclass(frozen=True)
class Spec:
    """Axes as tuples of (extent, stride) slowest first, columns of the exclusive-or part, offset."""

    axes: tuple[tuple[tuple[int, int], ...], ...]
    columns: tuple[int, ...] = ()
    offset: int = 0

    @property
    def shape(self) -> Point:
        return tuple(prod(e for e, _ in axis) for axis in self.axes)

    @property
    def size(self) -> int:
        return prod(self.shape)


def exchanged(columns: tuple[int, ...], a: int) -> int:
    result = a >> len(columns) << len(columns)
    for bit, column in enumerate(columns):
        if a >> bit & 1:
            result ^= column
    return result


def inside(spec: Spec, point: Point) -> int:
    total = spec.offset
    for x, digits in zip(point, spec.axes, strict=True):
        for extent, stride in reversed(digits):
            total += x % extent * stride
            x //= extent
    return total


def value(spec: Spec, point: Point) -> int:
    return exchanged(spec.columns, inside(spec, point))


def points(shape: Iterable[int]) -> list[Point]:
    return list(itertools.product(*(range(n) for n in shape)))


def linear(spec: Spec) -> list[int]:
    """Values by linear index."""
    return [value(spec, p) for p in points(spec.shape)]


def to_form(spec: Spec, names: str = "abcdef") -> LayoutForm:
    axes = []
    for name, digits in zip(names, spec.axes, strict=False):
        labels = [name] if len(digits) == 1 else [f"{name}_{i}" for i in range(len(digits))]
        axes.append(Axis(name, tuple(Digit(n, e, s) for n, (e, s) in zip(labels, digits, strict=True))))
    return LayoutForm(tuple(axes), Swizzle(spec.columns), spec.offset)


def to_spec(form: LayoutForm) -> Spec:
    assert form.base.op == "const"
    assert form.base.value == 0
    axes = tuple(tuple((int(d.extent), int(d.stride)) for d in axis.digits) for axis in form.axes)  # type: ignore[arg-type]
    return Spec(axes, form.swizzle.columns, form.offset)


# --- random cases ---------------------------------------------------------------------------------------------------


def random_extents(rng: random.Random, limit: int) -> list[list[int]]:
    axes: list[list[int]] = []
    size = 1
    for _ in range(rng.randint(1, 3)):
        digits = []
        for _ in range(rng.choice((1, 1, 1, 2))):
            extent = rng.choice([e for e in EXTENTS if size * e <= limit])
            size *= extent
            digits.append(extent)
        axes.append(digits)
    return axes


def random_spec(rng: random.Random, limit: int = 96, kind: str | None = None, columns: bool = False) -> Spec:
    """compact: a permutation of 0..n-1; gapped: nested with free space; wild: any strides, negative ones excepted."""
    kind = kind or rng.choice(("compact", "compact", "gapped", "gapped", "wild"))
    extents = random_extents(rng, limit)
    slots = [(i, j) for i, digits in enumerate(extents) for j in range(len(digits))]
    rng.shuffle(slots)
    strides: dict[tuple[int, int], int] = {}
    reach = 1
    for i, j in slots:
        if kind == "wild":
            strides[i, j] = rng.choice((0, 1, 2, 3, 4, 5, 6, 8, 12, 16))
            continue
        if kind == "gapped" and rng.random() < 0.4:
            reach *= rng.choice((2, 2, 3, 4))
        strides[i, j] = reach
        reach *= extents[i][j]
    axes = tuple(tuple((e, strides[i, j]) for j, e in enumerate(digits)) for i, digits in enumerate(extents))
    return Spec(axes, random_columns(rng, rng.choice((2, 3, 4, 6))) if columns else ())


def random_columns(rng: random.Random, bits: int) -> tuple[int, ...]:
    """A random invertible bit matrix, mostly of the usual kind: high bits flip lower ones."""
    columns = [1 << i for i in range(bits)]
    for _ in range(rng.randint(1, 3)):
        source, target = rng.sample(range(bits), 2)
        if rng.random() < 0.8:
            source, target = max(source, target), min(source, target)
        columns[source] ^= columns[target]
    return tuple(columns)


# --- brute force: does a layout with this table exist? ---------------------------------------------------------------


@cache
def factorisations(n: int) -> tuple[tuple[int, ...], ...]:
    """All ordered ways to write n as a product of factors above 1."""
    if n == 1:
        return ((),)
    return tuple((f, *rest) for f in range(2, n + 1) if n % f == 0 for rest in factorisations(n // f))


def digits_exist(line: list[int]) -> bool:
    """Some mixed radix reads the differences of this line as strides times digits."""
    for factors in factorisations(len(line)):
        weights = [prod(factors[i + 1 :]) for i in range(len(factors))]
        strides = [line[w] - line[0] for w in weights]
        if all(
            line[x] - line[0] == sum(s * (x // w % f) for s, w, f in zip(strides, weights, factors, strict=True))
            for x in range(len(line))
        ):
            return True
    return False


def strided_exists(table: dict[Point, int], shape: Point) -> bool:
    zero = (0,) * len(shape)
    lines = [
        [table[tuple(x if j == i else 0 for j in range(len(shape)))] for x in range(n)] for i, n in enumerate(shape)
    ]
    for point, v in table.items():
        if v - table[zero] != sum(line[x] - table[zero] for line, x in zip(lines, point, strict=True)):
            return False
    return all(digits_exist(line) for line in lines)


@lru_cache(maxsize=8)
def all_matrices(bits: int) -> np.ndarray:
    """Every invertible matrix on `bits` bits as a table of images, shape (matrices, 2**bits)."""
    found = []
    for columns in itertools.permutations(range(1, 1 << bits), bits):
        images = [0]
        for column in columns:
            images += [image ^ column for image in images]
        if len(set(images)) == 1 << bits:
            found.append(images)
    return np.array(found, dtype=np.int16)


def representable(table: dict[Point, int], shape: Point) -> bool:
    """A layout (strides, offset, invertible exclusive-or part) with this table exists.

    Exhaustive over exclusive-or parts when all values are below 16; above that, none and every linear table are tried:
    a lower bound of what exists, found by means that share nothing with the code under test.
    """
    if strided_exists(table, shape):
        return True
    highest = max(table.values())
    if highest < 16 and min(table.values()) >= 0:
        return some_matrix_makes_it_strided(table, shape, max(1, highest.bit_length()))
    return linear_exists(table, shape)


def some_matrix_makes_it_strided(table: dict[Point, int], shape: Point, bits: int) -> bool:
    """`strided_exists` for the table seen through every invertible matrix at once."""
    keys = list(table)
    index = {p: i for i, p in enumerate(keys)}
    images = all_matrices(bits)[:, np.array([table[p] for p in keys])]
    images = images - images[:, :1]
    for axis, extent in enumerate(shape):
        line = images[:, [index[tuple(x if i == axis else 0 for i in range(len(shape)))] for x in range(extent)]]
        fits = np.zeros(len(images), dtype=bool)
        for factors in factorisations(extent):
            expected = np.zeros_like(line)
            for position, factor in enumerate(factors):
                weight = prod(factors[position + 1 :])
                expected += line[:, [weight]] * (np.arange(extent) // weight % factor)
            fits |= (expected == line).all(axis=1)
        images = images[fits]
    total = np.zeros_like(images)
    for axis in range(len(shape)):
        total += images[:, [index[tuple(x if i == axis else 0 for i, x in enumerate(p))] for p in keys]]
    return bool((total == images).all(axis=1).any())


def linear_exists(table: dict[Point, int], shape: Point) -> bool:
    """Linear over bits from the origin, with columns that are zero or independent."""
    zero = (0,) * len(shape)
    if any(n & (n - 1) for n in shape) or table[zero] != 0 or min(table.values()) < 0:
        return False
    units = [
        tuple(1 << b if j == i else 0 for j in range(len(shape)))
        for i, n in enumerate(shape)
        for b in range(n.bit_length() - 1)
    ]
    columns = [table[u] for u in units]
    for point, v in table.items():
        expected = 0
        for unit, column in zip(units, columns, strict=True):
            if any(p & u for p, u in zip(point, unit, strict=True)):
                expected ^= column
        if expected != v:
            return False
    span = {0}
    for column in columns:
        if column:
            if column in span:
                return False
            span |= {s ^ column for s in span}
    return True


# --- the laws ---------------------------------------------------------------------------------------------------------


def verdict(
    run: Callable[[], LayoutForm], shape: Point, meaning: Callable[[Point], int], *, search: bool = False
) -> str:
    """Run an operation and judge it against the meaning of every point."""
    try:
        result = to_spec(run())
    except LayoutError as error:
        honest(error)
        if search and representable({p: meaning(p) for p in points(shape)}, shape):
            return "missed"
        return "refused"
    if result.shape != shape:
        return "mismatch"
    return "held" if all(value(result, p) == meaning(p) for p in points(shape)) else "mismatch"


def honest(error: LayoutError) -> None:
    """A refusal is an answer; a result that failed the operation's own check is not."""
    if isinstance(error, LayoutDefect):
        raise error


def compose_law(rng: random.Random) -> str:
    outer = random_spec(rng, columns=rng.random() < 0.3)
    values = linear(outer)
    for _ in range(20):
        inner = random_spec(rng, limit=48, columns=rng.random() < 0.2)
        if max(linear(inner)) < outer.size:
            break
    else:
        inner = Spec((((outer.size, 1),),))
    return verdict(
        lambda: compose.compose(to_form(outer), to_form(inner, "uvwxyz")),
        inner.shape,
        lambda p: values[value(inner, p)],
        search=True,
    )


def owner_law(rng: random.Random) -> str:
    """Composition by named coordinates: the owner's expressions say which point each holder means."""
    outer = random_spec(rng, columns=rng.random() < 0.3)
    inner = random_spec(rng, limit=32, kind="compact")
    scale = [max(1, n) for n in outer.shape]
    names = "uvwxyz"[: len(inner.axes)]
    texts = {}
    for axis, extent in zip("abcdef", scale, strict=False):
        terms = "+".join(f"{rng.choice((0, 1, 1, 2, 3))}*{n}" for n in names)
        texts[axis] = f"({terms})//{rng.choice((1, 1, 2, 3))}%{extent}"
    owner = Owner(**dict(zip(names, inner.shape, strict=True)), **texts)

    def meaning(p: Point) -> int:
        env = dict(zip(names, p, strict=True))
        return value(outer, tuple(eval(texts[a], {}, env) for a in "abcdef"[: len(outer.axes)]))

    return verdict(lambda: compose.compose(to_form(outer), owner), inner.shape, meaning, search=True)


def divide_law(rng: random.Random) -> str:
    outer = random_spec(rng, columns=rng.random() < 0.2)
    values = linear(outer)
    tile = random_spec(rng, limit=max(1, outer.size // 2), kind=rng.choice(("compact", "gapped")))
    within = linear(tile)
    # The complement by definition: the smallest uncovered index starts the next tile.
    starts: list[int] = []
    covered: set[int] = set()
    ok = max(within) < outer.size
    for index in range(outer.size if ok else 0):
        if index not in covered:
            image = {index + w for w in within}
            if image & covered or max(image) >= outer.size:
                ok = False
                break
            covered |= image
            starts.append(index)
    if not ok:
        try:
            tiling.divide(to_form(outer), to_form(tile, "uvwxyz"))
        except LayoutError as error:
            honest(error)
            return "refused"
        return "mismatch"
    shape = (*tile.shape, len(starts))
    return verdict(
        lambda: tiling.divide(to_form(outer), to_form(tile, "uvwxyz")),
        shape,
        lambda p: values[value(tile, p[:-1]) + starts[p[-1]]],
        search=True,
    )


def complement_law(rng: random.Random) -> str:
    spec = random_spec(rng, limit=48)
    unit = rng.choice((1, 1, 1, 2))
    values = linear(spec)
    size = (max(values) + 1) * rng.choice((1, 1, 2, 3))
    if rng.random() < 0.7:
        size = -(-size // spec.size) * spec.size
    try:
        rest = to_spec(tiling.complement(to_form(spec), size, unit))
    except LayoutError as error:
        honest(error)
        return "refused"
    sums = sorted(v + r for v in values for r in linear(rest))
    return "held" if sums == list(range(0, size, unit)) else "mismatch"


def product_law(rng: random.Random) -> str:
    block = random_spec(rng, limit=24, kind=rng.choice(("compact", "gapped", "wild")))
    copies = random_spec(rng, limit=24)
    try:
        result = to_spec(tiling.product(to_form(block), to_form(copies, "uvwxyz")))
    except LayoutError as error:
        honest(error)
        return "refused"
    if result.shape != (*block.shape, *copies.shape):
        return "mismatch"
    # The free places in increasing order are those that the block, moved there, does not share with earlier ones.
    within, order = linear(block), linear(copies)
    places: list[int] = []
    covered: set[int] = set()
    index = 0
    while len(places) <= max(order):
        if index not in covered:
            covered |= {index + w for w in within}
            places.append(index)
        index += 1
    expected = {
        (*x, *y): value(block, x) + places[value(copies, y)] for x in points(block.shape) for y in points(copies.shape)
    }
    return "held" if all(value(result, p) == v for p, v in expected.items()) else "mismatch"


def inverse_law(rng: random.Random) -> str:
    spec = random_spec(
        rng, kind=rng.choice(("compact", "compact", "compact", "gapped", "wild")), columns=rng.random() < 0.3
    )
    scale = rng.choice((1, 1, 2, 3))
    spec = Spec(tuple(tuple((e, s * scale) for e, s in axis) for axis in spec.axes), spec.columns)
    values = linear(spec)
    steps = sorted(values)
    unit = steps[1] if len(steps) > 1 else 1
    if unit == 0 or steps != list(range(0, len(steps) * unit, unit)):
        try:
            inverse.inverse(to_form(spec))
        except LayoutError as error:
            honest(error)
            return "refused"
        return "mismatch"
    back = {v // unit: i for i, v in enumerate(values)}
    return verdict(lambda: inverse.inverse(to_form(spec)), (spec.size,), lambda p: back[p[0]], search=True)


def coordinates_law(rng: random.Random) -> str:
    spec = random_spec(rng, kind=rng.choice(("compact", "gapped", "gapped", "wild")), columns=rng.random() < 0.4)
    form = to_form(spec)
    where = E.var("address", 0, 1 << 20)
    try:
        found = inverse.coordinates(form, where)
    except LayoutError as error:
        honest(error)
        return "refused"
    for point in points(spec.shape):
        env = {"address": value(spec, point)}
        if tuple(E.evaluate(found[axis.name], env) for axis in form.axes) != point:
            return "mismatch"
    return "held"


def address_law(rng: random.Random) -> str:
    """The address expression is the definition."""
    spec = random_spec(rng, columns=rng.random() < 0.5)
    spec = Spec(spec.axes, spec.columns, rng.choice((0, 0, 3, 16)))
    form = to_form(spec)
    e = address(form, {a.name: E.var(a.name, 0, int(a.extent) - 1) for a in form.axes})  # type: ignore[arg-type]
    names = [a.name for a in form.axes]
    good = all(E.evaluate(e, dict(zip(names, p, strict=True))) == value(spec, p) for p in points(spec.shape))
    return "held" if good else "mismatch"


def xor_law(rng: random.Random) -> str:
    extents = [rng.choice((2, 4, 8, 3, 6)) for _ in range(3)]
    reach, strides = 1, []
    for extent in extents:
        strides.append(reach)
        grown = reach * extent
        reach = grown if rng.random() < 0.3 else 1 << (grown - 1).bit_length()
    order = list(range(3))
    rng.shuffle(order)
    spec = Spec(tuple(((extents[i], strides[i]),) for i in order))
    names = "abc"
    target, source = rng.sample(range(3), 2)
    low = rng.randrange(2)
    text = f"{names[source]}[{low}:{low + rng.randint(1, 3)}]"
    if rng.random() < 0.3:
        text += f" ^ {names[source]}[1]"
    field = compile_field(text, names[source])

    def meaning(p: Point) -> int:
        q = list(p)
        q[target] ^= field(p[source])
        return value(spec, tuple(q))

    return verdict(lambda: reshape.xor(to_form(spec), names[target], text), spec.shape, meaning)


def compile_field(text: str, name: str) -> Callable[[int], int]:
    """The meaning of "a[0:3] ^ a[1]", read by hand."""
    fields = []
    for part in text.split("^"):
        inner = part.strip().removeprefix(f"{name}[").removesuffix("]")
        low, _, high = inner.partition(":")
        fields.append((int(low), int(high) if high else int(low) + 1))

    def meaning(x: int) -> int:
        result = 0
        for low, high in fields:
            result ^= (x >> low) & ((1 << (high - low)) - 1)
        return result

    return meaning


def pad_law(rng: random.Random) -> str:
    spec = random_spec(rng, kind=rng.choice(("compact", "gapped", "wild")))
    form = to_form(spec)
    label, (_, stride) = rng.choice([(d.label, (d.extent, d.stride)) for axis in form.axes for d in axis.digits])
    free = rng.choice((1, 2, 4, 16))
    return verdict(
        lambda: reshape.pad(form, label, free),
        spec.shape,
        lambda p: value(spec, p) + free * (value(spec, p) // int(stride)),  # type: ignore[arg-type]
    )


def permute_law(rng: random.Random) -> str:
    spec = random_spec(rng, columns=rng.random() < 0.3)
    order = list(range(len(spec.axes)))
    rng.shuffle(order)
    shape = tuple(spec.shape[i] for i in order)

    def meaning(p: Point) -> int:
        return value(spec, tuple(p[order.index(i)] for i in range(len(order))))

    return verdict(lambda: reshape.permute(to_form(spec), ["abcdef"[i] for i in order]), shape, meaning)


def view_law(rng: random.Random) -> str:
    """Byte for byte: element x of the old view covers the same bytes as its parts in the new one."""
    of, to = rng.choice(((2, 4), (4, 2), (2, 8), (4, 1), (1, 2), (4, 16)))
    inner = rng.choice((2, 4, 8, 3))
    rows = rng.choice((2, 3, 4))
    columns = random_columns(rng, rng.choice((4, 5, 6))) if rng.random() < 0.4 else ()
    spec = Spec((((rows, of * inner * rng.choice((1, 1, 2))),), ((inner, of),)), columns)
    try:
        result = to_spec(reshape.view(to_form(spec), to, of))
    except LayoutError as error:
        honest(error)
        return "refused"
    if prod(result.shape) * to != spec.size * of:
        return "mismatch"
    for row in range(rows):
        old = [value(spec, (row, e)) + byte for e in range(inner) for byte in range(of)]
        new = [value(result, (row, e)) + byte for e in range(result.shape[1]) for byte in range(to)]
        if old != new:
            return "mismatch"
    return "held"


def slice_law(rng: random.Random) -> str:
    spec = random_spec(rng, columns=rng.random() < 0.4)
    axis = rng.randrange(len(spec.axes))
    extent = spec.shape[axis]
    name = "abcdef"[axis]
    if rng.random() < 0.5:
        at = rng.randrange(extent)
        shape = tuple(n for i, n in enumerate(spec.shape) if i != axis)
        return verdict(
            lambda: reshape.slice_(to_form(spec), {name: at}),
            shape,
            lambda p: value(spec, (*p[:axis], at, *p[axis:])),
        )
    start = rng.randrange(extent)
    stop = rng.randint(start + 1, extent)
    shape = tuple(stop - start if i == axis else n for i, n in enumerate(spec.shape))
    return verdict(
        lambda: reshape.slice_(to_form(spec), {name: (start, stop)}),
        shape,
        lambda p: value(spec, tuple(x + start if i == axis else x for i, x in enumerate(p))),
        search=True,
    )


def merge_split_law(rng: random.Random) -> str:
    spec = random_spec(rng, columns=rng.random() < 0.3)
    if len(spec.axes) > 1 and rng.random() < 0.5:
        first, second = spec.shape[0], spec.shape[1]
        return verdict(
            lambda: reshape.merge(to_form(spec), "m", ("a", "b")),
            (first * second, *spec.shape[2:]),
            lambda p: value(spec, (p[0] // second, p[0] % second, *p[1:])),
        )
    extent = spec.shape[0]
    inner = rng.choice([f for f in range(1, extent + 1) if extent % f == 0])
    return verdict(
        lambda: reshape.split(to_form(spec), "a", {"hi": extent // inner, "lo": inner}),
        (extent // inner, inner, *spec.shape[1:]),
        lambda p: value(spec, (p[0] * inner + p[1], *p[2:])),
        search=True,
    )


LAWS: dict[str, Callable[[random.Random], str]] = {
    "compose": compose_law,
    "compose owner": owner_law,
    "divide": divide_law,
    "inverse": inverse_law,
    "complement": complement_law,
    "product": product_law,
    "coordinates": coordinates_law,
    "address": address_law,
    "xor": xor_law,
    "pad": pad_law,
    "permute": permute_law,
    "view": view_law,
    "slice": slice_law,
    "merge/split": merge_split_law,
}
