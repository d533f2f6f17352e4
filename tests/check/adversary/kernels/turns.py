"""Row sums over tiles in loops: which turn takes which tile, and how often."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(27)), why="which variant")

PART = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(
    threads=64, requires="N % 4 == 0 and N >= 4 and M >= 1", computes="s[m] = sum(X[m, n], n)", example=dict(M=2, N=300)
)
def turns(X: ag.In["M N", f32], W: ag.In["M N", f32], s: ag.Out["M", f32]):
    T = ag.cdiv(N, 256)
    acc = ag.zeros(PART, f32)
    if CASE in (11, 12):
        ag.grid(1)
        for row in ag.range(M):
            if CASE == 12:
                acc = ag.zeros(PART, f32)
            for i in ag.range(T):
                acc = acc + X[row, 256 * i].load(PART, width=16, guard="shape")
            s[row].store(acc.sum("n"), width=4, guard=ag.lane() == 0)
    else:
        row = ag.grid(M)

        def get(i):
            return X[row, 256 * i].load(PART, width=16, guard="shape")

        if CASE in (0, 1, 2):
            for i in ag.range((T + 1) // 2 if CASE == 1 else T // 2):
                acc = acc + get(i)
            for i in ag.range((T + 1) // 2 if CASE == 2 else T // 2, T):
                acc = acc + get(i)
        elif CASE == 7:
            for i in ag.range(T):
                for j in ag.range(i + 1):
                    acc = acc + get(i)
        elif CASE in (8, 9):
            for i in ag.range(T // 2):
                for j in ag.range(2):
                    acc = acc + get(2 * i + j)
            if CASE == 8:
                if T % 2 == 1:
                    acc = acc + get(T - 1)
        elif CASE == 10:
            for i in ag.range(ag.min(T, 8)):
                acc = acc + get(i)
        elif CASE in (14, 15):
            acc = get(0)
            for i in ag.range(0 if CASE == 14 else 1, T):
                acc = acc + get(i)
        elif CASE in (26, 23):
            for i in ag.range(0, T, 2):
                acc = acc + get(i)
                acc = acc + get(ag.min(i + 1, T - 1) if CASE == 23 else i + 1)
        else:
            for i in ag.range(T):
                x = get(i)
                if CASE == 3:
                    if i % 2 == 0:
                        acc = acc + x
                elif CASE == 4:
                    if i < 8:
                        acc = acc + x
                elif CASE == 5:
                    if N < 2000:
                        acc = acc + x
                elif CASE == 6:
                    if i % 2 == 0:
                        acc = acc + x
                    else:
                        acc = x + acc
                elif CASE == 16:
                    acc = acc + X[row, 257 * i].load(PART, width=4, guard="shape")
                elif CASE == 17:
                    acc = acc + X[row, 256 * i].load(PART, width=16, guard=256 * (i + 1) <= N)
                elif CASE == 18:
                    acc = acc + get(ag.max(i, T - 2))
                elif CASE == 19:
                    acc = acc + get(T - 1 - i)
                elif CASE == 20:
                    acc = acc + get(T - i)
                elif CASE == 21:
                    acc = acc + get(ag.min(i, 7))
                elif CASE == 22:
                    acc = acc + X[ag.min(row + (1 if i == 9 else 0), M - 1), 256 * i].load(
                        PART, width=16, guard="shape"
                    )
                elif CASE == 24:
                    if i == 9:
                        x = x * 0.0
                    acc = acc + x
                elif CASE == 25:
                    if i % 2 == 1:
                        x = W[row, 256 * i].load(PART, width=16, guard="shape")
                    acc = acc + x
                else:
                    acc = acc + x
                if CASE == 13:
                    s[row].store(acc.sum("n"), width=4, guard=ag.lane() == 0)
        t = acc.sum("n")
        if CASE != 13:
            s[row].store(t, width=4, guard=ag.lane() == 0)
