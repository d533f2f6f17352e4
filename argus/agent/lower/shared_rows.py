"""A lane makes several rows of results, and a row of X serves all of them that it is a tap of.

    for r in range(3):                                       for row in range(DEPTH + 2):
        piece = X[b, c, p + r - 1, …].load(…)                    piece = X[b, c, p + row - 1, …].load(…)
        for s in range(3):                            ->         for r in range(3):
            …                                                        if 0 <= row - r and row - r < DEPTH:
            total = total + tap * factor                                 for s in range(3):
    Y[b, c, p, …].store(total, …)                                            …
                                                                             total[row - r] = …
                                                             for u in range(DEPTH):
                                                                 Y[b, c, p + u, …].store(total[u], …)

Loads that do not depend on the row (the filter's) are made once, before the loop. Several waves of a workgroup have
such rows one below the other.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.register_blocking import divisible
from argus.agent.lower.source import (
    Instead,
    NotApplicableError,
    OneOf,
    Source,
    SourceAccess,
    keyword,
    names,
    set_keyword,
)
from argus.agent.lower.tap_loops import offset, static_range
from argus.agent.lower.text import expression, statement

NO_ROWS = "no loop over the rows of a window that loads a row in each turn"


def shared_rows(source: Source, params: Mapping[str, object]) -> None:
    """`depth` rows of results per lane, `rows` waves per workgroup."""
    threads = keyword(source.decorator, "threads")
    if threads is None or source.value(threads) != 64:
        raise NotApplicableError("a workgroup has more than one wave already")
    loop, tap, count, load = _rows(source)
    row, size = _counted(source, load)
    first = _zero(source)
    store = next((a for a in source.accesses("store") if row in {n for i in a.index for n in names(i)}), None)
    if store is None or store.statement not in source.body:
        raise NotApplicableError("results are not stored after the loop")
    summed = first.targets[0]
    if not isinstance(summed, ast.Name) or summed.id not in names(store.statement):
        raise NotApplicableError("what is stored is not the sum")
    _hoist(source, loop, load, tap, count)
    inner = [node for node in loop.body if node is not load.statement]
    across, turn = source.fresh("row"), source.fresh("u")
    _at(load, row, tap, across)
    meets = ast.If(expression(f"0 <= {across} - {tap} and {across} - {tap} < DEPTH"), inner, [])
    taps = ast.For(ast.Name(tap, ast.Store()), expression(f"range({count})"), [meets], [])
    loop.target, loop.iter = ast.Name(across, ast.Store()), expression(f"range(DEPTH + {count - 1})")
    loop.body = [load.statement, taps]
    OneOf(summed.id, f"{across} - {tap}").visit(meets)
    first.value = ast.ListComp(
        first.value, [ast.comprehension(ast.Name("_", ast.Store()), expression("range(DEPTH)"), [], 0)]
    )
    after = source.body.index(store.statement)
    OneOf(summed.id, turn).visit(store.statement)
    Instead({row: expression(f"({row} + {turn})")}).visit(store.statement)
    source.body[after] = ast.For(ast.Name(turn, ast.Store()), expression("range(DEPTH)"), [store.statement], [])
    _grid(source, row, size)
    source.define_first(
        f"DEPTH = {int(str(params['depth']))}\nROWS = {int(str(params['rows']))}\nHEIGHT = ROWS * DEPTH"
    )
    set_keyword(source.decorator, "threads", expression("64 * ROWS"))
    divisible(source, {size: "HEIGHT"})


def _rows(source: Source) -> tuple[ast.For, str, int, SourceAccess]:
    """The loop over rows of taps, its variable and count, and the load of a row."""
    for node in source.body:
        found = static_range(source, node)
        if found is not None and isinstance(node, ast.For):
            for access in source.loads():
                if access.statement in node.body and any(found[0] in names(index) for index in access.index):
                    return node, found[0], found[1], access
    raise NotApplicableError(NO_ROWS)


def _counted(source: Source, load: SourceAccess) -> tuple[str, str]:
    """The variable of the grid that counts rows of results, and its size."""
    given, call = source.grid()
    target = given.targets[0]
    if given.value is not call or not isinstance(target, ast.Tuple):
        raise NotApplicableError("the grid does not count rows of results")
    for name, size in reversed(list(zip(target.elts, call.args, strict=False))):
        used = [index for index in load.index if isinstance(name, ast.Name) and name.id in names(index)]
        if isinstance(name, ast.Name) and isinstance(size, ast.Name) and used and not isinstance(used[0], ast.Name):
            return name.id, size.id
    raise NotApplicableError("the grid does not count rows of results")


def _zero(source: Source) -> ast.Assign:
    """`total = ag.zeros(…)`."""
    for node in source.body:
        if isinstance(node, ast.Assign) and "ag.zeros" in ast.unparse(node.value):
            return node
    raise NotApplicableError("there is no sum that begins with zeros")


def _at(load: SourceAccess, row: str, tap: str, across: str) -> None:
    """The load of row `across` instead of tap `tap`."""
    for index in load.index:
        if tap in names(index) and offset(index, tap) is None:
            raise NotApplicableError(f"rows of taps are not neighbors of {row}")
    Instead({tap: ast.Name(across, ast.Load())}).visit(load.statement)


def _hoist(source: Source, loop: ast.For, load: SourceAccess, tap: str, count: int) -> None:
    """Loads inside the loop that only depend on the taps, before it, as a list over both taps."""
    for node in loop.body:
        found = static_range(source, node)
        if found is None or not isinstance(node, ast.For):
            continue
        for access in source.loads():
            same = (
                access.statement in node.body
                and access.place != load.place
                and isinstance(access.statement, ast.Assign)
            )
            if same and isinstance(access.statement, ast.Assign) and isinstance(access.statement.targets[0], ast.Name):
                several = source.fresh(f"{access.statement.targets[0].id}s")
                over = f"for {tap} in range({count}) for {found[0]} in range({found[1]})"
                made = statement(f"{several} = [{ast.unparse(access.statement.value)} {over}]")
                source.body.insert(source.body.index(loop), made)
                access.statement.value = expression(f"{several}[{tap} * {found[1]} + {found[0]}]")


def _grid(source: Source, row: str, size: str) -> None:
    """The grid counts groups of rows; each wave has the ones below the wave's before."""
    given, call = source.grid()
    target = given.targets[0]
    group = source.fresh(f"b{row}")
    if isinstance(target, ast.Tuple):
        number = [name.id if isinstance(name, ast.Name) else "" for name in target.elts].index(row)
        target.elts[number] = ast.Name(group, ast.Store())
        call.args[number] = expression(f"{size} // HEIGHT")
    source.body.insert(source.body.index(given) + 1, statement(f"{row} = DEPTH * (ROWS * {group} + ag.wave())"))
