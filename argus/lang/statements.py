"""Reading statements: assignment, static and real loops, static and real branches, functions read in place.

What stays a loop or a branch in the machine code is in `argus.lang.regions`; here is what is carried out while reading.
A function is read in place at each call, with its own names.
"""

from __future__ import annotations

import ast

from argus.ir.ops import Op
from argus.lang import arithmetic, flow, members, tiles
from argus.lang.context import OP_EFFORT
from argus.lang.regions import Regions
from argus.lang.values import Coordinates, FileFunction, NamedPolicy, NameScope, Range, SharedTile, Tile
from argus.layout.expr import Expr

State = list[tuple[NameScope, dict[str, object]]]

_REFUSED = {
    "ClassDef": "a class",
    "AsyncFunctionDef": "`async`",
    "AsyncFor": "`async`",
    "AsyncWith": "`async`",
    "Delete": "`del`",
    "While": "`while`",
    "Match": "`match`",
    "Raise": "`raise`",
    "Try": "`try`",
    "TryStar": "`try`",
    "Global": "`global`",
    "Import": "an import inside a kernel",
    "ImportFrom": "an import inside a kernel",
    "AnnAssign": "an annotated assignment",
}


class Returned(Exception):
    """Leaves the function being read with its value."""

    def __init__(self, value: object) -> None:
        self.value = value


