"""The models of arithmetic with which `clients` explain failures of other people's tests."""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "clients"))

from triton_cancellation import group_sum, order_of_terms  # noqa: E402

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


def compiled(shape, width):
    """The lines of Triton's IR that decide the order of terms."""
    return (
        f"#mma = #ttg.amd_mfma<{{version = 3, warpsPerCTA = [2, 2], instrShape = {shape}, isTransposed = true}}>\n"
        f"tensor<32x128xf16, #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = {width}}}>>\n"
    )


def test_terms_are_in_the_order_of_instructions_and_lanes():
    # A lane has `width` neighbours, and gives an instruction four of them.
    one = order_of_terms(compiled([32, 32, 8], 4))
    assert list(one(16)) == [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]]
    two = order_of_terms(compiled([32, 32, 8], 8))
    assert list(two(16)) == [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]
    # Four lanes share an inner dimension of 16, which is two groups.
    small = order_of_terms(compiled([16, 16, 16], 8))
    assert list(small(32)) == [
        [0, 1, 2, 3, 8, 9, 10, 11],
        [16, 17, 18, 19, 24, 25, 26, 27],
        [4, 5, 6, 7, 12, 13, 14, 15],
        [20, 21, 22, 23, 28, 29, 30, 31],
    ]
    assert order_of_terms(compiled([32, 32, 16], 8)) is None
    assert order_of_terms("") is None


@pytest.mark.parametrize(
    "operations, racy",
    [
        ("buffer_load_dword s_barrier global_load_dword global_store_dwordx4", True),
        ("global_load_dword s_barrier global_store_dword", False),
        ("global_load_dword global_store_dword s_barrier global_load_dword", False),
        ("s_cbranch_scc1 global_load_dword global_store_dword", False),
        ("s_barrier global_load_dword", False),
    ],
)
def test_a_kernel_can_race_if_no_barrier_is_before_its_stores(operations, racy):
    pytest.importorskip("triton")
    from triton_races import has_no_barrier

    assert has_no_barrier("".join(f"\t{operation} v0\n" for operation in operations.split())) == racy
