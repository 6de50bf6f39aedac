"""A plugin of pytest that runs the cases of a list, and records each result at once.

    WAVEMILL_CASES=FILE WAVEMILL_RESULTS=FILE WAVEMILL_CASE_SECONDS=N pytest -p cases ...

The list has one name of a case per line. The results have one JSON object per line: `case`, and
`start` or `outcome` with `reason` and `seconds`. A case that started and has no outcome ended the
process.
"""

import json
import os
import re
import signal
import time

_results = open(os.environ["WAVEMILL_RESULTS"], "a", buffering=1)
_seconds = int(os.environ.get("WAVEMILL_CASE_SECONDS", "60"))


def _write(**fields):
    _results.write(json.dumps(fields) + "\n")


def pytest_collection_modifyitems(config, items):
    with open(os.environ["WAVEMILL_CASES"]) as file:
        chosen = set(file.read().splitlines())
    kept = [item for item in items if item.nodeid in chosen]
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = kept


class TooSlow(BaseException):
    """The case took too long. Tests do not catch it."""


def _too_slow(signum, frame):
    raise TooSlow(f"no result after {_seconds} s of processor time")


# Processor time, as other programs may run; and the time of the clock, for cases that wait.
_WAIT = 20


def pytest_runtest_logstart(nodeid, location):
    _write(case=nodeid, start=time.time())
    signal.signal(signal.SIGPROF, _too_slow)
    signal.signal(signal.SIGALRM, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, _seconds)
    signal.alarm(_WAIT * _seconds)


def pytest_runtest_logfinish(nodeid, location):
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)


def pytest_runtest_logreport(report):
    # Set-up and tear-down count if they fail or skip.
    if report.when == "call" or report.outcome != "passed":
        _write(case=report.nodeid, outcome=report.outcome, reason=_reason(report), seconds=round(report.duration, 3))


def _reason(report):
    if report.outcome == "passed":
        return ""
    if hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail}"
    if isinstance(report.longrepr, tuple):
        return re.sub(r"^Skipped: ", "", report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return text.strip()[:2000]
