"""Rows of `argus bench gemm` in a file, a line each: a run that was cut off goes on, what holds is not made again.

    held = Lines(Path("out/gemm.jsonl"))
    for line in made(held, pool, works): ...           only what the file lacks
    held.rows()                                        the rows again, by layout and type, without running anything

A line is found by its key: the sizes, how they are compared, the clock, our kernels (their files, the dispatcher's
choice, the code that compiles them) and the other library's candidates with their objects. What has changed since gets
a new line; the last one of a size counts. Which of Triton's compilers made a rival is not in the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from argus.bench import hipblaslt_best
from argus.bench.gemm import WITHOUT, GemmRow
from argus.bench.kept import clock_digest, mark
from argus.bench.our_product import our_product
from argus.bench.table_work import WORK, TableWork
from argus.clock import LABEL
from argus.cluster import Pool, answers
from argus.compile.cache import toolchain
from argus.lang.imports import text_with_imports
from argus.ops.choice import KERNELS, Choice

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """One row as kept. `how`: type, layout, protocol, clocks and whom it was compared with; `seconds`: its CPU time."""

    key: str
    clock: str
    clock_digest: str
    kernels: str
    how: Mapping[str, Any]
    seconds: float
    row: GemmRow

    @property
    def of(self) -> tuple[str, Shape]:
        """What a later line takes the place of."""
        return json.dumps(self.how, sort_keys=True), self.row.shape

    @property
    def present(self) -> bool:
        """Whether clock and kernels are those of today."""
        return self.clock_digest == clock_digest() and self.kernels == kernels()


class Lines:
    """The file, which need not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.broken = 0
        self.lines: list[Line] = []
        for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            try:
                self.lines.append(msgspec.convert(json.loads(text), Line))
            except (json.JSONDecodeError, msgspec.ValidationError):
                self.broken += 1
        self.keys = {line.key for line in self.lines}

    def add(self, line: Line) -> None:
        """Writes a line at once; one that was cut off before it stays a line of its own."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = not self.path.exists() or self.path.read_bytes()[-1:] in (b"\n", b"")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(("" if whole else "\n") + json.dumps(msgspec.to_builtins(line, enc_hook=float)) + "\n")
        self.lines.append(line)
        self.keys.add(line.key)

    def latest(self) -> list[Line]:
        """The last line of every size, in the order of the file."""
        return list({line.of: line for line in self.lines}.values())

    def groups(self) -> dict[str, list[Line]]:
        """The latest lines by how they were compared."""
        found: dict[str, list[Line]] = {}
        for line in self.latest():
            found.setdefault(line.of[0], []).append(line)
        return found


def made(held: Lines, pool: Pool, works: Sequence[TableWork]) -> Iterator[Line]:
    """Makes and keeps the lines that the file lacks, in order."""
    keys = {work: key for work in works if (key := key_of(work)) not in held.keys}
    asked = [msgspec.to_builtins(replace(work, what="line")) for work in keys]
    for work, answer in zip(keys, answers(pool, WORK, asked), strict=True):
        row = msgspec.convert(answer.value["row"], GemmRow)
        line = Line(keys[work], LABEL, clock_digest(), kernels(), how(work), answer.value["seconds"], row)
        held.add(line)
        yield line


def how(work: TableWork) -> dict[str, Any]:
    """How a row is compared, without folders, which say nothing about what lies in them."""
    others = [name for name in ("aiter", "hipblaslt") if getattr(work, name) is not None]
    return {
        "dtype": work.dtype, "layout": work.layout, "protocol": work.protocol, "clocks": work.clocks,
        "triton": work.triton, "nearest": work.nearest, "others": others,
    }  # fmt: skip


def key_of(work: TableWork) -> str:
    """Everything a row rests on."""
    shape = (work.shape[0], work.shape[1], work.shape[2])
    rivals: list[str] = []
    if work.others.hipblaslt is not None:
        rivals = hipblaslt_best.identity(shape, work.others.hipblaslt, work.dtype, work.layout, work.nearest)
    try:
        ours = _words(our_product(shape, work.dtype, work.layout).choice)
    except WITHOUT as error:
        ours = str(error)
    return mark(json.dumps([list(shape), how(work), clock_digest(), toolchain(), ours, rivals], sort_keys=True))


def _words(choice: Choice) -> str:
    then = "" if choice.then is None else _words(choice.then)
    return f"{choice.text()} {_source(choice.path)} {then}"


@cache
def _source(path: Path) -> str:
    return mark(text_with_imports(path))


@cache
def kernels() -> str:
    """A digest of the files of matrix products, their dispatch tables among them, and of what compiles them."""
    files = sorted([*KERNELS.glob("matmul*.py"), *KERNELS.glob("matmul*.json"), KERNELS / "elementwise.py"])
    return mark(toolchain().encode() + b"".join(path.name.encode() + path.read_bytes() for path in files))
