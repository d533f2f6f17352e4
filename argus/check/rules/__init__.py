"""The rules: what each obligation means and how it is discharged."""
