"""Loops of an object that turn as often as loaded data say, found in its machine code.

    data_loops(decode_all(text, start, end))      (0x1a4,)    the branches that leave such loops

A timing executes a sample with the data it was given. A loop whose bound is a kernel argument turns as on a chip; one
whose bound was loaded through a pointer (tokens of an expert, lengths of sequences) turns as these data say. Who reads
the time has to know.

Every register has a level, by a forward data flow over the instructions: nothing, an argument (loaded from the
argument segment), or data (loaded through an argument, or by a vector load). An instruction hands the highest level it
reads to what it writes. LDS and scratch memory have one level each, that of all that is written there. A branch counts
if what it tests is data and it alone of its two ways leads back to itself: both ways inside a loop are an `if`.

What it cannot do: control flow hands on nothing (a counter increased where data say so is no data), and lanes that an
instruction does not write keep no level. So a loop may be missed; what is named depends on data, or on a register
that held some in another lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from argus.clock.launch import Launch
from argus.gfx942.hazards import registers
from argus.gfx942.inst import EXEC, Inst
from argus.gfx942.instructions import spec, writes_lds

NOTHING, ARGUMENT, DATA = 0, 1, 2
SCALAR = 2048
"""Added to the number of a scalar register: vector registers have the keys below."""
LDS, SCRATCH = 4096, 4097
EXEC_PAIR = frozenset({SCALAR + EXEC, SCALAR + EXEC + 1})
ENDS = frozenset({"s_endpgm", "s_endpgm_saved", "s_trap", "s_setpc_b64", "s_branch"})

Levels = dict[int, int]


@dataclass(slots=True)
class FlowBlock:
    """Instructions entered at the first and left at the last one only, and the blocks behind them."""

    insts: Sequence[Inst]
    after: tuple[int, ...] = ()
    before: Levels = field(default_factory=dict)
    """Levels in front of the first instruction, joined over all ways to it."""


def data_loops(insts: Sequence[Inst]) -> tuple[int, ...]:
    """Program counters of the branches on data that leave a loop, in order."""
    blocks = _blocks(insts)
    leaving = [
        index
        for index, block in enumerate(blocks)
        if len(block.after) == 2 and sum(_reaches(way, index, blocks) for way in block.after) == 1
    ]
    if not leaving:
        return ()
    stored = _flow(blocks)
    return tuple(blocks[index].insts[-1].pc for index in leaving if _on_data(blocks[index], stored))


def with_data_loops(launch: Launch, insts: Sequence[Inst]) -> Launch:
    """The launch with a note for who reads its time, if a loop counts on data."""
    found = data_loops(insts)
    if not found:
        return launch
    places = ", ".join(f"{pc:#x}" for pc in found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
    note = f"loops turn as often as loaded data say (left at {places}): the time holds for the data given or drawn"
    return replace(launch, notes=(*launch.notes, note))


def _blocks(insts: Sequence[Inst]) -> list[FlowBlock]:
    at = {inst.pc: index for index, inst in enumerate(insts)}
    targets = {at[inst.target] for inst in insts if inst.target in at}
    behind = {index + 1 for index, inst in enumerate(insts) if inst.target is not None or inst.op in ENDS}
    starts = sorted({0, *targets, *behind} & set(range(len(insts))))
    number = {start: index for index, start in enumerate(starts)}
    blocks = [FlowBlock(insts[start:end]) for start, end in pairwise([*starts, len(insts)])]
    for index, block in enumerate(blocks):
        last = block.insts[-1]
        ways = [number[at[last.target]]] if last.target in at else []
        if last.op not in ENDS and index + 1 < len(blocks):
            ways.append(index + 1)
        block.after = tuple(dict.fromkeys(ways))
    return blocks


def _reaches(start: int, goal: int, blocks: list[FlowBlock]) -> bool:
    seen, work = set[int](), [start]
    while work:
        index = work.pop()
        if index == goal:
            return True
        if index not in seen:
            seen.add(index)
            work += blocks[index].after
    return False


def _flow(blocks: list[FlowBlock]) -> Levels:
    """Finds the levels before every block that is reached; returns those of LDS and scratch."""
    stored: Levels = {}
    seen: set[int] = set()
    work = [0]
    while work:
        index = work.pop()
        held = dict(stored)
        levels = _through(blocks[index], stored)
        if stored != held:
            work = sorted(seen)
        seen.add(index)
        for way in blocks[index].after:
            known = blocks[way].before
            higher = {key: level for key, level in levels.items() if known.get(key, NOTHING) < level}
            known.update(higher)
            if higher or way not in seen:
                work.append(way)
    return stored


def _on_data(block: FlowBlock, stored: Levels) -> bool:
    """Whether its last instruction, a branch, tests data."""
    levels = _through(block, stored)
    return any(levels.get(key, NOTHING) == DATA for key in _reads(block.insts[-1]))


def _through(block: FlowBlock, stored: Levels) -> Levels:
    """Levels behind the block; raises those of LDS and scratch where it writes there."""
    levels = dict(block.before)
    for inst in block.insts:
        memory, found = spec(inst.op).memory, registers(inst)
        level = max((levels.get(key, NOTHING) for key in _reads(inst)), default=NOTHING)
        place = SCRATCH if memory.space == "scratch" else LDS
        if memory.kind == "store" and memory.space in ("lds", "scratch"):
            stored[place] = max(stored.get(place, NOTHING), level)
        elif writes_lds(inst):
            stored[LDS] = DATA
        if memory.kind in ("load", "atomic"):
            if spec(inst.op).cls == "smem":
                level = ARGUMENT if level == NOTHING else DATA
            elif memory.space in ("lds", "scratch"):
                level = max(level, stored.get(place, NOTHING))
            else:
                level = DATA
        levels.update(dict.fromkeys(found.writes, level))
        levels.update((SCALAR + number, level) for number in found.scalar_writes)
    return levels


def _reads(inst: Inst) -> frozenset[int]:
    """Keys of what decides the result: not exec for vector instructions, nor where saved lanes come back."""
    found = registers(inst)
    scalars = frozenset(SCALAR + number for number in found.scalar_reads)
    comes_back = inst.op == "s_or_b64" and {SCALAR + number for number in found.scalar_writes} >= EXEC_PAIR
    if comes_back or not inst.op.startswith("s_"):
        scalars -= EXEC_PAIR
    return found.reads | scalars
