"""Runs Triton's kernels with `wavemill run`, and compares all that they write with NumPy.

    python check.py FOLDER [NAME...] [-- OPTION...]
    python check.py --sample FOLDER [-- OPTION...]
    python check.py --matrix FOLDER [-- OPTION...]

Kernels that FOLDER does not have are compiled first (compile.py). Without names it is every kernel on every target; a name
is a variant's, such as gemm_f16_nn, for all of its targets, or gfx942/gemm_f16_nn. With --sample it is the kernels of
SAMPLE, with --matrix those with matrix products. references.py explains the bounds, and so do the modules for other kernels
(*_references.py). Options are those of `wavemill run`, such as --mfma fast. The exit code is 1 if a result is out of its
bound. WAVEMILL is the path of the program. With VERBOSE=1, kernels that pass are listed, too.
"""

import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from compile import HERE, TARGETS, VARIANTS, build, load

sys.path.insert(0, str(HERE))
import formats  # noqa: E402
from references import REFERENCES, Launch  # noqa: E402

for name in ("elementwise", "rows", "memory", "element_types"):
    importlib.import_module(f"{name}_references")

# Every format of matrix products, on a target that has instructions for it; and kernels of the other kinds.
SAMPLE = """
gfx90a/gemm_f16_64x64x32 gfx90a/gemm_bf16_dim16_kpack2 gfx90a/gemm_i8_nt gfx90a/gemm_f64_16x64x32
gfx942/gemm_f32_tt gfx942/gemm_tf32_32x32x32 gfx942/gemm_e4b8_stages3 gfx942/gemm_e4b8_e5b16_nn gfx942/gemm_i8_split3
gfx942/flash_bf16_64_causal gfx950/gemm_f16_stages2 gfx950/gemm_e5_e4nv_nt gfx950/gemm_bf16x6_dim32
gfx950/gemm_scaled_e4m3_e2m1 gfx950/gemm_scaled_e5m2_e4m3_dim16 gfx950/flash_f16_32_keys
gfx906/sort_f32 gfx906/integers_i64 gfx90a/atomics_f16 gfx90a/checked gfx942/layer_norm_bf16 gfx942/random_normal
gfx950/softmax_f16_wide gfx950/spin_lock
gfx906/arithmetic_bf16 gfx906/product_fp16 gfx90a/fp32_to_small_floats gfx942/bf16_to_small_floats gfx942/division_i64
gfx950/extremes_fp16 gfx950/atomic_swaps_bf16
""".split()
# How many kernels of each kind the whole suite has on a target, at least. Of those with matrix instructions, the same code
# counts once; gfx906 has none.
LEAST = {"of all kinds": 40, "in element types": 150, "with matrix instructions": 150}


def arguments_of(launch, folder):
    """The arguments for `wavemill run`."""
    for name, kind in zip(launch.names, launch.types):
        value = launch.arguments[name]
        storage = formats.STORAGE[kind][1] if kind in formats.STORAGE else kind
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value)
            yield f"{name}=@{folder / name}.npy"
        elif isinstance(value, tuple):
            yield f"{name}:{storage}[{','.join(map(str, value))}]"
        else:
            yield f"{name}:{'f32' if kind == 'fp32' else storage}={value!r}"
    yield from ("scratch=null", "profile=null")


def command_of(launch, code, folder, program, options):
    """The command line of a launch. Its operands are files in `folder`."""
    settings = json.loads(code.with_suffix(".json").read_text())
    command = [
        program, "run", code, "--grid", "x".join(map(str, launch.grid)), "--block", settings["block"],
        "--dynamic-lds", settings["lds"], *options, *arguments_of(launch, folder),
    ]
    return list(map(str, command))


