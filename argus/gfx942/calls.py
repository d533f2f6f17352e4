"""Instructions a kernel may call by name: one entry each, read by language, IR, interpreter, checker, compiler, docs.

    entry("v_bfe_u32")      Call(results=("u32",), args=("u32", "u32", "u32"), meaning=…, transfer="bits")
    entry("s_branch")       None; why_not("s_branch") says that `for` and `if` are its form in the language

The words of a signature, `"f32 bool = u32 f32 old:f32"`, results first:

    f64 f32 f16 i64 i32 i16 u64 u32 u16   one element a lane. Signed and unsigned of one width are the same registers:
                                          either is taken, the word says how the meaning reads the bits
    b32                                   any 32-bit element; a result has the type of the operand
    f16x2 u16x2 i16x2 f32x2               two neighbouring elements of a tile: one instruction works on both
    bool                                  a mask of the language (a scalar register pair on the chip)
    mix                                   f32 or f16, told to the instruction by a modifier
    old:…                                 the operand the instruction accumulates into: it is in the result's register
    lane                                  the lane number; no operand

`meaning` computes the results on numpy arrays [64 lanes, elements] and is independent of what the simulated machine
does: the two are compared instruction by instruction in the tests.

`emit` is what LLVM is given: an intrinsic (`llvm.amdgcn.perm`), or LLVM instructions with the operands as {0} {1} {2},
separated by `;`, the last ones the results: `n = and i32 {0}, 31; shl i32 {1}, {n}`. In both, {t} is the LLVM type of
the result, {s} its suffix in intrinsic names (i32, v2f16), {lane} an option. LLVM selects the instruction of the name
for it (the tests count for how many); with constant operands, or fused with a neighbour, it may find a cheaper one of
the same value.

`transfer` says what the checker may conclude about the results:

    add sub mul max min fma exp2 select …    as the function of the language of that name (select: operands 2, 1, 0)
    mov      the element itself
    other    a function of its own, of the coordinates its operands agree on
    bits     bits of the operands side by side: belongs to what they agree on, unknown if they disagree
    lanes    the elements of other lanes, which `sources` names; unknown where the data decide

What it cannot do: forms of an instruction (SDWA, DPP on arithmetic, modifiers of sources) are the compiler's choice; a
DPP move is `v_mov_b32_dpp`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
Meaning = Callable[..., Any]

LANES = 64


@dataclass(frozen=True, slots=True)
class Option:
    """A static keyword: `low` to `high`; `llvm` is its type in the intrinsic."""

    name: str
    low: int
    high: int
    default: int | None = None
    llvm: str = "i32"


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    results: tuple[str, ...]
    args: tuple[str, ...]
    meaning: Meaning
    emit: str
    transfer: str = "other"
    options: tuple[Option, ...] = ()
    sources: Callable[..., tuple[int, ...]] | None = None
    inexact: bool = False

    @property
    def operands(self) -> tuple[str, ...]:
        """The words of the arguments a caller gives."""
        return tuple(word.removeprefix("old:") for word in self.args if word != "lane")

    @property
    def packed(self) -> bool:
        """Whether one instruction works on two elements."""
        return any(word.endswith("x2") for word in self.args)

    @property
    def crosses_lanes(self) -> bool:
        return self.transfer == "lanes"

    @property
    def signature(self) -> str:
        """As documentation shows it."""
        return f"{', '.join(self.results) or 'nothing'} = {', '.join(self.operands) or 'nothing'}"


CALLS: dict[str, Call] = {}
"""Filled by the sections of `argus.gfx942.calling`."""


def define(names: str, signature: str, meaning: Meaning, emit: str, transfer: str = "other", **rest: Any) -> None:
    """Enter the instructions `names`, which share signature and meaning."""
    left, _, right = signature.partition("=")
    for name in names.split():
        if name in CALLS:
            raise ValueError(f"{name} is defined twice")
        CALLS[name] = Call(name, tuple(left.split()), tuple(right.split()), meaning, emit, transfer, **rest)


_TAKES: dict[str, tuple[str, ...]] = {"b32": ("f32", "i32", "u32"), "mix": ("f32", "f16")}


def accepts(word: str, element: str) -> bool:
    """Whether a value of this element type can be an operand (or result) of this word."""
    word = word.removesuffix("x2")
    if word[0] in "iu":
        return element in (f"i{word[1:]}", f"u{word[1:]}")
    return element in _TAKES.get(word, (word,))


_WHY_NOT: tuple[tuple[str, str], ...] = (
    (r"v_mfma_", "a function too: a matrix instruction, `ag.mfma(a, b, acc)` with owners for operands and result"),
    (r"v_smfmac_", "sparse matrix instructions: the language has no owner for their index registers"),
    (r"v_(nop|clrexcp)$|ds_nop$", "no effect on data; `s_nop(n)` and `s_sleep(n)` wait"),
    (r"v_swap_b32|v_accvgpr_", "moves between registers: the compiler chooses registers"),
    (r"v_cmpx_", "changes which lanes run: `if`; the comparison itself is `v_cmp_…`"),
    (r"v_div_(scale|fmas|fixup)", "steps of the IEEE division: `x / y`"),
    (r"v_(fmaak|fmamk|madak|madmk)_", "form with a literal of `v_fma` or `v_mad`, chosen by the compiler"),
    (r"v_cvt_(pk)?norm_.16_f16", "LLVM offers no way to ask for it: `v_cvt_pknorm_…_f32` exists"),
    (r"v_pk_mov_b32|v_mov_b64|v_fma_mixhi_f16", "places halves in registers: indexing of tiles, `ag.stack`, `.regs`"),
    (
        r"v_(cube|qsad|mqsad|cvt_pk_u8_f32|cvt_pkaccum|trig_preop|screen)",
        "graphics or video: the simulated machine does not execute it",
    ),
    (r"ds_(gws|ordered|append|consume)|s_sendmsg|s_ttrace|s_(inc|dec)perf", "shared devices outside the program"),
    (r"ds_.*(addtid)", "reads its address from M0: `buffer.load` and `buffer.store`"),
    (r"ds_(read|write)", "LDS access: `buffer.load` and `buffer.store` with a width"),
    (r"ds_", "LDS atomic: buffers have loads and stores only; reductions (`.sum`, `.max`) cross lanes and waves"),
    (r"(buffer|global|flat|scratch|tbuffer)_.*atomic", "`A[…].atomic_add` and its kin; none return the old value"),
    (r"(buffer|global|flat|scratch|tbuffer)_(inv|wb)|buffer_wb", "cache maintenance: done at the end of a kernel"),
    (r"(buffer|global|flat|tbuffer)_", "`A[…].load`, `.store`, `.copy` with a width"),
    (r"scratch_|s_scratch_", "scratch memory: a kernel that needs it is refused"),
    (r"s_(load|store|buffer|atomic|dcache|atc|icache|mem)", "scalar memory: sizes and scalars are arguments"),
    (r"s_barrier", "`ag.barrier()`"),
    (r"s_waitcnt", "`ag.wait(vm=…, lgkm=…)`"),
    (r"s_setprio", "`ag.setprio(n)`"),
    (r"s_(c?branch|setpc|swappc|getpc|call|rfe)", "control flow: `for`, `if`, functions"),
    (r"s_(endpgm|trap|sethalt|setkill|wakeup)", "ends or stops waves: a kernel ends where its text ends"),
    (r"s_(getreg|setreg|set_gpr|setvskip|movrel)|s_.*(saveexec|wrexec)", "state of the wave: set by the compiler"),
    (r"s_", "scalar arithmetic: the arithmetic of indices becomes it"),
)


def why_not(op: str) -> str:
    """Why an opcode of the chip is not a function of the language."""
    for pattern, reason in _WHY_NOT:
        if re.match(pattern, op):
            return reason
    return ""


def bind(row: Call, given: Mapping[str, int]) -> dict[str, int]:
    """All options of a call, defaults filled in; raises ValueError naming the one that is wrong."""
    unknown = [name for name in given if name not in {o.name for o in row.options}]
    if unknown:
        raise ValueError(f"it has no argument `{unknown[0]}`")
    found: dict[str, int] = {}
    for option in row.options:
        value = given.get(option.name, option.default)
        if value is None:
            raise ValueError(f"it needs `{option.name}`")
        if not option.low <= value <= option.high:
            raise ValueError(f"`{option.name}` is {value}, outside {option.low}..{option.high}")
        found[option.name] = value
    return found
