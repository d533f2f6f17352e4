"""Legal instruction numbers for every row of the encoding table, and LLVM's text for them.

    python tools/gfx942_samples.py FILE     write `words | text` lines, the golden samples of the decoder's tests

Operands, modifiers and address forms are drawn at random (fixed seed) from what the row allows; bits without a meaning
stay zero, so that assembling the text gives the same words again.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from gfx942_llvm import disassemble
from gfx942_probes import FLAGS, group

from argus.gfx942.encoding import FIELDS, LITERAL, OPCODE, PREFIX, TWO_WORDS, EncodingRow, OperandForm, table

PATTERNS = [
    *range(0, 256, 7),
    0x101,
    0x10F,
    0x111,
    0x11F,
    0x121,
    0x130,
    0x134,
    0x138,
    0x13C,
    *range(0x140, 0x144),
    0x155,
]
"""Lane patterns of DPP."""


def samples(seed: int, per_row: int) -> Iterator[tuple[EncodingRow, int]]:
    """Random legal instruction numbers, with the row they belong to."""
    rng = random.Random(seed)
    for rows in table().values():
        for row in rows.values():
            for _ in range(per_row):
                yield row, sample(rng, row)


def sample(rng: random.Random, row: EncodingRow) -> int:
    """One random legal instruction number of a row; unused second words are zero."""
    family = row.family
    number = PREFIX[family] | row.opcode << OPCODE[family][0] | row.one
    literal = any(form.kind == "k" for form in row.operands)
    for form in row.operands:
        if form.field in FIELDS[family] and form.dwords:
            value = operand(rng, row, form, allow_literal=not literal)
            literal = literal or (value == LITERAL and form.kind in "xy" and family not in TWO_WORDS)
            number |= value << FIELDS[family][form.field][0]
    number |= modifiers(rng, row)
    number |= address(rng, row)
    if literal:
        number |= rng.choice([0x12345678, 0x80000001, 0x1234ABCD]) << 32
    return number


def operand(rng: random.Random, row: EncodingRow, form: OperandForm, allow_literal: bool) -> int:
    """A legal value of an operand field."""
    width = FIELDS[row.family][form.field][1]
    group_size = min(1 << (form.dwords - 1).bit_length(), 4) if form.dwords else 1
    scalar = rng.randrange(0, 102 - form.dwords, group_size)
    vector = rng.randrange(0, 257 - form.dwords, 1 if form.dwords == 1 else 2)
    inline = rng.choice([128, 129, 192, 193, 208, 240, 243, 248])
    match form.kind:
        case "s" if form.field in ("sbase", "srsrc"):
            return rng.randrange(20)
        case "s":
            return scalar
        case "y":
            return rng.choice([scalar, inline] + ([LITERAL] if allow_literal and row.family not in TWO_WORDS else []))
        case "x":
            choices = [256 + vector, 256 + vector, scalar, inline]
            return rng.choice(choices + ([LITERAL] if allow_literal and row.family not in TWO_WORDS else []))
        case "e":
            return scalar
        case "c":
            return rng.choice([256 + vector, inline])
        case "i":
            return rng.randrange(16 if "gpr_idx" in row.op else 1 << width)
    return vector + (256 if width == 9 else 0)


def modifiers(rng: random.Random, row: EncodingRow) -> int:
    """Random values of the modifiers a row has."""
    bits = 0
    for name, positions in FLAGS.get(group(row.family), {}).items():
        known = name in row.mods or any(mod.startswith(name) and mod[len(name) :].isdigit() for mod in row.mods)
        if name.startswith("op_sel") and not known:
            continue
        if name in ("acc", "offset", "soe", "offen", "idxen", "dst_sel", "src0_sel", "src1_sel", "dst_unused"):
            continue
        if known and name != "lds":
            bits |= sum(rng.getrandbits(1) << bit for bit in positions)
    if row.family == "VOP3P":
        bits &= ~(row.zero | (0 if "op_sel_hi" in row.mods else 3 << 59))
    bits &= ~row.zero
    if group(row.family) == "SDWA":
        for name, shift, count in (("dst_sel", 40, 7), ("dst_unused", 43, 3), ("src0_sel", 48, 7), ("src1_sel", 56, 7)):
            bits |= rng.randrange(count) << shift if name in row.mods else 0
    if group(row.family) == "DPP":
        wide = any(form.dwords > 1 for form in row.operands if form.field != "vcc")
        bits |= (0x155 if wide else rng.choice(PATTERNS)) << 40 | rng.randrange(256) << 56
    if row.family == "DS" and row.operands and "gws" not in row.op:
        bits |= rng.randrange(1 << 16)
    return bits


def address(rng: random.Random, row: EncodingRow) -> int:
    """Random address operands and offsets of memory instructions."""
    columns = {form.field for form in row.operands}
    kind = group(row.family)
    if kind == "SMEM" and "soffset" in columns:
        offset, register = rng.randrange(1 << 20), rng.randrange(102)
        both = 1 << 14 | 1 << 17 | offset << 32 | register << 57
        return rng.choice([1 << 17 | offset << 32, register << 32, both])
    if kind in ("BUF", "MTBUF") and "vaddr" in columns:
        form = rng.randrange(4)
        lane = rng.randrange(0, 254, 2) if form else 0
        return form << 12 | lane << 32 | rng.randrange(1 << 12)
    if kind == "FLAT" and "vaddr" in columns:
        lane, offset = rng.randrange(0, 254, 2), rng.randrange(1 << 12)
        if row.family.startswith("FLAT"):
            return lane << 32 | offset
        saddr = rng.choice([0x7F, rng.randrange(0, 100, 2)])
        if row.family == "SCRATCH" and rng.getrandbits(1):
            return saddr << 48 | offset
        return saddr << 48 | lane << 32 | offset | (1 << 13 if row.family == "SCRATCH" else 0)
    return 0


def render(number: int, size: int) -> str:
    """The words of an instruction in hexadecimal."""
    return f"{number & 0xFFFFFFFF:08x}" + (f" {number >> 32:08x}" if size == 2 else "")


def main() -> int:
    """Write the golden samples."""
    numbers = [number for _, number in samples(seed=1, per_row=2)]
    answers = disassemble(numbers)
    lines = [f"{render(n, a[1])} | {a[0]}" for n, a in zip(numbers, answers, strict=True) if a and "/*" not in a[0]]
    Path(sys.argv[1]).write_text("\n".join(dict.fromkeys(lines)) + "\n", encoding="utf-8")
    print(f"{len(numbers)} samples, {len(lines)} accepted by LLVM")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
