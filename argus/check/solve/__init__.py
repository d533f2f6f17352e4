"""Decision procedures: elimination, reuse of models, Z3."""
