//! Accesses through buffer resources.

use crate::common::{Runner, Setup, best, fault_of, inst, out_of_range, registers_after, runners, s, v};
use wavemill_ir::{AtomicOp, Attrs, BufferAddr, Inst, MemType, Op, Operand, Row, Uni, Width};
use wavemill_machine::{Access, FaultCause, FaultSpace, GuestMemory, Nearest};
use wavemill_oracle::SplitMix64;

/// The fields of a resource that matter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fields {
    pub(crate) base: u64,
    pub(crate) stride: u64,
    pub(crate) records: u32,
    pub(crate) swizzle: bool,
    /// 8 << this.
    pub(crate) index_stride: u32,
    pub(crate) add_tid: bool,
    /// Bits 18:0 of the last word: selections and formats. With 0, any format works.
    pub(crate) format: u32,
}

impl Fields {
    fn words(self) -> [u32; 4] {
        let stride = self.stride as u32;
        [
            self.base as u32,
            (self.base >> 32) as u32 | (stride & 0x3fff) << 16 | u32::from(self.swizzle) << 31,
            self.records,
            // With add_tid the data format holds bits 17:14 of the stride; otherwise any format
            // works except INVALID.
            self.index_stride << 21
                | u32::from(self.add_tid) << 23
                | match self.format {
                    0 if self.add_tid => (stride >> 14 & 15) << 15,
                    0 => 4 << 15,
                    format => format,
                },
        ]
    }

    /// Bytes from base + uniform offset to the dword, by the manual's formulas (Vega ISA 8.1.5);
    /// `None` if it is out of range on hardware (rocm-systems pull request 10928).
    fn displacement(self, idxen: bool, index: u64, offset: u64, size: u64, uniform: u64) -> Option<u64> {
        if !self.add_tid {
            // Data format 0 is that of an unbound resource (Vega ISA 8.1.4).
            if self.words()[3] >> 15 & 15 == 0 {
                return None;
            }
            let structured = self.stride != 0 && idxen;
            let end = uniform + offset + size;
            let inside = if structured { index < self.records.into() } else { end <= self.records.into() };
            if !inside {
                return None;
            }
        }
        Some(if self.swizzle {
            let lanes = 8u64 << self.index_stride;
            ((index / lanes) * self.stride + offset / 4 * 4) * lanes + (index % lanes) * 4 + offset % 4
        } else {
            index * self.stride + offset
        })
    }
}

pub(crate) const SIZE: usize = 64 * 1024;

pub(crate) fn filled(memory: &GuestMemory) -> (u64, Vec<u8>) {
    let mut random = SplitMix64::new(11);
    let buffer = memory.allocate("buffer", SIZE as u64, 256).unwrap();
    let bytes: Vec<u8> = (0..SIZE).map(|_| random.next_u64() as u8).collect();
    memory.write(buffer, &bytes).unwrap();
    (buffer, bytes)
}

pub(crate) fn with_resource(setup: &mut Setup, f: Fields, soffset: u32) {
    for (i, w) in f.words().into_iter().enumerate() {
        setup.cells.push((Uni(4 + i as u16), w));
    }
    setup.cells.push((Uni(8), soffset));
}

/// A random resource and access that stay inside the memory.
pub(crate) struct Trial {
    pub(crate) fields: Fields,
    pub(crate) addr: BufferAddr,
    index: [u32; 64],
    offset: [u32; 64],
    imm: u32,
    soffset: u32,
    pub(crate) exec: u64,
    /// The last dword of the resource, if the access does not look at it.
    ignored: Option<u32>,
}

impl Trial {
    pub(crate) fn new(random: &mut SplitMix64, base: u64) -> Trial {
        let fields = Fields {
            base: base + 256 * random.below(4),
            stride: random.pick(&[0, 0, 4, 16, 20]),
            records: random.pick(&[0, 1, 37, 64, 500, 0x3000]),
            swizzle: random.below(3) == 0,
            index_stride: random.below(4) as u32,
            add_tid: random.below(3) == 0,
            // A number format alone leaves the data format INVALID.
            format: random.pick(&[0, 0, 0, 7 << 12]),
        };
        let rising = random.below(3) == 0;
        let first = 4 * random.below(32) as u32;
        Trial {
            fields,
            addr: BufferAddr { offen: random.below(2) == 0, idxen: random.below(2) == 0, plain: false },
            index: std::array::from_fn(|l| if rising { l as u32 } else { random.below(70) as u32 }),
            offset: std::array::from_fn(|l| {
                if rising {
                    first + 4 * l as u32
                } else {
                    random.below(if first == 0 { 600 } else { 1 }) as u32
                }
            }),
            imm: random.pick(&[0, 4, 12, 255]),
            soffset: random.pick(&[0, 64, 1000]),
            exec: [!0, !0, random.next_u64(), 1][random.index(4)],
            ignored: None,
        }
    }