def run(launch, command, folder):
    """Launches the kernel. For each buffer, yields the largest error as a share of its bound, and a message about it."""
    outputs = [f"--out={name}={folder / name}.out.npy" for name in (*launch.expected, *launch.exact)]
    done = subprocess.run([*command, "--poison", *outputs], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")
    for name, (kind, expected, bound) in launch.expected.items():
        found = formats.values(kind, np.load(folder / f"{name}.out.npy"))
        # Equal infinities have no difference, nor have two NaNs.
        differs = (found != expected) & ~(np.isnan(found) & np.isnan(expected))
        error = np.abs(np.subtract(found, expected, out=np.zeros_like(found), where=differs))
        # Infinite if the bound is 0 and the error is not, and if the result is a NaN.
        share = np.where(error == 0, 0.0, np.divide(error, bound, out=np.full_like(error, np.inf), where=bound > 0))
        share = np.where(np.isnan(share), np.inf, share)
        worst = np.unravel_index(np.argmax(share), share.shape)
        message = f"{name}{list(map(int, worst))} is {found[worst]:.9g}, not {expected[worst]:.9g} within {bound[worst]:.3g}"
        yield float(share[worst]), f"{message}; {np.sum(share > 1)} of {share.size} differ"
    for name, expected in launch.exact.items():
        found = np.load(folder / f"{name}.out.npy")
        yield different(launch.kind(name), name, found, expected)
    lines = sorted(line.rstrip() for line in done.stdout.splitlines())
    if launch.printed and not set(launch.printed) <= set(lines):
        missing = sorted(set(launch.printed) - set(lines))
        yield np.inf, f"{len(missing)} lines are not printed, such as {missing[0]!r}"


def different(kind, name, found, exact):
    """Infinity if an element has other bits than it must have; and a message about the first ones."""
    bits = np.dtype(f"u{exact.array.dtype.itemsize}")
    found, wanted, other = (array.view(bits) for array in (found, exact.array, exact.other))
    wrong = (found != wanted) & (found != other)
    if kind[0] not in "iu" and not exact.payloads:
        nan = [formats.is_nan(kind, array.view(exact.array.dtype)) for array in (found, wanted, other)]
        wrong &= ~(nan[0] & (nan[1] | nan[2]))
    if exact.where is not None:
        wrong &= exact.where
    locations = [tuple(map(int, at)) for at in np.argwhere(wrong)[:3]]
    first = [f"{name}{list(at)} is {found[at]:#x}, not {wanted[at]:#x}" for at in locations]
    return np.inf if wrong.any() else 0.0, f"{', '.join(first)}; {np.sum(wrong)} of {wrong.size} differ"


def check(number, target, folder, program, options):
    """Compiles the kernel if it is missing, and runs it. Returns what is wrong, and facts about the run."""
    variant, code = VARIANTS[number], folder / target / f"{VARIANTS[number].name}.co"
    facts = {"instructions": set(), "share": 0.0, "seconds": 0.0}
    if not code.with_suffix(".json").exists():
        failure = build(number, target, folder, False)
        if failure:
            return failure, facts
    lines = re.findall(r"^\t([a-z]\w+.*)", code.with_suffix(".s").read_text(), re.MULTILINE)
    facts["instructions"] = {line.split()[0] for line in lines if line.startswith(("v_mfma", "v_smfmac"))}
    facts["code"] = hashlib.sha256("\n".join(line.split(";")[0] for line in lines).encode()).digest()
    launch = Launch(variant, target)
    with tempfile.TemporaryDirectory() as scratch:
        begin = time.monotonic()
        try:
            REFERENCES[variant.kernel.__name__](launch, np.random.default_rng(zlib.crc32(variant.name.encode())))
            wrong = []
            options = ["--threads", "1", "--timeout", "600", *options]
            command = command_of(launch, code, Path(scratch), program, options)
            for share, message in run(launch, command, Path(scratch)):
                facts["share"] = max(facts["share"], share)
                wrong += [message] * (share > 1)
        except RuntimeError as error:
            wrong = [str(error)]
        facts["seconds"] = time.monotonic() - begin
    return (f"{target}/{variant.name}: {'; '.join(wrong)}" if wrong else None), facts


def kind_of(variant):
    """The kind of a kernel in LEAST, by the module of its reference."""
    module = REFERENCES[variant.kernel.__name__].__module__
    kinds = {"references": "with matrix instructions", "element_types_references": "in element types"}
    return kinds.get(module, "of all kinds")


def main():
    modes = ("--sample", "--matrix")
    mode = sys.argv[1] if sys.argv[1:2] and sys.argv[1] in modes else None
    arguments = sys.argv[2:] if mode else sys.argv[1:]
    options = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1 :]
    if not arguments:
        sys.exit(__doc__)
    folder, program = Path(arguments[0]).resolve(), os.environ.get("WAVEMILL", "wavemill")
    load()
    without = {one.name for one in VARIANTS if one.kernel.__name__ not in REFERENCES and not one.refused}
    if without:
        sys.exit(f"error: no reference for {', '.join(sorted(without))}")
    wanted = set(arguments[1:] or (SAMPLE if mode == "--sample" else []))
    jobs = [
        (number, target)
        for target in TARGETS
        for number, variant in enumerate(VARIANTS)
        if target in (variant.only or TARGETS) and not variant.refused
        and (mode != "--matrix" or kind_of(variant) == "with matrix instructions")
        and (not wanted or wanted & {variant.name, f"{target}/{variant.name}"})
    ]
    known = {name for number, target in jobs for name in (VARIANTS[number].name, f"{target}/{VARIANTS[number].name}")}
    if wanted - known:
        sys.exit(f"error: no kernel {', '.join(sorted(wanted - known))}")
    passed, instructions, highest = defaultdict(lambda: defaultdict(set)), defaultdict(set), Counter()
    failures, failed = [], Counter()
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = pool.map(check, *zip(*jobs), [folder] * len(jobs), [program] * len(jobs), [options] * len(jobs))
        for (number, target), (failure, facts) in zip(jobs, results):
            if failure:
                failures.append(failure)
                failed[target] += 1
                print(f"error: {failure}", flush=True)
                continue
            variant = VARIANTS[number]
            kind = kind_of(variant)
            if kind != "with matrix instructions" or facts["instructions"]:
                passed[target][kind].add(facts["code"] if kind == "with matrix instructions" else variant.name)
            instructions[target] |= facts["instructions"]
            highest[target] = max(highest[target], facts["share"])
            if os.environ.get("VERBOSE"):
                print(f"{facts['seconds']:6.2f} s  {facts['share']:8.5f}  {target}/{variant.name}", flush=True)
    few = []
    for target in sorted({target for _, target in jobs}):
        total = sum(of == target for _, of in jobs)
        counts = ", ".join(f"{len(passed[target][kind])} {kind}" for kind in LEAST if passed[target][kind])
        print(f"{target}: {total - failed[target]} of {total} kernels passed: {counts}; {len(instructions[target])} different matrix"
              f" instructions; the largest error is {highest[target]:.2f} of its bound")
        kinds = [kind for kind in LEAST if target != "gfx906" or kind != "with matrix instructions"]
        if not wanted and not mode:
            missing = [kind for kind in kinds if len(passed[target][kind]) < LEAST[kind]]
            few += [f"{target} has less than {LEAST[kind]} {kind}" for kind in missing]
    refused = sum(bool(variant.refused) for variant in VARIANTS)
    if not wanted and not mode:
        print(f"{refused} variants are not run, since Triton refuses them: element_types.py has its messages")
    if failures or few:
        sys.exit("; ".join([f"{len(failures)} kernels failed", *few]))


if __name__ == "__main__":
    main()
