"""What the convolutions share: tiles of pixels whose surroundings lie in LDS, and the loop over taps and channels.

    taps = window(3, 1, 1)                   [(0, -1), (1, 0), (2, 1)]: tap r of the filter meets X at S*p + offset
    taps = phase(4, 2, 1, 1, 0)              [(1, 0), (3, -1)]: those of a transposed convolution that meet Y at 2*p
    tile = tiling(taps_h, taps_w, 1, 1)      owners and layouts of a workgroup

A convolution is a matrix product of pixels and output channels over the input channels, one for every tap, into one
accumulator. A workgroup of four waves makes ROWS x COLS pixels of BO output channels. For BK input channels at
a time, all pixels that the tile and its taps need (the halo) go to LDS once, the channels of a pixel together; each tap
multiplies fragments of 32 pixels that begin some rows and columns further. Weights go straight to registers, one step
before they are used. There is no kernel here; the file is imported, read as data.

A group of the convolution is an axis of its own: X[n, g, c, ...] of torch's X[n, g * C + c, ...], and so on.

The sums go through a chain of steps (`argus.kernels.chain`) before they are stored. HAS_U says which axes its operand U
has: `go` is one number per output channel (a bias), `ngo` one per channel of an image, `all` one per element of Y (a
residual), `one` a single number. Operands have the type of X.
"""

import argus as ag
from argus import bf16, f16, f32
from argus.gfx942 import mfma_32x32x2_f32, mfma_32x32x8_bf16, mfma_32x32x8_f16
from argus.kernels.chain import after

DTYPE = ag.knob("bf16", legal=("bf16", "f16", "f32"), why="element type of X, K and Y; sums are f32")
ROWS = ag.knob(4, legal=(1, 2, 4, 8, 16), why="rows of pixels per workgroup")
COLS = ag.knob(64, legal=(16, 32, 64, 128, 256), why="columns of pixels per workgroup; 64 of bf16 are a line of cache")
WO = ag.knob(4, legal=(1, 2, 4), why="waves along the output channels; the others are along the pixels")
TO = ag.knob(1, legal=(1, 2), why="tiles of 32 output channels per wave")
VEC = ag.knob(8, legal=(1, 2, 4, 8), why="input channels that a lane reads at once; a step has four times as many")
XW = ag.knob(8, legal=(1, 2, 4, 8), why="pixels per access to X; W must be a multiple of it")
YW = ag.knob(4, legal=(1, 2, 4), why="pixels per access to Y; OW must be a multiple of it")
CW = ag.knob(8, legal=(1, 2, 4, 8), why="channels per access to weights; C must be a multiple of it")
WAVES = ag.knob(2, legal=(1, 2, 3, 4), why="waves per SIMD: one computes while another waits for its halo")
HAS_U = ag.knob("none", legal=("none", "one", "go", "ngo", "all"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "go", "ngo", "all"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "go", "ngo", "all"), why="the axes of W")

T = {"bf16": bf16, "f16": f16, "f32": f32}[DTYPE]
MMA = {"bf16": mfma_32x32x8_bf16, "f16": mfma_32x32x8_f16, "f32": mfma_32x32x2_f32}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
PARTS = VEC if DTYPE == "f32" else VEC // 4  # matrix instructions that use what a lane reads at once
assert PARTS >= 1, "an instruction takes four channels of a lane"
assert max(VEC, XW, CW) * SIZE <= 16, "an access has at most 16 bytes"
BK = 4 * VEC  # input channels per step

