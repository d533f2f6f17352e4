"""Random words: an `Inst` or a `DecodeError`, nothing else, and the same answer every time."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from argus.gfx942.decoder import DecodeError, decode, decode_all
from argus.gfx942.disasm import text
from argus.gfx942.encoding import PREFIX
from argus.gfx942.inst import Inst
from argus.gfx942.instructions import destinations, spec

word = st.integers(0, 2**32 - 1)
leaning = st.builds(
    lambda prefix, bits: prefix | bits & ~0xFC000000 & 0xFFFFFFFF, st.sampled_from(sorted(PREFIX.values())), word
)


def attempt(data: bytes) -> Inst | DecodeError:
    try:
        return decode(data)
    except DecodeError as error:
        return error


@settings(max_examples=3000, derandomize=True, deadline=None)
@given(st.one_of(word, leaning), word)
def test_any_pair_of_words_is_an_instruction_or_a_decode_error(first: int, second: int) -> None:
    data = struct.pack("<II", first, second)
    inst = attempt(data)
    if isinstance(inst, DecodeError):
        assert (inst.pc, inst.words) == (0, (first, second))
        assert f"{first:08x}" in str(inst)
        return
    assert inst.size in (4, 8)
    assert inst.words == struct.unpack(f"<{inst.size // 4}I", data[: inst.size])
    assert decode(data) == inst
    assert text(inst).startswith(inst.op)
    assert 0 <= destinations(inst) <= len(inst.operands)
    assert spec(inst.op).op == inst.op


@settings(max_examples=500, derandomize=True, deadline=None)
@given(st.binary(max_size=64), st.integers(-8, 72))
def test_any_bytes_at_any_offset(data: bytes, pc: int) -> None:
    try:
        inst = decode(data, pc)
    except DecodeError:
        return
    assert pc >= 0
    assert pc + inst.size <= len(data)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(word, max_size=20))
def test_a_stream_decodes_as_its_instructions_one_by_one(words: list[int]) -> None:
    data = struct.pack(f"<{len(words)}I", *words)
    try:
        found = decode_all(data)
    except DecodeError:
        return
    assert found == [decode(data, inst.pc) for inst in found]
    assert sum(inst.size for inst in found) == len(data)
