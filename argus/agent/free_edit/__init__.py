"""Edits of a kernel file that no typed transformation makes: a model's, or a person's."""
