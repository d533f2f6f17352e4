"""Whether a kernel file takes kernels of the library."""

from __future__ import annotations

import ast


def imports_library(text: str) -> bool:
    """Whether a kernel file imports from `argus.kernels`."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    modules += [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    return any(module == "argus.kernels" or module.startswith("argus.kernels.") for module in modules)
