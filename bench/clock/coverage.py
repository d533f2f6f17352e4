"""`python -m bench.clock.coverage DIRS…`: what became of every row of the facts, as a table in Markdown.

Each row of calibration.csv, measured_more.csv, hipblaslt_rows.csv and aiter_asm_gemm_times.csv is either simulated (its
family is named) or not (the reason is). The first rule that fits decides; a row that none fits is counted as unknown,
so a new source cannot go unnoticed. What a family leaves out of its own rows is printed by `python -m bench.clock`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

UNKNOWN = "no rule"
FILES = ("calibration.csv", "measured_more.csv", "hipblaslt_rows.csv", "aiter_asm_gemm_times.csv")


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows whose named columns contain these words: a family simulates them, or there is a reason why not."""

    words: Mapping[str, str]
    family: str = ""
    reason: str = ""

    def fits(self, row: Mapping[str, str]) -> bool:
        return all(word in row.get(column, "") for column, word in self.words.items())


def _of(family: str, **words: str) -> Rule:
    return Rule(words, family=family)


def _not(reason: str, **words: str) -> Rule:
    return Rule(words, reason=reason)


CK, LIBRARY, SINGLE = (
    "object of Composable Kernel not at hand",
    "library, kernel not named",
    "single number, in tests/clock",
)
RULES = (
    _of("gemm_i8", kernelName="I8gemm"),
    _not("speeds copied from tables of other chips and types", logic="HHS"),
    _of("hipblaslt", logic="Cijk"),
    _of("fmha", kernel="fmha fwd", library_or_object="AITER asm v3"),
    _of("gemm_bf16", kernel="gemm_a16w16_asm", metric="time", role="fit"),
    _of("gemm_bf16", kernel="gemm_a16w16_asm", metric="time", role="validate"),
    *(
        _of("gemm_triton", kernel=kernel, role=role)
        for kernel in ("triton official _matmul", "aiter triton _gemm_a16_w16", "KernelFalcon _matmul")
        for role in ("fit", "validate")
    ),
    _of("moe", kernel="fused MoE 1-stage"),
    _not(CK, kernel="fused MoE 2-stage"),
    _of("streams", source="gpu-stream/"),
    _not(SINGLE, source="RRZE-HPC/gpu-benches"),
    _not(SINGLE, source="mt4g"),
    _not(SINGLE, source="gcnasm"),
    _not(SINGLE, source="chipsandcheese"),
    _not(SINGLE, source="nod-ai"),
    _not(SINGLE, source="find_string id"),
    _not(SINGLE, source="rocm-amdgpu-bench"),
    _not(SINGLE, source="legacy-rocm-build"),
    _not(SINGLE, source="rocm-blogs"),
    _not("another chip or other work (context)", source="HazyResearch"),
    _not("operator with host time in it (context)", source="Primus-Turbo/pull"),
    _not(CK, library_or_object="CK (AITER)"),
    _not("repeats aiter_asm_gemm_times.csv", source="a8w8_bpreshuffle_tuned"),
    _not("other program (context)", role="context"),
    _of("attention_triton", kernel="attention: HipKittens"),
    _of("attention_triton", kernel="attention: AITER triton"),
    _not("Triton program of HipKittens not at hand", kernel="HipKittens"),
    _not("Triton MoE of AITER not at hand in source", kernel="AITER Triton"),
    _of("streams", kernel="BabelStream"),
    _of("streams", kernel="gemv_stream"),
    _of("rowwise", kernel="Norm fwd"),
    _of("rowwise", kernel="LayerNorm DPP"),
    _of("rowwise", kernel="softmax DPP"),
    _of("rowwise", kernel="MLA split-KV decode reduce"),
    _of("small", library_or_object="wvSpl"),
    _of("small", kernel="wave64"),
    _of("small", kernel="histogram"),
    _not(LIBRARY, kernel="AXPY_F32 (vendor"),
    _of("small", kernel="AXPY_F32"),
    _of("primus", library_or_object="_bf16_persistent_gemm_kernel"),
    _of("primus", kernel="flash attention fwd", source="Primus"),
    _not("operator with quantization or backward pass in it", source="Primus", dtype="fp8"),
    _not("backward passes are not simulated", source="Primus", kernel="bwd"),
    _not("grouped GEMM: program or instance not at hand", source="Primus", kernel="grouped"),
    _not(LIBRARY, source="Primus", library_or_object="hipBLASLt"),
    _not("gathers whose indices are not published", source="Primus", kernel="permute"),
    _not("operator with quantization in it", source="Primus"),
    _not("backward passes are not simulated", source="op_tests/cpp/mha"),
    _not(CK, source="ROCm/aiter"),
    _not("convolution solvers not built here", source="MIOpen"),
    _not(LIBRARY, source="vllm-project"),
    _not(LIBRARY, source="gemm_decode_shapes"),
    _not(LIBRARY, source="rocm-libraries/pull"),
    _not(LIBRARY, source="samuel-bohman"),
    _not("messages between workgroups, or several tasks in one launch", source="fleet-mi300x"),
    _not("HIP program with matrix instructions, not written anew", source="navatala"),
    _not("HIP program with matrix instructions, or too short for events", source="QuixiAI"),
    _not("attention programs of one wave, or library calls", source="jpcpol"),
    _not("Triton extension (TLX) not installed here", source="facebookexperimental"),
    _not("two phases in one figure", source="MSLK"),
    _not("compute units masked, or a floor of the host", source="drprajap"),
    _not("snapshot of a clock, no program", source="bayusupa"),
    _not("low trust, program not known", source="ed2k"),
    _not("low trust, program not known", source="repository name not returned"),
    _not("library or framework kernel, not named", source="pytorch"),
    _not("too short for its protocol to matter little; rope of 16 heads", source="sglang"),
)  # fmt: skip
NOWHERE = Rule({}, reason=UNKNOWN)


def placed(row: Mapping[str, str]) -> Rule:
    """The first rule that fits a row."""
    return next((rule for rule in RULES if rule.fits(row)), NOWHERE)


def table(facts: Path) -> str:
    counts: Counter[tuple[str, str, str]] = Counter()
    for name in FILES:
        with (facts / name).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                rule = placed(row)
                counts[name, rule.family, rule.reason] += 1
    lines = ["| file | rows | family | or why not simulated |", "|---|---|---|---|"]
    for (name, family, reason), count in sorted(
        counts.items(), key=lambda item: (item[0][0], not item[0][1], -item[1])
    ):
        lines.append(f"| {name} | {count} | {family or '-'} | {reason or '-'} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clock.coverage", description=__doc__)
    parser.add_argument("facts", type=Path, help="the folder of the tables")
    print(table(parser.parse_args().facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
