"""Whole launches in exact algebra: right kernels are equal, a kernel that is wrong inside the tolerance is not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argus import machine
from argus.cli.main import main
from argus.compile.cache import compile_cached
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.machine.algebra import AlgebraShadow, Constants
from argus.spec import evaluate
from argus.spec.compare import compare
from argus.tasks.algebra import AlgebraComparison, compare_kernel, compare_objects, compare_specified
from argus.tasks.inputs import make_arrays, make_scalars

KERNELS = Path(__file__).parents[3] / "argus" / "kernels"


def compared(path: Path, kernel: str | None = None, **settings: Any) -> tuple[list[AlgebraComparison], bool]:
    """The verdicts of exact algebra, and whether the float comparison passes."""
    found = read(path, settings=settings, kernel=kernel)
    sizes = found.example
    arrays, scalars = make_arrays(found, sizes, 0), make_scalars(found, 0)
    inputs = {name: array.copy() for name, array in arrays.items()}
    made = compare_kernel(found, compile_cached(scheduled(found)).object, sizes, arrays, scalars)
    assert found.computes is not None
    symbols = {**sizes, **scalars}
    with np.errstate(invalid="ignore"):
        right = all(compare(arrays[s.result], evaluate(s, inputs, symbols)).ok for s in found.computes.results)
    return made, right


@pytest.mark.parametrize(
    ("file", "kernel", "settings"),
    [
        ("vadd.py", None, {}),
        ("rowreduce.py", "rowreduce", {"OP": "mean"}),
        ("rowreduce.py", "rowreduce", {"OP": "max"}),
        ("softmax.py", "softmax", {}),
        ("rmsnorm.py", "rmsnorm", {}),
        ("moe.py", "quantise", {}),
    ],
)
def test_library_kernels_are_equal(file: str, kernel: str | None, settings: dict[str, Any]) -> None:
    found, right = compared(KERNELS / file, kernel, **settings)
    assert right
    assert {c.verdict for c in found} == {"equal"}


def test_a_small_matrix_product_is_equal() -> None:
    kernel = read(KERNELS / "gemm.py", settings={"BM": 64, "BN": 64})
    sizes = {"M": 64, "N": 64, "K": 64}
    arrays = make_arrays(kernel, sizes, 0)
    made = compare_kernel(kernel, compile_cached(scheduled(kernel)).object, sizes, arrays, {})
    assert [c.verdict for c in made] == ["equal"]


def vadd_storing(path: Path, value: str) -> Path:
    """The vector addition with another value stored; `total` is x + y, `x` and `y` are its terms."""
    source = (KERNELS / "vadd.py").read_text()
    for name in "xy":
        value = value.replace(f"<{name}>", f"{name}[start].load(PART, width=4 * PER_THREAD)")
    changed = source.replace("store(total,", f"store({value},")
    assert changed != source
    path.write_text(changed)
    return path


def test_a_kernel_that_is_wrong_inside_the_tolerance_is_different(tmp_path: Path) -> None:
    found, right = compared(vadd_storing(tmp_path / "good.py", "<y> + <x>"))
    assert right
    assert found[0].verdict == "equal"
    found, right = compared(vadd_storing(tmp_path / "bad.py", "total + <x> * 1e-30"))
    assert right
    (wrong,) = found
    assert wrong.verdict == "different"
    assert wrong.first == (0,)
    assert wrong.writer is not None
    assert (wrong.writer.workgroup, wrong.writer.lane) == (0, 0)


def test_an_element_that_is_never_stored_is_different() -> None:
    kernel = read(KERNELS / "vadd.py")
    code, arrays = compile_cached(scheduled(kernel)).object, list(make_arrays(kernel, {"N": 2048}, 0).values())
    spec = kernel.computes
    assert spec is not None

    def half(passed: Sequence[Any], options: machine.Options) -> object:
        return machine.load(code).kernel("vadd")(1, 256, *passed, np.int32(2048), options=options)

    (found,) = compare_specified(half, spec, dict(zip("xyz", arrays, strict=True)), {"N": 2048})
    assert (found.verdict, found.different, found.first, found.writer) == ("different", 1024, (1024,), None)


def test_a_value_that_cannot_be_followed_is_never_called_different(tmp_path: Path) -> None:
    """The bits of a float used as an integer: bits of two values mixed."""
    path = vadd_storing(tmp_path / "bits.py", "(<x>.bitcast(i32) ^ <y>.bitcast(i32)).bitcast(f32)")
    path.write_text(path.read_text().replace("import f32", "import f32, i32"))
    (found,), _ = compared(path)
    assert found.verdict == "not followed"
    assert found.not_followed == found.elements
    assert "v_xor_b32" in found.cause


ROOTS = """
import argus as ag
from argus import f32
T = ag.Owner(t=64, i="t")

@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = {spec}", example=dict(N=150))
def f(x: ag.In["N", f32], y: ag.Out["N", f32]):
    p = ag.grid(ag.cdiv(N, 64))
    v = x[64 * p].load(T, width=4, guard="shape")
    y[64 * p].store({code}, width=4, guard="shape")
