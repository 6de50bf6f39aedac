"""Compiles FlyDSL's GEMM for a target: code objects, and how FlyDSL would launch them.

    python clients/flydsl_compile.py SOURCES TARGET FOLDER < CASES

SOURCES is a copy of FlyDSL's repository, which has the kernels; the compiler is the package flydsl of PyPI. No GPU is
needed. CASES is JSON: of each case, the arguments of `compile_preshuffle_gemm`, and those of its result, where a string
such as "f16:4096" is a tensor. For each case, FOLDER has NAME.co and NAME.json: kernel, grid, block, dynamic LDS, and the
arguments of the kernel, which are {"tensor": number of the argument} or {"number": value}. If the compiler refuses the case,
NAME.json has the message.

It runs in a process of its own, since FlyDSL reads the target once.
"""

import importlib.metadata
import json
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path


class Unknown(Exception):
    """The host's part has something that this module does not run."""


def provide_linker(root):
    """A folder like ROCm's, with the linker that FlyDSL looks for: LLVM's, or that of IREE's compiler."""
    names = ["ld.lld", *(f"ld.lld-{version}" for version in range(30, 13, -1))]
    found = next((path for name in names if (path := shutil.which(name))), None)
    if not found:
        try:
            package = importlib.metadata.distribution("iree-base-compiler")
        except importlib.metadata.PackageNotFoundError:
            sys.exit("error: no linker is found, expected LLVM's ld.lld on the PATH, or the package iree-base-compiler")
        found = f"{package.locate_file('iree/compiler/_mlir_libs/iree-lld')} -flavor gnu"
    linker = Path(root, "llvm", "bin", "ld.lld")
    linker.parent.mkdir(parents=True)
    linker.write_text(f'#!/bin/sh\nexec {found} "$@"\n')
    linker.chmod(linker.stat().st_mode | stat.S_IXUSR)


def wrap(value, bits):
    """The number as a signed one of so many bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


COMPARE = {
    0: lambda a, b: a == b, 1: lambda a, b: a != b, 2: lambda a, b: a < b, 3: lambda a, b: a <= b,
    4: lambda a, b: a > b, 5: lambda a, b: a >= b,
}


def divide(a, b):
    """The quotient, cut towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


ARITHMETIC = {
    "llvm.add": lambda a, b: a + b, "llvm.sub": lambda a, b: a - b, "llvm.mul": lambda a, b: a * b, "llvm.sdiv": divide,
    "llvm.and": lambda a, b: a & b, "llvm.or": lambda a, b: a | b, "llvm.xor": lambda a, b: a ^ b,
    "llvm.select": lambda a, b, c: b if a else c, "llvm.sext": lambda a: a, "llvm.trunc": lambda a: a,
}


def launches(function, arguments):
    """The launches of a host function of MLIR's LLVM dialect, which computes grids from integers."""
    from flydsl._mlir import ir

    block = function.regions[0].blocks[0]
    if len(block.arguments) != len(arguments):
        raise Unknown(f"the host function has {len(block.arguments)} arguments, expected {len(arguments)}")
    values = {value: argument for value, argument in zip(block.arguments, arguments)}

    def number(value):
        return values[value]["number"]

    for operation in block.operations:
        operation = operation.operation
        operands = list(operation.operands)
        if operation.name == "llvm.mlir.constant":
            values[operation.results[0]] = {"number": int(ir.IntegerAttr(operation.attributes["value"]).value)}
        elif operation.name == "llvm.icmp":
            predicate = int(ir.IntegerAttr(operation.attributes["predicate"]).value)
            if predicate not in COMPARE:
                raise Unknown(f"a comparison of unsigned numbers: {operation}")
            values[operation.results[0]] = {"number": int(COMPARE[predicate](*map(number, operands)))}
        elif operation.name in ARITHMETIC:
            result = operation.results[0]
            bits = ir.IntegerType(result.type).width
            values[result] = {"number": wrap(ARITHMETIC[operation.name](*map(number, operands)), bits)}
        elif operation.name == "gpu.launch_func":
            # Groups of operands: dependencies, grid (3), block (3), cluster (3), LDS, arguments of the kernel, stream.
            parts = []
            for count in operation.attributes["operandSegmentSizes"]:
                parts.append(operands[:count])
                operands = operands[count:]
            if len(parts) != 13 or parts[0] or parts[7]:
                raise Unknown(f"a launch with dependencies or clusters: {operation}")
            yield {
                "kernel": str(operation.attributes["kernel"]).split("@")[-1],
                "grid": [number(size) for (size,) in parts[1:4]],
                "block": [number(size) for (size,) in parts[4:7]],
                "lds": sum(map(number, parts[10])),
                "arguments": [values[value] for value in parts[11]],
            }
        elif operation.name != "llvm.return":
            raise Unknown(f"an operation of the host: {operation}")


def read(path, arguments):
    """The code object and the launch of a compiled module."""
    from flydsl._mlir import ir
    from flydsl._mlir.dialects import gpu
    from flydsl.compiler.jit_function import _create_mlir_context

    with _create_mlir_context():
        module = ir.Module.parse(Path(path).read_text())
        operations = [operation.operation for operation in module.body.operations]
        binary = [operation for operation in operations if operation.name == "gpu.binary"]
        functions = [operation for operation in operations if operation.name == "llvm.func"]
        if len(binary) != 1 or len(functions) != 1:
            raise Unknown(f"expected one binary and one function, found {len(binary)} and {len(functions)}")
        code = gpu.ObjectAttr(binary[0].attributes["objects"][0]).object
        found = list(launches(functions[0], arguments))
        if len(found) != 1:
            raise Unknown(f"expected one launch, found {len(found)}")
        return code, found[0]


def main():
    sources, target, folder = sys.argv[1:4]
    cases = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as scratch:
        provide_linker(f"{scratch}/rocm")
        os.environ |= {
            "ARCH": target, "FLYDSL_GPU_ARCH": target, "COMPILE_ONLY": "1", "ROCM_PATH": f"{scratch}/rocm",
            "FLYDSL_DUMP_IR": "1", "FLYDSL_RUNTIME_ENABLE_CACHE": "0", "FLYDSL_RUNTIME_CACHE_DIR": f"{scratch}/cache",
        }
        sys.path.insert(0, sources)
        import torch
        from kernels.gemm.preshuffle_gemm import compile_preshuffle_gemm

        types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i8": torch.int8}
        for name, (options, values) in cases.items():
            os.environ["FLYDSL_DUMP_DIR"] = f"{scratch}/{name}"
            tensors, arguments = [], []
            for number, value in enumerate(values):
                if isinstance(value, int):
                    tensors.append(value)
                    arguments.append({"number": value})
                    continue
                kind, count = value.split(":")
                tensors.append(torch.zeros(int(count), dtype=types[kind]))
                # A tensor of one dimension is its address and its size.
                arguments += [{"tensor": number}, {"number": int(count)}]
            # The stream is no argument of a kernel.
            arguments.append({"stream": 0})
            try:
                compile_preshuffle_gemm(**options)(*tensors, 0)
            except Exception as error:
                lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                result = {"error": f"{type(error).__name__}: {lines[0] if lines else ''}"}
            else:
                (module,) = Path(scratch, name).glob("*/*_gpu_module_to_binary.mlir")
                code, result = read(module, arguments)
                Path(folder, f"{name}.co").write_bytes(code)
            Path(folder, f"{name}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
