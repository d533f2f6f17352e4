"""Assertions of a technique: which ones a kernel should carry, put into its file, and kept there."""

from __future__ import annotations

from argus.agent.invariants.kept import removed
from argus.agent.invariants.proposals import ProposedCheck, proposals
from argus.agent.invariants.selection import AssertedKernel, asserted

__all__ = ["AssertedKernel", "ProposedCheck", "asserted", "proposals", "removed"]
