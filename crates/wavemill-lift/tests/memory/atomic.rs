//! Atomics on every memory, lane by lane in ascending order.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Flag, Format, MemOp, Op};

use super::lds::{self, ADDRESS, DATA, LDS, RESULT};
use super::reference::{MASKS, Numbers, active, column, set_exec, set_rows};
use crate::common::{EDGES, Machine, home_words};

/// The first dword of the second datum of DS instructions.
const DATA1: u32 = DATA + 2;

/// An atomic by its mnemonic: the operation, and the number of bytes.
#[derive(Clone, Debug)]
struct Atomic {
    kind: String,
    bytes: usize,
}

impl Atomic {
    /// From `ds_min_rtn_i64`, `global_atomic_smin_x2`, `buffer_atomic_add_f64`...
    fn of(mnemonic: &str) -> Atomic {
        let name = mnemonic.replace("_rtn", "").replace("cmpst", "cmpswap").replace("wrxchg", "swap");
        if let Some(name) = name.strip_prefix("ds_") {
            let (kind, ty) = name.rsplit_once('_').expect("an operation and a type");
            let bytes = if ty.ends_with("64") { 8 } else { 4 };
            let prefix = match (kind, &ty[..1]) {
                ("min" | "max", "i") => "s",
                ("min" | "max", "u") => "u",
                _ => "",
            };
            let suffix =
                if ty.starts_with('f') || ty.starts_with("bf") { format!("_{ty}") } else { String::new() };
            return Atomic { kind: format!("{prefix}{kind}{suffix}"), bytes };
        }
        let (_, name) = name.split_once("_atomic_").expect("an atomic");
        let kind = name.trim_end_matches("_x2").to_owned();
        Atomic { bytes: if name.ends_with("_x2") || name.ends_with("f64") { 8 } else { 4 }, kind }
    }

    fn is_float(&self) -> bool {
        self.kind.contains("f16") || self.kind.contains("f32") || self.kind.contains("f64")
    }

    /// The new contents. `second` is the comparand of compare-and-swap.
    fn apply(&self, old: u64, data: u64, second: u64) -> u64 {
        let bits = 8 * self.bytes as u32;
        let signed = |v: u64| (v << (64 - bits)) as i64 >> (64 - bits);
        let wide = |f: fn(f64, f64) -> f64| match self.bytes {
            4 => {
                let [a, b] = [old, data].map(|v| f64::from(f32::from_bits(v as u32)));
                u64::from((f(a, b) as f32).to_bits())
            }
            _ => f(f64::from_bits(old), f64::from_bits(data)).to_bits(),
        };
        let new = match self.kind.as_str() {
            "swap" => data,
            "cmpswap" if old == second => data,
            "cmpswap" => old,
            // The test values have one encoding per number.
            "cmpswap_f32" | "cmpswap_f64" if old == second => data,
            "cmpswap_f32" | "cmpswap_f64" => old,
            "add" => old.wrapping_add(data),
            "sub" => old.wrapping_sub(data),
            "rsub" => data.wrapping_sub(old),
            "smin" if signed(data) < signed(old) => data,
            "smax" if signed(data) > signed(old) => data,
            "smin" | "smax" => old,
            "umin" => old.min(data),
            "umax" => old.max(data),
            "and" => old & data,
            "or" => old | data,
            "xor" => old ^ data,
            "inc" if old >= data => 0,
            "inc" => old + 1,
            "dec" if old == 0 || old > data => data,
            "dec" => old - 1,
            "mskor" => old & !data | second,
            "wrap" if old >= data => old - data,
            "wrap" => old.wrapping_add(second),
            "add_f32" | "add_f64" => wide(|a, b| a + b),
            "min_f32" | "min_f64" => wide(f64::min),
            "max_f32" | "max_f64" => wide(f64::max),
            "pk_add_f16" => halves(old, data, half_integer),
            "pk_add_bf16" => halves(old, data, bfloat_integer),
            other => panic!("{other} has no reference"),
        };
        if bits == 64 { new } else { new & 0xffff_ffff }
    }

