"""A plugin of pytest that collects cases, or runs those of a list and records each result at once.

    WAVEMILL_COLLECT=FILE pytest --collect-only -p triton_cases ...
    WAVEMILL_CASES=FILE WAVEMILL_RESULTS=FILE WAVEMILL_CASE_SECONDS=N WAVEMILL_DEADLINE=TIME \
        pytest -p triton_cases ...

The first writes a JSON object: `cases`, the names of all cases, and `errors`, the reason of each
file that has none. The list of the second is a JSON array of names. The results have one JSON
object per line: `case`, and `start` or `outcome` with `reason` and `seconds`. A case that started
and has no outcome ended the process. The outcome of a case that exceeds the limit is `slow`;
`triton_bf16_scans` explains `outdated`, `triton_f16_products` explains `imprecise`, `triton_races`
explains `racy`, `triton_cancellation` explains `cancelled`, and `triton_reordered` its own.
"""

import json
import os
import re
import signal
import time

import pytest
from triton_bf16_scans import OUTDATED
from triton_cancellation import CANCELLED
from triton_f16_products import IMPRECISE
from triton_races import RACY
from triton_reordered import REORDERED

# Why the outcomes of other plugins are no failures.
_EXPLAINED = {"outdated": OUTDATED, "imprecise": IMPRECISE, "reordered": REORDERED, "racy": RACY, "cancelled": CANCELLED}

_collection = {"cases": [], "errors": {}}
_results = open(os.environ.get("WAVEMILL_RESULTS", os.devnull), "a", buffering=1)
_seconds = int(os.environ.get("WAVEMILL_CASE_SECONDS", "60"))
_deadline = float(os.environ.get("WAVEMILL_DEADLINE", "inf"))


def _write(**fields):
    _results.write(json.dumps(fields) + "\n")


def pytest_collectreport(report):
    if report.outcome != "passed":
        _collection["errors"][report.nodeid] = _reason(report)


# First, as pytest's own order of items costs much if they are many.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if "WAVEMILL_COLLECT" in os.environ:
        _collection["cases"] = [item.nodeid for item in items]
        return
    with open(os.environ["WAVEMILL_CASES"]) as file:
        chosen = {case: position for position, case in enumerate(json.load(file))}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = sorted((item for item in items if item.nodeid in chosen), key=lambda item: chosen[item.nodeid])


def pytest_sessionfinish():
    if "WAVEMILL_COLLECT" in os.environ:
        with open(os.environ["WAVEMILL_COLLECT"], "w") as file:
            json.dump(_collection, file)


class TooSlow(BaseException):
    """The case took too long. Tests do not catch it."""


def _too_slow(signum, frame):
    raise TooSlow


# Processor time, as other programs may run; and the time of the clock, for cases that wait.
_WAIT = 20


def pytest_runtest_logstart(nodeid, location):
    _write(case=nodeid, start=time.time())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    signal.signal(signal.SIGPROF, _too_slow)
    signal.signal(signal.SIGALRM, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, _seconds)
    signal.alarm(_WAIT * _seconds)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(TooSlow):
        report.outcome = "slow"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    ran = yield
    if time.time() > _deadline:
        item.session.shouldstop = "the deadline is over"
    return ran


def pytest_runtest_logreport(report):
    # Set-up and tear-down count if they fail or skip.
    if report.when == "call" or report.outcome != "passed":
        _write(case=report.nodeid, outcome=report.outcome, reason=_reason(report), seconds=round(report.duration, 3))


def _reason(report):
    if report.outcome == "passed":
        return ""
    if report.outcome == "slow":
        return f"no result after {_seconds} s of processor time"
    if report.outcome in _EXPLAINED:
        return _EXPLAINED[report.outcome]
    if hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail}"
    if isinstance(report.longrepr, tuple):
        return re.sub(r"^Skipped: ", "", report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return text.strip()[:2000]
