//! The bytes that an access through a buffer resource reaches. Where the printed formulas (Vega ISA
//! 8.1.5, CDNA4 ISA 9.1.5) are silent, the tests pin the observed behaviour of hardware, on every
//! target.
//!
//! Sources: rocm-systems pull requests 10928 (range check, compared with gfx950, for CDNA1 to
//! CDNA4), 11240 (scalar offset and swizzle) and 8784 (no records); llvm-project pull request
//! 169230 and rocMLIR issue 678 (scalar offset). Nothing else is known of gfx906, so it behaves the
//! same.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Op};

use super::reference::{Data, Numbers, active, column, set_exec, set_rows};
use crate::common::{Machine, home_words};
use wavemill_lift::gcn::registers;

const TARGETS: [Target; 4] = [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950];
const SIZE: usize = 64 << 10;
/// Offset of the resource's base in the memory.
const BASE: usize = 256;

const ADDRESS: u16 = 4;
const DATA: u16 = 8;
/// The old value of an atomic replaces its datum.
const ROWS: usize = 4;
const RESOURCE: u16 = 20;
const SOFFSET: u16 = 30;

/// The fields of a resource that decide addresses (Vega ISA 8.1.8).
#[derive(Clone, Copy, Debug, Default)]
struct Resource {
    stride: u32,
    records: u32,
    /// Lanes of a stripe, if it is swizzled: 8, 16, 32 or 64.
    stripe: Option<u32>,
    add_tid: bool,
    /// The data format, which holds bits 17:14 of the stride if the resource adds the lane. Else 0
    /// means any but INVALID.
    format: u32,
    /// Bits of the last dword that other generations call OOB_SELECT.
    select: u32,
}

/// The instruction's part.
#[derive(Clone, Copy, Debug, Default)]
struct Form {
    idxen: bool,
    offen: bool,
    offset: u32,
    soffset: u32,
}

/// The address registers of all lanes.
#[derive(Clone, Copy, Debug)]
struct Lanes {
    index: [u32; 64],
    offset: [u32; 64],
}

impl Default for Lanes {
    fn default() -> Self {
        Lanes { index: [0; 64], offset: [0; 64] }
    }
}

impl Resource {
    fn words(self, base: u64) -> [u32; 4] {
        let format = if self.format == 0 && !self.add_tid { 4 } else { self.format };
        let index_stride = self.stripe.map_or(0, |lanes| lanes.trailing_zeros() - 3);
        [
            base as u32,
            (base >> 32) as u32 | self.stride << 16 | u32::from(self.stripe.is_some()) << 31,
            self.records,
            format << 15 | index_stride << 21 | u32::from(self.add_tid) << 23 | self.select << 28,
        ]
    }

    /// Offset from the base of the byte with that index and offset, without the scalar offset.
    fn place(self, index: u64, offset: u64) -> u64 {
        let stride = u64::from(self.stride) + if self.add_tid { u64::from(self.format) << 14 } else { 0 };
        match self.stripe {
            None => stride * index + offset,
            Some(lanes) => {
                let lanes = u64::from(lanes);
                let row = index / lanes * stride + offset / 4 * 4;
                row * lanes + index % lanes * 4 + offset % 4
            }
        }
    }

    /// The memory offsets of the bytes of each component of a lane's access; `None` for a component
    /// out of range.
    fn reach(self, form: Form, lanes: &Lanes, lane: usize, components: &[u64]) -> Vec<Option<Vec<usize>>> {
        let index = if form.idxen { u64::from(lanes.index[lane]) } else { 0 };
        let index = index + if self.add_tid { lane as u64 } else { 0 };
        let register = if form.offen { lanes.offset[lane] } else { 0 };
        let mut offset = (u64::from(register) + u64::from(form.offset)) % (1 << 32);
        let mut found = Vec::new();
        for size in components {
            let end = offset + u64::from(form.soffset) + size;
            let inside = if self.add_tid {
                true
            } else if form.idxen && self.stride != 0 {
                index < u64::from(self.records)
            } else {
                end <= u64::from(self.records)
            };
            let at = |n: u64| BASE + form.soffset as usize + self.place(index, offset + n) as usize;
            found.push(inside.then(|| (0..*size).map(at).collect()));
            offset += size;
        }
        found
    }
}

