//! MTBUF, and the MUBUF instructions that convert texels.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Flag, Format, MemOp, Op};
use wavemill_lift::gcn::registers;
use wavemill_reference::texel::{self, Cells};

use super::reference::{MASKS, Numbers, active, column, set_exec, set_rows};
use crate::common::{Machine, home_words};

const TARGET: Target = Target::Gfx906;
const SIZE: usize = 4096;

/// VGPRs: index and offset, data.
const ADDRESS: u32 = 4;
const DATA: u32 = 8;
/// SGPRs: resource, uniform offset.
const RESOURCE: u32 = 20;
const SOFFSET: u32 = 30;

/// Data and number formats by their numbers (Vega ISA 8.1.2, fields of MTBUF); `None`: reserved.
const DATA_FORMATS: [Option<&str>; 16] = [
    None,
    Some("8"),
    Some("16"),
    Some("8_8"),
    Some("32"),
    Some("16_16"),
    Some("10_11_11"),
    Some("11_11_10"),
    Some("10_10_10_2"),
    Some("2_10_10_10"),
    Some("8_8_8_8"),
    Some("32_32"),
    Some("16_16_16_16"),
    Some("32_32_32"),
    Some("32_32_32_32"),
    None,
];
const NUMBER_FORMATS: [Option<&str>; 8] = [
    Some("unorm"),
    Some("snorm"),
    Some("uscaled"),
    Some("sscaled"),
    Some("uint"),
    Some("sint"),
    None,
    Some("float"),
];

/// The names of two formats, if they make a format: no later generation has floats of 8 and of 2
/// bits.
fn names(data: u32, number: u32) -> Option<[&'static str; 2]> {
    let (data, number) = (DATA_FORMATS[data as usize]?, NUMBER_FORMATS[number as usize]?);
    let no_float = ["8", "8_8", "8_8_8_8", "10_10_10_2", "2_10_10_10"];
    (number != "float" || !no_float.contains(&data)).then_some([data, number])
}

/// The instructions that convert texels, with the components and registers that their names say.
fn instructions(format: Format, op: MemOp) -> Vec<(Op, (usize, Cells))> {
    let rows = Op::ALL.iter().filter(|o| {
        let row = o.row();
        row.format == format && row.memory.first().is_some_and(|m| m.op == op) && row.has(Flag::Typed, TARGET)
    });
    rows.map(|op| {
        let name = op.row().name();
        let count = name.rsplit('_').next().expect("components").len();
        let cells = match name {
            _ if name.contains("_d16_hi_") => Cells::UpperHalf,
            _ if name.contains("_d16_") => Cells::Halves,
            _ => Cells::Dwords,
        };
        (*op, (count, cells))
    })
    .collect()
}

/// Records of 20 bytes; index and offset of each lane, and where its texel is. The instruction's
/// offset is 16, the uniform one 32. Lanes 0 to 59 have records.
struct Place {
    index: [u32; 64],
    offset: [u32; 64],
    at: [Option<usize>; 64],
}

const STRIDE: usize = 20;
const RECORDS: u32 = 60;

impl Place {
    fn new(numbers: &mut Numbers) -> Place {
        let index = std::array::from_fn(|lane| (7 * lane as u32 + 3) % 64);
        let offset: [u32; 64] = std::array::from_fn(|_| numbers.next() as u32 % 7);
        let at = std::array::from_fn(|lane| {
            let (index, offset) = (index[lane], offset[lane]);
            (index < RECORDS).then_some(48 + STRIDE * index as usize + offset as usize)
        });
        Place { index, offset, at }
    }

    fn fields(&self) -> Vec<(F, u32)> {
        let address = [(F::Vaddr, ADDRESS), (F::Offset, 16), (F::Offen, 1), (F::Idxen, 1)];
        let operands = [(F::Vdata, DATA), (F::Srsrc, RESOURCE / 4), (F::Soffset, SOFFSET)];
        [&address[..], &operands].concat()
    }

    fn set(&self, regs: &mut wavemill_machine::Registers, buffer: u64, word: u32) {
        regs.set_uni64(Uni(RESOURCE as u16), buffer | (STRIDE as u64) << 48);
        regs.set_uni(Uni(RESOURCE as u16 + 2), RECORDS);
        regs.set_uni(Uni(RESOURCE as u16 + 3), word);
        regs.set_uni(Uni(SOFFSET as u16), 32);
        set_rows(regs, ADDRESS as u16, &[self.index, self.offset]);
    }
}

/// The texel in these bytes.
fn bits(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u128::from(*byte))
}

/// A trial of an instruction: its formats, as numbers, and the selections if the resource has both.
struct Trial {
    op: Op,
    shape: (usize, Cells),
    formats: [u32; 2],
    select: Option<[u32; 4]>,
}

