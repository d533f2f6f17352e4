"""Digests of plans: what a judgement or a time of a task depends on, besides the code that judges.

    plan_digest(plan)                       launches, buffers, views and scalars, and the text of every kernel launched
    module_digest(exported, plan)           the same, with the values of parameters and what a call updates and draws

Two states of front end, planner, dispatch tables and templates that give the same digests give the same launches of the
same kernels: whatever was found of the one holds of the other. Needs torch, as `judging` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

import torch

from argus.plan.plan import Plan
from argus.plan.planner import kernel_of
from argus.torch.export import ExportedGraph

DIGITS = 16


def plan_digest(plan: Plan) -> str:
    """The plan as data, and of every kernel the text of its files."""
    found = sha256(json.dumps(plan.to_json(), sort_keys=True).encode())
    for file, kernel, knobs in sorted({launch.key for launch in plan.launches}, key=repr):
        found.update(f"{file}\0{kernel}\0{knobs!r}\0{kernel_of(file, kernel, knobs).full_source}\0".encode())
    return found.hexdigest()[:DIGITS]


def module_digest(exported: ExportedGraph, plan: Plan) -> str:
    """The plan of a module that has data: its parameters count, too."""
    words = [plan_digest(plan), [*exported.updates.items()], exported.counters, [*exported.drawn.items()]]
    found = sha256(json.dumps(words).encode())
    for name, value in sorted(exported.state.items()):
        found.update(f"{name}\0{value.dtype}\0{tuple(value.shape)}\0".encode())
        flat = value.detach().contiguous().reshape(-1)
        found.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
    return found.hexdigest()[:DIGITS]


def joined(digests: Iterable[str]) -> str:
    """One digest of several."""
    return sha256(" ".join(digests).encode()).hexdigest()[:DIGITS]
