"""Kernels that show one thing each; tests check and run them."""
