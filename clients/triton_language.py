"""Runs Triton's own tests of its language on Wavemill.

    python clients/triton_language.py SOURCES RESULTS [--targets T,T] [--cases N] [--seconds N] [--minutes N] [--slow]

SOURCES is a copy of Triton's sources, of the version that is installed. RESULTS is a directory.
Cases are chosen by a hash of their name, the first of each test before all others, so that a larger
number has all cases of a smaller one.
One process runs all cases of a target. If a case ends it, another one starts behind that case.
Results of an earlier run in the same directory are kept; with `--slow`, cases that exceeded the
limit of that run are run again.
"""

import argparse
import collections
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = Path("python/test/unit/language")
TARGETS = ["gfx906", "gfx90a", "gfx942", "gfx950"]
# Plugins of pytest: those of all targets, and further ones of some.
PLUGINS = ["triton_bf16_scans", "triton_f16_products", "triton_reordered", "triton_races", "triton_cases"]
TARGET_PLUGINS = {"gfx90a": ["triton_mi200"], "gfx942": ["triton_cancellation"]}


def pytest(sources, arguments, target, **variables):
    """The command and environment of a run of pytest, from `TESTS`: a run from the folder `python`
    would import Triton from there, where it is not compiled.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(sources / TESTS), os.environ.get("PYTHONPATH", "")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
        # Cases are small: the threads of PyTorch cost more than they save.
        "OMP_NUM_THREADS": "1",
        **variables,
    }
    command = [sys.executable, "-m", "wavemill.triton", "--pretend-cuda", "--target", target, "-m", "pytest"]
    return [
        *command,
        "--rootdir",
        str(sources / "python"),
        "-p",
        "no:cacheprovider",
        "-q",
        *map(str, arguments),
    ], environment


def collect(sources, results, target):
    """The names of all cases of a target: some tests have others on each. Files that cannot be
    imported are an error.
    """
    path = results / f"{target}.cases.json"
    if not path.exists():
        command, environment = pytest(
            sources, ["--collect-only", "-p", "triton_cases", sources / TESTS], target, WAVEMILL_COLLECT=str(path)
        )
        said = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=sources / TESTS)
        found = json.loads(path.read_text()) if path.exists() else {"cases": [], "errors": {}}
        if not found["cases"] or found["errors"]:
            path.unlink(missing_ok=True)
            errors = "".join(f"{file}: {reason}\n" for file, reason in found["errors"].items())
            sys.exit(f"pytest cannot collect all cases:\n{errors or said.stdout[-2000:] + said.stderr[-2000:]}")
    return json.loads(path.read_text())["cases"]


def ordered(cases):
    """The cases by a hash of their name, the first of each test before all others."""
    by_hash = sorted(cases, key=lambda case: hashlib.sha256(case.encode()).digest())
    first = {}
    for case in by_hash:
        first.setdefault(case.split("[")[0], case)
    chosen = set(first.values())
    return [*first.values(), *(case for case in by_hash if case not in chosen)]


def read(path, start=0):
    """The last word on each case, from a position in the file: (outcome, reason, seconds), or
    `None` for the cases that started alone.
    """
    known = {}
    if path.exists():
        for line in path.read_bytes()[start:].decode().splitlines():
            entry = json.loads(line)
            if "start" in entry:
                known.setdefault(entry["case"], None)
            else:
                known[entry["case"]] = (entry["outcome"], entry["reason"], entry["seconds"])
    return known


def run(sources, results, target, cases, seconds, slow, deadline):
    """Runs cases in their order. Those that an earlier run did not end run again, and if `slow`
    those that were too slow for it.
    """
    path = results / f"{target}.jsonl"
    known = read(path)
    left = [case for case in cases if known.get(case) is None or slow and known[case][0] == "slow"]
    while left and time.time() < deadline:
        listing = results / f"{target}.list.json"
        listing.write_text(json.dumps(left))
        files = dict.fromkeys(case.split("::")[0] for case in left)
        plugins = [part for name in PLUGINS + TARGET_PLUGINS.get(target, []) for part in ("-p", name)]
        before = path.stat().st_size if path.exists() else 0
        # Triton's cache is of no use, as each case runs once.
        with tempfile.TemporaryDirectory() as cache:
            command, environment = pytest(
                sources,
                [*plugins, *(sources / "python" / file for file in files)],
                target,
                WAVEMILL_CASES=str(listing),
                WAVEMILL_RESULTS=str(path),
                WAVEMILL_CASE_SECONDS=str(seconds),
                WAVEMILL_DEADLINE=str(deadline),
                TRITON_CACHE_DIR=cache,
            )
            said = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=sources / TESTS)
        ran = read(path, before)
        for case in (case for case, result in ran.items() if result is None):
            lines = said.stderr.strip().splitlines() or said.stdout.strip().splitlines() or ["no output"]
            error = next((line for line in lines if "LLVM ERROR" in line or "Assertion" in line), lines[-1])
            reason = f"ended the process ({said.returncode}): {error[:500]}"
            with path.open("a") as file:
                file.write(json.dumps({"case": case, "outcome": "crashed", "reason": reason, "seconds": 0}) + "\n")
        if not ran:
            sys.exit(f"{target}: pytest ran no case of {len(left)}:\n{said.stdout[-1500:]}{said.stderr[-1500:]}")
        left = [case for case in left if case not in ran]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--cases", type=int, default=3000, help="how many cases of each target")
    parser.add_argument("--seconds", type=int, default=60, help="the longest processor time of a case")
    parser.add_argument("--minutes", type=float, default=600, help="no case begins after this time")
    parser.add_argument("--slow", action="store_true", help="run cases again that were too slow for their limit")
    options = parser.parse_args()
    sources, results = options.sources.resolve(), options.results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    deadline = time.time() + 60 * options.minutes
    for target in options.targets.split(","):
        every = collect(sources, results, target)
        chosen = ordered(every)[: options.cases]
        print(f"{target}: {len(chosen)} of {len(every)} cases", flush=True)
        run(sources, results, target, chosen, options.seconds, options.slow, deadline)
        outcomes = collections.Counter(known[0] for known in read(results / f"{target}.jsonl").values() if known)
        print(target, dict(outcomes), flush=True)


if __name__ == "__main__":
    main()
