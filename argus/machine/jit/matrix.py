"""Matrix instructions as runtime functions: unpack ("stage") the operands once, then multiply.

The lane maps of gfx942 need no shuffles on a CPU: a row of B is contiguous lanes of one staged row, a row of D is
contiguous lanes of one vector register, and an element of A is one float to broadcast. For v_mfma_f32_16x16x16_bf16:

    stage_bf16(slotA, v2)   slot[j][lane] = element j (0..3) of the lane, widened to f32          (1 KiB)
    stage_bf16(slotB, v4)
    matmul_f32_16x16x16x1(D, slotA, slotB, C)    for each 4 rows x 16 columns: acc = fma(A[i,k], B[k,:], acc), k = 0..15

Products accumulate in ascending k, one fused multiply-add each, starting from C. That order is the machine's
definition of an MFMA (the hardware's is not published); the interpreter computes the same.

Staging is separate because a tile kernel uses each operand several times: the translator remembers which registers are
already staged and skips the work (a fifth of the time of a large GEMM). f32 operands need no staging at all.

What it cannot do: `cbsz`, `abid` and `blgp` are not here; the translator permutes staged lanes for them beforehand.
"""

from __future__ import annotations

from functools import partial

from argus.gfx942.mfma import MFMA, MfmaShape
from argus.machine.jit.frame import CHUNK, CHUNKS, LANES, ROW
from argus.machine.jit.irtext import Definers, JitFunction, JitModule

F32X8 = "<8 x float>"
I32X8 = "<8 x i32>"

Shape = tuple[str, int, int, int, int]


def shape_of(instruction: MfmaShape) -> Shape:
    """What the multiplication depends on once operands are staged: accumulator type, m, n, k, blocks."""
    return (instruction.c, instruction.m, instruction.n, instruction.k, instruction.blocks)


def matmul_name(instruction: MfmaShape) -> str:
    kind, m, n, k, blocks = shape_of(instruction)
    return f"matmul_{kind}_{m}x{n}x{k}x{blocks}"


def stage_name(element: str, registers: int) -> str | None:
    """The staging function of an operand, or None where the registers can be used as they are."""
    return None if element == "f32" else f"stage_{element}_{registers}"


def staged_rows(element: str, registers: int) -> int:
    """How many rows of 64 floats (or pairs of rows for f64) a staged operand takes."""
    per_register = {"f32": 1, "xf32": 1, "f64": 1, "f16": 2, "bf16": 2, "fp8": 4, "bf8": 4, "i8": 4}[element]
    return registers * per_register


def matrix_functions() -> Definers:
    """Every staging and multiplication function the dense matrix instructions need."""
    made: Definers = {}
    operands = {(m.a, m.a_registers) for m in MFMA.values()} | {(m.b, m.b_registers) for m in MFMA.values()}
    for element, registers in sorted(operands):
        name = stage_name(element, registers)
        if name is not None:
            made[name] = partial(_define_stage, element=element, registers=registers)
    for m in MFMA.values():
        made[matmul_name(m)] = partial(_define_matmul, shape=shape_of(m))
    return made


def _define_matmul(module: JitModule, shape: Shape) -> None:
    kind, m, n, k, blocks = shape
    pointers = [("ptr", "d"), ("ptr", "a"), ("ptr", "b"), ("ptr", "c")]
    f = module.function(f"matmul_{kind}_{m}x{n}x{k}x{blocks}", "void", pointers)
    if kind == "f64":
        _matmul_f64(f, m, k, blocks)
    elif m == 4:
        _matmul_4x4(f, kind, k)
    else:
        _matmul_rows(f, kind, m, k, blocks)
    f.ret()


def _vector(kind: str) -> str:
    return I32X8 if kind == "i32" else F32X8


def _multiply_add(f: JitFunction, kind: str, a: str, b: str, acc: str, width: int = 8) -> str:
    if kind == "i32":
        vector = f"<{width} x i32>"
        return f.add(vector, acc, f.mul(vector, a, b))
    element, suffix = ("double", "f64") if kind == "f64" else ("float", "f32")
    vector = f"<{width} x {element}>"
    return f.call(vector, f"llvm.fma.v{width}{suffix}", (vector, a), (vector, b), (vector, acc))


def _broadcast(f: JitFunction, kind: str, pointer: str, width: int = 8) -> str:
    element = {"i32": "i32", "f64": "double"}.get(kind, "float")
    align = 8 if kind == "f64" else 4
    return f.splat(element, width, f.load(element, pointer, align))


