"""Where a line of global memory is found, how long it takes and how many bytes each level moves, seen from one CU.

    L1   32 KB per CU, 4 sets x 64 ways of 128 B, real LRU over the CU's own accesses, write-through
    L2   4 MB per XCD, shared by 38 CUs. One CU's view: LRU over its own accesses, with the share of the capacity that
         the workgroups touching the same data give it (all when all 38 CUs want the same lines, 1/38 when none does)
    MALL 256 MB: holds whatever was touched before in this launch, or everything when the caches start warm
    HBM  the rest
    scalar cache  16 KB of 64 B lines, in front of the L2

The L2's set number is hashed (assumed): without that, rows of a matrix a power of two apart would share few sets, and
GEMMs of such sizes would run many times slower than they do.

A line on its way is not there yet: whoever asks for it meanwhile waits for the same arrival.

L2 and MALL are servers with the CU's fair share of their bandwidth: a transfer waits for the one before it. Lines that
several workgroups of an XCD fetch at the same time are fetched once; each of them pays the full latency and its part of
the bytes. That number of sharers comes from the record or from the caller, never from a guess: without it, the
bandwidth beyond the L2 is not limited here. HBM bandwidth never is: what must come from memory is a property of the
launch, and its estimate applies that roof. The latency of the level that tensors come from, HBM or with warm caches the
MALL, grows with its load, which the launch knows too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from argus.clock.lru import misses
from argus.clock.parameters import Parameters
from argus.gfx942 import chip

LINE = chip.count("l1_line")
SCALAR_LINE = 64
HASH_SHIFTS = (6, 11)

Level = Literal["l1", "l2", "mall", "hbm"]


class Lru:
    """A set-associative cache of lines with least-recently-used replacement.

    With `hashed` the upper bits of the line number are folded into its set number, so that lines a power of two apart
    spread over all sets.
    """

    def __init__(self, lines: int, ways: int, hashed: bool = False) -> None:
        self.ways = max(1, min(ways, lines))
        self.sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(max(1, lines // self.ways))]
        self.fold, self.again = HASH_SHIFTS if hashed else (64, 64)

    def _set(self, line: int) -> OrderedDict[int, None]:
        return self.sets[(line ^ line >> self.fold ^ line >> self.again) % len(self.sets)]

    def touch(self, line: int) -> bool:
        """True when the line was there; it is afterwards."""
        ways = self._set(line)
        if line in ways:
            ways.move_to_end(line)
            return True
        ways[line] = None
        if len(ways) > self.ways:
            ways.popitem(last=False)
        return False

    def numbers(self, lines: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The set of each line."""
        folded = lines ^ lines >> self.fold ^ lines >> self.again if self.fold < 64 else lines
        return folded % len(self.sets)

    def drop(self, line: int) -> None:
        self._set(line).pop(line, None)


def cold_misses(lines: npt.NDArray[np.int64], capacity: int, ways: int, hashed: bool = False) -> npt.NDArray[np.bool_]:
    """For each line, in order, whether an `Lru` that was empty at first does not hold it."""
    cache = Lru(capacity, ways, hashed)
    return misses(cache.numbers(lines), lines, len(cache.sets), cache.ways)


@dataclass(slots=True)
class Server:
    """A link of `rate` bytes per clock (None: unlimited) that serves one transfer after another."""

    rate: float | None
    free: float = 0.0

    def serve(self, start: float, size: float) -> float:
        if self.rate is None:
            return start
        self.free = max(self.free, start) + size / self.rate
        return self.free


@dataclass(slots=True)
class Traffic:
    """Bytes moved: by where they were found, beyond the L2 divided by the sharers; into the L1; written."""

    read: dict[Level, float] = field(default_factory=lambda: dict.fromkeys(("l1", "l2", "mall", "hbm"), 0.0))
    filled: float = 0.0
    written: float = 0.0


def slowdown(parameters: Parameters, load: float) -> float:
    """Latency of memory at a share of its bandwidth, relative to the idle latency."""
    factor: float = 1.0 + parameters["hbm_load_factor"] * load ** parameters["hbm_load_power"]
    return factor


class MemorySystem:
    """Global memory as one CU sees it."""

    def __init__(
        self,
        parameters: Parameters,
        clock_mhz: float,
        active_cus: int,
        warm: bool,
        sharers: Callable[[int], float] | None,
        typical_sharers: float,
        memory_load: float = 0.0,
    ) -> None:
        per_cu = chip.XCDS / active_cus
        self.l1 = Lru(chip.count("l1_bytes") // LINE, chip.count("l1_ways"))
        share = min(1.0, typical_sharers / chip.CUS_PER_XCD)
        self.l2 = Lru(int(chip.count("l2_bytes") // LINE * share), chip.count("l2_ways"), hashed=True)
        self.warm = warm
        self.seen: set[int] = set()
        self.sharers = sharers
        self.fill = Server(min(parameters["cu_fill"], parameters["l2_share"] * per_cu))
        self.write_path = Server(min(float(chip.fact("cu_l2_write").value), parameters["cu_fill"]))
        mall_rate = parameters["mall_bandwidth"] * 1e3 / (clock_mhz * active_cus)
        self.mall = Server(mall_rate if sharers is not None else None)
        loaded = slowdown(parameters, memory_load)
        self.latency: dict[Level, float] = {
            "l1": parameters["l1_latency"],
            "l2": parameters["l2_latency"],
            "mall": parameters["mall_latency_ns"] * clock_mhz * 1e-3 * (loaded if warm else 1.0),
            "hbm": parameters["hbm_latency_ns"] * clock_mhz * 1e-3 * loaded,
        }
        self.scalar_latency = parameters["smem_latency"]
        self.scalar_cache = Lru(chip.count("scalar_cache_bytes") // SCALAR_LINE, 4)
        self.arrival: dict[int, float] = {}
        self.traffic = Traffic()

    def read(self, lines: Sequence[int], start: float) -> float:
        """Time when all lines of an access that enters the L1 at `start` have arrived."""
        done = start + self.latency["l1"]
        for line in lines:
            if self.l1.touch(line):
                self.traffic.read["l1"] += LINE
                done = max(done, self.arrival.get(line, 0.0))
            else:
                done = max(done, self._fetch(line, start))
        return done

    def _fetch(self, line: int, start: float) -> float:
        arrived = self.fill.serve(start, LINE)
        self.traffic.filled += LINE
        if self.l2.touch(line):
            level: Level = "l2"
            self.traffic.read["l2"] += LINE
        else:
            size = LINE / (self.sharers(line) if self.sharers else 1.0)
            level = "mall" if self.warm or line in self.seen else "hbm"
            self.seen.add(line)
            arrived = max(arrived, self.mall.serve(start, size))
            self.traffic.read[level] += size
        self.arrival[line] = max(arrived + self.latency[level], self.arrival.get(line, 0.0))
        return self.arrival[line]

    def scalar(self, lines: Sequence[int], start: float) -> float:
        """Time when a scalar load is back: from the scalar cache or through the L2."""
        done = start + self.scalar_latency
        for line in lines:
            wide = line * SCALAR_LINE // LINE
            if self.scalar_cache.touch(line):
                done = max(done, self.arrival.get(wide, 0.0))
            else:
                done = max(done, self._fetch(wide, start))
        return done

    def write(self, lines: Sequence[int], size: int, start: float) -> float:
        """Time when a store is acknowledged: by the L2, which holds the lines afterwards."""
        for line in lines:
            self.l1.drop(line)
            self.l2.touch(line)
            self.seen.add(line)
        self.traffic.written += size
        return self.write_path.serve(start, size) + self.latency["l2"]
