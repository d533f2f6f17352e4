"""Exchanges between lanes in objects: with another map, another register, or left out, the object is no longer shown.

Objects of kernels that only move data, and of two with sums over lanes, are changed one instruction at a time. The
truth is the checking interpreter: a change that alters results must be seen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from argus.compile import Compiled, compile_kernel
from argus.compile.decoded import Decoded, decode
from argus.compile.matching import attribute
from argus.compile.recheck import recheck
from argus.gfx942.inst import Inst
from bench.object_bit_flips import EVERY, moves
from bench.object_fault_cases import EXCHANGES
from bench.object_faults import S_NOP, Fault, Words, behavior, changed, decodes, seen

CASES = {case.name: case for case in EVERY}
SUMS = ("softmax", "rowreduce")


@cache
def built(name: str) -> tuple[Compiled, Decoded]:
    compiled = compile_kernel(CASES[name].program())
    return compiled, decode(compiled.object, compiled.name)


def exchanges(code: Decoded) -> list[int]:
    """Instructions that read other lanes of a vector register."""
    return [n for n, inst in enumerate(code.insts) if n >= code.entry and moves(inst) is not None]


def wrong_words(inst: Inst) -> Iterator[tuple[str, Words]]:
    """The instruction with another map of lanes, other registers, or not at all."""
    first, second = inst.words
    if inst.enc == "dpp":
        yield "pattern", (first, second ^ 1 << 8)
        yield "pattern", (first, second ^ 1 << 11)
        yield "bank mask", (first, second ^ 1 << 24)
        yield "row mask", (first, second ^ 1 << 31)
        yield "destination", (first ^ 1 << 18, second)
    elif inst.op.startswith("ds_"):
        for bit in (2, 6, 10) if inst.op == "ds_swizzle_b32" else (2, 4, 7):
            yield "pattern or offset", (first ^ 1 << bit, second)
        yield "address or data register", (first, second ^ 1)
        yield "address or data register", (first, second ^ 2)
        yield "destination", (first, second ^ 1 << 24)
    yield "left out", (S_NOP, S_NOP)


def faults(name: str) -> Iterator[tuple[str, Compiled]]:
    compiled, code = built(name)
    made_by = attribute(code, [(pc, op) for pc, op in compiled.sidecar["pcs"]])
    for n in exchanges(code):
        if len(code.insts[n].words) != 2:
            continue
        for what, words in wrong_words(code.insts[n]):
            count = 2 if words[0] == S_NOP else 1
            if count == 1 and not decodes(words):
                continue
            yield what, changed(compiled, code, Fault(what, n, 1, words, (made_by[n],) * count))


@pytest.mark.parametrize("name", [case.name for case in EXCHANGES])
def test_another_exchange_is_not_shown(name: str) -> None:
    program, (compiled, _) = CASES[name].program(), built(name)
    assert not recheck(program, compiled).lines
    right = behavior(CASES[name], compiled)
    altering = [(what, wrong) for what, wrong in faults(name) if behavior(CASES[name], wrong) != right]
    missed = [what for what, wrong in altering if not seen(program, wrong)]
    assert not missed
    assert len(altering) >= 5
    assert "left out" in [what for what, _ in altering]


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_over_lanes_with_another_step_is_not_shown(name: str) -> None:
    """Though what is summed is made from every element already, as after the maximum of a softmax."""
    program, (compiled, code) = CASES[name].program(), built(name)
    assert not recheck(program, compiled).lines
    assert len(exchanges(code)) >= 6
    right = behavior(CASES[name], compiled)
    missed = [
        what for what, wrong in faults(name) if not seen(program, wrong) and behavior(CASES[name], wrong) != right
    ]
    assert not missed
