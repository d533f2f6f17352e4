"""Kernels that walk along rows: wider accesses, rows that stay in registers, more waves.

    for i in ag.range(N // 64):                                   PER_LANE = 8; CHUNK = 64 * PER_LANE
        x = X[row, 64 * i].load(PART, width=2).to(f32)     ->     for i in ag.range(N // CHUNK):
        top = ag.max(top, x)                                          x = X[row, CHUNK * i].load(PART, width=16).to(f32)
    best = top.max("n")                                               top = ag.max(top, x)

`row_vector` does the step above. `row_resident` then removes the loops: the row is one tile, an accumulation over turns
becomes the expression it accumulates, and elements past the row's end get the neutral element of each reduction:

    x = X[row].load(ROW, width=16, guard="shape").to(f32)
    x = ag.where(x.n < N, x, -inf)
    best = x.max("n")

`row_block` gives every wave of a workgroup its own row.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from argus.agent.lower.blocking import Replace, divisible
from argus.agent.lower.fragments import BYTES
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    SourceAccess,
    factor,
    is_ag,
    keyword,
    names,
    set_keyword,
)
from argus.agent.lower.text import expression, is_comment, statement

ROW_LOOP = "no loop walks along a row in steps of the lanes"
NEUTRAL = {"max": "-inf", "min": "inf", "sum": "0.0"}


@dataclass(frozen=True, slots=True)
class Walk:
    """A loop over a row: `for variable in ag.range(size // step)`."""

    loop: ast.For
    variable: str
    size: str
    step: ast.expr


def walks(source: Source) -> list[Walk]:
    """The loops of the kernel's body over a size in steps, without matrix instructions."""
    found = []
    for node in source.body:
        if (
            isinstance(node, ast.For)
            and is_ag(node.iter, "range")
            and isinstance(node.iter, ast.Call)
            and isinstance(node.target, ast.Name)
            and len(node.iter.args) == 1
            and isinstance(node.iter.args[0], ast.BinOp)
            and isinstance(node.iter.args[0].op, ast.FloorDiv)
            and isinstance(node.iter.args[0].left, ast.Name)
            and not any(is_ag(n, "mfma") for n in ast.walk(node))
        ):
            extent = node.iter.args[0]
            if isinstance(extent.left, ast.Name):
                found.append(Walk(node, node.target.id, extent.left.id, extent.right))
    if not found:
        raise NotApplicableError(ROW_LOOP)
    return found


def row_owner(source: Source) -> tuple[str, ast.Call, str, str]:
    """Name, definition, thread input (`lane` or `t`) and axis of the owner that walks along rows."""
    tensors = source.tensors()
    for load in source.loads():
        if load.place in tensors and isinstance(load.owner, ast.Name):
            given = source.constant(load.owner.id)
            if given is not None and is_ag(given.value, "Owner") and isinstance(given.value, ast.Call):
                inputs = [k.arg for k in given.value.keywords if not _is_formula(k.value)]
                axes = [k.arg for k in given.value.keywords if _is_formula(k.value)]
                if inputs and inputs[0] in ("lane", "t") and len(axes) == 1 and axes[0] is not None:
                    return load.owner.id, given.value, str(inputs[0]), axes[0]
    raise NotApplicableError("no owner of one axis by lane or thread")


