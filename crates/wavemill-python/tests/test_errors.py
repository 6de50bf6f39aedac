"""Faults, limits, stalls and interruptions as exceptions."""

import os
import signal
import threading
import time

import numpy
import pytest
from conftest import code_object

import wavemill


def test_a_fault_has_its_location(source_faults):
    out = numpy.arange(64, dtype=numpy.int32)
    nothing = numpy.zeros(1, numpy.uint8)
    with pytest.raises(wavemill.GuestFault) as caught:
        source_faults["one_lane"][1, 64](nothing, out, 5, nothing)
    fault = caught.value
    assert isinstance(fault, wavemill.Error)
    assert (fault.kernel, fault.lanes, fault.wave) == ("one_lane", [5], 0)
    # Lane 5 accesses element 69.
    assert fault.addresses == [out.ctypes.data + 4 * 69]
    lines = (code_object("x").parents[2] / "faults" / "source.cl").read_text().splitlines()
    assert fault.file.endswith("source.cl") and "out[at]" in lines[fault.line - 1]
    assert fault.pc > 0 and fault.instruction.startswith("global_load_dword")
    assert "`out`" in str(fault) and "lane" in str(fault)
    assert len(fault.report) > len(str(fault)) and fault.data["kernel"] == "one_lane"


def test_a_grid_that_can_never_finish(source_faults):
    flag = numpy.zeros(1, numpy.int32)
    nothing = numpy.zeros(1, numpy.uint8)
    with pytest.raises(wavemill.Stalled, match="can never finish") as caught:
        source_faults["wait_for_flag"][1, 64](nothing, flag, nothing)
    assert caught.value.kernel == "wait_for_flag" and len(caught.value.waves) == 1
    # Another thread sets the flag.
    def set_flag():
        time.sleep(0.1)
        flag[0] = 1

    thread = threading.Thread(target=set_flag)
    thread.start()
    source_faults["wait_for_flag"][1, 64](nothing, flag, nothing, find_stalls=False, time_limit=60)
    thread.join()


def endless(**options):
    """Runs for minutes."""
    module = wavemill.Module.load(code_object("mandelbrot"))
    steps = numpy.zeros(64 * 64, numpy.uint32)
    module["mandelbrot"][(1, 64), (64, 1)](steps, 64, 64, 0.0, 0.0, 0.0, 2**32 - 1, **options)


def test_limits():
    with pytest.raises(wavemill.LimitReached, match="the limit is 1000") as caught:
        endless(max_instructions=1000)
    assert caught.value.kernel == "mandelbrot"
    with pytest.raises(wavemill.LimitReached, match="the limit is 0.05 s"):
        endless(time_limit=0.05)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_run(threads):
    def interrupt():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        endless(threads=threads, time_limit=120)
    thread.join()
    assert time.monotonic() - start < 60
    # The module works on.
    with pytest.raises(wavemill.LimitReached):
        endless(max_instructions=1000)


def test_handlers_of_signals_run_during_a_run():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.monotonic()))
    thread = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    thread.start()
    try:
        with pytest.raises(wavemill.LimitReached):
            endless(time_limit=2)
        ended = time.monotonic()
    finally:
        signal.signal(signal.SIGUSR1, before)
    # The handler ran long before the end, and the run went on.
    assert len(seen) == 1 and ended - seen[0] > 0.5


def test_other_threads_run_meanwhile():
    """A run does not hold the interpreter's lock."""
    count = 0
    stop = threading.Event()

    def work():
        nonlocal count
        while not stop.wait(0.01):
            count += 1

    thread = threading.Thread(target=work)
    thread.start()
    with pytest.raises(wavemill.LimitReached):
        endless(time_limit=1)
    stop.set()
    thread.join()
    assert count > 5


def test_output_of_kernels_goes_to_sys_stdout(capsys):
    kernel = wavemill.Module.load(code_object("printf"))["printf_kinds"]
    stored = numpy.zeros(64, numpy.int32)
    kernel[1, 64](stored, 7, 5, 1.5, 2.5)
    out = capsys.readouterr().out
    assert out.startswith('plain text: 100%, "quoted"\n7 -7 4294967289 7 7 FFFFFFF9\n')
    numpy.testing.assert_array_equal(stored, numpy.arange(64) + 7)
