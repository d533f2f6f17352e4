"""Tags and assertions cost nothing at run time: the object is the same, byte for byte, without them and their lines.

Every kernel file of the library and of the language's programs that states something is compiled as it is, and again
after all statements `ag.check.…(…)`, and tags `W = ag.tag(W, …)`, have been deleted from its text with their lines.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from argus.compile import compile_kernel
from argus.ir import ops
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read

ROOT = Path(__file__).parents[3]
FILES = [*(ROOT / "argus" / "kernels").glob("*.py"), *(ROOT / "tests" / "lang" / "programs").glob("*.py")]


def is_statement_about(node: ast.stmt) -> bool:
    """`ag.check.rule(…)` alone, or `X = ag.tag(X, …)`."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="ag"), attr="check")))):
            return True
        case ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id="ag"), attr="tag"))):
            return True
        case _:
            return False


def without_statements(source: str) -> str:
    """The text with the lines of all such statements deleted."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and is_statement_about(node):
            for n in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[n - 1] = ""
    return "".join(lines)


def kernels_of(path: Path) -> list[str]:
    """Functions decorated with `ag.kernel`."""
    found = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return [node.name for node in found if any("ag.kernel" in ast.unparse(d) for d in node.decorator_list)]


STATED = [(p, k) for p in sorted(FILES) if without_statements(p.read_text()) != p.read_text() for k in kernels_of(p)]
SLOW = ("matmul", "attention")
CASES = [pytest.param(p, k, id=f"{p.stem}-{k}", marks=[pytest.mark.full] * (p.stem in SLOW)) for p, k in STATED]


def outcome(kernel: Kernel) -> bytes | str:
    """The object, or the code of the compiler's refusal."""
    try:
        return compile_kernel(scheduled(kernel)).object
    except CompileError as error:
        return error.code


def test_there_are_such_kernels() -> None:
    assert len(STATED) >= 5


@pytest.mark.parametrize(("path", "name"), CASES)
def test_the_object_is_the_same_without_them(path: Path, name: str, tmp_path: Path) -> None:
    bare = tmp_path / path.name
    bare.write_text(without_statements(path.read_text()))
    kernel, silent = read(path, kernel=name), read(bare, kernel=name)
    assert not [op for op in ops.walk(silent.body) if isinstance(op, ops.Check | ops.Tag)]
    assert outcome(silent) == outcome(kernel)