def _is_formula(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _moves(source: Source) -> list[SourceAccess]:
    """Loads and stores of global memory."""
    tensors = source.tensors()
    return [a for a in (*source.loads(), *source.accesses("store")) if a.place in tensors]


def row_vector(source: Source, params: Mapping[str, object]) -> None:
    """A lane holds `per_lane` neighbours of every chunk."""
    name, owner, thread, axis = row_owner(source)
    formula = keyword(owner, axis)
    if not (isinstance(formula, ast.Constant) and formula.value == thread):
        raise NotApplicableError("the lanes hold several neighbours already")
    lanes = keyword(owner, thread)
    found = walks(source)
    steps = {ast.unparse(w.step) for w in found}
    if len(steps) != 1 or lanes is None or ast.unparse(lanes) not in steps:
        raise NotApplicableError(ROW_LOOP)
    count = int(str(params["per_lane"]))
    sizes = {w.size for w in found}
    for walk in found:
        chunk = expression(f"CHUNK * {walk.variable}")
        Replace(walk.variable, walk.step, chunk).visit(walk.loop)
        walk.loop.iter = expression(f"ag.range({walk.size} // CHUNK)")
    owner.keywords = [
        ast.keyword(thread, lanes),
        ast.keyword("e", expression("PER_LANE")),
        ast.keyword(axis, expression(f"f'{thread}*{{PER_LANE}} + e'")),
    ]
    tensors = source.tensors()
    for access in _moves(source):
        size = BYTES[tensors[access.place].element]
        set_keyword(access.call, "width", ast.Constant(min(16, count * size)))
    source.define_first(f"PER_LANE = {count}\nCHUNK = {ast.unparse(lanes)} * PER_LANE")
    divisible(source, dict.fromkeys(sizes, "CHUNK"))
    del name


def row_block(source: Source, params: Mapping[str, object]) -> None:
    """`rows` waves per workgroup, each with a row of its own."""
    _, owner, thread, _ = row_owner(source)
    threads = keyword(source.decorator, "threads")
    if thread != "lane" or threads is None or source.value(threads) != 64 or keyword(owner, "wave") is not None:
        raise NotApplicableError("a workgroup has more than one wave already")
    given, call = source.grid()
    if given.value is not call or len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
        raise NotApplicableError("the grid does not run over single rows")
    size, order = call.args[0].id, keyword(call, "order")
    inner = f", order={ast.unparse(order)}" if order is not None else ""
    given.value = expression(f"ROWS * ag.grid({size} // ROWS{inner}) + ag.wave()")
    source.define_first(f"ROWS = {params['rows']}")
    set_keyword(source.decorator, "threads", expression("64 * ROWS"))
    divisible(source, {size: "ROWS"})


def row_resident(source: Source, params: Mapping[str, object]) -> None:
    """The row as one tile of up to `widest` elements per wave; the loops are gone."""
    name, owner, thread, axis = row_owner(source)
    if keyword(owner, "e") is None or source.constant("CHUNK") is None:
        raise NotApplicableError("`row_vector` comes first")
    found = walks(source)
    sizes = {w.size for w in found}
    if len(sizes) != 1:
        raise NotApplicableError("the loops walk along different sizes")
    size = sizes.pop()
    held: dict[str, tuple[str, ast.expr]] = {}
    for walk in found:
        flat = [_flattened(walk, node, name) for node in walk.loop.body if not is_comment(node)]
        kept: list[ast.stmt] = []
        for node in flat:
            accumulated = _accumulation(node)
            if accumulated is None:
                kept.append(node)
            else:
                held[accumulated[0]] = (accumulated[1], accumulated[2])
        at = source.body.index(walk.loop)
        source.body[at : at + 1] = kept
    _reduce(source, held, size, axis)
    _share(source)
    formula = ast.unparse(keyword(owner, axis) or ast.Constant(""))
    text = formula.strip("f").strip("'\"")
    new = expression(
        f"ag.Owner({thread}={ast.unparse(keyword(owner, thread) or ast.Constant(64))}, p=WIDEST // CHUNK, e=PER_LANE, "
        f"{axis}=f'p*{{CHUNK}} + {text}')"
    )
    given = source.constant(name)
    if given is not None:
        given.value = new
    waves = source.value(ast.Name("WAVES")) or 1
    source.define_first(f"WIDEST = {int(str(params['widest'])) * waves}")
    divisible(source, {size: "PER_LANE"})
    requires = keyword(source.decorator, "requires")
    old = f"{requires.value!s} and " if isinstance(requires, ast.Constant) else ""
    set_keyword(source.decorator, "requires", ast.Constant(f"{old}{size} <= WIDEST"))
    if not _imports(source, "inf"):
        source.tree.body.insert(_after_imports(source), statement("from argus import inf"))


def _flattened(walk: Walk, node: ast.stmt, owner: str) -> ast.stmt:
    """A statement of the loop for the whole row: the step's place is dropped, accesses are guarded by the shape."""
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and inner.func.attr in ("load", "store")
        ):
            place = inner.func.value
            if isinstance(place, ast.Subscript):
                items = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
                rest = [i for i in items if factor(i, walk.variable) is None]
                if len(rest) == len(items):
                    raise NotApplicableError("an access in the loop does not move with it")
                if rest:
                    place.slice = rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load())
                else:
                    inner.func.value = place.value
                set_keyword(inner, "guard", ast.Constant("shape"))
    if walk.variable in names(node):
        raise NotApplicableError(f"{walk.variable} is used beside the place of accesses")
    return node


