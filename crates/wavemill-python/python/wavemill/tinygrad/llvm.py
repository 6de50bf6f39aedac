"""The libLLVM that tinygrad compiles with."""

import glob
import os
import re
import sys

#: The first version of LLVM that can compile for all targets of this package.
OLDEST = 19

#: Where distributions have libLLVM.
PATTERNS = (
    ["/opt/homebrew/opt/llvm*/lib/libLLVM*.dylib", "/usr/local/opt/llvm*/lib/libLLVM*.dylib"]
    if sys.platform == "darwin"
    else [
        "/usr/lib/*-linux-gnu/libLLVM*.so*",
        "/usr/lib/llvm-*/lib/libLLVM*.so*",
        "/usr/lib/llvm*/lib64/libLLVM*.so*",
        "/usr/lib64/libLLVM*.so*",
        "/usr/lib64/llvm*/lib64/libLLVM*.so*",
        "/usr/lib/libLLVM*.so*",
        "/usr/local/lib/libLLVM*.so*",
    ]
)


def version(path):
    """The version of LLVM, as numbers, that the path of a library names; () if it names none."""
    name = re.search(r"libLLVM[-.](?:so\.)?(\d+(?:\.\d+)*)", os.path.basename(path))
    folder = re.search(r"/llvm[-@]?(\d+)", path)
    found = name or folder
    return tuple(int(number) for number in found[1].split(".")) if found else ()


def newest():
    """The path of the newest libLLVM of the host; None if there is none of version OLDEST."""
    paths = {os.path.realpath(path) for pattern in PATTERNS for path in glob.glob(pattern)}
    known = [path for path in paths if version(path) >= (OLDEST,) and os.path.isfile(path)]
    return max(known, key=version, default=None)


def choose():
    """Sets LLVM_PATH, from which tinygrad loads libLLVM, unless it is set.

    tinygrad loads the first libLLVM that it finds, which can be too old for gfx950.
    """
    if not os.environ.get("LLVM_PATH"):
        path = newest()
        if path is not None:
            os.environ["LLVM_PATH"] = path
