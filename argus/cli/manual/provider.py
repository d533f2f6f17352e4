"""Codes of what goes wrong between Argus and a language model. A failure stops the run; none is passed over."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

PROVIDER: Mapping[str, ManualEntry] = {
    "ARG-P101": ManualEntry(
        "`--provider` names no kind of provider.",
        "`builtin`, `openai:MODEL`, `anthropic:MODEL`, `command:LINE` or `replay:FILE`.",
    ),
    "ARG-P102": ManualEntry(
        "The provider needs a key and the environment has none.",
        "set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`; a server of your own without keys needs `OPENAI_BASE_URL` only.",
    ),
    "ARG-P103": ManualEntry(
        "The server answered that it does not take the request (an HTTP code of 400 to 499): wrong key, unknown model, "
        "or a request larger than it allows. Its own words follow.",
        "check key, model name and address; nothing is gained by asking again.",
    ),
    "ARG-P104": ManualEntry(
        "The server said 429, too many requests, four times in a row; between attempts Argus waits as long as it asks.",
        "wait, then resume with `argus optimize --resume`: what was answered is in the journal.",
    ),
    "ARG-P105": ManualEntry(
        "The server failed (an HTTP code from 500 on) in all four attempts.",
        "wait, then resume with `argus optimize --resume`.",
    ),
    "ARG-P106": ManualEntry(
        "The answer is empty, is no JSON, or has no text where the protocol has it.",
        "check that the address speaks the protocol of the provider; `OPENAI_BASE_URL` usually ends in `/v1`.",
    ),
    "ARG-P107": ManualEntry(
        "The model stopped at the limit of tokens for one answer. Half an edit is never applied; the model gets this "
        "message and is asked again.",
        "nothing to do, unless every answer ends so; then use a model that thinks or writes less.",
    ),
    "ARG-P108": ManualEntry(
        "The model has used its tokens (`--max-tokens`) or calls; the limit stops a call before it is made.",
        "take the best kernel so far (`argus best`); a run keeps its limit, so begin another one for more.",
    ),
    "ARG-P109": ManualEntry(
        "The recording cannot be read, or does not hold this question: prompt, task or source have changed since.",
        "record it again; for the example, `python -m examples.agent.record`.",
    ),
    "ARG-P110": ManualEntry(
        "No connection to the address, or no answer in time, in four attempts.",
        "check address and network; addresses come from `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL`.",
    ),
    "ARG-P111": ManualEntry(
        "The command does not start, ends with another code than 0, or does not answer within ten minutes.",
        "try the line by hand with a question on standard input; no shell runs it, so `|` and `~` have no meaning.",
    ),
    "ARG-P112": ManualEntry(
        "`--max-tokens` is given, but the provider (a command, some servers) does not say how many tokens it takes: "
        "the limit could not be kept.",
        "`--max-tokens 0` for no limit; `--budget` limits the number of answers.",
    ),
    "ARG-P113": ManualEntry(
        "All runs of this day (UTC) together have used the tokens (`ARGUS_TOKENS_PER_DAY`) or calls "
        "(`ARGUS_CALLS_PER_DAY`) that models may have on this machine, or the ledger that counts them cannot be kept. "
        "The limit stops a call before it is made.",
        "go on tomorrow with `argus optimize --resume`: what was answered is in the journal; or set the limit higher, "
        "0 for none.",
    ),
    "ARG-P120": ManualEntry(
        "The model's answer holds no edit: no whole file, no unified diff and no SEARCH/REPLACE pieces. The model gets "
        "this message and is asked again; a few times a round that does not count.",
        "nothing to do, unless every answer ends so; then the model does not follow the format.",
    ),
    "ARG-P121": ManualEntry(
        "The text an edit searches for is not in the file, or is there more than once, or the new file is too large. "
        "The model gets this message and is asked again.",
        "nothing to do, unless every answer ends so.",
    ),
    "ARG-P122": ManualEntry(
        "The kernel states invariants (`ag.check.…`) that an edit has to keep, and one of them is gone, or stands "
        "where it is never read. The model gets this message and is asked again; a few times a round that does not "
        "count.",
        "nothing to do, unless every answer ends so.",
    ),
    "ARG-P123": ManualEntry(
        "In an episode without the library, the edit imports from `argus.kernels`. The model gets this message and is "
        "asked again.",
        "nothing to do.",
    ),
    "ARG-P124": ManualEntry(
        "A model that plans answers with one JSON object of techniques, at most eight; this answer is none, is too "
        "long, or names what is not there. The model gets this message and is asked again, three times a step.",
        "nothing to do, unless every answer ends so.",
    ),
}
