"""What the verdict fuzzer found, replayed: each file says what is expected of the checker.

# expect: not proved and wrong     unknown, refuted, or right on the machine at the launch that was wrong
# expect: not refuted              it is right
# expect: no internal error        no verdict with the reason `internal: …`
# expect: ends                     within the time limit
# open                             the checker still fails it: the line goes when it does not (strict)
"""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time

import pytest

from argus.check.engine import check
from bench.verdict_fuzz.judge import LIMIT, limited, program_of_text, verdict_of
from bench.verdict_fuzz.program import Generated
from bench.verdict_fuzz.stated import stated_meaning
from bench.verdict_fuzz.truth import truth_of

FILES = sorted(p for p in Path(__file__).parent.glob("*.py") if p.read_text().startswith("# expect:"))


def said(text: str, word: str) -> list[str]:
    return [line.removeprefix(f"# {word}: ") for line in text.splitlines() if line.startswith(f"# {word}: ")]


def program_in(text: str) -> Generated:
    """The finding as the fuzzer's own record; its meaning is what the file itself states."""
    settings = {k: json.loads(v) for k, _, v in (line.partition("=") for line in said(text, "set"))}
    launch = json.loads(said(text, "launch")[0])
    scalars = json.loads(said(text, "scalars")[0])
    program = Generated("found", text, (), (launch,), lambda a, s: {}, scalars, {}, said(text, "kernel")[0], settings)
    kernel = program_of_text(program, text).kernel
    return Generated(**{**program.__dict__, "meaning": stated_meaning(kernel, scalars)})


def complaint(text: str) -> str:
    """What the checker does against the expectation, or nothing."""
    program = program_in(text)
    made = program_of_text(program, text)
    start = process_time()
    with limited(2 * LIMIT):
        verdict, rules, reasons = verdict_of(check(made))
    match said(text, "expect")[0]:
        case "not proved and wrong":
            truth = truth_of(program, made)
            return f"proved, and {truth.detail}" if verdict == "proved" and truth.kind != "right" else ""
        case "not refuted":
            return f"{rules} refute it" if verdict == "refuted" else ""
        case "no internal error":
            return next((reason for reason in reasons if ": internal: " in reason), "")
        case "ends":
            return "it takes too long" if process_time() - start > LIMIT else ""
        case other:
            raise AssertionError(f"unknown expectation {other!r}")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_found(path: Path, request: pytest.FixtureRequest) -> None:
    text = path.read_text()
    if "\n# open\n" in text:
        request.applymarker(pytest.mark.xfail(strict=True, reason="the checker still fails it"))
    assert complaint(text) == ""
