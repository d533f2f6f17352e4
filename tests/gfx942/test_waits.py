"""The s_waitcnt immediate: round trip, known encodings, and LLVM's assembler as judge."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from argus.gfx942.waits import EXP_MAX, LGKM_MAX, VM_MAX, Waits, decode, encode


def test_round_trip_of_every_value() -> None:
    for vm in range(VM_MAX + 1):
        for exp in range(EXP_MAX + 1):
            for lgkm in range(LGKM_MAX + 1):
                assert decode(encode(vm, exp, lgkm)) == Waits(vm, exp, lgkm)


def test_known_immediates() -> None:
    assert encode(lgkm=0) == 0xC07F
    assert encode(vm=0) == 0x0F70
    assert encode(0, 0, 0) == 0
    assert decode(0xFFFF) == Waits()


def test_bad_counts() -> None:
    with pytest.raises(ValueError, match="vmcnt is 0 to 63, not 64"):
        encode(vm=64)
    with pytest.raises(ValueError, match="lgkmcnt is 0 to 15, not -1"):
        encode(lgkm=-1)


@pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed")
def test_llvm_assembler_agrees() -> None:
    cases = [(vm, exp, lgkm) for vm in (0, 1, 15, 16, 47, 63) for exp in (0, 7) for lgkm in (0, 3, 15)]
    text = "\n".join(f"s_waitcnt vmcnt({vm}) expcnt({exp}) lgkmcnt({lgkm})" for vm, exp, lgkm in cases)
    done = subprocess.run(
        ["llvm-mc-22", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-show-encoding"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    words = [bytes(int(b, 16) for b in m.split(",")) for m in re.findall(r"encoding: \[([0-9a-fx,]+)\]", done.stdout)]
    assert [int.from_bytes(w[:2], "little") for w in words] == [encode(*case) for case in cases]
