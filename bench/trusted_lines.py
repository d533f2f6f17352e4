"""How many lines a proof rests on: the import graph of the proof, whole.

    python -m bench.trusted_lines [--files]

Followed are the imports of `check/prove.py`, `check/walks.py` and all rules, those inside functions and for types too.
No import is left out: guessing, explanations, engine, cache and JSON are not in the graph because nothing in it imports
them (`tests/house/test_trusted.py`). The proof starts no process. Lines of text count, comments and blank lines too,
since a reader has to read them.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import argus.provenance as provenance

RULES = sorted(path.stem for path in (provenance.PACKAGE / "check" / "rules").glob("*.py") if path.stem != "__init__")
START = ("argus.check.prove", "argus.check.walks", *(f"argus.check.rules.{name}" for name in RULES))


def trusted() -> list[Path]:
    """The files, sorted."""
    found: dict[str, Path] = {}
    waiting = [*START]
    while waiting:
        module = waiting.pop()
        source = provenance.source(module)
        if module in found or source is None:
            continue
        found[module] = source
        waiting += provenance.imported(module)
    return sorted(found.values())


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def counted() -> dict[str, int]:
    """Folder, relative to the package -> lines."""
    rows: Counter[str] = Counter()
    for path in trusted():
        parent = path.relative_to(provenance.PACKAGE).parent.as_posix()
        rows["argus" if parent == "." else parent] += lines(path)
    return dict(sorted(rows.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="every file instead of every folder")
    arguments = parser.parse_args()
    if arguments.files:
        for path in trusted():
            print(f"{lines(path):>6} {path.relative_to(provenance.PACKAGE).as_posix()}")
    for folder, count in counted().items():
        print(f"{count:>6} {folder}")
    inside = sum(count for folder, count in counted().items() if folder.split("/")[0] == "check")
    everything = sum(lines(p) for p in (provenance.PACKAGE / "check").rglob("*.py"))
    print(f"{inside:>6} trusted lines of check/, of {everything}")
    print(f"{sum(counted().values()):>6} trusted lines in all")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
