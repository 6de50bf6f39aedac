"""Compiles the kernels of this folder with Triton, which needs no GPU for it.

    python compile.py FOLDER [NAME...]
    python compile.py --sample FOLDER [NAME...]

FOLDER/gfx942/softmax_f32.s is Triton's assembly, .co next to it the code object that Triton makes of it, and .json what
a launch must know. With --sample, assembly and code object are compressed, there is no .json, and without names it is the
kernels of SAMPLE.
"""

import gzip
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

# Nothing is to be taken from an earlier run; and what is a default in one version of Triton is said.
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = Path(__file__).resolve().parent
TARGETS = ["gfx906", "gfx90a", "gfx942", "gfx950"]
FILES = ["elementwise", "rows", "memory", "matrix", "products", "scaled", "flash", "element_types"]

# What is committed for the tests: small, and without sources outside of this folder, whose places differ.
SAMPLE = """
atomics_i64 called_function histogram matmul_f16_small matmul_fp8_e4m3 matmul_fp8_e4m3_fnuz matmul_scaled_mxfp4
matmul_scaled_mxfp8 rotary_f16 spin_lock vector_add_f32
""".split()

sys.path.insert(0, str(HERE))
from variants import VARIANTS  # noqa: E402


def load():
    # Debug information has the names of sources: relative ones, so that they are the same everywhere.
    os.chdir(HERE.parent.parent)
    for name in FILES:
        path = f"kernels/triton/{name}.py"
        code = compile(Path(path).read_text(), path, "exec")
        exec(code, {"__name__": name, "__file__": path})


def write(path, contents, compress):
    if compress:
        # Without a date, so that the same contents are the same file.
        path, contents = Path(f"{path}.gz"), gzip.compress(contents, 9, mtime=0)
    path.write_bytes(contents)


def translate(variant, target):
    """What Triton compiles the variant to."""
    signature = dict(zip(variant.kernel.arg_names, variant.types))
    signature |= {constant: "constexpr" for constant in variant.constants}
    # As the launcher does for tensors, and for sizes that are multiples of 16.
    attributes = {}
    for at, kind in enumerate(variant.types):
        if kind.startswith("*"):
            attributes[(at,)] = [["tt.divisibility", 16]] + [["tt.pointer_range", 32]] * variant.even
        elif kind == "i32" and variant.even:
            attributes[(at,)] = [["tt.divisibility", 16]]
    source = ASTSource(variant.kernel, signature, constexprs=variant.constants, attrs=attributes)
    options = {"num_warps": variant.warps, "num_stages": variant.stages} | variant.options
    return triton.compile(source, target=GPUTarget("hip", target, 64), options=options)


def emit(variant, target, folder, compress):
    """Compiles a variant into the folder of the target. The path of the code object."""
    made = translate(variant, target)
    (folder / target).mkdir(parents=True, exist_ok=True)
    code = folder / target / f"{variant.name}.co"
    write(code.with_suffix(".s"), made.asm["amdgcn"].encode(), compress)
    write(code, made.asm["hsaco"], compress)
    if not compress:
        launch = {"block": 64 * made.metadata.num_warps, "lds": made.metadata.shared}
        code.with_suffix(".json").write_text(json.dumps(launch))
    return code


def messages(error):
    """The messages of an error and of those that led to it."""
    text = []
    while error:
        text.append(f"{type(error).__name__}: {str(error).strip()}")
        error = error.__cause__ or error.__context__
    return "\n".join(text)


def build(number, target, folder, compress):
    """Compiles the variant with this number. A message if Triton refuses it; if it is to be refused, if it does not."""
    variant = VARIANTS[number]
    try:
        emit(variant, target, folder, compress)
    except Exception as error:
        text = messages(error)
        if variant.refused and variant.refused in text:
            return None
        return f"{target}/{variant.name}: {text}"
    return f"{target}/{variant.name}: Triton compiles it, expected {variant.refused!r}" if variant.refused else None


def main():
    compress = sys.argv[1:2] == ["--sample"]
    arguments = sys.argv[2:] if compress else sys.argv[1:]
    if not arguments:
        sys.exit(__doc__)
    folder = Path(arguments[0]).resolve()
    wanted = set(arguments[1:] or (SAMPLE if compress else []))
    load()
    unknown = wanted - {variant.name for variant in VARIANTS}
    if unknown:
        sys.exit(f"error: there is no variant {', '.join(sorted(unknown))}")
    jobs = [
        (number, target)
        for number, variant in enumerate(VARIANTS)
        for target in TARGETS
        if (not wanted or variant.name in wanted) and target in (variant.only or TARGETS)
    ]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(build, *zip(*jobs), [folder] * len(jobs), [compress] * len(jobs)))
    wrong = [result for result in results if result]
    refused = [f"{target}/{VARIANTS[number].name}" for number, target in jobs if VARIANTS[number].refused]
    print(f"{len(jobs) - len(refused)} kernels, {len(refused)} more that Triton must refuse, {len(wrong)} differ from that")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
