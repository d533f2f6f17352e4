"""Counterexamples and proofs for people: search, replay, text, pictures."""
