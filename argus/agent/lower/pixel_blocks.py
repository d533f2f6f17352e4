"""A workgroup of several waves makes a block of pixels: a wave has all of them, of output channels of its own.

    n, bo, p, bq = ag.grid(N, O // 32, OH, OW // 32)     n, bo, bp, bq = ag.grid(N, O // BLOCK_O, OH // ROWS, …)
    acc = ag.zeros(…)                                    acc = [ag.zeros(…) for _ in range(FRAGMENTS)]
    …                                                    …
        w = K[32 * bo, r, s, …].load(…)            ->        w = K[BLOCK_O * bo + 32 * ag.wave(), r, s, …].load(…)
        x = X[n, …, p + r - 1, …].load(…)                    for i in range(FRAGMENTS):
        acc = ag.mfma(x, w, acc)                                 x = X[n, …, ROWS * bp + i // ACROSS + r - 1, …].load(…)
                                                                 acc[i] = ag.mfma(x, w, acc[i])
    Y[n, 32 * bo, p, 32 * bq].store(acc, …)              for i in range(FRAGMENTS):
                                                             Y[…].store(acc[i], …)

Weights are then loaded once for all pixels of the block. What follows the sums is done fragment by fragment.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.register_blocking import Replace, divisible
from argus.agent.lower.source import Blocked, Instead, NotApplicableError, OneOf, Source, keyword, names, set_keyword
from argus.agent.lower.tap_products import TapProduct, tap_product
from argus.agent.lower.text import expression


def pixel_blocks(source: Source, params: Mapping[str, object]) -> None:
    """`rows` x `cols` pixels per workgroup, `waves` of them along the output channels."""
    found = tap_product(source)
    threads = keyword(source.decorator, "threads")
    if threads is None or source.value(threads) != 64 or source.waves():
        raise NotApplicableError("a workgroup has more than one wave already")
    if found.pixels.place not in source.tensors() or found.outer is not source.body:
        raise NotApplicableError("pixels do not come straight from a tensor")
    row, height = _row(source, found)
    along, across = _blocks(source, found)
    channels, columns = source.sizes()[along], source.sizes()[across]
    rows, cols, waves = (int(str(params[name])) for name in ("rows", "cols", "waves"))
    if cols % (source.value(columns.by) or cols + 1):
        raise NotApplicableError(f"{cols} columns are no whole fragments")
    turn = source.fresh("i")
    down = source.fresh(f"b{row}")
    _grid(source, {row: (down, height, "ROWS"), across: (across, columns.size, "COLS")}, (along, channels.size))
    _each_fragment(source, found, {row, across}, turn)
    by = ast.unparse(columns.by)
    Replace(across, columns.by, expression(f"COLS * {across} + {by} * ({turn} % ACROSS)")).visit(source.function)
    Instead({row: expression(f"ROWS * {down} + {turn} // ACROSS")}).visit(source.function)
    own = ast.unparse(channels.by)
    Replace(along, channels.by, expression(f"BLOCK_{channels.size} * {along} + {own} * ag.wave()")).visit(
        source.function
    )
    source.define_first(
        "# A workgroup makes ROWS x COLS pixels; each wave has all of them, of output channels of its own.\n"
        f"ROWS = {rows}\nCOLS = {cols}\nACROSS = COLS // {by}\nFRAGMENTS = ROWS * ACROSS\n"
        f"WAVES = {waves}\nBLOCK_{channels.size} = {own} * WAVES\nTHREADS = 64 * WAVES"
    )
    set_keyword(source.decorator, "threads", expression("THREADS"))
    divisible(source, {channels.size: f"BLOCK_{channels.size}", height: "ROWS", columns.size: "COLS"})


def _row(source: Source, found: TapProduct) -> tuple[str, str]:
    """The variable of the grid that counts rows of pixels, and its size."""
    given, call = source.grid()
    target = given.targets[0]
    if given.value is not call or not isinstance(target, ast.Tuple):
        raise NotApplicableError("the grid does not count rows of pixels")
    moved = {name for index in found.pixels.index if names(index) & set(found.taps) for name in names(index)}
    for name, size in zip(target.elts, call.args, strict=False):
        if isinstance(name, ast.Name) and isinstance(size, ast.Name) and name.id in moved:
            return name.id, size.id
    raise NotApplicableError("the grid does not count rows of pixels")


def _blocks(source: Source, found: TapProduct) -> tuple[str, str]:
    """The variables of the grid that count blocks of output channels and blocks along a row."""
    sizes: Mapping[str, Blocked] = source.sizes()

    def used(indices: tuple[ast.expr, ...]) -> list[str]:
        return [block for block in sizes if any(block in names(index) for index in indices)]

    along, across = used(found.weights.index), used(found.pixels.index)
    if len(along) != 1 or len(across) != 1 or along == across:
        raise NotApplicableError("no blocks of output channels and of pixels in the grid")
    return along[0], across[0]


def _grid(source: Source, pixels: Mapping[str, tuple[str, str, str]], channels: tuple[str, str]) -> None:
    """The grid counts blocks of rows, columns and channels."""
    given, call = source.grid()
    target = given.targets[0]
    if not isinstance(target, ast.Tuple):
        raise NotApplicableError("the grid does not count rows of pixels")
    for number, name in enumerate(target.elts):
        if isinstance(name, ast.Name) and name.id in pixels:
            new, size, by = pixels[name.id]
            target.elts[number], call.args[number] = ast.Name(new, ast.Store()), expression(f"{size} // {by}")
        elif isinstance(name, ast.Name) and name.id == channels[0]:
            call.args[number] = expression(f"{channels[1]} // BLOCK_{channels[1]}")


def _each_fragment(source: Source, found: TapProduct, place: set[str], turn: str) -> None:
    """Loops over the fragments: around what depends on pixels inside the taps, and around all that follows the sums."""
    sums = next((n for n in source.body if isinstance(n, ast.Assign) and _names(n, found.accumulator)), None)
    if sums is None or source.body.index(sums) > source.body.index(found.loop):
        raise NotApplicableError(f"{found.accumulator} does not begin before the loop")
    sums.value = ast.ListComp(
        sums.value, [ast.comprehension(ast.Name("_", ast.Store()), expression("range(FRAGMENTS)"), [], 0)]
    )
    moving, kept = {found.accumulator, *place}, []
    each: list[ast.stmt] = []
    for node in found.pixels.block:
        if names(node) & moving:
            moving |= names(node.targets[0]) if isinstance(node, ast.Assign) else set()
            each.append(node)
        else:
            kept.append(node)
    found.pixels.block[:] = [*kept, _over(turn, each, found.accumulator)]
    after = source.body.index(found.loop) + 1
    source.body[after:] = [_over(turn, source.body[after:], found.accumulator)]


def _over(turn: str, body: list[ast.stmt], accumulator: str) -> ast.For:
    """Statements for each fragment, with its own sums."""
    for node in body:
        OneOf(accumulator, turn).visit(node)
    return ast.For(ast.Name(turn, ast.Store()), expression("range(FRAGMENTS)"), body, [])


def _names(node: ast.Assign, name: str) -> bool:
    return isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
