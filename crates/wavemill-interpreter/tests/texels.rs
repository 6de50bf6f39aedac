//! Accesses to texels through buffer resources.

use crate::buffers::{Fields, SIZE, Trial, filled, with_resource};
use crate::common::{Runner, Setup, best, fault_of, inst, out_of_range, registers_after, runners, s, v};
use wavemill_ir::{
    Attrs, BufferAddr, DataFormat, Op, Operand, Row, TexelAccess, TexelCells, TexelFormat, TexelNumber,
};
use wavemill_machine::{Access, FaultCause, GuestMemory};
use wavemill_oracle::SplitMix64;
use wavemill_reference::texel as reference;
use wavemill_reference::texel::Cells;

/// An access to texels, with what the resource says about them.
struct Texels {
    access: TexelAccess,
    /// The access as the reference has it.
    shape: (usize, Cells),
    format: TexelFormat,
    select: Option<[u32; 4]>,
    /// Bits 18:0 of the last word of the resource.
    word: u32,
}

impl Texels {
    fn new(random: &mut SplitMix64) -> Texels {
        let (data, number, format) = loop {
            let (data, number) = (1 + random.below(14) as u32, random.below(8) as u32);
            if let Some(format) = TexelFormat::of_buffer(data, number) {
                break (data, number, format);
            }
        };
        let (cells, expected) = random.pick(&[
            (TexelCells::Dwords, Cells::Dwords),
            (TexelCells::Dwords, Cells::Dwords),
            (TexelCells::Halves, Cells::Halves),
            (TexelCells::UpperHalf, Cells::UpperHalf),
        ]);
        let count = if cells == TexelCells::UpperHalf { 1 } else { 1 + random.below(4) as u8 };
        let any = random.next_u64() as u32 & 0xfff;
        let selections = random.pick(&[0xfac, 0xf2e, any]);
        let from_resource = random.below(2) == 0;
        Texels {
            access: TexelAccess { format: (!from_resource).then_some(format), count, cells },
            shape: (count.into(), expected),
            format,
            select: from_resource.then(|| [0, 3, 6, 9].map(|low| selections >> low & 7)),
            // A format in the instruction wins.
            word: if from_resource { data << 15 | number << 12 | selections } else { 1 << 15 | selections },
        }
    }

    fn names(&self) -> [&'static str; 2] {
        [self.format.data.name(), self.format.number.name()]
    }

    fn bytes(&self) -> u64 {
        self.format.data.bytes().into()
    }
}

#[test]
fn loads_convert_texels() {
    best().into_iter().for_each(loads_convert_texels_on);
}

fn loads_convert_texels_on(runner: Runner) {
    let memory = GuestMemory::default();
    let (buffer, bytes) = filled(&memory);
    let mut random = SplitMix64::new(51);
    for n in 0..2000 {
        let texels = Texels::new(&mut random);
        let mut trial = Trial::new(&mut random, buffer);
        trial.fields.format = texels.word;
        let mut setup = trial.setup();
        let old = [0x1234_5678; 64];
        setup.rows.extend((8..12).map(|row| (Row(row), old)));
        let op = Op::BufferLoadTexel(texels.access, trial.addr);
        let load = inst(op, v(8), &trial.operands(Operand::None), trial.attrs());
        let after = registers_after(&[load], &setup, &memory, runner);
        for lane in 0..64 {
            let places = trial.texel(buffer, lane, texels.bytes());
            let texel =
                places.map(|at| at.iter().rev().fold(0, |word, at| word << 8 | u128::from(bytes[*at])));
            let mut want = [old[0]; 4];
            if trial.exec >> lane & 1 != 0 {
                let cells = reference::load(texels.names(), texels.select, texels.shape, texel);
                let kept = if texels.shape.1 == Cells::UpperHalf { old[0] & 0xffff } else { 0 };
                want.iter_mut().zip(cells).for_each(|(want, cell)| *want = cell | kept);
            }
            let got = [8, 9, 10, 11].map(|row| after.rows[0][row][lane]);
            assert_eq!(got, want, "trial {n}: lane {lane}, {load} of {:?} on {runner}", trial.fields);
        }
    }
}

#[test]
fn stores_convert_texels() {
    best().into_iter().for_each(stores_convert_texels_on);
}

