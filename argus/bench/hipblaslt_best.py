"""hipBLASLt beside ours at one shape: what its tables choose, or the fastest near solution where they are silent.

    found = hipblaslt_best((4096, 4096, 4096), Path("objects"), Kept(), "bf16", "TN")
    found.us, found.detail, found.kind

At a size without an entry the library asks a table of a grid of sizes. Where that table is not at hand, `nearest`
solutions are timed and the fastest counts: as good a yardstick as the nearest of them, or a better one, but not the
library's choice, and never called that.
"""

from __future__ import annotations

from pathlib import Path

from argus.bench import hipblaslt
from argus.bench.contestant import Contestant
from argus.bench.hipblaslt import HipblasltError, TableChoice
from argus.bench.kept import Kept, Timed, mark
from argus.bench.others import Best, Yardstick, fastest

Shape = tuple[int, int, int]


def candidates(
    shape: Shape, root: Path, dtype: str, layout: str, nearest: int = 0
) -> tuple[Yardstick, list[TableChoice]]:
    """The solutions to time. HipblasltError: its tables choose none and `nearest` is 0, or the chosen one cannot be
    timed; another one does not stand in for that."""
    sizes = hipblaslt.of_ours(shape)
    tables = hipblaslt.tables(root, layout, dtype)
    if nearest and not any(table.names(*sizes) for table in tables):
        return Yardstick.NEAR, hipblaslt.nearest(root, layout, dtype, *sizes, nearest)
    found = hipblaslt.chosen(root, layout, dtype, *sizes)
    return (Yardstick.CHOICE if found.solution.split == 1 else Yardstick.DIVIDED), [found]


def hipblaslt_best(shape: Shape, root: Path, store: Kept, dtype: str, layout: str, nearest: int = 0) -> Best:
    """The fastest of the candidates; HipblasltError says why there is none."""
    kind, choices = candidates(shape, root, dtype, layout, nearest)
    timed = {choice.text(): _time(choice, shape, store, dtype, layout) for choice in choices}
    found = fastest("hipBLASLt", timed)
    if not found:
        raise HipblasltError("; ".join(dict.fromkeys(time.why for time in timed.values())))
    best = found["hipBLASLt"]
    return Best(best.us, best.detail, best.tried, best.left_out, best.interval, kind)


def again(detail: str, shape: Shape, root: Path, dtype: str, layout: str, nearest: int = 0) -> Contestant:
    """The candidate with these words once more, with its sample."""
    _, choices = candidates(shape, root, dtype, layout, nearest)
    choice = next(choice for choice in choices if choice.text() == detail)
    return hipblaslt.contestant(choice, *hipblaslt.of_ours(shape))


def identity(shape: Shape, root: Path, dtype: str, layout: str, nearest: int = 0) -> list[str]:
    """What the answer rests on: the candidates with their objects, or why there are none."""
    try:
        _, choices = candidates(shape, root, dtype, layout, nearest)
        return [f"{choice.text()} {mark(choice.solution.object())}" for choice in choices]
    except HipblasltError as error:
        return [str(error)]


def _time(choice: TableChoice, shape: Shape, store: Kept, dtype: str, layout: str) -> Timed:
    at = " x ".join(map(str, shape))
    words = f"hipBLASLt {dtype} {layout} {choice.text()} {mark(choice.solution.object())} at {at}"
    return store.time(words, lambda: hipblaslt.contestant(choice, *hipblaslt.of_ours(shape)), HipblasltError)
