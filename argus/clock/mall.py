"""What the Infinity Cache keeps from one round of workgroups to the next, when the tensors are larger than it.

    missing_again(folded, insts, first, second, share)   -> 0.7: of the lines of a later round, those not there

All workgroups of a round read at about the same pace, so within a round a line that several XCDs want comes from memory
once (`argus.clock.xcd.xcds_per_line`). What a later round finds depends on replacement: the lines of the sampled
workgroups of the first round pass a cache of 256 MB, scaled by the share of the round's bytes that were sampled (some
of its workgroups, and of long loops some iterations), then those of some workgroups of the second round; what these
miss, a launch misses in every round but the first.

What it cannot do: see rounds further apart than one. They are taken to be like the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from argus.clock.caches import LINE, cold_misses
from argus.clock.fold import Folded
from argus.clock.xcd import MALL_WAYS, load_places, stream
from argus.gfx942 import chip
from argus.gfx942.inst import Inst


def missing_again(
    folded: Folded, insts: Iterable[Inst], first: Sequence[int], second: Sequence[int], share: float
) -> float | None:
    """Share of the second round's lines that memory must give again; `share`: sampled lines of the first round's.

    None when the second round was not sampled.
    """
    loads = load_places(insts)
    before, after = (_lines(folded, loads, part) for part in (first, second))
    if not len(before) or not len(after):
        return None
    held = max(MALL_WAYS, int(share * chip.count("mall_bytes")) // LINE)
    missed = cold_misses(np.concatenate([before, after]), held, MALL_WAYS, hashed=True)
    return float(missed[len(before) :].mean())


def _lines(folded: Folded, loads: npt.NDArray[np.int64], workgroups: Sequence[int]) -> npt.NDArray[np.int64]:
    """Lines that these workgroups read, each once, in the order of the first of them to come to it."""
    parts = [stream(folded.record, loads, number) for number in workgroups]
    if not parts:
        return np.zeros(0, np.int64)
    moments = np.concatenate([moment for moment, _ in parts])
    lines = np.concatenate([line for _, line in parts])[np.argsort(moments, kind="stable")]
    return lines[np.sort(np.unique(lines, return_index=True)[1])]