fn stores_convert_texels_on(runner: Runner) {
    let memory = GuestMemory::default();
    let (buffer, mut bytes) = filled(&memory);
    let mut random = SplitMix64::new(52);
    for n in 0..2000 {
        let texels = Texels::new(&mut random);
        let mut trial = Trial::new(&mut random, buffer);
        trial.fields.format = texels.word;
        let mut setup = trial.setup();
        let data: [[u32; 64]; 4] = std::array::from_fn(|_| {
            std::array::from_fn(|lane| match lane % 3 {
                0 => random.next_u64() as u32,
                1 => (random.below(4096) as f32 / 1024.0 - 2.0).to_bits(),
                _ => random.below(70_000) as u32,
            })
        });
        setup.rows.extend((8..).map(Row).zip(data));
        let op = Op::BufferStoreTexel(texels.access, trial.addr);
        let store = inst(op, Operand::None, &trial.operands(v(8)), trial.attrs());
        registers_after(&[store], &setup, &memory, runner);
        for lane in (0..64).filter(|lane| trial.exec >> lane & 1 != 0) {
            let Some(at) = trial.texel(buffer, lane, texels.bytes()) else { continue };
            let cells = data.map(|row| row[lane]);
            let texel = reference::store(texels.names(), texels.select, texels.shape, &cells);
            at.into_iter().zip(texel.to_le_bytes()).for_each(|(at, byte)| bytes[at] = byte);
        }
        let mut now = vec![0; SIZE];
        memory.read(buffer, &mut now).unwrap();
        let wrong = now.iter().zip(&bytes).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "trial {n}: {store} of {:?} on {runner}", trial.fields);
    }
}

fn access(data: DataFormat, count: u8) -> TexelAccess {
    let format = TexelFormat::new(data, TexelNumber::Uint);
    TexelAccess { format, count, cells: TexelCells::Dwords }
}

const OFFEN: BufferAddr = BufferAddr { offen: true, idxen: false, plain: false };

/// A format of the resource that does not exist accesses no memory, whatever the address is.
#[test]
fn formats_that_do_not_exist() {
    let memory = GuestMemory::default();
    for runner in runners() {
        for format in [0, 15 << 15 | 4 << 12, 1 << 15 | 7 << 12, 4 << 15 | 6 << 12] {
            let mut setup = Setup::one_wave(0xff);
            // x, y and z select X, 1 and 0.
            let fields = Fields { base: 0x10, records: 1 << 20, format: format | 0xe0c, ..Fields::default() };
            with_resource(&mut setup, fields, 0);
            setup.rows = (0..12).map(|row| (Row(row), [7; 64])).collect();
            let access = TexelAccess { format: None, count: 3, cells: TexelCells::Dwords };
            let sources = [v(0), s(4), s(8), v(1)];
            let store = inst(Op::BufferStoreTexel(access, OFFEN), Operand::None, &sources, Attrs::default());
            let load = inst(Op::BufferLoadTexel(access, OFFEN), v(8), &sources[..3], Attrs::default());
            let after = registers_after(&[store, load], &setup, &memory, runner);
            let one = if format >> 12 & 7 == 4 { 1 } else { 0x3f80_0000 };
            let lane = |lane: usize| [8, 9, 10].map(|row| after.rows[0][row][lane]);
            assert_eq!((lane(7), lane(8)), ([0, one, 0], [7; 3]), "{format:#x} on {runner}");
        }
    }
}

/// A texel of which the last byte is out of range counts once and has no effect; in range but
/// outside memory, it is a fault.
#[test]
fn texels_at_the_end() {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("short", 64, 256).unwrap();
    let offsets = std::array::from_fn(|lane| 12 * lane as u32);
    for runner in runners() {
        let setup = |records: u32| {
            let mut setup = Setup::one_wave(0b11_1111);
            with_resource(&mut setup, Fields { base: buffer, records, ..Fields::default() }, 0);
            setup.rows = vec![(Row(0), offsets)];
            setup
        };
        let access = access(DataFormat::D32_32_32, 1);
        let load = inst(Op::BufferLoadTexel(access, OFFEN), v(8), &[v(0), s(4), s(8)], Attrs::default());
        let store = Op::BufferStoreTexel(access, OFFEN);
        let store = inst(store, Operand::None, &[v(0), s(4), s(8), v(0)], Attrs::default());
        for one in [load, store] {
            assert_eq!(out_of_range(&[one], &setup(60), &memory, runner).buffer, 1, "{one} on {runner}");
            assert_eq!(out_of_range(&[one], &setup(59), &memory, runner).buffer, 2, "{one} on {runner}");
            let wanted = if one == load { Access::Load } else { Access::Store };
            match fault_of(&[one], &setup(72), &memory, runner).cause {
                FaultCause::Memory { access, lanes, size, .. } => {
                    assert_eq!((access, lanes.len(), size), (wanted, 1, 4), "{one} on {runner}");
                    assert_eq!((lanes[0].lane, lanes[0].address), (5, buffer + 64), "{one} on {runner}");
                }
                other => panic!("{one} on {runner}: {other:?}"),
            }
        }
    }
}