/// The effect of an instruction on its components.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Load,
    Store,
    /// Adds, and returns the old value.
    Add,
}

/// The bytes of each component of an instruction.
fn components(op: Op, kind: Kind, data: Data) -> Vec<u64> {
    match kind {
        Kind::Add if op == Op::BufferAtomicAddX2 => vec![8],
        Kind::Add => vec![4],
        _ if data.bytes < 4 => vec![data.bytes as u64],
        _ => vec![4; data.bytes / 4],
    }
}

fn fields(form: Form, kind: Kind) -> Vec<(F, u32)> {
    let mut fields = vec![
        (F::Vdata, DATA.into()),
        (F::Vaddr, ADDRESS.into()),
        (F::Srsrc, u32::from(RESOURCE) / 4),
        (F::Soffset, SOFFSET.into()),
        (F::Offset, form.offset),
        (F::Offen, form.offen.into()),
        (F::Idxen, form.idxen.into()),
    ];
    fields.extend((kind == Kind::Add).then_some((F::Glc, 1)));
    fields
}

/// Sets the registers that form the address of an access.
fn set(regs: &mut wavemill_machine::Registers, buffer: u64, resource: Resource, form: Form, lanes: &Lanes) {
    for (n, word) in (0..).zip(resource.words(buffer + BASE as u64)) {
        regs.set_uni(Uni(RESOURCE + n), word);
    }
    regs.set_uni(Uni(SOFFSET), form.soffset);
    let rows = if form.idxen { [lanes.index, lanes.offset] } else { [lanes.offset, [0; 64]] };
    set_rows(regs, ADDRESS, &rows);
}

fn kind(op: Op) -> Kind {
    match op.row().name() {
        name if name.contains("atomic") => Kind::Add,
        name if name.contains("store") => Kind::Store,
        _ => Kind::Load,
    }
}

fn data(op: Op) -> Data {
    Data::of(op.row().name()).or_else(|| Data::of("b32")).expect("a kind of data")
}

/// Runs an instruction and compares registers and memory with the model.
fn compare(
    machine: &mut Machine,
    numbers: &mut Numbers,
    op: Op,
    exec: u64,
    access: (Resource, Form, &Lanes),
) {
    let (resource, form, lanes) = access;
    let (kind, data) = (kind(op), data(op));
    let parts = components(op, kind, data);
    let old: Vec<_> = (0..ROWS).map(|_| numbers.row()).collect();
    let outcome = machine.run(&home_words(machine.target, op, &fields(form, kind)), |regs, buffers| {
        set_exec(regs, exec);
        set(regs, buffers[0], resource, form, lanes);
        set_rows(regs, DATA, &old);
    });
    let mut memory = machine.buffers[0].clone();
    for lane in 0..64 {
        let mut registers = column(&old, lane);
        if active(exec, lane) {
            let reach = resource.reach(form, lanes, lane, &parts);
            let stored = data.store(&registers);
            let mut loaded = Vec::new();
            for (n, part) in reach.iter().enumerate() {
                let size = parts[n] as usize;
                let Some(part) = part else {
                    loaded.extend(vec![0; size]);
                    continue;
                };
                let bytes: Vec<u8> = part.iter().map(|at| memory[*at]).collect();
                let new: Vec<u8> = match kind {
                    Kind::Load => bytes.clone(),
                    Kind::Store => stored[4 * n..4 * n + size].to_vec(),
                    Kind::Add => {
                        let [value, datum] =
                            [&bytes, &registers.iter().flat_map(|r| r.to_le_bytes()).collect()].map(
                                |b: &Vec<u8>| {
                                    b.iter().take(size).rev().fold(0u64, |v, x| v << 8 | u64::from(*x))
                                },
                            );
                        value.wrapping_add(datum).to_le_bytes()[..size].to_vec()
                    }
                };
                part.iter().zip(new).for_each(|(at, byte)| memory[*at] = byte);
                loaded.extend(bytes);
            }
            if kind == Kind::Load {
                let values = data.load(&loaded, &registers);
                registers[..values.len()].copy_from_slice(&values);
            } else if kind == Kind::Add {
                let values = loaded.chunks(4).map(|c| u32::from_le_bytes(c.try_into().expect("four bytes")));
                registers.iter_mut().zip(values).for_each(|(register, value)| *register = value);
            }
        }
        let now = column(&outcome.wave.vgprs[DATA.into()..usize::from(DATA) + ROWS], lane);
        assert_eq!(now, registers, "{op} on {:?}, lane {lane}: {resource:?} {form:?}", machine.target);
    }
    assert!(outcome.buffers[0] == memory, "{op} on {:?}: {resource:?} {form:?}", machine.target);
}

