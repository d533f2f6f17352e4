"""Argus in PyTorch, with the real torch: `make torch`. Skipped where torch is not installed."""
