"""Runs a program with WAVEMILL as tinygrad's default device.

    python -m wavemill.tinygrad [--target T] [--threads N] SCRIPT [ARGUMENT...]
    python -m wavemill.tinygrad [--target T] [--threads N] -m MODULE [ARGUMENT...]
"""

import argparse
import os
import runpy
import sys

from tinygrad.helpers import DEV

from . import device


def parse(arguments):
    """The options of the command, and the arguments of the program, the first of which is its name."""
    parser = argparse.ArgumentParser(
        prog="python -m wavemill.tinygrad",
        description="Run a program that uses tinygrad, with Wavemill as tinygrad's default device.",
    )
    parser.add_argument(
        "--target",
        help=f"a target or product: {', '.join(device.TARGETS)}, mi300x, ...; default: WAVEMILL_TARGET, or "
        f"{device.TARGETS[0]}",
    )
    parser.add_argument("--threads", help="host threads of a launch; default: WAVEMILL_THREADS, or all cores")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT", help="the program")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="its arguments")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    for name, value in (("WAVEMILL_TARGET", options.target), ("WAVEMILL_THREADS", options.threads)):
        if value is not None:
            os.environ[name] = value
    if DEV.device != "WAVEMILL":
        if DEV.device:
            print(f"note: DEV is {DEV!r}; the program runs on WAVEMILL", file=sys.stderr)
        # The environment is for processes that the program starts.
        DEV.value = os.environ["DEV"] = "WAVEMILL"
    try:
        # Names that are wrong are reported before the program runs.
        device.open_device(device.target_name())
    except device.wavemill.Error as error:
        sys.exit(f"error: {error}")
    sys.argv = [options.script, *options.arguments]
    if options.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        if not os.path.isfile(options.script):
            sys.exit(f"error: {options.script} is no file")
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
        runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