    /// The same for an access that does not look at the last dword of the resource.
    fn without_format(self, random: &mut SplitMix64) -> Trial {
        let fields = Fields { index_stride: 0, add_tid: false, format: 0, ..self.fields };
        let addr = BufferAddr { plain: true, ..self.addr };
        Trial { fields, addr, ignored: Some(random.next_u64() as u32), ..self }
    }

    pub(crate) fn setup(&self) -> Setup {
        let mut setup = Setup::one_wave(self.exec);
        with_resource(&mut setup, self.fields, self.soffset);
        setup.cells.extend(self.ignored.map(|word| (Uni(7), word)));
        let both = self.addr.offen && self.addr.idxen;
        let first = if self.addr.idxen { self.index } else { self.offset };
        setup.rows.push((Row(0), first));
        setup.rows.push((Row(1), if both { self.offset } else { [77; 64] }));
        setup
    }

    /// Offsets in the buffer of the bytes of a component of a lane; entries after its size are
    /// ignored.
    fn place(&self, buffer: u64, lane: usize, at: u64, size: u64) -> Option<[usize; 4]> {
        let index = if self.addr.idxen { u64::from(self.index[lane]) } else { 0 };
        let index = index + if self.fields.add_tid { lane as u64 } else { 0 };
        let offset = if self.addr.offen { u64::from(self.offset[lane]) } else { 0 };
        let offset = offset + u64::from(self.imm) + at;
        let uniform = u64::from(self.soffset);
        self.fields.displacement(self.addr.idxen, index, offset, size, uniform)?;
        // Nothing is rounded down: each byte is at its own address, in swizzled buffers possibly in
        // another element.
        Some(std::array::from_fn(|byte| {
            let at = offset + byte as u64;
            let d = self.fields.displacement(self.addr.idxen, index, at, 0, uniform).unwrap_or(0);
            (self.fields.base + uniform + d - buffer) as usize
        }))
    }

    /// Offsets in the buffer of the bytes of a texel of a lane; `None` if it is out of range, as a
    /// whole.
    pub(crate) fn texel(&self, buffer: u64, lane: usize, bytes: u64) -> Option<Vec<usize>> {
        self.place(buffer, lane, 0, bytes)?;
        // A byte is never out of range on its own.
        let everywhere = Trial { fields: Fields { records: u32::MAX, ..self.fields }, ..*self };
        let byte = |at| everywhere.place(buffer, lane, at, 1).expect("no limit")[0];
        Some((0..bytes).map(byte).collect())
    }

    pub(crate) fn operands(&self, data: Operand) -> [Operand; 4] {
        let none = !self.addr.offen && !self.addr.idxen;
        [if none { Operand::None } else { v(0) }, s(4), s(8), data]
    }

    pub(crate) fn attrs(&self) -> Attrs {
        Attrs { imm: self.imm as i32, ..Attrs::default() }
    }
}

#[test]
fn loads_follow_the_resource() {
    best().into_iter().for_each(loads_follow_the_resource_on);
}

fn loads_follow_the_resource_on(runner: Runner) {
    let memory = GuestMemory::default();
    let (buffer, bytes) = filled(&memory);
    let mut random = SplitMix64::new(12);
    let types = [
        MemType::Dwords(1),
        MemType::Dwords(1),
        MemType::Dwords(2),
        MemType::Dwords(3),
        MemType::Dwords(4),
        MemType::U8,
        MemType::I8,
        MemType::U16,
        MemType::I16,
        MemType::D16HiB16,
    ];
    for n in 0..4000 {
        let mut trial = Trial::new(&mut random, buffer);
        if n % 4 == 3 {
            trial = trial.without_format(&mut random);
        }
        let ty = random.pick(&types);
        let mut setup = trial.setup();
        setup.rows.push((Row(8), [0x1234_5678; 64]));
        let load = inst(Op::BufferLoad(ty, trial.addr), v(8), &trial.operands(Operand::None), trial.attrs());
        let after = registers_after(&[load], &setup, &memory, runner);
        for lane in 0..64 {
            for k in 0..usize::from(ty.dwords()) {
                let size = if let MemType::Dwords(_) = ty { 4 } else { u64::from(ty.bytes()) };
                let raw = trial.place(buffer, lane, 4 * k as u64, size).map_or(0, |at| {
                    u32::from_le_bytes([0, 1, 2, 3].map(|b| if b < size as usize { bytes[at[b]] } else { 0 }))
                });
                let old = if k == 0 { 0x1234_5678 } else { 0 };
                let want = match ty {
                    _ if trial.exec >> lane & 1 == 0 => old,
                    MemType::I8 => raw as u8 as i8 as i32 as u32,
                    MemType::I16 => raw as u16 as i16 as i32 as u32,
                    MemType::D16HiB16 => raw << 16 | 0x5678,
                    _ => raw,
                };
                let got = after.rows[0][8 + k][lane];
                assert_eq!(got, want, "trial {n}: dword {k} of lane {lane}, {load} of {:?}", trial.fields);
            }
        }
    }
}

