"""The prompts: golden texts of a fixed run, sizes, and a page about the language that is true.

`python -m tests.agent_prompts.test_prompts` writes the golden texts anew; look at the difference before keeping them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from argus.agent.free_edit.conversation import Conversation
from argus.agent.judge import Judgement, Violation
from argus.agent.prompts import language_card, system, tokens
from argus.agent.prompts.__main__ import CARD, EXAMPLES, LARGEST, SHOWN, card
from argus.agent.providers.text_tools import rendered
from argus.pipeline import program_of, report_of
from argus.tasks.task import load_task

GOLDEN = Path(__file__).parent / "golden"
KERNELS = Path("argus/kernels")
TIMED = Judgement(
    "pass", "time", times={"M=4096,K=4096,N=4096": 4486.0}, roof={"M=4096,K=4096,N=4096": 105.1}, evidence="e",
    bottleneck={
        "bound": "compute", "stalls": {"vmcnt_hbm": 700.0, "matrix": 90.0}, "helps": {"no bank conflicts": 0.0},
        "utilisation": {"matrix": 0.03, "valu": 0.02, "lds ports": 0.0},
    },
)  # fmt: skip
REFUTED = Judgement(
    "fail", "check",
    (
        Violation(
            "race_free", "two waves touch the same bytes of sA without a barrier between them", 47, "refuted",
            "put a barrier between line 45 and line 47",
            {
                "where": {"sizes": {"M": 128}, "loop": {"kt": 0}, "block": [0, 0, 0], "wave": 1},
                "operands": [
                    {"thread": 0, "does": "writes at kt=0", "at": {"file": "k", "line": 45}},
                    {"thread": 64, "does": "reads at kt=0", "tag": {"tensor": "A", "coords": {"K": 1, "M": 0}}},
                ],
                "details": ["sA is made at line 40"],
            },
        ),
    ),
)  # fmt: skip
HOT = (
    "source lines (% of the wave-clocks of one CU)\n     %  line\n  61.0  kernel.py:24     a = A[…].load(FRAG, width=8)"
)


def questions() -> dict[str, str]:
    """The texts of two questions of one episode: the first, and the one after a refuted edit."""
    task = load_task("gemm")
    talk = Conversation(task, calls=12)
    talk.begin(task.source, TIMED, HOT)
    first = rendered(talk.request())
    talk.answered("I stage the operands in LDS.", task.source, REFUTED)
    return {"first.md": first, "second.md": talk.turns[-1].text + "\n"}


def test_the_questions_are_the_stored_ones() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in sorted(GOLDEN.glob("*.md"))} == questions()


def test_what_a_question_must_say() -> None:
    first, second = questions().values()
    for needed in (
        "Roof: M=4096,K=4096,N=4096: 105.1 µs, by its products", "Units busy: matrix 3 %", "61.0  kernel.py:24",
        "M=512, N=3072, K=1024", "as code, in",
    ):  # fmt: skip
        assert needed in first, needed
    assert len(re.findall(r"^\| \* [a-z-]+: ", first, re.MULTILINE)) in (3, 4, 5)
    for needed in (
        "where: M=128, kt=0, block (0, 0, 0), wave 1", "thread 64 reads at kt=0 A[K=1, M=0]", "sA is made at",
        "help: put a barrier", "1: fail, check, race_free at line 47", "0: pass, 4486.0 µs, best",
    ):  # fmt: skip
        assert needed in second, needed


def test_a_question_has_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    """Reported, and bounded: system text and first question together."""
    count = tokens(questions()["first.md"])
    with capsys.disabled():
        print(f" [{tokens(system(12))} tokens of system text, {count} with the first question, about]", end="")
    assert count < 12_000


def test_the_card_is_written_from_the_reference() -> None:
    """Made by `python -m argus.agent.prompts`."""
    assert CARD.read_text(encoding="utf-8") == card()
    assert len(language_card().encode()) <= LARGEST


def test_the_card_names_every_construct_of_the_library() -> None:
    text = language_card()
    used = {name for path in KERNELS.glob("*.py") for name in re.findall(r"\bag\.(\w+)", path.read_text())}
    used |= {name for path in KERNELS.glob("*.py") for name in re.findall(r"\bag\.check\.(\w+)", path.read_text())}
    assert not {name for name in used if not re.search(rf"\b{name}\b", text)}


@pytest.mark.parametrize("file", [file for file, _ in SHOWN])
def test_the_examples_of_the_card_are_proved(file: str) -> None:
    assert report_of(program_of(EXAMPLES / file, {})).proved


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, text in questions().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}: {tokens(text)} tokens, about\n")
