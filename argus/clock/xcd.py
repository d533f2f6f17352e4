"""Who finds what in the L2 of an XCD: the loads of all workgroups that run there, through one shared cache.

    fetches_per_miss(folded, insts, [0, 8, ... 296], seed=0)    -> {line: 2.4, ...}

Each workgroup's lines, as its own L1 lets them through, are spread evenly over its run; workgroups start a little apart
(`SKEW` of the run, drawn from the seed), because on real hardware they do. Merged by time, they pass one L2 of 4 MB. A
line that 16 workgroups fetch and that misses once counts 16: each of them moves a sixteenth of it beyond the L2. Two
workgroups that read the same line far apart in time count 1 each, as the line was evicted meanwhile. What a workgroup
soon fetches again itself (half a line now, half in the next step) counts once: its compute unit finds it in the L2. Of
its compute unit's L1 and part of the L2 a workgroup has what the others that run there leave it (`resident`): a row of
16 KB that one wave walks twice is not in the L1 the second time, if 31 others walk theirs beside it.

What misses the L2 again within the round passes the XCD's eighth of the Infinity Cache: `from_memory` of all misses
come from HBM.

Of a large launch a random part of the XCD's workgroups is enough: with n of N executed, the cache has n/N of its size,
and a workgroup's k - 1 companions at a line stand for (k - 1) (N - 1) / (n - 1). That alone takes a line whose other
readers were not drawn for a private one; so all are scaled to the number of lines that all N fetch, extrapolated from
how many lines one and how many two of the n fetch (`lines_of_all`).

Workgroups differ in how much they share (a tile in a full row of tiles more than one in a short row); those that are
timed are scaled to the mean. Lines that are on their way count as found. What it cannot do: feed the misses back into
the time of each workgroup.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argus.clock.caches import LINE, cold_misses
from argus.clock.fold import Folded
from argus.clock.steady import WARM
from argus.gfx942 import chip
from argus.gfx942.inst import Inst
from argus.gfx942.instructions import spec
from argus.machine.record import GLOBAL, NO_ADDRESS, ExecutionRecord

SKEW = 0.02
MALL_WAYS = 16
LOOKED_AT = 4
"""Workgroups whose left-out iterations are looked at."""
_LINE = np.uint64(LINE)


@dataclass(frozen=True, slots=True)
class Sharing:
    """What the workgroups of an XCD find in its L2.

    readers      line -> fetches by workgroups that one miss serves
    from_memory  share of the misses that the Infinity Cache does not hold either
    """

    readers: Mapping[int, float]
    from_memory: float


def fetches_per_miss(
    folded: Folded,
    insts: Iterable[Inst],
    workgroups: Sequence[int],
    seed: int = 0,
    together: int | None = None,
    timed: Container[int] = (),
    resident: int = 1,
) -> dict[int, float]:
    """For every line these workgroups load: fetches per miss of the L2 shared by `together` (default: just these)."""
    return dict(sharing_of(folded, insts, workgroups, seed, together, timed, resident).readers)


def sharing_of(
    folded: Folded,
    insts: Iterable[Inst],
    workgroups: Sequence[int],
    seed: int = 0,
    together: int | None = None,
    timed: Container[int] = (),
    resident: int = 1,
) -> Sharing:
    """What these workgroups find in the L2 that `together` (default: just these) share.

    timed     workgroups that will stand for all: their lines are scaled so that they cause as many misses as the mean
    resident  workgroups that share a compute unit
    """
    share = 1.0 if together is None else len(workgroups) / together
    loads = load_places(insts)
    times: list[npt.NDArray[np.float64]] = []
    lines: list[npt.NDArray[np.int64]] = []
    for number in workgroups:
        moments, found = stream(folded.record, loads, number, resident)
        start = SKEW * folded.stretch(number) * random.Random(f"{seed}/{number}").random()
        times.append(moments + start)
        lines.append(found)
    if not lines:
        return Sharing({}, 1.0)
    order = np.argsort(np.concatenate(times), kind="stable")
    merged = np.concatenate(lines)[order]
    lines_held = int(share * chip.count("l2_bytes")) // LINE
    missed = cold_misses(merged, lines_held, chip.count("l2_ways"), hashed=True)
    seen = np.unique(merged)
    first = [_first(found, resident) for found in lines]
    fetches = np.bincount(np.searchsorted(seen, np.concatenate(first)), minlength=len(seen))
    misses = np.bincount(np.searchsorted(seen, merged[missed]), minlength=len(seen))
    others = 1.0 if together is None or len(workgroups) < 2 else (together - 1) / (len(workgroups) - 1)
    served = fetches / misses
    served = np.where(served > 1, 1 + (served - 1) * others, served)
    caused = [float((1 / served[np.searchsorted(seen, found)]).sum()) for found in first]
    if together is not None and 1 < len(workgroups) < together:
        readers = np.zeros(len(seen), np.int64)
        for found in lines:
            readers[np.searchsorted(seen, np.unique(found))] += 1
        again = misses.sum() / len(seen)
        expected = again * lines_of_all(readers, len(workgroups), together) / together
        served *= sum(caused) / len(caused) / expected
    of_timed = [sum_of for number, sum_of in zip(workgroups, caused, strict=True) if number in timed]
    if of_timed and sum(caused):
        served *= (sum(of_timed) / len(of_timed)) / (sum(caused) / len(caused))
    some = workgroups[:LOOKED_AT]
    readers_of = dict(zip(seen.tolist(), served.tolist(), strict=True))
    growth = sum(_growth(folded, loads, number, readers_of) for number in some) / len(some)
    return Sharing(readers_of, _from_memory(merged[missed], share / growth))


def _growth(folded: Folded, loads: npt.NDArray[np.int64], workgroup: int, readers: Mapping[int, float]) -> float:
    """How many times the lines on record the first wave of the workgroup really brings in.

    Iterations that were left out bring lines as those that were kept do, unless other loops read the same lines. A line
    of ten readers is a tenth of a line for each.
    """
    marks = folded.marks.get((workgroup, 0))
    if marks is None:
        return 1.0
    wave = folded.record.waves[workgroup, 0]
    rows = np.flatnonzero((wave.space == GLOBAL) & np.isin(wave.pc[wave.addr_index], loads))
    lines, at = wave.addr[rows, 0] // _LINE, wave.addr_index[rows]
    inside = (at >= marks[WARM]) & (at < marks[-1])
    new = np.setdiff1d(lines[inside], lines[~inside])

    def brought(found: npt.NDArray[np.uint64]) -> float:
        return sum(1 / max(1.0, readers.get(line, 1.0)) for line in found.tolist())

    left_out = folded.left_out[workgroup] * brought(new) / (len(marks) - 1 - WARM)
    return 1.0 + left_out / max(1.0, brought(np.unique(lines)))


def _from_memory(lines: npt.NDArray[np.int64], share: float) -> float:
    """Of lines that miss the L2, in order, the share that the XCD's part of the Infinity Cache does not hold.

    share   of all that the XCD fetches in a round, how much these are
    """
    if not len(lines):
        return 1.0
    held = max(MALL_WAYS, int(share * chip.count("mall_bytes") / chip.XCDS) // LINE)
    return float(cold_misses(lines, held, MALL_WAYS, hashed=True).mean())


def xcds_per_line(folded: Folded, insts: Iterable[Inst], served: Mapping[int, float], first: int) -> float:
    """Misses of all L2s per line that leaves memory: XCDs that fetch a line at about the same time share the MALL's.

    Seen at the `first` workgroup and those after it, one on each XCD, when all are recorded; else 1.
    """
    group = range(first, first + chip.XCDS)
    if any((number, 0) not in folded.record.waves for number in group):
        return 1.0
    loads = load_places(insts)
    readers = Counter(line for number in group for line in np.unique(stream(folded.record, loads, number)[1]).tolist())
    own = np.unique(stream(folded.record, loads, first)[1]).tolist()
    missed = sum(1 / served.get(line, 1.0) for line in own)
    fetched = sum(1 / (served.get(line, 1.0) * readers[line]) for line in own)
    return missed / fetched if fetched else 1.0


def load_places(insts: Iterable[Inst]) -> npt.NDArray[np.int64]:
    return np.array(sorted(inst.pc for inst in insts if spec(inst.op).memory.kind == "load"), dtype=np.int64)


def _first(lines: npt.NDArray[np.int64], resident: int) -> npt.NDArray[np.int64]:
    """Of the fetches of one workgroup those that its own part of the L2 does not answer."""
    share = chip.count("l2_bytes") // LINE // chip.CUS_PER_XCD // resident
    return lines[cold_misses(lines, share, chip.count("l2_ways"), hashed=True)]


def lines_of_all(readers: npt.NDArray[np.int64], executed: int, together: int) -> float:
    """Lines that `together` workgroups fetch, when of `executed` of them `readers[line]` fetch each line.

    The extrapolation of Colwell, Chao et al. (2012) for numbers of species: lines fetched by one and by two say how
    many have not been seen. When no line has two readers, those with one are taken to be private.
    """
    once, twice = int((readers == 1).sum()), int((readers == 2).sum())
    more = together - executed
    if twice == 0:
        return len(readers) + once * more / executed
    if once == 0:
        return float(len(readers))
    unseen = (executed - 1) / executed * once * once / (2 * twice)
    return len(readers) + unseen * (1 - (1 - once / (executed * unseen + once)) ** more)


def stream(
    record: ExecutionRecord, loads: npt.NDArray[np.int64], workgroup: int, resident: int = 1
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Moments (0 to 1 over the workgroup's run) and lines that pass its part of the L1, in order."""
    moments: list[npt.NDArray[np.float64]] = []
    lines: list[npt.NDArray[np.int64]] = []
    wave = 0
    while (taken := record.waves.get((workgroup, wave))) is not None:
        rows = np.flatnonzero((taken.space == GLOBAL) & np.isin(taken.pc[taken.addr_index], loads))
        touched = taken.addr[rows] // _LINE
        touched[taken.addr[rows] == NO_ADDRESS] = NO_ADDRESS
        touched.sort(axis=1)
        new = np.ones(touched.shape, dtype=bool)
        new[:, 1:] = touched[:, 1:] != touched[:, :-1]
        new &= touched != NO_ADDRESS
        at = np.broadcast_to((taken.addr_index[rows] / max(1, len(taken.pc)))[:, None], touched.shape)
        moments.append(at[new])
        lines.append(touched[new].astype(np.int64))
        wave += 1
    if not lines:
        return np.zeros(0), np.zeros(0, np.int64)
    when, what = np.concatenate(moments), np.concatenate(lines)
    order = np.argsort(when, kind="stable")
    passed = cold_misses(what[order], chip.count("l1_bytes") // LINE // resident, chip.count("l1_ways"))
    return when[order][passed], what[order][passed]
