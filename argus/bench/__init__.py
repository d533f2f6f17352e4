"""The library's kernels beside others on the same clock: what `argus bench` does.

contestant.py      a launch with its executed sample, timed under any clock
triton_matmul.py   Triton's matrix product in many configurations, compiled in worker processes and kept
gemm.py, memory.py the two families: shapes, contestants, rows
published.json     published figures, with their sources
"""
