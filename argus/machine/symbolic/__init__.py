"""Machine code over symbols: the semantic table of `argus.machine.semantics` with words that are formulas.

| module | what |
|---|---|
| `sums` | words as polynomials with one coefficient per thread; atoms; bounds |
| `bit_fields` | fields, shifts, and, or, exclusive or |
| `comparisons` | comparisons, choices, minimum |
| `lanes` | what a wave agrees on, single lanes, lane masks as numbers |
| `words` | 64-bit words: halves, pairs with carry |
| `cases` | words under a condition; words that are never different from 0 at once |
| `bit_vectors` | words as formulas of Z3, the thread a variable |
| `symbolic_backend` | the `IntBuilder` of the semantic table over them |
| `evaluation` | the value of a word for given symbols, for every thread |
"""
