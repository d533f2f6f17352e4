"""`argus optimize`, what looks at its journal (`history`, `best`, `diff`, `report`, `verify-all`), `kb` and `mcp`."""

from __future__ import annotations

import argparse
from typing import Any

from argus.cli.arguments.choices import TASKS
from argus.cli.arguments.shared import add_cluster, add_journal, add_json, add_verb

OPTIMIZE = """\
argus optimize gemm                              a built-in task
argus optimize mine.py --budget 60 -o best.py    a task of your own (`argus init` writes one)
argus optimize --resume                          resume the newest run of the journal
argus optimize gemm --edit best.py               judge a kernel of your own and search on from it
argus optimize gemm --ray auto --batch 16        judge on a Ray cluster (docs/many_machines.md)
"""
MCP = """\
argus mcp --workspace kernels                on standard input and output, as coding agents start it
ARGUS_MCP_TOKEN=… argus mcp --http 8765      streamable HTTP on 127.0.0.1; every request carries the token
argus mcp --list                             the tools

It needs the extra `mcp` (pip install 'argus-kernels[mcp]'). Set-up of coding agents: docs/workbench.md.
"""
RUN = "a run of the journal, or a beginning of its name that no other has (default: the newest)"


def register(verbs: Any) -> None:
    _register_optimize(verbs)
    history = add_verb(verbs, "history", "argus.cli.history:show", "list optimization runs, or what one of them tried")
    history.add_argument("run", nargs="?", help=RUN)
    best = add_verb(
        verbs, "best", "argus.cli.history:show_best", "the best kernel an optimization found, and the way to it"
    )
    best.add_argument("run", nargs="?", help=RUN)
    best.add_argument("-o", "--output", metavar="FILE", help="write the kernel there")
    diff = add_verb(verbs, "diff", "argus.cli.history:show_diff", "what changed between two candidates")
    diff.add_argument("a", help="a candidate, as `argus history RUN` names it")
    diff.add_argument("b", nargs="?", help="another (default: A's parent against A)")
    diff.add_argument("--run", help=RUN)
    report = add_verb(verbs, "report", "argus.cli.report:handle", "write an HTML page about an optimization run")
    report.add_argument("run", nargs="?", help=RUN)
    report.add_argument("-o", "--output", metavar="FILE", default="argus-report.html")
    text = "judge every stored winner again and compare the evidence"
    again = add_verb(verbs, "verify-all", "argus.cli.history:verify_all", text)
    add_cluster(again, "judge")
    for parser in (history, best, diff, report, again):
        add_json(parser)
        add_journal(parser)
    _register_kb(verbs)
    _register_mcp(verbs)


def _register_optimize(verbs: Any) -> None:
    text = "make a kernel fast: plan, transform, prove, run, time, learn"
    parser = add_verb(verbs, "optimize", "argus.cli.optimize:handle", text, OPTIMIZE)
    parser.add_argument("task", nargs="?", help=f"a task file, or one of: {', '.join(TASKS)}")
    _add_settings(parser)
    add_cluster(parser, "judge")
    parser.add_argument(
        "--policy", metavar="FILE", help="start from this experience and add the run's own (and FILE.md, as text)"
    )
    parser.add_argument("--resume", nargs="?", const="", metavar="RUN", help="resume a run of the journal")
    parser.add_argument("--edit", metavar="FILE", help="judge this kernel as the next candidate and search on from it")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the best kernel there")
    page = parser.add_mutually_exclusive_group()
    page.add_argument("--report", metavar="FILE", help="the HTML page of the run (default: beside the journal)")
    page.add_argument("--no-report", action="store_true", help="no HTML page")
    add_json(parser)
    add_journal(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """What a run is begun with; None is what was not said, so that a resumed run can be compared."""
    add = parser.add_argument
    add("--device", choices=("simulated", "hip"), help="whose times count (default simulated)")
    add("--budget", type=int, help="evaluations (default 40)")
    add("--seed", type=int, help="seed of every decision (default 0)")
    add("--data-seed", type=int, dest="data", help="seed of the judge's data (default 0)")
    add("--batch", type=int, help="candidates judged before the next decision (default 2)")
    add("--patience", type=int, help="steps without a gain after which to end (default 8)")
    add(
        "--planner",
        choices=("builtin", "bandit", "random", "model"),
        help="who ranks what to try: the built-in bandit (default), chance, or the model of --provider",
    )
    add(
        "--lowering",
        choices=("builtin", "model", "both"),
        help="who changes the source: transformations (default), the model, or the model where no transformation fits",
    )
    add(
        "--no-feedback", dest="feedback", action="store_const", const=False, help="repair nothing the judge finds wrong"
    )
    add(
        "--no-knowledge",
        dest="knowledge",
        action="store_const",
        const=False,
        help="no prerequisites, gains, bottlenecks",
    )
    add(
        "--provider",
        help="the model: openai:MODEL, anthropic:MODEL, command:LINE or replay:FILE; it makes all candidates unless "
        "--planner or --lowering say which part it plays",
    )
    add("--max-tokens", type=int, help="what a model may use in the whole run (default 2,000,000; 0: no limit)")


def _register_kb(verbs: Any) -> None:
    parser = verbs.add_parser("kb", help="the knowledge base of optimization techniques")
    actions = parser.add_subparsers(dest="action", metavar="list|show|search", required=True)
    listing = add_verb(actions, "list", "argus.cli.kb:handle", "every technique, one line each")
    listing.add_argument("--family", help="only techniques for this family: gemm, row, attention, moe")
    listing.add_argument("--bottleneck", help="only remedies for this bottleneck")
    show = add_verb(actions, "show", "argus.cli.kb:handle", "one entry with everything it says")
    show.add_argument("entry")
    show.add_argument("--code", action="store_true", help="the technique as code: what it changes in a kernel")
    show.add_argument("--family", help="with --code: in a kernel of this family")
    add_journal(show)
    find = add_verb(actions, "search", "argus.cli.kb:handle", "entries by words, best first")
    find.add_argument("words", nargs="+")
    find.add_argument("--family", help="only techniques for this family")
    for action in (listing, show, find):
        add_json(action)


def _register_mcp(verbs: Any) -> None:
    text = "serve the tools to a coding agent by the Model Context Protocol"
    parser = add_verb(verbs, "mcp", "argus.cli.mcp:handle", text, MCP)
    parser.add_argument("--workspace", metavar="DIR", default=".", help="the folder whose files it may read")
    parser.add_argument("--http", type=int, metavar="PORT", help="streamable HTTP on loopback instead of stdio")
    parser.add_argument("--workers", type=int, default=1, help="calls at a time (default 1)")
    parser.add_argument("--list", action="store_true", help="print the tools and end")
    add_json(parser)
