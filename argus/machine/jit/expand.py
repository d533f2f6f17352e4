"""From traced words to the execution record.

    recorder = ThreadRecorder(Layouts(blocks))
    recorder.add(workgroup, words, ended)     as they come, in order per workgroup
    recorder.waves                            -> {(workgroup, wave): WaveRecord}

`blocks` are the entry layouts noted at translation (`tracing.BlockTrace.close`). A workgroup's words are expanded when
it ends, straight from the thread's buffer; only words of a workgroup that goes on are copied. They are cut into entries
(the only Python loop, one step per executed block); everything else is NumPy indexing per wave. Accesses in which no
lane took part leave no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.machine.record import NO_ADDRESS, SCALAR, WaveRecord

Words = NDArray[np.int64]
LANES = 64


class ThreadRecorder:
    """The records of one thread's workgroups."""

    def __init__(self, layouts: Layouts) -> None:
        self.waves: dict[tuple[int, int], WaveRecord] = {}
        self._layouts = layouts
        self._unfinished: dict[int, list[Words]] = {}

    def add(self, workgroup: int, words: Words, ended: bool) -> None:
        """Take the words a workgroup has written since the last time."""
        earlier = self._unfinished.pop(workgroup, [])
        if not ended:
            self._unfinished[workgroup] = [*earlier, words.copy()]
            return
        if earlier:
            words = np.concatenate([*earlier, words])
        starts, numbers, waves = _cut(words, self._layouts.words)
        for wave in np.unique(waves):
            own = waves == wave
            self.waves[workgroup, int(wave)] = self._layouts.expand(words, starts[own], numbers[own])


def _cut(words: Words, sizes: list[int]) -> tuple[Words, Words, Words]:
    """Where each entry starts, its block number and its wave."""
    starts: list[int] = []
    headers: list[int] = []
    at, end = 0, len(words)
    item = words.item
    while at < end:
        header = item(at)
        starts.append(at)
        headers.append(header)
        at += sizes[header >> 32]
    all_headers = np.array(headers, np.int64)
    return np.array(starts, np.int64), all_headers >> 32, all_headers & 0xFFFFFFFF


class Layouts:
    """Entry layouts of a kernel's blocks, as flat arrays."""

    def __init__(self, blocks: Sequence[dict[str, Any]]) -> None:
        self.words: list[int] = [block["words"] for block in blocks]
        self.lengths = np.array([len(block["pcs"]) for block in blocks], np.int64)
        self.first = np.concatenate([[0], np.cumsum(self.lengths)])[:-1].astype(np.int64)
        self.pcs = np.array([pc for block in blocks for pc in block["pcs"]], np.int32)
        self.exec = np.array([word for block in blocks for word in block["exec"]], np.int64)
        accesses = [access for block in blocks for access in block["accesses"]]
        self.accesses = np.array(accesses, np.int64).reshape(-1, 4)
        self.access_counts = np.array([len(block["accesses"]) for block in blocks], np.int64)
        self.access_first = np.concatenate([[0], np.cumsum(self.access_counts)])[:-1].astype(np.int64)
        self.barrier = np.array([block["barrier"] for block in blocks], np.bool_)

    def expand(self, words: Words, starts: Words, numbers: Words) -> WaveRecord:
        """One wave's entries to its record."""
        lengths = self.lengths[numbers]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        flat = _ramps(lengths) + np.repeat(self.first[numbers], lengths)
        exec_ = words[np.repeat(starts, lengths) + self.exec[flat]].view(np.uint64)
        counts = self.access_counts[numbers]
        chosen = _ramps(counts) + np.repeat(self.access_first[numbers], counts)
        table = self.accesses[chosen]
        word = np.repeat(starts, counts) + table[:, 1]
        index = np.repeat(offsets[:-1], counts) + table[:, 0]
        scalar = table[:, 3] == SCALAR
        took_part = scalar | (words[word] != 0)
        if not took_part.all():
            table, word, index, scalar = table[took_part], word[took_part], index[took_part], scalar[took_part]
        ends = offsets[1:][self.barrier[numbers]] - 1
        return WaveRecord(
            pc=self.pcs[flat],
            exec=exec_,
            addr=_addresses(words, word, scalar),
            addr_index=index.astype(np.int32),
            bytes=table[:, 2].astype(np.int32),
            space=table[:, 3].astype(np.uint8),
            barriers=ends.astype(np.int32),
        )


def _ramps(lengths: Words) -> Words:
    """0..n-1 for each n, one after another."""
    total = int(lengths.sum())
    starts = np.cumsum(lengths) - lengths
    return np.arange(total, dtype=np.int64) - np.repeat(starts, lengths)


def _addresses(words: Words, at: Words, scalar: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Rows of 64 addresses: copied as they are, then corrected where lanes take no part."""
    if len(words) < LANES:
        words = np.concatenate([words, np.zeros(LANES, np.int64)])
    rows = np.lib.stride_tricks.as_strided(words, (len(words) - LANES + 1, LANES), (8, 8), writeable=False)
    first = np.minimum(at + np.where(scalar, 0, 1), len(rows) - 1)
    addresses: NDArray[np.uint64] = rows[first].view(np.uint64)
    partial = np.nonzero(scalar | (words[at] != -1))[0]
    if len(partial):
        only = scalar[partial]
        masks = np.where(only, 1, words[at[partial]]).view(np.uint64)
        bits = (masks[:, None] >> np.arange(LANES, dtype=np.uint64)) & np.uint64(1)
        fixed = np.where(bits.astype(np.bool_), addresses[partial], NO_ADDRESS)
        fixed[only, 0] = words[at[partial[only]]].view(np.uint64)
        addresses[partial] = fixed
    return addresses
