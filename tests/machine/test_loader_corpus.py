"""The corpus report on a folder made here: counts, damaged files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from triton._C.libtriton import amd
from triton._C.libtriton import llvm as triton_llvm

from argus.cli.main import main
from argus.machine import corpus as subject

ASSEMBLY = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_cmp_eq_u32 s0, 5
  s_cbranch_scc1 done
  v_add_f32_e32 v0, v1, v2
  v_mfma_f32_32x32x8_bf16 a[0:15], v[2:3], v[4:5], a[0:15]
done:
  s_endpgm
  {extra}
.Lend:
.size k, .Lend-k
.section .rodata,"a"
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
"""


def assemble(extra: str = "") -> bytes:
    triton_llvm.init_targets()
    return amd.assemble_amdgcn(ASSEMBLY.format(extra=extra), "amdgcn-amd-amdhsa", "gfx942", "")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["machine", "corpus", *arguments])
    said = capsys.readouterr()
    return code, said.out + said.err


def test_counts_of_a_clean_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.o").write_bytes(assemble())
    (tmp_path / "deep" / "b.co").write_bytes(assemble())
    (tmp_path / "notes.txt").write_text("not looked at", encoding="utf-8")
    code, out = run(capsys, str(tmp_path), "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["objects"], report["instructions"], report["distinct_encodings"]) == (2, 10, 5)
    assert report["opcodes"]["v_mfma_f32_32x32x8_bf16"] == 2
    assert report["missing"] == {}


def test_undecodable_words_and_damaged_files_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.o").write_bytes(assemble(".long 0xfc000000"))
    (tmp_path / "damaged.co").write_bytes(assemble()[:200])
    code, out = run(capsys, str(tmp_path))
    assert code == 1
    assert "objects             2, 1 not loaded" in out
    assert "1 words not decoded" in out
    assert "cannot decode the instruction at offset 0x18 (fc000000)" in out
    assert "damaged.co: the file is truncated" in out


def test_empty_or_missing_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, str(tmp_path))
    assert (code, f"no code objects below {tmp_path}" in said) == (2, True)
    code, said = run(capsys, str(tmp_path / "none"))
    assert (code, f"{tmp_path / 'none'} is not a folder" in said) == (2, True)


@pytest.mark.skipif(subject.find_objdump() is None, reason="llvm-objdump that knows gfx942 needed")
def test_comparison_with_objdump_follows_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.o").write_bytes(assemble())
    amd.link_hsaco(str(tmp_path / "a.o"), str(tmp_path / "a.hsaco"))
    code, out = run(capsys, str(tmp_path), "--objdump")
    assert code == 0
    assert "0 instructions unlike llvm-objdump (1 unlinked objects not compared)" in out