impl Trial {
    /// Every instruction with every format that fits the test: all pairs in MTBUF, a few with
    /// several selections in MUBUF.
    fn all(op: MemOp, numbers: &mut Numbers) -> Vec<Trial> {
        let pairs = || (0..16u32).flat_map(|data| (0..8u32).map(move |number| [data, number]));
        let mut all = Vec::new();
        for (op, shape) in instructions(Format::Mtbuf, op) {
            all.extend(pairs().map(|formats| Trial { op, shape, formats, select: None }));
        }
        for (op, shape) in instructions(Format::Mubuf, op) {
            for formats in pairs() {
                let any = numbers.next() as u32;
                // As they are, the first and the third one exchanged, any.
                let selections = [0xfac, 0xf2e, any & 0xfff][any as usize % 3];
                let select = Some([0, 3, 6, 9].map(|low| selections >> low & 7));
                all.push(Trial { op, shape, formats, select });
            }
        }
        all
    }

    fn word(&self) -> u32 {
        let [data, number] = self.formats;
        match self.select {
            // The format in the instruction wins.
            None => 4 << 15 | 7 << 12 | 0xfac,
            Some([x, y, z, w]) => data << 15 | number << 12 | w << 9 | z << 6 | y << 3 | x,
        }
    }

    fn fields(&self, place: &Place) -> Vec<(F, u32)> {
        let mut fields = place.fields();
        if self.select.is_none() {
            fields.extend([(F::Dfmt, self.formats[0]), (F::Nfmt, self.formats[1])]);
        }
        fields
    }

    fn names(&self) -> Option<[&'static str; 2]> {
        names(self.formats[0], self.formats[1])
    }

    /// The registers that a load writes, for the bytes of the buffer from the texel on.
    fn loaded(&self, bytes: Option<&[u8]>) -> Vec<u32> {
        match self.names() {
            Some(names) => {
                let texel = bytes.map(|bytes| bits(&bytes[..texel::bytes(names[0])]));
                texel::load(names, self.select, self.shape, texel)
            }
            // Nothing but the constants of selections, with the type of the number format.
            None => {
                let number = NUMBER_FORMATS[self.formats[1] as usize].unwrap_or("float");
                texel::load(["32_32_32_32", number], self.select, self.shape, None)
            }
        }
    }
}

#[test]
fn loads() {
    let mut numbers = Numbers::new(61);
    assert_eq!(instructions(Format::Mtbuf, MemOp::Load).len(), 8);
    assert_eq!(instructions(Format::Mubuf, MemOp::Load).len(), 9);
    for (n, trial) in Trial::all(MemOp::Load, &mut numbers).into_iter().enumerate() {
        let place = Place::new(&mut numbers);
        let (exec, tfe) = (MASKS[n % 4], n % 5 == 0 && trial.select.is_some());
        let mut machine = Machine::new(TARGET);
        machine.buffers = vec![numbers.bytes(SIZE)];
        let old: Vec<_> = (0..5).map(|_| numbers.row()).collect();
        let mut fields = trial.fields(&place);
        if tfe {
            fields.push((F::Tfe, 1));
        }
        let outcome = machine.run(&home_words(TARGET, trial.op, &fields), |regs, buffers| {
            set_exec(regs, exec);
            place.set(regs, buffers[0], trial.word());
            set_rows(regs, DATA as u16, &old);
        });
        for lane in 0..64 {
            let mut expected = column(&old, lane);
            if active(exec, lane) {
                let loaded = trial.loaded(place.at[lane].map(|at| &machine.buffers[0][at..]));
                // The half that the components do not need.
                let kept = match trial.shape {
                    (_, Cells::UpperHalf) => 0xffff,
                    (1 | 3, Cells::Halves) => 0xffff_0000,
                    _ => 0,
                };
                let kept = expected[loaded.len() - 1] & kept;
                expected[..loaded.len()].copy_from_slice(&loaded);
                expected[loaded.len() - 1] |= kept;
                if tfe {
                    expected[loaded.len()] = 0;
                }
            }
            let now = column(&outcome.wave.vgprs[DATA as usize..DATA as usize + 5], lane);
            let Trial { op, formats, select, .. } = &trial;
            assert_eq!(now, expected, "{op} of {formats:?}, selections {select:?}, lane {lane}");
        }
    }
}

