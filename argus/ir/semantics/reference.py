"""The page docs/semantics.md, made from the rules.

python -m argus.ir.semantics.reference        prints it; a test holds that the page is this
"""

from __future__ import annotations

from argus.ir.semantics import RULES, VERSION, SemanticRule

HEAD = f"""# What a kernel means

Version {VERSION} of the semantics (`argus/ir/semantics`). This page is made from its table of rules:
`python -m argus.ir.semantics.reference`.

A kernel is the program of every thread of the grid. Its meaning is the *set* of executions that these rules allow,
and *proved* speaks of all of them. Checker, interpreter, compiler and the audit of the object read the same rules.
Where the chip is documented, the set is small. Where it is not, or where two sources disagree, the set holds both
behaviors, and a right kernel depends on neither.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(rule) for rule in RULES)])


def _section(rule: SemanticRule) -> str:
    lines = [f"## {rule.name}", "", rule.says, ""]
    if rule.behaviors:
        lines += ["Possible behaviors, a proof holds under each:", "", *(f"* {one}" for one in rule.behaviors), ""]
    lines += [f"Source: {rule.source}.", "", f"Where: `{rule.where}`.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
