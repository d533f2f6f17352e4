"""Codes of operations; causes and fixes: `argus/cli/manual/operation.py`. Those of launches are in `argus.device`."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "ARG-O101": "the library has no kernel for this",
    "ARG-O102": "there is no gradient",
    "ARG-O103": "the gradient would be lost",
    "ARG-O104": "the device reports a fault",
}