class Interpreter(Regions):
    """Reads statements in a scope."""

    def run_kernel(self, node: ast.FunctionDef) -> None:
        """The body of a kernel; its return value, if any, must be nothing."""
        try:
            self.run(node.body)
        except Returned as returned:
            if returned.value is not None:
                raise self.ctx.error("AG523", node) from None

    def run(self, body: list[ast.stmt]) -> None:
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        self.ctx.spend()
        kind = type(node).__name__
        with self.ctx.at(node):
            match node:
                case ast.Assign():
                    value = self.evaluate(node.value)
                    for target in node.targets:
                        self.bind(target, value)
                case ast.AugAssign():
                    self._augmented(node)
                case ast.Expr():
                    self._expression(node)
                case ast.For():
                    self._for(node)
                case ast.If():
                    self.branch(node)
                case ast.With():
                    self._with(node)
                case ast.FunctionDef():
                    if node.decorator_list:
                        raise self.ctx.error("AG105", node, what="a decorator inside a kernel")
                    self.scope.names[node.name] = FileFunction(node.name, node, self.scope, self.ctx.file)
                case ast.Return():
                    if self.barred:
                        raise self.ctx.error("AG508", node, where=self.barred[-1])
                    raise Returned(None if node.value is None else self.evaluate(node.value))
                case ast.Assert():
                    self._assert(node)
                case ast.Nonlocal():
                    self.scope.nonlocals.update(node.names)
                case ast.Pass():
                    pass
                case ast.Break() | ast.Continue():
                    raise self.ctx.error("AG509", node, word=kind.lower())
                case _:
                    raise self.ctx.error("AG105", node, what=_REFUSED.get(kind, f"`{kind}`"))

    # -- assignment -------------------------------------------------------------------------------------------------

    def _named(self, name: str, value: object) -> object:
        """LDS buffers get the name they are assigned to; in a list or dictionary, with their place."""
        if isinstance(value, SharedTile) and value.buffer in self.ctx.unnamed:
            self.ctx.unnamed.remove(value.buffer)
            return SharedTile(self.ctx.rename_buffer(value.buffer, name), value.layout, value.shift)
        if not self.ctx.unnamed:
            return value
        if isinstance(value, (list, tuple)):
            made = [self._named(f"{name}_{i}", v) for i, v in enumerate(value)]
            return made if isinstance(value, list) else tuple(made)
        if isinstance(value, dict):
            return {k: self._named(f"{name}_{k}", v) for k, v in value.items()}
        return value

    def bind(self, target: ast.expr, value: object) -> None:
        match target:
            case ast.Name():
                value = self._named(target.id, value)
                scope = self.scope
                if target.id in scope.nonlocals and scope.parent is not None:
                    scope = scope.parent.holder(target.id) or scope
                    if scope not in self.active:
                        raise self.ctx.error("AG522", target, name=target.id)
                scope.names[target.id] = value
            case ast.Tuple() | ast.List():
                self._unpack(target, value)
            case ast.Subscript():
                with self.ctx.at(target):
                    container = self.evaluate(target.value)
                    self._rebind(target.value, self._updated(container, self.index_of(target), value, target))
            case _:
                raise self.ctx.error("AG105", target, what="assignment to this")

    def _unpack(self, target: ast.Tuple | ast.List, value: object) -> None:
        items = self.static_items(value, target)
        if any(isinstance(t, ast.Starred) for t in target.elts):
            raise self.ctx.error("AG108", target, what="`*` in an assignment")
        if len(items) != len(target.elts):
            raise self.ctx.error("AG517", target, names=len(target.elts), values=len(items))
        for part, item in zip(target.elts, items, strict=True):
            self.bind(part, item)

    def _rebind(self, node: ast.expr, value: object) -> None:
        """Give the name at the root of `x[i][j]` its changed value, in the scope that holds it."""
        match node:
            case ast.Name():
                holder = self.scope.holder(node.id) or self.scope
                if holder not in self.active:
                    raise self.ctx.error("AG522", node, name=node.id)
                holder.names[node.id] = value
            case ast.Subscript():
                self._rebind(node.value, self._updated(self.evaluate(node.value), self.index_of(node), value, node))
            case _:
                raise self.ctx.error("AG105", node, what="assignment into this")

    def _updated(self, container: object, index: object, value: object, node: ast.AST) -> object:
        if isinstance(container, Tile):
            key = tiles.check_index(self.ctx, container, index if isinstance(index, tuple) else (index,))
            part = tiles.fix(self.ctx, container, key)
            return tiles.update(self.ctx, container, key, arithmetic.to_tile(self.ctx, value, part))
        if isinstance(container, list) and isinstance(index, int):
            if not -len(container) <= index < len(container):
                raise self.ctx.error(
                    "AG403",
                    node,
                    problem=f"{index} is outside 0..{len(container) - 1}",
                    shape=f"{len(container)} entries",
                )
            return [value if i == index % len(container) else old for i, old in enumerate(container)]
        if isinstance(container, dict) and isinstance(index, (str, int, tuple)):
            return {**container, index: value}
        raise self.ctx.error("AG418", node, what=arithmetic.describe(container))

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Attribute):
            raise self.ctx.error("AG105", node.target, what="assignment to this")
        old = self.evaluate(node.target)
        value = arithmetic.binary(self.ctx, node.op, old, self.evaluate(node.value))
        self.bind(node.target, value)

    def _expression(self, node: ast.Expr) -> None:
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "append"
            and len(call.args) == 1
            and isinstance(items := self.evaluate(call.func.value), list)
        ):
            self._rebind(call.func.value, [*items, self.evaluate(call.args[0])])
            return
        self.evaluate(call)

    def _assert(self, node: ast.Assert) -> None:
        test = self.evaluate(node.test)
        if isinstance(test, (Expr, Tile, Coordinates)):
            raise self.ctx.error("AG518", node, what=arithmetic.describe(test))
        if not test:
            message = self.evaluate(node.msg) if node.msg is not None else ast.unparse(node.test)
            raise self.ctx.error("AG519", node, message=message)

    # -- functions --------------------------------------------------------------------------------------------------

    def call_function(self, function: FileFunction, args: list[object], keywords: dict[str, object]) -> object:
        self.ctx.spend(OP_EFFORT)
        scope = NameScope(function.scope)
        self._bind_arguments(function, scope, args, keywords)
        outer, self.scope = self.scope, scope
        barred, self.barred = self.barred, []
        self.active.append(scope)
        with self.ctx.in_file(function.file):
            result = self._result(function.node)
        self.scope, self.barred = outer, barred
        self.active.pop()
        return result

    def _result(self, node: ast.FunctionDef | ast.Lambda) -> object:
        """What a function returns, read in the current scope."""
        if isinstance(node, ast.Lambda):
            return self.evaluate(node.body)
        try:
            self.run(node.body)
        except Returned as returned:
            return returned.value
        return None

    def _bind_arguments(
        self, function: FileFunction, scope: NameScope, args: list[object], keywords: dict[str, object]
    ) -> None:
        spec, ctx = function.node.args, self.ctx
        if spec.vararg or spec.kwarg:
            with ctx.in_file(function.file):
                raise ctx.error("AG108", function.node, what="`*` or `**` in the arguments of a function")
        positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        names = [*positional, *(a.arg for a in spec.kwonlyargs)]
        if len(args) > len(positional):
            raise ctx.error(
                "AG112", function=function.name, problem=f"it takes {len(positional)} arguments, {len(args)} are given"
            )
        bound: dict[str, object] = dict(zip(positional, args, strict=False))
        for name, value in keywords.items():
            if name not in names:
                raise ctx.error("AG112", function=function.name, problem=f"it has no argument `{name}`")
            if name in bound:
                raise ctx.error("AG112", function=function.name, problem=f"`{name}` is given twice")
            bound[name] = value
        defaults = dict(zip(reversed(positional), reversed(spec.defaults), strict=False))
        defaults |= {a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
        for name in names:
            if name not in bound:
                if name not in defaults:
                    raise ctx.error("AG112", function=function.name, problem=f"the argument `{name}` is missing")
                outer, self.scope = self.scope, function.scope
                with ctx.in_file(function.file):
                    bound[name] = self.evaluate(defaults[name])
                self.scope = outer
        scope.names.update(bound)

    # -- loops ------------------------------------------------------------------------------------------------------

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.ctx.error("AG105", node, what="`else` after a loop")
        items = self.evaluate(node.iter)
        if isinstance(items, Range):
            self.loop(node, items)
            return
        for position, item in enumerate(self.static_items(items, node.iter)):
            self.ctx.spend()
            self.bind(node.target, item)
            with self.site(node.target, item, position):
                self.run(node.body)

    def _with(self, node: ast.With) -> None:
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise self.ctx.error("AG105", node, what="this form of `with`")
        policy = self.evaluate(node.items[0].context_expr)
        if not isinstance(policy, NamedPolicy) or policy.kind not in ("schedule", "opposite"):
            raise self.ctx.error("AG521", node.items[0].context_expr, what=arithmetic.describe(policy))
        if policy.kind == "opposite":
            flow.shift_phase(self, late=True)
            self.run(node.body)
            flow.shift_phase(self, late=False)
            return
        block: list[Op] = []
        with self.ctx.b.into(block):
            self.run(node.body)
        members.schedule(self.ctx, policy, block)
