"""Every vector and scalar instruction in every encoding it has: the JIT leaves the same registers as the interpreter.

Programs of about a hundred instructions, each with its own destination and sources that are never overwritten, so that
one difference points to one instruction. The forms (e32, e64 with modifiers, SDWA, DPP) are what the assembler accepts.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from jit_programs import FIRST_SCALAR_TARGET, FIRST_TARGET, TARGETS, Program, is_valid, same_words

from argus.machine.semantics import SALU, SATURATING, VALU, MachineOp

RNG = random.Random(7)
PROGRAM_LENGTH = 110
CHANGES_EXEC = ("saveexec", "wrexec", "v_cmpx")
NOT_HERE = {"v_nop"}


def vector(wide: bool) -> str:
    n = RNG.randrange(8, 38, 2) if wide else RNG.randrange(8, 39)
    return f"v[{n}:{n + 1}]" if wide else f"v{n}"


def scalar(wide: bool) -> str:
    n = RNG.randrange(20, 50, 2) if wide else RNG.randrange(20, 51)
    return f"s[{n}:{n + 1}]" if wide else f"s{n}"


def is_wide(op: MachineOp, word: str) -> bool:
    return word in ("u64", "f64", "i64", "mask") or op.shape in ("pk32", "pkmov")


class Targets:
    """Hands out destinations until a program is full."""

    def __init__(self) -> None:
        self.next_vector = FIRST_TARGET
        self.next_scalar = FIRST_SCALAR_TARGET

    def vector(self, wide: bool) -> str:
        self.next_vector += self.next_vector % 2 if wide else 0
        n = self.next_vector
        self.next_vector += 2 if wide else 1
        return f"v[{n}:{n + 1}]" if wide else f"v{n}"

    def scalar(self, wide: bool) -> str:
        n = self.next_scalar
        self.next_scalar += 2
        return f"s[{n}:{n + 1}]" if wide else f"s{n}"

    @property
    def full(self) -> bool:
        return self.next_vector > FIRST_TARGET + TARGETS - 4 or self.next_scalar > 98


def vector_forms(op: MachineOp, targets: Targets) -> list[str]:
    """Candidate texts of a vector instruction; the assembler decides which exist."""
    results = [
        targets.scalar(True) if w == "mask" else targets.vector(is_wide(op, w)) for w in op.results if w != "exec"
    ]
    explicit = [w for w in op.args if w not in ("old", "old64", "vcc", "scc", "exec", "lane")]

    def sources(scalar_at: int = -1, signs: bool = False) -> list[str]:
        made = []
        for i, word in enumerate(explicit):
            if word == "mask":
                made.append("vcc")
            elif i == scalar_at:
                made.append(
                    scalar(is_wide(op, word)) if RNG.random() < 0.6 else RNG.choice(["1.0", "-4.0", "7", "-1", "0.5"])
                )
            else:
                text = vector(is_wide(op, word))
                if signs and word.startswith("f") and RNG.random() < 0.5:
                    text = RNG.choice([f"-{text}", f"|{text}|", f"-|{text}|"])
                made.append(text)
        return made

    name = op.name
    plain = ", ".join([*results, *sources()])
    e32 = ", ".join([*["vcc" if r.startswith("s[") else r for r in results], *sources()])
    forms = [f"{name} {e32}", f"{name} {plain}"]
    forms.append(f"{name} " + ", ".join([*results, *sources(RNG.randrange(max(1, len(explicit))))]))
    signed = ", ".join([*results, *sources(signs=True)])
    single_float = len(op.results) == 1 and op.results[0] in ("f32", "f64", "f16", "h16")
    outputs = ("clamp", "mul:2", "div:2 clamp", "") if single_float else ("clamp",) if name in SATURATING else ("",)
    forms += [f"{name}_e64 {signed} {m}" for m in outputs]
    bits = ",".join(RNG.choice("01") for _ in explicit)
    forms += [f"{name} {plain} op_sel:[{bits}]", f"{name} {plain} op_sel:[{bits},1]", f"{name} {plain} {outputs[0]}"]
    forms.append(f"{name} {plain} op_sel_hi:[{bits}] neg_lo:[{bits}] neg_hi:[{bits[::-1]}]")
    select = RNG.choice(["BYTE_0", "BYTE_3", "WORD_0", "WORD_1"])
    where = RNG.choice(["DWORD", "WORD_1", "BYTE_2", "WORD_0"])
    unused = RNG.choice(["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"])
    one, two = f"src0_sel:{select}", f"src0_sel:{select} src1_sel:WORD_1"
    into = f"dst_sel:{where} dst_unused:{unused}"
    forms += [f"{name}_sdwa {e32} {into} {s}" for s in (one, two)] + [f"{name}_sdwa {e32} {s}" for s in (one, two)]
    control = RNG.choice(["row_shr:3", "row_shl:5", "quad_perm:[3,1,0,2]", "row_ror:7", "row_newbcast:11", "row_mirror",
                          "row_half_mirror", "row_bcast:15", "row_bcast:31", "wave_shr:1"])  # fmt: skip
    masks = RNG.choice(["row_mask:0xf bank_mask:0xf", "row_mask:0xa bank_mask:0xf", "row_mask:0xf bank_mask:0x5"])
    forms += [f"{name}_dpp {e32} {control} {masks}{b}" for b in ("", " bound_ctrl:0")]
    return forms


def scalar_forms(op: MachineOp, targets: Targets) -> list[str]:
    results = [targets.scalar(w == "u64") for w in op.results if w not in ("scc", "exec")]
    sources = []
    for word in op.args:
        if word in ("old", "old64", "scc", "exec"):
            continue
        if word in ("k16", "k16u"):
            sources.append(str(RNG.choice([0, 5, 0x7FFF, 0x8000, 0xFFFF, 0x1234])))
        else:
            sources.append(scalar(word in ("u64", "i64")))
    constant = [*sources]
    if constant and constant[-1].startswith("s"):
        constant[-1] = RNG.choice(["0x12345678", "-3", "64", "1.0"])
    return [f"{op.name} {', '.join([*results, *s])}" for s in (sources, constant)]


def programs() -> list[list[str]]:
    """All instructions, shuffled, in programs that fit the destinations."""
    made: list[list[str]] = []
    body: list[str] = []
    targets = Targets()
    names = sorted((set(VALU) | set(SALU)) - NOT_HERE)
    RNG.shuffle(names)
    for name in names:
        if any(part in name for part in CHANGES_EXEC):
            continue
        probe = Targets()
        op = VALU.get(name) or SALU[name]
        forms = vector_forms if name in VALU else scalar_forms
        usable = [i for i, line in enumerate(forms(op, probe)) if is_valid(line)]
        chosen = RNG.sample(usable, min(len(usable), 2))
        for index in chosen:
            if targets.full or len(body) >= PROGRAM_LENGTH:
                made.append(body)
                body, targets = [], Targets()
            line = forms(op, targets)[index]
            if is_valid(line):
                body.append(line)
    return [*made, body]


def disagreement(body: list[str], setup: list[str], seed: int, flush: bool) -> list[str]:
    program = Program([*setup, *body], flush=flush)
    mine, theirs = program.run("jit", seed), program.run("checking", seed)
    wrong = []
    rows = np.nonzero(~same_words(mine.vector[0], theirs.vector[0]).all(-1))[0]
    for row in rows:
        name = f"v{FIRST_TARGET + row}" if row < TARGETS else f"a{row - TARGETS}"
        lane = np.nonzero(mine.vector[0, row] != theirs.vector[0, row])[0][0]
        values = f"JIT {mine.vector[0, row, lane]:#x}, interpreter {theirs.vector[0, row, lane]:#x}"
        lines = [line for line in body if f" {name}," in line or f"v[{name[1:]}:" in line or f":{name[1:]}]" in line]
        wrong.append(f"{name} lane {lane}: {values}: {lines}")
    for k in np.nonzero(mine.scalar[0] != theirs.scalar[0])[0]:
        lines = [line for line in body if f"s{52 + k}" in line or f"s[{52 + k}:" in line or f":{52 + k}]" in line]
        wrong.append(f"s{52 + k}: JIT {mine.scalar[0, k]:#x}, interpreter {theirs.scalar[0, k]:#x}: {lines}")
    return wrong


PROGRAMS = programs()
PARTIAL = ["s_mov_b32 exec_lo, 0x5a5af00f", "s_mov_b32 exec_hi, 0x80c3ff01", "s_mov_b64 vcc, s[20:21]"]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_instructions_agree(number: int) -> None:
    flush = number % 3 == 2
    setup = PARTIAL if number % 2 else ["s_mov_b64 vcc, s[22:23]"]
    assert disagreement(PROGRAMS[number], setup, number, flush) == []


def test_most_instructions_were_tried() -> None:
    tried = {
        line.split()[0].removesuffix("_e64").removesuffix("_sdwa").removesuffix("_dpp") for b in PROGRAMS for line in b
    }
    table = {n for n in (set(VALU) | set(SALU)) - NOT_HERE if not any(part in n for part in CHANGES_EXEC)}
    assert len(table - tried) <= 0.05 * len(table), sorted(table - tried)
