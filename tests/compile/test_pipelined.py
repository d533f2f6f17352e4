"""Inner loops of hand-assembly class: 256x256x64 bf16 GEMM in four forms, counted in the decoded object.

The limits are the counts of the best schedules known for these tiles, plus the four scalar instructions that make the
prefetch past the last tile exact (a compare, two selects of the buffer size, one copy).
"""

from __future__ import annotations

from collections import Counter

import pytest

from argus.compile import CompileError, compile_kernel
from argus.compile.decoded import decode
from argus.gfx942.waits import decode as decode_wait
from argus.ir.passes.schedule import scheduled
from tests.compile.pipelined import Pipelined

FORMS = {
    "4 waves, 32x32x8": (Pipelined(4, 32), 230, 128, 15),
    "8 waves, 32x32x8": (Pipelined(8, 32), 131, 64, 5),
    "8 waves, 16x16x16": (Pipelined(8, 16, deep=False, rolling=True), 193, 128, 5),
    "4 waves, 16x16x16": (Pipelined(4, 16, deep=False, rolling=True), 357, 256, 15),
}


@pytest.mark.parametrize("form", FORMS)
def test_inner_loop(form: str) -> None:
    """`compile_kernel` itself audits order, copies and spills; here the counts."""
    source, most, matrix, in_flight = FORMS[form]
    kernel = source.kernel()
    compiled = compile_kernel(scheduled(kernel))
    code = decode(compiled.object, kernel.name)
    first, last = max(code.loops, key=lambda span: code.kinds[span[0] : span[1]].count("mfma"))
    counts = Counter(code.kinds[first : last + 1])
    assert counts["mfma"] == matrix
    assert last - first + 1 <= most
    assert counts["valu"] == counts["accmov"] == counts["nop"] == 0
    waits = [decode_wait(i.operands[0].value) for i in code.insts[first : last + 1] if i.op == "s_waitcnt"]
    assert min(w.vm for w in waits) >= in_flight


CONFIGURATIONS = [
    (waves, size, deep, rolling, agpr)
    for waves in (4, 8)
    for size in (32, 16)
    for deep, rolling in ((True, False), (False, False), (False, True))
    for agpr in (None, True, False)
    if not (deep and size == 16)
]


@pytest.mark.full
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_every_configuration_is_clean_or_refused_with_numbers(
    configuration: tuple[int, int, bool, bool, bool | None],
) -> None:
    """No spills and no copies, or C130 with what is live and what is missing."""
    *form, agpr = configuration
    kernel = Pipelined(*form).kernel()  # type: ignore[arg-type]
    kernel.policies = {} if agpr is None else {"agpr": agpr}
    try:
        compiled = compile_kernel(scheduled(kernel))
    except CompileError as error:
        assert error.code == "C130", error  # noqa: PT017 (both outcomes are fine)
        assert "accumulators" in error.notes[0]  # noqa: PT017
        return
    code = decode(compiled.object, kernel.name)
    first, last = max(code.loops, key=lambda span: code.kinds[span[0] : span[1]].count("mfma"))
    assert not {"valu", "accmov", "scratch"} & set(code.kinds[first : last + 1])