fn machine(target: Target, numbers: &mut Numbers) -> Machine {
    Machine { buffers: vec![numbers.bytes(SIZE)], ..Machine::new(target) }
}

const OPS: [Op; 12] = [
    Op::BufferLoadUbyte,
    Op::BufferLoadSshort,
    Op::BufferLoadShortD16Hi,
    Op::BufferLoadDword,
    Op::BufferLoadDwordx2,
    Op::BufferLoadDwordx3,
    Op::BufferLoadDwordx4,
    Op::BufferStoreByte,
    Op::BufferStoreShort,
    Op::BufferStoreDword,
    Op::BufferStoreDwordx3,
    Op::BufferStoreDwordx4,
];
const ATOMICS: [Op; 2] = [Op::BufferAtomicAdd, Op::BufferAtomicAddX2];

/// The expected result of one lane's access of dwords: offsets from the base.
struct Case {
    what: &'static str,
    op: Op,
    resource: Resource,
    form: Form,
    index: u32,
    offset: u32,
    reaches: &'static [Option<usize>],
}

/// Computed by hand.
fn cases() -> Vec<Case> {
    let raw = |records| Resource { records, format: 4, ..Resource::default() };
    let of = |stride, records| Resource { stride, ..raw(records) };
    let none = Form::default();
    let offen = Form { offen: true, ..none };
    let idxen = Form { idxen: true, ..none };
    let one = Op::BufferLoadDword;
    let four = Op::BufferLoadDwordx4;
    let case = |what, op, resource, form, (index, offset), reaches| Case {
        what,
        op,
        resource,
        form,
        index,
        offset,
        reaches,
    };
    let private = Resource { add_tid: true, stripe: Some(64), ..Resource::default() };
    vec![
        case("the scalar offset counts", one, raw(4), Form { soffset: 4, ..none }, (0, 0), &[None]),
        case("and up to the end is inside", one, raw(8), Form { soffset: 4, ..none }, (0, 0), &[Some(4)]),
        case("so does the instruction's", one, raw(4), Form { offset: 4, ..none }, (0, 0), &[None]),
        case("the access has to end inside", one, raw(7), Form { soffset: 4, ..none }, (0, 0), &[None]),
        case("an offset behind all records", one, raw(4), Form { soffset: !3, ..offen }, (0, 4), &[None]),
        case("dword by dword", four, raw(11), none, (0, 0), &[Some(0), Some(4), None, None]),
        case("from an odd byte", four, raw(11), offen, (0, 3), &[Some(3), Some(7), None, None]),
        case("lane and instruction wrap", one, raw(8), Form { offset: 8, ..offen }, (0, !3), &[Some(4)]),
        case("the scalar offset does not", one, raw(8), Form { soffset: 8, ..offen }, (0, !3), &[None]),
        case("nor does the second dword", four, raw(64), offen, (0, !3), &[None; 4]),
        case("no index: bytes, despite a stride", one, of(16, 4), offen, (0, 8), &[None]),
        case("and inside", one, of(16, 12), offen, (0, 8), &[Some(8)]),
        case("an index: records", one, of(16, 4), idxen, (3, 0), &[Some(48)]),
        case("one too many", one, of(16, 4), idxen, (4, 0), &[None]),
        case(
            "the offset is not checked there",
            one,
            of(16, 4),
            Form { offen: true, soffset: 100, ..idxen },
            (3, 40),
            &[Some(188)],
        ),
        case("an index without a stride: bytes", one, raw(8), idxen, (7, 0), &[Some(0)]),
        case("of which there must be enough", one, raw(3), idxen, (0, 0), &[None]),
        case(
            "nothing checks where the lane is added",
            four,
            private,
            none,
            (0, 0),
            &[Some(0), Some(256), Some(512), Some(768)],
        ),
        case(
            "nor with an index",
            one,
            Resource { add_tid: true, stride: 8, ..Resource::default() },
            idxen,
            (5, 0),
            &[Some(40)],
        ),
        case("no records, no access", one, raw(0), none, (0, 0), &[None]),
        case("OOB_SELECT means nothing", one, Resource { select: 3, ..raw(4) }, offen, (0, 4), &[None]),
        case(
            "the scalar offset is added behind the swizzle",
            Op::BufferLoadDwordx2,
            Resource { stripe: Some(8), stride: 16, ..raw(64) },
            Form { offen: true, soffset: 3, ..idxen },
            (9, 4),
            // Stripe 1, lane 1 of it: (16 + 4) * 8 + 4 + 3, and a dword of all eight further.
            &[Some(167), Some(199)],
        ),
    ]
}

