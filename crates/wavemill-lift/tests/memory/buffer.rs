//! MUBUF.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Flag, Format, MemOp, Op};

use super::reference::{Data, MASKS, Numbers, active, column, set_exec, set_rows};
use crate::common::{Machine, home_words};
use wavemill_lift::gcn::registers;

const TARGET: Target = Target::Gfx906;
const SIZE: usize = 4096;

/// VGPRs: address pair, data.
const ADDRESS: u32 = 4;
const DATA: u32 = 8;
/// SGPRs: resource, uniform offset.
const RESOURCE: u32 = 20;
const SOFFSET: u32 = 30;
/// Bytes of a record of the structured forms.
const STRIDE: usize = 24;

/// Untyped loads or stores.
fn moves(op: MemOp) -> Vec<(Op, Data)> {
    let rows = Op::ALL.iter().filter(|o| {
        let row = o.row();
        row.format == Format::Mubuf
            && row.memory.first().is_some_and(|m| m.op == op)
            && !row.has(Flag::Typed, TARGET)
            && !row.name().contains("_lds_")
    });
    rows.map(|o| (*o, Data::of(o.row().name()).expect("a kind of data"))).collect()
}

/// An address form with each lane's offset into the buffer.
struct Form {
    offen: bool,
    idxen: bool,
    first: [u32; 64],
    second: [u32; 64],
    at: [usize; 64],
}

/// The four address forms, with an instruction offset of 16 and a uniform offset of 32.
fn forms(numbers: &mut Numbers, bytes: usize) -> Vec<Form> {
    let align = bytes.min(4);
    let mut all = Vec::new();
    for (idxen, offen) in [(false, false), (false, true), (true, false), (true, true)] {
        let index = numbers.offsets(64, 1);
        let limit = if idxen { STRIDE } else { 1024 };
        let offset = numbers.offsets(limit, align);
        let at = std::array::from_fn(|lane| {
            48 + (if idxen { STRIDE * index[lane] } else { 0 }) + (if offen { offset[lane] } else { 0 })
        });
        let [index, offset] = [index, offset].map(|row| row.map(|v| v as u32));
        let (first, second) = if idxen { (index, offset) } else { (offset, [0; 64]) };
        all.push(Form { offen, idxen, first, second, at });
    }
    all
}

fn fields(form: &Form) -> Vec<(F, u32)> {
    vec![
        (F::Vdata, DATA),
        (F::Vaddr, ADDRESS),
        (F::Srsrc, RESOURCE / 4),
        (F::Soffset, SOFFSET),
        (F::Offset, 16),
        (F::Offen, u32::from(form.offen)),
        (F::Idxen, u32::from(form.idxen)),
    ]
}

/// Sets resource and address registers.
fn set(regs: &mut wavemill_machine::Registers, buffer: u64, form: &Form) {
    let stride = if form.idxen { STRIDE as u64 } else { 0 };
    regs.set_uni64(Uni(RESOURCE as u16), buffer | stride << 48);
    regs.set_uni(Uni(RESOURCE as u16 + 2), if form.idxen { 64 } else { SIZE as u32 });
    regs.set_uni(Uni(RESOURCE as u16 + 3), 0x0002_7000);
    regs.set_uni(Uni(SOFFSET as u16), 32);
    set_rows(regs, ADDRESS as u16, &[form.first, form.second]);
}

