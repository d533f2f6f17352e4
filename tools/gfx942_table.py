"""Make `argus/gfx942/encoding_table.json` by asking LLVM's disassembler about every opcode of gfx942.

    python tools/gfx942_table.py            write the table
    python tools/gfx942_table.py --check    compare the table in the tree with a fresh one

For every (family, opcode) one instruction is put together with a different register number in every operand field;
the printed text then tells the mnemonic, the order of the operands and their widths. Single bits are flipped to see
which modifiers exist and which bits are fixed. Needs llvm-mc-22 and llvm-objdump-22; nothing else in Argus does.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from gfx942_llvm import disassemble
from gfx942_probes import FLAGS, MARK, SHOWN, group

from argus.gfx942.encoding import FIELDS, LITERAL, OPCODE, PREFIX, TWO_WORDS, family_of

TABLE = Path(__file__).resolve().parent.parent / "argus" / "gfx942" / "encoding_table.json"
FOLLOWING = 0x12345678

MODIFIER = r"(off(en|set\d?)|quad_perm|dst_sel|src0_sel|gds|sc0|glc)\b"


def put(family: str, number: int, field: str, value: int) -> int:
    """Set one operand field."""
    shift, width = FIELDS[family][field]
    mask = (1 << width) - 1
    return number & ~(mask << shift) | (value & mask) << shift


def fixed_bits(family: str) -> int:
    """Bits a base instruction needs so that the text shows every operand."""
    match group(family):
        case "SMEM":
            return 1 << 17
        case "BUF" | "MTBUF":
            return 1 << 12
        case "SDWA":
            return 6 << 48
        case "DPP":
            return 0xFF << 56 | 1 << 40
    return 0


def candidates(family: str, opcode: int) -> list[int]:
    """Instruction numbers to try for one opcode, the ones that fill most fields first."""
    number = PREFIX[family] | opcode << OPCODE[family][0] | fixed_bits(family)
    if family not in TWO_WORDS:
        number |= FOLLOWING << 32
    names = list(FIELDS[family])
    if group(family) == "SMEM":
        names.remove("soffset")
    if family in ("VOP1", "VOP1_SDWA", "VOP1_DPP"):
        names.remove("vsrc1")
    if "_" in family and "sdst" in names:
        names.remove("sdst")
    plain = group(family) not in ("DS", "FLAT", "VOP3", "VOP3P", "SMEM")
    result = []
    for size in range(len(names), -1, -1):
        for chosen in itertools.combinations(names, size):
            full = number
            for name in chosen:
                full = put(family, full, name, MARK[name])
            result.append(full)
        if plain and size < len(names):
            result.append(number)
            break
    if family == "SMEM":
        result += [value & ~(1 << 17) for value in result]
    if family == "DS":
        result += [value | 1 << 16 for value in result]
    if family == "MUBUF":
        result += [value & ~(1 << 12) for value in result]
    if family.startswith("FLAT"):
        result = [put(family, value, "saddr", 0) for value in result]
    if family == "VOP3":
        result += [put(family, value, "src1", MARK["src1"] - 256) for value in result]
        result += [put(family, value, "src0", MARK["src0"] - 256) for value in result]
    if family == "SCRATCH":
        result = [value | 1 << 13 for value in result]
    if group(family) == "SDWA":
        result = [value | 6 << 40 | 6 << 56 for value in result] + [value | 6 << 40 for value in result] + result
    return list(dict.fromkeys(result))


def score(family: str, text: str) -> int:
    """How many marked fields the text shows; a text with an invalid operand counts nothing."""
    if "nvalid" in text:
        return -1
    body = re.sub(r"\b(abid|cbsz|blgp|op_sel|op_sel_hi|neg_hi|neg_lo|offset0|offset1):\S+", "", text)
    return (
        sum(1 for piece in split_operands(body) if field_of(family, piece)) * 10 - body.count("|") - body.count("_sel")
    )


def split_operands(text: str) -> list[str]:
    """The operand texts of an instruction, without its modifiers."""
    _, _, rest = text.partition(" ")
    pieces, depth, current = [], 0, ""
    for char in rest:
        depth += char in "[(" and 1
        depth -= char in "])" and 1
        if char == "," and depth == 0:
            pieces.append(current.strip())
            current = ""
        else:
            current += char
    pieces.append(current.strip())
    pieces[-1] = pieces[-1].split(" ")[0]
    return [piece for piece in pieces if piece and not re.match(MODIFIER, piece)]


def field_of(family: str, piece: str) -> tuple[str, str, int] | None:
    """(field, register letter, dwords) of an operand text that shows a marked register."""
    match = re.fullmatch(r"([vsa])(?:(\d+)|\[(\d+):(\d+)\])", piece)
    if not match:
        return None
    first = int(match[2] or match[3])
    dwords = 1 if match[2] else int(match[4]) - first + 1
    for name in FIELDS[family]:
        shown = SHOWN.get(name, MARK[name] % 256 if name.startswith("src") else MARK[name])
        if first == shown:
            return name, match[1], dwords
    return None


class Opcode:
    """What is found out about one opcode."""

    def __init__(self, family: str, opcode: int, number: int, text: str, words: int) -> None:
        self.family, self.opcode, self.number, self.text, self.words = family, opcode, number, text, words
        self.mnemonic = text.split(" ")[0]
        self.pieces = split_operands(text)
        self.operands: list[str] = []
        self.mods: list[str] = []
        self.zero = 0
        self.one = 0

    def probes(self) -> list[tuple[str, int]]:
        """Named variations of the base instruction."""
        flips = [(f"bit {bit}", self.number ^ 1 << bit) for bit in range(64 if self.family in TWO_WORDS else 32)]
        sources = []
        for piece in self.pieces:
            found = field_of(self.family, piece)
            if found and found[0] in ("src0", "src1", "src2", "ssrc0", "ssrc1"):
                name = found[0]
                field = FIELDS[self.family][name]
                if field[1] < 8 or group(self.family) in ("SDWA", "DPP"):
                    continue
                scalar, inline = 2 * (MARK[name] % 256 // 2), 248
                sources.append((f"{name} scalar", put(self.family, self.number, name, scalar)))
                sources.append((f"{name} vector", put(self.family, self.number, name, 256 + scalar)))
                sources.append((f"{name} inline", put(self.family, self.number, name, inline)))
                if self.family not in TWO_WORDS:
                    base = put(self.family, self.number, name, LITERAL) & 0xFFFFFFFF
                    sources += [(f"{name} {value:#x}", base | value << 32) for value in (5, 0x12345678, 0x3F800000)]
        return flips + sources

    def learn(self, answers: dict[str, tuple[str, int] | None]) -> None:
        """Fill operands, modifiers and the must-be-zero mask from the answers to `probes`."""
        self.operands = [self.operand(piece, answers) for piece in self.pieces]
        used = 0
        for name in (form.partition("@")[2] for form in self.operands):
            if name in FIELDS[self.family]:
                shift, width = FIELDS[self.family][name]
                used |= (1 << width) - 1 << shift
        for name, bits in FLAGS.get(group(self.family), {}).items():
            if name in ("acc", "offset") or any(used >> bit & 1 for bit in bits):
                continue
            shown = [self.shows(name, bit, answers) for bit in bits]
            if any(shown):
                self.mods.append(name if name != "op_sel" else self.op_sel(answers))
        opcode_shift, opcode_width = OPCODE[self.family]
        skip = used | (1 << opcode_width) - 1 << opcode_shift
        for bit in range(64 if self.family in TWO_WORDS else 32):
            flipped = self.number ^ 1 << bit
            same_family = family_of(flipped & 0xFFFFFFFF) == family_of(self.number & 0xFFFFFFFF)
            if not skip >> bit & 1 and same_family and answers[f"bit {bit}"] is None:
                if self.number >> bit & 1:
                    self.one |= 1 << bit
                else:
                    self.zero |= 1 << bit
        if group(self.family) == "SDWA":
            checked = {"dst_sel": 7 << 40, "dst_unused": 3 << 43, "src0_sel": 7 << 48, "src1_sel": 7 << 56}
            self.zero &= ~sum(mask for name, mask in checked.items() if name in self.mods)
        if group(self.family) == "DPP":
            self.zero &= ~(0x1FF << 40)

    def shows(self, name: str, bit: int, answers: dict[str, tuple[str, int] | None]) -> bool:
        """Whether flipping `bit` makes the modifier `name` appear (or change) in the text."""
        answer = answers[f"bit {bit}"]
        if answer is None or "nvalid" in answer[0] or answer[0] == self.text:
            return answer is None and name in ("dst_sel", "src0_sel", "src1_sel") and name in self.text
        text = answer[0]
        if name[:-1] in ("abs", "neg", "sext"):
            mark = {"abs": "|", "neg": "-", "sext": "sext("}[name[:-1]]
            return text.count(mark) > self.text.count(mark)
        word = {"omod": r"(mul|div):"}.get(name, re.escape(name) + r"\b")
        return len(re.findall(word, text)) != len(re.findall(word, self.text)) or name in (
            ["dst_sel", "dst_unused", "src0_sel", "src1_sel", "row_mask", "op_sel_hi"] if f"{name}:" in text else ()
        )

    def op_sel(self, answers: dict[str, tuple[str, int] | None]) -> str:
        """`op_sel4`: how many entries the text shows."""
        for bit in (11, 12, 13, 14):
            answer = answers[f"bit {bit}"]
            match = re.search(r"op_sel:\[([01,]+)\]", answer[0] if answer else "")
            if match:
                return f"op_sel{len(match[1].split(','))}"
        return "op_sel"

    def operand(self, piece: str, answers: dict[str, tuple[str, int] | None]) -> str:
        """The table's form of one operand text."""
        found = field_of(self.family, piece)
        if found is None:
            return self.special(piece)
        name, letter, dwords = found
        if name in ("saddr", "srsrc", "soffset", "vaddr") and group(self.family) in ("FLAT", "BUF", "MTBUF"):
            return {"srsrc": "s4@srsrc", "soffset": "y1@soffset"}.get(name, name)
        if name == "sbase":
            return f"s{dwords}@sbase"
        kind = letter
        acc = {"VOP3P": {"vdst": 15, "src2": 15, "src0": 59, "src1": 60}}.get(self.family, {}).get(name)
        if group(self.family) == "DS":
            acc = 25
        if group(self.family) in ("FLAT", "BUF", "MTBUF"):
            acc = 55
        if acc is not None and letter == "v":
            answer = answers[f"bit {acc}"]
            if answer and re.search(rf"\ba(\[?){MARK[name] % 256}\b", answer[0]):
                kind = "m"
        return f"{self.source_kind(name, kind, answers)}{dwords}{self.constant_type(name, answers)}@{name}"

    def special(self, piece: str) -> str:
        """Operands that are not registers of a field."""
        if piece == "vcc":
            return "vcc"
        if piece == "off":
            return "saddr"
        if piece == f"{FOLLOWING:#x}":
            return "k1@literal"
        if piece.startswith(("0x123", "hwreg", "sendmsg", "gpr_idx")) or piece == "291":
            return "i1@simm16"
        if piece == f"{MARK['offset']:#x}":
            return "soffset" if self.family == "SMEM" else "i1@offset"
        if piece == f"{MARK['sdata']}" and self.family == "SMEM":
            return "i1@sdata"
        if piece == f"{MARK['ssrc1']:#x}":
            return "i1@ssrc1"
        if self.family == "SOPP":
            return "i1@simm16"
        raise ValueError(f"cannot read operand {piece!r} of {self.text!r}")

    def source_kind(self, name: str, kind: str, answers: dict[str, tuple[str, int] | None]) -> str:
        """x for any source, y for scalar sources, else the register letter."""
        scalar, inline = answers.get(f"{name} scalar"), answers.get(f"{name} inline")
        takes_scalar = scalar is not None and "nvalid" not in scalar[0]
        takes_inline = inline is not None and "nvalid" not in inline[0]
        if kind == "s":
            return "y" if takes_inline else "s"
        if kind == "v" and takes_scalar:
            return "x" if takes_inline else "e"
        if kind == "m" and takes_inline:
            return "c"
        return kind

    def constant_type(self, name: str, answers: dict[str, tuple[str, int] | None]) -> str:
        """How a constant is printed in this place."""

        def text(what: str) -> str:
            answer = answers.get(f"{name} {what}")
            return answer[0] if answer else ""

        inline, small, big, one = text("inline"), text("0x5"), text("0x12345678"), text("0x3f800000")
        if "0x3118" in inline:
            return "w"
        if "0.15915494309189532" in inline:
            return "q" if "lit(" in small else "d"
        if re.search(r"\b0x5678\b", big):
            return "h"
        if one and "lit(" not in one and "nvalid" not in one:
            return "p"
        return ""