    /// A test value: for floats, a small integer as a float.
    fn value(&self, numbers: &mut Numbers) -> u64 {
        let n = numbers.next();
        let small = (n >> 32) % 16;
        match self.kind.as_str() {
            "pk_add_f16" => {
                u64::from(half_integer(small as u32)) | u64::from(half_integer(n as u32 % 16)) << 16
            }
            "pk_add_bf16" => {
                u64::from(bfloat_integer(small as u32)) | u64::from(bfloat_integer(n as u32 % 16)) << 16
            }
            _ if self.is_float() && self.bytes == 8 => (small as f64 - 7.5).to_bits(),
            _ if self.is_float() => u64::from((small as f32 - 7.5).to_bits()),
            _ => u64::from(EDGES[n as usize % 16]) | u64::from(EDGES[small as usize]) << 32,
        }
    }
}

/// A small integer as a half.
fn half_integer(n: u32) -> u16 {
    if n == 0 {
        return 0;
    }
    let exponent = n.ilog2();
    ((exponent + 15) << 10 | (n << (10 - exponent) & 0x3ff)) as u16
}

/// A small integer as a bfloat16.
fn bfloat_integer(n: u32) -> u16 {
    ((n as f32).to_bits() >> 16) as u16
}

/// Adds the halves, which are small integers in the format that `encode` makes.
fn halves(a: u64, b: u64, encode: impl Fn(u32) -> u16) -> u64 {
    let decode = |half: u64| (0..256).find(|n| u64::from(encode(*n)) == half).expect("a small integer");
    let sum = |shift: u32| u64::from(encode(decode(a >> shift & 0xffff) + decode(b >> shift & 0xffff)));
    sum(0) | sum(16) << 16
}

/// The atomics of a format with one address, each with the first target that has it and returns its
/// old value.
fn atomics(format: Format) -> Vec<(Target, Op, Atomic)> {
    let odd = ["append", "consume", "ordered", "src2", "condxchg", "wrxchg2"];
    let mut all = Vec::new();
    for op in Op::ALL.iter().filter(|op| op.row().format == format) {
        let row = op.row();
        let is_atomic = row.memory.first().is_some_and(|m| m.op == MemOp::Atomic);
        if !is_atomic || odd.iter().any(|name| row.name().contains(name)) {
            continue;
        }
        let target = [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950]
            .into_iter()
            .find(|t| row.targets.contains(*t) && !row.has(Flag::Nortn, *t))
            .expect("a target");
        all.push((target, *op, Atomic::of(row.name())));
    }
    all
}

/// Values of one test: memory slots, and per lane two data and the slot.
struct Values {
    slots: Vec<u64>,
    data: [u64; 64],
    second: [u64; 64],
    slot: [usize; 64],
}

impl Values {
    /// With `shared`, every four lanes use one slot.
    fn new(atomic: &Atomic, shared: bool) -> Values {
        let mut numbers = Numbers::new(31);
        let slots: Vec<u64> = (0..64).map(|_| atomic.value(&mut numbers)).collect();
        let mut values = [0; 64].map(|_| atomic.value(&mut numbers));
        let slot: [usize; 64] = std::array::from_fn(|lane| if shared { lane / 4 } else { 63 - lane });
        // Half of the comparisons succeed.
        let mut second = [0; 64].map(|_| atomic.value(&mut numbers));
        for lane in (0..64).step_by(2) {
            second[lane] = slots[slot[lane]];
        }
        if atomic.bytes == 4 {
            values = values.map(|v| v & 0xffff_ffff);
            second = second.map(|v| v & 0xffff_ffff);
        }
        Values { slots, data: values, second, slot }
    }

    fn memory(&self, atomic: &Atomic) -> Vec<u8> {
        self.slots.iter().flat_map(|v| v.to_le_bytes()[..atomic.bytes].to_vec()).collect()
    }

    /// Two rows for a 64-bit value in each lane.
    fn rows(values: [u64; 64]) -> [[u32; 64]; 2] {
        [values.map(|v| v as u32), values.map(|v| (v >> 32) as u32)]
    }

