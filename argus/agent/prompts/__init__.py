"""What models are told, as files of this folder; what is filled in comes from the run.

    language_card()                       card.md: the language on one page, written by `python -m argus.agent.prompts`
    filled("question", task="gemm", …)    question.md with its `$names` replaced
    system(calls=12, drafts=8, looks=…)   the card, how to answer, and what may be called before

tests/agent_prompts holds the texts of a fixed task as golden files, and counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from string import Template

CHARACTERS_PER_TOKEN = 3.5
"""Of English and code, roughly: for reports only; a budget counts what the provider says."""


def text_of_prompt(name: str) -> str:
    """One file of this folder."""
    return files("argus.agent.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")


def language_card() -> str:
    """The language on one page."""
    return text_of_prompt("card")


def filled(name: str, **values: object) -> str:
    """A file with all of its names replaced; what is put in is not looked at again."""
    return Template(text_of_prompt(name)).substitute({key: str(value) for key, value in values.items()}).strip()


def system(calls: int, drafts: int = 0, looks: Sequence[str] = ()) -> str:
    """What stands before every question; `calls`: of tools, in one round; `drafts` that may be written
    in it; `looks`: the tools that look at a draft."""
    *most, last = (f"`{name}`" for name in looks or ("check",))
    named = f"{', '.join(most)} and {last}" if most else last
    tools = [filled("tools", calls=calls, drafts=drafts, looks=named)] if calls else []
    return "\n\n".join([language_card().strip(), text_of_prompt("answer").strip(), *tools])


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return round(len(text) / CHARACTERS_PER_TOKEN)
