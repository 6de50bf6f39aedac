"""Compiles programs with IREE's compiler, runs their dispatches with Wavemill, and compares the results with NumPy.

    python clients/iree.py [--target T]... [--case C]... [--results FILE]

The compiler is the package iree-base-compiler of PyPI; it needs no GPU and no ROCm. `iree_host.py` runs the host part.
With --results, the outcome of each case goes into FILE (see `results.py`). The exit code is 1 if a case failed.
"""

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

import wavemill
from iree_host import Program, Unknown
from results import FAILED, NOT_APPLICABLE, PASSED, Results

TARGETS = ("gfx90a", "gfx942", "gfx950")
VERSION = "3.13.0"

#: Types of MLIR, and those of NumPy.
TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "i8": np.int8,
    "i32": np.int32,
}


class Array:
    """An argument or a result: a shape and a type of MLIR."""

    def __init__(self, of, *shape):
        self.of, self.shape = of, shape

    def __str__(self):
        return f"tensor<{'x'.join(map(str, self.shape))}x{self.of}>"

    def random(self, generator):
        """Numbers that every type has exactly. None is a denormal: matrix instructions of gfx90a flush these."""
        if self.of.startswith("i"):
            return generator.integers(-128, 128, self.shape).astype(TYPES[self.of])
        step = 4 if self.of.startswith("f8") else 64
        return (generator.integers(-2 * step, 2 * step + 1, self.shape) / step).astype(TYPES[self.of])


class Case:
    """A program: the text of a function `main`, and what NumPy says about its result.

    expected(arrays) returns the exact result in double precision, and the largest allowed difference of each element.
    """

    def __init__(self, body, arguments, result, expected, only=TARGETS, why=None):
        self.arguments, self.result, self.expected, self.only, self.why = arguments, result, expected, only, why
        parameters = ", ".join(f"%{name}: {one}" for name, one in arguments.items())
        self.text = f"func.func @main({parameters}) -> {result} {{\n{body}\n  return %out : {result}\n}}\n"


#: Attributes of a convolution.
STRIDE_1 = "{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}"

#: The rounding error of a single-precision operation, relative to its result.
ULP = 2.0**-24


def _zeros(result, zero):
    """Text that makes %zeros, of the type of the result."""
    kind = "0" if result.of.startswith("i") else "0.0"
    return (
        f"  %{zero} = arith.constant {kind} : {result.of}\n"
        f"  %empty = tensor.empty() : {result}\n"
        f"  %zeros = linalg.fill ins(%{zero} : {result.of}) outs(%empty : {result}) -> {result}\n"
    )


def _sum_bound(terms, magnitudes, of):
    """The largest error of a sum of this many products in any order: each operation rounds once.

    The unit is that of the accumulator, and twice as much, since a matrix instruction truncates its inner sums.
    """
    if of.startswith("i"):
        return np.zeros_like(magnitudes)
    unit = 2.0**-53 if of == "f64" else ULP
    return 2 * (terms + 1) * unit * magnitudes


def matmul(m, n, k, of, to, batch=0, only=TARGETS, why=None):
    """A product of two matrices, or of `batch` pairs of them."""
    lead = (batch,) if batch else ()
    a, b, c = Array(of, *lead, m, k), Array(of, *lead, k, n), Array(to, *lead, m, n)
    name = "batch_matmul" if batch else "matmul"
    body = _zeros(c, "zero") + f"  %out = linalg.{name} ins(%a, %b : {a}, {b}) outs(%zeros : {c}) -> {c}"

    def expected(arrays):
        a, b = (array.astype(np.float64) for array in arrays)
        return a @ b, _sum_bound(k, np.abs(a) @ np.abs(b), to)

    return Case(body, {"a": a, "b": b}, c, expected, only, why)


