"""Words of other rooms that the command line offers, so that help does not load those rooms.

Each line names where the word has its meaning; `tests/cli/test_first_hour.py` compares them.
"""

from __future__ import annotations

PROTOCOLS = ("graph", "stream", "event", "cold")
"""`argus.clock.protocol.PROTOCOLS`"""
DEVICES = ("auto", "checking", "jit", "hip")
"""`argus.device.choose.DEVICES`"""
TRITON = ("full", "none", "quick")
"""`argus.bench.gemm.CONFIGURATIONS`"""
LAYERS = ("attention", "moe", "fp8")
"""`argus.cli.bench_layers.LAYERS`"""
MEMORY_BOUND = ("softmax", "rmsnorm", "layernorm", "rowreduce", "add", "mul", "silu", "gelu", "transpose")
"""`argus.bench.memory.FAMILIES`"""
TASKS = (
    "attention",
    "broadcast",
    "convolution",
    "depthwise",
    "fp8",
    "gemm",
    "layernorm",
    "moe",
    "pooling",
    "reduction",
    "scan",
    "softmax",
)
"""`argus.tasks.task.builtin_tasks`"""
PERTURBED_CLOCKS = 20
"""`argus.clock.sensitivity.CLOCKS`"""
CLOCK_MAX_MHZ = 2100
"""`argus.gfx942.chip.CLOCK_MAX_MHZ`"""
GEMM_SIZES = ("published", "squares", "table", "inference", "drawn")
"""`argus.bench.gemm_sizes.WHICH`"""
KERNELBENCH = "out/kernelbench.jsonl"
"""`argus.cli.bench_kernelbench.RECORDS`"""
KEPT_TIMES = "out/bench"
"""`argus.bench.kept.DIRECTORY`"""
DECISIONS = (
    "product-tile", "split-k", "aligned-copies", "conv-tile", "window-rows", "window-channels", "fuse-chain",
    "fuse-reduction", "map-pieces", "launch-parts", "pool-passes",
)  # fmt: skip
"""`argus.plan.choices.DECISIONS`"""
TUNED = 16
"""`argus.agent.tuning.tuner.TuningSettings.budget`"""
