"""What models are told, as files: the language on one page, and the questions of a run.

language_card()      the page about the language
"""

from __future__ import annotations

from importlib.resources import files


def language_card() -> str:
    """The language on one page."""
    return files("argus.agent.prompts").joinpath("card.md").read_text(encoding="utf-8")
