"""Limits hold per day, over runs and processes: refused before a call is made, with a code, and gone on with later."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from argus.agent.providers import Daily, DayLedger, ProviderError, Reply, Request
from argus.agent.providers.day_ledger import CALLS_PER_DAY, TOKENS_PER_DAY

QUESTION = Request("lowering", "system", ())
CANARY = "canary-key-0123456789"


@dataclass
class Model:
    """Answers, and counts how often it was asked."""

    tokens: int = 50
    name: str = "openai:m"
    asked: list[Request] = field(default_factory=list)

    def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply(CANARY, "m", self.tokens, self.tokens)


def ledger(tmp_path: Path, **limits: int) -> DayLedger:
    return DayLedger(tmp_path / "state" / "ledger.jsonl", **limits, day=lambda: "2026-11-19")


def asked(asking: Daily) -> bool:
    """Whether a call was made; one that was not had the day's limit against it."""
    try:
        asking.ask(QUESTION)
    except ProviderError as error:
        if error.code != "ARG-P113":
            raise
        return False
    return True


def test_the_tokens_of_a_day_are_those_of_all_runs(tmp_path: Path) -> None:
    """Ten runs of one call each: the limit of 300 tokens is three calls, whoever makes them."""
    kept, made = ledger(tmp_path, tokens=300), 0
    for _ in range(10):
        made += asked(Daily(Model(), kept))
    assert made == 3


def test_calls_count_where_nobody_counts_tokens(tmp_path: Path) -> None:
    model = Model(tokens=0, name="command:x")
    asking = Daily(model, ledger(tmp_path, calls=2))
    for _ in range(2):
        asking.ask(QUESTION)
    with pytest.raises(ProviderError, match=r"ARG-P113.*2 of 2 calls"):
        asking.ask(QUESTION)
    assert len(model.asked) == 2


def test_a_call_that_failed_has_been_made(tmp_path: Path) -> None:
    class Down(Model):
        def ask(self, request: Request) -> Reply:
            raise ProviderError("ARG-P105", "down")

    asking = Daily(Down(), ledger(tmp_path, calls=1))
    with pytest.raises(ProviderError, match="ARG-P105"):
        asking.ask(QUESTION)
    with pytest.raises(ProviderError, match="ARG-P113"):
        asking.ask(QUESTION)


def test_another_day_begins_anew(tmp_path: Path) -> None:
    kept = ledger(tmp_path, calls=1)
    Daily(Model(), kept).ask(QUESTION)
    later = replace(kept, day=lambda: "2026-11-20")
    Daily(Model(), later).ask(QUESTION)
    days = {json.loads(line)["day"] for line in kept.path.read_text().splitlines()}
    assert days == {"2026-11-20"}


@pytest.mark.parametrize("written", ["{", '{"day": 3}', '{"day": "2026-11-19", "calls": "x"}', "[]", "\x00", '"x"'])
def test_a_damaged_line_gives_nothing_away(tmp_path: Path, written: str) -> None:
    kept = ledger(tmp_path, calls=1)
    kept.path.parent.mkdir()
    kept.path.write_text(f"{written}\n", encoding="utf-8")
    if written == '{"day": 3}':  # another day, whatever it is
        Daily(Model(), kept).ask(QUESTION)
    with pytest.raises(ProviderError, match="ARG-P113"):
        Daily(Model(), kept).ask(QUESTION)


def test_negative_counts_give_nothing_back(tmp_path: Path) -> None:
    kept = ledger(tmp_path, tokens=100)
    Daily(Model(), kept).ask(QUESTION)
    kept.end(-1000)
    with kept.path.open("a", encoding="utf-8") as file:
        file.write('{"day": "2026-11-19", "tokens": -1000, "calls": -5}\n')
    with pytest.raises(ProviderError, match="ARG-P113"):
        Daily(Model(), kept).ask(QUESTION)


def test_runs_side_by_side_share_a_day(tmp_path: Path) -> None:
    kept = ledger(tmp_path, calls=8)
    models = [Model() for _ in range(4)]

    def run(model: Model) -> None:
        for _ in range(5):
            asked(Daily(model, kept))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(run, models))
    assert sum(len(model.asked) for model in models) == 8


def test_a_ledger_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    with pytest.raises(ProviderError, match=r"ARG-P113.*cannot be kept"):
        Daily(Model(), ledger(tmp_path)).ask(QUESTION)


def test_the_ledger_holds_days_and_numbers_alone(tmp_path: Path) -> None:
    kept = ledger(tmp_path)
    Daily(Model(), kept).ask(Request("lowering", CANARY, ()))
    assert [json.loads(line) for line in kept.path.read_text().splitlines()] == [
        {"day": "2026-11-19", "calls": 1}, {"day": "2026-11-19", "tokens": 100},
    ]  # fmt: skip


def test_the_environment_sets_place_and_limits(tmp_path: Path) -> None:
    usual = DayLedger.of_machine({"XDG_STATE_HOME": str(tmp_path)})
    assert usual.path == tmp_path / "argus" / "model-ledger.jsonl"
    assert (usual.tokens, usual.calls) == (TOKENS_PER_DAY, CALLS_PER_DAY)
    own = {"ARGUS_LEDGER": str(tmp_path / "own"), "ARGUS_TOKENS_PER_DAY": "0", "ARGUS_CALLS_PER_DAY": "7"}
    assert DayLedger.of_machine(own) == replace(usual, path=tmp_path / "own", tokens=0, calls=7)
    with pytest.raises(ProviderError, match=r"ARG-P113.*ARGUS_CALLS_PER_DAY"):
        DayLedger.of_machine({"ARGUS_CALLS_PER_DAY": "many"})
