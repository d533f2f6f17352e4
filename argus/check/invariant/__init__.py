"""Loop invariants: candidates, and their proof by induction."""
