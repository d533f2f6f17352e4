"""Persistent loops: a few workgroups share all tiles, each taking every eighth; right ones first, then wrong ones."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(20)), why="which variant")

PART = ag.Owner(t=256, e=4, i="t*4 + e")
LINE = ag.Layout(i=(1024, 4))
BACK = ag.Owner(t=256, e=4, i="(255 - t)*4 + e")


@ag.kernel(threads=256, requires="N >= 1", computes="y[i] = 2 * x[i]", example=dict(N=20000))
def persistent(x: ag.In["N", f32], y: ag.Out["N", f32]):
    line = ag.shared(LINE, f32)
    T = ag.cdiv(N, 1024)
    if CASE == 0:  # right: the tile is the loop's variable
        b = ag.grid(8)
        for t in ag.range(b, T, 8):
            y[1024 * t].store(x[1024 * t].load(PART, width=16) * 2.0, width=16)
    elif CASE == 1:  # right: turns and blocks
        b = ag.grid(8)
        for r in ag.range(0, T, 8):
            y[1024 * (r + b)].store(x[1024 * (r + b)].load(PART, width=16) * 2.0, width=16)
    elif CASE == 2:  # right: the same under a condition
        b = ag.grid(8)
        for r in ag.range(0, T, 8):
            if r + b < T:
                y[1024 * (r + b)].store(x[1024 * (r + b)].load(PART, width=16) * 2.0, width=16)
    elif CASE == 3:  # right: through LDS
        b = ag.grid(8)
        for t in ag.range(b, T, 8):
            line.store(x[1024 * t].load(PART, width=16), width=16)
            ag.barrier()
            got = line.load(BACK, width=16)
            ag.barrier()
            y[1024 * t].store(got * 2.0, width=16)
    elif CASE == 4:  # right: a block takes sixteen tiles in a row
        b = ag.grid(ag.cdiv(T, 16))
        for r in ag.range(16):
            y[1024 * (16 * b + r)].store(x[1024 * (16 * b + r)].load(PART, width=16) * 2.0, width=16)
    elif CASE == 5:  # right: elements instead of tiles are counted
        b = ag.grid(8)
        for i in ag.range(1024 * b, N, 8192):
            y[i].store(x[i].load(PART, width=16) * 2.0, width=16)
    elif CASE == 6:  # right: the number of turns is the same for all
        b = ag.grid(8)
        for r in ag.range(ag.cdiv(T, 8)):
            t = 8 * r + b
            y[1024 * t].store(x[1024 * t].load(PART, width=16) * 2.0, width=16)
    elif CASE == 7:  # right: the next tile is loaded ahead
        b = ag.grid(8)
        ahead = x[1024 * b].load(PART, width=16)
        for t in ag.range(b, T, 8):
            here = ahead
            ahead = x[1024 * (t + 8)].load(PART, width=16)
            y[1024 * t].store(here * 2.0, width=16)
    elif CASE == 8:  # wrong: seven blocks, every eighth tile
        b = ag.grid(7)
        for t in ag.range(b, T, 8):
            y[1024 * t].store(x[1024 * t].load(PART, width=16) * 2.0, width=16)
    elif CASE == 9:  # wrong: nine blocks, every eighth tile
        b = ag.grid(9)
        for t in ag.range(b, T, 8):
            y[1024 * t].store(x[1024 * t].load(PART, width=16) * 2.0, width=16)
    elif CASE == 10:  # wrong: one tile short
        b = ag.grid(8)
        for t in ag.range(b, T - 1, 8):
            y[1024 * t].store(x[1024 * t].load(PART, width=16) * 2.0, width=16)
    elif CASE == 11:  # wrong: starts with the second tile
        b = ag.grid(8)
        for t in ag.range(b + 1, T, 8):
            y[1024 * t].store(x[1024 * t].load(PART, width=16) * 2.0, width=16)
    elif CASE == 12:  # wrong: whole turns only
        b = ag.grid(8)
        for r in ag.range(T // 8):
            y[1024 * (8 * r + b)].store(x[1024 * (8 * r + b)].load(PART, width=16) * 2.0, width=16)
    elif CASE == 13:  # wrong: the condition drops the last tile
        b = ag.grid(8)
        for r in ag.range(0, T, 8):
            if r + b + 1 < T:
                y[1024 * (r + b)].store(x[1024 * (r + b)].load(PART, width=16) * 2.0, width=16)
    elif CASE == 14:  # wrong: the stride of the blocks is the loop's
        b = ag.grid(8)
        for r in ag.range(0, T, 8):
            y[1024 * (r + 8 * b)].store(x[1024 * (r + 8 * b)].load(PART, width=16) * 2.0, width=16)
    elif CASE == 15:  # wrong: no barrier before the tile is overwritten
        b = ag.grid(8)
        for t in ag.range(b, T, 8):
            line.store(x[1024 * t].load(PART, width=16), width=16)
            ag.barrier()
            y[1024 * t].store(line.load(BACK, width=16) * 2.0, width=16)
    elif CASE == 16:  # wrong: fifteen tiles of sixteen
        b = ag.grid(ag.cdiv(T, 16))
        for r in ag.range(15):
            y[1024 * (16 * b + r)].store(x[1024 * (16 * b + r)].load(PART, width=16) * 2.0, width=16)
    elif CASE == 17:  # wrong: the tile ahead is one on, not eight
        b = ag.grid(8)
        ahead = x[1024 * b].load(PART, width=16)
        for t in ag.range(b, T, 8):
            here = ahead
            ahead = x[1024 * (t + 1)].load(PART, width=16)
            y[1024 * t].store(here * 2.0, width=16)
    elif CASE == 18:  # wrong: blocks two tiles apart
        b = ag.grid(8)
        for t in ag.range(2 * b, T, 8):
            y[1024 * t].store(x[1024 * t].load(PART, width=16) * 2.0, width=16)
    else:  # wrong: the tile is stored one on
        b = ag.grid(8)
        for t in ag.range(b, T, 8):
            y[1024 * (t + 1)].store(x[1024 * t].load(PART, width=16) * 2.0, width=16)
