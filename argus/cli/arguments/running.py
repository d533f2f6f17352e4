"""`argus run`, `plan`, `time`, `compare`, `clock`, `bench`, `machine`, `doctor`: kernels on the simulated MI300X."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from argus.cli.arguments.choices import (
    DECISIONS,
    DEVICES,
    GEMM_SIZES,
    KEPT_TIMES,
    KERNELBENCH,
    LAYERS,
    MEMORY_BOUND,
    PERTURBED_CLOCKS,
    TRITON,
    TUNED,
)
from argus.cli.arguments.shared import (
    add_cluster,
    add_journal,
    add_json,
    add_kernel_arguments,
    add_no_check,
    add_object_arguments,
    add_protocol,
    add_time_arguments,
    add_verb,
)

TOP = 10
OBJECTS = "arguments of an object: --arg bf16[4096,4096]:normal  f32[4096]  @file.npy  i32=4096  null"
EXPLAIN = """\
argus clock explain argus/kernels/gemm.py --shape M=1024,N=1024,K=1024
argus clock explain x.co --kernel k --grid 32,22 --block 256 --arg … --json

What limits the launch (memory, matrix unit, latency, LDS, …), its time as a stack of stall causes, the time without
each cause, the source lines, which instruction waits for which, occupancy, and counters under rocprofv3's names.
"""
BENCH = """\
argus bench gemm                                   the five square sizes, three Triton configurations each
argus bench gemm --triton full --aiter DIR --clocks 20 --shape M=4096,N=4096,K=4096
argus bench gemm --hipblaslt DIR --sizes table --layout NN --out out/gemm.jsonl   all sizes of a table; goes on later
argus bench gemm --hipblaslt DIR --sizes inference --nearest 4 --out out/gemm.jsonl
argus bench gemm --out out/gemm.jsonl --print      the tables and what they say in all
argus bench attention moe fp8 --aiter DIR          layers: `--shape S=4096`, `T=4096`, `M=…,N=…,K=…`
argus bench softmax add transpose                  bytes per second and share of the memory's rate
argus bench gemm softmax --ablate                  ablation: one optimization removed at a time
argus bench gemm --search --shape M=2048,N=2048,K=2048      every candidate of the dispatch table at this shape
argus bench gemm --search --write                  all shapes of the table; writes argus/kernels/matmul.json
argus bench kernelbench DIR --run-python --dtype f32 --no-time      KernelBench's tasks as plans of proved kernels
argus bench agents DIR --solutions FILE --run-python      other agents' kernels as found (docs/agents_bench.md)
argus bench gemm --holdout --seed 7 --count 60     what the dispatcher loses at shapes drawn by a seed
argus bench gemm --ray auto                        one row per worker of a Ray cluster (docs/many_machines.md)

Triton's columns need the extra `bench` (pip install 'argus-kernels[bench]'); without it they stay empty.
"""
PLAN = """\
argus plan model.py --run-python                   launches, knobs, views and what each computes
argus plan model.py --run-python --class Net --json

Needs the extra `torch` (pip install 'argus-kernels[torch]').
"""
TUNE = """\
argus tune --product 1024x8192x8192 --decision product-tile        tiles of one product; `a`, `b` behind: stored by k
argus tune model.py --run-python --dtype bf16 --budget 24          every decision point of a module's plan
argus tune --kernelbench DIR --level 1 --task 7,9 --run-python --write      rows go to argus/kernels/choices.json

Times are simulated. Modules need the extra `torch` (pip install 'argus-kernels[torch]').
"""
COMPARE = """\
argus compare "gemm.py --shape M=4096,N=4096,K=4096" \\
              "triton.hsaco --kernel matmul --grid 1024 --block 512 --arg bf16[4096,4096]:normal …"