def _matmul_rows(f: JitFunction, kind: str, m: int, k: int, blocks: int) -> None:
    """16- and 32-row shapes: a group is four D rows of 16 columns, or two D rows of 32 columns."""
    groups = LANES // m
    per_group = k // groups if blocks == 1 else k
    vectors = m // CHUNK
    vector = _vector(kind)
    with f.loop(4 * blocks if m == 16 else 16 * blocks) as trip:
        if m == 16:
            # trip = 4*block + q: rows 4q..4q+3 are registers 4*block..4*block+3, lanes 16q..16q+15
            block, q = f.binary("lshr", "i64", trip, "2"), f.binary("and", "i64", trip, "3")
            first = f.add("i64", f.mul("i64", block, str(4 * ROW)), f.mul("i64", q, str(16 * 4)))
            rows = [(f.at("%d", first), f.at("%c", first), r * ROW) for r in range(4)]
            a_row = [f.add("i64", f.mul("i64", q, "16"), str(4 * r)) for r in range(4)]
        else:
            # trip = 16*block + register: lanes 0..31 are row 8*(register/4) + register%4, lanes 32..63 the fourth after
            block, register = f.binary("lshr", "i64", trip, "4"), f.binary("and", "i64", trip, "15")
            base = f.mul("i64", trip, str(ROW))
            rows = [(f.at("%d", base), f.at("%c", base), half * 32 * 4) for half in range(2)]
            eighth = f.mul("i64", f.binary("lshr", "i64", register, "2"), "8")
            row = f.mul("i64", f.add("i64", eighth, f.binary("and", "i64", register, "3")), "4")
            a_row = [row, f.add("i64", row, "16")]
        block_lane = f.mul("i64", block, str(4 * m)) if blocks > 1 else "0"
        a_pointers = [f.at(f.at("%a", block_lane), offset) for offset in a_row]
        b_pointer = f.at("%b", block_lane)
        acc = [[f.load(vector, f.at(c, offset + 32 * v), 32) for v in range(vectors)] for _, c, offset in rows]
        for step in range(k):
            group, j = (step // per_group, step % per_group) if blocks == 1 else (0, step)
            offset = j * ROW + group * m * 4
            b = [f.load(vector, f.at(b_pointer, offset + 32 * v), 32) for v in range(vectors)]
            for r, pointer in enumerate(a_pointers):
                a = _broadcast(f, kind, f.at(pointer, offset))
                acc[r] = [_multiply_add(f, kind, a, b[v], acc[r][v]) for v in range(vectors)]
        for r, (d, _, offset) in enumerate(rows):
            for v in range(vectors):
                f.store(vector, acc[r][v], f.at(d, offset + 32 * v), 32)


def _matmul_4x4(f: JitFunction, kind: str, k: int) -> None:
    """Sixteen blocks of 4x4: lane 4b+j of D register i needs A of lane 4b+i, a fixed shuffle within each chunk."""
    vector = _vector(kind)
    element = "i32" if kind == "i32" else "float"
    with f.loop(CHUNKS) as chunk:
        here = f.mul("i64", chunk, str(4 * CHUNK))
        a, b, c, d = (f.at(p, here) for p in ("%a", "%b", "%c", "%d"))
        a_rows = [f.load(vector, f.at(a, j * ROW), 32) for j in range(k)]
        b_rows = [f.load(vector, f.at(b, j * ROW), 32) for j in range(k)]
        for i in range(4):
            acc = f.load(vector, f.at(c, i * ROW), 32)
            for j in range(k):
                spread = f.shuffle(element, 8, a_rows[j], "poison", [i] * 4 + [4 + i] * 4)
                acc = _multiply_add(f, kind, spread, b_rows[j], acc)
            f.store(vector, acc, f.at(d, i * ROW), 32)


def _matmul_f64(f: JitFunction, m: int, k: int, blocks: int) -> None:
    """f64: staged operands are 64 doubles; D pairs are read and written as two registers each."""
    vector = "<4 x double>"
    if blocks == 1:
        # pair p, lanes 16h..16h+15 hold row 4p + h
        with f.loop(4) as p, f.loop(4) as h:
            row = f.add("i64", f.mul("i64", p, "4"), h)
            offset = f.add("i64", f.mul("i64", p, str(2 * ROW)), f.mul("i64", h, str(16 * 4)))
            for v in range(4):
                acc = _load_pairs(f, f.at(f.at("%c", offset), 16 * v))
                for step in range(k):
                    a = _broadcast(f, "f64", f.at(f.index("double", "%a", row), 16 * 8 * step), 4)
                    b = f.load(vector, f.at("%b", 16 * 8 * step + 32 * v), 32)
                    acc = _multiply_add(f, "f64", a, b, acc, 4)
                _store_pairs(f, acc, f.at(f.at("%d", offset), 16 * v))
        return
    # 4x4x4 in four blocks: A lane 16k+4b+i, B lane 16k+4b+j, D lane 16i+4b+j; a vector is one (row, block)
    with f.loop(m) as i, f.loop(blocks) as block:
        offset = f.add("i64", f.mul("i64", i, str(16 * 4)), f.mul("i64", block, str(4 * 4)))
        b_lane = f.mul("i64", block, "4")
        a_lane = f.add("i64", b_lane, i)
        acc = _load_pairs(f, f.at("%c", offset))
        for step in range(k):
            a = _broadcast(f, "f64", f.at(f.index("double", "%a", a_lane), 16 * 8 * step), 4)
            b = f.load(vector, f.at(f.index("double", "%b", b_lane), 16 * 8 * step), 32)
            acc = _multiply_add(f, "f64", a, b, acc, 4)
        _store_pairs(f, acc, f.at("%d", offset))


def _load_pairs(f: JitFunction, pointer: str) -> str:
    """Four doubles whose low words are in one register row and high words in the next."""
    low = f.load("<4 x i32>", pointer, 16)
    high = f.load("<4 x i32>", f.at(pointer, ROW), 16)
    both = f.shuffle("i32", 4, low, high, [0, 4, 1, 5, 2, 6, 3, 7])
    return f.cast("bitcast", "<8 x i32>", both, "<4 x double>")


def _store_pairs(f: JitFunction, value: str, pointer: str) -> None:
    words = f.cast("bitcast", "<4 x double>", value, "<8 x i32>")
    f.store("<4 x i32>", f.shuffle("i32", 8, words, "poison", [0, 2, 4, 6]), pointer, 16)
    f.store("<4 x i32>", f.shuffle("i32", 8, words, "poison", [1, 3, 5, 7]), f.at(pointer, ROW), 16)


def _define_stage(module: JitModule, element: str, registers: int) -> None:
    f = module.function(f"stage_{element}_{registers}", "void", [("ptr", "out"), ("ptr", "v")])
    if element == "f64":
        with f.loop(LANES // 4) as quad:
            pair = _load_pairs(f, f.at("%v", f.mul("i64", quad, "16")))
            f.store("<4 x double>", pair, f.at("%out", f.mul("i64", quad, "32")), 32)
        f.ret()
        return
    per_register = staged_rows(element, 1)
    with f.loop(CHUNKS) as chunk:
        here = f.mul("i64", chunk, "32")
        source, target = f.at("%v", here), f.at("%out", here)
        for register in range(registers):
            word = f.load(I32X8, f.at(source, register * ROW), 32)
            for slot in range(per_register):
                value = _widen(f, element, word, slot)
                f.store(I32X8, value, f.at(target, (register * per_register + slot) * ROW), 32)
    f.ret()


def _splat_i32(value: int) -> str:
    return f"splat (i32 {value})"


def _widen(f: JitFunction, element: str, word: str, slot: int) -> str:
    """Element `slot` of each 32-bit word as f32 bits (i32 for i8)."""
    if element == "bf16":
        if slot == 0:
            return f.binary("shl", I32X8, word, _splat_i32(16))
        return f.binary("and", I32X8, word, _splat_i32(-65536))
    if element == "f16":
        shifted = f.binary("lshr", I32X8, word, _splat_i32(16)) if slot else word
        half = f.cast("bitcast", "<8 x i16>", f.cast("trunc", I32X8, shifted, "<8 x i16>"), "<8 x half>")
        return f.cast("bitcast", F32X8, f.cast("fpext", "<8 x half>", half, F32X8), I32X8)
    if element == "xf32":
        return xf32(f, word)
    if element == "i8":
        left = f.binary("shl", I32X8, word, _splat_i32(24 - 8 * slot))
        return f.binary("ashr", I32X8, left, _splat_i32(24))
    byte = f.binary("and", I32X8, f.binary("lshr", I32X8, word, _splat_i32(8 * slot)), _splat_i32(0xFF))
    return widen_fnuz(f, byte, mantissa=3 if element == "fp8" else 2)


def xf32(f: JitFunction, word: str) -> str:
    """f32 with the mantissa cut to 10 bits (round to nearest even)."""
    tie = f.binary("and", I32X8, f.binary("lshr", I32X8, word, _splat_i32(13)), _splat_i32(1))
    rounded = f.add(I32X8, word, f.add(I32X8, tie, _splat_i32(0xFFF)))
    cut = f.binary("and", I32X8, rounded, _splat_i32(-8192))
    special = f.compare("eq", I32X8, f.binary("and", I32X8, word, _splat_i32(0x7F800000)), _splat_i32(0x7F800000))
    return f.select(special, I32X8, word, cut, "<8 x i1>")


def widen_fnuz(f: JitFunction, byte: str, mantissa: int) -> str:
    """FNUZ fp8 (3 mantissa bits, bias 8) or bf8 (2, bias 16) to f32 bits: rescale by a power of two; 0x80 is NaN."""
    exponent_shift = 23 - mantissa
    magnitude = f.binary("shl", I32X8, f.binary("and", I32X8, byte, _splat_i32(0x7F)), _splat_i32(exponent_shift))
    bias = 8 if mantissa == 3 else 16
    scale = f"splat (float {float(2.0 ** (127 - bias)):.1f})" if bias == 8 else f"splat (float {2.0**111:.1f})"
    scaled = f.binary("fmul", F32X8, f.cast("bitcast", I32X8, magnitude, F32X8), scale)
    sign = f.binary("shl", I32X8, f.binary("and", I32X8, byte, _splat_i32(0x80)), _splat_i32(24))
    bits = f.binary("or", I32X8, f.cast("bitcast", F32X8, scaled, I32X8), sign)
    nan = f.compare("eq", I32X8, byte, _splat_i32(0x80))
    return f.select(nan, I32X8, _splat_i32(0x7FC00000), bits, "<8 x i1>")