#[test]
fn hardware_evidence() {
    let mut numbers = Numbers::new(91);
    for target in TARGETS {
        let machine = machine(target, &mut numbers);
        for case in cases() {
            let lanes = Lanes { index: [case.index; 64], offset: [case.offset; 64] };
            let code = home_words(target, case.op, &fields(case.form, Kind::Load));
            let outcome = machine.run(&code, |regs, buffers| {
                set_exec(regs, 1);
                set(regs, buffers[0], case.resource, case.form, &lanes);
                set_rows(regs, DATA, &[[0x7777_7777; 64]; ROWS]);
            });
            let dword =
                |at: usize| u32::from_le_bytes(std::array::from_fn(|n| machine.buffers[0][BASE + at + n]));
            let expected: Vec<u32> = case.reaches.iter().map(|at| at.map_or(0, dword)).collect();
            let now = column(&outcome.wave.vgprs[DATA.into()..usize::from(DATA) + ROWS], 0);
            assert_eq!(now[..expected.len()], expected, "{} on {target:?}", case.what);
        }
    }
}

/// Offsets around the end of `records` bytes, around zero and around the end of 32 bits.
fn edges(records: u32) -> [u32; 64] {
    std::array::from_fn(|lane| match lane {
        0..41 => records.wrapping_add(lane as u32).wrapping_sub(20),
        41..61 => (lane as u32 - 41).wrapping_sub(14),
        61 => 0u32.wrapping_sub(4095),
        62 => 0x8000_0000,
        _ => 0x7fff_fffe,
    })
}

#[test]
fn raw_buffers_at_their_ends() {
    let mut numbers = Numbers::new(92);
    for target in TARGETS {
        let mut machine = machine(target, &mut numbers);
        for records in [0, 3, 8, 61, 260] {
            for (soffset, offset) in [(0, 0), (4, 0), (3, 8), (60, 4095), (0xffff_fff8, 8)] {
                let resource = Resource { records, format: 4, ..Resource::default() };
                let form = Form { offen: true, soffset, offset, ..Form::default() };
                let lanes = Lanes { offset: edges(records.wrapping_sub(soffset)), ..Lanes::default() };
                for op in OPS {
                    compare(&mut machine, &mut numbers, op, !0, (resource, form, &lanes));
                }
                // Atomics must be aligned.
                for op in ATOMICS {
                    let form = Form { soffset: soffset & !7, offset: offset & !7, ..form };
                    let lanes = Lanes { offset: lanes.offset.map(|o| o & !7), ..lanes };
                    compare(&mut machine, &mut numbers, op, !0, (resource, form, &lanes));
                }
            }
        }
    }
}

#[test]
fn structured_swizzled_and_private_buffers() {
    let mut numbers = Numbers::new(93);
    for target in TARGETS {
        let mut machine = machine(target, &mut numbers);
        for stripe in [None, Some(8), Some(64)] {
            for add_tid in [false, true] {
                for (stride, records, soffset) in [(0, 200, 12), (12, 40, 0), (20, 40, 5)] {
                    let resource = Resource { stride, records, stripe, add_tid, ..Resource::default() };
                    for (idxen, offen) in [(false, false), (false, true), (true, false), (true, true)] {
                        let form = Form { idxen, offen, offset: 4, soffset };
                        let index = std::array::from_fn(|lane| 20 + lane as u32 / 2);
                        let offset = numbers.offsets(200, 1).map(|o| o as u32);
                        let lanes = Lanes { index, offset };
                        for op in OPS {
                            // Lanes that store to the same bytes would hide each other's stores.
                            let exec = if kind(op) == Kind::Store { 1 << 37 } else { !0 };
                            compare(&mut machine, &mut numbers, op, exec, (resource, form, &lanes));
                        }
                    }
                }
            }
        }
        // The data format extends the stride only if the resource adds the lane.
        for (add_tid, idxen) in [(true, false), (true, true), (false, true)] {
            let resource = Resource { stride: 4, records: 64, format: 1, add_tid, ..Resource::default() };
            let form = Form { idxen, ..Form::default() };
            compare(
                &mut machine,
                &mut numbers,
                Op::BufferLoadDword,
                0b111,
                (resource, form, &Lanes::default()),
            );
        }
    }
}

