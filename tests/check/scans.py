"""Scans for the mutation suite: the templates of `argus/kernels/scan.py` at small pieces, and mistakes people make.

`PROGRAMS` are programs whose IR the suite mutates, as it does all others. `MISTAKES` change the text of the template:
another edge, what is carried lost, taken twice or from the other end, a mask too late, a piece at the wrong place.
Whether a change is wrong is for the interpreter to say; some are harmless for some settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from argus.ir.interp import extents
from argus.ir.kernel import Kernel, KnobValue
from argus.lang import ProgramError, read
from tests.check.mutants import Mutant
from tests.check.programs import Program

SCAN = Path(__file__).parents[2] / "argus" / "kernels" / "scan.py"
Settings = Mapping[str, KnobValue]
SMALL: Settings = {"CHUNKS": 1}
ROWS = ({"M": 3, "N": 600}, {"M": 2, "N": 600}, {"M": 5, "N": 600}, {"M": 5, "N": 256}, {"M": 1, "N": 4})
COLUMNS = ({"A": 3, "K": 21, "C": 30}, {"A": 2, "K": 24, "C": 300}, {"A": 1, "K": 24, "C": 2}, {"A": 1, "K": 8, "C": 1})
NEUTRAL = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
JOIN: dict[str, np.ufunc] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def scanned(x: np.ndarray, axis: int, settings: Settings) -> np.ndarray:
    """Element after element, in Python."""
    op, line = str(settings.get("OP", "sum")), np.moveaxis(x.astype(np.float64), axis, 0)
    made, taken = np.empty_like(line), np.full(line.shape[1:], NEUTRAL[op])
    for n in reversed(range(len(line))) if settings.get("REVERSE") else range(len(line)):
        after = JOIN[op](taken, line[n])
        made[n], taken = (taken if settings.get("EXCLUSIVE") else after), after
    return np.moveaxis(made, 0, axis)


def program(kernel: str, settings: Settings, file: Path = SCAN) -> Program:
    """A kernel of the template with what it should compute."""
    given = {**SMALL, **settings}

    def reference(arrays: dict[str, np.ndarray]) -> np.ndarray:
        x = arrays["X"] * arrays["mask"] if "mask" in arrays else arrays["X"]
        return scanned(x, 1, given)

    sizes = COLUMNS if kernel == "scan_axis" else ROWS
    return Program(read(file, settings=given, kernel=kernel), sizes, reference, "Y", inputs)


def inputs(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Small whole numbers, whose sums are exact; powers of two, whose products are. For maxima rising, falling or
    neither, by the first size. Masks of zeros and ones."""
    dice, made = np.random.default_rng(5), dict[str, np.ndarray]()
    op = str(kernel.settings.get("OP", "sum"))
    for tensor in (t for t in kernel.tensors if t.read):
        shape = extents(tensor, sizes)
        drawn = dice.integers(-4, 5, shape)
        if op == "prod":
            drawn = dice.choice((-2.0, -1.0, -0.5, 0.5, 1.0, 2.0), shape)
        elif op != "sum":
            trend = {3: 10, 2: -10}.get(shape[0], 0)  # for other sizes there is none
            drawn = 50 * drawn if trend == 0 else drawn
            drawn += trend * np.arange(shape[1]).reshape(1, -1, *[1] * (len(shape) - 2))
        made[tensor.name] = (np.abs(drawn) % 2).astype(np.uint8) if tensor.name == "mask" else drawn.astype(np.float32)
    return made


PROGRAMS: dict[str, Callable[[], Program]] = {
    "scan": partial(program, "scan", {}),
    "scan_exclusive": partial(program, "scan", {"EXCLUSIVE": True}),
    "scan_reverse": partial(program, "scan", {"REVERSE": True}),
    "scan_prod": partial(program, "scan", {"OP": "prod", "REVERSE": True}),
    "scan_max": partial(program, "scan", {"OP": "max", "REVERSE": True}),
    "scan_masked": partial(program, "scan_masked", {}),
    "scan_axis": partial(program, "scan_axis", {"EXCLUSIVE": True, "OP": "min"}),
}

PLAIN: Settings = {}
EXCLUSIVE: Settings = {"EXCLUSIVE": True}
REVERSE: Settings = {"REVERSE": True}
BOTH: Settings = {"EXCLUSIVE": True, "REVERSE": True}
PROD: Settings = {"OP": "prod"}
PROD_BOTH: Settings = {"OP": "prod", "EXCLUSIVE": True, "REVERSE": True}
MAX: Settings = {"OP": "max"}
MAX_REVERSE: Settings = {"OP": "max", "REVERSE": True}
MIN_BOTH: Settings = {"OP": "min", "EXCLUSIVE": True, "REVERSE": True}
ALL = (PLAIN, EXCLUSIVE, REVERSE, BOTH, PROD, PROD_BOTH, MAX, MAX_REVERSE, MIN_BOTH)

Mistake = tuple[str, str, str, str, tuple[Settings, ...]]
"""Kernel, what is wrong, what stands there, what is written instead, and at which settings."""