def convolution(n, height, width, channels, filters, size, of, to):
    """A convolution in two dimensions: images are NHWC, filters HWCF, stride 1, no padding."""
    x, w = Array(of, n, height, width, channels), Array(of, size, size, channels, filters)
    y = Array(to, n, height - size + 1, width - size + 1, filters)
    body = (
        _zeros(y, "zero")
        + f"  %out = linalg.conv_2d_nhwc_hwcf {STRIDE_1}\n"
        + f"    ins(%x, %w : {x}, {w}) outs(%zeros : {y}) -> {y}"
    )

    def expected(arrays):
        x, w = (array.astype(np.float64) for array in arrays)

        def convolve(x, w):
            windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(1, 2))
            return np.einsum("nhwcij,ijcf->nhwf", windows, w, optimize=True)

        return convolve(x, w), _sum_bound(size * size * channels, convolve(np.abs(x), np.abs(w)), to)

    return Case(body, {"x": x, "w": w}, y, expected)


def depthwise(n, height, width, channels, size):
    """A convolution of each channel with a filter of its own."""
    x, w = Array("f32", n, height, width, channels), Array("f32", size, size, channels)
    y = Array("f32", n, height - size + 1, width - size + 1, channels)
    body = (
        _zeros(y, "zero")
        + f"  %out = linalg.depthwise_conv_2d_nhwc_hwc {STRIDE_1}\n"
        + f"    ins(%x, %w : {x}, {w}) outs(%zeros : {y}) -> {y}"
    )

    def expected(arrays):
        x, w = (array.astype(np.float64) for array in arrays)

        def convolve(x, w):
            windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(1, 2))
            return np.einsum("nhwcij,ijc->nhwc", windows, w)

        return convolve(x, w), _sum_bound(size * size, convolve(np.abs(x), np.abs(w)), "f32")

    return Case(body, {"x": x, "w": w}, y, expected)