/// Loads to LDS: lanes out of range write zeros, inactive lanes write nothing.
#[test]
fn loads_to_lds_write_zeros() {
    let mut numbers = Numbers::new(94);
    for target in TARGETS {
        let wide: &[_] =
            if target == Target::Gfx950 { &[Op::BufferLoadDwordx3, Op::BufferLoadDwordx4] } else { &[] };
        for op in [Op::BufferLoadDword, Op::BufferLoadUbyte].iter().chain(wide) {
            let mut machine = machine(target, &mut numbers);
            machine.lds_size = 4096;
            let data = data(*op);
            let step = data.bytes.next_multiple_of(4) as u32;
            let resource = Resource { records: 263, format: 4, ..Resource::default() };
            let form = Form { offen: true, soffset: 8, offset: 16, ..Form::default() };
            let lanes = Lanes { offset: std::array::from_fn(|lane| 5 * lane as u32), ..Lanes::default() };
            let mut to_lds = fields(form, Kind::Load);
            to_lds.retain(|(field, _)| *field != F::Vdata);
            to_lds.push((F::Lds, 1));
            // Four rows of LDS before and after.
            let row = |op, register, n| {
                home_words(
                    target,
                    op,
                    &[(F::Addr, 2), (register, u32::from(DATA) + n), (F::Offset0, 0), (F::Offset1, n)],
                )
            };
            let mut code: Vec<u32> = (0..4).flat_map(|n| row(Op::DsWriteB32, F::Data0, n)).collect();
            code.extend([0xbefe_0100 | 40]); // s_mov_b64 exec, s[40:41]
            code.extend(home_words(target, *op, &to_lds));
            code.extend([0xbefe_01c1]); // s_mov_b64 exec, -1
            code.extend((0..4).flat_map(|n| row(Op::DsReadB32, F::Vdst, n)));
            let exec = 0xffff_0fff_ffff_fff7;
            let outcome = machine.run(&code, |regs, buffers| {
                set_exec(regs, !0);
                regs.set_uni64(Uni(40), exec);
                regs.set_uni(registers::M0, 0);
                set(regs, buffers[0], resource, form, &lanes);
                set_rows(regs, DATA, &[[0x7777_7777; 64]; ROWS]);
                set_rows(regs, 2, &[std::array::from_fn(|lane| 4 * lane as u32)]);
            });
            let mut lds = vec![0x77; 1024];
            let parts = components(*op, Kind::Load, data);
            for lane in (0..64).filter(|lane| active(exec, *lane)) {
                let mut bytes = Vec::new();
                for (part, size) in resource.reach(form, &lanes, lane, &parts).iter().zip(&parts) {
                    let zeros = vec![0; *size as usize];
                    bytes.extend(
                        part.as_ref().map_or(zeros, |p| p.iter().map(|at| machine.buffers[0][*at]).collect()),
                    );
                }
                bytes.resize(step as usize, 0);
                // The instruction's offset is part of both addresses (CDNA4 ISA 9.1.9).
                let at = form.offset as usize + step as usize * lane;
                for (n, byte) in bytes.into_iter().enumerate().filter(|(n, _)| at + n < 1024) {
                    lds[at + n] = byte;
                }
            }
            for (n, row) in outcome.wave.vgprs[DATA.into()..].iter().take(4).enumerate() {
                let now: Vec<u8> = row.iter().flat_map(|dword| dword.to_le_bytes()).collect();
                assert!(now == lds[256 * n..256 * (n + 1)], "{op} on {target:?}, row {n} of LDS");
            }
        }
    }
}
