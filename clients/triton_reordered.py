"""A plugin of pytest for `test_cat` of Triton's tests: concatenation in any order.

With `can_reorder=True`, Triton 3.9 concatenates the elements that each work-item has, so that those
of both operands take turns. Tests of a revision where Triton ignores the option expect them in
order. If such a case fails, and the result has each expected element once, the outcome of the case
is `reordered`, else it stays `failed`.
"""

import pytest

REORDERED = (
    "the test expects elements in order in spite of `can_reorder=True`, and Triton 3.9 orders them as its layout has them: "
    "the result has each of them once"
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if (
        report.failed
        and report.when == "call"
        and item.originalname == "test_cat"
        and item.callspec.params["can_reorder"]
        and call.excinfo.errisinstance(AssertionError)
    ):
        test = next(entry.frame.f_locals for entry in call.excinfo.traceback if entry.name == item.originalname)
        if test["z"].sort().values.equal(test["z_ref"].sort().values):
            report.outcome = "reordered"
    return report
