"""Builds the package: maturin builds the native module, and cargo the command `wavemill` that comes along."""

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import maturin
from maturin import *  # noqa: F403: the hooks that are not below

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "data" / "scripts"
# Maturin looks for the folder in all hooks.
SCRIPTS.mkdir(parents=True, exist_ok=True)


def _command():
    """Builds the command into the folder that maturin packs. A source distribution does not have its crate."""
    if not (HERE.parent / "wavemill-cli" / "Cargo.toml").exists():
        return
    build = ["cargo", "build", "--release", "--locked", "--package", "wavemill-cli", "--message-format=json"]
    built = subprocess.run(build, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in built.splitlines() if line.startswith("{")]
    [program] = [one["executable"] for one in messages if one.get("executable")]
    # As a new file: another process may run the old one.
    command = SCRIPTS / Path(program).name
    command.unlink(missing_ok=True)
    shutil.copy2(program, command)


def _check_interpreter():
    """The native module needs the stable ABI, which free-threaded Python does not have."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        # Without a traceback: pip shows what a back end prints.
        sys.exit(
            "error: wavemill does not support free-threaded Python yet: use an interpreter without the suffix t, such as "
            "python3.14"
        )


def get_requires_for_build_wheel(*args, **options):
    _check_interpreter()
    return maturin.get_requires_for_build_wheel(*args, **options)


def get_requires_for_build_editable(*args, **options):
    _check_interpreter()
    return maturin.get_requires_for_build_editable(*args, **options)


def build_wheel(*args, **options):
    _check_interpreter()
    _command()
    return maturin.build_wheel(*args, **options)


def build_editable(*args, **options):
    _check_interpreter()
    _command()
    return maturin.build_editable(*args, **options)
