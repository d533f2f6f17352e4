"""What a kernel computes: its `computes` line as a typed tree, and the value of that tree.

    C[m, n] = sum(A[m, k] * B[n, k], k)
    y[i, c] = sum(x[i + k, c] * w[k, c], k)                     shifted: outside of x there are zeros
    y[i] = sum(x[i + k], k, 4)                                  over a stated range, k = 0 .. 3
    out[b, d] = table[page[b], d]                               gathered
    Y[t, n] = Y[t, n] + sum(where(token[r] == t, V[r, n], 0), r)        added where an index says
    Y[m, n] = X[m, n] / max(abs(X[m, j]), j); s[m] = max(abs(X[m, n]), n)       two results

A free index (m, n) is an axis of the result, a bound one (k) is reduced over.

    text ──reader──▶ Specification ──evaluation──▶ values in float64, each with an error bound
                        │    ▲
                        │    └── printer: back to text, the same tree again
                        └──▶ checker, judge, floor, comparison: they match the tree (`tree`, `walk`)

The text is parsed once, when the kernel is read; the kernel holds the tree. What has no type or names what is not there
is a `SpecError` then, never later. Functions are rows of one table (`functions`).

Cannot say: recurrences; anything whose intermediates do not fit in memory (sums of products go through einsum and need
none).
"""

from argus.spec.arguments import SpecArguments, TensorArgument, of_arrays
from argus.spec.errors import SpecError
from argus.spec.evaluation import evaluate
from argus.spec.printer import spec_text
from argus.spec.reader import read_specification
from argus.spec.tree import ResultSpec, Specification
from argus.spec.values import Bounded, stored

__all__ = [
    "Bounded",
    "ResultSpec",
    "SpecArguments",
    "SpecError",
    "Specification",
    "TensorArgument",
    "evaluate",
    "of_arrays",
    "read_specification",
    "spec_text",
    "stored",
]
