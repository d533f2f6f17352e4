"""The translator's arithmetic and the interpreter's agree bit for bit, operation by operation and opcode by opcode.

Every entry of the vector and scalar tables is compiled through `LlvmBuilder` into host code and run on special values
in all pairings, and compared with the NumPy builder running the same entry. NaNs compare as NaN.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence

import llvmlite.binding as llvm
import numpy as np
import pytest

from argus.machine.jit.irtext import JitModule
from argus.machine.jit.llvm_builder import LlvmBuilder, LlvmValue
from argus.machine.semantics import SALU, VALU, MachineOp
from argus.machine.semantics.numpy_backend import ArithmeticMode, numpy_builder

WORDS32 = [
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001, 0x807FFFFF,
    0x00800000, 0x7F7FFFFF, 0x3F000000, 0x40490FDB, 0xC2F60000, 0x4B800001, 0x4F000000, 0xCF000001, 0x4F7FFFFF,
    0x33800000, 0x3EAAAAAB, 0x00003C00, 0x0000FC00, 0x00008001, 0x7E000001, 0x12345678, 0xFFFFFFFF, 0x0000001F,
    0x00000020, 0x00010001, 0x80017FFF,
]  # fmt: skip
WORDS64 = [
    0, 1 << 63, 0x3FF0000000000000, 0xBFF8000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 1,
    0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0x3FE0000000000000, 0x400921FB54442D18,
    0x41DFFFFFFFC00001, 0xC1E0000000200000, 0x41EFFFFFFFE00000, 0x36A0000000000001, 0x47EFFFFFE0000001,
    0xFFFFFFFFFFFFFFFF, 0x0123456789ABCDEF, 0x3810000000000000, 0x380FFFFFF0000000, 0x3F00000000000000,
    0x00000000FFFFFFFF,
]  # fmt: skip
WORDS16 = [
    0,
    0x8000,
    0x3C00,
    0xBC00,
    0x7C00,
    0xFC00,
    0x7E00,
    1,
    0x83FF,
    0x0400,
    0x7BFF,
    0x3800,
    0x4248,
    0x5640,
    0xFFFF,
    0x35AA,
]
KINDS = {
    "u64": "w64",
    "f64": "w64",
    "i64": "w64",
    "old64": "w64",
    "exec": "w64",
    "mask": "mask",
    "vcc": "mask",
    "scc": "mask",
}
KINDS |= {"u16": "h", "f16": "h", "i16": "ih", "k16": "w32", "k16u": "w32"}
RNG = np.random.default_rng(42)


def kind_of(word: str) -> str:
    return KINDS.get(word, "w32")


def argument_kinds(op: MachineOp) -> list[str]:
    """What each argument of the function is (v_pk_mov_b32 gets the chosen halves)."""
    return ["w32"] * len(op.args) if op.shape == "pkmov" else [kind_of(word) for word in op.args]


def values(kind: str) -> np.ndarray:
    if kind == "w64":
        return np.array(WORDS64, np.uint64)
    if kind == "mask":
        return np.array([0, 1], np.uint8)
    if kind == "h":
        return np.array(WORDS16, np.uint32)
    if kind == "ih":
        return np.array(WORDS16, np.uint16).view(np.int16).astype(np.int32).view(np.uint32)
    return np.array(WORDS32, np.uint32)


def inputs(kinds: Sequence[str]) -> list[np.ndarray]:
    pools = [values(k) for k in kinds]
    if len(pools) <= 2:
        rows = list(itertools.product(*pools))
    else:
        picks = [RNG.integers(0, len(p), 1200) for p in pools]
        rows = list(zip(*[p[i] for p, i in zip(pools, picks, strict=True)], strict=True))
    columns = [np.array(c, p.dtype) for c, p in zip(zip(*rows, strict=True), pools, strict=True)]
    noise = [RNG.integers(0, 1 << 32, 400, dtype=np.uint64).astype(np.uint32) for _ in pools]
    wide = [RNG.integers(0, 1 << 63, 400, dtype=np.uint64) * 2 for _ in pools]
    for i, kind in enumerate(kinds):
        extra = {"w32": noise[i], "w64": wide[i], "mask": (noise[i] & 1).astype(np.uint8), "h": noise[i] & 0xFFFF}
        more = (
            extra["h"].astype(np.uint16).view(np.int16).astype(np.int32).view(np.uint32)
            if kind == "ih"
            else extra[kind]
        )
        columns[i] = np.concatenate([columns[i], more])
    short = -len(columns[0]) % 8
    return [np.concatenate([c, c[:short]]) for c in columns]


STORAGE = {
    "w32": ("i32", 32, np.uint32),
    "h": ("i32", 32, np.uint32),
    "ih": ("i32", 32, np.uint32),
    "w64": ("i64", 64, np.uint64),
    "mask": ("i8", 1, np.uint8),
}


def emit(module: JitModule, name: str, op: MachineOp, mode: ArithmeticMode, width: int) -> None:
    """void name(ptr* args, ptr* results, i64 n): the op over n elements, `width` at a time (0: one)."""
    f = module.function(name, "void", [("ptr", "args"), ("ptr", "results"), ("i64", "n")])
    b = LlvmBuilder(f, width, flush32=mode.flush_f32, flush64=mode.flush_f64_f16, saturate_fp8=mode.saturate_fp8)
    step = width or 1
    with f.loop("%n", step) as i:
        arguments = []
        for k, kind in enumerate(argument_kinds(op)):
            element, bits, _ = STORAGE[kind]
            pointer = f.index(element, f.load("ptr", f.at("%args", 8 * k), 8), i)
            vector = f"<{width} x {element}>" if width else element
            loaded = f.load(vector, pointer)
            if bits == 1:
                loaded = f.cast("trunc", vector, loaded, f"<{width} x i1>" if width else "i1")
            arguments.append(LlvmValue(bits, loaded))
        made = op.fn(b, *arguments)
        for k, (word, value) in enumerate(zip(op.results, made if isinstance(made, tuple) else (made,), strict=True)):
            kind = kind_of(word) if value.bits != 1 else "mask"
            element, bits, _ = STORAGE[kind]
            pointer = f.index(element, f.load("ptr", f.at("%results", 8 * k), 8), i)
            spelled = b.whole(value)
            if bits == 1:
                mask = f"<{width} x i1>" if width else "i1"
                spelled = f.cast("zext", mask, spelled, f"<{width} x i8>" if width else "i8")
            f.store(f"<{width} x {element}>" if width else element, spelled, pointer)
    f.ret()


def compiled(module: JitModule) -> llvm.ExecutionEngine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1, jit=True
    )
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return engine


PACKED_HALVES = ("v_cvt_pkrtz_f16_f32", "v_pk_fmac_f16")


def same(name: str, word: str, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    equal = got == want
    if name in PACKED_HALVES:
        low, high = (same("", "f16", got >> s & 0xFFFF, want >> s & 0xFFFF) for s in (0, 16))
        return low & high
    if word == "f32":
        return equal | (np.isnan(got.view(np.float32)) & np.isnan(want.view(np.float32)))
    if word == "f64":
        return equal | (np.isnan(got.view(np.float64)) & np.isnan(want.view(np.float64)))
    if word in ("f16", "h16"):
        halves = [x.astype(np.uint16).view(np.float16) for x in (got, want)]
        return equal | (np.isnan(halves[0]) & np.isnan(halves[1]))
    return equal


def disagreements(table: dict[str, MachineOp], mode: ArithmeticMode, width: int) -> list[str]:
    module = JitModule()
    for name, op in table.items():
        emit(module, f"op_{name}", op, mode, width)
    engine = compiled(module)
    numpy_b = numpy_builder(mode)
    wrong: list[str] = []
    for name, op in table.items():
        kinds = argument_kinds(op)
        columns = inputs(kinds)
        count = len(columns[0])
        ready = [c.astype(bool) if k == "mask" else c for k, c in zip(kinds, columns, strict=True)]
        with np.errstate(all="ignore"):
            made = op.fn(numpy_b, *ready)
        wanted = made if isinstance(made, tuple) else (made,)
        got: list[np.ndarray] = []
        for word, want in zip(op.results, wanted, strict=True):
            mask = np.asarray(want).dtype == bool
            got.append(np.zeros(count, np.uint8 if mask else STORAGE[kind_of(word)][2]))
        pointers = [(ctypes.c_void_p * 4)(*[a.ctypes.data for a in arrays]) for arrays in (columns, got)]
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
            engine.get_function_address(f"op_{name}")
        )
        run(ctypes.addressof(pointers[0]), ctypes.addressof(pointers[1]), count)
        for word, have, want in zip(op.results, got, wanted, strict=True):
            expected = np.broadcast_to(np.asarray(want).astype(have.dtype), have.shape)
            bad = np.nonzero(~same(name, word, have, expected))[0]
            if len(bad):
                k = bad[0]
                shown = ", ".join(f"{int(c[k]):#x}" for c in columns)
                wrong.append(
                    f"{name}({shown}): JIT {int(have[k]):#x}, interpreter {int(expected[k]):#x} [{len(bad)} cases]"
                )
    return wrong


@pytest.mark.parametrize("flush", [False, True], ids=["denormals", "flush"])
def test_vector_table_agrees(flush: bool) -> None:
    mode = ArithmeticMode(flush_f32=flush, flush_f64_f16=flush)
    assert disagreements(dict(VALU), mode, 8) == []


def test_scalar_table_agrees() -> None:
    assert disagreements(dict(SALU), ArithmeticMode(), 0) == []
