"""Gathered rows that all waves multiply go through LDS: the workgroup copies them once.

    x = X[row, …].load(FRAG, width=8)        ->        held = X[row of this thread, …].load(COPY, width=16)
                                                       sX.store(held, …); barrier; x = sX.load(FRAG, …)

Each thread loads 16 bytes of the row whose token it looked up. With `swizzle` the pieces change places by row, so that
lanes meet different banks.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from argus.agent.lower.expert_loop import ROWS, main_loop
from argus.agent.lower.source import NotApplicableError, Source
from argus.agent.lower.text import expression, statement, statements


def gathered_rows(source: Source, params: Mapping[str, object]) -> None:
    """Rows that all waves multiply go through LDS; `swizzle`: their 16-byte pieces change places by row."""
    loop, outer = main_loop(source)
    fragment = _fragments_of_rows(loop)
    if source.constant("WAVES") is None or fragment is None:
        raise NotApplicableError("no fragments of gathered rows are loaded by several waves")
    node, tensor, rows, first, depth, owner = fragment
    element = source.tensors()[tensor].element
    looked_up = next((s for s in outer if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == rows), None)
    if looked_up is None or not isinstance(loop.target, ast.Name):
        raise NotApplicableError(f"{rows} is not looked up before the loop")
    buffer, held, moved = (source.fresh(n) for n in (f"s{tensor}", f"r{tensor.lower()}", "moved"))
    layout, copies, mine = (source.fresh(n) for n in (f"LDS_{tensor}", f"COPY_{tensor}", f"ROW_{tensor}"))
    lanes = depth // 16
    swizzled = ".xor(chunk='row[0:3]').xor(chunk='row[3:6]')" if params.get("swizzle", True) else ""
    source.define(
        f"PASS = THREADS // {lanes}\n"
        f"{copies} = ag.Owner(t=THREADS, e=16, k='t%{lanes}*16 + e')\n"
        f"{mine} = ag.Owner(t=THREADS, r='t//{lanes}')\n"
        f"{layout} = ag.Layout(row=({ROWS} * TILES, {depth}), chunk=({lanes}, 16), e=(16, 1), k=('chunk', 'e'))"
        f"{swizzled}\n"
    )
    outer.insert(outer.index(looked_up) + 1, _looked_up(looked_up, rows, moved, mine))
    outer.insert(outer.index(loop), statement(f"{buffer} = ag.shared({layout}, {element})"))
    node.value = expression(
        f"[{buffer}.load({owner}, row={ROWS} * i, k={depth // 4} * ks, width=16) for ks in range(4)]"
    )
    loop.body[0:0] = statements(
        f"{held} = [{tensor}[t, {first}].load({copies}, width=16) for t in {moved}]\n"
        "ag.barrier()\n"
        f"for p in ag.unroll({ROWS} * TILES // PASS):\n"
        f"    {buffer}.store({held}[p], row=PASS * p + ag.thread() // {lanes}, width=16)\n"
        "ag.barrier()\n"
    )
    outer.extend(statements(f"ag.check.race_free({buffer})"))


def _fragments_of_rows(loop: ast.For) -> tuple[ast.Assign, str, str, str, int, str] | None:
    """`x = [X[row[i], 128 * kb + 32 * ks].load(PART, width=16).held_as(FRAG) for ks in range(4)]`, taken apart."""
    for node in ast.walk(loop):
        match node:
            case ast.Assign(
                value=ast.ListComp(
                    elt=ast.Call(
                        func=ast.Attribute(
                            value=ast.Call(
                                func=ast.Attribute(
                                    value=ast.Subscript(
                                        value=ast.Name(id=tensor),
                                        slice=ast.Tuple(
                                            elts=[
                                                ast.Subscript(value=ast.Name(id=rows)),
                                                ast.BinOp(left=first, op=ast.Add(), right=ast.BinOp(left=step)),
                                            ]
                                        ),
                                    ),
                                    attr="load",
                                )
                            ),
                            attr="held_as",
                        ),
                        args=[owner],
                    ),
                    generators=[ast.comprehension(iter=ast.Call(args=[count]))],
                )
            ) if isinstance(step, ast.Constant) and isinstance(count, ast.Constant):
                depth = int(str(step.value)) * int(str(count.value))
                return node, tensor, rows, ast.unparse(first), depth, ast.unparse(owner)
    return None


def _looked_up(node: ast.Assign, rows: str, moved: str, mine: str) -> ast.stmt:
    """The rows that a thread moves: looked up as the fragments' rows are, PASS rows at a time."""
    text = ast.unparse(node.value)
    made = copy.deepcopy(node)
    made.targets = [ast.Name(moved, ast.Store())]
    made.value = expression(
        text.replace(f"{ROWS} * i", "PASS * i")
        .replace("range(TILES)", f"range({ROWS} * TILES // PASS)")
        .replace(f"f'{rows}", f"f'{moved}")
    )
    for inner in ast.walk(made.value):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "load":
            inner.args[0] = ast.Name(mine, ast.Load())
    return made
