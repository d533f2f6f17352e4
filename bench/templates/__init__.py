"""The operator templates of the library: parameter sets, float64 references, and the command that runs them all."""
