"""A software-pipelined GEMM as hand-written IR: 256x256x64 tiles of bf16, the whole LDS, one barrier pair per k-step.

While the matrix instructions of k-step kt run, the fragments of its later sub-steps are read from LDS, tile kt+1 goes
from registers to LDS, and tile kt+2 is fetched into those registers. The order is written out: a list of side
operations per sub-step, spread evenly between the matrix instructions. `deep` reads the fragments of two sub-steps
before the barrier.
"""

from __future__ import annotations

from argus.ir.build import IrBuilder
from argus.ir.kernel import BLOCK_X, BLOCK_Y, LANE, Kernel, wave_variable
from argus.ir.ops import Access, Shared
from argus.ir.specified import restated
from argus.ir.types import NOWHERE, Value, bf16, f32
from argus.layout.expr import Expr, as_expr, const, var
from tests.ir.samples import at, swizzled, tensor

BM = BN = 256
BK = 64
ROW_BYTES = 128


class Pipelined:
    def __init__(self, waves: int = 4, size: int = 32, deep: bool = True, rolling: bool = False) -> None:
        self.waves, self.size, self.deep, self.rolling = waves, size, deep, rolling
        self.rows, self.columns = (128, 128) if waves == 4 else (128, 64)
        self.ni, self.nj = self.rows // size, self.columns // size
        self.inst = "mfma_32x32x8_bf16" if size == 32 else "mfma_16x16x16_bf16"
        self.registers = 16 if size == 32 else 4
        self.per_read = 16 if size == 32 else 32
        self.steps = BK // self.per_read
        self.m, self.n, self.k = (var(s, 1, 2**20) for s in "MNK")
        self.a, self.b = (
            tensor("A", bf16, ("M", "K"), (self.m, self.k)),
            tensor("B", bf16, ("N", "K"), (self.n, self.k)),
        )
        self.c = tensor("C", bf16, ("M", "N"), (self.m, self.n), out=True)
        self.lds = {"A": Shared("sA", bf16, 32768, 0), "B": Shared("sB", bf16, 32768, 32768)}
        wave = wave_variable(waves)
        self.wm, self.wn = (wave // 2, wave % 2) if waves == 4 else (wave // 4, wave % 4)
        self.thread = wave * 64 + LANE
        self.per_pass = waves * 8
        self.passes = BM // self.per_pass
        self.build = IrBuilder()
        self.tile = {"A": (self.a, BLOCK_Y), "B": (self.b, BLOCK_X)}

    def fetch(self, name: str, p: int, kt: Expr, guard: Expr | None = None) -> Value:
        t, block = self.tile[name]
        row, k = block * BM + p * self.per_pass + self.thread // 8, kt * BK + self.thread % 8 * 8
        return self.build.load(Access(t, (row * t.strides[0] + k) * 2, 8, (row, k), 1, guard))

    def write(self, name: str, p: int, value: Value) -> None:
        row, chunk = p * self.per_pass + self.thread // 8, self.thread % 8
        self.build.store(Access(self.lds[name], swizzled(row, chunk), 8, (row, chunk * 8), 1), value)

    def read(self, name: str, i: int, step: int) -> Value:
        w, extent = (self.wm, self.rows) if name == "A" else (self.wn, self.columns)
        row = w * extent + self.size * i + LANE % self.size
        chunk = as_expr(self.per_read // 8 * step + LANE // self.size)
        return self.build.load(Access(self.lds[name], swizzled(row, chunk), 8, (row, chunk * 8), 1))

    def multiply(
        self, acc: dict[tuple[int, int], Value], fa: list[Value], fb: list[Value], i: int, j: int, h: int
    ) -> None:
        b = self.build
        acc[i, j] = b.mfma(self.inst, b.slice(fb[j], 4 * h, 4), b.slice(fa[i], 4 * h, 4), acc[i, j])

    def kernel(self) -> Kernel:
        b = self.build
        tiles = [(name, p) for name in "AB" for p in range(self.passes)]
        kt = var("kt", 0, 2**14)
        with b.at(at(1)):
            for name, p in tiles:
                self.write(name, p, self.fetch(name, p, const(0)))
            staged = [self.fetch(name, p, const(1), const(1).lt(self.k // BK)) for name, p in tiles]
            b.barrier()
            first_a = [self.read("A", i, 0) for i in range(self.ni)]
            first_b = [self.read("B", j, 0) for j in range(self.nj)]
            zero = {(i, j): b.constant(0.0, f32, self.registers) for i in range(self.ni) for j in range(self.nj)}
        carried = (*zero.values(), *staged, *first_a, *first_b)
        with b.at(at(2)), b.loop(kt, 0, self.k // BK - 1, carried) as loop:
            values = list(loop.args)
            acc = {key: values.pop(0) for key in zero}
            staged = [values.pop(0) for _ in tiles]
            fa, fb = [values.pop(0) for _ in first_a], [values.pop(0) for _ in first_b]
            fetched: list[Value] = []
            body = self._rolling if self.rolling else self._spread
            fa, fb = body(acc, fa, fb, tiles, staged, fetched, kt)
            loop.yields(*acc.values(), *fetched, *fa, *fb)
        values = list(loop.outs)
        acc = {key: values.pop(0) for key in zero}
        values = values[len(tiles) :]
        fa, fb = values[: self.ni], values[self.ni :]
        with b.at(at(3)):
            for step in range(self.steps):
                ahead = step + 1 < self.steps
                na = [self.read("A", i, step + 1) for i in range(self.ni)] if ahead else []
                nb = [self.read("B", j, step + 1) for j in range(self.nj)] if ahead else []
                for h in range(2):
                    for i in range(self.ni):
                        for j in range(self.nj):
                            self.multiply(acc, fa, fb, i, j, h)
                fa, fb = na, nb
            self._store(acc)
        kernel = Kernel(
            name="gemm256", file="pipelined.py", source="", tensors=(self.a, self.b, self.c), scalars=(),
            shapes=(self.m, self.n, self.k), knobs=(), settings={},
            requires=((self.m % BM).eq(0), (self.n % BN).eq(0), (self.k % BK).eq(0)), waves=self.waves,
            grid=(self.n // BN, self.m // BM, const(1)), shared=tuple(self.lds.values()), body=b.body,
            policies={"agpr": True} if self.size == 16 else {}, example={"M": 256, "N": 256, "K": 256},
            span=NOWHERE,
        )  # fmt: skip
        return restated(kernel, "C[m, n] = sum(A[m, k] * B[n, k], k)")

    def _spread(
        self, acc: dict[tuple[int, int], Value], fa: list[Value], fb: list[Value], tiles: list[tuple[str, int]],
        staged: list[Value], fetched: list[Value], kt: Expr,
    ) -> tuple[list[Value], list[Value]]:  # fmt: skip
        """Matrix instructions in order, side operations spread between them."""
        frags: dict[int, dict[str, list[Value]]] = {0: {"A": fa, "B": fb}}
        last = self.steps - 1

        def reads(step: int) -> list[tuple[str, str, int, int]]:
            frags[step] = {"A": [], "B": []}
            both = [("A", i) for i in range(self.ni)] + [("B", j) for j in range(self.nj)]
            both.sort(key=lambda row: (row[1], row[0]))
            return [("read", name, index, step) for name, index in both]

        turn = [x for n, (name, p) in enumerate(tiles) for x in (("write", name, p, n), ("fetch", name, p, n))]
        barrier = ("barrier", "", 0, 0)
        pause = ("pause", "", 0, 0)
        sides: dict[int, list[tuple[str, str, int, int]]] = {}
        if self.deep:
            second = reads(2)
            half = len(second) // 2
            third, next_tile = reads(3), reads(4)
            sides = {
                0: reads(1) + second[:half],
                1: second[half:] + third + [pause] * 2 + [barrier],
                2: turn + [pause] * 4,
                3: [barrier, *next_tile] + [pause] * (len(next_tile) // 2),
            }
        else:
            for step in range(last):
                sides[step] = reads(step + 1)
            sides[last] = [barrier, *turn, barrier, *reads(self.steps)]
        for step in range(self.steps):
            order = [(i, j, h) for h in range(2) for j in range(self.nj) for i in range(self.ni)]
            done = 0
            for q, (i, j, h) in enumerate(order):
                self.multiply(acc, frags[step]["A"], frags[step]["B"], i, j, h)
                while done < len(sides[step]) * (q + 1) // len(order):
                    self._side(sides[step][done], frags, staged, fetched, kt)
                    done += 1
        return frags[self.steps]["A"], frags[self.steps]["B"]

    def _side(
        self, item: tuple[str, str, int, int], frags: dict[int, dict[str, list[Value]]], staged: list[Value],
        fetched: list[Value], kt: Expr,
    ) -> None:  # fmt: skip
        what, name, index, number = item
        if what == "read":
            frags[number][name].append(self.read(name, index, number % self.steps))
        elif what == "write":
            self.write(name, index, staged[number])
        elif what == "fetch":
            fetched.append(self.fetch(name, index, kt + 2, (kt + 2).lt(self.k // BK)))
        elif what == "barrier":
            self.build.barrier()

    def _rolling(
        self, acc: dict[tuple[int, int], Value], fa: list[Value], fb: list[Value], tiles: list[tuple[str, int]],
        staged: list[Value], fetched: list[Value], kt: Expr,
    ) -> tuple[list[Value], list[Value]]:  # fmt: skip
        """k innermost per accumulator; an A fragment is read again right after its last use."""
        turn = [x for n, (name, p) in enumerate(tiles) for x in (("write", name, p, n), ("fetch", name, p, n))]
        turn = [("barrier", "", 0, 0), *turn, ("barrier", "", 0, 0)]
        for step in range(self.steps):
            following = (step + 1) % self.steps
            frags: dict[int, dict[str, list[Value]]] = {}
            na: dict[int, Value] = {}
            nb: dict[int, Value] = {}
            order = [(i, j, h) for i in range(self.ni) for j in range(self.nj) for h in range(2)]
            limit = int(len(order) * 0.6)
            pending = [("B", j) for j in range(self.nj)] if step < self.steps - 1 else []
            turned = step < self.steps - 1
            done = 0
            for q, (i, j, h) in enumerate(order):
                self.multiply(acc, fa, fb, i, j, h)
                if step == self.steps - 1:
                    while done < min(len(turn), -(-len(turn) * (q + 1) // limit)):
                        self._side(turn[done], frags, staged, fetched, kt)
                        done += 1
                    if done == len(turn) and not turned:
                        turned = True
                        pending = [("B", n) for n in range(self.nj)] + [("A", n) for n in range(i)]
                if turned and (j, h) == (self.nj - 1, 1):
                    pending.append(("A", i))
                if pending and turned and (q % 2 == 1 or step == self.steps - 1):
                    name, index = pending.pop(0)
                    (na if name == "A" else nb)[index] = self.read(name, index, following)
            for name, index in pending:
                (na if name == "A" else nb)[index] = self.read(name, index, following)
            fa, fb = [na[i] for i in range(self.ni)], [nb[j] for j in range(self.nj)]
        return fa, fb

    def _store(self, acc: dict[tuple[int, int], Value]) -> None:
        """Operands were swapped, so a lane holds runs of four consecutive columns."""
        b, s = self.build, self.size
        for (i, j), value in acc.items():
            rounded = b.convert(value, bf16)
            for q in range(self.registers // 4):
                row = BLOCK_Y * BM + self.wm * self.rows + s * i + LANE % s
                col = BLOCK_X * BN + self.wn * self.columns + s * j + 8 * q + 4 * (LANE // s)
                where = (row * self.c.strides[0] + col) * 2
                b.store(Access(self.c, where, 4, (row, col), 1), b.slice(rounded, 4 * q, 4))