def _accumulation(node: ast.stmt) -> tuple[str, str, ast.expr] | None:
    """`acc = ag.max(acc, E)` or `acc = acc + E`: name, reduction, E."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return None
    name, value = node.targets[0].id, node.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("max", "min"):
        rest = [a for a in value.args if not (isinstance(a, ast.Name) and a.id == name)]
        if len(value.args) == 2 and len(rest) == 1 and is_ag(value, value.func.attr):
            return name, value.func.attr, rest[0]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        for this, other in ((value.left, value.right), (value.right, value.left)):
            if isinstance(this, ast.Name) and this.id == name and name not in names(other):
                return name, "sum", other
    return None


def _reduce(source: Source, held: Mapping[str, tuple[str, ast.expr]], size: str, axis: str) -> None:
    """Reductions of accumulators become reductions of what was accumulated, neutral past the row's end.

    A tile whose maximum is taken is masked as a whole; the exponentials of what is masked so are zeros in a sum.
    """
    done: set[str] = set()
    masks: dict[str, str] = {}
    for node in [n for s in source.body for n in ast.walk(s)]:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in held
        ):
            name = node.func.value.id
            kind, value = held[name]
            if node.func.attr != kind:
                raise NotApplicableError(f"{name} accumulates by {kind} and is reduced by {node.func.attr}")
            tile = next((n for n in sorted(names(value)) if _is_loaded(source, n)), None)
            if tile is None:
                raise NotApplicableError(f"nothing loaded goes into {name}")
            inside = f"{tile}.{axis} < {size}"
            if isinstance(value, ast.Name) and kind in ("max", "min"):
                masks[tile] = f"{tile} = ag.where({inside}, {tile}, {NEUTRAL[kind]})"
                node.func.value = value
            elif kind == "sum" and is_ag(value, "exp2") and masks:
                node.func.value = value
            else:
                node.func.value = expression(f"ag.where({inside}, {ast.unparse(value)}, {NEUTRAL[kind]})")
            done.add(name)
    if done != set(held):
        raise NotApplicableError("an accumulator is used before it is reduced")
    for load in source.loads():
        if load.name in masks:
            load.block.insert(load.block.index(load.statement) + 1, statement(masks.pop(load.name)))
    for block in source.blocks():
        for node in list(block):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in done:
                block.remove(node)


def _is_loaded(source: Source, name: str) -> bool:
    return any(load.name == name for load in source.loads())


def _share(source: Source) -> None:
    """What is loaded or computed twice alike gets one name."""
    first: dict[str, str] = {}
    renamed: dict[str, str] = {}
    for node in list(source.body):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id in renamed:
                inner.id = renamed[inner.id]
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.expr):
            if node.targets[0].id in names(node.value) or is_ag(node.value, "shared"):
                continue
            key = ast.dump(node.value)
            if key in first:
                renamed[node.targets[0].id] = first[key]
                source.body.remove(node)
            else:
                first[key] = node.targets[0].id
    _common_calls(source)


def _common_calls(source: Source) -> None:
    """An `ag.exp2(…)` that stands in several statements is computed once."""
    seen: dict[str, list[ast.stmt]] = {}
    calls: dict[str, ast.Call] = {}
    for node in source.body:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and any(is_ag(inner, f) for f in ("exp2", "log2", "sqrt", "rsqrt", "rcp")):
                key = ast.dump(inner)
                calls[key] = inner
                seen.setdefault(key, []).append(node)
    for key, where in seen.items():
        if len(where) > 1:
            held = source.fresh("e")
            value = ast.unparse(calls[key])
            source.body.insert(source.body.index(where[0]), statement(f"{held} = {value}"))
            for node in where:
                _Common(key, held).visit(node)


class _Common(ast.NodeTransformer):
    def __init__(self, key: str, name: str) -> None:
        self._key, self._name = key, name

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if ast.dump(node) == self._key:
            return ast.Name(self._name, ast.Load())
        self.generic_visit(node)
        return node


def _imports(source: Source, name: str) -> bool:
    return any(
        (alias.asname or alias.name) == name
        for node in source.tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


def _after_imports(source: Source) -> int:
    return 1 + max(n for n, node in enumerate(source.tree.body) if isinstance(node, ast.Import | ast.ImportFrom))


def reciprocal(source: Source, params: Mapping[str, object]) -> None:
    """`x / d` with one d per row becomes `x * inverse` with `inverse = ag.rcp(d)`."""
    for outer in source.blocks():
        for node in outer:
            division = _division(node)
            if division is None or not isinstance(division.right, ast.Name):
                continue
            name = division.right.id
            block, place = _last_definition(source, name, node)
            inverse = source.fresh("inverse")
            block.insert(place, statement(f"{inverse} = ag.rcp({name})"))
            division.op, division.right = ast.Mult(), ast.Name(inverse, ast.Load())
            return
    raise NotApplicableError("nothing is divided by one value per row")


def _division(node: ast.stmt) -> ast.BinOp | None:
    """A division by a name in a statement that is no loop."""
    if isinstance(node, ast.For | ast.With):
        return None
    for inner in ast.walk(node):
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div) and isinstance(inner.right, ast.Name):
            return inner
    return None


def _last_definition(source: Source, name: str, use: ast.stmt) -> tuple[list[ast.stmt], int]:
    """Where a value is final: after the last assignment before its use, in the innermost block that has one."""
    around = [(block, at) for block in source.blocks() for at, node in enumerate(block) if use in ast.walk(node)]
    for block, at in reversed(around):
        stores = [n for n, node in enumerate(block) if any(_assigns(inner, name) for inner in ast.walk(node))]
        before = [n for n in stores if n < at]
        if before:
            return block, before[-1] + 1
        if stores:
            return block, at
    raise NotApplicableError(f"{name} is not computed in the kernel")


def _assigns(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
