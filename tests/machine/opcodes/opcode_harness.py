"""Running single instructions on chosen register contents, without a code object.

    run("v_add_u32", "u32 = u32 u32", [a, b])       a, b: 64 Python ints -> 64 Python ints

Signatures are the tests' own statement of an instruction's operands, in the words of `argus.machine.semantics.table`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from argus.gfx942.inst import VCC, Inst, InstOperand, Mod
from argus.machine.interp_packed import compile_vector
from argus.machine.interp_salu import compile_salu
from argus.machine.semantics.numpy_backend import ArithmeticMode
from argus.machine.state import ALL, Wave, Workgroup, bits_of

LANES = 64
WIDE = {"u64", "i64", "f64"}
TARGET, FIRST, MASK_TARGET, MASK_SOURCE = 4, 20, 20, 30
KEEP = ArithmeticMode()


def wave(mode: ArithmeticMode = KEEP, exec_: int = ALL) -> Wave:
    w = Wave(Workgroup((0, 0, 0), 0, 1024), 0, mode)
    w.set_exec(exec_)
    return w


def put(w: Wave, register: int, values: Sequence[int], wide: bool) -> None:
    w.v[register][...] = np.array([v & 0xFFFFFFFF for v in values], np.uint32)
    if wide:
        w.v[register + 1][...] = np.array([v >> 32 for v in values], np.uint32)


def get(w: Wave, register: int, wide: bool) -> list[int]:
    low = w.v[register].tolist()
    return [a | b << 32 for a, b in zip(low, w.v[register + 1].tolist(), strict=True)] if wide else low


def instruction(
    op: str, signature: str, mods: Mapping[str, Mod] | None = None, enc: str = "e64", **flags: Sequence[bool]
) -> Inst:
    """An instruction whose vector sources are v20, v22, ... and whose result is v4."""
    left, right = (side.split() for side in signature.split("="))
    operands = [
        InstOperand("s", MASK_TARGET, 2) if word == "mask" else InstOperand("v", TARGET, 2 if word in WIDE else 1)
        for word in left
        if word not in ("exec", "scc")
    ]
    at = FIRST
    for k, word in enumerate(w for w in right if w not in ("old", "old64", "vcc", "lane")):
        if word == "mask":
            operands.append(InstOperand("s", MASK_SOURCE, 2))
            continue
        neg, absolute = flags.get("neg", ()), flags.get("absolute", ())
        operands.append(
            InstOperand(
                "v",
                at,
                2 if word in WIDE else 1,
                neg=k < len(neg) and neg[k],
                abs=k < len(absolute) and absolute[k],
            )
        )
        at += 2
    return Inst(0, 8, op, enc, tuple(operands), dict(mods or {}))


def run(
    op: str,
    signature: str,
    sources: Sequence[Sequence[Any]],
    *,
    mods: Mapping[str, Mod] | None = None,
    mode: ArithmeticMode = KEEP,
    exec_: int = ALL,
    old: Sequence[int] | None = None,
    enc: str = "e64",
    **flags: Sequence[bool],
) -> Any:
    """Results of a vector instruction: a list per result (lists of bools for masks); a single list if there is one."""
    left, right = (side.split() for side in signature.split("="))
    w = wave(mode, exec_)
    at, given = FIRST, iter(sources)
    for word in right:
        if word == "lane":
            continue
        values = next(given)
        if word in ("old", "old64"):
            put(w, TARGET, values, word == "old64")
        elif word == "vcc":
            w.set_pair(VCC, bits_of(np.array(values, np.bool_)))
        elif word == "mask":
            w.set_pair(MASK_SOURCE, bits_of(np.array(values, np.bool_)))
        else:
            put(w, at, values, word in WIDE)
            at += 2
    if old is not None:
        put(w, TARGET, old, any(word in WIDE for word in left))
    with np.errstate(all="ignore"):
        compile_vector(instruction(op, signature, mods, enc, **flags), 256)(w)
    results = []
    for word in left:
        if word in ("mask", "exec"):
            bits = w.pair(MASK_TARGET) if word == "mask" else w.exec
            results.append([bool(bits >> i & 1) for i in range(LANES)])
        else:
            results.append(get(w, TARGET, word in WIDE))
    return results[0] if len(results) == 1 else results


def run_scalar(op: str, signature: str, sources: Sequence[int], exec_: int = ALL) -> dict[str, int]:
    """Results of a scalar instruction by word."""
    left, right = (side.split() for side in signature.split("="))
    w = wave(exec_=exec_)
    operands = [InstOperand("s", 10, 2 if word in WIDE else 1) for word in left if word not in ("scc", "exec")]
    at = 40
    for word, value in zip(right, sources, strict=True):
        if word == "scc":
            w.scc = bool(value)
        elif word == "exec":
            w.set_exec(value)
        elif word in ("old", "old64"):
            w.set_pair(10, value)
        elif word in ("k16", "k16u"):
            operands.append(InstOperand("imm", value))
        else:
            operands.append(InstOperand("s", at, 2 if word in WIDE else 1))
            w.set_pair(at, value)
            at += 2
    compile_salu(Inst(0, 4, op, "", tuple(operands)))(w)
    values = {"u32": w.s[10], "u64": w.pair(10), "scc": int(w.scc), "exec": w.exec}
    return {word: values[word] for word in left}


SPECIAL: dict[str, list[int]] = {
    "u32": [
        0,
        1,
        2,
        5,
        31,
        32,
        33,
        63,
        127,
        128,
        255,
        32767,
        32768,
        65535,
        65536,
        8388607,
        8388608,
        16777215,
        2147483647,
        2147483648,
        2147483649,
        4294967294,
        4294967295,
        202180615,
        305419896,
        2164227841,
    ],
    "u64": [
        0,
        1,
        63,
        2147483647,
        2147483648,
        4294967295,
        1 << 32,
        (1 << 63) - 1,
        1 << 63,
        (1 << 64) - 1,
        (1 << 64) - 2,
        1311768467463790320,
        18364758544493064720,
        8589934591,
        18446744069414584320,
    ],
    "u16": [0, 1, 15, 16, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF, 0x1234, 0xABCD],
    "f32": [
        0,
        2147483648,
        1,
        2147483649,
        8388607,
        8388608,
        2155872256,
        1065353216,
        3212836864,
        1065353217,
        1069547520,
        1073741824,
        2139095039,
        4286578687,
        2139095040,
        4286578688,
        2143289344,
        4290772993,
        2139095041,
        1065353215,
        1258291201,
        1325400064,
        3472883712,
        1333788672,
        1056964608,
        3204448256,
        864026624,
        4194304,
        1199562752,
        1199566848,
        947896320,
        855638016,
        1075838976,
        3227516928,
    ],
    "f64": [
        0,
        1 << 63,
        1,
        (1 << 52) - 1,
        1 << 52,
        4607182418800017408,
        13830554455654793216,
        4607182418800017409,
        9218868437227405311,
        9218868437227405312,
        18442240474082181120,
        9221120237041090560,
        4746794007244308480,
        13970166044103278592,
        4751297606875873280,
        3936146074321813504,
        3931642474694443008,
        5183643170835005440,
        4612811918334230528,
    ],
    "f16": [
        0,
        32768,
        1,
        32769,
        1023,
        1024,
        33792,
        15360,
        48128,
        15361,
        15872,
        16384,
        31743,
        64511,
        31744,
        64512,
        32256,
        65025,
        15359,
        25600,
        30720,
        14336,
        47104,
        512,
    ],
}
SPECIAL["i64"] = SPECIAL["u64"]
SPECIAL["i16"] = SPECIAL["u16"]
_BITS = {"u32": 32, "f32": 32, "u64": 64, "i64": 64, "f64": 64, "u16": 16, "i16": 16, "f16": 16}


def batches(words: Sequence[str], seed: int, count: int = 6) -> list[list[list[Any]]]:
    """Argument rows for a signature: specials against specials, then random bits. Each row has 64 values."""
    rng = random.Random(seed)
    lanes: list[tuple[Any, ...]] = []
    pools = [SPECIAL.get(w, [False, True]) for w in words]
    every = list(itertools.product(*pools)) if len(words) <= 2 else []
    if every:
        rng.shuffle(every)
        lanes += every[: 64 * count]
    while len(lanes) < 64 * count:
        lanes.append(tuple(_value(rng, w) for w in words))
    for k in range(0, len(lanes), 3):
        lanes[k] = tuple(_value(rng, w) for w in words)
    full = len(lanes) // 64
    return [[[lane[a] for lane in lanes[64 * b : 64 * b + 64]] for a in range(len(words))] for b in range(full)]


def _value(rng: random.Random, word: str) -> Any:
    if word in ("mask", "vcc", "scc"):
        return rng.random() < 0.5
    pool = {"old": "u32", "old64": "u64", "exec": "u64", "k16": "u16", "k16u": "u16"}.get(word, word)
    return rng.choice(SPECIAL[pool]) if rng.random() < 0.5 else rng.getrandbits(_BITS[pool])


Oracle = Callable[..., Any]