def pooling(n, height, width, channels, size):
    """The largest number of each window of `size` by `size`, which do not overlap."""
    x, y = Array("f32", n, height, width, channels), Array("f32", n, height // size, width // size, channels)
    body = (
        f"  %least = arith.constant 0xFF800000 : f32\n"
        f"  %empty = tensor.empty() : {y}\n  %window = tensor.empty() : tensor<{size}x{size}xf32>\n"
        f"  %start = linalg.fill ins(%least : f32) outs(%empty : {y}) -> {y}\n"
        "  %out = linalg.pooling_nhwc_max\n"
        f"    {STRIDE_1.replace('strides = dense<1>', f'strides = dense<{size}>')}\n"
        f"    ins(%x, %window : {x}, tensor<{size}x{size}xf32>) outs(%start : {y}) -> {y}"
    )

    def expected(arrays):
        x = arrays[0].astype(np.float64)
        y = x.reshape(n, height // size, size, width // size, size, channels).max((2, 4))
        return y, np.zeros_like(y)

    return Case(body, {"x": x}, y, expected)


def softmax(rows, columns, of):
    """The softmax of each row."""
    x = Array(of, rows, columns)
    body = (
        f"  %empty = tensor.empty() : {x}\n"
        f"  %out = linalg.softmax dimension(1) ins(%x : {x}) outs(%empty : {x}) -> {x}"
    )

    def expected(arrays):
        x = arrays[0].astype(np.float64)
        e = np.exp(x - x.max(1, keepdims=True))
        y = e / e.sum(1, keepdims=True)
        # Exponentials and the division are good to some units, the sum adds one a term; f16 rounds all of them.
        unit = 2.0**-11 if of == "f16" else ULP
        return y, (columns + 16) * unit * y

    return Case(body, {"x": x}, x, expected)


def elementwise(size):
    """`x * tanh(y) + exp(x)`, by two operations that become one kernel."""
    x = Array("f32", size)
    generic = (
        "  {n} = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,"
        ' affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}\n'
        "    ins({a}, {b} : {t}, {t}) outs(%empty : {t}) {{\n  ^bb0(%p: f32, %q: f32, %o: f32):\n{s}"
        "    linalg.yield %r : f32\n  }} -> {t}\n"
    )
    first = "    %u = math.tanh %q : f32\n    %r = arith.mulf %p, %u : f32\n"
    second = "    %u = math.exp %q : f32\n    %r = arith.addf %p, %u : f32\n"
    body = (
        f"  %empty = tensor.empty() : {x}\n"
        + generic.format(n="%product", a="%x", b="%y", t=x, s=first)
        + generic.format(n="%out", a="%product", b="%x", t=x, s=second)
    )

    def expected(arrays):
        x, y = (array.astype(np.float64) for array in arrays)
        z = x * np.tanh(y) + np.exp(x)
        # Functions of the device library are good to some units.
        return z, 16 * ULP * (np.abs(x) + np.exp(x))

    return Case(body, {"x": x, "y": x}, x, expected)


def row_sums(rows, columns):
    """The sum of each row."""
    x, y = Array("f32", rows, columns), Array("f32", rows)
    body = _zeros(y, "zero") + (
        f"  %out = linalg.reduce ins(%x : {x}) outs(%zeros : {y}) dimensions = [1]\n"
        "    (%p: f32, %q: f32) {\n      %r = arith.addf %p, %q : f32\n      linalg.yield %r : f32\n    }"
    )

    def expected(arrays):
        x = arrays[0].astype(np.float64)
        return x.sum(1), _sum_bound(columns, np.abs(x).sum(1), "f32")

    return Case(body, {"x": x}, y, expected)


def two_layers(m, k, hidden, n):
    """Two products in a row with a maximum in between: several dispatches with a buffer of the program's own."""
    x, v, w = Array("f16", m, k), Array("f16", k, hidden), Array("f16", hidden, n)
    middle, y = Array("f32", m, hidden), Array("f32", m, n)
    half = Array("f16", m, hidden)
    body = (
        "  %zero = arith.constant 0.0 : f32\n"
        f"  %e = tensor.empty() : {middle}\n  %f = linalg.fill ins(%zero : f32) outs(%e : {middle}) -> {middle}\n"
        f"  %h = linalg.matmul ins(%x, %v : {x}, {v}) outs(%f : {middle}) -> {middle}\n"
        f"  %r = arith.maximumf %h, %f : {middle}\n  %t = arith.truncf %r : {middle} to {half}\n"
        f"  %e2 = tensor.empty() : {y}\n  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : {y}) -> {y}\n"
        f"  %out = linalg.matmul ins(%t, %w : {half}, {w}) outs(%f2 : {y}) -> {y}"
    )

    def expected(arrays):
        x, v, w = (array.astype(np.float64) for array in arrays)
        hidden = np.maximum(x @ v, 0)
        # The hidden numbers are rounded to half precision; the second product scales that error.
        return hidden @ w, 2.0**-10 * (hidden @ np.abs(w)) + 1e-6

    return Case(body, {"x": x, "v": v, "w": w}, y, expected)


CASES = {
    "softmax f32": softmax(37, 129, "f32"),
    "softmax f32, long rows": softmax(8, 4096, "f32"),
    "softmax f16": softmax(64, 256, "f16"),
    "matmul f32": matmul(64, 96, 80, "f32", "f32"),
    "matmul f32, odd sizes": matmul(37, 53, 29, "f32", "f32"),
    "matmul f32, 256": matmul(256, 256, 256, "f32", "f32"),
    "matmul f16": matmul(128, 96, 160, "f16", "f32"),
    "matmul f16, 256": matmul(256, 256, 256, "f16", "f32"),
    "matmul bf16": matmul(128, 96, 160, "bf16", "f32"),
    "matmul f64": matmul(48, 64, 32, "f64", "f64"),
    "matmul i8": matmul(128, 96, 160, "i8", "i32"),
    "matmul fp8 FNUZ": matmul(
        128, 96, 160, "f8E4M3FNUZ", "f32", only=("gfx942",), why="the target has no instructions for this type"
    ),
    "matmul fp8": matmul(
        128, 96, 256, "f8E4M3FN", "f32", only=("gfx950",), why="the target has no instructions for this type"
    ),
    "matrix times vector f32": matmul(96, 1, 256, "f32", "f32"),
    "batch matmul f16": matmul(48, 64, 96, "f16", "f32", batch=3),
    "convolution f32": convolution(1, 16, 16, 8, 16, 3, "f32", "f32"),
    "convolution f16": convolution(2, 18, 18, 32, 32, 3, "f16", "f32"),
    "convolution i8": convolution(1, 18, 18, 16, 32, 3, "i8", "i32"),
    "depthwise convolution f32": depthwise(1, 20, 20, 24, 3),
    "max pooling f32": pooling(1, 24, 24, 16, 2),
    "elementwise f32": elementwise(5000),
    "row sums f32": row_sums(100, 777),
    "two layers f16": two_layers(64, 96, 128, 32),
}


def compiler():
    """The path of iree-compile; None if the package is not installed."""
    path = Path(sys.executable).parent / "iree-compile"
    return path if path.is_file() else None


def compile_program(text, target, folder):
    """The host part as text, and the code object of a program.

    Raises RuntimeError with the compiler's last lines if it refuses the program.
    """
    source = Path(folder, "program.mlir")
    source.write_text(text)
    command = [
        compiler(),
        source,
        "--iree-hal-target-backends=rocm",
        f"--iree-rocm-target={target}",
        f"--iree-hal-dump-executable-binaries-to={folder}/bin",
        "--iree-input-demote-f64-to-f32=false",
        "--compile-to=hal",
        "-o",
        f"{folder}/host.mlir",
    ]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(next((line for line in lines if "error:" in line), lines[-1] if lines else "no message"))
    binaries = sorted(Path(folder, "bin").glob("*.hsaco"))
    if len(binaries) != 1:
        raise Unknown(f"expected one code object, found {len(binaries)}")
    return Path(folder, "host.mlir").read_text(), binaries[0].read_bytes()


def run(name, target):
    """Compiles and runs a case. Returns the outcome, and what there is to say about it."""
    case = CASES[name]
    if target not in case.only:
        return NOT_APPLICABLE, case.why
    generator = np.random.default_rng(sum(name.encode()))
    arrays = [argument.random(generator) for argument in case.arguments.values()]
    with tempfile.TemporaryDirectory() as folder:
        try:
            host, code_object = compile_program(case.text, target, folder)
        except RuntimeError as error:
            return NOT_APPLICABLE, f"IREE's compiler: {error}"
        try:
            program = Program(host, "main", code_object, target)
            (result,), instructions = program(*arrays)
        except (wavemill.Error, Unknown) as error:
            return FAILED, f"{type(error).__name__}: {error}".splitlines()[0]
    found = result.view(TYPES[case.result.of]).reshape(case.result.shape).astype(np.float64)
    expected, bound = case.expected(arrays)
    wrong = ~(np.abs(found - expected) <= bound)
    if wrong.any():
        at = tuple(int(one) for one in np.argwhere(wrong)[0])
        text = f"{int(wrong.sum())} of {wrong.size} numbers are wrong: [{', '.join(map(str, at))}] is {found[at]!r}"
        return FAILED, f"{text}, expected {expected[at]!r} within {bound[at]:.3g}"
    return PASSED, f"{instructions} wave instructions"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this target")
    parser.add_argument("--case", action="append", choices=CASES, help="only this case")
    parser.add_argument("--results", help="a file for the outcomes")
    options = parser.parse_args()
    if compiler() is None:
        sys.exit(f"error: iree-compile is not installed: pip install iree-base-compiler=={VERSION}")
    results = Results("IREE", importlib.metadata.version("iree-base-compiler"))
    for target in options.target or TARGETS:
        for name in options.case or CASES:
            outcome, reason = run(name, target)
            print(f"{target}  {name}: {outcome}{f' ({reason})' if reason else ''}", flush=True)
            results.add(name, target, outcome, reason if outcome != PASSED else "")
    if options.results:
        results.write(options.results)
    sys.exit(results.count(FAILED) > 0)


if __name__ == "__main__":
    main()
