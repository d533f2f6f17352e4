"""What kernels compute, against what they say: right ones are proved, wrong variants never are.

Every wrong variant changes one place of a right kernel in a way that changes its result for some launch and some input
(too few elements in a sum, a mask at the wrong edge, a factor, an accumulator that is not rescaled, ...).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import Report, check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNELS = Path(__file__).parent / "kernels"
LISTING = Path(__file__).parents[2] / "lang" / "programs" / "attention.py"
SETTINGS = {"attention": {"causal": True}}
RIGHT = ["vectors", "softmax", "rmsnorm", "layernorm", "block_rmsnorm", "long_rows", "lane_rows", "attention"]

WRONG = {
    "vectors": {
        "the same operand twice": ("p + q * a", "p + p * a"),
        "an operand is missing": ("p + q * a", "p + q"),
        "twice": ("p + q * a", "p + q * a + q * a"),
        "a constant": ("p + q * a", "p + q * a + 1.0"),
        "difference": ("p + q * a", "p - q * a"),
    },
    "softmax": {
        "padding is not masked": ("ag.where(x.n < N, x * LOG2E, -inf)", "x * LOG2E"),
        "mask at the wrong edge": ("x.n < N, x *", "x.n <= N, x *"),
        "mask loses the last columns": ("x.n < N, x *", "x.n < N - 4, x *"),
        "base two": ("x * LOG2E", "x * 1.0"),
        "not divided": ("e / e.sum", "e * e.sum"),
        "sum of half a row": ('e.sum("n")', 'e[0].sum("n")'),
        "maximum of half a row": ('x.max("n")', 'x[0].max("n")'),
    },
    "rmsnorm": {
        "sum instead of squares": ("x * x", "x"),
        "wrong mean": ("1.0 / D", "2.0 / D"),
        "no weight": (" * W.load(ROW, width=16).to(f32)", ""),
        "no epsilon": ("mean + eps", "mean"),
        "root instead of its inverse": ("ag.rsqrt(mean", "ag.sqrt(mean"),
    },
    "layernorm": {
        "uncentred variance": ("c * c", "x * x"),
        "bias is missing": (" + B.load(ROW, width=16)", ""),
        "weight and bias exchanged": ("W.load(ROW, width=16) + B.load(", "B.load(ROW, width=16) + W.load("),
        "mean added": ("c = x - mean", "c = x + mean"),
    },
    "block_rmsnorm": {
        "each wave for itself": ("rsqrt(total *", "rsqrt(mine *"),
        "one wave counts twice": ('w="t%4"', 'w="t%4//2*2"'),
        "waves overwrite each other": ("w=ag.wave(), width=4", "w=0, width=4"),
        "too few waves": ('w="t%4"', 'w="t%2"'),
    },
    "lane_rows": {
        "lanes do not meet": ('total.sum("n")', "total.regs(0, 1)"),
        "the last tile is lost": ("ag.cdiv(N, 256)", "N // 256"),
        "plain sum": ("v * v", "v"),
        "tiles overlap": ("x[m, 256 * j]", "x[m, 252 * j]"),
        "starts from one": ("ag.zeros(ROW, f32)", "ag.full(ROW, f32, 1.0)"),
    },
    "long_rows": {
        "one tile missing": ("N // 256)", "N // 256 - 1)"),
        "a tile at a time": ("total = total + x", "total = total * 0.0 + x"),
        "tiles overlap": ("x[m, 256 * j]", "x[m, 128 * j]"),
        "always the first tile": ("x[m, 256 * j]", "x[m, 0]"),
    },
}

ATTENTION = {
    "stale maximum": ("ag.exp2(s - new), ag", "ag.exp2(s - top), ag"),
    "mask one too far": ("s.Sk <= s.Sq", "s.Sk <= s.Sq + 1"),
}
ATTENTION_MORE = {
    "accumulator is not rescaled": ("        o *= keep\n", ""),
    "sum is not rescaled": ("den * keep + p", "den + p"),
    "mask without the diagonal": ("s.Sk <= s.Sq", "s.Sk < s.Sq"),
    "maximum is not kept": ("        top = new\n", ""),
    "too few steps": ("QB * (qb + 1), Sk", "QB * qb + 64, Sk"),
    "sum over one of two tiles": ('p.sum("Sk")', 'p[0].sum("Sk")'),
    "maximum over one of two tiles": ('s.max("Sk")', 's[0].max("Sk")'),
    "not divided": ("(o / den)", "o"),
    "scale is missing": ("scale * LOG2E", "1.0 * LOG2E"),
    "rescaled the other way": ("ag.exp2(top - new)", "ag.exp2(new - top)"),
    "one tile of weights twice": ("pb[nt].regs", "pb[0].regs"),
    "rescaled too late": ('den * keep + p.sum("Sk")', '(den + p.sum("Sk")) * keep'),
    "values for keys": ("K[b, h, KB * j].load", "V[b, h, KB * j].load"),
    "maximum not attained": ("f32, -inf, at=rows)", "f32, 0.0, at=rows)"),
}


def changed(folder: Path, name: str, old: str, new: str) -> Report:
    text = file_of(name).read_text()
    assert old in text, f"{name} no longer contains {old!r}"
    file = folder / f"{name}.py"
    file.write_text(text.replace(old, new))
    return check(scheduled(read(str(file), settings=SETTINGS.get(name))))


def file_of(name: str) -> Path:
    return LISTING if name == "attention" else KERNELS / f"{name}.py"


def status(report: Report, rule: str) -> set[str]:
    return {v.status for v in report.verdicts if v.rule == rule}


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_are_proved(name: str) -> None:
    report = check(scheduled(read(str(file_of(name)), settings=SETTINGS.get(name))))
    assert report.status == "proved", report.render()
    assert status(report, "value") == {"proved"}


@pytest.mark.parametrize(("name", "what"), [(name, what) for name, cases in WRONG.items() for what in cases])
def test_wrong_variants_are_not_proved(tmp_path: Path, name: str, what: str) -> None:
    report = changed(tmp_path, name, *WRONG[name][what])
    assert report.status != "proved", report.render()
    assert "proved" not in status(report, "value")


@pytest.mark.parametrize("what", list(ATTENTION))
def test_wrong_attention_is_refuted(tmp_path: Path, what: str) -> None:
    report = changed(tmp_path, "attention", *ATTENTION[what])
    assert status(report, "value") == {"refuted"}, report.render()


@pytest.mark.full
@pytest.mark.parametrize("what", list(ATTENTION_MORE))
def test_wrong_attention_is_not_proved(tmp_path: Path, what: str) -> None:
    assert "proved" not in status(changed(tmp_path, "attention", *ATTENTION_MORE[what]), "value")


def test_the_reason_names_both_formulas(tmp_path: Path) -> None:
    report = changed(tmp_path, "vectors", "z[i] = x[i] + y[i] * a", "z[i] = x[i] + y[i] * a + 1e-12")
    reasons = [v.reason for v in report.verdicts if v.rule == "value"]
    assert reasons == ["what is stored is `a * y[N] + x[N]`, the specification says `1e-12 + a * y[N] + x[N]`"]
