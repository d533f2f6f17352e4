"""What is known about sizes: enough arithmetic to see that an access stays inside its tensor.

Known: the kernel's `requires` of the form `x % c == 0`, the grid (block_x < grid[0] ...), and the range of every open
loop. From these an upper bound of a coordinate is a sum over shape symbols:

    row = block_y*128 + wave*16 + lane//4,  block_y < M//128
        <= (M//128 - 1)*128 + 127  =  (M//128)*128 - 1  <=  M - 1

because c*(x//c) <= x. A coordinate that cannot be bounded this way is simply not known to be inside; the caller then
takes the slower, always exact form. Nothing here may claim more than is true.
"""

from __future__ import annotations

from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Access, Tensor
from argus.ir.semantics import multiples
from argus.layout import expr as E
from argus.layout.expr import Expr


class Facts:
    def __init__(self, kernel: Kernel) -> None:
        self.limits: dict[Expr, Expr] = {
            block: extent - 1 for block, extent in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), kernel.grid, strict=True)
        }
        self.tightened: dict[Expr, Expr] = {}
        self.multiples = multiples(kernel.requires)
        for condition in kernel.requires:
            for part in condition.args if condition.op == "land" else (condition,):
                self._multiple(part)

    def _multiple(self, condition: Expr) -> None:
        """x % c == 0 and x > 0 raise the least value of x to c."""
        if condition.op != "eq" or condition.args[1].op != "const" or condition.args[1].value != 0:
            return
        remainder = condition.args[0]
        if remainder.op != "mod" or remainder.args[0].op != "var" or remainder.args[1].op != "const":
            return
        x, c = remainder.args[0], remainder.args[1].value
        lo = self.tightened.get(x, x).lo
        if lo is not None and c > 0:
            self.tightened[x] = E.var(x.name, -(-lo // c) * c, x.hi)

    def enter(self, variable: Expr, hi: Expr) -> None:
        """Inside a loop: variable <= hi - 1."""
        self.limits[variable] = hi - 1

    def leave(self, variable: Expr) -> None:
        del self.limits[variable]

    def positive(self, e: Expr) -> bool:
        """e >= 1 for every launch that meets the requirements."""
        lo = e.subst(self.tightened).lo
        return lo is not None and lo >= 1

    def at_most(self, e: Expr, bound: Expr) -> bool:
        """0 <= e <= bound for every launch that meets the requirements."""
        top = self._upper(e)
        if e.lo is None or e.lo < 0 or top is None:
            return False
        room = (bound - top).lo
        return room is not None and room >= 0

    def in_bounds(self, access: Access) -> bool:
        """Every element of the access, of every thread whose guard holds, lies inside the tensor."""
        if self._inside(access):
            return True
        if access.guard is None:
            return False
        before = dict(self.limits)
        for condition in access.guard.args if access.guard.op == "land" else (access.guard,):
            self._limit_from(condition)
        inside = self._inside(access)
        self.limits = before
        return inside

    def _limit_from(self, condition: Expr) -> None:
        """From a < b (or a <= b): a block or loop variable that a grows with by one is at most b - a + itself (- 1)."""
        if condition.op not in ("lt", "le"):
            return
        slack = condition.args[1] - condition.args[0]
        terms, _ = E.linear(slack)
        for atom, factor in terms.items():
            if factor == -1 and atom in self.limits:
                self.limits[atom] = slack + atom - (1 if condition.op == "lt" else 0)

    def _inside(self, access: Access) -> bool:
        tensor = access.memory
        if not isinstance(tensor, Tensor) or len(access.coords) != len(tensor.shape):
            return False
        for axis, (coord, extent) in enumerate(zip(access.coords, tensor.shape, strict=True)):
            last = coord + (access.count - 1 if axis == access.axis else 0)
            top = self._upper(last)
            if coord.lo is None or coord.lo < 0 or top is None:
                return False
            room = (extent - 1 - top).lo
            if room is None or room < 0:
                return False
        return True

    def _upper(self, e: Expr) -> Expr | None:
        """An expression over shapes that e never exceeds."""
        e = self._at_limits(e)
        terms, constant = E.linear(e)
        total = E.const(constant)
        for atom, factor in terms.items():
            if factor > 0 and atom.op == "floordiv" and atom.args[1].op == "const" and factor % atom.args[1].value == 0:
                total = total + atom.args[0] * (factor // atom.args[1].value)
            elif atom.hi is not None and factor > 0 and not _symbolic(atom):
                total = total + factor * atom.hi
            elif atom.lo is not None and factor < 0 and not _symbolic(atom):
                total = total + factor * atom.lo
            elif _symbolic(atom):
                total = total + atom * factor
            else:
                return None
        return total

    def _at_limits(self, e: Expr) -> Expr:
        """Block and loop variables of growing terms at their largest value. A limit may speak of other variables, those
        of a guard `r + b < N` even of each other: each is replaced once, and only where the whole grows with it."""
        left = dict(self.limits)
        while True:
            terms, constant = E.linear(e)
            growing = {atom for atom, factor in terms.items() if factor > 0 and _grows(atom)}
            raised = {v: left.pop(v) for v in {v for atom in growing for v in atom.free()} if v in left}
            if not raised:
                return e
            total = E.const(constant)
            for atom, factor in terms.items():
                total = total + (atom.subst(raised) if atom in growing else atom) * factor
            e = total


_MACHINE = frozenset({"lane", "wave", "block_x", "block_y", "block_z"})


def _symbolic(atom: Expr) -> bool:
    """A size of the launch: exact in the bound, to be cancelled against the tensor's shape."""
    return atom.op == "var" and atom.name not in _MACHINE


def _grows(atom: Expr) -> bool:
    """Larger variables never make the atom smaller: a variable, a product of non-negative ones, a constant divisor."""
    if atom.op in ("var", "const"):
        return atom.lo is not None and atom.lo >= 0
    if atom.op == "mul":
        return all(_grows(arg) for arg in atom.args)
    if atom.op == "floordiv":
        return atom.args[1].op == "const" and atom.args[1].value > 0 and _grows(atom.args[0])
    return False
