"""Guesses about loops: what may hold at their heads. Untrusted: a wrong guess costs time, never a proof."""