#[test]
fn stores_and_atomics_follow_the_resource() {
    best().into_iter().for_each(stores_and_atomics_follow_the_resource_on);
}

fn stores_and_atomics_follow_the_resource_on(runner: Runner) {
    let memory = GuestMemory::default();
    let (buffer, mut bytes) = filled(&memory);
    let mut random = SplitMix64::new(13);
    for n in 0..2700 {
        let atomic = n % 3 == 0;
        let mut trial = Trial::new(&mut random, buffer);
        if n % 4 == 3 {
            trial = trial.without_format(&mut random);
        }
        if atomic {
            // Atomics must be aligned.
            trial.imm &= !3;
            trial.offset = trial.offset.map(|offset| offset & !3);
        }
        let ty = random.pick(&[
            MemType::Dwords(1),
            MemType::Dwords(2),
            MemType::Dwords(4),
            MemType::U8,
            MemType::U16,
        ]);
        let mut setup = trial.setup();
        let data: [[u32; 64]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| random.next_u64() as u32));
        for (k, row) in data.iter().enumerate() {
            setup.rows.push((Row(8 + k as u16), *row));
        }
        let op = if atomic {
            Op::BufferAtomic(AtomicOp::CmpSwap, Width::W32, trial.addr)
        } else {
            Op::BufferStore(ty, trial.addr)
        };
        // Half of the comparands match.
        if atomic {
            let old: [u32; 64] = std::array::from_fn(|lane| match trial.place(buffer, lane, 0, 4) {
                Some(at) if lane % 2 == 0 => u32::from_le_bytes(at.map(|byte| bytes[byte])),
                _ => 5,
            });
            setup.rows.push((Row(9), old));
        }
        let comparands = setup.rows.last().map_or([0; 64], |r| r.1);
        let dst = if atomic { v(16) } else { Operand::None };
        let one = inst(op, dst, &trial.operands(v(8)), trial.attrs());
        let after = registers_after(&[one], &setup, &memory, runner);
        for lane in (0..64).filter(|l| trial.exec >> l & 1 != 0) {
            if atomic {
                let at = trial.place(buffer, lane, 0, 4);
                let old = at.map_or(0, |at| u32::from_le_bytes(at.map(|byte| bytes[byte])));
                assert_eq!(after.rows[0][16][lane], old, "trial {n}: old value of lane {lane}, {one}");
                if let Some(at) = at.filter(|_| old == comparands[lane]) {
                    at.into_iter().zip(data[0][lane].to_le_bytes()).for_each(|(at, byte)| bytes[at] = byte);
                }
                continue;
            }
            let size = if let MemType::Dwords(_) = ty { 4 } else { ty.bytes() as usize };
            for (k, row) in data.iter().enumerate().take(usize::from(ty.dwords())) {
                if let Some(at) = trial.place(buffer, lane, 4 * k as u64, size as u64) {
                    let places = at.into_iter().zip(row[lane].to_le_bytes()).take(size);
                    places.for_each(|(at, byte)| bytes[at] = byte);
                }
            }
        }
        let mut now = vec![0; SIZE];
        memory.read(buffer, &mut now).unwrap();
        let wrong = now.iter().zip(&bytes).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "trial {n}: {one} of {:?}", trial.fields);
    }
}

