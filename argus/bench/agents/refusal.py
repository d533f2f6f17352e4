"""Why a solution takes no part in a comparison: the reason is said beside its name, and it is nobody's win."""


class SolutionRefused(ValueError):
    """A solution that cannot be found, taken out of its file, compiled, launched or judged."""
