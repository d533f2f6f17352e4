"""Every memory instruction: the JIT loads, stores, updates and crosses lanes as the interpreter does.

Programs over the memory table: addresses scatter over the input array (global, flat, buffer), over the LDS and beyond
its end, over private memory. Compared are the registers, the array, and the LDS read back.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from jit_programs import FIRST_TARGET, Program, Registers, is_valid, same_words

from argus.machine.semantics.mem import MEMORY, MemoryOp

RNG = random.Random(11)
SETUP = [
    "v_and_b32 v4, 0x1ff0, v8",
    "v_and_b32 v5, 0x1ff0, v9",
    "v_mov_b32 v2, s8",
    "v_mov_b32 v3, s9",
    "v_add_co_u32 v2, vcc, v2, v4",
    "v_addc_co_u32 v3, vcc, 0, v3, vcc",
    "s_mov_b32 s84, s8",
    "s_and_b32 s85, s9, 0xffff",
    "s_movk_i32 s86, 0x1a08",
    "s_mov_b32 s87, 0x27000",
    "s_movk_i32 s88, 0x40",
]
FINITE = 0xBFFFBFFF
"""Keeps every word, half and pair finite: which NaN a float update leaves is not defined, and later ones see it."""
FILL_LDS = [f"ds_write_b128 v7, v[{8 + 4 * i}:{11 + 4 * i}] offset:{1024 * i}" for i in range(4)]
FILL_LDS = ["v_lshlrev_b32 v7, 4, v0", *FILL_LDS, "v_and_b32 v7, 0x13f0, v8"]
READ_LDS = ["v_lshlrev_b32 v7, 4, v0"]
READ_LDS += [f"ds_read_b128 v[{224 + 4 * i}:{227 + 4 * i}], v7 offset:{1024 * i}" for i in range(4)]
PARTIAL = ["s_mov_b32 exec_lo, 0x5a5af00f", "s_mov_b32 exec_hi, 0x80c3ff01"]
FULL = ["s_mov_b64 exec, -1"]


def is_integer(line: str) -> bool:
    """Float updates go first: integer updates leave NaNs behind."""
    return not MEMORY[line.split()[0]].atomic.endswith(("f16", "f32", "f64"))


VECTOR_MEMORY = {n for n in MEMORY if not n.startswith(("s_", "scratch_load_lds"))}


def registers(first: int, count: int) -> str:
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def text_of(op: MemoryOp, target: int, variant: int) -> str:
    """One instruction of the op; `variant` changes offsets and addressing."""
    data = registers(8 + 4 * RNG.randrange(6), op.dwords * (2 if op.atomic.startswith("cmpswap") else 1))
    into = registers(target, op.dwords * op.elements)
    offset = f" offset:{RNG.choice([0, 8, 40, 256] if op.kind == 'atomic' else [0, 4, 36, 256])}"
    if op.space == "lds":
        if op.elements == 2:
            where = f" offset0:{RNG.randrange(8)} offset1:{RNG.randrange(8)}"
            second = registers(8 + 4 * RNG.randrange(6), op.dwords)
            return f"{op.name} {into}, v7{where}" if op.kind == "load" else f"{op.name} v7, {data}, {second}{where}"
        if op.kind == "load":
            return f"{op.name} {into}, v7{offset}"
        second = f", {registers(8 + 4 * RNG.randrange(6), op.dwords)}" if op.atomic[:5] in ("cmpst", "mskor") else ""
        return f"{op.name} {into + ', ' if op.returns else ''}v7, {data}{second}{offset}"
    returns = op.kind == "atomic" and variant % 2
    suffix = offset + (" sc0" if returns else "")
    if op.space == "buffer":
        index = [
            "v4, s[84:87], 0 offen",
            "v4, s[84:87], s88 offen",
            "v4, s[84:87], 0 idxen",
            "v[4:5], s[84:87], s88 idxen offen",
        ]
        how = index[variant % 2] if op.kind == "atomic" else index[variant % 4]
        if op.kind == "load":
            return f"{op.name} {into}, {how}{suffix}"
        return f"{op.name} {registers(target, 4) if returns else data}, {how}{suffix}"
    if op.space == "flat":
        address, tail = "v[2:3]", ""
    elif op.space == "scratch":
        address, tail = ("v7", ", off") if variant % 2 else ("off", ", s88")
    else:
        address, tail = ("v[2:3]", ", off") if variant % 2 else ("v4", ", s[8:9]")
    if op.kind == "load":
        return f"{op.name} {address if op.to_lds else f'{into}, {address}'}{tail}{suffix}"
    return f"{op.name} {into + ', ' if returns else ''}{address}, {data}{tail}{suffix}"


def bodies() -> list[list[str]]:
    names = sorted(VECTOR_MEMORY)
    RNG.shuffle(names)
    made: list[list[str]] = []
    body: list[str] = []
    target = FIRST_TARGET
    for name in names:
        for variant in RNG.sample(range(4), 2):
            line = text_of(MEMORY[name], target, variant)
            if not is_valid(line):
                continue
            if target > 216 or len(body) > 70:
                made.append(body)
                body, target = [], FIRST_TARGET
                line = text_of(MEMORY[name], target, variant)
                if not is_valid(line):
                    continue
            body.append(line)
            target += 4
    return [*made, body]


BODIES = bodies()


def differences(program: Program, seed: int) -> tuple[list[str], Registers]:
    mine, theirs = (program.run(executor, seed, keep=FINITE) for executor in ("jit", "checking"))
    wrong = [f"v{FIRST_TARGET + r}" for r in np.nonzero(~same_words(mine.vector[0], theirs.vector[0]).all(-1))[0]]
    wrong += [f"s{52 + k}" for k in np.nonzero(mine.scalar[0] != theirs.scalar[0])[0]]
    memory = same_words(mine.memory.reshape(1, -1), theirs.memory.reshape(1, -1))[0]
    return wrong + [f"memory byte {4 * k}" for k in np.nonzero(~memory)[0]], mine


@pytest.mark.parametrize("number", range(len(BODIES)))
def test_memory_instructions_agree(number: int) -> None:
    mask = PARTIAL if number % 2 else FULL
    scratch = [line for line in BODIES[number] if "scratch" in line]
    private = ["v_and_b32 v7, 0xf0, v8", *scratch, "v_and_b32 v7, 0x13f0, v8"] if scratch else []
    plain = sorted((line for line in BODIES[number] if "scratch" not in line), key=is_integer)
    program = Program(
        [*SETUP, *FILL_LDS, *mask, *private, *plain, *FULL, *READ_LDS], private=1024, flush=number % 3 == 1
    )
    wrong, _ = differences(program, number)
    assert not wrong, (wrong, [line for line in BODIES[number] if any(w.removeprefix("v") in line for w in wrong)])


def test_all_memory_opcodes_were_tried() -> None:
    tried = {line.split()[0] for body in BODIES for line in body}
    assert len(VECTOR_MEMORY - tried) <= 0.06 * len(VECTOR_MEMORY), sorted(VECTOR_MEMORY - tried)


def test_an_access_outside_the_lds_is_noted() -> None:
    registers_left = Program(["v_mov_b32 v7, 0x2000", "ds_read_b32 v40, v7"]).run("jit")
    (report,) = registers_left.result.reports
    assert report.code == "ARG-M105"
    assert report.space == "lds"
    assert "LDS bytes 8192 to 8195; the workgroup has 4096" in report.message
    assert not registers_left.vector[0, 0].any()


SCALAR = [
    "s_load_dword s52, s[8:9], 0x10",
    "s_load_dwordx2 s[54:55], s[8:9], 0x21",
    "s_load_dwordx4 s[56:59], s[8:9], 0x40",
    "s_movk_i32 s88, 0x80",
    "s_load_dwordx8 s[60:67], s[8:9], s88",
    "s_buffer_load_dwordx4 s[68:71], s[84:87], 0x1a00",
    "s_buffer_load_dwordx2 s[72:73], s[84:87], s88",
    "s_mov_b32 s74, s20",
    "s_store_dword s74, s[8:9], 0x100",
    "s_store_dwordx2 s[20:21], s[8:9], 0x108",
    "s_mov_b32 s76, s22",
    "s_atomic_add s76, s[8:9], 0x200 glc",
    "s_mov_b32 s77, s23",
    "s_atomic_dec s77, s[8:9], 0x204 glc",
    "s_mov_b64 s[78:79], s[24:25]",
    "s_atomic_umax_x2 s[78:79], s[8:9], 0x208 glc",
    "s_mov_b64 s[80:81], s[26:27]",
    "s_atomic_cmpswap s[80:81], s[8:9], 0x210 glc",
    "s_waitcnt lgkmcnt(0)",
]


def test_scalar_memory_agrees() -> None:
    wrong, _ = differences(Program([*SETUP, *SCALAR]), 3)
    assert not wrong


LANES = [
    "v_readlane_b32 s52, v8, 17",
    "v_readlane_b32 s53, v9, s20",
    "v_readfirstlane_b32 s54, v10",
    "v_writelane_b32 v40, s21, 5",
    "v_writelane_b32 v40, 7, s23",
    "ds_bpermute_b32 v41, v11, v12",
    "ds_bpermute_b32 v42, v1, v12 offset:8",
    "ds_permute_b32 v43, v11, v13",
    "ds_permute_b32 v44, v1, v13 offset:252",
    "ds_swizzle_b32 v45, v14 offset:swizzle(SWAP,16)",
    "ds_swizzle_b32 v46, v14 offset:swizzle(QUAD_PERM,3,0,1,2)",
    "ds_swizzle_b32 v47, v15 offset:swizzle(BROADCAST,8,3)",
    "v_mov_b32 v48, v16",
    "v_mov_b32 v49, v17",
    "v_swap_b32 v48, v49",
    "v_mov_b32_dpp v50, v18 row_shr:1 row_mask:0xf bank_mask:0xf",
    "v_add_u32_dpp v50, v50, v50 row_bcast:15 row_mask:0xa bank_mask:0xf",
    "v_mov_b32_dpp v51, v50 quad_perm:[1,1,3,3] row_mask:0xf bank_mask:0xf",
    "v_mbcnt_lo_u32_b32 v52, -1, 0",
    "v_mbcnt_hi_u32_b32 v53, -1, v52",
]


@pytest.mark.parametrize("mask", [FULL, PARTIAL, ["s_mov_b64 exec, 0"]], ids=["full", "partial", "none"])
def test_lane_crossing_agrees(mask: list[str]) -> None:
    wrong, _ = differences(Program([*mask, *LANES]), 5)
    assert not wrong
