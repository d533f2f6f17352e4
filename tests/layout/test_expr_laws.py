"""Every simplification keeps the value; bounds contain it; text, arrays, Z3, GF(2) and emitted code agree on it."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import z3

from argus.layout import emit, gf2
from argus.layout import expr as E
from tests.layout import trees

NAMES = {**trees.VARIABLES, "u": trees.FREE}


def cases(seed: int, count: int, depth: int, *, free: bool = False) -> list[tuple[trees.Tree, random.Random]]:
    result = []
    for i in range(count):
        rng = random.Random(f"{seed}/{i}")
        make = trees.truth if rng.random() < 0.2 else trees.number
        result.append((make(rng, rng.randint(1, depth), free=free), rng))
    return result


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_simplified_expressions_keep_their_value_and_bounds(depth: int) -> None:
    for tree, rng in cases(1, 1500, depth, free=True):
        e = trees.build(tree)
        for _ in range(8):
            env = trees.point(rng)
            expected = trees.meaning(tree, env)
            assert E.evaluate(e, env) == expected, (tree, env, str(e))
            lo, hi = e.bounds()
            assert lo is None or lo <= expected, (tree, env, str(e))
            assert hi is None or expected <= hi, (tree, env, str(e))


def test_text_reads_back_to_the_same_object_and_is_python() -> None:
    for tree, rng in cases(2, 1500, 4, free=True):
        e = trees.build(tree)
        text = str(e)
        assert E.parse(text, NAMES) is e, text
        env = trees.point(rng)
        assert int(eval(text, {"min": min, "max": max, "__builtins__": {}}, env)) == trees.meaning(tree, env), text


def test_arrays_agree_with_single_points() -> None:
    for tree, rng in cases(3, 800, 4, free=True):
        e = trees.build(tree)
        points = [trees.point(rng) for _ in range(16)]
        arrays = {name: np.array([p[name] for p in points]) for name in points[0]}
        expected = [trees.meaning(tree, p) for p in points]
        got = np.broadcast_to(np.asarray(E.evaluate(e, arrays)), (16,))
        assert got.tolist() == expected, str(e)


def test_arrays_never_wrap_silently() -> None:
    x = E.var("x")
    big = np.array([1 << 40, 3], dtype=np.int64)
    with pytest.raises(E.ExprError, match="64 bits"):
        E.evaluate(x * x, {"x": big})
    assert E.evaluate(x * x // (1 << 30), {"x": big}).tolist() == [1 << 50, 0]


def test_emitted_python_agrees() -> None:
    for tree, rng in cases(4, 1000, 4, free=True):
        source = emit.emit(trees.build(tree), emit.PythonSource())
        for _ in range(4):
            env = trees.point(rng)
            assert int(eval(source, {"min": min, "max": max, "int": int, "__builtins__": {}}, env)) == trees.meaning(
                tree, env
            ), source


def z3_value(term: z3.ExprRef, env: dict[str, int], theory: str) -> int:
    pairs = [
        (z3.BitVec(n, 64), z3.BitVecVal(v, 64)) if theory == "bv" else (z3.Int(n), z3.IntVal(v)) for n, v in env.items()
    ]
    result = z3.simplify(z3.substitute(term, *pairs))
    if z3.is_bool(result):
        return int(z3.is_true(result))
    return result.as_signed_long() if theory == "bv" else result.as_long()


@pytest.mark.parametrize("theory", ["bv", "int"])
def test_z3_terms_agree(theory: str) -> None:
    compared = 0
    for tree, rng in cases(5, 350, 3, free=True):
        e = trees.build(tree)
        try:
            term = E.to_z3(e, theory, 64)
        except E.ExprError:
            assert theory == "int"
            continue
        assert z3.is_bool(term) == e.boolean
        for _ in range(3):
            env = trees.point(rng)
            assert z3_value(term, env, theory) == trees.meaning(tree, env), str(e)
        compared += 1
    assert compared > (340 if theory == "bv" else 200)


def test_no_overflow_condition_is_sufficient() -> None:
    width = 8
    exact = 0
    for tree, rng in cases(6, 400, 3, free=True):
        e = trees.build(tree)
        try:
            term, condition = E.to_z3(e, "bv", width), E.z3_no_overflow(e, width)
        except E.ExprError:
            continue
        for _ in range(4):
            env = trees.point(rng)
            env["u"] = rng.randint(-128, 127)
            pairs = [(z3.BitVec(n, width), z3.BitVecVal(v, width)) for n, v in env.items()]
            if not z3.is_true(z3.simplify(z3.substitute(condition, *pairs))):
                continue
            result = z3.simplify(z3.substitute(term, *pairs))
            value = int(z3.is_true(result)) if z3.is_bool(result) else result.as_signed_long()
            assert value == trees.meaning(tree, env), (str(e), env)
            exact += 1
    assert exact > 500


def test_gf2_columns_predict_every_point() -> None:
    variables = [trees.VARIABLES["a"], trees.VARIABLES["b"], trees.VARIABLES["s"]]
    linear = 0
    rng = random.Random(7)
    for _ in range(600):
        tree = linear_tree(rng, 3)
        e = trees.build(tree)
        found = gf2.affine(e, variables)
        truth = {
            (a, b, s): trees.meaning(tree, {"a": a, "b": b, "s": s})
            for a in range(8)
            for b in range(16)
            for s in range(4)
        }
        columns = [truth[1 << i, 0, 0] ^ truth[0, 0, 0] for i in range(3)]
        columns += [truth[0, 1 << i, 0] ^ truth[0, 0, 0] for i in range(4)]
        columns += [truth[0, 0, 1 << i] ^ truth[0, 0, 0] for i in range(2)]
        is_linear = min(truth.values()) >= 0 and all(
            value == truth[0, 0, 0] ^ gf2.apply(columns, a | b << 3 | s << 7) for (a, b, s), value in truth.items()
        )
        assert (found is not None) == is_linear, str(e)
        if found is not None:
            assert list(found.columns) == columns
            assert found.constant == truth[0, 0, 0]
            linear += 1
    assert linear > 100


def linear_tree(rng: random.Random, depth: int) -> trees.Tree:
    if depth == 0:
        return (rng.choice("abs"),)
    op = rng.choice(("xor", "xor", "add", "mulc", "div", "mod", "and", "or"))
    one = linear_tree(rng, depth - 1)
    if op == "mulc":
        return ("mul", one, ("int", rng.choice((2, 3, 4, 8, 16))))
    if op in ("div", "mod"):
        return (op, one, ("int", rng.choice((2, 4, 8))))
    if op == "and":
        return (op, one, ("int", rng.choice((1, 2, 5, 6, 12))))
    return (op, one, linear_tree(rng, depth - 1))


def test_equations_are_decided_only_when_they_are_certain() -> None:
    x, y = E.var("x", -6, 6), E.var("y", 0, 9)
    decided = 0
    for p, q, c in itertools.product((-6, -4, 2, 3, 4, 6), (-9, -6, -4, 2, 4, 6), range(-7, 8)):
        truths = {p * i + q * j == c for i in range(-6, 7) for j in range(10)}
        e = (x * p + y * q).eq(c)
        if e.op == "const":
            assert truths == {e is E.TRUE}, (p, q, c)
            decided += 1
        opposite = (x * p + y * q).ne(c)
        assert (opposite.op == "const") == (e.op == "const")
    assert decided > 100


def test_substitution_is_composition() -> None:
    for tree, rng in cases(8, 500, 3):
        e = trees.build(tree)
        inner = trees.number(rng, 2)
        replaced = e.subst({trees.VARIABLES["n"]: trees.build(inner)})
        env = trees.point(rng)
        value = trees.meaning(inner, env)
        assert E.evaluate(replaced, env) == trees.meaning(tree, {**env, "n": value})


def test_linear_form_and_split_add_up() -> None:
    finite = [trees.VARIABLES[n] for n in "abcs"]
    separated = 0
    for tree, rng in cases(9, 600, 3, free=True):
        e = trees.build(tree)
        parts, constant = E.linear(e)
        env = trees.point(rng)
        total = constant + sum(k * E.evaluate(atom, env) for atom, k in parts.items())
        assert total == trees.meaning(tree, env)
        assert all(atom.op not in ("add", "const") for atom in parts)
        found = E.split(e, finite)
        if found is not None:
            part, rest = found
            assert part.free() <= frozenset(finite)
            assert not rest.free() & frozenset(finite)
            assert E.evaluate(part, env) + E.evaluate(rest, env) == trees.meaning(tree, env)
            separated += 1
    assert separated > 100
