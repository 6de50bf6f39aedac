"""Runs tinygrad's own tests with Wavemill, and counts their outcomes.

    python clients/tinygrad_suite.py SOURCES WORK [--target T]... [--file F]... [--mock] [--part N] [--results FILE]

SOURCES is a copy of tinygrad's repository: its wheel has no tests. The tests run as they are, with DEV=WAVEMILL, or with
--mock through tinygrad's mock driver of AMD and `run_asm`. WORK keeps what pytest wrote, and a second run continues it.
With --part, every N-th test of a file runs.
Tests that fail run again on tinygrad's CPU backend, which needs clang: a test that fails there, too, is not applicable.
"""

import argparse
import importlib.metadata
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

from results import FAILED, NOT_APPLICABLE, PASSED, Results
from tinygrad_train import find_clang

TARGETS = ("gfx942", "gfx950")

#: Targets that the tests can run on, too: tinygrad has no matrix instructions of these.
OTHERS = ("gfx90a", "gfx906")

#: What tinygrad's own CI runs on its emulator of gfx950, without tests of its driver.
FILES = (
    "test/test_tiny.py",
    "test/backend/test_ops.py",
    "test/backend/test_dtype.py",
    "test/backend/test_dtype_alu.py",
    "test/backend/test_linearizer.py",
    "test/backend/test_randomness.py",
    "test/backend/test_jit.py",
    "test/backend/test_symbolic_jit.py",
    "test/backend/test_subbuffer.py",
    "test/backend/test_graph.py",
    "test/backend/test_multitensor.py",
    "test/backend/test_asm_gemm.py",
)

#: Seconds of a test.
LIMIT = 300


def pytest(sources, report, device, target, plugin, tests):
    """Runs tests, and writes a report."""
    environment = {
        **os.environ,
        "DEV": device,
        "WAVEMILL_TARGET": target,
        "SKIP_SLOW_TEST": "1",
        "PYTHONPATH": str(sources),
        "PARALLEL": os.environ.get("PARALLEL", "0"),
    }
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--timeout", str(LIMIT), "--tb=line"]
    partial = report.with_suffix(".partial")
    command += ["-p", plugin, "--junitxml", str(partial), "-o", "junit_family=xunit1", *tests]
    with open(report.with_suffix(".log"), "w") as log:
        subprocess.run(command, cwd=sources, env=environment, stdout=log, stderr=log, check=False)
    if not partial.exists():
        sys.exit(f"error: pytest wrote no report: see {report.with_suffix('.log')}")
    partial.rename(report)


def collect(sources, file, target, part):
    """Every part-th test of a file."""
    environment = {**os.environ, "DEV": "WAVEMILL", "WAVEMILL_TARGET": target, "PYTHONPATH": str(sources)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "wavemill.tinygrad", "-q"]
    done = subprocess.run(
        [*command, "--collect-only", file], cwd=sources, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return [line for line in done.stdout.splitlines() if "::" in line][::part]


def outcomes(report):
    """The outcome of each test in a report, and the first line of the reason."""
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        for kind, outcome in (("skipped", NOT_APPLICABLE), ("failure", FAILED), ("error", FAILED)):
            found = case.find(kind)
            if found is not None:
                yield name, outcome, " ".join((found.get("message") or "").split())[:160]
                break
        else:
            yield name, PASSED, ""


def run_file(file, target, mock, part, sources, work):
    """Runs the tests of a file on a target. Yields the name, the outcome and the reason of each."""
    device = f"MOCKKFD+AMD:LLVM:{target}" if mock else "WAVEMILL"
    plugin = "wavemill.tinygrad.mockgpu" if mock else "wavemill.tinygrad"
    stem = f"{'mock-' if mock else ''}{target}-{Path(file).stem}{f'-{part}' if part > 1 else ''}"
    report = work / f"{stem}.xml"
    if not report.exists():
        tests = [file] if part == 1 else collect(sources, file, target, part)
        pytest(sources, report, device, target, plugin, tests)
    found = list(outcomes(report))
    failed = [name for name, outcome, _ in found if outcome == FAILED]
    also = {}
    if failed:
        again = work / f"{stem}-cpu.xml"
        if not again.exists():
            tests = [f"{file}::{name}" for name in failed]
            pytest(sources, again, "CPU", target, "wavemill.tinygrad", tests)
        also = {name: reason for name, outcome, reason in outcomes(again) if outcome == FAILED}
    for name, outcome, reason in found:
        if name in also:
            test = name.rpartition("::")[2]
            yield name, NOT_APPLICABLE, f"`{test}` fails on tinygrad's CPU backend with this PyTorch, too"
        else:
            yield name, outcome, reason if outcome != FAILED else f"`{name}`: {reason}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", type=Path, help="a copy of tinygrad's repository")
    parser.add_argument("work", type=Path, help="a folder for reports")
    parser.add_argument("--target", action="append", choices=TARGETS + OTHERS, help="only this target")
    parser.add_argument("--file", action="append", help="only this file of tests")
    parser.add_argument("--mock", action="store_true", help="through the mock driver and run_asm")
    parser.add_argument("--part", type=int, default=1, metavar="N", help="every N-th test only")
    parser.add_argument("--results", help="a file for the outcomes")
    options = parser.parse_args()
    if not (options.sources / "test" / "test_tiny.py").is_file():
        sys.exit(f"error: {options.sources} is no copy of tinygrad's repository: it has no test/test_tiny.py")
    if not find_clang():
        sys.exit("error: tinygrad's CPU backend needs clang: install it, or set CC")
    options.work.mkdir(parents=True, exist_ok=True)
    client = "tinygrad, mock driver with run_asm" if options.mock else "tinygrad, its own tests"
    results = Results(client, importlib.metadata.version("tinygrad"))
    for target in options.target or TARGETS:
        for file in options.file or FILES:
            before = {outcome: results.count(outcome) for outcome in (PASSED, FAILED, NOT_APPLICABLE)}
            found = run_file(file, target, options.mock, options.part, options.sources, options.work.absolute())
            for _, outcome, reason in found:
                name = Path(file).name if options.part == 1 else f"{Path(file).name}, one test in {options.part}"
                results.add(name, target, outcome, reason)
                if outcome == FAILED:
                    print(f"{target}  {file}: failed: {reason}")
            counts = ", ".join(f"{results.count(outcome) - before[outcome]} {outcome}" for outcome in before)
            print(f"{target}  {file}: {counts}", flush=True)
    if options.results:
        results.write(options.results)
    sys.exit(results.count(FAILED) > 0)


if __name__ == "__main__":
    main()
