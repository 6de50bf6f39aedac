"""Runs a program with Wavemill as the back end of Triton: `python -m wavemill.triton SCRIPT`."""

import argparse
import importlib.util
import os
import runpy
import sys


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m wavemill.triton",
        usage="%(prog)s [OPTIONS] SCRIPT [ARGUMENTS] | [OPTIONS] -m MODULE [ARGUMENTS]",
        description="Runs a program with Wavemill as the back end of Triton.",
        epilog="Without options, TRITON_DEFAULT_BACKEND=wavemill python SCRIPT does the same.",
    )
    parser.add_argument("--target", help="the product or target, instead of the variable WAVEMILL_TARGET")
    parser.add_argument(
        "--no-bench",
        action="store_true",
        help="run what do_bench measures once, and skip the reports of perf_report",
    )
    parser.add_argument(
        "--first-config", action="store_true", help="use the first configuration that fits, instead of autotuning"
    )
    parser.add_argument(
        "--pretend-cuda",
        action="store_true",
        help='let PyTorch pretend that it has a GPU, for programs that name "cuda"; tensors stay on the CPU',
    )
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT", help="the program")
    parser.add_argument("arguments", metavar="ARGUMENTS", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def main():
    parser = _parser()
    options = parser.parse_args()
    if not options.module and not os.path.exists(options.script):
        parser.error(f"there is no file {options.script}")

    from .driver import BACKEND, TARGET

    # The variables reach processes that the program starts; the other options do not.
    os.environ[BACKEND] = "wavemill"
    if options.target is not None:
        os.environ[TARGET] = options.target

    from triton.runtime.driver import driver

    import wavemill

    try:
        driver.default  # noqa: B018: it makes the driver.
    except wavemill.Error as error:
        parser.error(str(error))
    from . import programs

    if options.no_bench:
        programs.skip_benchmarks()
    if options.first_config:
        programs.use_first_configuration()
    if options.pretend_cuda:
        if importlib.util.find_spec("torch") is None:
            parser.error("--pretend-cuda needs PyTorch: pip install torch")
        from . import pretend

        pretend.start(driver.default.get_device_interface())

    sys.argv = [options.script, *options.arguments]
    if options.module:
        # As `python -m` does.
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.script))
        runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
