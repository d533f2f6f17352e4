"""The wrong programs of this folder and what the reader says about them.

Each `AGnnn_name.py` is a real mistake; `AGnnn_name.expected` is the diagnostic. A first line `# settings: BM=96` or
`# kernel: name` says how the file is read.

    python -m tests.errors.programs      writes the .expected files and docs/errors/ anew
"""

from __future__ import annotations

from pathlib import Path

from argus.cli.manual import FAMILIES, Family
from argus.lang import ProgramError, read
from argus.lang.catalogue import CATALOGUE
from argus.lang.errors import Diagnostic, page

HERE = Path(__file__).parent
PAGES = HERE.parents[1] / "docs" / "errors"


def programs() -> list[Path]:
    return sorted(HERE.glob("AG*.py"))


def diagnostic(path: Path) -> Diagnostic | None:
    """What reading the file ends in; None when it is a valid kernel."""
    settings: dict[str, int | bool | str] = {}
    kernel = None
    first = path.read_text().splitlines()[0]
    if first.startswith("# settings: "):
        name, _, value = first.removeprefix("# settings: ").partition("=")
        settings[name] = int(value)
    elif first.startswith("# kernel: "):
        kernel = first.removeprefix("# kernel: ")
    try:
        read(path, settings=settings, kernel=kernel)
    except ProgramError as error:
        return error.diagnostic
    return None


def expected(path: Path) -> str:
    """The diagnostic as text, with the file's bare name."""
    found = diagnostic(path)
    return "" if found is None else found.render().replace(f"{path.parent}/", "")


def pages() -> dict[str, str]:
    """File name -> text of the manual: one page per code of the language, one per other family, and an index."""
    made = {f"{family.name}.md": family_page(family) for family in FAMILIES}
    others = "; ".join(f"[{f.name}]({f.name}.md) ({min(f.entries)} …)" for f in FAMILIES)
    rows = ["# Errors", "", f"Of the kernel language below; of the others: {others}.", ""]
    rows += ["| code | meaning |", "|---|---|"]
    for code, entry in CATALOGUE.items():
        text = page(entry)
        for path in (p for p in programs() if p.name.startswith(code)):
            source = path.read_text().rstrip("\n")
            said = path.with_suffix(".expected").read_text().rstrip("\n")
            text += f"\n## Example: {path.stem.removeprefix(code + '_').replace('_', ' ')}\n\n"
            text += f"```python\n{source}\n```\n\n```text\n{said}\n```\n"
        made[f"{code}.md"] = text
        rows.append(f"| [{code}]({code}.md) | {entry.name.replace('-', ' ')} |")
    made["README.md"] = "\n".join(rows) + "\n"
    return made


def family_page(family: Family) -> str:
    """All codes of a family in one table."""
    rows = [f"# Codes: {family.what}", "", "| code | meaning | why | what to do |", "|---|---|---|---|"]
    for code, entry in family.entries.items():
        rows.append(f"| {code} | {family.titles[code]} | {entry.cause} | {entry.fix} |".replace("`|`", "`\\|`"))
    return "\n".join(rows) + "\n"


def write() -> None:
    for path in programs():
        path.with_suffix(".expected").write_text(expected(path))
    PAGES.mkdir(parents=True, exist_ok=True)
    for stale in {p.name for p in PAGES.glob("*.md")} - set(pages()):
        (PAGES / stale).unlink()
    for name, text in pages().items():
        (PAGES / name).write_text(text)


if __name__ == "__main__":
    write()
