"""Mistakes in the `computes` line of a kernel (AG217 to AG221), one code per kind of `argus.spec.errors`."""

from __future__ import annotations

ROWS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "AG217",
        "specification-form",
        "the specification is not index notation: {problem}",
        "write assignments over the kernel's arguments, such as C[m, n] = sum(A[m, k] * B[n, k], k)",
        "`computes` holds one assignment per result, separated by `;`. On the left stands a tensor with an index per "
        "axis; on the right numbers, sizes, scalar arguments, indices, elements of tensors, `+ - * / // %`, "
        "comparisons, `and or not`, `where`, reductions and elementwise functions. It is read, never executed.",
    ),
    (
        "AG218",
        "specification-name",
        "the specification cannot be resolved: {problem}",
        "name tensors with one index per axis, indices of the result or of a reduction around, sizes and scalar "
        "arguments; docs/language.md lists the functions",
        "Every name in `computes` is resolved when the kernel is read: a tensor argument with the number of indices it "
        "has axes, an index, a size, a scalar argument or a known function with its number of arguments. The left "
        "side is a tensor that the kernel writes, the right side reads tensors that the kernel reads.",
    ),
    (
        "AG219",
        "specification-type",
        "the specification has no type: {problem}",
        "conditions stand in where(…, x, y); indices, // and % take whole numbers",
        "A part of a specification is a whole number (indices, sizes, elements of integer tensors and what + - * // % "
        "make of them), any other number, or a condition. `where`, `and`, `or` and `not` take conditions, and nothing "
        "else does. Indices of tensors are whole numbers. `where(c, 1, 0)` makes a number of a condition, `x != 0` a "
        "condition of a number.",
    ),
    (
        "AG220",
        "specification-index",
        "the indices of the specification do not fit: {problem}",
        "every index of the result stands once on the left; a reduction over an index that "
        "no tensor has says how far it runs, as in sum(x[i + k], k, 4)",
        "An index of the result runs over the axis it stands at; where the right side does not name it, the result is "
        "the same along it. The index of a reduction runs as far as the tensors that have it as an index, which "
        "must agree, or over a stated range: the third argument. No index has the name of a size or of an argument.",
    ),
    (
        "AG221",
        "specification-too-large",
        "the specification is too large: {problem}",
        "use reductions instead of writing out their terms",
        "A specification is a line that a person reads. The limits on its length, depth and number of parts keep a "
        "mistake in the code that makes it from taking all time and memory.",
    ),
)
