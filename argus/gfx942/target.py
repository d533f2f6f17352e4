"""A target as a value: what lang, IR, checker and compiler ask about the chip they work for.

    GFX942.lds_bytes                65536
    GFX942.counters["vm"]           63: the most accesses a wave may have outstanding on that counter
    GFX942.mfma("mfma_32x32x8_bf16")     the matrix instruction, KeyError where the target has none
    GFX942.call("v_pk_mul_f32")     a callable instruction, None where the target has none

A kernel is read for a target and keeps it (`Kernel.target`), so two targets can be worked on in one process and nothing
has to be imported again. Caches, tasks and the judge keep the target beside the kernel (`key`, `to_json`). A variant
with less of something is `dataclasses.replace(GFX942, name=…, lds_bytes=…)`; it has the same encodings, because those
are tables of this folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from argus.gfx942 import fragments
from argus.gfx942.calling import entry
from argus.gfx942.calls import Call
from argus.gfx942.chip import WAVE_LANES
from argus.gfx942.fragments import Matrix
from argus.gfx942.lds import SIZE_BYTES
from argus.gfx942.mfma import ALIASES, MfmaShape, mfma
from argus.gfx942.waits import LGKM_MAX, VM_MAX, Counter


@dataclass(frozen=True, slots=True)
class Target:
    """A chip: capacities, and the instructions it has. `without` names instructions that a variant lacks."""

    name: str
    lds_bytes: int
    counters: Mapping[Counter, int]
    lanes: int = WAVE_LANES
    without: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """Everything that makes it another target, as text: part of the key of every cache."""
        return json.dumps(self.to_json(), sort_keys=True)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "lds_bytes": self.lds_bytes,
            "counters": dict(self.counters),
            "lanes": self.lanes,
            "without": sorted(self.without),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Target:
        counters = MappingProxyType(dict(data["counters"]))
        return Target(data["name"], data["lds_bytes"], counters, data["lanes"], frozenset(data["without"]))

    def mfma(self, name: str) -> MfmaShape:
        """The matrix instruction of a mnemonic or short name."""
        if name in self.without or ALIASES.get(name) in self.without:
            raise KeyError(f"{self.name} has no matrix instruction {name!r}")
        return mfma(name)

    def matrix(self, name: str) -> Matrix | None:
        """The same as the author sees it; None if there is none."""
        return None if name in self.without or ALIASES.get(name) in self.without else fragments.matrix(name)

    def call(self, name: str) -> Call | None:
        """The declaration of a callable instruction, or None."""
        return None if name in self.without else entry(name)


GFX942 = Target("gfx942", SIZE_BYTES, MappingProxyType({"vm": VM_MAX, "exp": 7, "lgkm": LGKM_MAX}))
