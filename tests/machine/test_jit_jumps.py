"""Jumps through registers: those whose target is a constant of the program are translated and do what the interpreter
does; all others are refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest
from jit_programs import Program, same_words

from argus.machine.jit import JitUnsupported

SKIPPED = ["v_mov_b32 v41, 9", "s_mov_b32 s53, 9"]
"""What the jump goes over."""


def both(body: list[str]) -> np.ndarray:
    """The vector registers of a wave from v40 on after the program, the same on both executors."""
    program = Program(body)
    mine, theirs = program.run("jit"), program.run("checking")
    assert same_words(mine.vector, theirs.vector).all()
    assert np.array_equal(mine.scalar[:8], theirs.scalar[:8])
    assert mine.result.instructions == theirs.result.instructions
    return mine.vector[0]


def far(*way: str) -> list[str]:
    """A program that jumps over SKIPPED by this way from `.Lhere`, just behind s_getpc_b64 s[60:61]."""
    start = ["v_mov_b32 v40, 1", "v_mov_b32 v41, 2", "s_mov_b32 s52, 5", "s_mov_b32 s53, 6"]
    jump = ["s_getpc_b64 s[60:61]", ".Lhere:", *way, "s_setpc_b64 s[60:61]"]
    return [*start, *jump, *SKIPPED, ".Lfar:", "v_add_u32 v40, v40, v41"]


FORWARD = {
    "literal": ["s_add_u32 s60, s60, .Lfar-.Lhere", "s_addc_u32 s61, s61, 0"],
    "operands-exchanged": ["s_add_u32 s60, .Lfar-.Lhere, s60", "s_addc_u32 s61, 0, s61"],
    "by-a-register": [
        "s_add_i32 s62, .Lfar-.Lhere-4, 4",
        "s_add_u32 s60, s60, s62",
        "s_addc_u32 s61, s61, 0",
    ],
    "in-two-sums": [
        "s_add_u32 s60, s60, 4096",
        "s_addc_u32 s61, s61, 0",
        "v_mov_b32 v42, 3",
        "s_add_u32 s60, s60, .Lfar-.Lhere-4096",
        "s_addc_u32 s61, s61, -1",
    ],
    "either-direction": [
        "s_add_i32 s62, .Lfar-.Lhere-4, 4",
        "s_cmp_ge_i32 s62, 0",
        "s_cbranch_scc1 .Lpositive",
        "s_abs_i32 s62, s62",
        "s_sub_u32 s60, s60, s62",
        "s_subb_u32 s61, s61, 0",
        "s_setpc_b64 s[60:61]",
        ".Lpositive:",
        "s_add_u32 s60, s60, s62",
        "s_addc_u32 s61, s61, 0",
    ],
}


@pytest.mark.parametrize("way", FORWARD)
def test_a_far_jump_forward(way: str) -> None:
    assert (both(far(*FORWARD[way]))[0] == 3).all()


def test_a_far_jump_backward_closes_a_loop() -> None:
    body = [
        "v_mov_b32 v40, 0",
        "s_mov_b32 s52, 0",
        ".Lloop:",
        "v_add_u32 v40, v40, v0",
        "s_add_i32 s52, s52, 1",
        "s_cmp_eq_u32 s52, 7",
        "s_cbranch_scc1 .Ldone",
        "s_getpc_b64 s[60:61]",
        ".Lhere:",
        "s_add_i32 s62, .Lloop-.Lhere-4, 4",
        "s_abs_i32 s62, s62",
        "s_sub_u32 s60, s60, s62",
        "s_subb_u32 s61, s61, 0",
        "s_setpc_b64 s[60:61]",
        ".Ldone:",
        "s_nop 0",
    ]
    assert np.array_equal(both(body)[0], 7 * np.arange(64))


def test_what_far_jumps_lead_to_may_jump_far() -> None:
    body = [
        *far("s_add_u32 s60, s60, .Lfar-.Lhere", "s_addc_u32 s61, s61, 0"),
        "s_getpc_b64 s[62:63]",
        ".Lagain:",
        "s_add_u32 s62, s62, .Llast-.Lagain",
        "s_addc_u32 s63, s63, 0",
        "s_setpc_b64 s[62:63]",
        "v_mov_b32 v40, 9",
        ".Llast:",
        "v_add_u32 v40, v40, v41",
    ]
    assert (both(body)[0] == 5).all()


NOT_CONSTANT = "jumps to an address that is not a constant of the program"
REFUSED = {
    "an-argument": (["s_mov_b64 s[60:61], s[20:21]"], NOT_CONSTANT),
    "a-distance-loaded": (["s_add_u32 s60, s60, s20", "s_addc_u32 s61, s61, 0"], NOT_CONSTANT),
    "no-carry": (["s_add_u32 s60, s60, .Lfar-.Lhere"], NOT_CONSTANT),
    "another-carry": (
        ["s_add_u32 s60, s60, .Lfar-.Lhere", "s_cmp_eq_u32 s20, s21", "s_addc_u32 s61, s61, 0"],
        NOT_CONSTANT,
    ),
    "a-borrow-for-a-carry": (["s_add_u32 s60, s60, .Lfar-.Lhere", "s_subb_u32 s61, s61, 0"], NOT_CONSTANT),
    "upper-half-written": (
        ["s_add_u32 s60, s60, .Lfar-.Lhere", "s_addc_u32 s61, s61, 0", "s_mov_b32 s61, 0"],
        NOT_CONSTANT,
    ),
    "one-of-two": (
        [
            "s_cmp_eq_u32 s20, s21",
            "s_cbranch_scc1 .Lother",
            "s_add_u32 s60, s60, .Lfar-.Lhere",
            "s_addc_u32 s61, s61, 0",
            ".Lother:",
        ],
        NOT_CONSTANT,
    ),
    "outside": (["s_add_u32 s60, s60, 0x100000", "s_addc_u32 s61, s61, 0"], "which is no instruction of the code"),
    "before-the-code": (["s_sub_u32 s60, s60, 0x100000", "s_subb_u32 s61, s61, 0"], "no instruction of the code"),
    "between-instructions": (["s_add_u32 s60, s60, 2", "s_addc_u32 s61, s61, 0"], "no instruction of the code"),
}


@pytest.mark.parametrize("way", REFUSED)
def test_a_jump_that_is_not_known_is_refused_with_the_reason(way: str) -> None:
    body, why = REFUSED[way]
    with pytest.raises(JitUnsupported, match=why) as caught:
        Program(far(*body)).run("jit")
    assert caught.value.inst.op == "s_setpc_b64"


def test_a_call_is_refused() -> None:
    with pytest.raises(JitUnsupported, match="calls or jumps through a register"):
        Program(["s_getpc_b64 s[60:61]", "s_swappc_b64 s[62:63], s[60:61]"]).run("jit")
