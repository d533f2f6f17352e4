"""Measured kernels, simulated: one line of JSON per published time whose program is at hand.

    python -m bench.clock AITER_DIR FACTS_DIR --out rows.jsonl [--family fmha]     then
    python -m argus.cli.main clock fit rows.jsonl
    python -m argus.cli.main clock validate rows.jsonl

A line holds the row's role, what was measured, and the launch as the clock sees it (cycles by clock, work, bytes): it
is enough to fit and judge the power-limited clock without simulating again. AITER_DIR is a checkout of ROCm/aiter (no
binary is kept here), FACTS_DIR the folder with calibration.csv and aiter_asm_gemm_times.csv.
"""
