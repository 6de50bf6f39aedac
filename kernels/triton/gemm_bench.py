"""Times products of 1024 x 1024 matrices, compiled by Triton, in `wavemill run`.

    python gemm_bench.py FOLDER [--print]

Compiles the kernels into FOLDER and prints a Markdown table: seconds of the launch, the best of three. With --print, it
prints the command lines instead. The result of each kernel is compared with NumPy first. WAVEMILL is the path of the program.
"""

import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from check import command_of, run
from compile import HERE, emit, load

sys.path.insert(0, str(HERE))
from references import Launch, gemm_of_size  # noqa: E402
from variants import Variant  # noqa: E402

SIZE = 1024
TIMES = 3
# Format, types, targets; the tile, wavefronts and stages that a user would choose.
KERNELS = [
    ("f16", "*fp16 *fp16 *fp16", ["gfx942", "gfx950"], (128, 128, 64), 8),
    ("bf16", "*bf16 *bf16 *bf16", ["gfx942", "gfx950"], (128, 128, 64), 8),
    ("fp8", "*fp8e4b8 *fp8e4b8 *fp16", ["gfx942"], (128, 128, 128), 8),
    ("fp8", "*fp8e4nv *fp8e4nv *fp16", ["gfx950"], (128, 128, 128), 8),
    ("i8", "*i8 *i8 *i32", ["gfx942", "gfx950"], (128, 128, 128), 8),
    ("f16, small tiles", "*fp16 *fp16 *fp16", ["gfx942", "gfx950"], (64, 64, 64), 4),
]


def prepare(folder, name, types, target, tile, warps):
    """Compiles a kernel and writes its operands. The launch, the command line that runs it, and the folder of operands."""
    import products

    m, n, k = tile
    constants = dict(M=m, N=n, K=k, TA=False, TB=False, EVEN=True, PRECISION="ieee", GROUP=4)
    file = re.sub("[^a-z0-9]+", "_", name)
    variant = Variant(file, products.gemm, types.split() + ["i32"] * 3, constants, warps, 2, None, {}, True)
    code = emit(variant, target, folder, False)
    launch, operands = Launch(variant, target), code.with_suffix("")
    gemm_of_size(launch, np.random.default_rng(1024), SIZE, SIZE, SIZE)
    operands.mkdir(exist_ok=True)
    return launch, command_of(launch, code, operands, os.environ.get("WAVEMILL", "wavemill"), []), operands


def check(launch, command, folder):
    for share, message in run(launch, command, folder):
        if share > 1:
            sys.exit(f"error: {' '.join(command)}: {message}")


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(command, threads):
    """The time of the launch, without loading code and filling buffers: the best of several. With a star if that run did
    not get the cores that it has threads for."""
    runs = []
    for _ in range(TIMES):
        before, begin = cpu_seconds(), time.monotonic()
        done = subprocess.run([*command, "--stats"], capture_output=True, text=True)
        cores = (cpu_seconds() - before) / (time.monotonic() - begin)
        found = re.search(r"^time +([0-9.]+) (s|ms|us)$", done.stdout + done.stderr, re.MULTILINE)
        if done.returncode or not found:
            sys.exit(f"error: {' '.join(command)}: exit code {done.returncode}: {done.stderr}")
        runs.append((float(found[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[found[2]], cores))
    best, cores = min(runs)
    return f"{best:.3f} s" + "*" * (cores < 0.85 * threads)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--print"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    load()
    settings = [["--threads", threads, "--mfma", rule] for rule in ("exact", "fast") for threads in ("1", "2")]
    if "--print" not in sys.argv:
        columns = [f"{rule}, {threads} thread{'s' * (threads != '1')}" for _, threads, _, rule in settings]
        print(f"| format | target | tile | {' | '.join(columns)} |")
        print("|---|---|---|" + "--:|" * len(settings))
    starved = False
    for name, types, targets, tile, warps in KERNELS:
        for target in targets:
            launch, command, operands = prepare(folder, name, types, target, tile, warps)
            if "--print" in sys.argv:
                for setting in settings:
                    print(" ".join([*command, *setting, "--stats"]))
                continue
            check(launch, command, operands)
            times = [seconds([*command, *setting], int(setting[1])) for setting in settings]
            shape = "x".join(map(str, tile))
            starved |= any("*" in cell for cell in times)
            print(f"| {name} | {target} | {shape}, {warps} waves | {' | '.join(times)} |", flush=True)
    if starved:
        print("\n\\* The run had less than 85 % of the cores for its threads: other programs ran, or threads waited. Not valid.")


if __name__ == "__main__":
    main()
