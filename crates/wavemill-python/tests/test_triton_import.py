"""What Triton's import does to the package, and the package to Triton's import."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wavemill

if importlib.util.find_spec("triton") is None:
    if os.environ.get("WAVEMILL_REQUIRE_ORACLES") == "1":
        raise ImportError("Triton is not installed")
    pytest.skip("Triton is not installed", allow_module_level=True)

ENTRY_POINT = "[triton.backends]\nwavemill = wavemill.triton\n"


def run(code, path=None, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_DEFAULT_BACKEND"}
    environment.update(variables)
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=environment
    )


@pytest.fixture
def broken(tmp_path):
    """A copy of the package, installed in front of the real one, whose native module is no
    library.
    """
    copy = tmp_path / "wavemill"
    shutil.copytree(Path(wavemill.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    [native] = copy.glob("_wavemill*.so")
    native.write_bytes(b"\x7fELF, but no library")
    distribution = tmp_path / "wavemill-0.0.0.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: wavemill\nVersion: 0.0.0\n")
    (distribution / "entry_points.txt").write_text(ENTRY_POINT)
    return tmp_path


def test_triton_finds_the_back_end_and_loads_nothing_of_it():
    said = run(
        "import sys, triton\n"
        "assert 'wavemill' in triton.backends.backends, 'the entry point is not installed'\n"
        "print(*sorted(name for name in sys.modules if name.startswith('wavemill')))"
    )
    assert said.returncode == 0, said.stderr
    parts = ["", ".errors", ".triton", ".triton.compiler", ".triton.driver"]
    assert said.stdout.split() == [f"wavemill{part}" for part in parts]


def test_the_modules_for_triton_import_only_the_standard_library():
    """With a Triton that has nothing but the base classes."""
    said = run(
        "import sys, types\n"
        "for name in ('triton', 'triton.backends', 'triton.backends.compiler', 'triton.backends.driver'):\n"
        "    sys.modules[name] = types.ModuleType(name)\n"
        "sys.modules['triton.backends.compiler'].BaseBackend = object\n"
        "sys.modules['triton.backends.driver'].DriverBase = object\n"
        "import wavemill.triton.compiler, wavemill.triton.driver\n"
        "known = {*sys.stdlib_module_names, 'wavemill', 'triton'}\n"
        "before = set(sys.modules)\n"
        "print(*(name for name in before if name.split('.')[0] not in known and not name.startswith('_')))"
    )
    assert said.returncode == 0, said.stderr
    # Files with the ending .pth of other packages may import something.
    startup = run("import sys; print(*sys.modules)").stdout.split()
    assert set(said.stdout.split()) <= set(startup)


def test_a_broken_native_module_does_not_break_triton(broken):
    said = run(
        "import triton, wavemill\n"
        "from triton.runtime.driver import driver\n"
        "print(wavemill.__file__)\n"
        "print(triton.backends.backends['wavemill'].driver.is_active())\n"
        "try: driver.default\n"
        "except RuntimeError as error: print(error)",
        broken,
    )
    assert said.returncode == 0, said.stderr
    file, active, error = said.stdout.splitlines()
    assert file.startswith(str(broken)) and active == "False" and "0 active drivers" in error


def test_a_broken_native_module_is_an_error_if_it_is_asked_for(broken):
    said = run(
        "import triton\nfrom triton.runtime.driver import driver\ndriver.default",
        broken,
        TRITON_DEFAULT_BACKEND="wavemill",
    )
    assert said.returncode == 1
    assert "ImportError" in said.stderr and "_wavemill" in said.stderr


def test_further_abstract_methods_do_not_break_triton():
    """A later Triton may ask back ends for more."""
    said = run(
        "import abc, inspect\n"
        "import triton.backends.driver as driver, triton.backends.compiler as compiler\n"
        "for base in (driver.DriverBase, compiler.BaseBackend):\n"
        "    base.more = abc.abstractmethod(lambda self: None)\n"
        "    base.__abstractmethods__ |= {'more'}\n"
        "import sys\n"
        "for name in [name for name in sys.modules if name.startswith('wavemill.triton')]: del sys.modules[name]\n"
        "import triton.backends\n"
        "found = triton.backends._discover_backends\n"
        "from wavemill.triton.driver import WavemillDriver\n"
        "from wavemill.triton.compiler import WavemillCompiler\n"
        "assert WavemillDriver.more and WavemillCompiler.more\n"
        "print(inspect.isabstract(WavemillDriver), inspect.isabstract(WavemillCompiler))"
    )
    assert said.stdout.split() == ["False", "False"], said.stderr


def test_free_threaded_python_imports_triton():
    said = run(
        "import sys, sysconfig\n"
        "sysconfig.get_config_vars()\n"
        "sys.abiflags = 't'\n"
        "import triton\n"
        "print(sorted(triton.backends.backends))"
    )
    assert "'wavemill'" in said.stdout, said.stderr
