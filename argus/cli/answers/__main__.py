"""`python -m argus.cli.answers DIR`: write the JSON Schema of every answer as DIR/NAME.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from argus.cli.answers import ANSWERS, Answer

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def name_of(kind: type[Answer]) -> str:
    """The `schema` that answers of this kind state."""
    (field,) = [field for field in msgspec.structs.fields(kind) if field.name == "schema"]
    return str(field.default)


def schema_of(kind: type[Answer]) -> dict[str, Any]:
    """Its JSON Schema; `schema` and `version` are always there."""
    found = msgspec.json.schema(kind)
    for part in found["$defs"].values():
        part.pop("additionalProperties", None)  # new fields may come within a version
    body = found["$defs"][kind.__name__]
    body["required"] = ["schema", "version", *body.get("required", [])]
    (version,) = [field for field in msgspec.structs.fields(kind) if field.name == "version"]
    body["properties"]["version"] = {"const": version.default}
    return {"$schema": DIALECT, "$id": f"{name_of(kind)}.json", **found}


def texts() -> dict[str, str]:
    """File name -> text."""
    return {f"{name_of(kind)}.json": json.dumps(schema_of(kind), indent=2) + "\n" for kind in ANSWERS}


if __name__ == "__main__":
    for name, text in texts().items():
        (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")