#[test]
fn loads() {
    let mut numbers = Numbers::new(41);
    let loads = moves(MemOp::Load);
    assert_eq!(loads.len(), 14);
    for (op, data) in loads {
        for form in forms(&mut numbers, data.bytes) {
            for exec in MASKS {
                let mut machine = Machine::new(TARGET);
                machine.buffers = vec![numbers.bytes(SIZE)];
                let old: Vec<_> = (0..5).map(|_| numbers.row()).collect();
                for tfe in [false, true] {
                    let mut fields = fields(&form);
                    fields.push((F::Tfe, u32::from(tfe)));
                    let outcome = machine.run(&home_words(TARGET, op, &fields), |regs, buffers| {
                        set_exec(regs, exec);
                        set(regs, buffers[0], &form);
                        set_rows(regs, DATA as u16, &old);
                    });
                    for lane in 0..64 {
                        let mut expected = column(&old, lane);
                        if active(exec, lane) {
                            let bytes = &machine.buffers[0][form.at[lane]..][..data.bytes];
                            let loaded = data.load(bytes, &expected);
                            expected[..loaded.len()].copy_from_slice(&loaded);
                            if tfe {
                                expected[loaded.len()] = 0;
                            }
                        }
                        let now = column(&outcome.wave.vgprs[DATA as usize..DATA as usize + 5], lane);
                        assert_eq!(
                            now, expected,
                            "{op} idxen {} offen {} lane {lane}",
                            form.idxen, form.offen
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn stores() {
    let mut numbers = Numbers::new(42);
    let stores = moves(MemOp::Store);
    assert_eq!(stores.len(), 8);
    for (op, data) in stores {
        for form in forms(&mut numbers, data.bytes) {
            for exec in MASKS {
                let mut machine = Machine::new(TARGET);
                machine.buffers = vec![numbers.bytes(SIZE)];
                let values: Vec<_> = (0..4).map(|_| numbers.row()).collect();
                let outcome = machine.run(&home_words(TARGET, op, &fields(&form)), |regs, buffers| {
                    set_exec(regs, exec);
                    set(regs, buffers[0], &form);
                    set_rows(regs, DATA as u16, &values);
                });
                let mut expected = machine.buffers[0].clone();
                for lane in (0..64).filter(|lane| active(exec, *lane)) {
                    let bytes = data.store(&column(&values, lane));
                    expected[form.at[lane]..][..bytes.len()].copy_from_slice(&bytes);
                }
                assert!(outcome.buffers[0] == expected, "{op} idxen {} offen {}", form.idxen, form.offen);
            }
        }
    }
}

#[test]
fn accesses_behind_the_end() {
    let mut machine = Machine::new(TARGET);
    machine.buffers = vec![Numbers::new(43).bytes(SIZE)];
    let even_out =
        |inside: u32, outside: u32| std::array::from_fn(|lane| if lane % 2 == 0 { outside } else { inside });
    for idxen in [false, true] {
        let (inside, outside) = if idxen { (63, 64) } else { (64, SIZE as u32) };
        let form =
            Form { offen: !idxen, idxen, first: even_out(inside, outside), second: [0; 64], at: [0; 64] };
        let load = machine.run(&home_words(TARGET, Op::BufferLoadDword, &fields(&form)), |regs, buffers| {
            set(regs, buffers[0], &form);
            set_rows(regs, DATA as u16, &[[7; 64]]);
        });
        let at = 48 + if idxen { 63 * STRIDE } else { 64 };
        let value = u32::from_le_bytes(machine.buffers[0][at..at + 4].try_into().expect("four bytes"));
        assert_eq!(load.wave.vgprs[DATA as usize], even_out(value, 0), "idxen {idxen}");
        let store =
            machine.run(&home_words(TARGET, Op::BufferStoreDword, &fields(&form)), |regs, buffers| {
                set(regs, buffers[0], &form);
                set_rows(regs, DATA as u16, &[[7; 64]]);
            });
        let mut expected = machine.buffers[0].clone();
        expected[at..at + 4].copy_from_slice(&7u32.to_le_bytes());
        assert!(store.buffers[0] == expected, "idxen {idxen}");
    }
}

/// Memory to LDS and LDS to memory, by lane number.
#[test]
fn transfers_to_and_from_lds() {
    let mut numbers = Numbers::new(44);
    for exec in MASKS {
        let mut machine = Machine::new(TARGET);
        machine.lds_size = 1024;
        machine.buffers = vec![numbers.bytes(SIZE), vec![0; 512]];
        let form = forms(&mut numbers, 4).swap_remove(1);
        let mut to = fields(&form);
        to.retain(|(field, _)| *field != F::Vdata);
        to.push((F::Lds, 1));
        let mut code = home_words(TARGET, Op::BufferLoadDword, &to);
        // Back from M0 + 16 + 4 * lane to 16 bytes into a buffer of lanes.
        let from = [(F::Srsrc, 6), (F::Soffset, 128), (F::Offset, 16)];
        code.extend(home_words(TARGET, Op::BufferStoreLdsDword, &from));
        let outcome = machine.run(&code, |regs, buffers| {
            set_exec(regs, exec);
            set(regs, buffers[0], &form);
            regs.set_uni(registers::M0, 64);
            // ADD_TID with a stride of a dword.
            regs.set_uni64(Uni(24), buffers[1] | 4 << 48);
            regs.set_uni(Uni(26), 128);
            regs.set_uni(Uni(27), 1 << 23);
        });
        let mut expected = vec![0; 512];
        for lane in (0..64).filter(|lane| active(exec, *lane)) {
            expected[16 + 4 * lane..][..4].copy_from_slice(&machine.buffers[0][form.at[lane]..][..4]);
        }
        assert!(outcome.buffers[1] == expected, "exec {exec:#x}");
    }
}
