"""`python -m argus.agent.prompts`: write card.md, the language on one page, from the reference and proved examples.

The constructs are the tables of docs/language.md, each row cut to its first clause; the examples are the files
`examples/kernels/card_*.py`, which tests/agent_prompts proves. The page must stay below `LARGEST` bytes.
"""

from __future__ import annotations

import re

from argus.agent.prompts import text_of_prompt
from argus.provenance import PACKAGE

REFERENCE = PACKAGE.parent / "docs" / "language.md"
EXAMPLES = PACKAGE.parent / "examples" / "kernels"
CARD = PACKAGE / "agent" / "prompts" / "card.md"
LARGEST = 12_288
SECTIONS = {
    "The file": 480,
    "Who computes": 120,
    "Memory": 130,
    "Tiles": 120,
    "Matrix instructions": 120,
    "Control flow and order": 180,
}
"""Section of the reference -> characters that the meaning of a row may have."""
TITLES = {"The file": "The decorator @ag.kernel", "Who computes": "Grid and waves"}
SHOWN = (
    ("card_gemm.py", "A pipelined matrix product"),
    ("card_row.py", "A row kernel"),
    ("card_owners.py", "Owners and a padded layout: a transposition through LDS"),
)
ROW = re.compile(r"^\| (.+?) \| (.+?) \|(.*)$")
FUNCTION = re.compile(r"^\| `(ag\.\w+\([^`]*\))` \|(?=(?:[^|]*\|){5}$)", re.MULTILINE)
"""A row of the table of elementwise functions, which has six columns."""


def card() -> str:
    """The whole page."""
    reference = REFERENCE.read_text(encoding="utf-8")
    parts = [text_of_prompt("card_head").strip()]
    for name, most in SECTIONS.items():
        parts.append(f"## {TITLES.get(name, name)}\n\n" + "\n".join(_rows(section(reference, name), most)))
    functions = ", ".join(f"`{call}`" for call in dict.fromkeys(FUNCTION.findall(section(reference, "Tiles"))))
    parts.append(f"Elementwise: {functions}.")
    parts.append(f"## Assertions\n\n{_assertions(reference)}")
    parts.append(text_of_prompt("card_pitfalls").strip())
    for file, title in SHOWN:
        parts.append(f"## {title} (proved)\n\n```python\n{(EXAMPLES / file).read_text(encoding='utf-8').strip()}\n```")
    return "\n\n".join(parts) + "\n"


def section(reference: str, name: str) -> str:
    """The text below a heading of the reference, up to the next one of its level."""
    return reference.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]


def _rows(text: str, most: int) -> list[str]:
    """Rows of its tables: the construct, and the first clause of what it means."""
    found = []
    for line in text.splitlines():
        row = ROW.match(line.replace("\\|", "&#124;"))
        if row is None or row[1].startswith("---") or row[3].count("|") > 1:
            continue
        call, meaning = (part.replace("&#124;", "|").strip() for part in row.group(1, 2))
        if "`" in call:
            found.append(f"* {call}: {_first(meaning, most)}")
    return found


def _first(meaning: str, most: int) -> str:
    """As many clauses as fit; never half of a code span."""
    if len(meaning) <= most:
        return meaning
    clauses = re.split(r"(?<=[;.:])\s|, (?=which|where|so)", meaning)
    text = clauses[0]
    for clause in clauses[1:]:
        if len(text) + len(clause) + 1 > most:
            break
        text = f"{text} {clause}"
    return text.rstrip(";:. ")


def _assertions(reference: str) -> str:
    text = section(reference, "Assertions and tags").strip().split("`W = ag.tag", 1)[0]
    return " ".join(text.split())


if __name__ == "__main__":
    made = card()
    CARD.write_text(made, encoding="utf-8")
    print(f"{CARD}: {len(made.encode())} of {LARGEST} bytes")
