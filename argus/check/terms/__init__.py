"""Terms: what an element is, as a formula over inputs, and when two formulas are equal."""
