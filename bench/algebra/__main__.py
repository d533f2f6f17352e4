"""See `bench.algebra`."""

from __future__ import annotations

import argparse

from bench.algebra import mutation, subjects


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.algebra")
    parser.add_argument("what", choices=("mutants", "library", "triton"))
    parser.add_argument("--count", type=int, default=200, help="mutants to judge")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.what == "mutants":
        tally = mutation.run(args.count, args.seed)
        found = sum(tally.found.values())
        print(f"found {found} of {tally.total} mutants inside the tolerance: {dict(tally.found)}")
        for line in tally.missed:
            print(f"  missed: {line}")
        return 0
    return subjects.run_library() if args.what == "library" else subjects.run_triton()


if __name__ == "__main__":
    raise SystemExit(main())