    /// Old values per lane (`None`: inactive) and the memory at the end.
    fn expected(&self, atomic: &Atomic, exec: u64) -> (Vec<Option<u64>>, Vec<u8>) {
        let mask = if atomic.bytes == 8 { !0 } else { 0xffff_ffff };
        let mut slots: Vec<u64> = self.slots.iter().map(|v| v & mask).collect();
        let mut old = vec![None; 64];
        for lane in (0..64).filter(|lane| active(exec, *lane)) {
            let slot = &mut slots[self.slot[lane]];
            old[lane] = Some(*slot);
            *slot = atomic.apply(*slot, self.data[lane], self.second[lane]);
        }
        let memory = slots.iter().flat_map(|v| v.to_le_bytes()[..atomic.bytes].to_vec()).collect();
        (old, memory)
    }
}

/// Compares result registers with the old values (unchanged if inactive or if nothing is returned).
fn check_result(what: &str, bytes: usize, returned: &[Option<u64>], old: &[[u32; 64]], now: &[[u32; 64]]) {
    for (lane, value) in returned.iter().enumerate() {
        let mut expected = column(old, lane);
        if let Some(value) = value {
            expected[0] = *value as u32;
            if bytes == 8 {
                expected[1] = (value >> 32) as u32;
            }
        }
        assert_eq!(column(now, lane), expected, "{what}, lane {lane}");
    }
}

#[test]
fn in_lds() {
    let all = atomics(Format::Ds);
    assert_eq!(all.len(), 79);
    for (target, op, atomic) in all {
        let row = op.row();
        let two = row.operands.iter().any(|s| s.role.name() == "data1");
        let returns = row.operands.iter().any(|s| s.role.name() == "vdst");
        let mut fields = vec![(F::Addr, ADDRESS), (F::Data0, DATA), (F::Offset0, 64)];
        if two {
            fields.push((F::Data1, DATA1));
        }
        if returns {
            fields.push((F::Vdst, RESULT));
        }
        let code = home_words(target, op, &fields);
        for shared in [false, true] {
            let values = Values::new(&atomic, shared);
            // DS instructions have the comparand first.
            let (first, second) = if atomic.kind.starts_with("cmpswap") {
                (values.second, values.data)
            } else {
                (values.data, values.second)
            };
            let data = [Values::rows(first), Values::rows(second)].concat();
            let mut contents = vec![0xee; 64];
            contents.extend(values.memory(&atomic));
            contents.resize(LDS, 0xee);
            for exec in MASKS {
                let addresses = values.slot.map(|slot| slot * atomic.bytes);
                let done = lds::run_on(target, &code, exec, 0, addresses, &data, contents.clone());
                let (mut old, memory) = values.expected(&atomic, exec);
                let what = format!("{op} shared {shared} exec {exec:#x}");
                let mut after = contents.clone();
                after[64..64 + memory.len()].copy_from_slice(&memory);
                assert!(done.after == after, "{what}: LDS");
                if !returns {
                    old.fill(None);
                }
                check_result(&what, atomic.bytes, &old, &done.old, &done.result);
            }
        }
    }
}

#[test]
fn through_addresses_and_buffers() {
    for format in [Format::Global, Format::Flat, Format::Mubuf] {
        let all = atomics(format);
        assert_eq!(all.len(), 32, "{format:?}");
        for (target, op, atomic) in all {
            for returns in [false, true] {
                for shared in [false, true] {
                    for exec in MASKS {
                        one_through_address(target, op, &atomic, returns, shared, exec);
                    }
                }
            }
        }
    }
}

