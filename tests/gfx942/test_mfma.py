"""The MFMA table against AMD's matrix instruction calculator, element by element, and against LLVM's code generator.

`mfma_calculator.json` was printed by ROCm/amd_matrix_instruction_calculator (commit 2ef91896, architecture cdna3). For
A, B and D it keeps the SHA-256 of the complete element list, "block,row,column@lane,bit" joined by ";" in order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from argus.gfx942.mfma import ALIASES, BITS, MFMA, MfmaShape, mfma

CALCULATOR: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("mfma_calculator.json").read_text())


def test_same_instructions() -> None:
    assert set(MFMA) == set(CALCULATOR)
    assert len(MFMA) == 32


@pytest.mark.parametrize("name", sorted(CALCULATOR))
def test_numbers(name: str) -> None:
    row, expected = MFMA[name], CALCULATOR[name]
    for field in (
        *("m", "n", "k", "blocks", "cycles", "passes", "coexec", "xdl", "cbsz", "flops_per_clock_cu"),
        *("a_registers", "b_registers", "c_registers"),
    ):
        assert getattr(row, field) == expected[field], field
    assert (row.blgp != "none") == expected["blgp"]


def _digest(
    index: Callable[[int, int], tuple[int, int, int]],
    elements: int,
    bits: int,
    order: Callable[[int, int], tuple[int, int]],
) -> str:
    places = {}
    for lane in range(64):
        for element in range(elements):
            outer, inner, block = index(lane, element)
            places[(block, *order(outer, inner))] = (lane, element * bits)
    return hashlib.sha256(
        ";".join(f"{b},{r},{c}@{lane},{bit}" for (b, r, c), (lane, bit) in sorted(places.items())).encode()
    ).hexdigest()


@pytest.mark.parametrize("name", sorted(CALCULATOR))
def test_every_element_lives_where_the_calculator_says(name: str) -> None:
    row, expected = MFMA[name], CALCULATOR[name]
    assert _digest(row.a_index, row.a_elements, BITS[row.a], lambda i, k: (i, k)) == expected["A"]
    assert _digest(row.b_index, row.a_elements, BITS[row.b], lambda j, k: (k, j)) == expected["B"]
    assert _digest(row.d_index, row.d_elements, BITS[row.c], lambda i, j: (i, j)) == expected["D"]


@pytest.mark.parametrize("name", sorted(MFMA))
def test_maps_accept_arrays(name: str) -> None:
    row = MFMA[name]
    lane, element = np.meshgrid(np.arange(64), np.arange(row.d_elements), indexing="ij")
    i, j, block = np.broadcast_arrays(*row.d_index(lane, element))
    for at in ((0, 0), (63, row.d_elements - 1), (37, row.d_elements // 2)):
        assert (i[at], j[at], block[at]) == row.d_index(*at)


def _module(row: MfmaShape) -> str:
    ab, c = row.a_type, row.c_type
    signature = f"{ab}, {row.b_type}, {c}, i32 immarg, i32 immarg, i32 immarg"
    return f"""
        target triple = "amdgcn-amd-amdhsa"
        declare {c} @{row.intrinsic}({signature})
        define amdgpu_kernel void @k(ptr addrspace(1) %pa, ptr addrspace(1) %pb, ptr addrspace(1) %pc) {{
          %a = load {ab}, ptr addrspace(1) %pa
          %b = load {row.b_type}, ptr addrspace(1) %pb
          %c = load {c}, ptr addrspace(1) %pc
          %d = call {c} @{row.intrinsic}({ab} %a, {row.b_type} %b, {c} %c, i32 0, i32 0, i32 0)
          store {c} %d, ptr addrspace(1) %pc
          ret void
        }}"""


@pytest.fixture(scope="module")
def gfx942() -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu="gfx942")


@pytest.mark.parametrize("name", sorted(MFMA))
def test_llvm_knows_intrinsic_types_and_mnemonic(name: str, gfx942: llvm.TargetMachine) -> None:
    module = llvm.parse_assembly(_module(MFMA[name]))
    module.verify()
    lines = [line.split() for line in gfx942.emit_assembly(module).splitlines() if "v_mfma" in line]
    assert [line[0] for line in lines] == [name]


def test_short_names() -> None:
    assert mfma("mfma_32x32x8_bf16") is MFMA["v_mfma_f32_32x32x8_bf16"]
    assert mfma("v_mfma_i32_16x16x32_i8") is mfma("mfma_16x16x32_i8")
    assert len(ALIASES) == 32
    with pytest.raises(
        KeyError, match=r"gfx942 has no matrix instruction 'mfma_64x64x8_bf16'; it has .*mfma_16x16x16_bf16"
    ):
        mfma("mfma_64x64x8_bf16")
