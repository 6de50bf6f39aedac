"""Executes AMD's pseudocode of gfx950 instructions on many inputs and writes what it gives: see README.md.

The pseudocode is read from the PyPI wheel of tinygrad; nothing of it goes into the output.
"""
import argparse
import gzip
import importlib
import random
import re
import struct
import sys
import zlib
from pathlib import Path

import library
from floats import FORMATS
from interpreter import Register, State, V, compiled

LANES = 64
# What is no arithmetic on one work-item, or has an oracle elsewhere.
LEFT_OUT = [
    (r"V_S?MFMAC?_.*", "matrix products: tests/matrix compares them with mmasim"),
    (r"V_(READLANE|READFIRSTLANE|WRITELANE|PERMLANE\w+)_B32.*", "moves between lanes"),
    (r"S_(GETPC|SETPC|SWAPPC|CALL|RFE)_B64|S_CBRANCH_\w+", "control flow"),
    (r"S_MOVREL[SD]_B(32|64)|S_SET_GPR_IDX_\w+", "indexed registers"),
    (r"DS_(SWIZZLE|PERMUTE|BPERMUTE)_B32", "moves between lanes"),
    (r"DS_(READ|WRITE)_ADDTID_B32|DS_CONDXCHG32_RTN_B64", "LDS instructions with addresses of their own"),
    (r"S_(GETREG|SETREG|SETREG_IMM32)_B32|S_SETVSKIP", "hardware registers"),
]
FORMAT_NAMES = {"SOP1Op": "SOP1", "SOP2Op": "SOP2", "SOPCOp": "SOPC", "SOPKOp": "SOPK", "VOP1Op": "VOP1", "VOP2Op": "VOP2",
                "VOPCOp": "VOPC", "VOP3Op": "VOP3", "VOP3SDOp": "VOP3", "VOP3POp": "VOP3P", "DSOp": "DS", "FLATOp": "FLAT", "GLOBALOp": "GLOBAL"}

SPECIAL = {
    "f32": [0, 0x8000_0000, 1, 0x8000_0001, 0x007f_ffff, 0x807f_ffff, 0x0080_0000, 0x7f7f_ffff, 0xff7f_ffff, 0x3f80_0000,
            0xbf80_0000, 0x3f00_0000, 0x4020_0000, 0x3f80_0001, 0x4b00_0001, 0x3380_0000, 0xb380_0001, 0x7e80_0000,
            0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7fa1_2345, 0xffc1_2345],
    "f16": [0, 0x8000, 1, 0x8001, 0x3ff, 0x83ff, 0x400, 0x7bff, 0xfbff, 0x3c00, 0xbc00, 0x3800, 0x4100, 0x3c01, 0x6401,
            0x1000, 0x9001, 0x7800, 0x7c00, 0xfc00, 0x7e00, 0x7d23, 0xfe45],
    "bf16": [0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x7f7f, 0xff7f, 0x3f80, 0xbf80, 0x3f00, 0x4020, 0x3f81, 0x7f80, 0xff80,
             0x7fc0, 0x7fa1, 0xffc3],
    "f64": [0, 1 << 63, 1, 1 << 63 | 1, 0xf_ffff_ffff_ffff, 1 << 52, 0x7fef_ffff_ffff_ffff, 0xffef_ffff_ffff_ffff,
            0x3ff0 << 48, 0xbff0 << 48, 0x3fe0 << 48, 0x4004 << 48, (0x3ff0 << 48) + 1, 0x4330_0000_0000_0001,
            0x3ca0 << 48, (0xbca0 << 48) + 1, 0x7fd0 << 48, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff8 << 48,
            0x7ff4_0000_1234_5678, 0xfff8_0000_1234_5678],
}
# Where conversions change: ties, limits of integers, of f16 and of the small formats.
ONE_SOURCE = {
    "f32": [struct.unpack("<I", struct.pack("<f", s * x))[0] for s in (1, -1) for x in (
        0.25, 0.49999997, 0.5, 0.75, 1.5, 2.5, 3.5, 7.5, 15.5, 127.5, 128.5, 254.5, 255.0, 255.5, 256.5, 32767.5, 65503.996,
        65504.0, 65519.996, 65520.0, 65535.5, 8388607.5, 8388608.0, 16777217.0, 2147483520.0, 2147483648.0, 4294967040.0,
        4294967296.0, 1e10, 2.0**-14, 2.0**-15, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 3e-8, 1 / 65535, 0.5 / 32767, 1e-20,
        256.0, 257.0, 511.75, 126.5, 129.0, 149.5, 448.0, 464.0, 465.0, 57344.0, 61440.0)],
    "f16": [0x3400, 0x37ff, 0x3a00, 0x3e00, 0x4300, 0x5bf8, 0x5c01, 0x5bfc, 0x63ff, 0x6400, 0x6801, 0x77ff, 0x7800, 0xb400,
            0xb7ff, 0xbe00, 0xc100, 0xc300, 0xf800, 0xf7ff, 0xe3ff, 0x0200, 0x5700, 0x5f40, 0xdf40],
    "f64": [struct.unpack("<Q", struct.pack("<d", s * x))[0] for s in (1, -1) for x in (
        0.25, 0.5, 0.75, 1.5, 2.5, 3.5, 2147483647.0, 2147483647.5, 2147483648.0, 4294967295.5, 4294967296.0, 2.0**51 + 0.5,
        2.0**52 + 1, 1e300, 2.0**-126, 2.0**-149, 2.0**-150, 1.5 * 2.0**-150, 3.4028235677973366e38, 3.4e38,
        1 + 2.0**-24, 1 + 3 * 2.0**-24, 1e-310, 1e-40)],
}
EDGES = {
    16: [0, 1, 2, 15, 16, 17, 0x7f, 0x80, 0xff, 0x100, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xff80, 0xfffe, 0xffff, 0x5555],
    32: [0, 1, 2, 31, 32, 33, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x1_0000, 0x80_0000, 0xff_ffff, 0x7fff_ffff,
         0x8000_0000, 0x8000_0001, 0xffff_8000, 0xffff_fffe, 0xffff_ffff, 0xdead_beef, 0x5555_5555],
    64: [0, 1, 63, 64, 0x8000_0000, 0xffff_ffff, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, 0xffff_ffff << 32,
         (1 << 64) - 1, 0xdead_beef_0bad_f00d, 0x00ff_00f0_0001_8421],
}


