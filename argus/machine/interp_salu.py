"""Scalar arithmetic in the interpreter, on Python integers.

run = compile_salu(inst)      run(wave): s_add_u32 s0, s1, s2 writes wave.s[0] and wave.scc
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.gfx942.inst import EXEC, Inst, InstOperand
from argus.machine.interp_operands import UnsupportedForm, scalar_source
from argus.machine.semantics.salu import SALU
from argus.machine.semantics.scalar_backend import ScalarBuilder
from argus.machine.semantics.table import IMPLICIT
from argus.machine.state import Wave

Run = Callable[[Wave], Any]
Set = Callable[[Wave, Any], None]

_B = ScalarBuilder()


def compile_salu(inst: Inst) -> Run:
    """The closure that executes a scalar arithmetic instruction."""
    op = SALU[inst.op]
    operands = iter(inst.operands)
    results = {word: next(operands) for word in op.results if word not in IMPLICIT}
    target = next(iter(results.values()), None)
    readers = [_argument(word, None if word in IMPLICIT else next(operands), target) for word in op.args]
    fn = op.fn
    setters = [_setter(word, results.get(word)) for word in op.results]
    if len(setters) == 1:
        (put,) = setters
        if len(readers) == 1:
            (a,) = readers
            return lambda w: put(w, fn(_B, a(w)))
        if len(readers) == 2:
            a, b = readers
            return lambda w: put(w, fn(_B, a(w), b(w)))
        return lambda w: put(w, fn(_B, *[read(w) for read in readers]))

    def run(w: Wave) -> None:
        values = fn(_B, *[read(w) for read in readers])
        for put, value in zip(setters, values, strict=True):
            put(w, value)

    return run


def _argument(word: str, operand: InstOperand | None, target: InstOperand | None) -> Callable[[Wave], Any]:
    if word == "scc":
        return lambda w: w.scc
    if word == "exec":
        return lambda w: w.exec
    if word in ("old", "old64") and target is not None:
        return scalar_source(target, "u64" if word == "old64" else "u32")
    if operand is None:
        raise UnsupportedForm(f"a scalar instruction has no {word} argument")
    if word in ("k16", "k16u"):
        value = operand.value & 0xFFFF
        if word == "k16":
            value = value - (value >> 15 << 16) & 0xFFFFFFFF
        return lambda w: value
    return scalar_source(operand, word)


def _setter(word: str, operand: InstOperand | None) -> Set:
    if word == "scc":

        def set_scc(w: Wave, value: Any) -> None:
            w.scc = value

        return set_scc
    if word == "exec":
        return lambda w, value: w.set_exec(value)
    if operand is None or operand.kind != "s":
        raise UnsupportedForm("a scalar result must go to a scalar register")
    n = operand.value
    if word == "u64":
        if n == EXEC:
            return lambda w, value: w.set_exec(value)

        def set_pair(w: Wave, value: Any) -> None:
            w.s[n] = value & 0xFFFFFFFF
            w.s[n + 1] = value >> 32

        return set_pair
    if n >= EXEC:
        return lambda w, value: w.set_scalar(n, value)

    def set_one(w: Wave, value: Any) -> None:
        w.s[n] = value

    return set_one
