"""Tests on the class of an op outside of closed dispatches, counted file by file.

    python -m tests.ir.op_class_tests        writes the counts; refuses to let their sum grow

Two kinds: `isinstance(op, ops.Load)`, and a `match` over op classes that does not end in `assert_never`. Both pass over
a class they do not know. What passes need belongs into a fact of the op (`argus.ir.ops.declared`), or the dispatch is
closed. `op_class_tests.json` lists what is left.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import get_args

from argus.ir.ops import Op

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_suffix(".json")
NAMES = {cls.__name__ for cls in get_args(Op)}
Counts = dict[str, dict[str, int]]


class OpTests(ast.NodeVisitor):
    """The tests of one file; it knows the names the file imports op classes by."""

    def __init__(self, tree: ast.Module) -> None:
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        self.modules = {
            a.asname or a.name for node in imports if node.module == "argus.ir" for a in node.names if a.name == "ops"
        }
        self.classes = {
            a.asname or a.name
            for node in imports
            if (node.module or "").startswith("argus.ir.ops")
            for a in node.names
            if a.name in NAMES
        }
        self.isinstance = self.open_match = 0
        self.visit(tree)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance" and self._of_ops(node.args[1]):
            self.isinstance += 1
        self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> None:
        patterns = [p for case in node.cases for p in ast.walk(case.pattern) if isinstance(p, ast.MatchClass)]
        if any(self._of_ops(p.cls) for p in patterns) and not _closed(node):
            self.open_match += 1
        self.generic_visit(node)

    def _of_ops(self, kinds: ast.expr) -> bool:
        for part in ast.walk(kinds):
            match part:
                case ast.Attribute(value=ast.Name(id=module), attr=name) if module in self.modules and name in NAMES:
                    return True
                case ast.Name(id=name) if name in self.classes:
                    return True
        return False


def _closed(node: ast.Match) -> bool:
    """The last case is `case _: assert_never(op)`."""
    last = node.cases[-1]
    match last.body[-1]:
        case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
    return False


def found() -> Counts:
    counts: Counts = {"isinstance": {}, "open_match": {}}
    for path in sorted((ROOT / "argus").rglob("*.py")):
        tests = OpTests(ast.parse(path.read_text()))
        for kind, rows in counts.items():
            if getattr(tests, kind):
                rows[path.relative_to(ROOT).as_posix()] = getattr(tests, kind)
    return counts


def allowed() -> Counts:
    made: Counts = json.loads(LIST.read_text())
    return made


def total(counts: Counts) -> int:
    return sum(sum(rows.values()) for rows in counts.values())


def main() -> int:
    now = found()
    if LIST.exists() and total(now) > total(allowed()):
        print(f"{total(now)} tests on op classes, {total(allowed())} are allowed; the list is not written")
        return 1
    LIST.write_text(json.dumps(now, indent=1) + "\n")
    print(f"{total(now)} tests on op classes are left: " + ", ".join(f"{k} {sum(r.values())}" for k, r in now.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
