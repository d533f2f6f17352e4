"""Calling a function of the language: its Python signature is the signature authors see."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from argus.lang.values import Builtin

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions

Call = Callable[..., object]


def invoke(interp: Expressions, builtin: Builtin, args: list[object], keywords: dict[str, object]) -> object:
    """Call a function of the language with the author's arguments."""
    try:
        bound = _signature(builtin.call).bind(interp, *builtin.bound, *args, **keywords)
    except TypeError as error:
        raise interp.ctx.error("AG112", function=builtin.name, problem=_words(str(error))) from None
    return builtin.call(*bound.args, **bound.kwargs)


@lru_cache(maxsize=1024)
def _signature(call: Call) -> inspect.Signature:
    return inspect.signature(call)


def _words(message: str) -> str:
    return (
        message.replace("'", "`")
        .replace("got an unexpected keyword argument", "it has no argument")
        .replace("missing a required argument:", "it needs")
    )
