"""The surface of index expressions: identity, reading, errors, solver terms."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
import z3

from argus.layout import emit, gf2
from argus.layout import expr as E

ROW, CHUNK, K = E.var("row", 0, 255), E.var("chunk", 0, 7), E.var("k", 0, 63)
T, N, U = E.var("t", 0, 255), E.var("N", 1), E.var("u")


def test_equal_structure_is_one_object() -> None:
    assert ROW * 2 + K is K + ROW * 2
    assert (ROW * 128 + 64) // 16 is ROW * 8 + 4
    assert E.var("row", 0, 255) is ROW
    assert E.var("row", 0, 127) is not ROW
    assert pickle.loads(pickle.dumps(ROW * 3 + K // 5)) is ROW * 3 + K // 5
    assert copy.deepcopy(ROW + 1) is ROW + 1
    assert len({ROW + 1, 1 + ROW, E.as_expr(3), E.const(3)}) == 2


def test_threads_build_one_object() -> None:
    built: list[E.Expr] = []

    def work() -> None:
        built.extend((ROW * i + K) // 3 for i in range(70_001, 70_201))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(built)) == 200


@pytest.mark.parametrize(
    ("e", "text"),
    [
        ((ROW * 128 + CHUNK * 16) ^ (ROW % 8) * 16, "row*128 + (chunk ^ row%8)*16"),
        (T // 8 * 8 + T % 8, "t"),
        (T // 8 % 4 * 8 + T % 8, "t%32"),
        ((ROW * 64 + K) // 64, "row"),
        ((ROW * 64 + K) % 64, "k"),
        (T % 256, "t"),
        (U % 6 % 3, "u%3"),
        (U // 4 // 8, "u//32"),
        (U % 32 // 8, "u//8%4"),
        ((U * 6 + 3) // 3, "u*2 + 1"),
        (U & 0xF0, "u//16%16*16"),
        (U >> 3, "u//8"),
        (U << 3, "u*8"),
        (U ^ U, "0"),
        (U ^ -1, "u*-1 - 1"),
        ((K * N + K) // (N + 1), "(k + N*k)//(N + 1)"),
        (ROW * N // N, "row"),
        ((ROW * N + K) % N, "k%N"),
        (E.select(ROW.lt(256), K, 0), "k"),
        (E.select(ROW.lt(9), K, K), "k"),
        (E.minimum(ROW, 300), "row"),
        (E.maximum(ROW, 3, K), "max(k, row, 3)"),
        ((N * 64 + K).lt(N * 64 + ROW), "k < row"),
        (E.lnot(K.lt(ROW)), "row <= k"),
        (E.land(K.lt(3), True), "k < 3"),
        (E.land(K.lt(3), K.ge(3)), "False"),
        (E.lor(K.lt(3), K.ge(3)), "True"),
        ((K * 4).eq(ROW * 4 + 2), "False"),
        ((ROW + N) * (ROW - N) + N * N, "row*row"),
        (E.apply("expert", T, lo=0, hi=7) // 8, "0"),
    ],
)
def test_normal_forms(e: E.Expr, text: str) -> None:
    assert str(e) == text


def test_reading_bit_fields_and_functions() -> None:
    assert E.parse("row[0:3]", {"row": ROW}) is ROW % 8
    assert E.parse("row[2]", {"row": ROW}) is ROW // 4 % 2
    assert E.parse("~row", {"row": ROW}) is -ROW - 1
    assert E.parse("0 <= row < 9 and not k == 3", {"row": ROW, "k": K}) is E.land(ROW.lt(9), K.ne(3))
    looked_up = E.parse("expert(t) * 4", {"t": T}, {"expert": (0, 7)})
    assert looked_up.bounds() == (0, 28)
    assert E.evaluate(looked_up, {"t": np.arange(4)}, {"expert": lambda t: t % 3}).tolist() == [0, 4, 8, 0]


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "row.__class__",
        "(lambda: 1)()",
        "[row for row in (1,)]",
        "row ** 9",
        "row / 2",
        "1.5",
        "'x'",
        "missing",
        "f(row)",
        "min(row)",
        "row[3:1]",
        "row[::2]",
        "row[:99]",
        "row // 0",
        "row % 0",
        "1 << -1",
        "1 << 99999999",
        "row if",
        "(" * 5000,
        "-" * 15000 + "1",
        "row+" * 4000 + "1",
        "1" * 70000,
        "9" * 5000,
        "row(*row)",
        "row := 3",
        "\0",
    ],
)
def test_text_that_is_not_an_index_expression_is_refused(text: str) -> None:
    with pytest.raises(E.ExprError):
        E.parse(text, {"row": ROW})


def test_errors_in_the_users_words() -> None:
    with pytest.raises(E.ExprError, match="divides by zero"):
        E.evaluate(T // U, {"t": 3, "u": np.array([1, 0])})
    with pytest.raises(E.ExprError, match="negative number of bits"):
        E.evaluate(T << U, {"t": 3, "u": -1})
    with pytest.raises(E.ExprError, match="no value was given for `u`"):
        E.evaluate(U, {})
    with pytest.raises(E.ExprError, match="no definition was given for the function `f`"):
        E.evaluate(E.apply("f", U), {"u": 1})
    with pytest.raises(E.ExprError, match="truth of"):
        bool(U.lt(3))
    with pytest.raises(E.ExprError, match=r"no value: its bounds are 3\.\.1"):
        E.var("x", 3, 1)
    with pytest.raises(E.ExprError, match="integers are needed"):
        E.evaluate(U, {"u": np.array([1.5])})
    with pytest.raises(E.ExprError, match="levels deep"):
        nested(3000)


def nested(depth: int) -> E.Expr:
    e = U
    for i in range(depth):
        e = E.select(e.lt(i), e, U * i)
    return e


def test_deep_expressions_need_no_recursion() -> None:
    e = nested(900)
    assert E.evaluate(e, {"u": 5}) == E.evaluate(e, {"u": np.array([5])})[0]
    assert e.free() == {U}
    assert e.subst({U: 5}).op == "const"
    assert str(e).startswith("<an expression of more than")
    with pytest.raises(E.ExprError):
        E.parse(str(e), {"u": U})


def test_solver_bounds_and_overflow() -> None:
    solver = z3.Solver()
    solver.add(*E.z3_bounds([ROW, K], "bv"))
    solver.add(z3.Not(E.to_z3((ROW * 64 + K).lt(256 * 64 + U * 0), "bv")))
    assert solver.check() == z3.unsat
    with pytest.raises(E.ExprError, match="does not fit into 8 bits"):
        E.z3_bounds([ROW], "bv", 8)
    with pytest.raises(E.ExprError, match="use bit-vectors"):
        E.to_z3(U ^ K, "int")
    wide = z3.Solver()
    wide.add(E.z3_no_overflow(U * U, 16), E.to_z3(U, "bv", 16) > 181)
    assert wide.check() == z3.unsat
    assert z3.is_true(E.z3_no_overflow(ROW * 64 + K, 32))
    same = E.to_z3(E.apply("f", T).eq(E.apply("f", T + 0)), "int")
    assert z3.is_true(same)


def test_one_address_four_ways() -> None:
    address = ROW * 128 + (K // 8 ^ ROW % 8) * 16 + K % 8 * 2
    columns = gf2.basis(address, [ROW, K])
    assert columns is not None
    source = emit.emit(address, emit.PythonSource())
    term = E.to_z3(address, "bv")
    for row, k in ((0, 0), (3, 17), (255, 63), (77, 40)):
        expected = row * 128 + ((k // 8) ^ (row & 7)) * 16 + k % 8 * 2
        assert E.evaluate(address, {"row": row, "k": k}) == expected
        assert gf2.apply(columns, row | k << 8) == expected
        assert eval(source, {}, {"row": row, "k": k}) == expected
        pairs = [(z3.BitVec("row", 32), z3.BitVecVal(row, 32)), (z3.BitVec("k", 32), z3.BitVecVal(k, 32))]
        assert z3.simplify(z3.substitute(term, *pairs)).as_long() == expected


def test_gf2_inverse_and_rank() -> None:
    columns = [0b0011, 0b0110, 0b1100, 0b1000]
    back = gf2.inverse(columns)
    assert back is not None
    assert [gf2.apply(back, gf2.apply(columns, x)) for x in range(16)] == list(range(16))
    assert gf2.inverse([1, 2, 3]) is None
    assert gf2.rank([1, 2, 3]) == 2
    assert gf2.compose(columns, back) == [1, 2, 4, 8]
