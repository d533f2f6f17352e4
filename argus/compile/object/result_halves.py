"""Which halves of its operands each half of a 64-bit result depends on, by the machine's semantic table.

    dependence("v_mad_u64_u32", (None, None, None))    lower half: operands 0 and 1 and the lower half of operand 2;
                                                       upper half: all of them

LLVM makes `x * 3 + y` of 32 bits with v_mad_u64_u32 and leaves the upper half of the addend undefined: the lower half
of a sum or product does not depend on it. The entry of the table is computed over symbols, one for each register of the
operands (`argus.machine.symbolic`); a half depends on the symbols that its normal form still has.

Operands of 32 bits may be constants, such as the amount of a shift.

What it cannot do: shifts by a register mix both halves. That is more than they depend on, never less.
"""

from __future__ import annotations

from functools import cache

from argus.compile.object.witness import symbols_of
from argus.machine.semantics.modifiers import WIDE
from argus.machine.semantics.valu import VALU
from argus.machine.symbolic.sums import WordSum
from argus.machine.symbolic.symbolic_backend import NotFollowed, SymbolicBuilder
from argus.machine.symbolic.words import Words

OperandHalf = tuple[int, int]
"""(source operand, 0 for its first register or 1 for the second)."""
SOURCES = frozenset({"u32", "u64", "i64"})


@cache
def dependence(
    name: str, constants: tuple[int | None, ...]
) -> tuple[frozenset[OperandHalf], frozenset[OperandHalf]] | None:
    """What the (lower, upper) register of an instruction's first result depends on, where some source operands are
    constants; None: it is no 64-bit integer arithmetic on vector registers."""
    op = VALU.get(name)
    if op is None or op.shape != "plain" or op.results[0] != "u64" or not SOURCES.issuperset(op.args):
        return None
    space = Words(64)

    def register(operand: int, half: int) -> WordSum:
        return space.word(space.atom("register", operand, half))

    def source(operand: int, word: str) -> WordSum:
        if word in WIDE:
            return space.pair(register(operand, 0), register(operand, 1))
        known = constants[operand]
        return register(operand, 0) if known is None else space.const(known)

    given = [source(operand, word) for operand, word in enumerate(op.args)]
    try:
        made = op.fn(SymbolicBuilder(space), *given)
    except NotFollowed:
        return None
    whole: WordSum = made[0] if isinstance(made, tuple) else made
    return _registers(space.trunc(whole)), _registers(space.high(whole))


def _registers(word: WordSum) -> frozenset[OperandHalf]:
    rows = (atom.args for atom in symbols_of([word]))
    return frozenset((k, half) for k, half in rows if isinstance(k, int) and isinstance(half, int))
