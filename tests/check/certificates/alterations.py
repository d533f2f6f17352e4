"""Certificates altered at random: one field of one claim, or any leaf of the data. Seeded.

altered(data, seed)      ("offset moved", data with one offset array changed)
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from argus.check.certificate_json import _packed, _unpacked

Data = dict[str, Any]
Alteration = Callable[[Data, random.Random], bool]
"""Changes the data in place; False if there was nothing to change."""


def altered(data: Data, seed: int) -> tuple[str, Data]:
    """A copy with something changed, and what."""
    dice = random.Random(seed)
    while True:
        made = copy.deepcopy(data)
        name = dice.choice(list(ALTERATIONS))
        if ALTERATIONS[name](made, dice) and made != data:
            return name, made


def _claim(data: Data, dice: random.Random) -> Data | None:
    return dice.choice(data["claims"]) if data["claims"] else None


def _case(data: Data, dice: random.Random) -> list[Any] | None:
    claim = _claim(data, dice)
    slots = [cases for cases in claim["slots"] if cases] if claim else []
    return dice.choice(dice.choice(slots)) if slots else None


def _guard(data: Data, dice: random.Random) -> bool:
    case = _case(data, dice)
    if case is None:
        return False
    case[0] = dice.randrange(len(data["nodes"]))
    return True


def _cases(data: Data, dice: random.Random) -> bool:
    """An alternative is dropped, or stands twice with its guard left to the others."""
    claim = _claim(data, dice)
    slots = [cases for cases in claim["slots"] if len(cases) > 1] if claim else []
    if not slots:
        return False
    cases = dice.choice(slots)
    del cases[dice.randrange(len(cases))]
    return True


def _array(place: int, dtype: type[np.generic], change: Callable[[Any, Data, random.Random], Any]) -> Alteration:
    def alter(data: Data, dice: random.Random) -> bool:
        case = _case(data, dice)
        if case is None:
            return False
        array = _unpacked(case[place], dtype).copy()
        case[place] = _packed(change(array, data, dice))
        return True

    return alter


def _other_records(array: Any, data: Data, dice: random.Random) -> Any:
    array.flat[dice.randrange(array.size)] = dice.randrange(len(data["records"]))
    return array


def _all_other_records(array: Any, data: Data, dice: random.Random) -> Any:
    array[...] = dice.randrange(len(data["records"]))
    return array


def _one_offset(array: Any, data: Data, dice: random.Random) -> Any:
    array.flat[dice.randrange(array.size)] += dice.choice((-1, 1, 8, 64))
    return array


def _all_offsets(array: Any, data: Data, dice: random.Random) -> Any:
    array[..., dice.randrange(array.shape[-1])] += dice.choice((-1, 1, 16))
    return array


def _permuted(array: Any, data: Data, dice: random.Random) -> Any:
    flat = array.reshape(-1)
    return np.roll(flat, dice.choice((1, 2, 64))).reshape(array.shape)


def _period(data: Data, dice: random.Random) -> bool:
    claim = _claim(data, dice)
    if claim is None:
        return False
    claim["period"] = dice.choice((0, 1, 2, 3, 4, 6, 16, 17, -1, 2**40))
    return True


def _set(name: str) -> Alteration:
    def alter(data: Data, dice: random.Random) -> bool:
        claim = _claim(data, dice)
        if claim is None or not claim["slots"]:
            return False
        chosen = set(claim[name])
        chosen ^= {dice.randrange(len(claim["slots"]))}
        claim[name] = sorted(chosen)
        return True

    return alter


def _live(change: Callable[[list[Any], Data, random.Random], None]) -> Alteration:
    def alter(data: Data, dice: random.Random) -> bool:
        claims = [claim for claim in data["claims"] if claim["live"]]
        if not claims:
            return False
        change(dice.choice(claims)["live"], data, dice)
        return True

    return alter


def _drop(live: list[Any], data: Data, dice: random.Random) -> None:
    del live[dice.randrange(len(live))]


def _drop_all(live: list[Any], data: Data, dice: random.Random) -> None:
    live.clear()


def _retire(live: list[Any], data: Data, dice: random.Random) -> None:
    one = dice.choice(live)
    one["retired"] = not one["retired"]


def _age(live: list[Any], data: Data, dice: random.Random) -> None:
    dice.choice(live)["younger"] += dice.choice((1, 2, 8, 64))


def _pass(live: list[Any], data: Data, dice: random.Random) -> None:
    one = dice.choice(live)
    one["passed"], one["retired"], one["lags"] = dice.choice((1, 2, 99)), True, [0] * dice.choice((1, 2, 4))


def _facts(live: list[Any], data: Data, dice: random.Random) -> None:
    dice.choice(live)["facts"].append(dice.randrange(len(data["nodes"])))


def _waves(live: list[Any], data: Data, dice: random.Random) -> None:
    one = dice.choice(live)
    array = _unpacked(one["waves"], np.uint32).copy()
    array[dice.randrange(array.size)] = 0
    one["waves"] = _packed(array)


def _pending(data: Data, dice: random.Random) -> bool:
    claims = [claim for claim in data["claims"] if claim["pending"]]
    if not claims:
        return False
    claim = dice.choice(claims)
    if dice.random() < 0.5:
        del claim["pending"][dice.randrange(len(claim["pending"]))]
    else:
        dice.choice(claim["pending"])[2] += dice.choice((1, 4))
    return True


def _slots(data: Data, dice: random.Random) -> bool:
    """Two slots change places."""
    claim = _claim(data, dice)
    if claim is None or len(claim["slots"]) < 2:
        return False
    i, j = dice.sample(range(len(claim["slots"])), 2)
    claim["slots"][i], claim["slots"][j] = claim["slots"][j], claim["slots"][i]
    return True


def _without(data: Data, dice: random.Random) -> bool:
    if not data["claims"]:
        return False
    del data["claims"][dice.randrange(len(data["claims"]))]
    return True


def _bounds(data: Data, dice: random.Random) -> bool:
    """A variable, or loaded data, with other bounds: a proof that believed them would be about other launches."""
    leaves = [node for node in data["nodes"] if node[0] in ("var", "apply")]
    if not leaves:
        return False
    dice.choice(leaves)[3] = dice.choice(([0, 0], [0, 1], [5, 5], [None, None], [-3, 0]))
    return True


def _rename(data: Data, dice: random.Random) -> bool:
    leaves = [node for node in data["nodes"] if node[0] == "var"]
    if len(leaves) < 2:
        return False
    one, other = dice.sample(leaves, 2)
    one[2], one[3] = other[2], other[3]
    return True


def _kind(data: Data, dice: random.Random) -> bool:
    carried = [atom for atom in data["atoms"] if atom[0] == "carried"]
    if carried and dice.random() < 0.5:
        atom = dice.choice(carried)
        atom[6] = dice.choice(("top", "positive", "any"))
        return True
    if not data["records"]:
        return False
    record = dice.choice(data["records"])
    record["kind"] = dice.choice(("element", "value", "plain", "zero", "unwritten", "lost", "incoming", "nothing"))
    return True


def _leaf(data: Data, dice: random.Random) -> bool:
    """Any number, word or list of the data."""
    part: Any = data
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        if not keys:
            return False
        key = dice.choice(keys)
        if isinstance(part[key], dict | list) and part[key] and dice.random() < 0.9:
            part = part[key]
            continue
        part[key] = _something(part[key], dice)
        return True


def _something(value: Any, dice: random.Random) -> Any:
    others = [None, 0, 1, -1, 2**70, "x", "", [], {}, [1, [2]], 1.5, True]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        others += [value + 1, value - 1, value + 1, value - 1, -value, value * 2]
    if isinstance(value, str):
        others += [value + "0", value[::-1]]
    return dice.choice(others)


def _lemma(change: Callable[[list[Any], Data, random.Random], None]) -> Alteration:
    def alter(data: Data, dice: random.Random) -> bool:
        if not data["lemmas"]:
            return False
        change(data["lemmas"][dice.choice(sorted(data["lemmas"]))], data, dice)
        return True

    return alter


def _fewer_facts(lemma: list[Any], data: Data, dice: random.Random) -> None:
    lemma[1:] = [n for n in lemma[1:] if dice.random() < 0.5]


def _other_facts(lemma: list[Any], data: Data, dice: random.Random) -> None:
    lemma[1:] = [dice.randrange(-1, 20) for _ in range(dice.randrange(6))]


def _other_method(lemma: list[Any], data: Data, dice: random.Random) -> None:
    lemma[0] = dice.choice(("structural", "elimination", "cases", "digits", "Z3", "open"))


def _of_another_question(lemma: list[Any], data: Data, dice: random.Random) -> None:
    lemma[:] = data["lemmas"][dice.choice(sorted(data["lemmas"]))]


ALTERATIONS: dict[str, Alteration] = {
    "another guard": _guard,
    "an alternative dropped": _cases,
    "another record": _array(1, np.int32, _other_records),
    "another record everywhere": _array(1, np.int32, _all_other_records),
    "records moved": _array(1, np.int32, _permuted),
    "an offset changed": _array(2, np.int32, _one_offset),
    "offsets moved": _array(2, np.int32, _all_offsets),
    "offsets permuted": _array(2, np.int32, _permuted),
    "another period": _period,
    "never -inf": _set("never"),
    "settled": _set("settled"),
    "a live access dropped": _live(_drop),
    "all live accesses dropped": _live(_drop_all),
    "a live access retired": _live(_retire),
    "a live access aged": _live(_age),
    "a live access passed": _live(_pass),
    "facts of a live access": _live(_facts),
    "waves of a live access": _live(_waves),
    "a pending register": _pending,
    "slots exchanged": _slots,
    "a claim dropped": _without,
    "other bounds": _bounds,
    "a variable renamed": _rename,
    "another kind": _kind,
    "a lemma with fewer facts": _lemma(_fewer_facts),
    "a lemma with other facts": _lemma(_other_facts),
    "a lemma by another method": _lemma(_other_method),
    "a lemma of another question": _lemma(_of_another_question),
    "any leaf": _leaf,
}
