"""The judge: decides whether a candidate is right and how fast it is, in a process of its own. See `court.py`."""

from argus.agent.judge.problem import Judgement, Problem, Violation, shape_text
from argus.agent.judge.process import JudgeProcess

__all__ = ["JudgeProcess", "Judgement", "Problem", "Violation", "shape_text"]
