"""Certificates as JSON data and back.

    data = to_data(certificate)          numbers, words, lists and dictionaries only
    again = from_data(data)              the same content; raises CertificateError

Expressions are a table of nodes, built anew by the constructors that simplify and bound them, so no bound is taken from
the data but those of variables and of loaded data, which the proof checks (`Vocabulary`). Arrays are compressed, masks
are hexadecimal, coefficients are whole numbers, or floats written exactly. Whatever does not have the expected shape is
refused.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from argus.check.certificate import (
    AccessClaim,
    Certificate,
    CertificateError,
    LoopClaim,
    LoopPath,
    Poly,
    RecordContent,
    SlotCase,
)
from argus.check.domain.records import Record
from argus.check.domain.reduction_footprint import FootprintPart, Over, ReducedFootprint
from argus.check.solve.lemmas import Lemma, Method
from argus.check.terms.atoms import Apply, Atom, Carried, Coordinate, Leaf, Number, Power, Reduce, Where
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError
from argus.layout.node import BUILDERS

VERSION = 2
MAX_NODES = 200_000
MAX_ELEMENTS = 1 << 24
MAX_BITS = 1 << 17
LARGEST = 1 << 62
T = TypeVar("T")
Json = Any


def to_data(certificate: Certificate) -> dict[str, Json]:
    """The certificate as JSON data."""
    return _Encoder().certificate(certificate)


def from_data(data: Json) -> Certificate:
    """The certificate that the data describes. Raises CertificateError."""
    try:
        return _Decoder(data).certificate()
    except CertificateError:
        raise
    except (ExprError, KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError, zlib.error) as error:
        raise CertificateError(f"no certificate: {error}") from None


class _Encoder:
    def __init__(self) -> None:
        self.nodes: list[Json] = []
        self.known: dict[Expr, int] = {}

    def certificate(self, one: Certificate) -> dict[str, Json]:
        made = {
            "version": VERSION,
            "terms": [self.poly(poly) for poly in one.terms],
            "atoms": [self.atom(atom) for atom in one.atoms],
            "records": [self.record(record) for record in one.records],
            "claims": [self.claim(path, claim) for path, claim in one.claims.items()],
            "lemmas": {name: [lemma.how, *lemma.needed] for name, lemma in one.lemmas.items()},
        }
        return {**made, "nodes": self.nodes}

    def expr(self, e: Expr) -> int:
        for node in E.postorder(e):
            if node not in self.known:
                args = [self.known[arg] for arg in node.args]
                leaf = node.op in ("var", "apply")
                bounds = [node.lo, node.hi] if leaf else []
                self.known[node] = len(self.nodes)
                value = str(node.value) if node.op == "const" else node.name
                self.nodes.append([node.op, args, value, bounds, node.boolean if node.op == "const" else False])
        return self.known[e]

    def exprs(self, many: tuple[Expr, ...]) -> list[int]:
        return [self.expr(e) for e in many]

    def poly(self, poly: Poly) -> Json:
        return [[[list(pair) for pair in factors], exponent, _coefficient(c)] for (factors, exponent), c in poly]

    def atom(self, atom: Atom) -> Json:
        match atom:
            case Leaf():
                return ["leaf", atom.tensor, list(atom.axes), self.exprs(atom.at)]
            case Number(name=Expr() as e):
                return ["expression", self.expr(e)]
            case Number(name=str() as name):
                return ["scalar", name]
            case Coordinate():
                return ["coordinate", atom.axis]
            case Apply():
                return ["apply", atom.fn, list(atom.args)]
            case Power():
                return ["power", atom.base]
            case Where():
                return ["where", self.expr(atom.condition), atom.yes, atom.no]
            case Reduce():
                domain = None if atom.domain is None else self.expr(atom.domain)
                return ["reduce", atom.op, atom.axis, atom.body, self.footprint(atom.footprint), domain]
            case Carried():
                assert atom.counter is not None
                counter = self.expr(atom.counter)
                return ["carried", atom.loop, atom.slot, counter, list(atom.axes), self.exprs(atom.around), atom.kind]
        raise CertificateError("an atom that cannot be written")

    def footprint(self, items: ReducedFootprint) -> Json:
        return [
            ["part", self.expr(item.rest), item.low, f"{item.mask:x}"]
            if isinstance(item, FootprintPart)
            else ["over", *self.exprs((item.var, item.lo, item.hi)), item.step, self.footprint(item.items)]
            for item in items
        ]

    def record(self, content: RecordContent) -> Json:
        one = content.record
        return {
            "kind": one.kind,
            "label": one.label,
            "rests": [[r] if isinstance(r, int) else self.expr(r) for r in content.rests],
            "part": list(one.part),
            "statistics": sorted(one.statistics),
            "why": one.why,
            "op": one.op,
            "term": one.term,
            "expr": None if one.expr is None else self.expr(one.expr),
        }

    def claim(self, path: LoopPath, claim: LoopClaim) -> Json:
        op, around, facts, active = path
        return {
            "path": [op, self.exprs(around), self.exprs(facts), _packed(np.frombuffer(active, dtype=np.uint8))],
            "period": claim.period,
            "never": sorted(claim.never),
            "settled": sorted(claim.settled),
            "slots": [[self.case(case) for case in cases] for cases in claim.slots],
            "live": [self.access(one) for one in claim.live],
            "pending": [list(one) for one in claim.pending],
            "unordered": [list(one) for one in claim.unordered],
        }

    def case(self, case: SlotCase) -> Json:
        return [self.expr(case.guard), _packed(case.record), _packed(case.offset), _packed(case.site)]

    def access(self, one: AccessClaim) -> Json:
        return {
            "op": one.op,
            "rest": self.expr(one.rest),
            "start": one.start,
            "waves": _packed(one.waves),
            "younger": one.younger,
            "retired": one.retired,
            "facts": self.exprs(one.facts),
            "loops": [self.exprs(pair) for pair in one.loops],
            "passed": one.passed,
            "lags": list(one.lags),
        }


class _Decoder:
    def __init__(self, data: Json) -> None:
        self.data = _mapping(data)
        if self.data.get("version") != VERSION:
            raise CertificateError("a certificate of another version")
        self.nodes: list[Expr] = []
        for node in _list(self.data["nodes"], MAX_NODES):
            self.nodes.append(self.node(node))

    def node(self, node: Json) -> Expr:
        op, args, value, bounds, boolean = _row(node, 5)
        inner = [self.expr(arg) for arg in _list(args)]
        match op:
            case "const":
                number = int(_word(value))
                if boolean is True:
                    return E.TRUE if number else E.FALSE
                return E.const(number)
            case "var":
                return E.var(_word(value), *(_optional(b) for b in _row(bounds, 2)))
            case "apply":
                low, high = (_optional(b) for b in _row(bounds, 2))
                return E.apply(_word(value), *inner, lo=low, hi=high)
        if op not in BUILDERS:
            raise CertificateError(f"there is no operator {op!r}")
        return BUILDERS[op](*inner)

    def expr(self, number: Json) -> Expr:
        place = _integer(number)
        if not 0 <= place < len(self.nodes):
            raise CertificateError("an expression that is not there")
        return self.nodes[place]

    def exprs(self, numbers: Json) -> tuple[Expr, ...]:
        return tuple(self.expr(n) for n in _list(numbers))

    def certificate(self) -> Certificate:
        claims: dict[LoopPath, LoopClaim] = {}
        for one in _list(self.data["claims"]):
            path, claim = self.claim(_mapping(one))
            claims[path] = claim
        return Certificate(
            claims,
            [self.record(_mapping(one)) for one in _list(self.data["records"])],
            [self.poly(one) for one in _list(self.data["terms"])],
            [self.atom(_list(one)) for one in _list(self.data["atoms"])],
            {_word(name): self.lemma(one) for name, one in _mapping(self.data["lemmas"]).items()},
        )

    def lemma(self, data: Json) -> Lemma:
        how, *needed = _list(data)
        if how not in get_args(Method):
            raise CertificateError(f"there is no method {how!r}")
        return Lemma(_integers(needed), how)

    def poly(self, data: Json) -> Poly:
        made = []
        for one in _list(data):
            factors, exponent, c = _row(one, 3)
            pairs = tuple((_integer(n), _integer(twice)) for n, twice in (_row(pair, 2) for pair in _list(factors)))
            made.append(
                (
                    (pairs, _integer(exponent)),
                    c if isinstance(c, int) and not isinstance(c, bool) else float.fromhex(_word(c)),
                )
            )
        return tuple(made)

    def atom(self, data: list[Json]) -> Atom:
        match data:
            case ["leaf", tensor, axes, at]:
                return Leaf(_word(tensor), _integers(axes), self.exprs(at))
            case ["expression", e]:
                return Number(self.expr(e))
            case ["scalar", name]:
                return Number(_word(name))
            case ["coordinate", axis]:
                return Coordinate(_integer(axis))
            case ["apply", fn, args]:
                return Apply(_word(fn), _integers(args))
            case ["power", base]:
                return Power(_integer(base))
            case ["where", condition, yes, no]:
                return Where(_boolean(self.expr(condition)), _integer(yes), _integer(no))
            case ["reduce", ("sum" | "prod" | "max" | "min") as op, axis, body, footprint, domain]:
                where = None if domain is None else _boolean(self.expr(domain))
                return Reduce(op, _integer(axis), _integer(body), self.footprint(footprint), where)
            case ["carried", loop, slot, counter, axes, around, ("top" | "positive" | "any") as kind]:
                place = _integers(axes), self.exprs(around)
                return Carried(_integer(loop), _integer(slot), self.expr(counter), *place, kind)
        raise CertificateError("an atom that there is not")

    def footprint(self, data: Json) -> ReducedFootprint:
        made: list[FootprintPart | Over] = []
        for one in _list(data):
            match one:
                case ["part", rest, low, mask]:
                    bits = _word(mask, MAX_BITS // 4)
                    if not bits or not int(bits, 16) & 1:
                        raise CertificateError("a part without coordinates, or with too many")
                    made.append(FootprintPart(self.expr(rest), _integer(low), int(bits, 16)))
                case ["over", v, lo, hi, step, items]:
                    made.append(Over(*self.range(v, lo, hi, step), self.footprint(items)))
                case _:
                    raise CertificateError("coordinates that there are not")
        return tuple(made)

    def range(self, v: Json, lo: Json, hi: Json, step: Json) -> tuple[Expr, Expr, Expr, int]:
        variable = self.expr(v)
        if variable.op != "var" or _integer(step) < 1:
            raise CertificateError("a range without a variable")
        return variable, self.expr(lo), self.expr(hi), _integer(step)

    def record(self, data: Mapping[str, Json]) -> RecordContent:
        kind = data["kind"]
        if kind not in ("element", "value", "plain", "zero", "unwritten", "lost"):
            raise CertificateError(f"there is no record of the kind {kind!r}")
        rests = tuple(_integer(_row(r, 1)[0]) if isinstance(r, list) else self.expr(r) for r in _list(data["rests"]))
        part = _integers(data["part"])
        if len(part) != 2:
            raise CertificateError("a part of an element that there is not")
        one = Record(
            kind, _word(data["label"]), (), (part[0], part[1]), frozenset(_integers(data["statistics"])),
            _word(data["why"]), _integer(data["op"]), _integer(data["term"]),
            None if data["expr"] is None else self.expr(data["expr"]),
        )  # fmt: skip
        return RecordContent(one, rests)

    def claim(self, data: Mapping[str, Json]) -> tuple[LoopPath, LoopClaim]:
        op, around, facts, active = _row(data["path"], 4)
        path = _integer(op), self.exprs(around), self.exprs(facts), _unpacked(active, np.uint8).tobytes()
        claim = LoopClaim(
            _integer(data["period"]),
            tuple(tuple(self.case(case) for case in _list(cases)) for cases in _list(data["slots"])),
            frozenset(_integers(data["never"])),
            frozenset(_integers(data["settled"])),
            tuple(self.access(_mapping(one)) for one in _list(data["live"])),
            tuple((_integer(v), _word(c), _integer(n)) for v, c, n in (_row(r, 3) for r in _list(data["pending"]))),
            tuple((_word(b), _word(why)) for b, why in (_row(r, 2) for r in _list(data["unordered"]))),
        )
        return path, claim

    def case(self, data: Json) -> SlotCase:
        guard, record, offset, site = _row(data, 4)
        arrays = _unpacked(record, np.int32), _unpacked(offset, np.int32), _unpacked(site, np.int64)
        return SlotCase(_boolean(self.expr(guard)), *arrays)

    def access(self, data: Mapping[str, Json]) -> AccessClaim:
        loops = tuple((self.expr(v), self.expr(e)) for v, e in (_row(pair, 2) for pair in _list(data["loops"])))
        return AccessClaim(
            _integer(data["op"]), self.expr(data["rest"]), _integer(data["start"]),
            _unpacked(data["waves"], np.uint32), _integer(data["younger"]), data["retired"] is True,
            self.exprs(data["facts"]), loops, _integer(data["passed"]), _integers(data["lags"]),
        )  # fmt: skip


# -- plain values ------------------------------------------------------------------------------------------------------


def _packed(array: NDArray[Any]) -> Json:
    shape, data = list(array.shape), np.ascontiguousarray(array)
    if data.size and (data == data.flat[0]).all():
        return [shape, int(data.flat[0])]
    return [shape, base64.b85encode(zlib.compress(data.tobytes(), 1)).decode()]


def _unpacked(data: Json, dtype: type[np.generic]) -> NDArray[Any]:
    shape, content = _row(data, 2)
    wanted = _integers(shape)
    count = 1
    for extent in wanted:
        count *= extent
    if any(extent < 0 for extent in wanted) or count > MAX_ELEMENTS:
        raise CertificateError("an array that is too large")
    if type(content) is int:
        limits = np.iinfo(np.dtype(dtype))
        if not limits.min <= content <= limits.max:
            raise CertificateError("a number that is too large")
        return np.full(wanted, content, dtype=dtype)
    size = count * np.dtype(dtype).itemsize
    raw = zlib.decompressobj().decompress(base64.b85decode(_word(content, 1 << 28)), size + 1)
    if len(raw) != size:
        raise CertificateError("an array of another size")
    return np.frombuffer(raw, dtype=dtype).reshape(wanted)


def _checked(data: Json, right: Callable[[Json], bool], what: str) -> Json:
    if not right(data):
        raise CertificateError(f"{what} was expected")
    return data


def _mapping(data: Json) -> Mapping[str, Json]:
    made: Mapping[str, Json] = _checked(data, lambda d: type(d) is dict, "a mapping")
    return made


def _list(data: Json, most: int = MAX_NODES) -> list[Json]:
    made: list[Json] = _checked(data, lambda d: type(d) is list and len(d) <= most, "a list")
    return made


def _row(data: Json, length: int) -> list[Json]:
    made: list[Json] = _checked(data, lambda d: type(d) is list and len(d) == length, f"a list of {length}")
    return made


def _word(data: Json, most: int = 4096) -> str:
    made: str = _checked(data, lambda d: type(d) is str and len(d) <= most, "a word")
    return made


def _coefficient(c: float) -> Json:
    return c if isinstance(c, int) else float(c).hex()


def _integer(data: Json) -> int:
    made: int = _checked(data, lambda d: type(d) is int and abs(d) < LARGEST, "a number")
    return made


def _integers(data: Json) -> tuple[int, ...]:
    return tuple(_integer(n) for n in _list(data))


def _optional(data: Json) -> int | None:
    return None if data is None else _integer(data)


def _boolean(e: Expr) -> Expr:
    if not e.boolean:
        raise CertificateError("a condition was expected")
    return e
