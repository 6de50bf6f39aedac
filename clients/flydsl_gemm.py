"""Compiles FlyDSL's GEMM, runs it with Wavemill, and compares the results with NumPy.

    python clients/flydsl_gemm.py SOURCES [--target T]... [--case C]... [--results FILE]

SOURCES is a copy of FlyDSL's repository, which has the kernel (`kernels/gemm/preshuffle_gemm.py`) but is no package. The
compiler is the package flydsl of PyPI; it needs no GPU and no ROCm, but imports PyTorch. `flydsl_compile.py` compiles in a
process of its own for each target. With --results, the outcome of each case goes into FILE (see `results.py`). The exit
code is 1 if a case failed.
"""

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

import wavemill
from results import FAILED, NOT_APPLICABLE, PASSED, Results

#: Those with matrix instructions, which the kernel needs.
TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950")
#: Those with the matrix instructions of bf16 that it uses, and those with the ones of 8-bit formats.
CDNA2, CDNA3 = TARGETS[1:], TARGETS[2:]

#: The rounding error of a single-precision operation, relative to its result.
ULP = 2.0**-24
#: Formats of results: half the distance between 1 and the next number.
ROUNDING = {"fp16": 2.0**-11, "bf16": 2.0**-8}
#: Types of tensors, as flydsl_compile.py names them. It passes fp8 as bytes.
TENSORS = {"fp16": "f16", "bf16": "bf16", "int8": "i8", "fp8": "i8"}


def numpy_type(kind, target):
    """The numbers of a format; that of fp8 is the one that the target has instructions for."""
    if kind == "fp8":
        return ml_dtypes.float8_e4m3fn if target == "gfx950" else ml_dtypes.float8_e4m3fnuz
    return {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "int8": np.int8}[kind]


