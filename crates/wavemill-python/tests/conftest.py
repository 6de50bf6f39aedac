"""Common parts of the tests: code objects of the repository."""

import signal
from pathlib import Path

import pytest

import wavemill

ROOT = Path(__file__).resolve().parents[3]
BIN = ROOT / "kernels" / "bin"
OBJECTS = ROOT / "crates" / "wavemill-object" / "tests" / "fixtures"
TARGETS = ["gfx906", "gfx90a", "gfx942", "gfx950"]


def code_object(name, target="gfx942"):
    return BIN / target / f"{name}.co"


@pytest.fixture(autouse=True, scope="session")
def ctrl_c():
    """Shells start programs in the background without Ctrl-C. Tests of it would wait for ever."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=TARGETS)
def target(request):
    return request.param


@pytest.fixture(scope="session")
def vector_add():
    return wavemill.Module.load(code_object("vector_add"))["vector_add"]


@pytest.fixture(scope="session")
def source_faults():
    return wavemill.Module.load(code_object("faults/source"))
