"""Machine code over symbols: the semantic table of `argus.machine.semantics` with words that are formulas.

| module | what |
|---|---|
| `sums` | words as polynomials with one coefficient per thread; atoms; bounds |
| `words` | functions of words that are not polynomials: bit fields, comparisons, halves |
| `symbolic_backend` | the `IntBuilder` of the semantic table over them |
| `evaluation` | the value of a word for given symbols, for every thread |
"""
