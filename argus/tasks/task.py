"""A task: what is to be computed, at which sizes, starting from which kernel. One file says all of it.

    TASK = dict(
        family="gemm",                              whose experience applies: gemm, row, attention, moe, or your own
        shapes=[dict(M=4096, N=4096, K=4096)],      optimised and timed
        held_out=[dict(M=512, N=768, K=1024)],      never timed: results must be right there too
        small=[dict(M=256, N=256, K=128)],          executed whole, with all checks of the machine on
    )

    @ag.kernel(…, computes="C[m, n] = sum(A[m, k] * B[n, k], k)", …)
    def gemm(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]): …      the naive kernel

The kernel's signature and `computes` are the contract every candidate keeps; reference, tolerance and inputs follow
from them (`argus.spec`, `compare`, `inputs`). Optional entries: `specials` (whether NaN and infinity are among
the inputs), `routing` (which inputs are the index tensors of a mixture of experts, `argus.tasks.routing`), `published`
and `library` (figures to stand beside).

The file is read, never executed: TASK holds literals only. `argus optimize FILE` takes any such file.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from argus.gfx942.target import GFX942, Target
from argus.ir.kernel import Kernel
from argus.lang import read
from argus.lang.imports import KernelFolder, imports_of, is_library
from argus.lang.source import text_of
from argus.tasks.routing import RoutingTensors

Sizes = Mapping[str, int]
ENTRIES = frozenset({"family", "shapes", "held_out", "small", "specials", "routing", "published", "library"})


class TaskError(ValueError):
    """A task file does not say what a task needs."""


@dataclass(frozen=True, slots=True)
class Task:
    """`source` is the naive kernel without TASK; `kernel` is the same, read. `device`: whose times count.

    `beside`: the texts of the files in the task's folder that the kernel imports, by module name.
    """

    name: str
    family: str
    source: str
    kernel: Kernel
    shapes: tuple[Sizes, ...]
    held_out: tuple[Sizes, ...] = ()
    small: tuple[Sizes, ...] = ()
    specials: bool = False
    published: Mapping[str, Any] = field(default_factory=dict)
    library: str = ""
    device: str = "simulated"
    routing: RoutingTensors | None = None
    beside: Mapping[str, str] = field(default_factory=dict)


def builtin_tasks() -> tuple[str, ...]:
    """Names of the tasks that come with Argus."""
    return tuple(sorted(p.name.removesuffix(".py") for p in files("argus.tasks").joinpath("naive").iterdir()
                        if p.name.endswith(".py") and not p.name.startswith("_")))  # fmt: skip


def load_task(name_or_path: str | Path, target: Target = GFX942) -> Task:
    """A built-in task by name, or the task of a file, for a target."""
    path = Path(name_or_path)
    if path.suffix != ".py":
        inside = files("argus.tasks").joinpath("naive").joinpath(f"{name_or_path}.py")
        if not inside.is_file():
            known = ", ".join(builtin_tasks())
            raise TaskError(f"there is no task {str(name_or_path)!r}; built in are {known}; or give a file of your own")
        return read_task(str(name_or_path), inside.read_text(encoding="utf-8"), target=target)
    _, text = text_of(path)
    imports = imports_of(text, KernelFolder.of(path))
    return read_task(path.stem, text, {i.module: i.text for i in imports if not is_library(i.module)}, target)


def read_task(name: str, text: str, beside: Mapping[str, str] | None = None, target: Target = GFX942) -> Task:
    """The task a file describes; `beside` are the files it may import from its folder."""
    stated, source = _split(name, text)
    unknown = sorted(set(stated) - ENTRIES)
    if unknown:
        raise TaskError(f"{name}: TASK has no entry {unknown[0]!r}; its entries are {', '.join(sorted(ENTRIES))}")
    kernel = read(source, beside=beside, target=target)
    if kernel.computes is None:
        raise TaskError(f"{name}: the kernel must say what it computes (computes=…)")
    if len(kernel.computes.results) != 1:
        raise TaskError(f"{name}: the specification states {len(kernel.computes.results)} results; a task has one")
    sizes = {s.name for s in kernel.shapes}
    shapes = {entry: _shapes(name, entry, stated.get(entry, []), sizes) for entry in ("shapes", "held_out", "small")}
    if not shapes["shapes"]:
        raise TaskError(f"{name}: TASK names no shapes to optimise")
    if not shapes["small"]:
        shapes["small"] = (dict(kernel.example),)
    return Task(
        name=name,
        family=str(stated.get("family", name)),
        source=source,
        kernel=kernel,
        shapes=shapes["shapes"],
        held_out=shapes["held_out"],
        small=shapes["small"],
        specials=bool(stated.get("specials", False)),
        published=dict(stated.get("published", {})),
        library=str(stated.get("library", "")),
        routing=_routing(name, stated["routing"], kernel) if "routing" in stated else None,
        beside=dict(beside or {}),
    )


def _routing(name: str, given: Any, kernel: Kernel) -> RoutingTensors:
    entries = ("token", "expert", "tokens", "experts", "rows")
    if not isinstance(given, dict) or set(given) != set(entries) or not isinstance(given["rows"], int):
        raise TaskError(f"{name}: routing names {', '.join(entries)}; rows is a number")
    tensors = {t.name: t for t in kernel.tensors if t.dtype.kind != "float" and len(t.axes) == 1}
    sizes = {s.name for s in kernel.shapes}
    for entry in ("token", "expert"):
        if given[entry] not in tensors:
            raise TaskError(f"{name}: routing: {given[entry]!r} is no vector of whole numbers among the arguments")
    for entry in ("tokens", "experts"):
        if given[entry] not in sizes:
            raise TaskError(f"{name}: routing: {given[entry]!r} is no size of the kernel")
    return RoutingTensors(**given)


def _split(name: str, text: str) -> tuple[dict[str, Any], str]:
    """TASK as data, and the file without it."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise TaskError(f"{name}: not a kernel file: {error.msg} (line {error.lineno})") from error
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TASK":
            value = _literal(name, node.value)
            if not isinstance(value, dict):
                raise TaskError(f"{name}: TASK is not a dictionary")
            lines = text.split("\n")
            del lines[node.lineno - 1 : node.end_lineno]
            return value, "\n".join(lines).replace("\n\n\n\n", "\n\n")
    raise TaskError(f"{name}: the file has no TASK = dict(…); see `argus.tasks.task`")


def _literal(name: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str | bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(name, node.operand)
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(name, item) for item in node.elts]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict" and not node.args:
        return {str(k.arg): _literal(name, k.value) for k in node.keywords if k.arg is not None}
    if isinstance(node, ast.Dict) and all(k is not None for k in node.keys):
        return {
            _literal(name, k): _literal(name, v) for k, v in zip(node.keys, node.values, strict=True) if k is not None
        }
    raise TaskError(f"{name}: TASK holds numbers, words, lists and dictionaries, not {ast.unparse(node)!r}")


def _shapes(name: str, entry: str, given: Any, sizes: set[str]) -> tuple[Sizes, ...]:
    found: list[Sizes] = []
    for shape in given:
        if not isinstance(shape, dict) or not all(isinstance(v, int) and v > 0 for v in shape.values()):
            raise TaskError(f"{name}: an entry of {entry} is not a shape such as dict(M=4096)")
        if set(shape) != sizes:
            raise TaskError(f"{name}: a shape of {entry} gives {sorted(shape)}, the kernel has {sorted(sizes)}")
        found.append(dict(shape))
    return tuple(found)
