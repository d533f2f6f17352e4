"""Transfer functions: what each op does to the abstract state."""