WP = 4 // WO  # waves along the pixels
TP = ROWS * COLS // (32 * WP)  # fragments of 32 pixels per wave
assert TP >= 1, "every wave has pixels"
FRAG_W = min(COLS, 32)  # a fragment is a row of 32 pixels, or two of 16
FRAG_H = 32 // FRAG_W
BO = 32 * TO * WO  # output channels per workgroup
WAVES_ACROSS = max(COLS // (32 * TP), 1)

FRAG, ACC = MMA.operand(wide=VEC), MMA.acc(row="row", col="o")
WEIGHTS = ag.Owner(lane=64, e=VEC, o="lane%32", c=f"lane//32*{VEC} + e")
PIXEL = "(i*8 + lane//32*4 + e)"  # of a fragment, as the result has it
OUT = ag.Owner(lane=64, i=4, e=4, o="lane%32", oh=f"{PIXEL}//{FRAG_W}", ow=f"{PIXEL}%{FRAG_W}")
CHANNEL = ag.Owner(lane=64, o="lane%32")
ONE = ag.Owner(lane=64, one="lane*0")
NEEDS = f"N >= 1 and G >= 1 and C >= 1 and O >= 1 and C % {CW} == 0 and IW % {XW} == 0"


def operand(kind, whole):
    """The type of an operand of the chain; `whole`: that of Y."""
    return {"none": ("one=1", T), "one": ("one=1", T), "go": ("G O", T), "ngo": ("N G O", T), "all": whole}[kind]


def operands(whole):
    """The operands in index notation; `whole`: an element of Y."""
    at = {"none": "[0]", "one": "[0]", "go": "[g, o]", "ngo": "[n, g, o]", "all": whole}
    return {"U": f"U{at[HAS_U]}", "V": f"V{at[HAS_V]}", "W": f"W{at[HAS_W]}"}


def window(extent, dilation, padding):
    """The taps of a convolution along one axis: (tap of the filter, where it meets X)."""
    return [(r, dilation * r - padding) for r in range(extent)]


def phase(extent, stride, dilation, padding, number):
    """The taps of a transposed convolution that meet Y at stride*p + number, as those of X at p."""
    meets = [(r, number + padding - dilation * r) for r in range(extent)]
    return [(r, way // stride) for r, way in meets if way % stride == 0]


def reach(taps):
    """The first and the last place that taps meet."""
    return min([at for _, at in taps]), max([at for _, at in taps])


def tiling(taps_h, taps_w, sh, sw):
    """The halo of a workgroup: where it begins, its layout, who brings it from X, and who reads a fragment of it."""
    (top, low), (left, right) = reach(taps_h), reach(taps_w)
    start = left // XW * XW  # accesses to X begin at multiples of their pixels
    high, pieces = sh * (ROWS - 1) + low - top + 1, (sw * (COLS - 1) + right - start + XW) // XW
    passes = (high * pieces + 63) // 64
    slot = "(i*64 + t//4)"  # four threads have the channels of a piece of XW pixels
    layout = ag.Layout(x=(passes * 64 * XW, BK * SIZE), chunk=(4, VEC * SIZE), e=(VEC, SIZE), c=("chunk", "e"))
    return dict(
        top=top,
        left=start,
        pitch=pieces * XW,
        early=passes * XW * VEC * SIZE <= 128,  # a step's halo takes few registers: the next one can be on its way
        halo=layout.xor(chunk="x[1:3]"),  # neighboring pixels start in other banks
        fill=ag.Owner(
            i=passes,
            t=256,
            e=VEC,
            j=XW,
            c=f"t%4*{VEC} + e",
            ih=f"{slot}//{pieces}",
            iw=f"{slot}%{pieces}*{XW} + j",
        ),
        held=ag.Owner(i=passes, j=XW, t=256, e=VEC, c=f"t%4*{VEC} + e", x=f"{slot}*{XW} + j"),
        pixels=ag.Owner(
            lane=64,
            e=VEC,
            x=f"lane%32//{FRAG_W}*{sh * pieces * XW} + lane%{FRAG_W}*{sw}",
            c=f"lane//32*{VEC} + e",
        ),
    )


def fragments(wave):
    """Row and column, in the workgroup's tile, of each of a wave's fragments."""
    row = wave * (TP * FRAG_H * FRAG_W // COLS) if WAVES_ACROSS == 1 else wave // WAVES_ACROSS
    col = 0 if WAVES_ACROSS == 1 else wave % WAVES_ACROSS * (32 * TP)
    across = COLS // FRAG_W
    return [(row + i // across * FRAG_H, col + i % across * FRAG_W) for i in range(TP)]


def part(fragment, number):
    """What one matrix instruction takes of a fragment."""
    return fragment[number] if PARTS > 1 else fragment


def convolved(tile, planes, strides, wave, steps, x_at, k_at, y_at, origin, y, given, parameters, width):
    """The whole of a workgroup's work. `planes`: the taps (along h, along w) of each plane of the window; `steps`: how
    many of BK channels. Where things begin: `x_at(channel, plane)` the halo, `k_at(plane, r, s, channel, tile)` weights
    of 32 output channels, `y_at(tensor, row, column, tile)` the results of a fragment, in Y or an operand of its shape.
    `origin`: image, group and first output channel; `given`: operands of the chain; `width`: pixels per access to Y."""
    halo = ag.shared(tile["halo"], T)
    acc = ag.zeros(ACC, f32, tiles=dict(row=TP, o=TO))
    places = fragments(wave)
    sh, sw = strides

    def weights(kt, plane, step):
        (r, _), (s, _), c = step
        starts = [k_at(plane, r, s, kt * BK + c, j) for j in range(TO)]
        return [start.load(WEIGHTS, width=CW * SIZE, guard="shape").held_as(FRAG) for start in starts]

    def pixels(step, place):
        (_, h), (_, w), c = step
        row, col = place
        x = (sh * row + h - tile["top"]) * tile["pitch"] + sw * col + w - tile["left"]
        return halo.load(tile["pixels"], x=x, c=c, width=VEC * SIZE).held_as(FRAG)

    def surroundings(kt, plane):
        """The halo of a step on its way to registers."""
        return x_at(kt * BK, plane).load(tile["fill"], width=XW * SIZE, guard="shape")

    early = tile["early"] and len(planes) == 1
    x = surroundings(0, 0) if early else tile["early"]  # the latter is read by nobody
    for kt in ag.range(steps):
        for plane, (taps_h, taps_w) in enumerate(planes):
            order = [(h, w, 2 * VEC * k) for h in taps_h for w in taps_w for k in range(2)]
            work = [(step, place) for step in order for place in places]
            x = x if early else surroundings(kt, plane)
            ahead = [weights(kt, plane, step) for step in order[0:2]]
            ag.barrier()  # the halo before has been read
            halo.store(x.order("i", "j", "e").held_as(tile["held"]), width=VEC * SIZE)
            ag.barrier()  # this one is there
            x = surroundings(kt + 1, 0) if early else x
            coming = pixels(work[0][0], work[0][1])
            for t in range(len(order)):
                w = ahead[0]
                ahead = ahead[1:] + ([weights(kt, plane, order[t + 2])] if t + 2 < len(order) else [])
                for i in range(TP):
                    a, after_it = coming, t * TP + i + 1
                    coming = pixels(work[after_it][0], work[after_it][1]) if after_it < len(work) else a
                    for j, h in ag.unroll(TO, PARTS):
                        acc[i, j] = ag.mfma(part(a, h), part(w[j], h), acc[i, j])

    def fetched(kind, values, j):
        """What all fragments of 32 output channels need of an operand."""
        n, g, o = origin
        if kind in ("go", "ngo"):
            start = values[g, o + 32 * j] if kind == "go" else values[n, g, o + 32 * j]
            return start.load(CHANNEL, width=SIZE, guard="shape").to(f32)
        return values[0].load(ONE, width=SIZE).without().to(f32) if kind == "one" else 0.0

    has = {"U": HAS_U, "V": HAS_V, "W": HAS_W}
    for j in range(TO):
        known = {name: fetched(has[name], given[name], j) for name in has}
        for i, (row, col) in enumerate(places):
            parts = {
                name: y_at(given[name], row, col, j).load(OUT, width=width * SIZE, guard="shape").to(f32)
                if has[name] == "all"
                else known[name]
                for name in has
            }
            done = after(acc[i, j].held_as(OUT), parts, parameters).to(T)
            y_at(y, row, col, j).store(done, width=width * SIZE, guard="shape")
