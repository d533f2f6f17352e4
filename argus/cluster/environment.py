"""Which variables of the environment the processes of a local Ray may see: those on a list, nothing else.

Ray starts its processes with the environment of the program that starts them, so keys of model providers, tokens and
passwords would reach every worker. On other machines nothing is forwarded at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

ALLOWED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM", "PWD",
    "VIRTUAL_ENV", "LD_LIBRARY_PATH", "ROCM_PATH", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
)  # fmt: skip
BEGINNINGS = ("LC_", "PYTHON", "XDG_", "ARGUS_", "RAY_", "HSA_")
NEVER = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Words that no allowed name may hold, whatever it begins with."""


def allowed(name: str) -> bool:
    if any(word in name.upper() for word in NEVER):
        return False
    return name in ALLOWED or name.startswith(BEGINNINGS)


@contextmanager
def without_secrets(more: Mapping[str, str]) -> Iterator[None]:
    """The environment with nothing but what is allowed, and `more`; afterwards what was taken is there again."""
    taken = {name: value for name, value in os.environ.items() if not allowed(name)}
    before = {name: os.environ.get(name) for name in more}
    for name in taken:
        del os.environ[name]
    os.environ.update(more)
    try:
        yield
    finally:
        os.environ.update(taken)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