def survey() -> dict[str, dict[str, list[str]]]:
    """Ask about everything."""
    tries: list[tuple[str, int, int]] = []
    for family, (_, width) in OPCODE.items():
        for opcode in range(1 << width):
            for number in candidates(family, opcode):
                word = number & 0xFFFFFFFF
                if family_of(word) == family.removesuffix("_RTN").removesuffix("_LDS"):
                    tries.append((family, opcode, number))
    best: dict[tuple[str, int], tuple[int, Opcode]] = {}
    for (family, opcode, number), answer in zip(tries, disassemble([t[2] for t in tries]), strict=True):
        if answer is None:
            continue
        if family in TWO_WORDS and answer[1] == 1:
            continue
        rank = score(family, answer[0])
        if rank >= 0 and ((family, opcode) not in best or rank > best[family, opcode][0]):
            best[family, opcode] = rank, Opcode(family, opcode, number, *answer)
    for family, opcode in [key for key in best if key[0].endswith(("_RTN", "_LDS"))]:
        plain = best.get((family[:-4], opcode))
        if plain and plain[1].pieces == best[family, opcode][1].pieces:
            del best[family, opcode]
    opcodes = [entry[1] for entry in best.values()]
    probes = [(index, name, number) for index, found in enumerate(opcodes) for name, number in found.probes()]
    answers: list[dict[str, tuple[str, int] | None]] = [{} for _ in opcodes]
    for (index, name, _), answer in zip(probes, disassemble([p[2] for p in probes]), strict=True):
        answers[index][name] = answer
    rows: dict[str, dict[str, list[str]]] = {}
    for found, answer_set in zip(opcodes, answers, strict=True):
        found.learn(answer_set)
        row = [
            found.mnemonic,
            " ".join(found.operands),
            " ".join(sorted(found.mods)),
            f"{found.zero:x}",
            f"{found.one:x}",
        ]
        rows.setdefault(found.family, {})[str(found.opcode)] = row
    return rows


def render(rows: dict[str, dict[str, list[str]]]) -> str:
    """The table as JSON, one row per line so that changes can be read."""
    families = []
    for family, by_opcode in rows.items():
        lines = [
            f'      "{opcode}": {json.dumps(row)}'
            for opcode, row in sorted(by_opcode.items(), key=lambda item: int(item[0]))
        ]
        families.append(f'    "{family}": {{\n' + ",\n".join(lines) + "\n    }")
    made = "made by tools/gfx942_table.py with LLVM 22"
    return f'{{\n  "about": "{made}",\n  "rows": {{\n' + ",\n".join(families) + "\n  }\n}\n"


def main() -> int:
    """Write or check the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the table in the tree, write nothing")
    options = parser.parse_args()
    text = render(survey())
    if options.check:
        same = TABLE.read_text(encoding="utf-8") == text
        print("the table is up to date" if same else "the table differs from a fresh one")
        return 0 if same else 1
    TABLE.write_text(text, encoding="utf-8")
    print(f"wrote {TABLE}: {text.count('[')} rows")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
