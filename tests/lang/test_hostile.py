"""Hostile files: a coded error within two seconds and one gigabyte, and nothing of them is executed."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from argus.lang import ProgramError, read

HEAD = "import argus as ag\nfrom argus import f32\n"
OWNER = "OWN = ag.Owner(t=64, i='t')\n"
KERNEL = "@ag.kernel(threads=64)\ndef k(x: ag.In['N', f32], y: ag.Out['N', f32]):\n"


def body(*lines: str) -> str:
    return HEAD + OWNER + KERNEL + "".join(f"    {line}\n" for line in lines)


HOSTILE: dict[str, tuple[str, str]] = {
    "import os": (HEAD + "import os\nos.system('touch SENTINEL')\n", "AG103"),
    "import inside": (body("import os", "os.system('touch SENTINEL')"), "AG105"),
    "exec": (body("exec(\"open('SENTINEL', 'w')\")"), "AG119"),
    "eval": (HEAD + "X = eval(\"open('SENTINEL', 'w')\")\n", "AG119"),
    "open": (HEAD + "X = open('SENTINEL', 'w')\n", "AG119"),
    "dunder import": (HEAD + "X = __import__('os').system('touch SENTINEL')\n", "AG119"),
    "class walk": (HEAD + "X = ().__class__.__base__.__subclasses__()\n", "AG107"),
    "class walk on a layout": (HEAD + "L = ag.Layout(r=(4, 4)).__class__.__init__.__globals__\n", "AG107"),
    "globals through a function": (body("X = k.__globals__"), "AG107"),
    "private of a layout": (HEAD + "L = ag.Layout(r=(4, 4))._form\n", "AG107"),
    "unlisted member of a layout": (HEAD + "L = ag.Layout(r=(4, 4)).form\n", "AG109"),
    "format string": (HEAD + "X = '{0.__class__}'.format(1)\n", "AG109"),
    "decorator": (HEAD + "@print\ndef f():\n    pass\n", "AG105"),
    "class": (HEAD + "class X:\n    print('SENTINEL')\n", "AG121"),
    "module call": (HEAD + "print('SENTINEL')\n", "AG121"),
    "endless comprehension": (body(f"x = [0 {'for i in range(60000) ' * 6}]"), "AG115"),
    "huge range": (body("x = [i for i in range(10**9)]"), "AG115"),
    "huge unroll": (body("for i in ag.unroll(1000, 1000): ag.barrier()"), "AG115"),
    "large unroll": (body("for i in ag.unroll(60000): ag.barrier()"), "AG113"),
    "unrolled loads": (body("for i in ag.unroll(60000): v = x[i].load(OWN, width=4)"), "AG113"),
    "nested static loops": (body("for i in range(60000):", "    for j in range(60000):", "        k = i*j"), "AG113"),
    "recursion": (HEAD + "def f(n):\n    return f(n)\nX = f(1)\n", "AG114"),
    "mutual recursion": (HEAD + "def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nX = f(1)\n", "AG114"),
    "exponential calls": (
        HEAD + "def f0(n):\n    return n\n"
        + "".join(f"def f{i}(n):\n    return f{i - 1}(n) + f{i - 1}(n)\n" for i in range(1, 40)) + "X = f39(1)\n",
        "AG113",
    ),
    "huge power": (HEAD + "X = 9 ** 9 ** 9 ** 9\n", "AG115"),
    "huge shift": (HEAD + "X = 1 << 10 ** 9\n", "AG115"),
    "growing number": (HEAD + "X = 3\n" + "X = X * X\n" * 40, "AG115"),
    "growing string": (HEAD + "X = 'abcdefgh'\n" + "X = X + X\n" * 40, "AG115"),
    "growing list": (HEAD + "X = [1]\n" + "X = X + X\n" * 40, "AG115"),
    "list times": (HEAD + "X = [1] * 10 ** 12\n", "AG115"),
    "growing index": (body("i = ag.lane()", *["i = i * i + ag.wave() * i + (i // 3)"] * 60), "AG115"),
    "growing xor": (body("i = ag.lane()", *["i = (i ^ (i // 3)) + (i % 7) * i"] * 60), "AG115"),
    "huge layout": (HEAD + "L = ag.Layout(r=(10**9, 4), c=(10**9, 4))\n", "AG115"),
    "huge owner": (HEAD + "O = ag.Owner(t=256, p=10**8, r='t + p')\n", "AG115"),
    "owner text": (HEAD + "O = ag.Owner(t=256, r='__import__(\"os\")')\n", "AG302"),
    "deep parentheses": ("X = " + "(" * 100_000 + "1" + ")" * 100_000 + "\n", "AG101"),
    "deep minus": ("X = " + "-" * 100_000 + "1\n", "AG120"),
    "deep attribute": ("X = a" + ".b" * 60_000 + "\n", "AG120"),
    "deep sum": ("X = 1" + " + 1" * 60_000 + "\n", "AG120"),
    "deep blocks": ("".join(" " * i + "if 1:\n" for i in range(99)) + " " * 99 + "x = 1\n", "AG120"),
    "null byte": ("X = 1\0\n", "AG101"),
    "surrogate escape": ("X = '\\ud800'\nimport os\n", "AG103"),
    "requires text": (HEAD + "@ag.kernel(threads=64, requires='__import__(\"os\").system(\"touch SENTINEL\") == 0')\n"
                      "def k(x: ag.In['N', f32]):\n    pass\n", "AG119"),
    "requires too deep": (
        HEAD + f"@ag.kernel(threads=64, requires={'-' * 5000 + 'N'!r})\ndef k(x: ag.In['N', f32]):\n    pass\n",
        "AG206",
    ),
    "check text": (body("ag.check.fresh(x, N=\"__import__('os')\")"), "AG119"),
    "lambda bomb": (body("f = lambda: [f() for i in range(9)]", "f()"), "AG114"),
    "many registers": (
        HEAD + "OWN = ag.Owner(t=64, p=10000, i='t')\n" + KERNEL + "    x = ag.zeros(OWN, f32)\n", "AG318",
    ),
    "growing stack": (body("t = ag.zeros(OWN, f32)", *["t = ag.stack([t, t], 'a')"] * 30), "AG318"),
    "growing product of sums": (body("n = N", *["n = (n + ag.lane()) * (n + ag.wave())"] * 30), "AG115"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source, code = HOSTILE[name]
    start = time.process_time()
    with pytest.raises(ProgramError) as caught:
        read(source)
    assert time.process_time() - start < 2
    assert caught.value.code == code, caught.value
    assert caught.value.render()
    assert not (tmp_path / "SENTINEL").exists()


def test_ten_megabytes_of_nesting(tmp_path: Path) -> None:
    """In a process of its own: time, memory, and no crash of the parser."""
    limit = 1 << 30
    reading = (
        "import sys\nfrom argus.lang import read, ProgramError\n"
        "try:\n    read(sys.argv[1])\nexcept ProgramError as e:\n    print(e.code)\n"
    )
    for text in ("(" * 5_000_000 + ")" * 5_000_000, "[" * 10_000_000, "x" + "[0]" * 3_000_000, "-" * 10_000_000 + "1"):
        path = tmp_path / "deep.py"
        path.write_text(text)
        done = subprocess.run(
            [sys.executable, "-c", reading, str(path)], capture_output=True, text=True, timeout=60, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        )  # fmt: skip
        assert (done.returncode, done.stdout.strip()) == (0, "AG102"), done.stderr


@pytest.mark.parametrize(
    "text", ["(" * 120_000, "[" * 250_000, "x" + "[0]" * 80_000, "-" * 250_000 + "1", "lambda:" * 30_000 + "1"]
)
def test_deep_files_below_the_size_limit(text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.py"
    path.write_text(text)
    start = time.process_time()
    with pytest.raises(ProgramError) as caught:
        read(path)
    assert time.process_time() - start < 2
    assert caught.value.code in ("AG101", "AG120")


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.py", "nul\0byte", "/dev/zero"):
        with pytest.raises(ProgramError) as caught:
            read(path)
        assert caught.value.code == "AG100"
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProgramError) as caught:
        read(binary)
    assert caught.value.code == "AG101"
