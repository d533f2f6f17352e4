"""From a kernel file to kernel IR.

    read("gemm.py", settings={"BM": 64}) -> Kernel

Steps: parse the file; read its top level (`argus.lang.module_reader`): imports from `argus`, from the library's kernel
files and from files beside it, constants, knobs (with the caller's settings) and layouts; find the `@ag.kernel`
function; read its signature into tensors, scalars and size symbols; turn `requires` into conditions that also tighten
the bounds of sizes; read the body; verify the result.

A kernel file is data: nothing in it is executed, imported or looked up in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from argus.gfx942.fragments import Fragment
from argus.gfx942.target import GFX942, Target
from argus.ir.kernel import Kernel, KnobValue
from argus.ir.verify import verify
from argus.lang.context import ReadContext
from argus.lang.errors import ProgramError
from argus.lang.imports import LIBRARY, LIBRARY_MODULE, KernelFolder
from argus.lang.module_reader import KernelFiles, ModuleReader
from argus.lang.signature import Decorator, Signature, read_decorator, read_signature
from argus.lang.source import MAX_NESTING, text_of, tree_of
from argus.lang.statements import Interpreter
from argus.lang.values import NameScope
from argus.layout.expr import ExprError, const


def read(
    path_or_source: str | Path,
    settings: Mapping[str, KnobValue] | None = None,
    kernel: str | None = None,
    target: Target = GFX942,
    beside: Mapping[str, str] | None = None,
) -> Kernel:
    """Read one kernel of a file with the given knob settings, for a target.

    Source text (a string with a line break) is read too; `beside` are the files it may import, by module name.
    """
    file, source = text_of(path_or_source)
    tree = tree_of(file, source)
    reader = _KernelReader(file, source, KernelFiles(settings or {}, KernelFolder.of(path_or_source, beside)), target)
    with _diagnosed(reader.ctx):
        return reader.kernel(tree, kernel)


def read_value(path: str | Path, name: str, settings: Mapping[str, KnobValue] | None = None) -> object:
    """What a name at the top level of a kernel file stands for (a layout, an owner, a number), or None if not there."""
    file, source = text_of(path)
    tree = tree_of(file, source)
    reader = _KernelReader(file, source, KernelFiles(settings or {}, KernelFolder.of(path)), GFX942)
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


class _KernelReader(ModuleReader):
    """Reads the kernel file itself, and one kernel of it."""

    def __init__(self, file: str, source: str, files: KernelFiles, target: Target) -> None:
        super().__init__(ReadContext(file, source, target), files)
        files.open.append(_own_module(file))

    def kernel(self, tree: ast.Module, name: str | None) -> Kernel:
        return self._read(self._choose(self.statements(tree), name, tree))

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

    def _read(self, node: ast.FunctionDef) -> Kernel:
        ctx = self.ctx
        call = self.kernel_decorator(node)
        assert call is not None
        signature: Signature = read_signature(ctx, self.interp, node, self)
        decorator: Decorator = read_decorator(ctx, self.interp, call, signature)
        unknown = set(self.files.settings) - {k.name for k in self.files.knobs}
        if unknown:
            name = min(unknown)
            raise ctx.error("AG202", node, name=name, known=", ".join(k.name for k in self.files.knobs) or "none")
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
            source=ctx.sources[ctx.file],
            tensors=tuple(signature.tensors),
            scalars=tuple(signature.scalars),
            shapes=tuple(signature.shapes),
            knobs=tuple(self.files.knobs),
            settings=dict(self.files.chosen),
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
            imports=tuple(self.files.sources.values()),
        )
        verify(kernel)
        return kernel


def _own_module(file: str) -> str:
    """The name by which the kernel file would import itself: a file of the library has the library's."""
    path = Path(file)
    if not path.is_file():
        return ""
    return f"{LIBRARY_MODULE}.{path.stem}" if path.resolve().parent == LIBRARY.resolve() else path.stem


__all__ = ["ProgramError", "read"]
