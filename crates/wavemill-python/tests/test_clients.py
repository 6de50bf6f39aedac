"""The models of arithmetic with which `clients` explain failures of other people's tests."""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "clients"))

from triton_cancellation import group_sum  # noqa: E402

VECTORS = REPOSITORY / "crates" / "wavemill-lift" / "tests" / "matrix" / "gfx942.txt"
TYPES = {"f16": "float16", "bf16": "bfloat16"}


def vectors():
    """Products of f16 and bf16 that mmasim computed, where all numbers are finite and no sum leaves the normal range of
    f32: the factors, the addend, the type of the factors, and the result.
    """
    dtype = None
    for line in VECTORS.read_text().splitlines():
        if line.startswith("# "):
            dtype = TYPES.get(line.split()[1].split(",")[0].split("_")[-1])
        elif dtype is not None and not line.startswith("#") and not line.endswith("nan"):
            left, right, *numbers = line.split(" ")
            left, right = (
                np.array([int(bits, 16) for bits in factors.split(",")], np.uint16).view(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype).astype(np.float64)
                for factors in (left, right)
            )
            addend, result = (
                float(number) for number in np.array([int(bits, 16) for bits in numbers], np.uint32).view(np.float32)
            )
            if np.isfinite([*left, *right, addend, result]).all() and 1e-20 < abs(result) < 1e30 and abs(addend) < 1e30:
                yield left, right, addend, dtype, result


def test_sums_of_matrix_cores_are_those_of_mmasim():
    found = list(vectors())
    assert len(found) > 500
    for left, right, addend, dtype, result in found:
        total = addend
        for start in range(0, len(left), 8):
            total = group_sum(left[start : start + 8], right[start : start + 8], total, dtype)
        assert total == result, (left, right, addend)
