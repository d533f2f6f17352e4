"""Moving data between registers of a thread (`Registers`, `Bitcast`) and between lanes of a wave (`Lanes`).

Registers: each 32-bit register of the result takes its bytes from one or more source registers. One source in place
costs nothing, two sources are one `v_perm_b32`, more are a chain of them. Transposes of 16- and 8-bit data come out
as the hand-written permutes.

Lanes: the exchange is known lane by lane, so the cheapest instruction that performs *exactly* this map is looked up:

    DPP        quad permutations, rotations, mirrors and broadcasts inside a row of 16       0 extra latency
    ds_swizzle and/or/xor of the lane number inside 32 lanes                                  LDS crossbar, no address
    readlane   every lane reads the same one                                                  result in a scalar
    ds_bpermute anything else                                                                 LDS crossbar, address
"""

from __future__ import annotations

import itertools

import numpy as np

from argus.compile.context import EmitContext, held_type, registers
from argus.ir.ops import Bitcast, Lanes, Registers
from argus.layout import expr as E
from argus.layout.expr import Expr

WAVE, ROW = 64, 16


def emit_bitcast(c: EmitContext, op: Bitcast) -> None:
    if op.value.count * op.value.dtype.bits != op.result.count * op.result.dtype.bits:
        raise c.fail("C101", f"{op.value.type} and {op.result.type} do not have the same number of bits")
    c.set(op.result, c.cast(c.get(op.value), held_type(op.value), held_type(op.result)))


