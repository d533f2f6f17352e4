"""Machine code over symbols: the semantic table of `argus.machine.semantics` with words that are formulas.

| module | what |
|---|---|
| `sums` | words as polynomials with one coefficient per thread; atoms; bounds |
| `bit_fields` | fields, shifts, and, or, exclusive or |
| `comparisons` | comparisons, choices, minimum, what a wave agrees on |
| `words` | 64-bit words: halves, pairs with carry |
| `symbolic_backend` | the `IntBuilder` of the semantic table over them |
| `evaluation` | the value of a word for given symbols, for every thread |
"""
