"""Fidelity, traces and tables for notebooks."""

import re
from html.parser import HTMLParser

import numpy
import pytest
from conftest import code_object

import wavemill

F32 = numpy.float32


def test_fidelity_of_a_launch(vector_add):
    a = numpy.ones(64, F32)
    assert vector_add[1, 64](a, a, numpy.zeros_like(a), 64).fidelity is None
    stats = vector_add[1, 64](a, a, numpy.zeros_like(a), 64, count=True)
    fidelity = stats.fidelity
    assert fidelity.total == stats.instructions
    assert (fidelity.exact, fidelity.inexact, fidelity.unsupported) == (stats.instructions, [], 0)
    data = stats.to_dict()["fidelity"]
    assert (data["exact"], data["rounded"], data["modelled"], data["unsupported"]) == (fidelity.exact, 0, 0, 0)
    assert "exact" in repr(fidelity)


def test_inexact_instructions_and_facets():
    # OpenCL's functions use the approximations of the hardware.
    kernel = wavemill.Module.load(code_object("black_scholes")).kernels[0]
    arrays = [numpy.full(64, 1.5, F32) for p in kernel.parameters if p.kind == "buffer"]
    types = {"float": 0.5, "int": 64, "uint": 64}
    numbers = [types[p.type_name] for p in kernel.parameters if p.kind == "value"]
    fidelity = kernel[1, 64](*arrays, *numbers, count=True).fidelity
    assert fidelity.rounded > 0 and fidelity.inexact
    counts = [one.count for one in fidelity.inexact]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == fidelity.total - fidelity.exact
    assert {one.level for one in fidelity.inexact} <= {"rounded", "modelled"}
    assert any(one.mnemonic in ("v_exp_f32", "v_log_f32", "v_rcp_f32", "v_sqrt_f32") for one in fidelity.inexact)
    for facet in fidelity.facets:
        assert sum(facet.instructions.values()) == facet.count
        assert facet.open and facet.settled_by and facet.name in repr(fidelity)


def test_a_trace_has_every_instruction(vector_add):
    a, b, out = numpy.arange(64, dtype=F32), numpy.full(64, 0.5, F32), numpy.zeros(64, F32)
    trace = wavemill.Trace()
    stats = vector_add[1, 64](a, b, out, 64, trace=trace)
    assert len(trace) == stats.instructions == len(trace.steps) == len(list(trace)) and trace.omitted == 0
    first, last = trace[0], trace[-1]
    assert (first.workgroup, first.wave, first.function, first.offset) == ((0, 0, 0), 0, "vector_add", 0)
    assert last.instruction.startswith("s_endpgm") and first.exec == 2**64 - 1
    assert all(step.pc - step.offset == first.pc for step in trace)
    # Two loads and a store of each lane, where the arrays are.
    loads = [access for step in trace for access in step.accesses if (access.kind, access.access) == ("global", "load")]
    [store] = [access for step in trace for access in step.accesses if access.access == "store"]
    for access, array in zip([*loads, store], (a, b, out), strict=True):
        assert (access.size, access.active) == (4, 2**64 - 1)
        assert access.pieces == [(lane, "global", array.ctypes.data + 4 * lane, 4) for lane in range(64)]
    # The sum is in a vector register.
    [sum] = [step for step in trace if step.instruction.startswith("v_add_f32")]
    [(name, lanes)] = sum.registers.items()
    assert re.fullmatch(r"v\d+", name)
    assert numpy.array(list(lanes.values()), numpy.uint32).view(F32).tolist() == out[list(lanes)].tolist()
    assert f"(0,0,0) wave 0  vector_add+{sum.offset:#06x}  v_add_f32" in str(sum)
    with pytest.raises(IndexError, match="there is no instruction"):
        trace[len(trace)]
    trace.clear()
    assert len(trace) == 0 and repr(trace) == "<Trace: 0 instructions>"


def test_what_a_trace_records(vector_add):
    a, out = numpy.ones(256, F32), numpy.zeros(256, F32)

    def waves(**options):
        trace = wavemill.Trace(**options)
        vector_add[2, 128](a, a, out, 256, trace=trace)
        return {(step.workgroup, step.wave) for step in trace}

    groups = [(0, 0, 0), (1, 0, 0)]
    assert waves() == {(groups[0], 0), (groups[0], 1)}
    assert waves(workgroup=(1, 0, 0), wave=1) == {(groups[1], 1)}
    assert waves(workgroup=None) == {(group, wave) for group in groups for wave in range(2)}
    assert waves(workgroup=(7, 0, 0)) == set()
    short = wavemill.Trace(limit=3)
    stats = vector_add[1, 64](a, a, out, 64, trace=short)
    assert (len(short), short.omitted) == (3, stats.instructions - 3)
    assert repr(short) == f"<Trace: 3 instructions, {short.omitted} omitted>"
    for wrong in (-1, "x"):
        with pytest.raises(wavemill.ArgumentError, match="limit is"):
            wavemill.Trace(limit=wrong)
    with pytest.raises(TypeError):
        vector_add[1, 64](a, a, out, 64, trace=True)


def test_a_trace_ends_at_a_fault(vector_add):
    a = numpy.ones(64, F32)
    trace = wavemill.Trace()
    with pytest.raises(wavemill.GuestFault) as caught:
        vector_add[1, 64](a, a, None, 64, trace=trace)
    assert trace[-1].pc < caught.value.pc
    assert not [access for step in trace for access in step.accesses if access.access == "store"]


class Checked(HTMLParser):
    """Checks that elements end in order, and collects the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert tag in ("table", "caption", "tr", "th", "td", "pre", "details", "summary")
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_tables_for_notebooks(vector_add, tmp_path):
    a = numpy.ones(64, F32)
    stats = vector_add[1, 64](a, a, a, 64, count=True)
    with pytest.raises(wavemill.GuestFault) as caught:
        vector_add[1, 64](a, a, None, 64)
    path = tmp_path / "<script>&amp;.co"
    path.write_bytes(code_object("vector_add").read_bytes())
    module = wavemill.Module.load(path)
    for thing, expected in [
        (stats, ["vector_add", str(stats.instructions), f"{stats.instructions} exact"]),
        (stats.fidelity, ["Fidelity", "exact", str(stats.instructions)]),
        (vector_add, ["vector_add", "parameter", "float*", "uint", "24"]),
        (module, [f"{path} for gfx942", "vector_add", "a, b, c, n"]),
        (caught.value, [str(caught.value), caught.value.report]),
    ]:
        text = Checked(thing._repr_html_()).text
        assert all(one in text for one in expected), (text, expected)