fn one_through_address(target: Target, op: Op, atomic: &Atomic, returns: bool, shared: bool, exec: u64) {
    let format = op.row().format;
    let values = Values::new(atomic, shared);
    let mut machine = Machine::new(target);
    machine.buffers = vec![values.memory(atomic)];
    let mut fields = vec![(F::Vaddr, ADDRESS), (F::Vdata, DATA), (F::Glc, u32::from(returns))];
    match format {
        // A 32-bit offset from an SGPR pair.
        Format::Global => fields.push((F::Saddr, 10)),
        Format::Mubuf => fields.extend([(F::Srsrc, 5), (F::Soffset, 128), (F::Offen, 1)]),
        _ => {}
    }
    if returns && format != Format::Mubuf {
        fields.push((F::Vdst, RESULT));
    }
    let code = home_words(target, op, &fields);
    // The comparand follows the new value.
    let mut data = Values::rows(values.data).to_vec();
    data.truncate(atomic.bytes / 4);
    data.extend(Values::rows(values.second));
    data.resize(4, [0; 64]);
    let mut numbers = Numbers::new(33);
    let old: Vec<_> = (0..4).map(|_| numbers.row()).collect();
    let outcome = machine.run(&code, |regs, buffers| {
        set_exec(regs, exec);
        regs.set_uni64(Uni(10), buffers[0]);
        regs.set_uni64(Uni(20), buffers[0]);
        regs.set_uni(Uni(22), machine.buffers[0].len() as u32);
        regs.set_uni(Uni(23), 0x0002_7000);
        let offsets = values.slot.map(|slot| (slot * atomic.bytes) as u64);
        if format == Format::Flat {
            set_rows(regs, ADDRESS as u16, &Values::rows(offsets.map(|o| buffers[0] + o)));
        } else {
            set_rows(regs, ADDRESS as u16, &[offsets.map(|o| o as u32)]);
        }
        set_rows(regs, DATA as u16, &data);
        set_rows(regs, RESULT as u16, &old);
    });
    let (mut returned, memory) = values.expected(atomic, exec);
    let what = format!("{op} returns {returns} shared {shared} exec {exec:#x}");
    assert!(outcome.buffers[0] == memory, "{what}: memory");
    if !returns {
        returned.fill(None);
    }
    // Buffer atomics return into their data.
    let (before, place) = if format == Format::Mubuf { (&data, DATA) } else { (&old, RESULT) };
    let now = &outcome.wave.vgprs[place as usize..place as usize + 4];
    check_result(&what, atomic.bytes, &returned, before, now);
}

#[test]
fn exchanges_of_two_places() {
    for (bytes, unit, op) in [
        (4, 4, Op::DsWrxchg2RtnB32),
        (8, 8, Op::DsWrxchg2RtnB64),
        (4, 256, Op::DsWrxchg2st64RtnB32),
        (8, 512, Op::DsWrxchg2st64RtnB64),
    ] {
        let mut numbers = Numbers::new(35);
        let contents = numbers.bytes(LDS);
        let data: Vec<_> = (0..4).map(|_| numbers.row()).collect();
        let dwords = bytes as u32 / 4;
        // The result apart from the operands, and overlapping the data.
        for result in [RESULT, DATA] {
            let fields = [
                (F::Vdst, result),
                (F::Addr, ADDRESS),
                (F::Data0, DATA),
                (F::Data1, DATA + dwords),
                (F::Offset0, 1),
                (F::Offset1, 3),
            ];
            let mut code = home_words(Target::Gfx906, op, &fields);
            for n in 0..4 {
                code.push(0x7e00_0300 | (RESULT + n) << 17 | (result + n)); // v_mov_b32
            }
            let addresses = std::array::from_fn(|lane| 16 * lane);
            let done = lds::run_on(Target::Gfx906, &code, !0, 0, addresses, &data, contents.clone());
            let mut memory = contents.clone();
            let mut returned = vec![Vec::new(); 64];
            for (offset, from) in [(1, 0), (3, dwords as usize)] {
                for lane in 0..64 {
                    let place = &mut memory[16 * lane + offset * unit..][..bytes];
                    returned[lane].extend_from_slice(place);
                    let new: Vec<u8> =
                        (from..from + dwords as usize).flat_map(|n| data[n][lane].to_le_bytes()).collect();
                    place.copy_from_slice(&new);
                }
            }
            assert!(done.after == memory, "{op} result v{result}");
            for (lane, returned) in returned.iter().enumerate() {
                let now: Vec<u8> = column(&done.result, lane).iter().flat_map(|v| v.to_le_bytes()).collect();
                assert_eq!(now[..2 * bytes], returned[..], "{op} result v{result} lane {lane}");
            }
        }
    }
}

