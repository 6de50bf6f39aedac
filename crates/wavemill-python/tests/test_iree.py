"""Kernels of IREE's compiler: `clients/iree.py` and the host part in `clients/iree_host.py`.

Tests with the compiler skip if it is not installed; with WAVEMILL_REQUIRE_ORACLES=1 they fail.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import code_object

CLIENTS = Path(__file__).resolve().parents[3] / "clients"
sys.path.insert(0, str(CLIENTS))

pytest.importorskip("ml_dtypes")

import iree  # noqa: E402
import iree_host  # noqa: E402
from results import PASSED  # noqa: E402


@pytest.fixture
def compiler():
    if iree.compiler() is None:
        what = f"iree-compile is not installed: pip install iree-base-compiler=={iree.VERSION}"
        if os.environ.get("WAVEMILL_REQUIRE_ORACLES") == "1":
            pytest.fail(f"{what}, and WAVEMILL_REQUIRE_ORACLES is 1")
        pytest.skip(what)


@pytest.mark.parametrize("target", iree.TARGETS)
@pytest.mark.parametrize("case", ["softmax f32", "matmul f16", "convolution f32", "two layers f16"])
def test_programs(compiler, case, target):
    assert iree.run(case, target)[0] == PASSED


#: A program with a kernel of this repository, in the form that the compiler writes: it transposes, copies and fills.
HOST = """module {
  util.func private @__main_memoize_apply() -> !hal.command_buffer attributes {inlining_policy = #util.inline.never} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %c8192 = arith.constant 8192 : index
    %c8000 = arith.constant 8000 : index
    %c64_i32 = arith.constant 64 : i32
    %c32_i32 = arith.constant 32 : i32
    %c-1_i16 = arith.constant -1 : i16
    %cmd = hal.command_buffer.create device(%d : !hal.device) mode("None") bindings(%c2) : !hal.command_buffer
    %function_id = hal.executable.lookup.function target(%e : !hal.executable) function(@e::@rocm_hsaco_fb::@transpose) : i64
    hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%e : !hal.executable)[%function_id] workgroups([%c2, %c1, %c1]) constants([%c64_i32, %c32_i32]) bindings([
      (%c0 : index)[%c0, %c8192],
      (%c2 : index)[%c0, %c8192]
    ]) flags("None")
    hal.command_buffer.execution_barrier<%cmd : !hal.command_buffer> source("Dispatch") target("Dispatch") flags("None")
    hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%c2 : index)[%c0] target(%c1 : index)[%c16] length(%c8000) flags("None")
    hal.command_buffer.fill_buffer<%cmd : !hal.command_buffer> target(%c1 : index)[%c0, %c16] pattern(%c-1_i16 : i16) flags("None")
    hal.command_buffer.finalize<%cmd : !hal.command_buffer>
    util.return %cmd : !hal.command_buffer
  }
  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub} {
    %c0 = arith.constant 0 : index
    %c8192 = arith.constant 8192 : index
    %__main_memoize_result_0_device_0 = util.global.load immutable @__main_memoize_result_0_device_0 : !hal.command_buffer
    %buffer = hal.buffer_view.buffer<%arg0 : !hal.buffer_view> : !hal.buffer
    %transient_buffer = hal.device.queue.alloca<%d : !hal.device> flags("None") : !hal.buffer{%c8192}
    %transient_buffer_3 = hal.device.queue.alloca<%d : !hal.device> flags("None") : !hal.buffer{%c8192}
    hal.device.queue.execute.indirect<%d : !hal.device> commands(%__main_memoize_result_0_device_0) bindings([
      (%buffer : !hal.buffer)[%c0, %c8192],
      (%transient_buffer : !hal.buffer)[%c0, %c8192],
      (%transient_buffer_3 : !hal.buffer)[%c0, %c8192]
    ]) flags("None")
    %view = hal.buffer_view.create buffer(%transient_buffer : !hal.buffer)[%c0, %c8192] shape([%c2048]) : !hal.buffer_view
    util.return %view : !hal.buffer_view
  }
}
"""


def test_the_host_part():
    program = iree_host.Program(HOST, "main", code_object("transpose").read_bytes(), "gfx942")
    x = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    (result,), instructions = program(x)
    assert result.size == 8192 and instructions > 0
    # The copy begins behind the 16 bytes of the fill. Memory that nothing has written has bytes of 0xcd.
    assert (result[:16] == 0xFF).all()
    assert (result[16 : 16 + 8000].view(np.float32) == x.T.reshape(-1)[:2000]).all()
    assert (result[16 + 8000 :] == 0xCD).all()


def test_host_parts_that_are_not_known():
    code = code_object("transpose").read_bytes()
    with pytest.raises(iree_host.Unknown, match="no function other"):
        iree_host.Program(HOST, "other", code, "gfx942")
    dynamic = HOST.replace("%c2 = arith.constant 2 : index", "%c2 = arith.divui %a, %b : index")
    with pytest.raises(iree_host.Unknown, match="dynamic shapes"):
        iree_host.Program(dynamic, "main", code, "gfx942")
    with pytest.raises(iree_host.Unknown, match="collective"):
        iree_host.Program(HOST.replace("command_buffer.fill_buffer", "command_buffer.collective"), "main", code, "gfx942")
    with pytest.raises(iree_host.Unknown, match="size of workgroups of vector_add"):
        code = code_object("vector_add").read_bytes()
        iree_host.Program(HOST.replace("@transpose)", "@vector_add)"), "main", code, "gfx942")(np.zeros(2048, np.float32))
