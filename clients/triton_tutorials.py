"""Runs Triton's tutorials on Wavemill: their files as they are, and some of them at a smaller size.

    python clients/triton_tutorials.py SOURCES RESULTS [--targets T,T] [--only 05,06] [--seconds N]

Each tutorial runs as `python -m wavemill.triton [OPTIONS] FILE`. With `--part NAME FILE`, this
program is that FILE: it imports a tutorial and calls its own check.
"""

import argparse
import json
import os
import re
import runpy
import subprocess
import sys
import time
from pathlib import Path

TUTORIALS = Path("python/tutorials")
TARGETS = ["gfx906", "gfx90a", "gfx942", "gfx950"]
QUICK = ["--no-bench", "--first-config"]
# Of numbers from 0 to 2: the tutorials add two, or compute an arcsine.
MOST_DIFFERENCE = 2**-21


class Tutorial:
    def __init__(self, file, options=(), part=None, targets=None, reason=None, variables=None):
        self.file, self.options, self.part, self.targets = file, list(options), part, targets or TARGETS
        # Why it cannot run; and what it needs in the environment.
        self.reason, self.variables = reason, variables or {}


ALL = {
    "01": Tutorial("01-vector-add.py"),
    "02": Tutorial("02-fused-softmax.py"),
    "03": Tutorial("03-matrix-multiplication.py"),
    "04": Tutorial("04-low-memory-dropout.py", part="dropout"),
    "05": Tutorial("05-layer-norm.py", part="layer_norm"),
    "06": Tutorial("06-fused-attention.py", part="attention"),
    "07": Tutorial("07-extern-functions.py", ["--pretend-cuda"]),
    "08": Tutorial("08-grouped-gemm.py", ["--pretend-cuda"], variables={"WAVEMILL_HOST_MEMORY": "process"}),
    "09": Tutorial("09-persistent-matmul.py", reason="needs the library hipBLASLt"),
    "10": Tutorial("10-block-scaled-matmul.py", ["--pretend-cuda"], part="block_scaled", targets=["gfx950"]),
}


# What `--part` runs.


def _load(file):
    return runpy.run_path(file, run_name="tutorial")


def dropout(file):
    """The tutorial prints its results alone. Here they are compared with Philox in numpy."""
    import numpy
    import torch

    tutorial = _load(file)
    x = torch.randn(1000)
    for seed in (123, 512):
        out = tutorial["seeded_dropout"](x, p=0.5, seed=seed).numpy()
        kept = _uniform(numpy.arange(1000), seed) > 0.5
        assert (out == numpy.where(kept, x.numpy() / 0.5, 0)).all()
    print("1000 numbers of two seeds as Philox of numpy")


def _uniform(offsets, seed):
    """Triton's `tl.rand`: the first word of Philox 4x32-10, as a number from 0 to 1 (Salmon et al.,
    "Parallel random numbers: as easy as 1, 2, 3", 2011).
    """
    import numpy

    mask = 0xFFFFFFFF
    c = [offsets.astype(numpy.uint64), *(numpy.zeros_like(offsets, numpy.uint64) for _ in range(3))]
    key = [seed & mask, seed >> 32]
    for _ in range(10):
        a, b = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        c = [(b >> 32) ^ c[1] ^ key[0], b & mask, (a >> 32) ^ c[3] ^ key[1], a & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    word = c[0].astype(numpy.uint32).view(numpy.int32)
    return numpy.where(word < 0, -word - 1, word).astype(numpy.float32) * numpy.float32(4.6566127342e-10)


def layer_norm(file):
    """The reference of the tutorial is PyTorch's layer_norm in f16; on a CPU, its gradients have
    large errors. Here the reference computes in f32.
    """
    import torch
    from torch.nn import functional

    half = functional.layer_norm

    def single(x, shape, weight, bias, eps):
        return half(x.float(), shape, weight.float(), bias.float(), eps).to(x.dtype)

    functional.layer_norm = single
    torch.manual_seed(0)
    # The tutorial checks itself when it is loaded.
    _load(file)
    print("outputs and gradients of 1151 x 8192 within 0.01")


def attention(file):
    import torch

    tutorial = _load(file)
    for causal in (False, True):
        tutorial["test_op"](1, 2, 128, 64, causal, False, "bwd", "triton-fp16")
        print(f"causal {causal}: output and gradients within 0.01", flush=True)
    if hasattr(torch, "float8_e5m2"):
        tutorial["test_op"](1, 2, 128, 64, True, False, "fwd", "triton-fp8")
        print("fp8: output within the tutorial's tolerance")


def block_scaled(file):
    tutorial = _load(file)
    for size in (16, 32):
        tutorial["validate_block_scaled_amd"](256, 256, 512, block_scale_type="mxfp4", mfma_nonkdim=size)


def run(sources, tutorial, target, seconds):
    if tutorial.reason:
        return "not applicable", tutorial.reason, 0
    if target not in tutorial.targets:
        return "not applicable", f"the tutorial is for {', '.join(tutorial.targets)}", 0
    file = sources / TUTORIALS / tutorial.file
    script = [file] if tutorial.part is None else [__file__, "--part", tutorial.part, file]
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "wavemill.triton",
        *QUICK,
        *tutorial.options,
        "--target",
        target,
        *script,
    ]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **tutorial.variables}
    start = time.time()
    try:
        said = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, env=environment, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return "failed", f"no result after {seconds} s", seconds
    taken = round(time.time() - start, 1)
    lines = [line.strip() for line in said.stdout.splitlines() if line.strip()]
    # Some tutorials print what is wrong, and go on.
    wrong = [line for line in lines if "❌" in line]
    for line in lines:
        found = re.fullmatch(r"The maximum difference between torch and triton is (\S+)", line)
        if found and not float(found[1]) <= MOST_DIFFERENCE:
            wrong.append(line)
    if said.returncode == 0 and wrong:
        return "failed", wrong[0], taken
    if said.returncode == 0:
        return "passed", lines[-1] if lines else "its own checks", taken
    errors = [line for line in said.stderr.splitlines() if line and not line.startswith(" ")]
    return "failed", (errors or ["no message"])[-1][:500], taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--only", default=",".join(ALL))
    parser.add_argument("--seconds", type=int, default=1800, help="the longest that a tutorial may take")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    for number in options.only.split(","):
        for target in options.targets.split(","):
            outcome, reason, seconds = run(options.sources.resolve(), ALL[number], target, options.seconds)
            print(number, target, outcome, reason, seconds, flush=True)
            with (options.results / "tutorials.jsonl").open("a") as file:
                entry = {
                    "case": ALL[number].file,
                    "target": target,
                    "outcome": outcome,
                    "reason": reason,
                    "seconds": seconds,
                }
                file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        globals()[sys.argv[2]](sys.argv[3])
    else:
        main()
