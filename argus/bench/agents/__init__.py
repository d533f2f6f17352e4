"""Kernels that other agentic systems produced, as found, beside ours on the same clock: `argus bench agents DIR`.

Nothing of them is kept here. A file of solutions (`solutions.py`, docs/agents_bench.md) says where in a folder of the
user's a kernel stands and how it is launched; it is compiled (`hip_compile.py`, `triton_source.py`), judged at a small
size against float64 (`judging.py`), and timed at the published sizes (`rows.py`).
"""
