"""Matrix instructions: what one MFMA computes, number by number.

Lane maps come from `argus.gfx942.mfma`; here is the arithmetic. For each element of D

    acc = C[i, j];  for k = 0, 1, ..., K-1:  acc = round(A[i, k] * B[k, j] + acc)

with one rounding to nearest even per step (a chain of fused multiply-adds) in f32, or f64 for the f64 forms; i32 wraps.
Denormals are kept and the MODE register is ignored. The hardware's own order and width of additions is not published;
this is the order of k, and results agree with it to a few units in the last place of the largest term.

    f16, bf16, fp8, bf8   widened exactly; their products are exact in f32 unless they leave its range
    xf32                  operands rounded to 10 mantissa bits (nearest even), then as f32
    cbsz/abid             the A blocks of each group of 2**cbsz blocks are replaced by block `abid` of the group
    blgp                  1: B lanes 32..63 read lanes 0..31; 2: the reverse; 3: rotate by 16 lanes;
                          4..7: broadcast of lanes 16 (blgp - 4) .. +15 to all; on f64: negate A, B, C (bits 0, 1, 2)

EXEC is ignored. Sparse forms (v_smfmac_*) are not implemented.
"""

from __future__ import annotations

from argus.gfx942.mfma import MFMA

LANES = 64


def b_lane_source(blgp: int) -> tuple[int, ...]:
    """For the `permute` meaning of blgp: the lane whose B registers each lane's B operand is read from."""
    lanes = range(LANES)
    if blgp == 0:
        return tuple(lanes)
    if blgp == 1:
        return tuple(i % 32 for i in lanes)
    if blgp == 2:
        return tuple(i % 32 + 32 for i in lanes)
    if blgp == 3:
        return tuple((i + 16) % 64 for i in lanes)
    return tuple(i % 16 + 16 * (blgp - 4) for i in lanes)


def a_block_source(blocks: int, cbsz: int, abid: int) -> tuple[int, ...]:
    """The block of A that each block of the product uses."""
    group = 1 << cbsz
    return tuple(block // group * group + abid % group for block in range(blocks))


MATRIX = frozenset(MFMA)
