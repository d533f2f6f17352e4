"""What each tool takes, as types: one struct per tool, from which its JSON Schema is made.

    decode(CheckCall, {"file": "gemm.py", "set": {"BM": 64}})     CheckCall(file="gemm.py", set={"BM": 64}, …)
    decode(CheckCall, {"file": 3})                                ToolError ARG-W102: file: expected `str`, got `int`

Nothing else gets through: unknown fields, other types and values out of range are refused with a sentence that says
which field and why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from argus.agent.tools.errors import ToolError

MAX_ARGUMENT_BYTES = 1 << 20

KernelFile = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_./][A-Za-z0-9_./+ -]*\.py$",
        max_length=1024,
        description="kernel file, by its path in the workspace",
    ),
]
SizeName = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
Size = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.+-]{1,64}$")]
Knob = int | bool | Word
Shape = Annotated[dict[SizeName, Size], Meta(max_length=32, description="sizes of the launch, for example M=4096")]
Knobs = Annotated[dict[SizeName, Knob], Meta(max_length=64, description="values of the kernel's knobs")]
KernelName = Annotated[
    str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", description="which kernel, if the file has several")
]
Format = Annotated[Literal["text", "json"], Meta(description="text for reading, json for the document of docs/json.md")]
Unchecked = Annotated[bool, Meta(description="leave the checker out; what comes back is then about an unproved kernel")]


class ToolCall(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """The arguments of a tool."""

    format: Format = "text"


class KernelCall(ToolCall, kw_only=True, frozen=True):
    """The arguments of a tool that looks at a kernel."""

    file: KernelFile
    kernel: KernelName | None = None
    set: Knobs = {}
    shape: Shape = {}


class CheckCall(KernelCall, kw_only=True, frozen=True):
    verbose: Annotated[bool, Meta(description="every claim, not only what is refuted or unknown")] = False


class ShowCall(KernelCall, kw_only=True, frozen=True):
    line: Annotated[int, Meta(ge=1, le=100_000, description="line of the file")]
    thread: Annotated[int, Meta(ge=0, le=1023, description="thread of the workgroup")] = 0
    block: Annotated[list[Size], Meta(max_length=3, description="workgroup: x, y, z")] = []
    at: Annotated[dict[SizeName, int], Meta(max_length=32, description="values of loop variables")] = {}


class TimeCall(KernelCall, kw_only=True, frozen=True):
    top: Annotated[int, Meta(ge=1, le=100, description="rows of each table")] = 8
    quick: Annotated[bool, Meta(description="time, bottleneck and hot instructions only; much faster")] = False
    no_check: Unchecked = False


class RunCall(KernelCall, kw_only=True, frozen=True):
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1, description="seed of the input data")] = 0
    no_check: Unchecked = False


class RegistersCall(KernelCall, kw_only=True, frozen=True):
    top: Annotated[int, Meta(ge=1, le=100, description="rows of the table")] = 16


class KbCall(ToolCall, kw_only=True, frozen=True):
    """One entry by name, or a search."""

    entry: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}$", description="an entry, with its code")] | None = None
    words: Annotated[str, Meta(max_length=400, description="what to look for; none of both: list all")] = ""
    family: Annotated[str, Meta(pattern=r"^[a-z0-9_-]{1,32}$", description="gemm, attention, moe, row")] | None = None
    bottleneck: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,32}$", description="what `time` calls it")] | None = None


class DocsCall(ToolCall, kw_only=True, frozen=True):
    """A search, a page, or one of its sections."""

    words: Annotated[str, Meta(max_length=400, description="what to look for; a code (AG301) gives its page")] = ""
    page: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{1,64}$", description="a page, such as language")] | None = None
    section: Annotated[str, Meta(max_length=200, description="with page: one section by its title")] = ""


class DiffCall(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    before: KernelFile
    after: KernelFile


AnyCall = ToolCall | DiffCall
Kind = TypeVar("Kind", bound=AnyCall)


def decode(kind: type[Kind], arguments: Mapping[str, Any]) -> Kind:
    """The arguments as their type."""
    try:
        text = json.dumps(dict(arguments), allow_nan=False)
        if len(text) > MAX_ARGUMENT_BYTES:
            raise ToolError("ARG-W102", f"the arguments have {len(text)} bytes; {MAX_ARGUMENT_BYTES} are allowed")
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise ToolError("ARG-W102", str(error)) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError("ARG-W102", f"the arguments are no JSON: {str(error)[:200]}") from None


def schema_of(kind: type[AnyCall]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, without references."""
    (found,), parts = msgspec.json.schema_components((kind,), ref_template="#/$defs/{name}")
    body: dict[str, Any] = dict(parts[kind.__name__])
    assert found == {"$ref": f"#/$defs/{kind.__name__}"}
    assert len(parts) == 1
    body.pop("title", None)
    return body
