"""Decoding without any tool: LLVM's answers for every opcode are kept in `decoder_samples.txt`."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest

from argus.gfx942.decoder import DecodeError, decode, decode_all
from argus.gfx942.disasm import text
from argus.gfx942.encoding import table
from argus.gfx942.inst import EXEC, VCC, InstOperand

SAMPLES = Path(__file__).with_name("decoder_samples.txt")


def words_of(line: str) -> tuple[bytes, str]:
    words, _, expected = line.partition(" | ")
    numbers = [int(word, 16) for word in words.split()]
    return struct.pack(f"<{len(numbers)}I", *numbers), expected


def code(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


def test_every_sample_decodes_to_the_text_of_llvm() -> None:
    wrong = []
    for line in SAMPLES.read_text(encoding="utf-8").splitlines():
        data, expected = words_of(line)
        inst = decode(data)
        if text(inst) != expected or inst.size != len(data):
            wrong.append((line, text(inst)))
    assert wrong == []


def test_samples_cover_every_row_of_the_table() -> None:
    seen = {words_of(line)[1].split(" ")[0] for line in SAMPLES.read_text(encoding="utf-8").splitlines()}
    assert {row.mnemonic for rows in table().values() for row in rows.values()} == seen


def test_matrix_instruction_keeps_accumulator_bits() -> None:
    inst = decode(code(0xD3E08000, 0x04020902))
    assert text(inst) == "v_mfma_f32_32x32x8_bf16 a[0:15], v[2:3], v[4:5], a[0:15]"
    assert inst.op == "v_mfma_f32_32x32x8_bf16"
    assert inst.operands == (
        InstOperand("a", 0, 16),
        InstOperand("v", 2, 2),
        InstOperand("v", 4, 2),
        InstOperand("a", 0, 16),
    )
    assert dict(inst.mods) == {}


def test_buffer_load_has_address_and_modifiers() -> None:
    inst = decode(code(0xE05C1010, 0x80010801))
    assert text(inst) == "buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen offset:16"
    assert inst.operands == (InstOperand("v", 8, 4), InstOperand("v", 1), InstOperand("s", 4, 4), InstOperand("imm", 0))
    assert dict(inst.mods) == {"offen": True, "offset": 16}


def test_buffer_load_to_lds_has_no_data_register() -> None:
    inst = decode(code(0xE0511000, 0x80010001))
    assert text(inst) == "buffer_load_dword v1, s[4:7], 0 offen lds"
    assert inst.mods["lds"] is True
    assert len(inst.operands) == 3


def test_packed_math_shows_only_modifiers_that_differ_from_the_default() -> None:
    plain = decode(code(0xD3B24002, 0x18020900))
    assert dict(plain.mods) == {}
    swapped = decode(code(0xD3B20002, 0x00020900))
    assert swapped.mods["op_sel_hi"] == (0, 0)


def test_wait_is_one_raw_immediate() -> None:
    inst = decode(code(0xBF8C0F70))
    assert text(inst) == "s_waitcnt vmcnt(0)"
    assert inst.operands == (InstOperand("imm", 0x0F70),)


@pytest.mark.parametrize(("word", "target"), [(0xBF820003, 0x20), (0xBF85FFFF, 0x10), (0xBF88FFFB, 0x0)])
def test_branch_targets_are_offsets_of_the_section(word: int, target: int) -> None:
    inst = decode(code(*[0xBF800000] * 4, word, 0xBF810000), 16)
    assert inst.pc == 16
    assert inst.target == target


def test_literal_takes_a_second_word_only_where_it_is_used() -> None:
    with_literal, without = decode(code(0x7E0002FF, 0x12345678)), decode(code(0x7E000280, 0x12345678))
    assert (with_literal.size, with_literal.operands[1]) == (8, InstOperand("lit", 0x12345678))
    assert (without.size, without.operands[1]) == (4, InstOperand("imm", 0))


def test_scalar_registers_share_one_numbering() -> None:
    save = decode(code(0xBE8020 << 8 | 0x6A))
    assert text(save) == "s_and_saveexec_b64 s[0:1], vcc"
    assert save.operands[1] == InstOperand("s", VCC, 2)
    move = decode(code(0xBEFE01C1))
    assert text(move) == "s_mov_b64 exec, -1"
    assert move.operands[0] == InstOperand("s", EXEC, 2)


def test_source_modifiers_are_in_the_operands() -> None:
    inst = decode(code(0xD1CB0100, 0x44060501))
    assert text(inst) == "v_fma_f32 v0, |v1|, -v2, v1"
    assert [(o.neg, o.abs) for o in inst.operands] == [(False, False), (False, True), (True, False), (False, False)]


def test_returning_atomic_has_a_destination() -> None:
    silent, returning = decode(code(0xDD088000, 0x007F0200)), decode(code(0xDD098000, 0x057F0200))
    assert text(silent) == "global_atomic_add v[0:1], v2, off"
    assert text(returning) == "global_atomic_add v5, v[0:1], v2, off sc0"


def test_lane_pattern_and_masks() -> None:
    inst = decode(code(0x7E0202FA, 0xFF0142FF))
    assert text(inst) == "v_mov_b32_dpp v1, v255 row_bcast:15 row_mask:0xf bank_mask:0xf"
    assert dict(inst.mods) == {"row_bcast": 15, "row_mask": 15, "bank_mask": 15}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((0xFC000000, 0), "no instruction family"),
        ((0xBE80FF00,), "no opcode 255"),
        ((0xD1CB0000,), "the code ends inside the instruction"),
        ((0x7E0002FF,), "the code ends inside the instruction"),
        ((0xD1CB0000, 0x000000FF), "no literal is allowed here"),
        ((0x7E0002D1,), "names no constant and no register"),
        ((0xD86C0000, 0x00000001 | 7 << 16), "reserved bits"),
        ((0x7E0202F9, 0x00070600), "no selection 7"),
        ((0x7E0202FA, 0xFF010000), "no lane pattern"),
    ],
)
def test_reserved_encodings_are_named(words: tuple[int, ...], why: str) -> None:
    with pytest.raises(DecodeError, match=why) as caught:
        decode(code(*words))
    assert caught.value.pc == 0
    assert caught.value.words[0] == words[0]


def test_decode_all_covers_the_code_without_gaps() -> None:
    data = b"".join(words_of(line)[0] for line in SAMPLES.read_text(encoding="utf-8").splitlines())
    found = decode_all(data)
    assert all(a.pc + a.size == b.pc for a, b in pairwise(found))
    assert b"".join(struct.pack(f"<{len(i.words)}I", *i.words) for i in found) == data


def test_decode_all_respects_start_and_end() -> None:
    data = code(0xBF800000, 0xBF800001, 0xBF800002, 0xBF810000)
    assert [inst.pc for inst in decode_all(data, 4, 12)] == [4, 8]