/// Data from another LDS address, named by the offset field or by the address register.
#[test]
fn data_in_lds() {
    let ops: Vec<Op> = Op::ALL.iter().copied().filter(|op| op.row().name().contains("_src2_")).collect();
    assert_eq!(ops.len(), 31);
    for op in ops {
        let atomic = Atomic::of(&op.row().name().replace("src2_", "").replace("ds_write", "ds_wrxchg"));
        let values = Values::new(&atomic, false);
        // The slots, followed by the same number of data, at an odd distance in dwords if it may be.
        let mut contents = values.memory(&atomic);
        let distance = match atomic.bytes {
            4 => ((contents.len() / 4) | 1) * 4,
            _ => contents.len(),
        };
        contents.resize(distance, 0);
        contents.extend(values.data.iter().flat_map(|v| v.to_le_bytes()[..atomic.bytes].to_vec()));
        contents.resize(LDS, 0);
        let places = values.slot.map(|slot| slot * atomic.bytes);
        // Lane `l` finds datum `s` after slot `s`.
        let mut by_lane = Values { data: values.slot.map(|slot| values.data[slot]), ..values };
        by_lane.second = [0; 64];
        let (_, memory) = by_lane.expected(&atomic, MASKS[3]);
        let mut after = contents.clone();
        after[..memory.len()].copy_from_slice(&memory);
        let dwords = distance / 4;
        for in_register in [false, true] {
            let field = if in_register { 0x8000 } else { dwords as u32 };
            let fields = [(F::Addr, ADDRESS), (F::Offset0, field & 0xff), (F::Offset1, field >> 8)];
            let code = home_words(Target::Gfx906, op, &fields);
            let addresses = places.map(|at| if in_register { at | dwords << 17 } else { at });
            let done = lds::run_on(Target::Gfx906, &code, MASKS[3], 0, addresses, &[], contents.clone());
            assert!(done.after == after, "{op} distance in the register: {in_register}");
        }
    }
}

#[test]
fn conditional_exchange() {
    let mut numbers = Numbers::new(36);
    let contents = numbers.bytes(LDS);
    let data = [numbers.row(), numbers.row()];
    let fields = [(F::Vdst, RESULT), (F::Addr, ADDRESS), (F::Data0, DATA), (F::Offset0, 9)];
    let code = home_words(Target::Gfx906, Op::DsCondxchg32RtnB64, &fields);
    for exec in MASKS {
        // The low bits of the address are ignored; neighbours share a pair.
        let addresses: [usize; 64] = std::array::from_fn(|lane| 8 * (lane / 2) + lane % 7);
        let done = lds::run_on(Target::Gfx906, &code, exec, 0, addresses, &data, contents.clone());
        let mut memory = contents.clone();
        for lane in 0..64 {
            let mut expected = column(&done.old, lane);
            if active(exec, lane) {
                for (n, row) in data.iter().enumerate() {
                    let place = &mut memory[((addresses[lane] + 9) & !7) + 4 * n..][..4];
                    expected[n] = u32::from_le_bytes((&*place).try_into().expect("four bytes"));
                    if row[lane] >> 31 != 0 {
                        place.copy_from_slice(&(row[lane] & 0x7fff_ffff).to_le_bytes());
                    }
                }
            }
            assert_eq!(column(&done.result, lane), expected, "exec {exec:#x} lane {lane}");
        }
        assert!(done.after == memory, "exec {exec:#x}");
    }
}

#[test]
fn counters() {
    for (op, step) in [(Op::DsAppend, 1i32), (Op::DsConsume, -1)] {
        let code = home_words(Target::Gfx906, op, &[(F::Vdst, RESULT), (F::Offset0, 8)]);
        for exec in MASKS {
            let mut contents = vec![0; LDS];
            contents[0x28..0x2c].copy_from_slice(&1000u32.to_le_bytes());
            let done = lds::run_on(Target::Gfx906, &code, exec, 0x20, [0; 64], &[], contents.clone());
            let count = 1000 + step * exec.count_ones() as i32;
            contents[0x28..0x2c].copy_from_slice(&count.to_le_bytes());
            assert!(done.after == contents, "{op} exec {exec:#x}");
            for lane in 0..64 {
                let expected = if active(exec, lane) { 1000 } else { done.old[0][lane] };
                assert_eq!(done.result[0][lane], expected, "{op} lane {lane}");
            }
        }
    }
}
