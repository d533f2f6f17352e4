"""`init`, `check`, `ir`, `compile`, `registers`, `layout`, `explain`, `docs`: a kernel and what is known about it."""

from __future__ import annotations

from typing import Any

from argus.cli.arguments.shared import add_force, add_json, add_kernel_arguments, add_verb

CHECK = """\
argus check FILE                             one line if all is proved; else what is refuted or unknown, and where
argus check FILE -v                          every claim with its place, the premises in full, the error bound
argus check FILE --stats                     where the time went and how questions were decided
argus check FILE --show 47 --thread 40       the tags of the values on line 47, as one thread sees them
argus check FILE --picture out.html          the offending layout of the first counterexample
argus check FILE --no-cache                  decide again, although the verdicts are known
argus check FILE --run                       execute the proof, or the refuted value, on the machine, too
argus check FILE --no-run                    do not execute the proof
"""
INIT = """\
argus init demo
argus init demo --agents        also AGENTS.md, llms.txt, .mcp.json and a skill for coding agents
cd demo && argus check demo.py && argus optimize demo_task.py --budget 12
"""
DOCS = """\
argus docs                                    the pages
argus docs swizzle bank conflict              the sections that say most about it
argus docs --page language --section Owners   one section
"""
LAYOUT = """\
argus layout 'Layout(row=(8, 128), chunk=(8, 16), e=(8, 2)).xor(chunk="row[0:3]")'
argus layout argus/kernels/gemm.py:LDS_A --svg lds.svg
"""


def register(verbs: Any) -> None:
    init = add_verb(verbs, "init", "argus.cli.init:handle", "start a project: a kernel, a task, editor settings", INIT)
    init.add_argument("name", metavar="NAME", help="folder to make; its last part names the kernel")
    init.add_argument("--agents", action="store_true", help="also what a coding agent needs: AGENTS.md, .mcp.json, …")
    _register_check(verbs)
    add_kernel_arguments(add_verb(verbs, "ir", "argus.cli.ir:handle", "print the kernel IR"))
    _register_compile(verbs)
    text = "who holds the registers at the fullest point of a kernel, by line and name"
    registers = add_verb(verbs, "registers", "argus.cli.registers:handle", text)
    add_kernel_arguments(registers)
    registers.add_argument("--top", type=int, default=16, help="rows of the table (default 16)")
    text = "show a layout or owner as a table or a picture"
    layout = add_verb(verbs, "layout", "argus.cli.layout:handle", text, LAYOUT)
    layout.add_argument("what", metavar="EXPR|FILE:NAME")
    layout.add_argument("--svg", metavar="OUT", help="write a picture, coloured by bank or lane")
    layout.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE,…", help="knobs of FILE")
    text = "explain an error code (AG301, C130, M101) or a rule (covers)"
    explain = add_verb(verbs, "explain", "argus.cli.explain:handle", text)
    explain.add_argument("code")
    docs = add_verb(verbs, "docs", "argus.cli.docs:handle", "search or read the reference", DOCS)
    docs.add_argument("words", nargs="*", help="what to look for; none: list the pages")
    docs.add_argument("--page", metavar="NAME", help="read this page, or search in it alone")
    docs.add_argument("--section", metavar="TITLE", help="with --page: read this section alone")
    docs.add_argument("--most", type=int, default=4, help="sections a search shows (default 4)")
    for parser in (init, layout, explain, docs):
        add_json(parser)


def _register_check(verbs: Any) -> None:
    text = "prove the kernel's data flow, or show a counterexample"
    parser = add_verb(verbs, "check", "argus.cli.check:handle", text, CHECK)
    add_kernel_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="every claim, the premises and the error bound")
    parser.add_argument("--stats", action="store_true", help="where time went, by what questions were decided")
    parser.add_argument("--no-cache", action="store_true", help="decide again instead of using verdicts kept on disk")
    runs = parser.add_mutually_exclusive_group()
    runs.add_argument("--run", action="store_true", help="also execute the code object on the simulated machine")
    runs.add_argument("--no-run", action="store_true", help="do not execute a proof before it is believed")
    parser.add_argument("--smt", metavar="DIR", help="where undecided questions are written (default: in the cache)")
    parser.add_argument("--picture", metavar="OUT", help="draw the offending layout: .svg, or .html with the report")
    parser.add_argument("--show", type=int, metavar="LINE", help="print the tags of the values on this line and stop")
    parser.add_argument("--thread", type=int, default=0, help="with --show: whose values (default 0)")
    parser.add_argument("--block", metavar="X,Y,Z", help="with --show: the workgroup")
    parser.add_argument("--at", action="append", default=[], metavar="LOOP=N,…", help="with --show: loop iterations")


def _register_compile(verbs: Any) -> None:
    text = "make a gfx942 code object (.hsaco) with launchers and proof"
    parser = add_verb(verbs, "compile", "argus.cli.compile:handle", text)
    add_kernel_arguments(parser)
    parser.add_argument("-o", "--output", default="out", metavar="DIR", help="where to write (default: out)")
    parser.add_argument("--llvm", action="store_true", help="also write the LLVM IR")
    parser.add_argument(
        "--debug-lines",
        action="store_true",
        help="keep source lines in the object (.debug_line), for rocprofv3, rocgdb",
    )
    parser.add_argument("--report", action="store_true", help="show the loops of the machine code")
    parser.add_argument("--assembly", action="store_true", help="with --report: the code beside its source lines")
    add_force(parser)
