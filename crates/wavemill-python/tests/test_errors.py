"""Faults, limits, stalls and interruptions as exceptions."""

import os
import pickle
import signal
import subprocess
import sys
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


def prints(stream):
    """Runs a kernel that prints, with this object as `sys.stdout`."""
    kernel = wavemill.Module.load(code_object("printf"))["printf_kinds"]
    before, sys.stdout = sys.stdout, stream
    try:
        kernel[1, 64](numpy.zeros(64, numpy.int32), 7, 5, 1.5, 2.5)
    finally:
        sys.stdout = before


class Stream:
    def __init__(self, write):
        self.write = write


def test_an_exception_of_the_output_is_raised():
    calls = []

    def fail(text):
        calls.append(text)
        raise BrokenPipeError("the reader is gone")

    with pytest.raises(BrokenPipeError, match="the reader is gone"):
        prints(Stream(fail))
    assert len(calls) == 1
    # A program without a console.
    prints(None)


def test_ctrl_c_during_output_is_not_lost():
    def interrupt(text):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        prints(Stream(interrupt))


def test_exceptions_can_be_pickled(vector_add):
    a = numpy.ones(64, numpy.float32)
    with pytest.raises(wavemill.GuestFault) as caught:
        vector_add[1, 64](a, a, None, 64)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is wavemill.GuestFault and str(again) == str(caught.value)
    assert (again.kernel, again.pc, again.lanes, again.data) == (
        caught.value.kernel,
        caught.value.pc,
        caught.value.lanes,
        caught.value.data,
    )


@pytest.mark.parametrize("work", ["kernel[1, 64](a, a, a, 64)", "run_for_ever()"])
def test_a_daemon_thread_does_not_break_the_exit(work):
    code = f"""
import threading, time, numpy, wavemill
kernel = wavemill.Module.load({str(code_object("vector_add"))!r})["vector_add"]
endless = wavemill.Module.load({str(code_object("mandelbrot"))!r})["mandelbrot"]
a, steps = numpy.ones(64, numpy.float32), numpy.zeros(4096, numpy.uint32)
def run_for_ever():
    endless[(1, 64), (64, 1)](steps, 64, 64, 0.0, 0.0, 0.0, 2**32 - 1, threads=2, time_limit=60)
def work():
    while True:
        {work}
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("ended")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_a_forked_process_runs_kernels():
    code = f"""
import os, numpy, wavemill
kernel = wavemill.Module.load({str(code_object("vector_add"))!r})["vector_add"]
a = numpy.ones(1 << 16, numpy.float32)
def work():
    out = numpy.zeros(1 << 16, numpy.float32)
    kernel[1024, 64](a, a, out, 1 << 16, threads=2)
    return out.sum()
assert work() == 2 << 16
child = os.fork()
if child == 0:
    os._exit(7 if work() == 2 << 16 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_messages_show_the_beginning_of_long_names(vector_add):
    long = "n" * 10_000_000
    module = wavemill.Module.load(code_object("vector_add"))
    ones = numpy.ones(64, numpy.float32)

    class Long:
        pass

    Long.__qualname__ = long
    calls = {
        "target": lambda: wavemill.Device(long),
        "memory of the host": lambda: wavemill.Device("gfx942", host_memory=long),
        "rule": lambda: wavemill.Device("gfx942", matrix_rule=long),
        "kernel": lambda: module.kernel(long),
        "item": lambda: module[long],
        "signature": lambda: vector_add[1, 64](ones, ones, ones, 64, signature=f"ptr,ptr,ptr,{long}"),
        "instruction": lambda: wavemill.explain(long),
        "argument": lambda: vector_add[1, 64](ones, ones, long, 64),
        "type": lambda: vector_add[1, 64](ones, ones, Long(), 64),
        "memory": lambda: vector_add[1, 64](ones, ones, ones, 64, memory={long: 5}),
        "fault": lambda: vector_add[1, 64](wavemill.u64(2**40), ones, ones, 64, memory={long: ones[:1].copy()}),
    }
    for what, call in calls.items():
        with pytest.raises((wavemill.Error, KeyError)) as caught:
            call()
        assert len(str(caught.value)) < 20_000, what
