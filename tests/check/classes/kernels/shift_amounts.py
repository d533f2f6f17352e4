"""Shifts of data at and beyond the width of their type. On paper all of them copy."""

import argus as ag
from argus import i8, i16, i32, i64, u8, u16, u32

CASE = ag.knob(0, legal=tuple(range(32)), why="which variant")
KINDS = (i8, i8, i8, i8, i16, i16, i16, i16, i32, i32, i32, i32, i64, i64, i64, i64)
MORE = (u8, u16, u32, i32, i64, i8, i32, i64, i32, i32, i8, i16, i32, i32, i32, u8)
T = (KINDS + MORE)[CASE]
BYTES = T.bytes
PART = ag.Owner(t=64, i="t")


@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = x[i]", example=dict(N=100))
def shift_amounts(x: ag.In["N", T], amount: ag.In["N", T], y: ag.Out["N", T]):
    at = 64 * ag.grid(ag.cdiv(N, 64))
    v = x[at].load(PART, width=BYTES, guard="shape")
    s = amount[at].load(PART, width=BYTES, guard="shape")
    if CASE in (0, 4):  # the width of the narrow type and more, times nothing
        z = v + (v << 8 * BYTES) * 0
    elif CASE == 1:
        z = v + (v << ag.full(PART, i8, 8)) * 0
    elif CASE == 2:  # modulo 2^8 nothing is left of x * 2^8
        z = v + (v << 8)
    elif CASE == 3:
        z = v + (v >> 9) * 0
    elif CASE == 5:
        z = v + (v << 20)
    elif CASE == 6:
        z = v >> 32
    elif CASE == 7:
        z = v + ((v << 15) << 1)
    elif CASE == 8:
        z = v + (v << 32) * 0
    elif CASE == 9:
        z = v + (v << 40) * 0
    elif CASE == 10:  # by nothing
        z = v << 32
    elif CASE == 11:
        z = (v << -31) - v
    elif CASE == 12:
        z = v + (v << 64) * 0
    elif CASE == 13:
        z = v + (v << 70) * 0
    elif CASE == 14:
        z = v + (v << 40) - v * 2**40
    elif CASE == 15:
        z = v >> 64
    elif CASE in (16, 17):
        z = v + (v << 8 * BYTES)
    elif CASE == 18:
        z = v + (v << 32) - v
    elif CASE == 19:  # amounts from data: what counts of them
        z = v + (v << 9 * s) - (v << (9 * s & 31))
    elif CASE == 20:
        z = v + (v >> 9 * s) - (v >> (9 * s & 63))
    elif CASE == 21:  # in 32 bits, cut to 8
        z = v + (v << s) - (v.to(i32) << s.to(i32)).to(i8)
    elif CASE == 22:  # wrong from here on: 40 is 8 in 32 bits, and 40 in 64
        z = v + (v.to(i64) << 40).to(i32) - (v << 40)
    elif CASE == 23:
        z = v + (v.to(i32) << 40).to(i64) - (v << 40)
    elif CASE == 24:
        z = v + (v.to(i64) << 9 * s.to(i64)).to(i32) - (v << 9 * s)
    elif CASE == 25:
        z = v + (v.to(i64) >> 32 * s.to(i64)).to(i32) - (v >> 32 * s)
    elif CASE == 26:  # by 8 nothing is left, by 0 all
        z = v + (v << s) - (v << (s & 7))
    elif CASE == 27:
        z = v + (v >> 4 * s) - (v >> (4 * s & 15))
    elif CASE == 28:
        z = v + (v >> 32)
    elif CASE == 29:
        z = v + (v << 32)
    elif CASE == 30:
        z = v + (v << -1) * 2 + (v << 33)
    else:
        z = v + (v >> 32)
    y[at].store(z, width=BYTES, guard="shape")
