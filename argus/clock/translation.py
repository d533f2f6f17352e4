"""Pages that one compute unit comes back to after its translation cache has dropped them: a count for the whole launch.

    page_misses(folded, insts, workgroups)     -> misses of the workgroups that share a compute unit, in one round

A tile of a large matrix is a few bytes from each of many rows, and rows of 32 KB are each on a page of their own: a 256
x 256 tile of a 16384 product works on 512 rows, 256 pages of 64 KB, and comes back to each of them in every step.
Contiguous reads (streams, keys and values) stay on a page for hundreds of lines. Counted here: misses of a cache of
`ENTRIES` pages of `PAGE` bytes with least-recently-used replacement, over the lines that the workgroups of one compute
unit load, merged in time.

How many entries there are, how large a page is and what a miss costs is not published. With the drift of XCDs and the
channels and pages of HBM it is one lumped term, `page_miss_clocks` core clocks each, fitted on rows (docs/clock.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from argus.clock.caches import LINE, cold_misses
from argus.clock.fold import Folded
from argus.clock.xcd import load_places, stream
from argus.gfx942.inst import Inst

ENTRIES = 64
PAGE = 1 << 16


def page_misses(folded: Folded, insts: Iterable[Inst], workgroups: Sequence[int]) -> float:
    """Misses beyond the first touch of a page, of workgroups that run together, the iterations left out included."""
    loads = load_places(insts)
    parts = [stream(folded.record, loads, number) for number in workgroups]
    if not parts or not any(len(lines) for _, lines in parts):
        return 0.0
    order = np.argsort(np.concatenate([moments for moments, _ in parts]), kind="stable")
    pages = np.concatenate([lines for _, lines in parts])[order] // (PAGE // LINE)
    missed = int(cold_misses(pages, ENTRIES, ENTRIES).sum()) - len(np.unique(pages))
    stretch = sum(folded.stretch(number) for number in workgroups) / len(workgroups)
    return missed * stretch
