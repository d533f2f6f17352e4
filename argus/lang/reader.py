"""From a kernel file to kernel IR.

    read("gemm.py", settings={"BM": 64}) -> Kernel

Steps: parse the file; take imports from `argus` only; evaluate module-level constants, knobs (with the caller's
settings) and layouts; find the `@ag.kernel` function; read its signature into tensors, scalars and size symbols; turn
`requires` into conditions that also tighten the bounds of sizes; read the body; verify the result.

A kernel file is data: nothing in it is executed, imported or looked up in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from argus.gfx942.fragments import Fragment
from argus.gfx942.target import GFX942, Target
from argus.ir.kernel import Kernel, Knob, KnobValue
from argus.ir.verify import verify
from argus.lang import members
from argus.lang.context import ReadContext
from argus.lang.errors import ProgramError
from argus.lang.signature import Decorator, Signature, read_decorator, read_signature
from argus.lang.source import MAX_NESTING, text_of, tree_of
from argus.lang.statements import Interpreter
from argus.lang.suggestions import other_form, suggestion
from argus.lang.values import FileFunction, NameScope, Namespace
from argus.layout.expr import ExprError, const

_ALLOWED_MODULES = {"argus": members.ARGUS, "argus.gfx942": members.GFX942}


def read(
    path_or_source: str | Path,
    settings: Mapping[str, KnobValue] | None = None,
    shapes: None = None,
    kernel: str | None = None,
    target: Target = GFX942,
) -> Kernel:
    """Read one kernel of a file (or of source text) with the given knob settings, for a target."""
    file, source = text_of(path_or_source)
    tree = tree_of(file, source)
    reader = _KernelReader(file, source, settings or {}, target)
    with _diagnosed(reader.ctx):
        return reader.kernel(tree, kernel)


def read_value(path: str | Path, name: str, settings: Mapping[str, KnobValue] | None = None) -> object:
    """What a name at the top level of a kernel file stands for (a layout, an owner, a number), or None if not there."""
    file, source = text_of(path)
    tree = tree_of(file, source)
    reader = _KernelReader(file, source, settings or {})
    with _diagnosed(reader.ctx):
        reader.statements(tree)
    found = reader.module.names.get(name)
    return found.owner if isinstance(found, Fragment) else found


@contextmanager
def _diagnosed(ctx: ReadContext) -> Iterator[None]:
    """What index arithmetic refuses deep inside becomes a diagnostic at the place being read."""
    try:
        yield
    except RecursionError:
        raise ctx.error("AG120", limit=MAX_NESTING) from None
    except (ExprError, OverflowError) as error:
        raise ctx.error("AG512", problem=str(error)) from None


class _KernelReader:
    def __init__(self, file: str, source: str, settings: Mapping[str, KnobValue], target: Target = GFX942) -> None:
        self.ctx = ReadContext(file, source, target)
        self.module = NameScope(None)
        self.interp = Interpreter(self.ctx, self.module)
        self.settings = dict(settings)
        self.knobs: list[Knob] = []
        self.chosen: dict[str, KnobValue] = {}

    def kernel(self, tree: ast.Module, name: str | None) -> Kernel:
        return self._read(self._choose(self.statements(tree), name, tree))

    def statements(self, tree: ast.Module) -> dict[str, ast.FunctionDef]:
        """Read the top level of the file; returns its kernels, not yet read."""
        found: dict[str, ast.FunctionDef] = {}
        for node in tree.body:
            self._module_statement(node, found)
        return found

    # -- the file ---------------------------------------------------------------------------------------------------

    def _module_statement(self, node: ast.stmt, kernels: dict[str, ast.FunctionDef]) -> None:
        ctx = self.ctx
        match node:
            case ast.Import():
                for alias in node.names:
                    if alias.name != "argus" and alias.name not in _ALLOWED_MODULES:
                        raise ctx.error("AG103", node, module=alias.name)
                    self.module.names[alias.asname or alias.name.split(".")[0]] = (
                        _ALLOWED_MODULES[alias.name] if alias.asname else members.ARGUS
                    )
            case ast.ImportFrom():
                self._import_from(node)
            case ast.Assign() if self._knob_call(node) is not None:
                self._knob(node)
            case ast.FunctionDef():
                decorator = self._kernel_decorator(node)
                if decorator is not None:
                    kernels[node.name] = node
                elif node.decorator_list:
                    raise ctx.error("AG105", node.decorator_list[0], what="a decorator other than @ag.kernel")
                else:
                    self.module.names[node.name] = FileFunction(node.name, node, self.module)
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Assign() | ast.Assert():
                self.interp.statement(node)
            case _:
                raise ctx.error("AG121", node)

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.module == "__future__" and node.level == 0:
            return
        space = _ALLOWED_MODULES.get(node.module or "")
        if space is None or node.level:
            raise self.ctx.error("AG103", node, module="." * node.level + (node.module or ""))
        for alias in node.names:
            if alias.name == "*":
                raise self.ctx.error("AG104", node, module=space.name, name="*")
            found = members.lookup(space.name, alias.name, self.ctx.target)
            if found is None and alias.name in ("knob", "kernel"):
                found = Namespace(alias.name)
            if found is None:
                form = other_form(alias.name)
                if form:
                    raise self.ctx.error("AG122", node, name=alias.name, form=form)
                note = suggestion(alias.name, members.names_of(space.name))
                raise self.ctx.error("AG104", node, *([note] if note else []), module=space.name, name=alias.name)
            self.module.names[alias.asname or alias.name] = found

    def _language_call(self, node: ast.expr, name: str) -> ast.Call | None:
        """`ag.name(...)` or `name(...)` imported from argus."""
        if not isinstance(node, ast.Call):
            return None
        match node.func:
            case ast.Attribute(value=ast.Name(id=space), attr=attr):
                return node if attr == name and self.module.names.get(space) is members.ARGUS else None
            case ast.Name(id=word):
                bound = self.module.names.get(word)
                return node if isinstance(bound, Namespace) and bound.name == name else None
        return None

    def _knob_call(self, node: ast.Assign) -> ast.Call | None:
        return self._language_call(node.value, "knob")

    def _kernel_decorator(self, node: ast.FunctionDef) -> ast.Call | None:
        for decorator in node.decorator_list:
            call = self._language_call(decorator, "kernel")
            if call is not None:
                return call
            as_call = ast.Call(func=decorator, args=[], keywords=[])
            if self._language_call(as_call, "kernel") is not None:
                raise self.ctx.error("AG207", decorator, threads="nothing")
        return None

    def _knob(self, node: ast.Assign) -> None:
        ctx, call = self.ctx, self._knob_call(node)
        assert call is not None
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, ast.Name):
            raise ctx.error("AG203", node, problem="a knob is one name: BM = ag.knob(128, legal=(64, 128))")
        values: dict[str, object] = {k.arg or "**": self.interp.evaluate(k.value) for k in call.keywords}
        args = [self.interp.evaluate(a) for a in call.args]
        unknown = set(values) - {"legal", "why"}
        if len(args) != 1 or unknown:
            raise ctx.error("AG203", call, problem='a knob takes its default, legal=(…) and why="…"')
        default, legal, why = args[0], values.get("legal"), values.get("why", "")
        if not isinstance(default, (int, str)) or not isinstance(why, str):
            raise ctx.error(
                "AG203", call, problem="a knob's default is a number, True/False or a word, and `why` is a sentence"
            )
        if legal is None:
            legal = (False, True) if isinstance(default, bool) else None
        if not isinstance(legal, (tuple, list)) or not all(isinstance(v, (int, str)) for v in legal) or not legal:
            raise ctx.error("AG203", call, problem="legal=(…) lists every value the knob may take")
        if not any(_same(default, v) for v in legal):
            raise ctx.error(
                "AG203", call, problem=f"the default {default} is not one of the legal values {_listed(tuple(legal))}"
            )
        self.define_knob(Knob(target.id, default, tuple(legal), why, ctx.span_of(node)))

    def define_knob(self, knob: Knob) -> None:
        self.knobs.append(knob)
        value = self.settings.get(knob.name, knob.default)
        if not any(_same(value, v) for v in knob.legal):
            raise self.ctx.error("AG201", knob.span, name=knob.name, value=value, legal=_listed(knob.legal))
        self.module.names[knob.name] = self.chosen[knob.name] = value

    def _choose(self, found: dict[str, ast.FunctionDef], name: str | None, tree: ast.Module) -> ast.FunctionDef:
        place = tree.body[0] if tree.body else None
        if name is not None:
            if name not in found:
                raise self.ctx.error("AG118", place, name=name, known=", ".join(found) or "none")
            return found[name]
        if not found:
            raise self.ctx.error("AG116", place)
        if len(found) > 1:
            raise self.ctx.error("AG117", list(found.values())[1], names=", ".join(found))
        return next(iter(found.values()))

    # -- the kernel -------------------------------------------------------------------------------------------------

    def _read(self, node: ast.FunctionDef) -> Kernel:
        ctx = self.ctx
        call = self._kernel_decorator(node)
        assert call is not None
        signature: Signature = read_signature(ctx, self.interp, node, self)
        decorator: Decorator = read_decorator(ctx, self.interp, call, signature)
        unknown = set(self.settings) - {k.name for k in self.knobs}
        if unknown:
            name = min(unknown)
            raise ctx.error("AG202", node, name=name, known=", ".join(k.name for k in self.knobs) or "none")
        scope = NameScope(self.module, dict(signature.names))
        body = Interpreter(ctx, scope)
        ctx.span = ctx.b.span = ctx.span_of(node)
        body.run_kernel(node)
        if ctx.grid is None and signature.shapes:
            raise ctx.error("AG216", node, kernel=node.name, size=signature.shapes[0].name)
        if ctx.grid is None:
            ctx.grid = (const(1), const(1), const(1))
        kernel = Kernel(
            name=node.name,
            file=ctx.file,
            source=ctx.source,
            tensors=tuple(signature.tensors),
            scalars=tuple(signature.scalars),
            shapes=tuple(signature.shapes),
            knobs=tuple(self.knobs),
            settings=dict(self.chosen),
            requires=tuple(decorator.requires),
            waves=ctx.waves,
            grid=ctx.grid,
            shared=tuple(ctx.shared),
            body=ctx.b.body,
            target=ctx.target,
            policies=decorator.policies,
            example=decorator.example,
            computes=decorator.computes,
            span=ctx.span_of(node),
        )
        verify(kernel)
        return kernel


def _same(a: object, b: object) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _listed(values: tuple[object, ...]) -> str:
    return ", ".join(map(str, values))


__all__ = ["ProgramError", "read"]
