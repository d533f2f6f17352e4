"""Hazard rules on the decoded object: proved for good kernels, lost when the object's waits or barriers are lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from argus.check.engine import decide
from argus.check.rules.race_free import RaceFree
from argus.compile import Compiled, CompileError, compile_kernel
from argus.compile.decoded import decode
from argus.compile.matching import attribute
from argus.compile.recheck import ObjectWaits, object_waits, rebuilt, recheck
from argus.compile.skeleton import skeleton
from argus.gfx942.waits import Waits
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNELS = Path(__file__).parents[2] / "argus/kernels"


def made(name: str) -> tuple[Kernel, Compiled]:
    kernel = read(str(KERNELS / name), kernel="attention" if name == "attention.py" else None)
    return kernel, compile_kernel(scheduled(kernel))


@pytest.fixture(scope="module")
def gemm() -> tuple[Kernel, Compiled]:
    return made("gemm.py")


def found_waits(kernel: Kernel, compiled: Compiled) -> ObjectWaits:
    code = decode(compiled.object, kernel.name)
    return object_waits(code, attribute(code, compiled.sidecar["pcs"]), {})


@pytest.mark.parametrize("name", ["gemm.py", "gemm_pipelined.py", "gemm_opposite.py", "attention.py"])
def test_the_library_is_proved_on_its_objects(name: str) -> None:
    kernel, compiled = made(name)
    again = recheck(scheduled(kernel), compiled)
    assert again.proved, again.describe()
    assert {v.rule for v in again.report.verdicts} == {"race_free", "fresh"}
    named = again.to_json()
    assert named["step"] == "hazard rules re-run on the decoded object"
    assert named["instructions_matched"] > 0


def test_without_the_waits_before_barriers_it_is_not_race_free(gemm: tuple[Kernel, Compiled]) -> None:
    kernel, compiled = gemm
    final = scheduled(kernel).kernel
    waits = found_waits(kernel, compiled)
    barriers = {op.id for op in ops.walk(final.body) if isinstance(op, ops.Barrier)}
    assert barriers & set(waits.before), "the object waits before its barriers"
    weaker = replace(waits, before={op: wait for op, wait in waits.before.items() if op not in barriers})
    report = decide(skeleton(rebuilt(final, weaker)), [RaceFree()])
    assert {v.status for v in report.verdicts} == {"refuted"}


def test_a_wait_for_fewer_accesses_is_not_enough(gemm: tuple[Kernel, Compiled]) -> None:
    kernel, compiled = gemm
    final = scheduled(kernel).kernel
    waits = found_waits(kernel, compiled)
    barriers = {op.id for op in ops.walk(final.body) if isinstance(op, ops.Barrier)}
    fewer = {op: Waits(vm=w.vm, lgkm=2) if op in barriers else w for op, w in waits.before.items()}
    weaker = replace(waits, before=fewer)
    report = decide(skeleton(rebuilt(final, weaker)), [RaceFree()])
    assert "refuted" in {v.status for v in report.verdicts}


def test_a_refutation_on_the_object_is_a_compile_error(gemm: tuple[Kernel, Compiled]) -> None:
    """The object of a kernel without its second barrier, which no one else would stop here."""
    kernel, _ = gemm
    body = [_without_last_barrier(op) for op in kernel.body]
    racing = replace(kernel, body=body)
    with pytest.raises(CompileError, match="C308"):
        recheck(scheduled(racing), compile_kernel(scheduled(racing)))


def _without_last_barrier(op: ops.Op) -> ops.Op:
    if not isinstance(op, ops.For):
        return op
    last = max(n for n, inner in enumerate(op.body) if isinstance(inner, ops.Barrier))
    return replace(op, body=[*op.body[:last], *op.body[last + 1 :]])


def test_the_skeleton_is_judged_like_the_whole(gemm: tuple[Kernel, Compiled]) -> None:
    kernel, compiled = gemm
    whole = rebuilt(scheduled(kernel).kernel, found_waits(kernel, compiled))
    small = skeleton(whole)
    assert not any(isinstance(op, ops.Mfma | ops.Convert) for op in ops.walk(small.body))
    accesses = [op.id for op in ops.walk(whole.body) if isinstance(op, ops.Load | ops.Store | ops.CopyToLds)]
    assert [op.id for op in ops.walk(small.body) if isinstance(op, ops.Load | ops.Store | ops.CopyToLds)] == accesses
    statuses = [[v.status for v in decide(k, [RaceFree()]).verdicts] for k in (whole, small)]
    assert statuses[0] == statuses[1]
