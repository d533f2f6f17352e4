"""`argus run FILE`: execute a kernel's code object and compare with its specification.
`argus run OBJECT --kernel … --grid … --block … --arg …`: execute anybody's gfx942 code object.

Whether the file is an object is read from its first bytes, not from its name. Reports of all levels are printed; the
run fails if one of them is an error or the results are wrong, not for warnings and notes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argus import machine
from argus.check.rounding.derived_comparison import compare_derived
from argus.cli.answers import ExecutionAnswer, ObjectRunAnswer, emit
from argus.cli.gate import admitted_launch, refuse_large
from argus.cli.object_args import Argument, parse_arguments
from argus.cli.run_algebra import run_file_in_algebra, run_object_in_algebra
from argus.cli.usage import GOOD, WRONG, UsageError
from argus.compile.cache import compile_cached
from argus.device.choose import choose
from argus.device.launch import LaunchOutcome
from argus.gfx942.elf import MAGIC
from argus.ir.kernel import Kernel
from argus.spec import evaluate
from argus.spec.compare import ElementComparison, combined, json_number
from argus.tasks.inputs import make_arrays, make_scalars

HALF = 0.5
CHANGES: tuple[Callable[[npt.NDArray[Any]], npt.NDArray[Any]], ...] = (
    lambda x: x,
    np.abs,
    lambda x: x * x.dtype.type(1 / 16),
    lambda x: x * x.dtype.type(1 / 256),
)
"""Inputs that are tried one after another."""


def handle(args: argparse.Namespace) -> int:
    path = Path(args.file)
    with path.open("rb") as file:
        is_object = file.read(4) == MAGIC
    if (args.against or args.computes) and not args.algebra:
        raise UsageError("--against and --computes belong to --algebra")
    if is_object:
        return run_object(path, args)
    return run_file_in_algebra(args) if args.algebra else run_file(args)


def run_file(args: argparse.Namespace) -> int:
    program, launch, report = admitted_launch(args)
    kernel = program.kernel
    refuse_large(kernel, launch)
    scalars = make_scalars(kernel, args.seed)
    arrays = _arrays(kernel, launch, scalars, args.seed)
    inputs = {name: array.copy() for name, array in arrays.items()}
    device = choose(args.device, simulated="checking", tell=lambda text: print(f"note: {text}", file=sys.stderr))
    outcome = device.launch(kernel, compile_cached(program).object, launch, arrays, scalars)
    comparison = None
    if kernel.computes is not None:
        symbols, derived = {**launch, **scalars}, None if report is None else report.rounding
        comparison = combined(
            [
                compare_derived(None if derived is None else derived.of(s.result), s, inputs, symbols, arrays[s.result])
                for s in kernel.computes.results
            ]
        )
    if args.json:
        emit(ExecutionAnswer, _to_json(kernel.name, launch, outcome, comparison))
    else:
        print(_to_text(kernel.name, launch, outcome, comparison))
    failed = any(found.level == "error" for found in outcome.reports)
    return WRONG if failed or (comparison is not None and not comparison.ok) else GOOD


def _arrays(
    kernel: Kernel, launch: Mapping[str, int], scalars: Mapping[str, float], seed: int
) -> dict[str, npt.NDArray[np.generic]]:
    """Inputs for which the specification has a value: where that is finite for fewer than half of the elements (a
    logarithm of normal numbers, a sum of exponentials that overflow), their magnitudes or smaller numbers, whichever
    it is finite for most of."""
    if kernel.computes is None:
        return make_arrays(kernel, launch, seed)
    results = kernel.computes.results

    def share(given: Mapping[str, npt.NDArray[np.generic]]) -> float:
        with np.errstate(all="ignore"):
            values = [evaluate(s, given, {**launch, **scalars}).value for s in results]
        return min(float(np.isfinite(v).mean()) if v.size else 1.0 for v in values)

    best: dict[str, npt.NDArray[np.generic]] = {}
    most = -1.0
    for change in CHANGES:
        arrays = make_arrays(kernel, launch, seed)
        for tensor in kernel.tensors:
            if tensor.read and tensor.dtype.kind == "float":
                arrays[tensor.name][...] = change(arrays[tensor.name])
        found = share(arrays)
        if found > most:
            best, most = arrays, found
        if most >= HALF:
            break
    return best


def _to_json(name: str, launch: Any, outcome: LaunchOutcome, comparison: ElementComparison | None) -> dict[str, object]:
    return {
        "kernel": name,
        "shape": dict(launch),
        "device": outcome.device,
        "workgroups": outcome.workgroups,
        "instructions": outcome.instructions,
        "seconds": outcome.seconds,
        "reports": [report.to_json() for report in outcome.reports],
        "comparison": None if comparison is None else comparison.to_json(),
    }


def _took(seconds: float | None) -> str:
    """Seconds of the simulated chip, microseconds of a GPU."""
    if seconds is None:
        return "not waited for"
    return f"{seconds:.2f} s" if seconds >= 0.005 else f"{1e6 * seconds:.1f} µs"


def _to_text(name: str, launch: Any, outcome: LaunchOutcome, comparison: ElementComparison | None) -> str:
    shape = " ".join(f"{k}={v}" for k, v in launch.items())
    lines = [
        f"{name} {shape} on {outcome.device}: {outcome.workgroups} workgroups, "
        f"{outcome.instructions} wave instructions, {_took(outcome.seconds)}"
    ]
    lines += [str(report) for report in outcome.reports]
    if outcome.checked and not outcome.reports:
        lines.append("no races, missing waits, bad accesses or uninitialised values found")
    if comparison is None:
        lines.append("the kernel states no specification (computes=…): results were not compared")
    elif comparison.ok:
        lines.append(
            f"correct: {comparison.elements} elements within the error bound of the arithmetic "
            f"(largest error {comparison.worst:.2f} of its bound){_not_finite(comparison)}"
        )
    elif not comparison.told and not comparison.wrong:
        lines.append("NOT COMPARED: with these inputs the specification has no finite value")
    else:
        lines.append(
            f"WRONG: {comparison.wrong} of {comparison.elements} elements; first at "
            f"{list(comparison.first_wrong or ())}: {comparison.got:g} instead of {comparison.want:g}"
        )
    return "\n".join(lines)


def _not_finite(comparison: ElementComparison) -> str:
    left = comparison.elements - comparison.finite
    return f"; of {left} the specification has no finite value" if left else ""


def run_object(path: Path, args: argparse.Namespace) -> int:
    if args.set or args.shape:
        raise UsageError("--set and --shape belong to kernel files; an object takes --grid, --block and --arg")
    if not args.grid or not args.block:
        raise UsageError("a code object needs --grid and --block")
    arguments = parse_arguments(args.arg, args.seed)
    grid, block = _numbers(args.grid, "--grid"), _numbers(args.block, "--block")
    if args.algebra:
        return run_object_in_algebra(path, args, arguments, grid, block)
    kernel = machine.load(path).kernel(args.kernel)
    result = kernel(
        grid,
        block,
        *(a.value for a in arguments),
        lds=args.lds,
        options=machine.Options(checks="all", progress=_progress if sys.stderr.isatty() else None),
    )
    if args.save:
        _save(Path(args.save), arguments)
    if args.json:
        found = [report.to_json() for report in result.reports]
        arrays = [_finite(_summary(a)) for a in arguments if isinstance(a.value, np.ndarray)]
        counts = {"workgroups": result.workgroups, "instructions": result.instructions}
        emit(ObjectRunAnswer, {"kernel": kernel.info.name, **counts, "reports": found, "arrays": arrays})
    else:
        print(f"{kernel.info.name}: {result.workgroups} workgroups, {result.instructions} wave instructions")
        for argument in arguments:
            if isinstance(argument.value, np.ndarray):
                s = _summary(argument)
                print(f"  {argument.text}: min {s['min']:g} max {s['max']:g} mean {s['mean']:g} first {s['first']}")
        for report in result.reports:
            print(report)
    return GOOD if result.ok else WRONG


def _numbers(text: str, flag: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError as error:
        raise UsageError(f"{flag} takes one to three numbers, not {text!r}") from error


def _progress(done: int, total: int) -> None:
    print(f"\r{done}/{total} workgroups", end="" if done < total else "\n", file=sys.stderr, flush=True)


def _summary(argument: Argument) -> dict[str, Any]:
    values = np.asarray(argument.value).astype(np.float64)
    return {
        "argument": argument.text,
        "min": float(values.min()),
        "max": float(values.max()),
        "mean": float(values.mean()),
        "first": [float(v) for v in values.ravel()[:4]],
    }


def _finite(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary as JSON has it: what is not finite is a word."""
    plain = {name: json_number(value) if isinstance(value, float) else value for name, value in summary.items()}
    return {**plain, "first": [json_number(value) for value in summary["first"]]}


def _save(directory: Path, arguments: list[Argument]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for number, argument in enumerate(arguments):
        if isinstance(argument.value, np.ndarray):
            array = argument.value
            plain = array if array.dtype.kind in "fiub" else array.view(f"u{array.dtype.itemsize}")
            np.save(directory / f"arg{number}.npy", plain)
