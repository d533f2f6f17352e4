"""Answers and their parts, and how one is printed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec


class AnswerPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An object inside an answer: its fields and no others."""


class Answer(AnswerPart, kw_only=True):
    """A whole answer; every one states its own `schema`."""

    schema: str = ""
    version: int = 1


def emit(kind: type[Answer], data: Mapping[str, Any]) -> None:
    """Print `data` as an answer of that kind, on standard output."""
    answer = msgspec.json.decode(json.dumps(data, allow_nan=False), type=kind)
    print(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