MISTAKES: tuple[Mistake, ...] = (
    (
        "scan",
        "the element itself is counted otherwise",
        "x.cumsum(axis, exclusive=EXCLUSIVE",
        "x.cumsum(axis, exclusive=not EXCLUSIVE",
        (PLAIN, EXCLUSIVE, REVERSE, BOTH),
    ),
    (
        "scan",
        "the element itself is counted otherwise in maxima",
        "x.cummax(axis, exclusive=EXCLUSIVE",
        "x.cummax(axis, exclusive=not EXCLUSIVE",
        (MAX, MAX_REVERSE),
    ),
    (
        "scan",
        "pieces are scanned the other way",
        "x.cumsum(axis, exclusive=EXCLUSIVE, reverse=REVERSE)",
        "x.cumsum(axis, exclusive=EXCLUSIVE, reverse=not REVERSE)",
        (PLAIN, EXCLUSIVE, REVERSE, BOTH),
    ),
    ("scan", "what is carried is dropped", "store(joined(before, y)", "store(joined(y, y - y)", (PLAIN, BOTH)),
    (
        "scan",
        "what is carried is dropped from maxima",
        "store(joined(before, y)",
        "store(joined(y, y)",
        (MAX, MIN_BOTH),
    ),
    (
        "scan",
        "what is carried is joined twice",
        "store(joined(before, y)",
        "store(joined(before, joined(before, y))",
        ALL,
    ),
    (
        "scan",
        "carried from the wrong end",
        "x.first(axis) if REVERSE else x.last(axis)",
        "x.last(axis) if REVERSE else x.first(axis)",
        ALL,
    ),
    (
        "scan",
        "the last element is not carried",
        "joined(outermost(y, axis), outermost(x, axis)) if EXCLUSIVE else",
        "outermost(y, axis) if EXCLUSIVE else",
        (EXCLUSIVE, BOTH, PROD_BOTH, MIN_BOTH),
    ),
    (
        "scan",
        "the last element is carried twice",
        "outermost(x, axis)) if EXCLUSIVE else outermost(y, axis)",
        "outermost(x, axis)) if EXCLUSIVE else joined(outermost(y, axis), outermost(x, axis))",
        (PLAIN, REVERSE, PROD, MAX),
    ),
    (
        "scan",
        "nothing is carried on",
        'before = joined(before, taken(y, x, "n"))',
        "before = joined(before, before - before)",
        (PLAIN, EXCLUSIVE),
    ),
    (
        "scan",
        "only the piece before is carried",
        'before = joined(before, taken(y, x, "n"))',
        'before = taken(y, x, "n")',
        ALL,
    ),
    (
        "scan",
        "the first number is carried with a start of one",
        "ag.full(ONE, f32, START)",
        "ag.full(ONE, f32, 1.0)",
        (PLAIN, MAX, MIN_BOTH),
    ),
    (
        "scan",
        "the start of maxima is zero",
        "ag.full(ONE, f32, START)",
        "ag.full(ONE, f32, 0.0)",
        (PLAIN, PROD, MAX, MIN_BOTH),
    ),
    (
        "scan",
        "maxima go beyond the end",
        'ag.where(place < extent, x, START) if REVERSE and OP != "sum" else x',
        "x",
        (REVERSE, PROD_BOTH, MAX_REVERSE, MIN_BOTH),
    ),
    (
        "scan",
        "one element beyond the end",
        "ag.where(place < extent",
        "ag.where(place <= extent",
        (PROD_BOTH, MAX_REVERSE, MIN_BOTH),
    ),
    ("scan", "the last element is masked", "ag.where(place < extent", "ag.where(place < extent - 1", (MAX_REVERSE,)),
    (
        "scan",
        "beyond the end there are zeros",
        "ag.where(place < extent, x, START)",
        "ag.where(place < extent, x, 0.0)",
        (MAX_REVERSE, MIN_BOTH),
    ),
    (
        "scan",
        "a piece too early",
        "* span if REVERSE else i * span",
        "* span if REVERSE else i * span - 4",
        (PLAIN, REVERSE),
    ),
    (
        "scan",
        "the first piece from the end is missing",
        "(ag.cdiv(extent, span) - 1 - i)",
        "(ag.cdiv(extent, span) - i)",
        (REVERSE, MAX_REVERSE),
    ),
    (
        "scan",
        "pieces in the other order",
        "return (ag.cdiv(extent, span) - 1 - i) * span if REVERSE else i * span",
        "return i * span if REVERSE else (ag.cdiv(extent, span) - 1 - i) * span",
        (PLAIN, REVERSE, PROD, MAX),
    ),
    (
        "scan",
        "the tail is left out",
        "for i in ag.range(ag.cdiv(N, SPAN)):",
        "for i in ag.range(N // SPAN):",
        (PLAIN, REVERSE, PROD),
    ),
    (
        "scan",
        "the first piece is left out",
        "for i in ag.range(ag.cdiv(N, SPAN)):",
        "for i in ag.range(1, ag.cdiv(N, SPAN)):",
        (PLAIN, EXCLUSIVE),
    ),
    ("scan", "pieces overlap", "at = piece(i, N, SPAN)", "at = piece(i, N, SPAN - 4)", (PLAIN, PROD, MAX)),
    (
        "scan",
        "the same row for all waves",
        "row = 4 * ag.grid(ag.cdiv(M, 4)) + ag.wave()",
        "row = 4 * ag.grid(ag.cdiv(M, 4)) + ag.wave() * 0",
        (PLAIN,),
    ),
    (
        "scan",
        "what is carried is joined before it is stored",
        "        Y[row, at].store(joined(before, y).to(T)",
        '        before = joined(before, taken(y, x, "n"))\n        Y[row, at].store(joined(before, y).to(T)',
        (PLAIN, MAX),
    ),
    ("scan", "a sum instead of a product", '"prod": lambda: x * y', '"prod": lambda: x + y', (PROD, PROD_BOTH)),
    ("scan", "a maximum instead of a sum", '"sum": lambda: x + y', '"sum": lambda: ag.max(x, y)', (PLAIN, REVERSE)),
    ("scan", "a sum instead of a maximum", '"max": lambda: ag.max(x, y)', '"max": lambda: x + y', (MAX, MAX_REVERSE)),
    ("scan", "the other extreme", "return x.cummax(", "return x.cummin(", (MAX, MAX_REVERSE)),
    ("scan", "lanes hold other elements than they store", 'lane*{E} + e")', '(lane^1)*{E} + e")', (PLAIN,)),
    ("scan", "stored to the row before", "Y[row, at].store(joined", "Y[ag.max(row - 1, 0), at].store(joined", (PLAIN,)),
    (
        "scan_masked",
        "masked after the scan",
        'x = x * mask[row, at].load(ROW, width=WIDTH // SIZE, guard="shape").to(f32)\n'
        '        y = x.cumsum("n", exclusive=EXCLUSIVE, reverse=REVERSE)',
        'y = x.cumsum("n", exclusive=EXCLUSIVE, reverse=REVERSE)'
        ' * mask[row, at].load(ROW, width=WIDTH // SIZE, guard="shape").to(f32)',
        (PLAIN, BOTH),
    ),
    (
        "scan_masked",
        "no mask",
        'x = x * mask[row, at].load(ROW, width=WIDTH // SIZE, guard="shape").to(f32)',
        "x = x",
        (PLAIN, REVERSE),
    ),
    (
        "scan_masked",
        "the mask of another place",
        "mask[row, at].load",
        "mask[row, ag.max(at - 4, 0)].load",
        (PLAIN, REVERSE),
    ),
    ("scan_masked", "the mask of the row before", "mask[row, at].load", "mask[ag.max(row - 1, 0), at].load", (PLAIN,)),
    ("scan_masked", "the mask added", "x = x * mask[row", "x = x + mask[row", (PLAIN,)),
    (
        "scan_masked",
        "carried without the mask",
        'y = x.cumsum("n", exclusive',
        'before = before + 0.0 * before\n        y = x.cumsum("n", exclusive',
        (PLAIN,),
    ),
    (
        "scan_axis",
        "the columns' sum is not carried",
        'before = joined(before, taken(y, x, "k"))',
        "before = joined(before, before)",
        (MAX, MIN_BOTH),
    ),
    (
        "scan_axis",
        "zeros beyond the end",
        "and K % {DEPTH if REVERSE and OP != 'sum' else 1} == 0",
        "and K % 1 == 0",
        (MAX_REVERSE, MIN_BOTH),
    ),
    ("scan_axis", "the column beside", "X[a, at, bc * 256].load", "X[a, at, bc * 256 + 1].load", (PLAIN,)),
    (
        "scan_axis",
        "carried from the wrong end",
        "x.first(axis) if REVERSE else x.last(axis)",
        "x.last(axis) if REVERSE else x.first(axis)",
        (PLAIN, BOTH),
    ),
)


def mistakes() -> Iterator[tuple[Program, Mutant]]:
    return made_in(SCAN, MISTAKES, program)


def made_in(
    source: Path, table: tuple[Mistake, ...], program: Callable[[str, Settings, Path], Program]
) -> Iterator[tuple[Program, Mutant]]:
    """Every mistake at every setting it is listed for, with the program it was made in. What the reader refuses is
    left out."""
    with TemporaryDirectory() as folder:
        for kernel, name, old, new, settings in table:
            text = source.read_text()
            assert old in text, name
            file = Path(folder) / source.name
            file.write_text(text.replace(old, new))
            for given in settings:
                right = program(kernel, given, source)
                try:
                    wrong = program(kernel, given, file)
                except ProgramError:
                    continue
                chosen = ", ".join(f"{knob}={value}" for knob, value in given.items())
                yield right, Mutant("mistake", f"{kernel} {chosen}: {name}", wrong.kernel)