#[test]
fn stores() {
    let mut numbers = Numbers::new(62);
    assert_eq!(instructions(Format::Mtbuf, MemOp::Store).len(), 8);
    assert_eq!(instructions(Format::Mubuf, MemOp::Store).len(), 9);
    for (n, trial) in Trial::all(MemOp::Store, &mut numbers).into_iter().enumerate() {
        let place = Place::new(&mut numbers);
        let exec = MASKS[n % 4];
        let mut machine = Machine::new(TARGET);
        machine.buffers = vec![numbers.bytes(SIZE)];
        let values: Vec<_> = (0..4).map(|_| numbers.row()).collect();
        let outcome = machine.run(&home_words(TARGET, trial.op, &trial.fields(&place)), |regs, buffers| {
            set_exec(regs, exec);
            place.set(regs, buffers[0], trial.word());
            set_rows(regs, DATA as u16, &values);
        });
        let mut expected = machine.buffers[0].clone();
        for lane in (0..64).filter(|lane| active(exec, *lane)) {
            if let (Some(at), Some(names)) = (place.at[lane], trial.names()) {
                let texel = texel::store(names, trial.select, trial.shape, &column(&values, lane));
                let size = texel::bytes(names[0]);
                expected[at..at + size].copy_from_slice(&texel.to_le_bytes()[..size]);
            }
        }
        let Trial { op, formats, select, .. } = &trial;
        assert!(outcome.buffers[0] == expected, "{op} of {formats:?}, selections {select:?}");
    }
}

/// A load to LDS writes the first component, by lane number.
#[test]
fn loads_to_lds() {
    let mut numbers = Numbers::new(63);
    let place = Place::new(&mut numbers);
    for exec in MASKS {
        let mut machine = Machine::new(TARGET);
        machine.lds_size = 1024;
        machine.buffers = vec![numbers.bytes(SIZE), vec![0; 512]];
        let mut fields = place.fields();
        fields.retain(|(field, _)| *field != F::Vdata);
        fields.push((F::Lds, 1));
        let mut code = home_words(TARGET, Op::BufferLoadFormatX, &fields);
        // From M0 + 16 + 4 * lane to a buffer of lanes.
        let from = [(F::Srsrc, 6), (F::Soffset, 128), (F::Offset, 16)];
        code.extend(home_words(TARGET, Op::BufferStoreLdsDword, &from));
        let outcome = machine.run(&code, |regs, buffers| {
            set_exec(regs, exec);
            place.set(regs, buffers[0], 10 << 15 | 0xfac);
            regs.set_uni(registers::M0, 64);
            // Lane by lane: a dword each.
            regs.set_uni64(Uni(24), buffers[1] | 4 << 48);
            regs.set_uni64(Uni(26), 1 << 32 << 23 | 512);
        });
        for lane in 0..64 {
            let stored = outcome.dwords(1)[4 + lane];
            let texel = place.at[lane].map(|at| bits(&machine.buffers[0][at..at + 4]));
            let loaded = texel::load(["8_8_8_8", "unorm"], Some([4, 5, 6, 7]), (1, Cells::Dwords), texel);
            let expected = if active(exec, lane) { loaded[0] } else { 0 };
            assert_eq!(stored, expected, "lane {lane} of {exec:#x}");
        }
    }
}

/// With ECC, a load of an odd number of halves clears the half that it does not need.
#[test]
fn the_other_half_is_kept_or_cleared() {
    let mut numbers = Numbers::new(64);
    let place = Place::new(&mut numbers);
    for sramecc in [false, true] {
        let mut machine = Machine { sramecc, ..Machine::new(TARGET) };
        machine.buffers = vec![numbers.bytes(SIZE)];
        let code = home_words(TARGET, Op::BufferLoadFormatD16HiX, &place.fields());
        let outcome = machine.run(&code, |regs, buffers| {
            place.set(regs, buffers[0], 2 << 15 | 4 << 12 | 0xfac);
            set_rows(regs, DATA as u16, &[[0x1234_5678; 64]]);
        });
        for lane in 0..64 {
            let half = place.at[lane].map_or(0, |at| bits(&machine.buffers[0][at..at + 2]) as u32);
            let expected = half << 16 | if sramecc { 0 } else { 0x5678 };
            assert_eq!(outcome.wave.vgprs[DATA as usize][lane], expected, "ECC {sramecc}, lane {lane}");
        }
        for (op, register) in [
            (Op::BufferLoadFormatD16X, DATA),
            (Op::BufferLoadFormatD16Xyz, DATA + 1),
            (Op::TbufferLoadFormatD16X, DATA),
            (Op::TbufferLoadFormatD16Xyz, DATA + 1),
        ] {
            let outcome = machine.run(&home_words(TARGET, op, &place.fields()), |regs, buffers| {
                place.set(regs, buffers[0], 2 << 15 | 4 << 12 | 0xfac);
                set_rows(regs, DATA as u16, &[[0x1234_5678; 64]; 2]);
            });
            for (lane, value) in outcome.wave.vgprs[register as usize].iter().enumerate() {
                let expected = if sramecc { 0 } else { 0x1234 };
                assert_eq!(value >> 16, expected, "{op}, ECC {sramecc}, lane {lane}");
            }
        }
    }
}
