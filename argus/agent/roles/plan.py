"""A plan: techniques in order, each with the gain it is expected to bring. What a model answers as a planner.

    {"plan": [{"technique": "lds-staging", "params": {"barriers": "both"}, "gain": 1.4, "why": "latency"}]}

`gain` is a factor of time. `technique` is an entry of the knowledge base with one of its parameter sets (the first, if
none is given), a learnt entry, or `own-…`, an idea that no entry has. An answer is one such object, alone or in one
```json block: anything else is ARG-P124, with a sentence about what is wrong. Nothing of a plan is executed or trusted;
it only orders what is tried.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from argus.agent.providers import ProviderError
from argus.knowledge import KnowledgeEntry

LONGEST = 20_000
MOST = 8
FENCE = re.compile(r"^```(?:json)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
OWN = "own-"


class PlannedStep(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One technique and what it is expected to bring."""

    technique: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,47}$")]
    gain: Annotated[float, Meta(ge=0.1, le=100)]
    why: Annotated[str, Meta(max_length=400)] = ""
    params: Annotated[dict[str, Any], Meta(max_length=16)] | None = None


class TechniquePlan(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    plan: Annotated[list[PlannedStep], Meta(min_length=1, max_length=MOST)]


def parsed_plan(answer: str, known: Mapping[str, KnowledgeEntry], own: bool) -> list[PlannedStep]:
    """The steps of an answer; `own`: whether ideas without an entry can be carried out."""
    steps = _decoded(answer).plan
    for number, step in enumerate(steps, 1):
        entry = known.get(step.technique)
        if entry is None and not (own and step.technique.startswith(OWN)):
            raise _refused(f"step {number}: there is no technique {step.technique!r}")
        if entry is not None and step.params is not None and step.params not in [dict(c) for c in entry.choices]:
            choices = ", ".join(json.dumps(dict(choice)) for choice in entry.choices)
            raise _refused(f"step {number}: the parameters of {step.technique} are one of {choices}")
    return steps


def _decoded(answer: str) -> TechniquePlan:
    if len(answer) > LONGEST:
        raise _refused(f"the answer has {len(answer)} characters; {LONGEST} are allowed")
    blocks = FENCE.findall(answer)
    text = blocks[0] if len(blocks) == 1 else answer
    try:
        return msgspec.json.decode(text.strip(), type=TechniquePlan)
    except msgspec.ValidationError as error:
        raise _refused(str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        raise _refused('the answer is not one JSON object {"plan": [...]}') from None


def _refused(why: str) -> ProviderError:
    return ProviderError("ARG-P124", why)
