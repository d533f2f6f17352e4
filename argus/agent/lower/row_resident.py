"""Row kernels without loops: the row is one tile in registers, read once.

    for i in ag.range(N // CHUNK):                                x = X[row].load(ROW, width=16, guard="shape").to(f32)
        x = X[row, CHUNK * i].load(PART, …).to(f32)        ->     x = ag.where(x.n < N, x, -inf)
        top = ag.max(top, x)                                      best = x.max("n")
    best = top.max("n")

An accumulation over turns becomes the expression it accumulates, and elements past the row's end get the neutral
element of each reduction.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.register_blocking import divisible
from argus.agent.lower.row_walks import Walk, row_owner, walks
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    factor,
    is_ag,
    keyword,
    names,
    set_keyword,
)
from argus.agent.lower.text import expression, is_comment, statement

NEUTRAL = {"max": "-inf", "min": "inf", "sum": "0.0"}


def row_resident(source: Source, params: Mapping[str, object]) -> None:
    """The row as one tile of up to `widest` elements per wave; the loops are gone."""
    name, owner, thread, axis = row_owner(source)
    if keyword(owner, "e") is None or source.constant("CHUNK") is None:
        raise NotApplicableError("`row_vectors` comes first")
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
