"""Which exchange of the kernel an exchange of the object is: the same map of lanes, of data with the same sources.

    v_add_f32_dpp v1, v1, v1 quad_perm:[1,0,3,2]     reads lane ^ 1 of what op 12 is made from
    %14 = lanes %13 from lane ^ 1                    moves lane ^ 1 of what op 12 is made from: its pair

An exchange is a source of its own on both sides, as a matrix instruction is. So a sum over the lanes after a maximum
over them is told from the maximum, though both are made from all elements; and one that is left out, done twice or done
by another map is missing or foreign in what is made from it. Any pairing in which every pair has equal maps and equal
sources, by the names that the pairing itself gives, will do: the line table only says which to try first.

An exchange without a pair stays a source that the kernel does not have, unless it moves nothing that is followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from argus.compile.object.byte_moves import ALL, keys
from argus.compile.object.data_flow import DataFlow
from argus.compile.object.data_sources import DWORD, DataSources, Sources, element_bytes, union
from argus.compile.object.kernel_exchanges import KernelExchange
from argus.compile.object.lane_moves import LaneMove
from argus.machine.symbolic.sums import WordSum


@dataclass(frozen=True, slots=True)
class MovedRegister:
    """Register `dword` of what an exchange of the kernel moves, by the map `lanes`."""

    exchange: KernelExchange
    dword: int
    lanes: WordSum


def moved_registers(exchanges: Iterable[KernelExchange], maps: Mapping[int, WordSum]) -> list[MovedRegister]:
    """Of the exchanges whose map is known."""
    return [
        MovedRegister(one, dword, maps[one.op])
        for one in exchanges
        if one.op in maps
        for dword in range(-(-_size(one) // DWORD))
    ]


def _size(one: KernelExchange) -> int:
    return one.moved.count * element_bytes(one.moved)


class ExchangePairs:
    """`prefers(n, op)`: instruction n is likely made for the op; `same`: two maps are equal."""

    def __init__(
        self,
        moves: dict[int, LaneMove],
        registers: list[MovedRegister],
        least: DataSources,
        most: DataSources,
        flow: DataFlow,
        prefers: Callable[[int, KernelExchange], bool],
        same: Callable[[WordSum, WordSum], bool],
    ) -> None:
        self.least, self.most, self.same, self.prefers = least, most, same, prefers
        self.registers, self.lanes = registers, {n: move.lanes for n, move in moves.items()}
        self.inputs = {n: _inputs(flow, n, move) for n, move in moves.items()}
        self.own = {least.names.moved(n, byte): (n, byte) for n in moves for byte in ALL}
        self.every = union(self.own)
        self.pair_of: dict[int, MovedRegister] = {}
        self.idle: set[int] = set()
        """Exchanges without a pair that move nothing that is followed."""
        self._pair_all(sorted(moves))

    def translated(self, sources: Sources) -> Sources:
        """By the names of the kernel."""
        left = sources & self.every
        found = sources ^ left
        while left:
            bit = left & -left
            left ^= bit
            n, byte = self.own[bit]
            pair = self.pair_of.get(n)
            if pair is not None:
                at = min(DWORD * pair.dword + byte, _size(pair.exchange) - 1)
                found |= self.least.own(pair.exchange.op, pair.exchange.result, at)
            elif n not in self.idle:
                found |= bit
        return found

    def wrong(self) -> list[int]:
        """Paired exchanges whose data, with all pairs known, is made from something else."""
        return [n for n, pair in self.pair_of.items() if not self._fits(n, pair, known=True)]

    def _pair_all(self, waiting: list[int]) -> None:
        """In order; those of loops that wait for each other: the first one by what is known of it."""
        while waiting:
            done = [n for n in waiting if self._paired(n, known=True)]
            if not done:
                first = next((n for n in waiting if self._paired(n, known=False)), None)
                if first is None:
                    return
                done = [first]
            waiting = [n for n in waiting if n not in done]

    def _paired(self, n: int, known: bool) -> bool:
        fitting = [one for one in self._candidates(n) if self._fits(n, one, known)]
        if fitting:
            taken = set(self.pair_of.values())
            self.pair_of[n] = min(fitting, key=lambda one: (not self.prefers(n, one.exchange), one in taken))
        elif known and not any(self.translated(one) for one in self.inputs[n]):
            self.idle.add(n)
        return n in self.pair_of or n in self.idle

    def _candidates(self, n: int) -> list[MovedRegister]:
        lanes = self.lanes[n]
        if lanes is None:
            return []
        found = [one for one in self.registers if one.lanes is lanes]
        return found or [one for one in self.registers if self.same(one.lanes, lanes)]

    def _fits(self, n: int, one: MovedRegister, known: bool) -> bool:
        """The data of the instruction is made from what the register is made from. If not everything is `known`,
        sources without a name may be anything."""
        value, start = one.exchange.moved, DWORD * one.dword
        each = min(DWORD, element_bytes(value))
        for at in range(0, min(DWORD, _size(one.exchange) - start), each):
            have = self.translated(union(self.inputs[n][at : at + each]))
            open_ = 0 if known else have & self.every
            if have & ~open_ & ~self.most.of_bytes(value, start + at, each):
                return False
            if not open_ and self.least.of_bytes(value, start + at, each) & ~have:
                return False
        return True


def _inputs(flow: DataFlow, n: int, move: LaneMove) -> list[Sources]:
    """What each byte of the moved register is made from."""
    register = keys(move.operand)[:1]
    return [flow.sources(register[0], byte, n)[0] if register else 0 for byte in ALL]
