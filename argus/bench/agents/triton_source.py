"""A Triton kernel out of somebody's Python file: its functions alone, and the job that compiles one of them.

    job = triton_job(text, "matmul", {"a": "*bf16", "M": 4096, "stride": 1}, {"BLOCK": 64}, {"num_warps": 4})

The file is parsed, not executed, and only `import triton…`, constants and functions under `triton.jit` are kept: no
autotuner, no wrapper, no import of PyTorch. What is kept is still other people's Python, which Triton must import: that
happens in the worker of `argus.bench.triton_compile`, and only where the user allowed it (`--run-python`).

Whole numbers are specialised as Triton's launcher does: one that is 1 is a constant, one divisible by 16 is marked so.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.bench.agents.hip_text import ExtractionError
from argus.bench.triton_compile import Job

DIVISOR = 16
Given = str | int


def triton_text(text: str, function: str) -> str:
    """Imports of Triton, constants, and the functions it compiles; decorators other than `triton.jit` are dropped."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ExtractionError("the file is not Python") from error
    kept: list[ast.stmt] = []
    for node in tree.body:
        match node:
            case ast.Import(names=names) if all(name.name.split(".")[0] == "triton" for name in names):
                kept.append(node)
            case ast.ImportFrom(module=str(module), level=0) if module.split(".")[0] == "triton":
                kept.append(node)
            case ast.Assign(value=ast.Constant()) | ast.AnnAssign(value=ast.Constant()):
                kept.append(node)
            case ast.FunctionDef(decorator_list=decorators) if any(map(_is_jit, decorators)):
                node.decorator_list = [each for each in decorators if _is_jit(each)]
                kept.append(node)
    if function not in {node.name for node in kept if isinstance(node, ast.FunctionDef)}:
        raise ExtractionError(f"there is no Triton function {function}")
    return ast.unparse(ast.Module(kept, [])) + "\n"


def _is_jit(decorator: ast.expr) -> bool:
    return ast.unparse(decorator) in ("triton.jit", "jit")


def triton_job(
    text: str,
    function: str,
    given: Mapping[str, Given],
    fixed: Mapping[str, int | float],
    options: Mapping[str, int],
) -> Job:
    """`given`: of each argument its type (pointers, floats), or the whole number it is launched with."""
    types = {name: value if isinstance(value, str) else "i32" for name, value in given.items() if value != 1}
    ones = {name: 1 for name, value in given.items() if value == 1}
    aligned = tuple(
        place
        for place, (name, value) in enumerate(given.items())
        if name in types and (value.startswith("*") if isinstance(value, str) else value % DIVISOR == 0)
    )
    return Job(triton_text(text, function), function, types, {**ones, **fixed}, aligned, dict(options))