class Source:
    """Values of one operand: its edges, and random ones."""

    def __init__(self, fmt, bits, rule=None):
        self.fmt, self.bits, self.rule = fmt, bits, rule
        m = re.fullmatch(r"FMT_NUM_(?:PK(\d+)_)?([A-Z]+\d+)", fmt)
        self.count, self.elem = int(m[1] or 1), m[2].lower()
        self.elem_bits = int(re.search(r"\d+$", self.elem)[0])

    def is_float(self):
        return self.elem in SPECIAL

    def dwords(self):
        return max(1, (self.bits + 31) // 32)

    def edges(self, alone):
        """Edges of one element."""
        if self.rule:
            return []
        if self.is_float():
            return SPECIAL[self.elem] + (ONE_SOURCE.get(self.elem, []) if alone else [])
        edges = EDGES.get(self.elem_bits, EDGES[16] if self.elem_bits < 16 else EDGES[32])
        return [e & ((1 << self.elem_bits) - 1) for e in edges]

    def random_element(self, r):
        if self.rule:
            return self.rule(r)
        w = self.elem_bits
        if self.is_float():
            kind = r.randrange(8)
            if kind == 0:
                return r.choice(SPECIAL[self.elem])
            if kind == 1 and self.elem in ONE_SOURCE:
                return r.choice(ONE_SOURCE[self.elem])
            if kind < 4:
                return r.getrandbits(w)
            e, m, bias, _ = FORMATS[self.elem]
            near = bias + r.randrange(-m // 2 - 2, m // 2 + 3)
            return r.getrandbits(1) << (e + m) | max(0, min((1 << e) - 1, near)) << m | r.getrandbits(m)
        return r.choice(self.edges(False)) if r.randrange(3) == 0 else r.getrandbits(r.choice([w, w, w // 2 or 1]))

    def whole(self, r):
        value = 0
        for n in range(self.count):
            value |= (self.random_element(r) & ((1 << self.elem_bits) - 1)) << (n * self.elem_bits)
        return self.padded(value, r)

    def padded(self, value, r):
        """With random bits above what the operand has."""
        size = self.count * self.elem_bits
        rest = self.dwords() * 32 - size
        return value if rest <= 0 or self.rule else value | r.getrandbits(rest) << size

    def packed(self, elements, r):
        value = 0
        for n, x in enumerate(elements):
            value |= x << (n * self.elem_bits)
        return self.padded(value, r)


def cases_of(sources, name, r):
    """Lists of values, one of each source."""
    elements = sources[0].count if sources else 1
    rules = any(s.rule for s in sources)
    same = all(s.count == elements for s in sources)
    wide = any(s.bits > 64 for s in sources)
    if wide:
        return [[s.whole(r) for s in sources] for _ in range(LANES)]
    if rules or not same or len(sources) > 2:
        count = 512 if any(s.is_float() for s in sources) else 256
        out = [[s.whole(r) for s in sources] for _ in range(count)]
        if name.startswith("V_DIV_SCALE"):
            # The instruction scales its first source, which is one of the others.
            out = [[r.choice(case[1:]), *case[1:]] for case in out]
        elif len(sources) == 3 and all(s.is_float() and s.count == 1 for s in sources):
            # Sums that nearly cancel.
            for case in out[::4]:
                case[2] = case[0] ^ 1 << (sources[0].elem_bits - 1)
                case[1] = SPECIAL[sources[1].elem][9] ^ r.randrange(4)
        return out
    edges = [s.edges(len(sources) == 1) for s in sources]
    tuples = [[a] for a in edges[0]] if len(sources) == 1 else [[a, b] for a in edges[0] for b in edges[1]]
    least = 192 if len(sources) == 1 else len(tuples) + 48
    count = (max(least, len(tuples)) + LANES - 1) // LANES * LANES
    while len(tuples) < count:
        tuples.append([s.random_element(r) & ((1 << s.elem_bits) - 1) for s in sources])
    n = len(tuples)
    # Elements of packed operands are different tuples.
    return [[s.packed([tuples[(i * (1 + 2 * e) + 5 * e) % n][j] for e in range(elements)], r)
             for j, s in enumerate(sources)] for i in range(n)]


def rules_of(name, index, sources):
    """How the operand `index` is drawn, where any bits will not do."""
    if "LDEXP" in name and index == 1:
        reach = {"F64": 2200, "F32": 300, "F16": 45}[name.split("_")[2]]
        return lambda r: r.randrange(-reach, reach) & 0xffff_ffff if r.randrange(4) else r.choice([1 << 31, (1 << 31) - 1, 0xffff, 1])
    if "CLASS" in name and index == 1:
        return lambda r: r.choice([1 << r.randrange(10), 0x3ff ^ 1 << r.randrange(10), r.getrandbits(32)])
    if name.startswith("S_BFE") and index == 1:
        return lambda r: r.getrandbits(32) if r.randrange(4) == 0 else r.randrange(65) | r.choice([0, 1, 8, 31, 32, 33, 63, 64, r.randrange(65)]) << 16
    if name.startswith("V_PERM_B32") and index == 2:
        return lambda r: sum(r.randrange(14) << 8 * n for n in range(4)) if r.randrange(4) else r.getrandbits(32)
    if "SCALEF32" in name and index == len(sources) - 1:
        return lambda r: r.getrandbits(32) if r.randrange(8) == 0 else r.getrandbits(1) << 31 | (127 + r.randrange(-12, 13)) << 23 | r.getrandbits(23)
    if name.startswith("V_TRIG_PREOP") and index == 1:
        return lambda r: r.randrange(32)
    return None


def registers(file, first, dwords):
    return f"{file}{first}" if dwords == 1 else f"{file}[{first}:{first + dwords - 1}]"


COLUMN_VGPRS = {"s0": 0, "s1": 32, "s2": 48, "d": 64}
COLUMN_SGPRS = {"s0": 0, "s1": 4, "d": 8}


class Row:
    def __init__(self, fmt, name, program, operands, bases):
        self.fmt, self.full_name, self.program = fmt, name, program
        self.name = re.sub(r"_E(32|64)$", "", name)
        self.scalar = fmt.startswith("SOP")
        self.operands, self.bases = operands, bases
        self.imm = fmt == "SOPK"
        names = [("s0", ("src0", "ssrc0")), ("s1", ("src1", "vsrc1", "ssrc1")), ("s2", ("src2",))]
        raw = []
        for column, keys in names:
            for key in keys:
                if key in operands and operands[key][0].name != "FMT_NUM_M64":
                    raw.append((column, operands[key]))
        if self.imm:
            compares = self.name.startswith("S_CMPK")
            raw = [("s0", operands["sdst"])] if compares else []
            self.imm_name = "S1" if compares else "S0"
        sizes = [(f, max(size, 8)) for _, (f, size, _) in raw]
        self.sources = [(column, Source(f.name, size, rules_of(self.name, n, sizes))) for n, (column, (f, size, _)) in enumerate(raw)]
        self.mask_result = fmt == "VOPC" or self.name.startswith("V_CMP")
        self.carry_in = not self.scalar and not self.mask_result and (
            re.search(r"= .*VCC|if VCC|\+ VCC", program) is not None)
        dst = operands.get("vdst") or operands.get("sdst")
        self.dst = None if self.mask_result or fmt == "SOPC" or self.name.startswith("S_CMPK") or dst is None else Source(dst[0].name, dst[1])
        self.reads_d = self.dst is not None and re.search(r"= .*D0[.\[]", program) is not None and not re.search(
            r"(SCC|VCC) = .*D0", program) or self.name in ("S_ADDK_I32", "S_MULK_I32")
        self.has_scc = self.scalar
        self.has_exec = "EXEC" in program and self.scalar

    def signature(self):
        rules = self.name if any(s.rule for _, s in self.sources) or self.name.startswith("V_DIV_SCALE") else ""
        dst = None if self.dst is None else (self.dst.fmt if self.reads_d else self.dst.dwords())
        return (self.scalar, rules, tuple(s.fmt for _, s in self.sources), dst, self.carry_in, self.has_exec, self.imm)

    def make_set(self, r):
        """Columns (name, dwords) and cases: a value of each."""
        sources = [s for _, s in self.sources]
        named = [c for c, _ in self.sources]
        if self.imm:
            sources, named = sources + [Source("FMT_NUM_U16", 16)], named + ["imm"]
        if self.dst is not None and self.reads_d:
            sources, named = sources + [self.dst], named + ["d"]
        cases = cases_of(sources, self.name, r)
        columns = [(n, s.dwords()) for n, s in zip(named, sources)]
        if self.imm:
            at = named.index("imm")
            for case in cases:
                case[at] &= 0xffff
        if self.dst is not None and not self.reads_d:
            columns.append(("d", self.dst.dwords()))
            for case in cases:
                case.append(r.getrandbits(32 * self.dst.dwords()))
        if self.carry_in:
            columns.append(("cin", 1))
        if self.has_scc:
            columns.append(("scc", 1))
        if self.carry_in or self.has_scc:
            for case in cases:
                case.append(r.getrandbits(1))
        if self.has_exec:
            columns.append(("exec", 2))
            for case in cases:
                case.append(r.choice([r.getrandbits(64), (1 << 64) - 1, 1, 0]))
        return columns, cases

    def variants(self):
        """Endings of the text with what they mean to the pseudocode."""
        p, n = self.program, self.name
        if "TTBL" in p:
            return [(f" bitop3:{t:#04x}", {"INST": {"OMOD": V("b", 2, t >> 6), "ABS": V("b", 3, t >> 3 & 7), "NEG": V("b", 3, t & 7)}})
                    for t in (0xca, 0x96, 0xe8, 0x01, 0x35)]
        opsel = lambda bits: {"OPSEL": V("b", 4, bits), "OPSEL_HI": V("b", 3, 7)}
        if "OPSEL_HI" in p:
            return [(f" op_sel:[{','.join(str(o >> i & 1) for i in range(3))}] op_sel_hi:[{','.join(str(h >> i & 1) for i in range(3))}]",
                     {"OPSEL": V("b", 4, o), "OPSEL_HI": V("b", 3, h)}) for o, h in ((0, 0), (0, 7), (7, 7), (5, 1), (2, 6))]
        if n == "V_PK_MOV_B32":
            return [(f" op_sel:[{b & 1},{b >> 1}]", opsel(b)) for b in range(4)]
        count = len(self.sources)
        if "OPSEL[3 : 2]" in p:
            return [(f" op_sel:[0,0,{b & 1},{b >> 1}]" if b else "", opsel(b << 2)) for b in range(4)]
        if "OPSEL.u4[3]" in p:
            # The assembler has no op_sel for these; 0 is what it encodes.
            return [("", opsel(0))]
        if "OPSEL[3]" in p:
            zeros = "0," * count
            return [("", opsel(0)), (f" op_sel:[{zeros}1]", opsel(8))]
        if "OPSEL[0]" in p:
            return [("", opsel(0)), (" op_sel:[1,0,0]", opsel(1))]
        if "OPSEL[1 : 0]" in p and "hi/lo" in p:
            return [(f" op_sel:[{b & 1},{b >> 1},{h}]", opsel(b | 8 * h)) for h in range(2) for b in range(4)]
        if "OPSEL[1 : 0]" in p:
            return [(f" op_sel:[{b & 1},{b >> 1},0]" if b else "", opsel(b)) for b in range(4)]
        if "SDWA_SRC0_SEL" in p and self.fmt == "VOP1":
            if "WORD1" in p:
                return [("", {}), (" sdwa src0_sel:WORD_1", {"SDWA_SRC0_SEL": V("b", 3, 5)})]
            return [("", {})] + [(f" sdwa src0_sel:BYTE_{b}", {"SDWA_SRC0_SEL": V("b", 3, b)}) for b in (1, 2, 3)]
        if "SIMM32" in p:
            return [(f" {x:#x}", {"SIMM32": V("b", 32, x)}) for x in (0x3f80_0001, 0xc020_0000, 0x0040_0000)]
        if "SIMM16" in p and not self.scalar:
            return [(f" {x:#x}", {"SIMM16": V("b", 16, x)}) for x in (0x3c01, 0xc100, 0x0200)]
        return [("", {})]

    def text(self, ending):
        columns = COLUMN_SGPRS if self.scalar else COLUMN_VGPRS
        file = "s" if self.scalar else "v"
        # The text of v_mad_mix is the one of gfx900; the row is v_fma_mix here.
        mnemonic = self.name.lower().replace("v_mad_mix", "v_fma_mix")
        if self.fmt in ("VOP1", "VOP2", "VOPC") and "SIMM" not in self.program:
            mnemonic += "_e32"
        elif self.fmt == "VOP3" and self.name in self.bases:
            mnemonic += "_e64"
        if ending.startswith(" sdwa"):
            mnemonic, ending = mnemonic.replace("_e32", "_sdwa"), ending.replace(" sdwa", "")
        operands = []
        if self.mask_result:
            operands.append("vcc" if self.fmt == "VOPC" else "s[24:25]")
        if self.dst is not None:
            operands.append(registers(file, columns["d"], self.dst.dwords()))
        short = self.fmt in ("VOP2", "VOPC")
        if not self.scalar and self.carry_out() and not self.mask_result:
            operands.append("vcc" if short else "s[24:25]")
        sources = [registers(file, columns[c], s.dwords()) for c, s in self.sources]
        if "SIMM" in self.program and not self.scalar:
            at = 1 if "MK_" in self.name else 2
            sources.insert(at, ending.strip())
            ending = ""
        operands += sources
        if self.imm:
            operands.append("{imm}")
        if self.carry_in and not self.name.startswith("V_DIV_FMAS"):
            operands.append("vcc" if short else "s[20:21]")
        return f"{mnemonic} {', '.join(operands)}{ending}"

    def carry_out(self):
        return self.mask_result or re.search(r"VCC(\.u64\[laneId\])? = |\bD1\.", self.program) is not None

    def outputs(self):
        out = []
        if self.dst is not None:
            out.append("d")
        if self.name.startswith("V_SWAP"):
            out.append("s0")
        if not self.scalar and self.carry_out():
            out.append("cout")
        if "EXEC.u64 =" in self.program or "EXEC.u64[laneId] =" in self.program:
            out.append("exec")
        if self.scalar and "SCC =" in self.program:
            out.append("scc")
        return out


class MemoryRow:
    """An instruction on LDS or memory. Each work-item has 32 bytes; in LDS 32 more that are 2048 bytes further on."""
    scalar = imm = mask_result = carry_in = has_scc = has_exec = False
    reads_d = True

    def __init__(self, fmt, name, program, operands):
        self.fmt, self.full_name, self.name, self.program = fmt, name, name, program
        kinds = re.findall(r"\.([iuf]|bf)(16|32|64)\b", re.sub(r"(addr|OFFSET\d?)\S*", "", program))
        floats = [f"{k}{w}" for k, w in kinds if k in ("f", "bf")]

        def source(bits):
            if floats and bits == 32 and floats[0].endswith("16"):
                return Source(f"FMT_NUM_PK2_{floats[0].upper()}", 32)
            if floats and bits == int(floats[0][1:]):
                return Source(f"FMT_NUM_{floats[0].upper()}", bits)
            width = 64 if bits == 64 else 32
            return Source(f"FMT_NUM_U{width}" if bits == width else f"FMT_NUM_PK{bits // 32}_U32", bits)
        self.wide = "ST64" in name
        bits = lambda register: int(operands[register][1])
        uses = lambda word: re.search(rf"\b{word}\b", program) is not None
        registers_of = (("s0", "data0", "DATA"), ("s1", "data1", "DATA2")) if fmt == "DS" else (("s0", "data", "V?DATA"),)
        self.sources = [(c, source(bits(o))) for c, o, word in registers_of if o in operands and uses(word)]
        self.returns = "vdst" in operands and (fmt != "DS" or not self.is_atomic() or "_RTN_" in name)
        self.dst = source(bits("vdst")) if self.returns else None
        # Most atomics access one value; it is tried against all sources.
        self.compares = "CMP" in name
        atomic = self.sources[0][1] if self.is_atomic() and "WRXCHG2" not in name else None
        if atomic is not None and self.compares and fmt != "DS":
            # The data are the new value and, above it, the one to compare with.
            atomic = source(self.dst.bits)
        self.memory = atomic or Source("FMT_NUM_PK16_U32" if self.wide else "FMT_NUM_PK8_U32", 512 if self.wide else 256)

    def is_atomic(self):
        return re.search(r"tmp1? = MEM", self.program) is not None

    def signature(self):
        return ("memory", self.compares, tuple(s.fmt for _, s in self.sources), self.memory.fmt, None if self.dst is None else self.dst.bits)

    def make_set(self, r):
        sources = [s for _, s in self.sources]
        names = [c for c, _ in self.sources]
        if self.memory.bits <= 64:
            cases = cases_of([*sources, self.memory], self.name, r)
        else:
            cases = [[s.whole(r) for s in [*sources, self.memory]] for _ in range(LANES)]
        if self.compares:
            # Memory often has the value that it is compared with.
            for case in cases[::3]:
                case[-1] = case[0] if len(sources) == 2 else case[0] >> self.memory.bits
        columns = [(n, s.dwords()) for n, s in zip([*names, "m"], [*sources, self.memory])]
        if self.dst is not None:
            columns.append(("d", self.dst.dwords()))
            for case in cases:
                case.append(r.getrandbits(32 * self.dst.dwords()))
        return columns, cases

    def variants(self):
        if self.fmt != "DS":
            offset = 8 if self.memory.bits > 64 else 0
            text = f" offset:{offset}" if offset else ""
            return [(text + (" sc0" if self.is_atomic() else ""), {"OFFSET": V("u", 32, offset), "SADDR": V("u", 64, 0)})]
        size = 8 if self.name.endswith("64") else 4
        if "OFFSET1.u32" in self.program:
            one, two = (0, 2048 // (64 * size)) if self.wide else (1, 3)
            return [(f" offset0:{one} offset1:{two}", {"OFFSET0": V("u", 8, one), "OFFSET1": V("u", 8, two)})]
        zero = {"OFFSET0": V("u", 8, 0), "OFFSET1": V("u", 8, 0), "OFFSET": V("u", 16, 0)}
        if self.memory.bits > 64 and "OFFSET.u32" in self.program:
            return [(" offset:8", {**zero, "OFFSET": V("u", 16, 8)})]
        return [("", zero)]

    def text(self, ending):
        operands = [registers("v", COLUMN_VGPRS["d"], self.dst.dwords())] if self.returns else []
        operands.append("v112" if self.fmt == "DS" else "v[112:113]")
        operands += [registers("v", COLUMN_VGPRS[c], s.dwords()) for c, s in self.sources]
        if self.fmt == "GLOBAL":
            operands.append("off")
        return f"{self.name.lower()} {', '.join(operands)}{ending}"

    def outputs(self):
        return ["m"] + (["d"] if self.returns else [])

    def execute(self, program, columns, case, variables, programs):
        values = {name: value for (name, _), value in zip(columns, case)}
        state = {"ADDR": V("u", 32, 0), "ADDR_BASE": V("u", 32, 0), "MEM": Register(32 * self.memory.dwords(), values["m"])}
        state |= variables
        for column, name in (("s0", "DATA"), ("s1", "DATA2")):
            if column in values:
                state[name] = V("b", 32 * dict(columns)[column], values[column])
        returned = "RETURN_DATA" if "RETURN_DATA" in self.program else "VDATA"
        if self.returns or self.is_atomic():
            state[returned] = Register(32 * self.dst.dwords() if self.dst else 128, values.get("d", 0))
        else:
            state["VDATA"] = state.get("DATA")
        program(State(state, library.LIBRARY, programs))
        memory, d = state["MEM"], state.get(returned)
        result = {"m": (memory.bits, (1 << memory.w) - 1, memory.n)}
        if self.returns:
            result["d"] = (d.bits, (1 << d.w) - 1, d.n)
        return result


def execute(row, program, columns, case, lane, variables, programs):
    """Values, and bits that are written or a NaN of no defined payload."""
    if isinstance(row, MemoryRow):
        return row.execute(program, columns, case, variables, programs)
    values = {name: (value, dwords) for (name, dwords), value in zip(columns, case)}
    whole = row.name.startswith("V_DIV_SCALE")
    lane = 0 if whole else lane
    state = {"laneId": V("u", 32, lane), "SDWA_SRC0_SEL": V("b", 3, 0), "OPSEL": V("b", 4, 0),
             "WAVE_MODE": {"IEEE": V("u", 1, 1)}, "INF": V("f", 64, 0x7ff0 << 48), "NAN": V("f", 64, 0x7ff8 << 48, ((0, 64, "f64"),)),
             "PI": V("t", 0, "pi"), "ROUND_MODE": "ROUND_NEAREST_EVEN", "ROUND_NEAREST_EVEN": "ROUND_NEAREST_EVEN",
             "ROUND_TOWARD_ZERO": "ROUND_TOWARD_ZERO", "UNDERFLOW_F32": V("f", 32, 0), "UNDERFLOW_F64": V("f", 64, 0),
             "OVERFLOW_F32": V("f", 32, 0x7f80_0000), "OVERFLOW_F64": V("f", 64, 0x7ff0 << 48)}
    state |= {f"BYTE{n}": V("b", 3, n) for n in range(4)} | {"WORD1": V("b", 3, 5)}
    state |= variables
    for column in ("s0", "s1", "s2"):
        if column in values:
            value, dwords = values[column]
            state[column.upper()] = V("b", 32 * dwords, value)
    if row.imm:
        state[row.imm_name] = V("b", 16, values["imm"][0])
    if row.name.startswith("V_SWAP"):
        state["S0"] = Register(32, values["s0"][0])
    old = values["d"][0] if "d" in values else 0
    state["D0"] = Register(64 if row.dst is None else 32 * row.dst.dwords(), old)
    if whole:
        # Branches that name no result pass the first source.
        state["D0"] = Register(32 * row.dst.dwords(), values["s0"][0])
        state["D0"].mask = (1 << state["D0"].w) - 1
    state["D"] = state["D0"]
    state["D1"] = Register(1)
    state["VCC"] = Register(64, values.get("cin", (0, 1))[0] << lane)
    state["SCC"] = Register(1, values.get("scc", (0, 1))[0])
    state["EXEC"] = Register(64, values.get("exec", ((1 << 64) - 1, 2))[0])
    machine = State(state, library.LIBRARY, programs)
    program(machine)
    d = state["D0"]
    result = {}
    if row.dst is not None:
        result["d"] = (d.bits, (1 << d.w) - 1 if machine.keeps else d.mask, d.n)
    if row.name.startswith("V_SWAP"):
        result["s0"] = (state["S0"].bits, (1 << 32) - 1, ())
    carry = d if row.mask_result else state["D1"] if re.search(r"\bD1\.", row.program) else state["VCC"]
    result["cout"] = (carry.bits >> (0 if carry.w == 1 else lane) & 1, 1, ())
    result["exec"] = (state["EXEC"].bits if row.scalar else state["EXEC"].bits >> lane & 1, 1, ())
    result["scc"] = (state["SCC"].bits, 1, ())
    return result


def token(bits, lo, n):
    """A dword. A letter says which part is a NaN of any payload; after a slash, bits that are not defined."""
    word = bits >> lo & 0xffff_ffff
    letter, halves, open_bits = "", {}, 0
    for at, w, fmt in n:
        if at + w <= lo or at >= lo + 32:
            continue
        if fmt == "f32" and at == lo:
            letter = "n"
        elif fmt == "f64" and at + 32 == lo:
            letter = "q"
        elif fmt in ("f16", "bf16") and at - lo in (0, 16):
            halves[at - lo] = fmt
        else:
            # The sign of a NaN, and in BF8 which of the quiet ones.
            undefined = {"fp8": 0x80, "bf8": 0x81}.get(fmt, (1 << w) - 1)
            open_bits |= undefined << at >> lo & 0xffff_ffff
    if halves:
        part = {(0,): 0, (16,): 1, (0, 16): 2}[tuple(sorted(halves))]
        letter = ("lhw" if "f16" in halves.values() else "xyz")[part]
    return f"{word:x}{letter}" + (f"/{open_bits:x}" if open_bits else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, default=Path(__file__).with_name("gfx950.txt.gz"))
    parser.add_argument("--only", default="", help="a regular expression of names")
    arguments = parser.parse_args()
    autogen = "tinygrad.runtime.autogen.amd.cdna."
    pcode = importlib.import_module(autogen + "str_pcode").PCODE
    operands = importlib.import_module(autogen + "operands").OPERANDS
    operand_of = {(type(op).__name__, op.name): v for op, v in operands.items()}
    bases = {re.sub("_E32$", "", op.name) for op in pcode if type(op).__name__ in ("VOP1Op", "VOP2Op", "VOPCOp")}
    texts = {}
    for op, text in pcode.items():
        texts.setdefault(re.sub(r"_E(32|64)$", "", op.name).lower(), text)
    programs = lambda name: compiled(texts[name])

    sets, lines, left_out, done = {}, [], {}, {}
    previous = None
    rows = []
    for op, text in pcode.items():
        kind = type(op).__name__
        if kind not in FORMAT_NAMES:
            left_out.setdefault(kind, []).append(op.name)
            continue
        reason = next((why for pattern, why in LEFT_OUT if re.fullmatch(pattern, op.name)), None)
        if reason:
            left_out.setdefault(reason, []).append(op.name)
            continue
        base = re.sub(r"_E(32|64)$", "", op.name)
        given = operand_of.get((kind, base)) or operand_of[kind, op.name]
        if kind in ("DSOp", "FLATOp", "GLOBALOp"):
            rows.append(MemoryRow(FORMAT_NAMES[kind], op.name, text, given))
        else:
            rows.append(Row(FORMAT_NAMES[kind], op.name, text, given, bases))
    # The two encodings of an instruction follow each other, and so compress.
    rows.sort(key=lambda row: (row.scalar, re.sub("^(FLAT|GLOBAL)_", "", row.name), row.fmt))
    for row in rows:
        if not re.search(arguments.only, row.full_name):
            continue
        program = compiled(row.program)
        key = row.signature()
        if key not in sets:
            r = random.Random(zlib.crc32(repr(key).encode()))
            columns, cases = row.make_set(r)
            name = f"{len(sets)}"
            sets[key] = (name, columns, cases)
            lines.append(f"set {name} {','.join(f'{n}:{d}' for n, d in columns)}")
            for case in cases:
                lines.append(" ".join(f"{v >> 32 * i & 0xffff_ffff:x}" for (_, d), v in zip(columns, case) for i in range(d)))
        name, columns, cases = sets[key]
        for ending, variables in row.variants():
            results = []
            for n, case in enumerate(cases):
                try:
                    results.append(execute(row, program, columns, case, n % LANES, variables, programs))
                except Exception as error:
                    raise RuntimeError(f"{row.full_name} of {[hex(x) for x in case]}\n{row.program}") from error
            heads, sizes = [], dict(columns)
            for output in row.outputs():
                if output in "dm":
                    mask = 0
                    for result in results:
                        mask |= result[output][1]
                    heads.append(f"{output}:" + ",".join(f"{mask >> 32 * i & 0xffff_ffff:x}" for i in range(sizes[output])))
                else:
                    heads.append(output)
            data = []
            for result in results:
                for output in row.outputs():
                    bits, _, n = result[output]
                    count = sizes[output] if output in "dm" else 2 if output == "exec" and row.scalar else 1
                    data += [token(bits, 32 * i, n) for i in range(count)]
            body = " ".join(data)
            lines.append(f"row {row.fmt} {row.full_name} | {row.text(ending)} | {name} | {' '.join(heads)}")
            lines.append("=" if body == previous else body)
            previous = body
        done.setdefault(row.fmt, set()).add(row.full_name)
    text = "\n".join(lines) + "\n"
    with open(arguments.out, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())
    print({fmt: len(names) for fmt, names in done.items()}, sum(map(len, done.values())), "rows of", len(pcode))
    for why, names in left_out.items():
        print(f"left out: {len(names)} {why}")
    print(f"{len(sets)} sets, {len(text)} characters, {arguments.out.stat().st_size} bytes compressed", file=sys.stderr)


if __name__ == "__main__":
    main()
