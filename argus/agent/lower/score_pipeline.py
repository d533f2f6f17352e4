"""Attention, pipelined across turns: the scores of the next turn beside the sums of this one.

A turn is  S  scores of its keys,  E  maximum and exponentials,  W  sums and rounded weights,  P  second product.  Each
needs the one before it, so within a turn the matrix unit waits for the vector unit and the other way round. Skewed, a
turn of the loop does

    S(j + 1) beside W(j)            then            P(j) beside E(j + 1)

and both units work. Keys and values lie in a ring of two LDS slots, tile j in slot j mod 2; what a slot held was read
before the last barrier, so one barrier per turn is enough. Keys are fetched three turns ahead and published two ahead,
values two and one. `ahead` fragments are read before the turn that uses them. Turns come in pairs, so that slots are
numbers; the last turns are written after the loop:

    for pair in ag.range(pairs - 1):
        for u in ag.unroll(2):
            j = 2 * pair + u
            S(j + 1), W(j); P(j), E(j + 1); barrier
    j = 2 * pairs - 2
    S(j + 1), W(j); P(j), E(j + 1); barrier
    W(j + 1), P(j + 1)

In the first turn the factor for what has been accumulated meets zeros: there it is one. Scores are carried from turn to
turn, so they do not say where they stand; the mask does.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from argus.agent.lower.pipeline import BARRIER, FETCH, OTHER, PUBLISH, READ, kind, shifted, undo_prefetch, variable
from argus.agent.lower.softmax_turn import SoftmaxTurn, score_axes, start_of, the_turn
from argus.agent.lower.source import NotApplicableError, Source, drop_keyword, is_ag, keyword, names, set_keyword
from argus.agent.lower.text import expression, is_comment, statement, statements

FIRST_PART = "'# scores of the next turn, sums of this one'"
SECOND_PART = "'# second product of this turn, exponentials of the next one'"
LAST_TURN = "'# the last two turns'"
REST = "'# what is left of the last one'"
Slot = Callable[[int], str]


@dataclass(slots=True)
class Parts:
    """The statements of a turn by what they do: of keys and values each fetch, publication and reads."""

    fetch: tuple[ast.stmt, ast.stmt]
    publish: tuple[ast.stmt, ast.stmt]
    read: tuple[ast.Assign, ast.Assign]
    weigh: list[ast.stmt]
    scale: list[ast.stmt]
    count: tuple[int, int]


def score_pipeline(source: Source, params: Mapping[str, object]) -> None:
    """Skew the turns of attention over a ring of two slots."""
    turn = the_turn(source)
    undo_prefetch(source, turn.loop, turn.outer)
    ahead = int(str(params.get("ahead", 2)))
    parts = _parts(source, turn)
    _anywhere(source, turn)
    _in_pairs(source, turn)
    ring = _ring(source, turn, parts)
    name = variable(turn.loop)
    write = _Writer(turn, parts, ring, name, ahead, ast.unparse(_last(turn.loop)))
    before = write.prologue(source)
    pair, u = source.fresh("pair"), source.fresh("u")
    inner = statement(f"for {u} in ag.unroll(2):\n    {name} = 2 * {pair} + {u}")
    outer = statement(f"for {pair} in ag.range(pairs - 1):\n    pass")
    if isinstance(inner, ast.For) and isinstance(outer, ast.For):
        inner.body += write.turn(lambda shift: u if shift % 2 == 0 else f"1 - {u}", last=False)
        outer.body = [inner]
    after = [statement(LAST_TURN), statement(f"{name} = 2 * pairs - 2")]
    after += write.turn(lambda shift: str(shift % 2), last=True)
    after += [statement(REST), *write.rest("1")]
    place = turn.outer.index(turn.loop)
    turn.outer[place : place + 1] = [*before, outer, *after]


def _parts(source: Source, turn: SoftmaxTurn) -> Parts:
    """Sort the statements of a turn; raise where one has no place in the skewed form."""
    by: dict[str, list[ast.stmt]] = {}
    for node in turn.loop.body:
        if node not in (turn.first, turn.second, turn.zeros) and not is_comment(node):
            by.setdefault(kind(source, node), []).append(node)
    if any(len(by.get(what, [])) != 2 for what in (FETCH, PUBLISH, READ)) or BARRIER not in by:
        raise NotApplicableError("a turn does not fetch, publish and read keys and values once each")
    keys = next((n for n in by[READ] if isinstance(n, ast.Assign) and names(n.targets[0]) & names(turn.first)), None)
    values = next((n for n in by[READ] if isinstance(n, ast.Assign) and names(n.targets[0]) & names(turn.second)), None)
    if not isinstance(keys, ast.Assign) or not isinstance(values, ast.Assign) or keys is values:
        raise NotApplicableError("each product does not take one operand from LDS")
    publish_k, publish_v = (_publication(by[PUBLISH], read) for read in (keys, values))
    fetch_k, fetch_v = (_fetch(by[FETCH], publication) for publication in (publish_k, publish_v))
    weights = _weights(turn)
    out = _accumulated(turn.second)
    late: list[ast.stmt] = []
    early: list[ast.stmt] = []
    for node in by.get(OTHER, []):
        uses = isinstance(node, ast.Assign) and (weights in names(node.value) or out & names(node.targets[0]))
        (late if uses else early).append(node)
    counts = _listed(keys), _listed(values)
    return Parts((fetch_k, fetch_v), (publish_k, publish_v), (keys, values), early, late, counts)


def _publication(found: list[ast.stmt], read: ast.Assign) -> ast.stmt:
    """The store into the buffer that is read."""
    for node in found:
        if _buffer(node) in names(read):
            return node
    raise NotApplicableError("what is read is not published in the same turn")


def _fetch(found: list[ast.stmt], publication: ast.stmt) -> ast.stmt:
    """The load of what is published."""
    for node in found:
        if isinstance(node, ast.Assign) and names(node.targets[0]) & names(publication):
            return node
    raise NotApplicableError("what is published is not fetched in the same turn")


def _buffer(node: ast.stmt) -> str:
    call = node.value if isinstance(node, ast.Expr) else None
    return ast.unparse(call.func.value) if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""


def _weights(turn: SoftmaxTurn) -> str:
    """The tile that is rounded for the second product."""
    for node in turn.loop.body:
        call = node.value if isinstance(node, ast.Assign) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "to":
            return ast.unparse(call.func.value)
    raise NotApplicableError("no weights are rounded for the second product")


def _accumulated(product: ast.For) -> set[str]:
    return {
        n.value.id
        for s in product.body
        if isinstance(s, ast.Assign)
        for n in ast.walk(s.targets[0])
        if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)
    }


def _listed(read: ast.Assign) -> int:
    """How many fragments `[… for n in range(16)]` reads."""
    value = read.value
    call = value.generators[0].iter if isinstance(value, ast.ListComp) else None
    if isinstance(call, ast.Call) and isinstance(call.args[0], ast.Constant):
        return int(str(call.args[0].value))
    raise NotApplicableError("fragments are not read one by one")


def _anywhere(source: Source, turn: SoftmaxTurn) -> None:
    """Scores without a place along the keys; the mask adds it."""
    keys, _ = score_axes(source, turn)
    start = start_of(source, turn)
    if keys not in start or not isinstance(turn.zeros.value, ast.Call):
        raise NotApplicableError("the scores do not say which keys they are of")
    at = keyword(turn.zeros.value, "at")
    if isinstance(at, ast.Call):
        drop_keyword(at, keys)

    class Placed(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            if node.attr == keys and ast.unparse(node.value) == turn.scores:
                return ast.BinOp(node, ast.Add(), copy.deepcopy(start[keys]))
            return node

    for node in turn.loop.body:
        if node is not turn.zeros:
            Placed().visit(node)


def _in_pairs(source: Source, turn: SoftmaxTurn) -> None:
    """`pairs` of turns, from `steps = ag.cdiv(…, KEYS)` or `ag.range(Sk // KEYS)`."""
    end = _last(turn.loop)
    defined = next(
        (n for n in turn.outer if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == ast.unparse(end)), None
    )
    value = end if defined is None else defined.value
    if is_ag(value, "cdiv") and isinstance(value, ast.Call):
        whole, by = value.args
        new = f"pairs = ag.cdiv({ast.unparse(whole)}, 2 * {ast.unparse(by)})"
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv):
        whole, by = value.left, value.right
        new = f"pairs = {ast.unparse(whole)} // (2 * {ast.unparse(by)})"
    else:
        raise NotApplicableError("the number of turns is not a size divided by the keys of a turn")
    if "pairs" in names(source.tree):
        raise NotApplicableError("turns come in pairs already")
    place = turn.outer.index(turn.loop)
    turn.outer.insert(place, statement(new))
    if defined is not None:
        turn.outer.remove(defined)
    given = keyword(source.decorator, "requires")
    old = str(given.value) if isinstance(given, ast.Constant) else ""
    step = ast.unparse(by)
    wanted = f"% {step} == 0"
    if wanted not in old:
        raise NotApplicableError("the number of keys need not be a multiple of a turn's")
    set_keyword(source.decorator, "requires", ast.Constant(old.replace(wanted, f"% (2 * {step}) == 0")))
    example = keyword(source.decorator, "example")
    if isinstance(example, ast.Call):
        for size in example.keywords:
            if ast.unparse(size.value) in (step, f"2 * {step}"):
                size.value = expression(f"4 * {step}")
    turn.loop.iter = expression("ag.range(2 * pairs)")


def _last(loop: ast.For) -> ast.expr:
    if not isinstance(loop.iter, ast.Call) or len(loop.iter.args) != 1:
        raise NotApplicableError("the loop does not begin at its first turn")
    return loop.iter.args[0]


def _ring(source: Source, turn: SoftmaxTurn, parts: Parts) -> str:
    """The buffers as slots of one ring; its name. Assertions follow."""
    buffers = [_buffer(p) for p in parts.publish]
    ring = source.fresh("ring")
    slots: dict[str, str] = {}
    for node in list(turn.outer):
        if isinstance(node, ast.Assign) and is_ag(node.value, "shared") and isinstance(node.value, ast.Call):
            name = ast.unparse(node.targets[0])
            if name in buffers:
                slots[name] = f"{name}=({', '.join(ast.unparse(a) for a in node.value.args)})"
                turn.outer.remove(node)
    if len(slots) != 2:
        raise NotApplicableError("keys and values do not lie in one buffer each")
    place = turn.outer.index(turn.loop)
    turn.outer[place:place] = statements(f"{ring} = ag.ring(2, {', '.join(slots[b] for b in buffers)})")
    for node in list(source.body):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and set(buffers) & names(call):
            call.args = [*(a for a in call.args if ast.unparse(a) not in buffers), expression(ring)]
    return ring


class _InRing(ast.NodeTransformer):
    """`sK` becomes `ring[slot].sK`."""

    def __init__(self, buffers: set[str], ring: str, slot: str) -> None:
        self._buffers, self._ring, self._slot = buffers, ring, slot

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self._buffers:
            return node
        return expression(f"{self._ring}[{self._slot}].{node.id}")


class _Renamed(ast.NodeTransformer):
    def __init__(self, names_: Mapping[str, str]) -> None:
        self._names = names_

    def visit_Name(self, node: ast.Name) -> ast.expr:
        node.id = self._names.get(node.id, node.id)
        return node


class _Writer:
    """Writes the pieces of the skewed loop."""

    def __init__(self, turn: SoftmaxTurn, parts: Parts, ring: str, name: str, ahead: int, end: str) -> None:
        self._turn, self._parts, self._ring, self._name, self._ahead, self._end = turn, parts, ring, name, ahead, end
        self._buffers = {_buffer(p) for p in parts.publish}

    def _at(self, node: ast.stmt, shift: int, slot: str) -> ast.stmt:
        when = expression(f"{self._name} + {shift}" if shift else self._name)
        return self._slotted(shifted(node, self._name, when), slot)

    def _first(self, node: ast.stmt, turn: int, slot: str = "") -> ast.stmt:
        return self._slotted(shifted(node, self._name, ast.Constant(turn)), slot)

    def _slotted(self, node: ast.stmt, slot: str) -> ast.stmt:
        _InRing(self._buffers, self._ring, slot).visit(node)
        return node

    def _guarded(self, node: ast.stmt, when: str) -> ast.stmt:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "load":
                set_keyword(call, "guard", expression(f"{when} < 2 * pairs"))
        return node

    def _some(self, which: int, slot: str, first: int, last: int) -> ast.stmt:
        """Read fragments `first` to `last` of keys (0) or values (1)."""
        read = copy.deepcopy(self._parts.read[which])
        self._slotted(read, slot)
        value = read.value
        if not isinstance(value, ast.ListComp):
            raise NotApplicableError("fragments are not read one by one")
        counter, item = ast.unparse(value.generators[0].target), ast.unparse(value.elt)
        target = ast.unparse(read.targets[0])
        if first:
            return statement(f"for {counter} in range({first}, {last}):\n    {target}.append({item})")
        return statement(f"{target} = [{item} for {counter} in range({last})]")

    def prologue(self, source: Source) -> list[ast.stmt]:
        """Everything that the first turn of the loop finds done."""
        turn, parts = self._turn, self._parts
        (fetch_k, fetch_v), (publish_k, publish_v) = parts.fetch, parts.publish
        found = [
            self._first(fetch_k, 0), self._first(publish_k, 0, "0"),
            self._first(fetch_k, 1), self._first(publish_k, 1, "1"),
            self._first(fetch_v, 0), self._first(publish_v, 0, "0"),
            self._guarded(self._first(fetch_k, 2), "2"), self._first(fetch_v, 1),
            statement("ag.barrier()"),
        ]  # fmt: skip
        own = [self._first(turn.zeros, 0), self._some(0, "0", 0, parts.count[0]), self._first(turn.first, 0)]
        own += [self._first(node, 0) for node in parts.weigh]
        carried = set().union(*(names(n) for n in parts.scale)) | {
            ast.unparse(n.targets[0]) for n in parts.weigh if isinstance(n, ast.Assign) and _kept(n, parts.weigh)
        }
        made = {ast.unparse(n.targets[0]) for n in own if isinstance(n, ast.Assign)}
        renamed = {name: source.fresh(f"{name}0") for name in sorted(made - carried)}
        own = [_Renamed(renamed).visit(node) for node in own]
        own[-len(parts.weigh) :] = [self._one(source, n) for n in own[-len(parts.weigh) :]]
        return [*found, *own, self._some(0, "1", 0, self._ahead), statement("ag.barrier()")]

    def _one(self, source: Source, node: ast.stmt) -> ast.stmt:
        """The factor of the first turn, one: what it scales is zero."""
        if not isinstance(node, ast.Assign) or not is_ag(node.value, "exp2"):
            return node
        name = ast.unparse(node.targets[0])
        scaled = [n for n in self._parts.scale if isinstance(n, ast.Assign) and name in names(n.value)]
        if name == _weights(self._turn) or not scaled:
            return node
        begun = {ast.unparse(n.targets[0]): n.value for n in self._turn.outer if isinstance(n, ast.Assign)}
        if not all(is_ag(begun.get(ast.unparse(n.targets[0]), ast.Constant(0)), "zeros") for n in scaled):
            raise NotApplicableError("what is rescaled does not begin as zero")
        top = next((begun[n] for n in sorted(names(node.value)) if n in begun and is_ag(begun[n], "full")), None)
        if not isinstance(top, ast.Call):
            raise NotApplicableError("the running maximum does not begin as a number")
        one = copy.deepcopy(top)
        one.args[2] = ast.Constant(1.0)
        return ast.Assign(node.targets, one)

    def turn(self, slot: Slot, *, last: bool) -> list[ast.stmt]:
        """One turn; the last one prepares nothing that is not used."""
        turn, parts, ahead = self._turn, self._parts, self._ahead
        (fetch_k, fetch_v), (publish_k, publish_v) = parts.fetch, parts.publish
        name = self._name
        branches = [n for n in parts.weigh if isinstance(n, ast.If)]
        first = [self._some(0, slot(1), ahead, parts.count[0]), self._at(turn.zeros, 1, "")]
        first += [] if last else [self._at(publish_k, 2, slot(2))]
        first += [self._some(1, slot(0), 0, ahead), self._at(publish_v, 1, slot(1))]
        if not last:
            first.append(self._guarded(self._at(fetch_k, 3, ""), f"{name} + 3"))
            first.append(self._guarded(self._at(fetch_v, 2, ""), f"{name} + 2"))
        first += [self._at(turn.first, 1, ""), *(self._at(n, 0, "") for n in parts.scale)]
        second = [self._some(1, slot(0), ahead, parts.count[1])]
        early, late = self._split()
        second += [early, *(self._at(n, 1, "") for n in parts.weigh if n not in branches), statement("ag.barrier()")]
        second += [] if last else [self._some(0, slot(2), 0, ahead)]
        second.append(late)
        between = [self._at(n, 1, "") for n in branches]
        return [statement(FIRST_PART), *first, *between, statement(SECOND_PART), *second]

    def _split(self) -> tuple[ast.stmt, ast.stmt]:
        """The second product in two: a quarter of it hides the first reads after the barrier."""
        whole = self._parts.count[1]
        cut = 3 * whole // 4
        early, late = copy.deepcopy(self._turn.second), copy.deepcopy(self._turn.second)
        target = early.target.elts[0] if isinstance(early.target, ast.Tuple) else early.target
        if not isinstance(early.iter, ast.Call) or not isinstance(late.iter, ast.Call):
            raise NotApplicableError("the second product is not unrolled")
        early.iter.args[0], late.iter.args[0] = ast.Constant(cut), ast.Constant(whole - cut)
        name = ast.unparse(target)
        late.body = [shifted(s, name, expression(f"({cut} + {name})")) for s in late.body]
        return early, late

    def rest(self, slot: str) -> list[ast.stmt]:
        """Sums and second product of the last turn."""
        whole = self._some(1, slot, 0, self._parts.count[1])
        return [*(copy.deepcopy(n) for n in self._parts.scale), whole, copy.deepcopy(self._turn.second)]


def _kept(node: ast.Assign, weigh: list[ast.stmt]) -> bool:
    """Whether a name is used in a statement before it is given its value: it comes from the turn before."""
    name = ast.unparse(node.targets[0])
    place = weigh.index(node)
    return any(name in names(n.value) for n in weigh[: place + 1] if isinstance(n, ast.Assign))
