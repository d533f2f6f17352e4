"""What a kernel may do to the host, and what it may not: endless loops, wild addresses, waits, modes, broken caches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from jit_programs import Program, same_words
from jit_triton_kernels import vector_add

from argus.machine import LaunchError, MachineError, load
from argus.machine.jit import JitUnsupported, TranslationError, translate
from argus.machine.jit import compilers as jit_compilers
from argus.machine.jit import executor as subject
from argus.machine.jit.compilers import IdleCompilers, compile_object
from argus.machine.jit.objects import ObjectStore

ADD = ["v_add_u32 v40, v8, v9", "s_add_u32 s52, s20, s21"]


def both(body: list[str], **settings: object) -> None:
    program = Program(body)
    mine, theirs = program.run("jit", **settings), program.run("checking", **settings)
    assert same_words(mine.vector, theirs.vector).all()
    assert np.array_equal(mine.scalar, theirs.scalar)
    assert mine.result.instructions == theirs.result.instructions


def test_loops_and_branches() -> None:
    both(
        [
            "s_mov_b32 s52, 0",
            "v_mov_b32 v40, 0",
            ".Lloop:",
            "v_add_u32 v40, v40, v8",
            "v_cmp_gt_u32 vcc, v40, v9",
            "s_and_saveexec_b64 s[60:61], vcc",
            "s_cbranch_execz .Lnone",
            "v_xor_b32 v41, v40, v10",
            ".Lnone:",
            "s_or_b64 exec, exec, s[60:61]",
            "s_add_u32 s52, s52, 1",
            "s_cmp_lt_u32 s52, 37",
            "s_cbranch_scc1 .Lloop",
            "s_cbranch_vccnz .Lover",
            "v_mov_b32 v42, 1",
            ".Lover:",
            "v_cmpx_lt_i32 exec, v11, v12",
            "v_mov_b32 v43, v13",
        ]
    )


def test_exec_regions_depend_on_each_other() -> None:
    both(
        [
            "v_cmp_lt_f32 s[60:61], v8, v9",
            "v_cndmask_b32 v40, v10, v11, s[60:61]",
            "s_and_b64 s[62:63], s[60:61], s[20:21]",
            "v_add_u32 v41, v40, s60",
            "s_mov_b32 s60, 7",
            "v_add_u32 v42, v41, s60",
            "v_cndmask_b32 v43, v12, v13, s[60:61]",
            "v_readfirstlane_b32 s64, v43",
            "v_add_u32 v44, v43, s64",
            "s_mov_b32 s64, 9",
            "v_mul_lo_u32 v45, v44, s64",
        ]
    )


def test_skipping_vector_instructions() -> None:
    for bit in (0, 1):
        both(
            [
                f"s_mov_b32 s60, {bit << 3}",
                "v_mov_b32 v40, v8",
                "s_setvskip s60, 3",
                "v_add_u32 v40, v40, v9",
                "s_add_u32 s52, s20, s21",
                "ds_bpermute_b32 v41, v1, v9",
                "s_setvskip 0, 0",
                "v_add_u32 v42, v40, v10",
            ]
        )


def test_float_mode_set_by_the_kernel() -> None:
    both(
        [
            "v_mul_f32 v40, v8, v9",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0",
            "v_mul_f32 v41, v8, v9",
            "v_add_f32 v42, v10, v11",
            "s_getreg_b32 s52, hwreg(HW_REG_MODE)",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3",
            "v_add_f32 v43, v10, v11",
        ]
    )


def test_partial_waves_and_barriers() -> None:
    body = [
        "v_lshlrev_b32 v7, 2, v6",
        "ds_write_b32 v7, v8",
        "s_waitcnt lgkmcnt(0)",
        "s_barrier",
        "v_xor_b32 v7, 0x1fc, v7",
        "ds_read_b32 v40, v7",
        "s_waitcnt lgkmcnt(0)",
        "s_barrier",
    ]
    program = Program(body)
    for block in (64, 100, 128):
        mine, theirs = program.run("jit", block=block), program.run("checking", block=block)
        assert np.array_equal(mine.vector, theirs.vector)


WAIT_FOR_LATER = [
    # every workgroup adds one to a counter; workgroup 0 spins until all four have
    "v_mov_b32 v40, 0",
    "s_mov_b32 s60, 1",
    "s_atomic_add s60, s[8:9], 0x2480",
    "s_cmp_lg_u32 s12, 0",
    "s_cbranch_scc1 .Lout",
    ".Lspin:",
    "s_load_dword s61, s[8:9], 0x2480 glc",
    "s_waitcnt lgkmcnt(0)",
    "s_sub_u32 s61, s61, s51",
    "s_cmp_lt_u32 s61, 4",
    "s_cbranch_scc1 .Lspin",
    "v_mov_b32 v40, 77",
    ".Lout:",
]


def test_a_workgroup_may_wait_for_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_THREADS", "1")
    body = ["s_load_dword s51, s[8:9], 0x2480", "s_waitcnt lgkmcnt(0)"]
    program = Program([*body, "s_mov_b32 s51, 0x40", *WAIT_FOR_LATER])
    memory = np.full(37 * 64, 0x40, np.uint32)
    out = np.zeros((4, 264, 64), np.uint32)
    load(program.code).kernel()(4, 64, memory, out, executor="jit")
    assert (out[0, 0] == 77).all()
    assert memory[0x2480 // 4] == 0x44


def test_a_kernel_that_never_ends_is_reported() -> None:
    with pytest.raises(MachineError) as caught:
        Program([".Lever:", "s_nop 0", "s_branch .Lever"]).run("jit", max_steps=3_000_000)
    report = caught.value.report
    assert report.code == "ARG-M107"
    assert report.at.workgroup == (0, 0, 0)
    assert report.at.wave == 0
    assert report.at.text.startswith("s_nop")


@pytest.mark.parametrize(
    "line",
    [
        "global_load_dword v40, v4, s[8:9]",
        "global_store_dwordx4 v4, v[8:11], s[8:9]",
        "global_load_ubyte v40, v4, s[8:9]",
        "flat_store_dword v[4:5], v8",
        "global_atomic_add v4, v8, s[8:9]",
        "s_load_dwordx4 s[60:63], s[20:21], 0x0",
        "scratch_load_dword v40, v4, off",
        "buffer_load_dwordx2 v[40:41], v4, s[84:87], 0 offen",
    ],
)
def test_a_wild_address_is_reported_as_the_interpreter_does(line: str) -> None:
    setup = [
        "v_mov_b32 v4, v1",
        "v_mov_b32 v5, 0",
        "v_cmp_eq_u32 vcc, 37, v0",
        "v_mov_b32 v3, 0x1000000",
        "v_cndmask_b32 v4, v4, v3, vcc",
        "s_mov_b32 s20, 0x1000",
        "s_mov_b32 s21, 0",
        "s_mov_b32 s84, s8",
        "s_mov_b32 s85, s9",
        "s_mov_b32 s86, -1",
        "s_mov_b32 s87, 0x27000",
    ]
    setup += ["v_mov_b32 v4, s8", "v_mov_b32 v5, 3"] if line.startswith("flat") else []
    program = Program([*setup, line], private=64)
    reports = []
    for executor in ("jit", "checking"):
        with pytest.raises(MachineError) as caught:
            program.run(executor)
        reports.append(caught.value.report)
    mine, theirs = reports
    assert (mine.code, mine.address, mine.space, mine.message) == (
        "ARG-M105",
        theirs.address,
        theirs.space,
        theirs.message,
    )
    assert (mine.at.workgroup, mine.at.wave, mine.at.pc, mine.at.text) == (
        theirs.at.workgroup,
        theirs.at.wave,
        theirs.at.pc,
        theirs.at.text,
    )


def test_a_trap_is_reported() -> None:
    program = Program(["s_cmp_eq_u32 s20, s20", "s_cbranch_scc0 .Lstop", "s_trap 2"])
    for executor in ("jit", "checking"):
        with pytest.raises(MachineError) as caught:
            program.run(executor)
        assert caught.value.report.code == "ARG-M113"
        assert caught.value.report.at.text == "s_trap 2"


def test_unsupported_instructions_say_so() -> None:
    with pytest.raises(JitUnsupported) as caught:
        Program(["s_set_gpr_idx_on s20, 1", "s_set_gpr_idx_off"]).run("jit")
    assert caught.value.inst.op == "s_set_gpr_idx_on"
    assert "interpreter" in str(caught.value)
    with pytest.raises(JitUnsupported):
        Program(["s_setpc_b64 s[20:21]"]).run("jit")


def test_checks_need_the_interpreter() -> None:
    with pytest.raises(LaunchError, match="interpreter"):
        Program(ADD).run("jit", checks="all")


def test_llvm_failing_does_not_end_the_process(tmp_path: Path) -> None:
    with pytest.raises(TranslationError, match="LLVM could not compile"):
        compile_object("define void @f() { this is not IR }", tmp_path / "x.o")
    aborts = 'define void @f() { call void asm sideeffect "no such instruction", ""()\nret void }'
    with pytest.raises(TranslationError):
        compile_object(aborts, tmp_path / "x.o")
    assert not list(tmp_path.iterdir())


def test_a_child_is_kept_and_one_that_nobody_waited_for_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "define i32 @f() { ret i32 1 }"
    compilers = IdleCompilers()
    monkeypatch.setattr(jit_compilers, "_COMPILERS", compilers)
    compile_object(text, tmp_path / "a.o")
    (kept,) = compilers.idle
    compile_object(text, tmp_path / "b.o")
    assert compilers.idle == [kept]
    assert (tmp_path / "a.o").read_bytes() == (tmp_path / "b.o").read_bytes()

    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(kept.process.stdout, "readline", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        compile_object(text, tmp_path / "c.o")
    assert compilers.idle == []
    assert kept.process.poll() is not None
    compile_object("define i32 @f() { ret i32 2 }", tmp_path / "d.o")
    assert (tmp_path / "d.o").read_bytes() != (tmp_path / "a.o").read_bytes()
    compilers.idle.pop().close()


def test_a_forked_process_starts_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    compilers = IdleCompilers()
    monkeypatch.setattr(jit_compilers, "_COMPILERS", compilers)
    assert jit_compilers.compilers_here() is compilers
    monkeypatch.setattr(jit_compilers.os, "getpid", lambda: -1)
    assert jit_compilers.compilers_here() is not compilers


def test_the_cache_is_used_and_a_damaged_entry_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = load(vector_add(1024).code).code
    store = ObjectStore(tmp_path / "jit")
    name = next(iter(code.kernels))

    def again() -> bool:
        monkeypatch.setattr(subject, "_TRANSLATED", {})
        return translate(code, name, store=store).fresh

    assert again()
    assert not again()
    (victim,) = (tmp_path / "jit").glob("*.0.o")
    victim.write_bytes(victim.read_bytes()[:-8] + bytes(8))
    assert again()
    assert not again()


def test_a_read_only_cache_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    monkeypatch.setattr(subject, "_TRANSLATED", {})
    code = load(vector_add(1024).code).code
    assert translate(code, next(iter(code.kernels)), store=ObjectStore(file / "jit")).fresh


def test_interrupt_stops_an_endless_kernel(tmp_path: Path) -> None:
    program = Program([".Lever:", "s_nop 0", "s_branch .Lever"])
    (tmp_path / "k.o").write_bytes(program.code)
    script = f"""
import _thread, os, signal, threading, time, numpy as np
from argus.machine import load

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may have inherited none

def press():
    while True:
        time.sleep(1)
        _thread.interrupt_main()

threading.Thread(target=press, daemon=True).start()
try:
    load({str(tmp_path / "k.o")!r}).kernel()(1, 64, np.zeros(2368, np.uint32), np.zeros(16896, np.uint32),
                                              executor="jit", max_steps=1 << 60)
except KeyboardInterrupt:
    os.write(1, b"stopped")
    os._exit(0)
"""
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout.strip() == "stopped", done.stderr
