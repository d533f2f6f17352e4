"""What experience says about techniques: a table of outcomes, drawn from by Thompson sampling.

    key     (family, bottleneck, technique)
    row     tries, wins, sum of log2 speed-ups, violations

A draw is Beta(1 + wins, 1 + losses) times the expected gain, which starts at the knowledge base's figure and moves to
the observed mean. Where a key has no experience, the same technique under other bottlenecks of the family lends a part
of its own. All randomness comes from the caller's dice, so a run is a function of its seed. The table is a JSON file
that one run leaves and the next starts from (`--policy FILE`, `argus.agent.policy_file`); `lessons` is the same in
words (`argus.agent.lessons`). Beside it stand the ways to the best kernels (`argus.agent.remembered_chain`). The reward
of an attempt is not used here: docs/decisions.md says why.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from argus.agent.remembered_chain import RememberedChain, kept

VERSION = 1
PRIOR_TRIES = 2.0
LENT = 0.3
WIN = 0.01

Key = tuple[str, str, str]


class PolicyError(ValueError):
    """A policy file cannot be read."""


@dataclass(slots=True)
class PolicyRow:
    """Outcomes of one key."""

    tries: float = 0.0
    wins: float = 0.0
    gain: float = 0.0
    violations: float = 0.0


@dataclass(slots=True)
class PolicyTable:
    """The table; `updates` counts outcomes over all `runs`, `chains` are the ways to the best kernels, `notes` is what
    a person adds."""

    rows: dict[Key, PolicyRow] = field(default_factory=dict)
    updates: int = 0
    runs: list[str] = field(default_factory=list)
    notes: str = ""
    chains: list[RememberedChain] = field(default_factory=list)

    def chains_of(self, family: str) -> list[RememberedChain]:
        """Those of a family, the one that gained most first."""
        return [chain for chain in kept(self.chains) if chain.family == family]

    def learn(self, key: Key, gain: float | None, violations: int) -> None:
        """One outcome: the log2 speed-up over the parent, or None for a candidate that did not pass."""
        row = self.rows.setdefault(key, PolicyRow())
        row.tries += 1
        row.violations += min(1, violations)
        if gain is not None:
            row.gain += gain
            row.wins += gain > WIN
        self.updates += 1

    def draw(self, key: Key, prior: float, dice: random.Random) -> float:
        """A sample of what trying this would bring."""
        row = self._experience(key)
        chance = dice.betavariate(1 + row.wins, 1 + row.tries - row.wins)
        expected = (PRIOR_TRIES * prior + row.gain) / (PRIOR_TRIES + row.tries)
        return chance * max(expected, 0.02)

    def _experience(self, key: Key) -> PolicyRow:
        own = self.rows.get(key, PolicyRow())
        others = [r for k, r in self.rows.items() if k[0] == key[0] and k[2] == key[2] and k != key]
        return PolicyRow(
            own.tries + LENT * sum(r.tries for r in others),
            own.wins + LENT * sum(r.wins for r in others),
            own.gain + LENT * sum(r.gain for r in others),
            own.violations + LENT * sum(r.violations for r in others),
        )

    def to_json(self) -> dict[str, object]:
        rows = [{"key": list(key), **asdict(row)} for key, row in sorted(self.rows.items())]
        return {
            "version": VERSION,
            "updates": self.updates,
            "rows": rows,
            "runs": list(self.runs),
            "notes": self.notes,
            "chains": [chain.to_json() for chain in self.chains],
        }

    @staticmethod
    def from_json(data: object, where: str = "policy") -> PolicyTable:
        if not isinstance(data, dict) or data.get("version") != VERSION or not isinstance(data.get("rows"), list):
            raise PolicyError(f"{where}: not a policy of version {VERSION}")
        try:
            runs = [str(run) for run in data.get("runs", [])]
            found = PolicyTable(updates=int(data.get("updates", 0)), runs=runs, notes=str(data.get("notes", "")))
            for item in data["rows"]:
                family, bottleneck, technique = (str(part) for part in item["key"])
                numbers = {name: float(item[name]) for name in ("tries", "wins", "gain", "violations")}
                found.rows[family, bottleneck, technique] = PolicyRow(**numbers)
            found.chains = kept(RememberedChain.from_json(item) for item in data.get("chains", []))
        except (KeyError, TypeError, ValueError) as error:
            raise PolicyError(f"{where}: a row is not readable: {error}") from error
        return found

    def lessons(self, family: str = "", most: int = 12) -> str:
        """The table in words, of one family or of all, and the ways to the best kernels."""
        ways = [chain.text() for chain in kept(self.chains) if family in ("", chain.family)]
        return "\n".join([*self.rows_in_words(family, most), *ways])

    def rows_in_words(self, family: str = "", most: int = 12) -> list[str]:
        """The rows of one family or of all, the most telling ones first."""
        rows = [item for item in self.rows.items() if family in ("", item[0][0])]
        ranked = sorted(rows, key=lambda item: (-abs(item[1].gain), item[0]))
        lines = []
        for (family, bottleneck, technique), row in ranked[:most]:
            mean = row.gain / row.tries if row.tries else 0.0
            wrong = f", wrong {row.violations:g}" if row.violations else ""
            lines.append(
                f"{family}, bottleneck {bottleneck}: {technique}: tries {row.tries:g}, gains {row.wins:g}, "
                f"{2**mean:.2f}x on average{wrong}"
            )
        return lines


def merged(policies: Iterable[PolicyTable]) -> PolicyTable:
    """Experience of several runs as one."""
    found = PolicyTable()
    for policy in policies:
        found.updates += policy.updates
        found.runs += [run for run in policy.runs if run not in found.runs]
        found.chains = kept([*found.chains, *policy.chains])
        if policy.notes not in found.notes:
            found.notes = f"{found.notes}\n\n{policy.notes}".strip()
        for key, row in policy.rows.items():
            mine = found.rows.setdefault(key, PolicyRow())
            for name in ("tries", "wins", "gain", "violations"):
                setattr(mine, name, getattr(mine, name) + getattr(row, name))
    return found
