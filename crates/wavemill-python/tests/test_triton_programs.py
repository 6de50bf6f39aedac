"""`python -m wavemill.triton` and its options."""

import importlib.util
import os
import subprocess
import sys

import pytest

if importlib.util.find_spec("triton") is None:
    if os.environ.get("WAVEMILL_REQUIRE_ORACLES") == "1":
        raise ImportError("Triton is not installed")
    pytest.skip("Triton is not installed", allow_module_level=True)

PROGRAM = """
import sys, numpy, triton, triton.language as tl, wavemill.triton

configs = [triton.Config({"BLOCK": block}) for block in (32, 1 << 20, 64, 256)]

@triton.autotune(configs=configs[int(sys.argv[1]):], key=["n"])
@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

x, y = numpy.arange(500.0), numpy.zeros(500)
calls = 0

def run():
    global calls
    calls += 1
    add[lambda meta: (triton.cdiv(500, meta["BLOCK"]),)](*map(wavemill.triton.array, (x, y)), 500)

@triton.testing.perf_report(triton.testing.Benchmark(["n"], [1], "p", ["a"], ["a"], ["a"], "name", {}))
def report(n, p):
    print("report")
    return 1

from triton.testing import do_bench

print(do_bench(run, rep=1) > 0, len(do_bench(run, quantiles=[0.2, 0.5])), (y == x + 1).all())
print("calls", calls)
print("block", add.best_config.kwargs["BLOCK"])
print("target", triton.runtime.driver.active.get_current_target().arch)
print("arguments", __name__, sys.argv[2:])
report.run(print_data=False)
"""


def run(*arguments, cwd=None, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WAVEMILL_")}
    environment.update(variables)
    environment.pop("TRITON_DEFAULT_BACKEND", None)
    command = [sys.executable, "-W", "ignore", "-m", "wavemill.triton", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd)


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


def test_options(program):
    said = run("--no-bench", "--first-config", "--target", "mi250x", program, 0, "--target", "-m", "x")
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[:5] == [
        "True 2 True",
        "calls 2",
        "block 32",
        "target gfx90a",
        "arguments __main__ ['--target', '-m', 'x']",
    ]
    assert lines[5:] == []


def test_the_first_configuration_that_fits_is_used(program):
    said = run("--no-bench", "--first-config", program, 2)
    assert "block 64\ntarget gfx942" in said.stdout, said.stderr


def test_a_module(program):
    said = run("--no-bench", "--first-config", "-m", "program", 3, "y", cwd=program.parent, WAVEMILL_TARGET="gfx906")
    assert said.returncode == 0, said.stderr
    assert "target gfx906\narguments __main__ ['y']" in said.stdout


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["nowhere.py"], "there is no file nowhere.py"),
        (["--target", "mi9000", __file__], "mi9000.*mi355x"),
        (["--target", "cayman", __file__], "32 bits"),
        ([], "required: SCRIPT"),
    ],
)
def test_wrong_arguments(arguments, text):
    said = run(*arguments)
    assert said.returncode == 2 and "Traceback" not in said.stderr
    assert __import__("re").search(text, said.stderr), said.stderr
