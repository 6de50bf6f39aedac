"""Lets PyTorch from PyPI import on a machine without the packages of CUDA, which have about 4 GB.

    python clients/torch_stubs.py SITE_PACKAGES/torch/lib

PyPI's build for x86-64 is linked with CUDA's libraries, and the loader wants them even if only the
CPU computes. This makes empty libraries with the same names and symbols next to PyTorch's. Their
functions return an error, so PyTorch finds no GPU. It needs `objdump` and `cc`.
"""

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

CUDA = re.compile(r"lib(cu|nccl|nv)")
# The library of symbols that have no version, by the start of their names; the first that fits.
PREFIXES = {
    "cudnn": "libcudnn.so",
    "nccl": "libnccl.so",
    "cusparseLt": "libcusparseLt.so",
    "cusparse": "libcusparse.so",
    "cufft": "libcufft.so",
    "cuFile": "libcufile.so",
    "cublasLt": "libcublasLt.so",
    "cublas": "libcublas.so",
    "nvrtc": "libnvrtc.so",
    "cusolver": "libcusolver.so",
    "cupti": "libcupti.so",
    "nvshmem": "libnvshmem_host.so",
    "cuda": "libcudart.so",
    "__cuda": "libcudart.so",
    "cu": "libcuda.so",
}
# What functions return: an error code (100, no device), except for those that PyTorch calls while
# it is loaded.
BODIES = {
    "cudaGetErrorString": 'const char *%s(void) { return "no CUDA: this is a stub"; }',
    "cudaGetErrorName": 'const char *%s(void) { return "cudaErrorNoDevice"; }',
    "cudaGetLastError": "int %s(void) { return 0; }",
    "cudaPeekAtLastError": "int %s(void) { return 0; }",
    "cudaGetDeviceCount": "int %s(int *count) { *count = 0; return 100; }",
    "__cudaRegisterFatBinary": "void *%s(void) { return memory; }",
}


def body(name):
    text = BODIES.get(name)
    if text is None:
        text = "void *%s(void) { return 0; }" if name.startswith("__cuda") else "int %s(void) { return 100; }"
    return text % name


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(library):
    """The dynamic symbols of a library: (name, version, whether it lacks a definition)."""
    for line in output("objdump", "-T", library).splitlines():
        found = re.match(r"[0-9a-f]{16} .{7} (\S+)\s+[0-9a-f]{16}\s+(?:\(?([^\s)]+)\)?\s+)?(\S+)$", line)
        if found:
            section, version, name = found.groups()
            yield name, version or "", section == "*UND*"


def main():
    folder = Path(sys.argv[1])
    libraries = list(folder.glob("*.so*"))
    present = {library.name for library in libraries}
    needed = {name for one in libraries for name in re.findall(r"NEEDED\s+(\S+)", output("objdump", "-p", one))}
    missing = sorted(name for name in needed - present if CUDA.match(name))
    everything = {entry for library in libraries for entry in symbols(library)}
    defined = {name for name, _, undefined in everything if not undefined}
    wanted = defaultdict(set)
    for name, version, undefined in everything:
        if not undefined or name in defined:
            continue
        if version in missing:
            wanted[version].add((name, version))
            continue
        library = next((one for start, one in PREFIXES.items() if name.startswith(start)), None)
        library = next((one for one in missing if library and one.startswith(f"{library}.")), None)
        if library and not version.startswith(("GLIBC", "GCC", "CXX")):
            wanted[library].add((name, version))
    with tempfile.TemporaryDirectory() as work:
        for library in missing:
            source, versions = Path(work, "stub.c"), defaultdict(list)
            lines = ["static char memory[4096];", "void *stub(void) { return memory; }"]
            for name, version in sorted(wanted[library]):
                lines.append(body(name))
                versions[version].append(name)
            source.write_text("\n".join(lines) + "\n")
            command = [
                "cc",
                "-shared",
                "-fPIC",
                "-w",
                "-fno-builtin",
                f"-Wl,-soname,{library}",
                "-o",
                folder / library,
                source,
            ]
            named = {version: names for version, names in versions.items() if version}
            if named:
                script = Path(work, "versions")
                script.write_text(
                    "".join(
                        f"{version} {{ {' '.join(f'{n};' for n in names)} }};\n" for version, names in named.items()
                    )
                )
                command.append(f"-Wl,--version-script={script}")
            subprocess.run(list(map(str, command)), check=True)
            print(f"{library}: {len(wanted[library])} symbols")


if __name__ == "__main__":
    main()