/// The form that compilers emit for private memory: a dword at the same offset of each lane is one
/// row of memory.
#[test]
fn spills_are_rows() {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("scratch", 64 * 256, 256).unwrap();
    let fields = Fields { base: buffer, swizzle: true, index_stride: 3, add_tid: true, ..Fields::default() };
    let value: [u32; 64] = std::array::from_fn(|l| 1000 + l as u32);
    for runner in runners() {
        for exec in [!0, 0x00ff_ff00_1234_5678] {
            let mut setup = Setup::one_wave(exec);
            with_resource(&mut setup, fields, 512);
            setup.rows = vec![(Row(0), value), (Row(1), [16; 64])];
            let none = BufferAddr { offen: false, idxen: false, plain: false };
            let offen = BufferAddr { offen: true, idxen: false, plain: false };
            let at = |imm| Attrs { imm, ..Attrs::default() };
            let dword = MemType::Dwords(1);
            let insts: [Inst; 3] = [
                inst(Op::BufferStore(dword, none), Operand::None, &[Operand::None, s(4), s(8), v(0)], at(20)),
                inst(Op::BufferLoad(dword, offen), v(2), &[v(1), s(4), s(8)], at(4)),
                inst(Op::BufferLoad(MemType::U8, none), v(3), &[Operand::None, s(4), s(8)], at(21)),
            ];
            memory.write(buffer, &[0; 64 * 256]).unwrap();
            let after = registers_after(&insts, &setup, &memory, runner);
            let mut row = [0; 256];
            memory.read(buffer + 512 + 5 * 256, &mut row).unwrap();
            for lane in 0..64 {
                let want = if exec >> lane & 1 != 0 { value[lane] } else { 0 };
                assert_eq!(u32::from_le_bytes(row[4 * lane..4 * lane + 4].try_into().unwrap()), want);
                assert_eq!(after.rows[0][2][lane], want);
                assert_eq!(after.rows[0][3][lane], want >> 8 & 0xff);
            }
        }
    }
}

#[test]
fn an_access_in_range_but_outside_memory_faults() {
    best().into_iter().for_each(an_access_in_range_but_outside_memory_faults_on);
}

fn an_access_in_range_but_outside_memory_faults_on(runner: Runner) {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("short", 64, 256).unwrap();
    let fields = Fields { base: buffer, records: 1000, ..Fields::default() };
    let mut setup = Setup::one_wave(0b1111);
    with_resource(&mut setup, fields, 0);
    setup.rows.push((Row(0), std::array::from_fn(|l| 30 * l as u32)));
    for plain in [false, true] {
        let offen = BufferAddr { offen: true, idxen: false, plain };
        let op = Op::BufferLoad(MemType::Dwords(1), offen);
        let load = inst(op, v(1), &[v(0), s(4), s(8)], Attrs::default());
        let fault = fault_of(&[load], &setup, &memory, runner);
        let FaultCause::Memory { access: Access::Load, lanes, .. } = fault.cause else {
            panic!("{:?}", fault.cause)
        };
        // Addresses are not rounded down: lane 2 reads the last dword, lane 3 reads beyond it.
        assert_eq!(lanes.iter().map(|l| (l.lane, l.address - buffer)).collect::<Vec<_>>(), [(3, 90)]);
    }
}

/// Compilers add instruction offsets to negative bases, so the sum wraps at 32 bits.
#[test]
fn offsets_wrap() {
    let memory = GuestMemory::default();
    let (base, bytes) = filled(&memory);
    for runner in runners() {
        // All lanes access a dword less, or a dword more across the 32-bit boundary.
        for offsets in [
            std::array::from_fn(|lane| 0u32.wrapping_sub(8 + 4 * lane as u32)),
            std::array::from_fn(|lane| (4 * lane as u32).wrapping_sub(128)),
        ] {
            let mut setup = Setup::one_wave(!0);
            with_resource(&mut setup, Fields { base, records: SIZE as u32, ..Fields::default() }, 0);
            setup.rows.push((Row(0), offsets));
            for plain in [false, true] {
                let addr = BufferAddr { offen: true, idxen: false, plain };
                let attrs = Attrs { imm: 512, ..Attrs::default() };
                let load = inst(Op::BufferLoad(MemType::Dwords(1), addr), v(1), &[v(0), s(4), s(8)], attrs);
                let after = registers_after(&[load], &setup, &memory, runner);
                for (lane, offset) in offsets.into_iter().enumerate() {
                    let at = offset.wrapping_add(512) as usize;
                    let expected = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
                    assert_eq!(after.rows[0][1][lane], expected, "{runner}, lane {lane}");
                }
            }
        }
    }
}

