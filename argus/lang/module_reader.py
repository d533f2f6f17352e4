"""The top level of a kernel file: imports, knobs, constants, layouts, owners and functions, in a scope of its own.

A kernel file may import another (`argus.lang.imports`): that one is read in the same way, once, and the names asked for
are taken over with what they stand for. Its knobs are knobs of the kernel: a setting of the caller reaches the layouts
that were made from them, so a knob has one definition in all files of a kernel.

    rows.py       WAVES = ag.knob(1, legal=(1, 2))           softmax.py     from argus.kernels.rows import ROW, WAVES
                  ROW = ag.Owner(t=64 * WAVES, …)                           …  read(softmax.py, {"WAVES": 2})

Functions are read in place where they are called, with the names of the file they stand in; places in them, in
diagnostics and counterexamples, name that file.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from argus.ir.kernel import ImportedSource, Knob, KnobValue
from argus.lang import members
from argus.lang.context import ReadContext
from argus.lang.errors import Note
from argus.lang.imports import (
    LIBRARY_MODULE,
    MAX_DEPTH,
    MAX_TOTAL,
    KernelFolder,
    OutsideError,
    is_library,
    library_modules,
)
from argus.lang.source import tree_of
from argus.lang.statements import Interpreter
from argus.lang.suggestions import nearest, other_form, suggestion
from argus.lang.values import FileFunction, NameScope, Namespace

_ALLOWED_MODULES = {"argus": members.ARGUS, "argus.gfx942": members.GFX942}


@dataclass(slots=True)
class KernelFiles:
    """What the files of one reading share: settings, knobs, and the files read so far by module name.

    `open` are the modules being read, from the kernel file ("") inwards.
    """

    settings: Mapping[str, KnobValue]
    folder: KernelFolder
    knobs: list[Knob] = field(default_factory=list)
    chosen: dict[str, KnobValue] = field(default_factory=dict)
    imported: dict[str, ModuleReader] = field(default_factory=dict)
    sources: dict[str, ImportedSource] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)


class ModuleReader:
    """Reads the top level of one file."""

    def __init__(self, ctx: ReadContext, files: KernelFiles) -> None:
        self.ctx = ctx
        self.files = files
        self.module = NameScope(None)
        self.interp = Interpreter(ctx, self.module)
        self.kernels: dict[str, ast.FunctionDef] = {}

    def statements(self, tree: ast.Module) -> dict[str, ast.FunctionDef]:
        """Read the top level of the file; returns its kernels, not yet read."""
        for node in tree.body:
            self._statement(node)
        return self.kernels

    def _statement(self, node: ast.stmt) -> None:
        ctx = self.ctx
        match node:
            case ast.Import():
                for alias in node.names:
                    if alias.name != "argus" and alias.name not in _ALLOWED_MODULES:
                        raise ctx.error("AG103", node, *self._import_notes(alias.name), module=alias.name)
                    self.module.names[alias.asname or alias.name.split(".")[0]] = (
                        _ALLOWED_MODULES[alias.name] if alias.asname else members.ARGUS
                    )
            case ast.ImportFrom():
                self._import_from(node)
            case ast.Assign() if self._knob_call(node) is not None:
                self._knob(node)
            case ast.FunctionDef():
                decorator = self.kernel_decorator(node)
                if decorator is not None:
                    self.kernels[node.name] = node
                elif node.decorator_list:
                    raise ctx.error("AG105", node.decorator_list[0], what="a decorator other than @ag.kernel")
                else:
                    self.module.names[node.name] = FileFunction(node.name, node, self.module, ctx.file)
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Assign() | ast.Assert():
                self.interp.statement(node)
            case _:
                raise ctx.error("AG121", node)

    # -- imports ----------------------------------------------------------------------------------------------------

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.module == "__future__" and node.level == 0:
            return
        if node.level:
            raise self.ctx.error("AG126", node, module="." * node.level + (node.module or ""))
        space = _ALLOWED_MODULES.get(node.module or "")
        if space is None:
            self._import_file(node, node.module or "")
            return
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

    def _import_file(self, node: ast.ImportFrom, module: str) -> None:
        other = self._imported(node, module)
        for alias in node.names:
            names = other.module.names
            if alias.name not in names:
                problem = "is a kernel of" if alias.name in other.kernels else "is not defined in"
                note = nearest(alias.name, list(names))
                raise self.ctx.error(
                    "AG124", node, *([note] if note else []), name=alias.name, problem=problem, module=module
                )
            self.module.names[alias.asname or alias.name] = names[alias.name]

    def _imported(self, node: ast.ImportFrom, module: str) -> ModuleReader:
        """The file of a module, read now if it was not."""
        files, ctx = self.files, self.ctx
        if module in files.open:
            way = [*files.open[files.open.index(module) :], module]
            raise ctx.error("AG125", node, module=module, way=" → ".join(way))
        if module in files.imported:
            return files.imported[module]
        source = self._source(node, module)
        if len(files.open) > MAX_DEPTH:
            raise ctx.error("AG127", node, module=module, limit=f"{MAX_DEPTH} levels")
        if sum(len(s.text) for s in (*files.sources.values(), source)) > MAX_TOTAL:
            raise ctx.error("AG127", node, module=module, limit=f"{MAX_TOTAL:,} bytes")
        files.sources[module] = source
        ctx.sources[source.file] = source.text
        files.open.append(module)
        reader = files.imported[module] = ModuleReader(ctx, files)
        with ctx.in_file(source.file):
            reader.statements(tree_of(source.file, source.text))
        files.open.pop()
        return reader

    def _source(self, node: ast.ImportFrom, module: str) -> ImportedSource:
        try:
            source = self.files.folder.source(module, self.files.open[-1])
        except OutsideError as error:
            raise self.ctx.error("AG126", node, f"it leads to {error}", module=module) from None
        if source is None:
            code = "AG123" if is_library(module) else "AG103"
            raise self.ctx.error(code, node, *self._import_notes(module), module=module)
        return source

    def _import_notes(self, module: str) -> list[Note | str]:
        """What may have been meant by a module that is none."""
        if module == LIBRARY_MODULE or is_library(module):
            known = library_modules()
        else:
            known = [] if is_library(self.files.open[-1]) else list(self.files.folder.modules())
        if module == LIBRARY_MODULE or module in known:
            return [f"a kernel file is imported by its names: from {module if module in known else known[0]} import …"]
        note = nearest(module, known)
        return [note] if note else []

    # -- calls of the language --------------------------------------------------------------------------------------

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

    def kernel_decorator(self, node: ast.FunctionDef) -> ast.Call | None:
        """The call of `@ag.kernel(…)`, if the function has it."""
        for decorator in node.decorator_list:
            call = self._language_call(decorator, "kernel")
            if call is not None:
                return call
            as_call = ast.Call(func=decorator, args=[], keywords=[])
            if self._language_call(as_call, "kernel") is not None:
                raise self.ctx.error("AG207", decorator, threads="nothing")
        return None

    # -- knobs ------------------------------------------------------------------------------------------------------

    def _knob_call(self, node: ast.Assign) -> ast.Call | None:
        return self._language_call(node.value, "knob")

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
        """Give the knob its value: the caller's setting, else its default."""
        files = self.files
        known = next((k for k in files.knobs if k.name == knob.name), None)
        if known is not None:
            note = Note("the other one", known.span)
            raise self.ctx.error("AG203", knob.span, note, problem=f"`{knob.name}` is the name of a knob already")
        files.knobs.append(knob)
        value = files.settings.get(knob.name, knob.default)
        if not any(_same(value, v) for v in knob.legal):
            raise self.ctx.error("AG201", knob.span, name=knob.name, value=value, legal=_listed(knob.legal))
        self.module.names[knob.name] = files.chosen[knob.name] = value


def _same(a: object, b: object) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _listed(values: tuple[object, ...]) -> str:
    return ", ".join(map(str, values))
