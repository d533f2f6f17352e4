"""The three problems by name."""

from __future__ import annotations

from collections.abc import Mapping

from argus.bench.agents.attention_problem import AttentionProblem
from argus.bench.agents.gemm_problem import GemmProblem
from argus.bench.agents.moe_problem import MoeProblem
from argus.bench.agents.problem import AgentProblem
from argus.bench.agents.solutions import ProblemName

PROBLEMS: Mapping[ProblemName, AgentProblem] = {
    "gemm": GemmProblem(), "attention": AttentionProblem(), "moe": MoeProblem(),
}  # fmt: skip