/// A resource that points to private memory reaches only the private memory of its own wave.
#[test]
fn private_memory_of_others_is_out_of_reach() {
    const BYTES: u32 = 16;
    let memory = GuestMemory::default();
    let slot = 64 * u64::from(BYTES);
    let private = memory.allocate("scratch", 64 * slot, 256).unwrap();
    let fields = Fields { base: private, swizzle: true, index_stride: 3, add_tid: true, ..Fields::default() };
    for runner in runners() {
        let store = |offset: u32, uniform: bool| {
            let mut setup = Setup::one_wave(!0);
            setup.private = Some((private, slot));
            setup.scratch_size = BYTES;
            with_resource(&mut setup, fields, 0);
            let offsets = std::array::from_fn(|lane| if uniform || lane == 9 { offset } else { 0 });
            setup.rows.push((Row(0), offsets));
            let addr = BufferAddr { offen: true, idxen: false, plain: false };
            let sources = [v(0), s(4), s(8), v(0)];
            let op = Op::BufferStore(MemType::Dwords(1), addr);
            fault_of(&[inst(op, Operand::None, &sources, Attrs::default())], &setup, &memory, runner).cause
        };
        for uniform in [false, true] {
            assert_eq!(store(12, uniform), FaultCause::Trap(2), "{runner}");
            for (offset, nearest) in [
                (16, Nearest::After { name: "private memory".into(), distance: 0, freed: false }),
                // Two of the access's bytes are inside.
                (14, Nearest::After { name: "private memory".into(), distance: 0, freed: false }),
                (0xffff_fffc, Nearest::Before { name: "private memory".into(), distance: 4, freed: false }),
            ] {
                match store(offset, uniform) {
                    FaultCause::Memory { access: Access::Store, space, lanes, nearest: found, .. } => {
                        assert_eq!((space, found), (FaultSpace::Scratch, nearest), "{runner}");
                        assert_eq!(lanes.len(), if uniform { 64 } else { 1 });
                        // Before the start it is negative.
                        let first = if offset == 14 { 16 } else { i64::from(offset as i32) };
                        assert_eq!(lanes[0].address as i64, first);
                    }
                    other => panic!("{runner}: {other:?}"),
                }
            }
        }
        let mut all = vec![0; 64 * slot as usize];
        memory.read(private, &mut all).unwrap();
        assert!(
            all[slot as usize..].iter().all(|byte| *byte == 0),
            "{runner}: private memory of other waves"
        );
    }
}

/// Every lane whose access is partly out of range counts once, and a scalar load is one access.
#[test]
fn accesses_out_of_range_count() {
    let memory = GuestMemory::default();
    let (base, _) = filled(&memory);
    let lanes = std::array::from_fn(|lane| 4 * lane as u32);
    for runner in runners() {
        let count = |op: Op, records: u32, exec: u64| {
            let mut setup = Setup::one_wave(exec);
            with_resource(&mut setup, Fields { base, records, ..Fields::default() }, 16);
            setup.rows = vec![(Row(0), lanes)];
            let dst = if matches!(op, Op::BufferStore(..)) { Operand::None } else { v(8) };
            let one = inst(op, dst, &[v(0), s(4), s(8), v(12)], Attrs::default());
            let found = out_of_range(&[one, one], &setup, &memory, runner);
            assert_eq!(found.all_lds(), 0);
            found.buffer
        };
        for plain in [false, true] {
            let addr = BufferAddr { offen: true, idxen: false, plain };
            let add = Op::BufferAtomic(AtomicOp::Add, Width::W32, addr);
            // The last lane's dword ends at byte 272.
            for op in
                [Op::BufferLoad(MemType::Dwords(1), addr), Op::BufferStore(MemType::Dwords(1), addr), add]
            {
                assert_eq!(count(op, 272, !0), 0, "{op:?} on {runner}");
                assert_eq!(count(op, 271, !0), 2, "{op:?} on {runner}");
                assert_eq!(count(op, 271, !0 >> 1), 0, "{op:?} on {runner}");
                assert_eq!(count(op, 0, !0), 128, "{op:?} on {runner}");
            }
            for op in [Op::BufferLoad(MemType::Dwords(4), addr), Op::BufferStore(MemType::Dwords(4), addr)] {
                assert_eq!(count(op, 284, !0), 0, "{op:?} on {runner}");
                assert_eq!(count(op, 276, !0), 4, "{op:?} on {runner}");
            }
        }
        let scalar = |records: u32| {
            let mut setup = Setup::one_wave(!0);
            with_resource(&mut setup, Fields { base, records, ..Fields::default() }, 16);
            let load = inst(Op::ScalarBufferLoad(4), s(12), &[s(4), s(8)], Attrs::default());
            out_of_range(&[load], &setup, &memory, runner).buffer
        };
        assert_eq!([scalar(32), scalar(31), scalar(0)], [0, 1, 1], "{runner}");
    }
}