"""
CLOCK_ACTIONS = {
    "fit": "fit the power model and the launch floors to the fit rows",
    "validate": "judge the clock by the validate rows",
    "ablate": "judge it with one mechanism switched off at a time",
}


def register(verbs: Any) -> None:
    _register_run(verbs)
    text = "time a kernel file, or any gfx942 code object, on the simulated MI300X: stalls, occupancy, roofline"
    time = add_verb(verbs, "time", "argus.cli.time:handle", text, OBJECTS)
    add_time_arguments(time)
    time.add_argument("--trace", metavar="OUT", help="write a Perfetto trace of one compute unit")
    time.add_argument("--html", metavar="OUT", help="write one HTML page: roofline, timeline, stalls, source")
    _register_compare(verbs)
    _register_clock(verbs)
    _register_bench(verbs)
    _register_plan(verbs)
    _register_tune(verbs)
    text = "what this machine can do: packages, HIP runtime, GPUs, caches; on a gfx942 a self-test"
    doctor = add_verb(verbs, "doctor", "argus.cli.doctor:handle", text)
    doctor.add_argument("--no-run", action="store_true", help="no self-test on the GPU")
    add_journal(doctor)
    add_json(doctor)
    machine = verbs.add_parser("machine", help="the simulated gfx942: coverage of a folder of code objects")
    actions = machine.add_subparsers(dest="action", metavar="ACTION", required=True)
    corpus = add_verb(
        actions, "corpus", "argus.cli.machine:handle", "decode every object below DIR and report coverage"
    )
    corpus.add_argument("dir", type=Path, help="folder with .co, .hsaco or .o files")
    corpus.add_argument("--objdump", action="store_true", help="compare every instruction with llvm-objdump")
    add_json(corpus)


def _register_run(verbs: Any) -> None:
    text = "execute a kernel file, or any gfx942 code object, on the simulated MI300X"
    parser = add_verb(verbs, "run", "argus.cli.run:handle", text, OBJECTS)
    add_kernel_arguments(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the input data")
    parser.add_argument(
        "--device", choices=DEVICES, default="auto", help="auto: hip if a gfx942 is there, else checking"
    )
    add_object_arguments(parser)
    parser.add_argument("--save", metavar="DIR", help="objects: write the arrays after the run as .npy files")
    parser.add_argument(
        "--algebra", action="store_true", help="execute in exact algebra too and compare without a tolerance"
    )
    parser.add_argument("--computes", metavar="TEXT", help="objects, with --algebra: what it computes")
    parser.add_argument("--names", metavar="A,B,N", default="", help="objects, with --computes: names of its arguments")
    parser.add_argument("--against", metavar="OBJECT", help="objects, with --algebra: a second object to compare with")
    add_no_check(parser)


def _register_plan(verbs: Any) -> None:
    text = "the plan of a PyTorch module: launches of proved kernels, buffers and views"
    parser = add_verb(verbs, "plan", "argus.cli.plan:handle", text, PLAN)
    parser.add_argument("file", metavar="MODULE.py", help="a class, get_init_inputs() and get_inputs()")
    parser.add_argument("--class", dest="class_name", default="Model", metavar="NAME", help="the module's class")
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32", help="element type of module and inputs")
    parser.add_argument(
        "--run-python", action="store_true", help="execute MODULE.py, in a process of its own; without it, nothing runs"
    )
    add_json(parser)


def _register_tune(verbs: Any) -> None:
    text = "tune the plan of a module: alternatives at the planner's decision points, tried on the clock (simulated)"
    parser = add_verb(verbs, "tune", "argus.cli.tune:handle", text, TUNE)
    parser.add_argument("file", nargs="?", metavar="MODULE.py", help="a class Model, get_init_inputs(), get_inputs()")
    parser.add_argument("--product", action="append", default=[], metavar="MxNxK", help="a product instead of a module")
    parser.add_argument("--kernelbench", type=Path, metavar="DIR", help="tasks of KernelBench instead of a module")
    parser.add_argument("--level", type=int, choices=(1, 2), help="kernelbench: one level")
    parser.add_argument("--task", metavar="N", help="kernelbench: one task, or several: 1,3,40-49")
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="bf16", help="element type of module and inputs")
    parser.add_argument("--decision", action="append", default=[], choices=DECISIONS, help="one decision; repeatable")
    parser.add_argument("--budget", type=int, default=TUNED, help=f"alternatives timed for each (default {TUNED})")
    parser.add_argument("--write", action="store_true", help="put the rows into the dispatch table")
    parser.add_argument(
        "--run-python", action="store_true", help="execute the modules, in a process of their own; without it, none"
    )
    add_json(parser)


def _register_compare(verbs: Any) -> None:
    text = "time several launches of the same work in one run (simulated)"
    parser = add_verb(verbs, "compare", "argus.cli.compare:handle", text, COMPARE)
    parser.add_argument(
        "candidates", nargs="+", metavar="A", help='what `argus time` takes, in quotes: "FILE --shape …"'
    )
    parser.add_argument(
        "--clocks", type=int, default=PERTURBED_CLOCKS, help="perturbed clocks to repeat the comparison under"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the perturbed clocks")
    add_json(parser)


def _register_clock(verbs: Any) -> None:
    text = "why a kernel takes its time (stalls, occupancy, bound); fit or judge the clock by published times"
    parser = verbs.add_parser("clock", help=text, description=text)
    actions = parser.add_subparsers(dest="what", metavar="ACTION", required=True)
    text = "why a kernel takes its time: stalls by cause and line, occupancy, what-ifs and counters"
    explain = add_verb(actions, "explain", "argus.cli.clock_explain:handle", text, EXPLAIN)
    add_time_arguments(explain)
    explain.add_argument("--top", type=int, default=TOP, help=f"rows of each table of the text (default {TOP})")
    for name, text in CLOCK_ACTIONS.items():
        action = add_verb(actions, name, "argus.cli.clock:handle", text)
        action.add_argument("rows", nargs="+", help="files of simulated rows, from python -m bench.clock")
        action.add_argument("--write", action="store_true", help="fit: keep the result in the clock's data files")
        add_json(action)


def _add_gemm_sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sizes", choices=GEMM_SIZES, default="published", help="gemm, without --shape: which sizes (docs/bench.md)"
    )
    text = "gemm: how many shapes, with --sizes drawn (default 20) or --holdout (default 60)"
    parser.add_argument("--count", type=int, metavar="N", help=text)
    parser.add_argument("--seed", type=int, default=0, help="gemm: draws the shapes of --sizes drawn and --holdout")
    parser.add_argument(
        "--nearest", type=int, default=0, metavar="N", help="gemm: without an entry, the fastest of N near solutions"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="gemm: a line per size; a later run goes on")
    parser.add_argument("--print", action="store_true", help="gemm: what --out holds; nothing is run")


def _register_bench(verbs: Any) -> None:
    text = "the library's kernels beside others on the simulated MI300X"
    parser = add_verb(verbs, "bench", "argus.cli.bench:handle", text, BENCH)
    families = f"gemm, {', '.join((*LAYERS, *MEMORY_BOUND))}, kernelbench DIR, agents DIR"
    parser.add_argument("family", nargs="+", help=families)
    parser.add_argument("--shape", action="append", default=[], metavar="M=4096,…", help="one shape; may be repeated")
    parser.add_argument("--triton", choices=TRITON, default="quick", help="Triton configurations to compile")
    parser.add_argument("--clocks", type=int, default=0, help="perturbed clocks for the verdict (0: none)")
    add_protocol(parser, "how the times would be taken")
    parser.add_argument("--aiter", type=Path, metavar="DIR", help="gemm and layers: AITER's objects (its hsa/gfx942)")
    parser.add_argument("--hipblaslt", type=Path, metavar="DIR", help="gemm: hipBLASLt's objects (docs/foreign.md)")
    parser.add_argument(
        "--dtype", choices=("bf16", "f16", "fp8", "f32"), default="bf16", help="gemm, kernelbench: element type"
    )
    parser.add_argument("--layout", choices=("TN", "NN", "NT"), default="TN", help="gemm: hipBLASLt's word for it")
    _add_gemm_sizes(parser)
    for flag, text in (
        ("--ablate", "all but fp8 and elementwise: one optimization removed at a time"),
        ("--search", "gemm, attention, moe: every candidate of the dispatch table"),
        ("--write", "with --search: write the dispatch table"),
        ("--holdout", "gemm: what the dispatcher loses at shapes drawn by --seed"),
        ("--right", "moe: sampled workgroups against float64"),
    ):
        parser.add_argument(flag, action="store_true", help=text)
    parser.add_argument("--level", type=int, choices=(1, 2), help="kernelbench: one level")
    parser.add_argument("--task", metavar="N", help="kernelbench: one task, or several: 1,3,40-49")
    parser.add_argument("--summary", action="store_true", help="kernelbench: the records that hold; nothing is judged")
    parser.add_argument("--each", action="store_true", help="kernelbench: with --summary, a row for every task, too")
    parser.add_argument("--eager", type=Path, metavar="FILE", help="kernelbench: measured times (task, eager_min_ms)")
    parser.add_argument("--no-time", action="store_true", help="kernelbench, agents: judge without the clock")
    parser.add_argument("--time-only", action="store_true", help="kernelbench: plan and time; nothing is proved or run")
    parser.add_argument("--run-python", action="store_true", help="kernelbench, agents: execute files, in a worker")
    parser.add_argument("--solutions", type=Path, metavar="FILE", help="agents: which kernels DIR holds")
    parser.add_argument("--system", action="append", default=[], metavar="NAME", help="agents: one system; repeatable")
    parser.add_argument(
        "--problem", action="append", default=[], choices=("gemm", "attention", "moe"), help="agents: one problem"
    )
    parser.add_argument("--clang", metavar="NAME", help="agents: the clang that compiles HIP C++ (17 or later)")
    parser.add_argument(
        "--records", type=Path, default=Path(KERNELBENCH), metavar="FILE", help="kernelbench: where records are kept"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="kernelbench: the records as a page")
    parser.add_argument("--keep", type=Path, default=Path(KEPT_TIMES), metavar="DIR", help="where times are kept")
    add_cluster(parser, "make rows")
    add_json(parser)