"""


@pytest.mark.parametrize(
    ("spec", "code", "verdict"),
    [
        ("abs(x[i])", "ag.sqrt(v * v)", "not followed"),
        ("sqrt(x[i] * x[i])", "ag.abs(v)", "not followed"),
        ("0.5 * rsqrt(abs(x[i]))", "ag.rsqrt(ag.abs(v) * 4.0)", "not followed"),
        ("sqrt(abs(x[i]))", "ag.sqrt(ag.abs(v))", "equal"),
        ("sqrt(abs(x[i]) + 1)", "ag.sqrt(ag.abs(v) + 1.000001)", "different"),
        ("abs(x[i])", "ag.sqrt(v * v) + 1e-9", "different"),
    ],
)
def test_the_sign_of_a_root_is_no_difference(tmp_path: Path, spec: str, code: str, verdict: str) -> None:
    (tmp_path / "kernel.py").write_text(ROOTS.format(spec=spec, code=code))
    (found,), _ = compared(tmp_path / "kernel.py")
    assert found.verdict == verdict


def test_the_sign_of_a_zero_is_no_difference(tmp_path: Path) -> None:
    """At -0.5 one form of the number is 0.0 and the other -0.0: which of v and -v the magnitude is, is an accident."""
    source = (
        "import argus as ag\nfrom argus import f32\nPART = ag.Owner(t=64, i='t')\n\n\n"
        "@ag.kernel(threads=64, computes='y[i] = abs((a[i] + 0.5) * a[i]) + 2', example=dict(N=128))\n"
        "def k(a: ag.In['N', f32], y: ag.Out['N', f32]):\n"
        "    b = 64 * ag.grid(ag.cdiv(N, 64))\n"
        "    x = a[b].load(PART, width=4)\n"
        "    y[b].store(ag.abs(x * x + 0.5 * x) + 2.0, width=4)\n"
    )
    file = tmp_path / "kernel.py"
    file.write_text(source)
    found = read(file)
    arrays = {"a": np.linspace(-1.0, 1.0, 129, dtype=np.float32)[:128].copy(), "y": np.zeros(128, np.float32)}
    (made,) = compare_kernel(found, compile_cached(scheduled(found)).object, {"N": 128}, arrays, {})
    assert arrays["a"][32] == -0.5
    assert made.different == 0
    assert made.elements - made.not_followed >= 127, "nothing but the zero is in doubt"


def test_two_objects(tmp_path: Path) -> None:
    other = vadd_storing(tmp_path / "other.py", "<y> + <x> * 2.0 - <x>")
    wrong = vadd_storing(tmp_path / "wrong.py", "<x> + <y> * 1.00001")
    kernels = [read(path) for path in (KERNELS / "vadd.py", other, wrong)]
    objects = [compile_cached(scheduled(kernel)).object for kernel in kernels]
    sizes = {"N": 1024}

    def launch(k: int) -> Any:
        def run(arrays: Sequence[Any], options: machine.Options) -> object:
            return machine.load(objects[k]).kernel("vadd")(1, 256, *arrays, np.int32(1024), options=options)

        return run

    arrays = list(make_arrays(kernels[0], sizes, 0).values())
    for second, verdict in ((1, "equal"), (2, "different")):
        given = [array.copy() for array in arrays]
        found = compare_objects(launch(0), launch(second), ["x", "y", "z"], given)
        assert [(c.result, c.verdict) for c in found] == [("z", verdict)]


def test_the_real_run_is_the_same_with_and_without() -> None:
    kernel = read(KERNELS / "softmax.py", kernel="softmax")
    code, sizes = compile_cached(scheduled(kernel)).object, kernel.example
    plain, beside = (make_arrays(kernel, sizes, 0) for _ in range(2))
    loaded = machine.load(code).kernel("softmax")
    grid, tail = 2, [np.int32(n) for n in sizes.values()]
    loaded(grid, kernel.threads, *plain.values(), *tail)
    shadow = AlgebraShadow(list(beside.values()), Constants(1), 1)
    loaded(grid, kernel.threads, *beside.values(), *tail, shadow=shadow)
    for name in plain:
        assert plain[name].tobytes() == beside[name].tobytes()


def test_the_checks_that_delay_memory_are_refused() -> None:
    kernel = read(KERNELS / "vadd.py")
    code, arrays = compile_cached(scheduled(kernel)).object, make_arrays(kernel, {"N": 1024}, 0)
    shadow = AlgebraShadow(list(arrays.values()), Constants(1), 1)
    with pytest.raises(machine.LaunchError, match="without the checks"):
        machine.load(code).kernel("vadd")(1, 256, *arrays.values(), np.int32(1024), checks="all", shadow=shadow)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(KERNELS / "vadd.py"), "--algebra"]) == 0
    assert "equal in exact algebra, all 4096 elements" in capsys.readouterr().out
    assert main(["run", str(KERNELS / "vadd.py"), "--algebra", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["algebra"]
    assert (result["result"], result["verdict"], result["not_followed"]) == ("z", "equal", 0)


def test_the_command_on_an_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "vadd.hsaco"
    path.write_bytes(compile_cached(scheduled(read(KERNELS / "vadd.py"))).object)
    array = "f32[1024]:normal"
    call = ["run", str(path), "--algebra", "--grid", "1", "--block", "256"]
    call += ["--arg", array, "--arg", array, "--arg", "f32[1024]", "--arg", "i32=1024"]
    assert main([*call, "--names", "x,y,z,N", "--computes", "z[i] = x[i] + y[i]"]) == 0
    assert main([*call, "--names", "x,y,z,N", "--computes", "z[i] = x[i] + y[i] * 1.0001"]) == 1
    assert main([*call, "--against", str(path)]) == 0
    capsys.readouterr()
    assert main(call) == 2
    assert "--computes and --names" in capsys.readouterr().err
