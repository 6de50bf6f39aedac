"""Measures how fast tinygrad's kernels run on Wavemill: instructions of waves in a second.

    python clients/tinygrad_speed.py [--target T]... [--threads N] [--runs N] [--emulator SOURCES]

Each program runs once to be compiled, and then --runs times; the best counts. The time is the processor time of all
threads during launches, so that other work of the host counts little: without tinygrad's work around launches. With
--emulator, the same programs run through tinygrad's mock driver on its own emulator, from a copy of its repository:
there, the time is that of its function `run_asm`, and the instructions are those that Wavemill counts.
"""

import argparse
import os
import subprocess
import sys
import time

from tinygrad_train import find_clang

TARGETS = ("gfx942", "gfx950")


def programs(tensor):
    """The programs: functions that run kernels. `tensor(type, *shape)` makes an argument."""
    from tinygrad import dtypes

    a, b = tensor("float32", 256, 256), tensor("float32", 256, 256)
    half = tensor("float16", 512, 512)
    rows, flat, images = tensor("float32", 256, 1024), tensor("float32", 1 << 20), tensor("float32", 4, 16, 32, 32)
    weights, short = tensor("float32", 32, 16, 3, 3), tensor("float32", 4096)
    return {
        "matmul f32 256": lambda: (a @ b).realize(),
        "matmul f16 512": lambda: half.matmul(half, dtype=dtypes.float).realize(),
        "softmax 256x1024": lambda: rows.softmax(1).realize(),
        "sin, 1M numbers": lambda: flat.sin().realize(),
        "sum, 1M numbers": lambda: flat.sum().realize(),
        "convolution 3x3": lambda: images.conv2d(weights).realize(),
        "sort 4096": lambda: short.sort()[0].realize(),
    }


def tensor_of(device):
    import numpy as np
    from tinygrad import Tensor

    generator = np.random.default_rng(1)

    def tensor(of, *shape):
        return Tensor(generator.standard_normal(shape).astype(of), device=device).realize()

    return tensor


class Timed:
    """A function, and the processor time of its calls."""

    def __init__(self, function):
        self.function, self.seconds = function, 0.0

    def __call__(self, *arguments, **options):
        start = time.process_time()
        try:
            return self.function(*arguments, **options)
        finally:
            self.seconds += time.process_time() - start


def measure(device, timed, instructions, runs):
    """Prints a line for each program: its name, instructions of waves and seconds."""
    from tinygrad import Device

    for name, program in programs(tensor_of(device)).items():
        program()
        Device[device].synchronize()
        best = None
        for _ in range(runs):
            before = (timed.seconds, instructions())
            program()
            Device[device].synchronize()
            one = (timed.seconds - before[0], instructions() - before[1])
            best = min(best or one, one)
        print(f"{name}\t{best[1]}\t{best[0]}", flush=True)


def measure_wavemill(runs):
    """Measures on the device WAVEMILL."""
    from tinygrad import Device
    from wavemill.tinygrad.device import WavemillProgram

    timed = Timed(WavemillProgram.__call__)
    WavemillProgram.__call__ = lambda *arguments, **options: timed(*arguments, **options)
    totals = Device["WAVEMILL"].totals
    measure("WAVEMILL", timed, lambda: totals.instructions, runs)


def measure_emulator(runs):
    """Measures on tinygrad's emulator, which does not count instructions."""
    import test.mockgpu.amd.emu as emu

    timed = emu.run_asm = Timed(emu.run_asm)
    measure("AMD", timed, lambda: 0, runs)


def child(mode, runs, **environment):
    """Instructions and seconds of each program, from a process of its own."""
    command = [sys.executable, __file__, "--measure", mode, "--runs", str(runs)]
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=False)
    lines = (line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 2)
    return {name: (int(instructions), float(seconds)) for name, instructions, seconds in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this target")
    parser.add_argument("--threads", default="1", help="host threads of a launch; 1 by default, as the emulator has")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program; 5 by default")
    parser.add_argument("--emulator", metavar="SOURCES", help="a copy of tinygrad's repository")
    parser.add_argument("--measure", choices=("wavemill", "emulator"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure == "wavemill":
        import wavemill.tinygrad  # noqa: F401: it registers the device

        return measure_wavemill(options.runs)
    if options.measure == "emulator":
        return measure_emulator(options.runs)
    find_clang()
    for target in options.target or TARGETS:
        ours = child("wavemill", options.runs, DEV="WAVEMILL", WAVEMILL_TARGET=target, WAVEMILL_THREADS=options.threads)
        theirs = {}
        if options.emulator and target == "gfx950":
            from wavemill.tinygrad import llvm

            llvm.choose()
            path = os.pathsep.join([options.emulator, *filter(None, [os.environ.get("PYTHONPATH")])])
            theirs = child("emulator", options.runs, DEV="MOCKKFD+AMD:LLVM:gfx950", PYTHONPATH=path)
        print(f"{target}\n\n| program | instructions | time | instr/s |", end="")
        print(" emulator | instr/s | times faster |" * bool(theirs))
        print("|---|---:|---:|---:|" + "---:|---:|---:|" * bool(theirs))
        for name, (instructions, seconds) in ours.items():
            line = f"| {name} | {instructions} | {1e3 * seconds:.2f} ms | {instructions / seconds / 1e6:.1f} M |"
            if name in theirs:
                slow = theirs[name][1]
                line += f" {1e3 * slow:.0f} ms | {instructions / slow / 1e6:.2f} M | {slow / seconds:.0f} |"
            print(line)
        print(flush=True)


if __name__ == "__main__":
    main()