def emit_registers(c: EmitContext, op: Registers) -> None:
    dtype = op.result.dtype
    if dtype.kind == "bool" or dtype.bits >= 32:
        c.set(op.result, _whole_elements(c, op))
        return
    size = dtype.bytes
    whole = _whole_registers(op, 4 // size)
    if whole is not None:
        source, picks = op.args[whole[0]], whole[1]
        count = registers(source)
        text = c.get(source) if picks == list(range(count)) else c.shuffle("i32", count, c.get(source), picks)
        c.set(op.result, text)
        return
    sources: dict[tuple[int, int], str] = {}
    words: list[str] = []
    per_word = 4 // size
    for start in range(0, len(op.pick), per_word):
        chosen: list[tuple[tuple[int, int], int] | None] = []
        for arg, element in op.pick[start : start + per_word]:
            first = element * size
            chosen += [((arg, first // 4), (first + b) % 4) for b in range(size)]
        chosen += [None] * (4 - len(chosen))
        for item in chosen:
            if item is not None and item[0] not in sources:
                sources |= {(item[0][0], n): text for n, text in enumerate(c.dwords(op.args[item[0][0]]))}
        words.append(_gather(c, chosen, sources))
    c.set(op.result, c.from_dwords(words, op.result))


def _whole_registers(op: Registers, per_word: int) -> tuple[int, list[int]] | None:
    """(argument, registers of it) when the result is made of whole registers of one argument with several."""
    arg = op.pick[0][0]
    words: list[int] = []
    for start in range(0, len(op.pick), per_word):
        first = op.pick[start][1]
        wanted = [(arg, first + n) for n in range(len(op.pick[start : start + per_word]))]
        if first % per_word or list(op.pick[start : start + per_word]) != wanted:
            return None
        words.append(first // per_word)
    return (arg, words) if registers(op.args[arg]) > 1 else None


def _whole_elements(c: EmitContext, op: Registers) -> str:
    element = op.result.dtype.llvm
    used = sorted({arg for arg, _ in op.pick})
    if len(used) == 1 and op.args[used[0]].count > 1:
        value = op.args[used[0]]
        picks = [n for _, n in op.pick]
        if picks == list(range(value.count)):
            return c.get(value)
        return c.shuffle(element, value.count, c.get(value), picks)
    parts = {n: c.elements(c.get(op.args[n]), element, op.args[n].count) for n in used}
    return c.build([parts[arg][n] for arg, n in op.pick], element)


def _gather(
    c: EmitContext, chosen: list[tuple[tuple[int, int], int] | None], sources: dict[tuple[int, int], str]
) -> str:
    """A register of four chosen bytes (register, byte); None leaves a byte undefined."""
    if all(item is None or item[1] == position for position, item in enumerate(chosen)):
        names = {item[0] for item in chosen if item is not None}
        if len(names) == 1:
            return sources[names.pop()]
    first = next(item[0] for item in chosen if item is not None)
    text = sources[first]
    done = {p: item[1] for p, item in enumerate(chosen) if item is not None and item[0] == first}
    pending = [p for p, item in enumerate(chosen) if item is not None and item[0] != first]
    if not pending:
        return _perm(c, text, text, [done.get(p, p) for p in range(4)])
    while pending:
        other = chosen[pending[0]]
        assert other is not None
        name = other[0]
        selector = [done.get(p, p) for p in range(4)]
        for p in pending:
            item = chosen[p]
            if item is not None and item[0] == name:
                selector[p] = 4 + item[1]
        text = _perm(c, sources[name], text, selector)
        pending = [p for p in pending if (item := chosen[p]) is not None and item[0] != name]
        done = {p: p for p in range(4) if p not in pending}
    return text


def _perm(c: EmitContext, high: str, low: str, selector: list[int]) -> str:
    """Bytes 0-3 of the selector name bytes of `low`, 4-7 bytes of `high`."""
    code = sum(s << 8 * p for p, s in enumerate(selector))
    return c.function.call("i32", "llvm.amdgcn.perm", f"i32 {high}", f"i32 {low}", f"i32 {code}")


def emit_lanes(c: EmitContext, op: Lanes) -> None:
    table = lane_map(c, op.source)
    if op.value.dtype.kind == "bool":
        raise c.fail("C101", "a mask cannot be exchanged between lanes; convert it to a number first")
    words = [_exchange(c, word, op.source, table) for word in c.dwords(op.value)]
    c.set(op.result, c.from_dwords(words, op.result))


def lane_map(c: EmitContext, source: Expr) -> tuple[int, ...] | None:
    """The source lane of each lane, if it depends on nothing but the lane."""
    if any(v.name != "lane" for v in source.free()):
        return None
    lanes = np.broadcast_to(np.asarray(E.evaluate(source, {"lane": np.arange(WAVE)})), (WAVE,))
    table = tuple(int(lane) for lane in lanes)
    outside = [(lane, s) for lane, s in enumerate(table) if not 0 <= s < WAVE]
    if outside:
        raise c.fail("C140", f"lane {outside[0][0]} would read lane {outside[0][1]}; a wave has lanes 0 to 63")
    return table


def _exchange(c: EmitContext, word: str, source: Expr, table: tuple[int, ...] | None) -> str:
    if table == tuple(range(WAVE)):
        return word
    if table is not None:
        if len(set(table)) == 1:
            return c.function.call("i32", "llvm.amdgcn.readlane.i32", f"i32 {word}", f"i32 {table[0]}")
        control = DPP.get(table)
        if control is not None:
            return c.function.call(
                "i32",
                "llvm.amdgcn.update.dpp.i32",
                "i32 poison",
                f"i32 {word}",
                f"i32 {control}",
                "i32 15",
                "i32 15",
                "i1 true",
            )
        pattern = swizzle(table)
        if pattern is not None:
            return c.function.call("i32", "llvm.amdgcn.ds.swizzle", f"i32 {word}", f"i32 {pattern}")
    address = c.indices.value(source * 4)
    return c.function.call("i32", "llvm.amdgcn.ds.bpermute", f"i32 {address}", f"i32 {word}")


def _dpp_table() -> dict[tuple[int, ...], int]:
    """Lane map -> DPP control, for the controls that are defined for every lane."""

    def in_rows(f: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(lane // len(f) * len(f) + f[lane % len(f)] for lane in range(WAVE))

    table: dict[tuple[int, ...], int] = {}
    for quad in itertools.product(range(4), repeat=4):
        table[in_rows(quad)] = sum(s << 2 * p for p, s in enumerate(quad))
    for n in range(1, ROW):
        table.setdefault(in_rows(tuple((p - n) % ROW for p in range(ROW))), 0x120 + n)
    table.setdefault(in_rows(tuple(reversed(range(ROW)))), 0x140)
    table.setdefault(in_rows(tuple(reversed(range(8)))), 0x141)
    for n in range(ROW):
        table.setdefault(in_rows((n,) * ROW), 0x150 + n)
    return table


DPP = _dpp_table()


def swizzle(table: tuple[int, ...]) -> int | None:
    """The ds_swizzle pattern of a lane map of the form ((lane & and) | or) ^ xor inside 32 lanes, if it is one."""
    keep = flip = 0
    for bit in range(5):
        ends = {(table[lane] ^ table[lane ^ 1 << bit]) for lane in range(WAVE)}
        if ends == {1 << bit}:
            keep |= 1 << bit
        elif ends != {0}:
            return None
    flip = table[0] & 31
    or_mask, xor_mask = flip & ~keep, flip & keep
    made = tuple((lane & 32) + ((((lane & 31) & keep) | or_mask) ^ xor_mask) for lane in range(WAVE))
    return keep | or_mask << 5 | xor_mask << 10 if made == table else None
