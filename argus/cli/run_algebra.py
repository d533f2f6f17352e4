"""`argus run FILE --algebra`: the object's values in exact algebra against its specification, without a tolerance.
`argus run OBJECT --algebra --computes "y[m, n] = …" --names x,y,N …`: anybody's object against a specification of its
arguments. `argus run OBJECT --algebra --against OTHER …`: two objects on the same arguments.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from argus import machine
from argus.cli.answers import AlgebraAnswer, emit
from argus.cli.gate import admitted_launch, refuse_large
from argus.cli.object_args import Argument
from argus.cli.usage import GOOD, UNKNOWN, WRONG, UsageError
from argus.compile.cache import compile_cached
from argus.spec import of_arrays, read_specification
from argus.tasks.algebra import AlgebraComparison, compare_kernel, compare_objects, compare_specified
from argus.tasks.inputs import make_arrays, make_scalars


def run_file_in_algebra(args: argparse.Namespace) -> int:
    """A kernel against its specification."""
    if args.against or args.computes:
        raise UsageError(
            "--against and --computes belong to objects; a kernel file is compared with its own specification"
        )
    program, launch, _ = admitted_launch(args)
    kernel = program.kernel
    if kernel.computes is None:
        raise UsageError(f"{kernel.name} states no specification (computes=…); there is nothing to compare with")
    refuse_large(kernel, launch)
    arrays, scalars = make_arrays(kernel, launch, args.seed), make_scalars(kernel, args.seed)
    found = compare_kernel(kernel, compile_cached(program).object, launch, arrays, scalars)
    return _answer(kernel.name, found, args, {"shape": dict(launch)})


def run_object_in_algebra(
    path: Path, args: argparse.Namespace, arguments: list[Argument], grid: tuple[int, ...], block: tuple[int, ...]
) -> int:
    """An object against a specification, or against another."""
    if bool(args.against) == bool(args.computes):
        raise UsageError("an object states no specification: give --computes and --names, or --against OBJECT")
    values = [a.value for a in arguments]
    places = [k for k, value in enumerate(values) if isinstance(value, np.ndarray)]
    arrays = [np.ascontiguousarray(values[k]) for k in places]

    def launch(file: Path) -> Any:
        kernel = machine.load(file).kernel(args.kernel)

        def run(given: Sequence[Any], options: machine.Options) -> object:
            passed = list(values)
            for k, array in zip(places, given, strict=True):
                passed[k] = array
            return kernel(grid, block, *passed, lds=args.lds, options=options)

        return run

    if args.against:
        names = [arguments[k].text for k in places]
        found = compare_objects(launch(path), launch(Path(args.against)), names, arrays)
        return _answer(path.name, found, args, {"against": args.against})
    names = [name.strip() for name in args.names.split(",")]
    if len(names) != len(values):
        raise UsageError(f"--names gives {len(names)} names for {len(values)} arguments")
    tensors = dict(zip((names[k] for k in places), arrays, strict=True))
    symbols = {name: _symbol(v) for name, v in zip(names, values, strict=True) if isinstance(v, np.number)}
    spec = read_specification(args.computes, of_arrays(tensors, symbols))
    found = compare_specified(launch(path), spec, tensors, symbols)
    return _answer(path.name, found, args, {"computes": args.computes})


def _symbol(value: np.number[Any]) -> float:
    return int(value) if isinstance(value, np.integer) else float(value)


def _answer(name: str, found: list[AlgebraComparison], args: argparse.Namespace, more: dict[str, object]) -> int:
    if args.json:
        emit(AlgebraAnswer, {"kernel": name, **more, "algebra": [c.to_json() for c in found]})
    elif found:
        print("\n".join(f"{name} {comparison}" for comparison in found))
    else:
        print("neither object changed an array")
    if any(c.verdict == "different" for c in found):
        return WRONG
    return GOOD if found and all(c.verdict == "equal" for c in found) else UNKNOWN
