# expect: not proved and wrong
# kernel: k
# launch: {"N": 513}
# scalars: {}
# found: seed 17, source 9, as generated
# proved and wrong: {'N': 513} positive interp checked: y0[512] is 0.0, not 18.3783548 ± 8.7e-06 (1 wrong)
import argus as ag
from argus import f32, u8

PART = ag.Owner(t=128, p=2, e=2, i="p*256 + t*2 + e")


@ag.kernel(
    threads=128,
    requires="N >= 1",
    computes="y0[i] = (sqrt((abs(log2(maximum(a[i], 0.5))) + 1)) * a[i])",
    example=dict(N=1024),
)
def k(a: ag.In["N", u8], y0: ag.Out["N", f32]):
    b0 = ag.grid(N)
    av = a[512 * b0].load(PART, width=2).to(f32)
    r0 = ag.sqrt(ag.abs(ag.log2(ag.max(av, 0.5))) + 1.0) * av
    y0[512 * b0].store(r0, width=8)
