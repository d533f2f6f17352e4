"""Concretisation: what the checker's walk claims about registers and LDS, held against an execution.

    python -m bench.concretisation [--generated 300]

The walk over a kernel says, for every register element and LDS granule, which tensor element it is, that it is zero, a
constant, an index, or a term over inputs. The IR interpreter runs the kernel; at every op each claim is evaluated with
the run's sizes, block, loop counters and inputs, and compared with the value that is there. 0 differences are wanted.

    hook.py       the only file that knows the walk's and the interpreter's insides
    claims.py     the value of a tag: coordinates, terms
    compare.py    one kernel, one launch: claims held, claims that could not be evaluated, differences

Not claims: `lost`, `unwritten`, and what an invariant names without saying it (`Carried`). Terms are over real numbers:
they are compared within the rounding of the narrowest type of the kernel.
"""
