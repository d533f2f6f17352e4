"""The 32 dense matrix instructions of gfx942 (MFMA) as data, with their lane maps in closed form.

One MFMA computes D[i, j] = C[i, j] + sum over k of A[i, k] * B[k, j] for one or several independent blocks. A wave
holds A, B, C and D spread over its 64 lanes; *where* each element lives is what a kernel author, the checker and the
machine must agree on. `a_index`, `b_index` and `d_index` say it once, from holder (lane, element) to coordinate:

    m = MFMA["v_mfma_f32_32x32x8_bf16"]        # or mfma("mfma_32x32x8_bf16")
    m.a_index(lane=37, e=2)  -> (5, 6, 0)      # lane 37 holds A[5, 6] as its third bf16 (second register, low half)
    m.d_index(lane=37, r=9)  -> (21, 5, 0)     # and D[21, 5] in the tenth accumulator register

`e` counts elements inside the lane's A (or B) registers, low bits first; `r` counts elements inside the lane's C/D
registers: 32-bit registers, except for f64 where one element is a register pair.

Why this direction: owners and loops start from the lane. The maps use only `+ * // %`, so integers, numpy arrays and
index expressions go through the same code. The opposite direction is what the tests use to check every element.

Sources: AMD matrix instruction calculator (architecture cdna3) for shapes, registers, clocks, modifiers and maps;
LLVM `SISchedule.td` (SIDPGFX940FullSpeedModel) agrees on every pass count.

What is not here: sparse `smfmac` forms; the order and width of the additions inside one instruction, which AMD does not
publish; wait states between instructions, which belong to the hazard rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

PASS_CLOCKS = 4
ISSUE_CLOCKS = 4

Blgp = Literal["none", "permute", "negate"]

BITS: Mapping[str, int] = MappingProxyType(
    {"f64": 64, "f32": 32, "xf32": 32, "i32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8}
)


@dataclass(frozen=True, slots=True)
class MfmaShape:
    """One matrix instruction.

    name          mnemonic as LLVM prints it for gfx942, without encoding suffix
    m, n, k       shape of one block; `blocks` independent blocks are computed at once
    a, b, c       element types of A, B and C/D (fp8: E4M3 FNUZ, bf8: E5M2 FNUZ, xf32: f32 read with 10 mantissa bits)
    passes        occupation of the SIMD's matrix core in passes of four clocks
    coexec        clocks in which the SIMD may run VALU work beside it
    xdl           runs on the low-precision matrix datapath (decides the wait states)
    cbsz          accepts `cbsz`/`abid` (broadcast of one A block to several)
    blgp          meaning of the `blgp` field: none, permute (lanes of B), negate (signs, f64 only)
    intrinsic     LLVM intrinsic; operands A, B, C, then the immediates cbsz, abid, blgp as i32
    """

    name: str
    m: int
    n: int
    k: int
    blocks: int
    a: str
    b: str
    c: str
    passes: int
    coexec: int
    xdl: bool
    cbsz: bool
    blgp: Blgp
    intrinsic: str

    @property
    def cycles(self) -> int:
        """Clocks the matrix core is busy; also the distance of two instructions chained through the same C/D."""
        return PASS_CLOCKS * self.passes

    @property
    def flops(self) -> int:
        """Multiplications and additions of one wave instruction."""
        return 2 * self.m * self.n * self.k * self.blocks

    @property
    def flops_per_clock_cu(self) -> int:
        """Peak of one compute unit: four matrix cores."""
        return 4 * self.flops // self.cycles

    @property
    def a_elements(self) -> int:
        """Elements of A per lane; B has as many, because every dense shape has m == n."""
        return self.m * self.k * self.blocks // 64

    @property
    def d_elements(self) -> int:
        """Elements of C (and D) per lane."""
        return self.m * self.n * self.blocks // 64

    @property
    def a_registers(self) -> int:
        return self.a_elements * BITS[self.a] // 32

    @property
    def b_registers(self) -> int:
        return self.a_elements * BITS[self.b] // 32

    @property
    def c_registers(self) -> int:
        return self.d_elements * BITS[self.c] // 32

    @property
    def a_type(self) -> str:
        """LLVM type of the A and B operands of the intrinsic."""
        return _AB_TYPES[self.a, self.a_elements]

    @property
    def b_type(self) -> str:
        return _AB_TYPES[self.b, self.a_elements]

    @property
    def c_type(self) -> str:
        """LLVM type of the C operand and of the result."""
        scalar = _C_SCALARS[self.c]
        return scalar if self.d_elements == 1 else f"<{self.d_elements} x {scalar}>"

    def a_index(self, lane: Any, e: Any) -> tuple[Any, Any, Any]:
        """(i, k, block) of element `e` of A in `lane`."""
        row = lane % self.m
        if self.c == "f64" and self.blocks > 1:
            return row, lane // 16, lane // self.m % self.blocks
        if self.blocks > 1:
            return row, e, lane // self.m
        return row, self.a_elements * (lane // self.m) + e, 0

    def b_index(self, lane: Any, e: Any) -> tuple[Any, Any, Any]:
        """(j, k, block) of element `e` of B in `lane`: B is held as A is, with j for i."""
        return self.a_index(lane, e)

    def d_index(self, lane: Any, r: Any) -> tuple[Any, Any, Any]:
        """(i, j, block) of element `r` of C and D in `lane`."""
        if self.c == "f64":
            if self.blocks > 1:
                return lane // 16, lane % self.n, lane // self.n % self.blocks
            return 4 * r + lane // 16, lane % self.n, 0
        if self.m == 4:
            return r, lane % 4, lane // 4
        if self.m == 16:
            return 4 * (lane // 16) + r % 4, lane % 16, r // 4 if self.blocks > 1 else 0
        return 8 * (r // 4 % 4) + 4 * (lane // 32) + r % 4, lane % 32, r // 16 if self.blocks > 1 else 0


_AB_TYPES: Mapping[tuple[str, int], str] = MappingProxyType(
    {
        ("f64", 1): "double",
        ("f32", 1): "float",
        ("xf32", 2): "<2 x float>",
        ("f16", 4): "<4 x half>",
        ("bf16", 4): "<4 x i16>",
        ("i8", 4): "i32",
        ("i8", 8): "i64",
        ("fp8", 8): "i64",
        ("bf8", 8): "i64",
    }
)
_C_SCALARS: Mapping[str, str] = MappingProxyType({"f32": "float", "i32": "i32", "f64": "double"})


def _table() -> dict[str, MfmaShape]:
    rows: list[MfmaShape] = []

    def add(
        shape: tuple[int, int, int, int], ab: str, c: str, passes: int, coexec: int, intrinsic: str, blgp: Blgp = "none"
    ) -> None:
        m, n, k, blocks = shape
        a, _, b = ab.partition("_")
        block_text = f"_{blocks}b" if blocks > 1 else ""
        rows.append(
            MfmaShape(
                name=f"v_mfma_{c}_{m}x{n}x{k}{block_text}_{ab}",
                m=m,
                n=n,
                k=k,
                blocks=blocks,
                a=a,
                b=b or a,
                c=c,
                passes=passes,
                coexec=coexec,
                xdl=a not in ("f32", "f64"),
                cbsz=blgp == "permute" and blocks > 1,
                blgp=blgp,
                intrinsic=f"llvm.amdgcn.mfma.{intrinsic}",
            )
        )

    add((32, 32, 1, 2), "f32", "f32", 16, 0, "f32.32x32x1f32", "permute")
    add((16, 16, 1, 4), "f32", "f32", 8, 0, "f32.16x16x1f32", "permute")
    add((4, 4, 1, 16), "f32", "f32", 2, 0, "f32.4x4x1f32", "permute")
    add((32, 32, 2, 1), "f32", "f32", 16, 0, "f32.32x32x2f32", "permute")
    add((16, 16, 4, 1), "f32", "f32", 8, 0, "f32.16x16x4f32", "permute")
    add((32, 32, 4, 1), "xf32", "f32", 8, 28, "f32.32x32x4.xf32")
    add((16, 16, 8, 1), "xf32", "f32", 4, 12, "f32.16x16x8.xf32")
    for half, suffix in (("f16", "f16"), ("bf16", "bf16.1k")):
        add((32, 32, 4, 2), half, "f32", 16, 60, f"f32.32x32x4{suffix}", "permute")
        add((16, 16, 4, 4), half, "f32", 8, 28, f"f32.16x16x4{suffix}", "permute")
        add((4, 4, 4, 16), half, "f32", 2, 4, f"f32.4x4x4{suffix}", "permute")
        add((32, 32, 8, 1), half, "f32", 8, 28, f"f32.32x32x8{suffix}")
        add((16, 16, 16, 1), half, "f32", 4, 12, f"f32.16x16x16{suffix}")
    add((32, 32, 4, 2), "i8", "i32", 16, 60, "i32.32x32x4i8", "permute")
    add((16, 16, 4, 4), "i8", "i32", 8, 28, "i32.16x16x4i8", "permute")
    add((4, 4, 4, 16), "i8", "i32", 2, 4, "i32.4x4x4i8", "permute")
    add((32, 32, 16, 1), "i8", "i32", 8, 28, "i32.32x32x16.i8")
    add((16, 16, 32, 1), "i8", "i32", 4, 12, "i32.16x16x32.i8")
    for ab in ("bf8_bf8", "bf8_fp8", "fp8_bf8", "fp8_fp8"):
        dotted = ab.replace("_", ".")
        add((32, 32, 16, 1), ab, "f32", 8, 28, f"f32.32x32x16.{dotted}")
        add((16, 16, 32, 1), ab, "f32", 4, 12, f"f32.16x16x32.{dotted}")
    add((16, 16, 4, 1), "f64", "f64", 8, 0, "f64.16x16x4f64", "negate")
    add((4, 4, 4, 4), "f64", "f64", 4, 0, "f64.4x4x4f64", "negate")
    return {row.name: row for row in rows}


MFMA: Mapping[str, MfmaShape] = MappingProxyType(_table())


def _alias(row: MfmaShape) -> str:
    return row.name.removeprefix("v_").replace(f"mfma_{row.c}_", "mfma_", 1)


ALIASES: Mapping[str, str] = MappingProxyType({_alias(row): row.name for row in MFMA.values()})
"""Author's short name -> mnemonic: `mfma_32x32x8_bf16`, `mfma_16x16x32_fp8_fp8`, `mfma_16x16x4_f64` ..."""


def mfma(name: str) -> MfmaShape:
    """The entry of a mnemonic or of an author's short name; KeyError names the nearest shapes that do exist."""
    key = ALIASES.get(name, name)
    try:
        return MFMA[key]
    except KeyError:
        element = name.rpartition("_")[2]
        near = sorted(alias for alias in ALIASES if alias.endswith(f"_{element}")) or sorted(ALIASES)
        raise KeyError(f"gfx942 has no matrix instruction {name!r}; it has {', '.join(near)}") from None
