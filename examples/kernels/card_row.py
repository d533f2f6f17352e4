import argus as ag
from argus import LOG2E, bf16, f32

ROW = ag.Owner(lane=64, c=2, e=8, n="c*512 + lane*8 + e")  # a wave holds a row; e is last: 16 bytes side by side


@ag.kernel(
    threads=256,
    requires="M >= 1",
    computes="Y[m, n] = exp(X[m, n] - max(X[m, j], j)) / sum(exp(X[m, i] - max(X[m, j], j)), i)",
    example=dict(M=6),
)
def softmax(X: ag.In["M n=1024", bf16], Y: ag.Out["M n=1024", bf16]):
    row = 4 * ag.grid(ag.cdiv(M, 4)) + ag.wave()  # four waves, four rows
    x = X[row].load(ROW, width=16, guard=row < M).to(f32)
    e = ag.exp2((x - x.max("n")) * LOG2E)
    Y[row].store((e * ag.rcp(e.sum("n"))).to(bf16), width=16, guard=row < M)