class Case:
    """A product of M x K and K x N, in tiles. FlyDSL compiles it for the targets `only`, and refuses it for others."""

    def __init__(self, kind, m, n, k, tile, to="bf16", epilogue="none", only=TARGETS, **options):
        self.only = only
        self.kind, self.m, self.n, self.k, self.to, self.epilogue = kind, m, n, k, to, epilogue
        tile_m, tile_n, tile_k = tile
        self.options = {
            "N": n, "K": k, "tile_m": tile_m, "tile_n": tile_n, "tile_k": tile_k, "in_dtype": kind, "out_dtype": to,
            "epilogue": epilogue, **options,
        }
        self.scaled = kind in ("int8", "fp8")

    def arguments(self):
        """What is passed to FlyDSL: C, A, B, scales of rows and of columns, the bias, M, N."""
        small, to = TENSORS[self.kind], TENSORS[self.to]
        scales = [f"f32:{self.m}", f"f32:{self.n}"] if self.scaled else ["f32:0", "f32:0"]
        bias = f"{to}:{self.n if self.epilogue != 'none' else 0}"
        matrices = [f"{to}:{self.m * self.n}", f"{small}:{self.m * self.k}", f"{small}:{self.n * self.k}"]
        return [*matrices, *scales, bias, self.m, self.n]

    def tensors(self, generator, target):
        """Random tensors in the same order; the exact result in double precision and the bound of its error."""
        kind = numpy_type(self.kind, target)
        if self.kind == "int8":
            a, b = (generator.integers(-128, 128, size).astype(kind) for size in ((self.m, self.k), (self.n, self.k)))
        else:
            # No number is a denormal: matrix instructions of gfx90a flush these.
            a, b = ((generator.integers(-8, 9, size) / 8).astype(kind) for size in ((self.m, self.k), (self.n, self.k)))
        left, right = a.astype(np.float64), b.astype(np.float64).T
        value, size = left @ right, np.abs(left) @ np.abs(right)
        # Each addition of a product rounds once, at most; matrix instructions truncate inner sums.
        error = np.zeros_like(value) if self.kind == "int8" else 2 * (self.k + 1) * ULP * size
        rows = columns = np.zeros(0, np.float32)
        bias = np.zeros(0, numpy_type(self.to, target))
        if self.scaled:
            rows, columns = (generator.uniform(0.5, 2, count).astype(np.float32) for count in (self.m, self.n))
            factor = rows.astype(np.float64)[:, None] * columns
            # Two products, and the conversion of integers above 2^24.
            value, error = value * factor, error * factor + 3 * ULP * np.abs(value * factor)
        if self.epilogue != "none":
            bias = (generator.integers(-16, 17, self.n) / 8).astype(bias.dtype)
            value = value + bias.astype(np.float64)
            error = error + ULP * np.abs(value)
        if self.epilogue == "bias_relu":
            value = np.maximum(value, 0)
        elif self.epilogue == "bias_silu":
            # Its slope is below 1.1. Exponential and quotient are good to some units, and the argument of the exponential
            # loses as much again for each unit.
            error = 1.1 * error + np.abs(value) * (1 + np.abs(value)) * 2.0**-20
            with np.errstate(over="ignore"):
                value = value / (1 + np.exp(-value))
        error = error + ROUNDING[self.to] * (np.abs(value) + error)
        # FlyDSL expects B in the order of its loads: blocks of 16 rows and 64 bytes, in pieces of 16 bytes.
        piece = 16 // b.itemsize
        blocks = b.reshape(self.n // 16, 16, self.k // (4 * piece), 4, piece).transpose(0, 2, 3, 1, 4)
        c = np.full(self.m * self.n, np.nan, numpy_type(self.to, target))
        tensors = [c, a.reshape(-1), np.ascontiguousarray(blocks).reshape(-1), rows, columns, bias]
        return tensors, value, error


CASES = {
    "f16": Case("fp16", 64, 128, 256, (32, 64, 64), to="fp16"),
    "f16, one buffer of LDS": Case("fp16", 64, 128, 256, (32, 64, 64), to="fp16", lds_stage=1),
    "f16, 128 x 128 tiles": Case("fp16", 256, 256, 512, (128, 128, 64), to="fp16"),
    "f16, rows that fill no tile": Case("fp16", 75, 128, 256, (32, 64, 64), to="fp16"),
    "f16, copies from memory to LDS": Case(
        "fp16", 64, 128, 256, (32, 128, 64), to="fp16", only=("gfx950",), use_async_copy=True
    ),
    "bf16": Case("bf16", 64, 128, 256, (32, 64, 64), only=CDNA2),
    "bf16, workgroups in the order of XCDs": Case("bf16", 256, 512, 128, (32, 64, 64), only=CDNA2, xcd_swizzle=4),
    "bf16, bias and ReLU": Case("bf16", 64, 128, 256, (32, 64, 64), epilogue="bias_relu", only=CDNA2),
    "f16, bias and SiLU": Case("fp16", 64, 128, 256, (32, 64, 64), to="fp16", epilogue="bias_silu"),
    "i8": Case("int8", 64, 128, 512, (32, 64, 128), only=CDNA3),
    "fp8": Case("fp8", 64, 128, 512, (32, 64, 128), only=CDNA3),
    "fp8, 256 x 128 tiles": Case("fp8", 256, 256, 512, (256, 128, 128), to="fp16", only=CDNA3),
}


def compile_cases(sources, target, names, folder):
    """Compiles cases into a folder, where case number i is case<i>."""
    cases = {f"case{number}": (CASES[name].options, CASES[name].arguments()) for number, name in enumerate(names)}
    script = Path(__file__).with_name("flydsl_compile.py")
    while cases:
        done = subprocess.run(
            [sys.executable, str(script), sources, target, folder], input=json.dumps(cases), capture_output=True, text=True,
            check=False,
        )
        cases = {case: of for case, of in cases.items() if not Path(folder, f"{case}.json").exists()}
        if done.returncode > 0:
            sys.exit(f"error: flydsl_compile.py failed for {target}:\n{done.stderr.strip()}")
        if done.returncode < 0:
            # LLVM ended the process at the first case that is missing. The others are compiled after it.
            case = next(iter(cases))
            line = next((line for line in done.stderr.splitlines() if "ERROR" in line), f"signal {-done.returncode}")
            Path(folder, f"{case}.json").write_text(json.dumps({"error": line}))
            del cases[case]


def revision(sources):
    """The revision of a copy of a repository."""
    command = ["git", "-C", sources, "describe", "--always", "--tags"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "an unknown revision"


def run(name, number, target, folder):
    """Runs a compiled case. Returns the outcome, and what there is to say about it."""
    case = CASES[name]
    launch = json.loads(Path(folder, f"case{number}.json").read_text())
    if "error" in launch:
        return FAILED if target in case.only else NOT_APPLICABLE, f"FlyDSL: {launch['error']}"
    tensors, expected, bound = case.tensors(np.random.default_rng(sum(name.encode())), target)
    arguments = []
    for argument in launch["arguments"]:
        if "tensor" in argument:
            tensor = tensors[argument["tensor"]]
            arguments.append(tensor if tensor.size else None)
        else:
            arguments.append(np.int32(argument["number"]))
    try:
        module = wavemill.Module.load(Path(folder, f"case{number}.co").read_bytes(), target)
        kernel = module[launch["kernel"]]
        stats = kernel[tuple(launch["grid"]), tuple(launch["block"])](*arguments, dynamic_lds=launch["lds"])
    except wavemill.Error as error:
        return FAILED, f"{type(error).__name__}: {error}".splitlines()[0]
    found = tensors[0].astype(np.float64).reshape(expected.shape)
    wrong = ~(np.abs(found - expected) <= bound)
    if wrong.any():
        at = tuple(int(one) for one in np.argwhere(wrong)[0])
        text = f"{int(wrong.sum())} of {wrong.size} numbers are wrong: [{', '.join(map(str, at))}] is {found[at]!r}"
        return FAILED, f"{text}, expected {expected[at]!r} within {bound[at]:.3g}"
    return PASSED, f"{stats.instructions} wave instructions"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", help="a copy of FlyDSL's repository")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this target")
    parser.add_argument("--case", action="append", choices=CASES, help="only this case")
    parser.add_argument("--results", help="a file for the outcomes")
    options = parser.parse_args()
    if not Path(options.sources, "kernels/gemm/preshuffle_gemm.py").is_file():
        sys.exit(f"error: {options.sources} has no kernels/gemm/preshuffle_gemm.py, expected a copy of FlyDSL's repository")
    names = options.case or list(CASES)
    results = Results("FlyDSL", f"{importlib.metadata.version('flydsl')}, kernels of {revision(options.sources)}")
    for target in options.target or TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            compile_cases(options.sources, target, names, folder)
            for number, name in enumerate(names):
                outcome, reason = run(name, number, target, folder)
                print(f"{target}  {name}: {outcome}{f' ({reason})' if reason else ''}", flush=True)
                results.add(name, target, outcome, reason if outcome != PASSED else "")
    if options.results:
        results.write(options.results)
    sys.exit(results.count(FAILED) > 0)


if __name__ == "__main__":
    main()
