//! Vector ALU instructions: in each encoding, with special values and edges, under all fields of MODE, with modifiers
//! and constants.

use wavemill_isa::Target;
use wavemill_isa::gcn::{
    Dpp, DstUnused, Elem, Encoding, Flag, Format, InlineFloat, Inst, Modifiers, Op, Operand, Role,
    Row as Entry, SdwaSel, Special, State, Type,
};
use wavemill_reference::rows::small;

use super::values::{Random, bits, dwords, exponent, format_of, specials};
use super::{Builder, MODE, Start, TARGETS};
use crate::data::{LANES, Lanes, Row};
use crate::model::{Gap, VCC};

/// MODE: usual; flushed f32; everything flushed; IEEE and DX10_CLAMP off, where output modifiers have an effect;
/// overflow of f16 saturates; each pair of rounding modes with different fields; denormals kept on one side only.
pub(super) const MODES: [u32; 14] =
    [MODE, 0x3c0, 0x300, 0x0f0, 0x80_03f0, 0x000, 0x3f1, 0x3f4, 0x3ea, 0x3d7, 0x39b, 0x06e, 0x3ac, 0x353];

/// First VGPRs of sources and destination, and those of instructions with wide operands.
const PLACES: [(Role, u8); 4] = [(Role::Src0, 0), (Role::Src1, 4), (Role::Src2, 8), (Role::Vdst, 12)];
const WIDE_PLACES: [(Role, u8); 4] = [(Role::Src0, 0), (Role::Src1, 32), (Role::Src2, 64), (Role::Vdst, 96)];

/// SGPR pairs of carries and masks, and a scalar source.
const CARRY: u8 = 20;
const MASK: u8 = 24;
const SCALAR: u8 = 30;

/// Lanes: some, one, every other, none, halves.
const EXECS: [u64; 6] =
    [0xf7ff_fffd_0ff0_aa55, 1 << 37, 0x5555_5555_5555_5555, 0, 0xffff_0000_ffff_0000, u64::MAX];

pub(super) fn places(row: &Entry) -> [(Role, u8); 4] {
    let wide = row.operands.iter().any(|spec| spec.ty.dwords() > 4);
    if wide { WIDE_PLACES } else { PLACES }
}

/// The kind of values that a set has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Values {
    /// The pairs of special values from this number of 64 on; or single special values and edges.
    Specials(usize),
    /// Random ones.
    Random(usize),
}

/// The registers that an instruction reads, and its old destination.
pub(super) fn set(builder: &mut Builder, op: Op, values: Values) -> usize {
    let row = op.row();
    let sources: Vec<(Role, u8, Type)> = places(row)
        .into_iter()
        .filter_map(|(role, first)| row.operand(role).map(|spec| (role, first, spec.ty)))
        .filter(|(_, _, ty)| ty.elem != Elem::Mask && ty.elem != Elem::Lane)
        .collect();
    let small = small::parse(row.name()).is_some();
    // The last source of a scaled conversion is its scale.
    let scale = small && row.name().contains("scalef32");
    let scale_role =
        sources.iter().filter(|(role, ..)| *role != Role::Vdst).map(|(role, ..)| *role).next_back();
    let scaling = row.name().contains("ldexp");
    let mut name = format!("{values:?} {scale} {scaling}");
    for (role, first, ty) in &sources {
        name += &format!(" {role:?}@{first}:{:?}x{}", ty.elem, ty.count);
    }
    builder.set(name.clone(), || {
        let mut random = Random::of(&name);
        let mut rows = Vec::new();
        for (role, first, ty) in &sources {
            let mut lanes = vec![[0u32; LANES]; usize::from(ty.dwords().max(1))];
            for lane in 0..LANES {
                let mut value = dwords(*ty, &mut random);
                if scale && Some(*role) == scale_role {
                    let field = if random.one_in(8) { random.below(256) } else { 119 + random.below(16) };
                    value = vec![(field as u32) << 23 | random.next() as u32 >> 9];
                }
                if scaling && *role == Role::Src1 && !random.one_in(4) {
                    value = vec![exponent(&mut random)];
                }
                if let Values::Specials(n) = values {
                    overwrite(&mut value, *role, *ty, &sources, n * LANES + lane);
                }
                for (register, value) in lanes.iter_mut().zip(value) {
                    register[lane] = value;
                }
            }
            // 8-bit elements: every code.
            if small && ty.elem.bits() == 8 && *role == Role::Src0 && lanes.len() == 1 {
                lanes[0] = std::array::from_fn(|lane| {
                    (0..4).fold(0, |v, n| v | (((lane * 4 + n) * 37) as u32 & 0xff) << (8 * n))
                });
            }
            rows.extend((u16::from(*first)..).map(Row::Vgpr).zip(lanes));
        }
        rows
    })
}

/// Puts the special values of case `n` into the first element of a source.
fn overwrite(value: &mut [u32], role: Role, ty: Type, sources: &[(Role, u8, Type)], n: usize) {
    let float = |role| {
        sources.iter().find(|(r, ..)| *r == role).and_then(|(_, _, ty)| format_of(ty.elem)).map(specials)
    };
    let [first, second] = [float(Role::Src0), float(Role::Src1)];
    let chosen = match (role, first, second) {
        (Role::Src0, Some(a), Some(b)) => a.get(n / b.len()).copied(),
        (Role::Src1, Some(a), Some(b)) => (n / b.len() < a.len()).then(|| b[n % b.len()]),
        (Role::Src0, Some(a), None) => a.get(n).copied(),
        _ => None,
    };
    let Some(bits) = chosen else { return };
    match ty.elem.bits() {
        64 => (value[0], value[1]) = (bits as u32, (bits >> 32) as u32),
        32 => value[0] = bits as u32,
        width => value[0] = value[0] & u32::MAX << width | bits as u32,
    }
}

/// How many sets of special values a row has.
fn special_sets(row: &Entry) -> usize {
    let floats =
        |role| row.operand(role).is_some_and(|spec| format_of(spec.ty.elem).is_some() && spec.ty.count == 1);
    match (floats(Role::Src0), floats(Role::Src1), floats(Role::Src2)) {
        (true, true, false) => 7,
        (true, ..) => 1,
        _ => 0,
    }
}

fn operand(role: Role, ty: Type, encoding: Encoding, places: &[(Role, u8); 4]) -> Option<Operand> {
    let wide = matches!(encoding, Encoding::Vop3a | Encoding::Vop3b | Encoding::Vop3p);
    let pair = |first| Operand::Sgpr { first, dwords: 2 };
    let vcc = Operand::Special { reg: Special::VccLo, dwords: 2 };
    Some(match role {
        Role::Src2 if ty.elem == Elem::Mask => {
            if wide {
                pair(CARRY)
            } else {
                vcc
            }
        }
        Role::Sdst => {
            if wide {
                pair(MASK)
            } else {
                vcc
            }
        }
        Role::Literal => Operand::Literal(if ty.bits() == 16 { 0x4248 } else { 0x4049_0fdb }),
        _ => {
            let (_, first) = places.iter().find(|(r, _)| *r == role)?;
            Operand::Vgpr { first: *first, dwords: ty.dwords() }
        }
    })
}

/// The instance on each target that has it.
pub(super) fn instances(
    op: Op,
    encoding: Encoding,
    change: impl Fn(Target, &mut Modifiers),
    replaced: &[(Role, Operand)],
) -> Vec<Inst> {
    let row = op.row();
    let places = places(row);
    let build = |target: Target| {
        let mut m = Modifiers::plain(row.form(target, encoding)?);
        change(target, &mut m);
        let mut builder = Inst::build(target, op, encoding).ok()?.modifiers(m);
        for spec in row.operands {
            let given = replaced.iter().find(|(role, _)| *role == spec.role).map(|(_, operand)| *operand);
            builder =
                builder.operand(spec.role, given.or_else(|| operand(spec.role, spec.ty, encoding, &places))?);
        }
        let (inst, broken) = builder.finish_with_rule().ok()?;
        broken.is_none().then_some(inst)
    };
    TARGETS.into_iter().filter(|t| row.targets.contains(*t)).filter_map(build).collect()
}

/// The state in which an instruction starts.
pub(super) fn start(row: &Entry, encoding: Encoding, mode: u32, set: usize, random: &mut Random) -> Start {
    let masked = row.operands.iter().any(|spec| spec.ty.elem == Elem::Mask && spec.role == Role::Src2);
    let start = Start::new(mode, set);
    let wide = matches!(encoding, Encoding::Vop3a | Encoding::Vop3b);
    match () {
        () if masked && wide => start.pair(CARRY.into(), random.next()),
        () if masked || row.reads.contains(State::Vcc) => start.pair(VCC, random.next()),
        () => start,
    }
}

/// Which sources have signs that the model knows.
fn signs(row: &Entry) -> u8 {
    [Role::Src0, Role::Src1, Role::Src2].into_iter().enumerate().fold(0, |mask, (n, role)| {
        let float = row.operand(role).is_some_and(|spec| spec.ty.elem.is_float() && spec.ty.count == 1);
        let signed = float || row.name() == "v_cndmask_b32" && n < 2;
        mask | u8::from(signed && row.float_mods >> n & 1 != 0) << n
    })
}

const PARTS: [SdwaSel; 7] = [
    SdwaSel::Byte0,
    SdwaSel::Byte1,
    SdwaSel::Byte2,
    SdwaSel::Byte3,
    SdwaSel::Word0,
    SdwaSel::Word1,
    SdwaSel::Dword,
];

/// Random modifiers of an encoding, the same for all targets that have them.
fn modify(row: &Entry, encoding: Encoding, target: Target, m: &mut Modifiers, r: u64) {
    let small = small::parse(row.name()).is_some();
    let mut random = Random::of(&format!("{r}"));
    let [a, b, c, d] = [random.next(), random.next(), random.next(), random.next()];
    let sources =
        [Role::Src0, Role::Src1, Role::Src2].into_iter().filter(|r| row.operand(*r).is_some()).count();
    let mask = (1u8 << sources) - 1;
    match encoding {
        Encoding::Vop3a | Encoding::Vop3b => {
            if !small {
                m.neg = a as u8 & signs(row);
                m.abs = if encoding == Encoding::Vop3a { (a >> 8) as u8 & signs(row) } else { 0 };
                m.clamp = row.has(Flag::Clamp, target) && a >> 16 & 3 == 0;
                let float = row.operand(Role::Vdst).is_some_and(|spec| spec.ty.elem.is_float());
                m.omod = if float && row.has(Flag::Omod, target) {
                    (b >> 8) as u8 & 3 & (b >> 16) as u8
                } else {
                    0
                };
            }
            if row.has(Flag::Opsel, target) {
                let half =
                    |role| row.operand(role).is_some_and(|spec| spec.ty.bits() == 16 && spec.ty.count == 1);
                m.op_sel = if let Some(conversion) = small::parse(row.name()) {
                    // A byte or half of a small source, and the place of a result that does not fill the register.
                    let (from, to) = (small::bits(conversion.from), small::bits(conversion.to));
                    let sources = match (from < 16, conversion.interleaved, conversion.count * from) {
                        (true, false, 8) => 3,
                        (true, false, 16) => 1,
                        _ => 0,
                    };
                    let result = match conversion.count * to {
                        8 => 0xc,
                        16 => 8,
                        _ => 0,
                    };
                    c as u8 & (sources | result)
                } else {
                    let taken = [Role::Src0, Role::Src1, Role::Src2, Role::Vdst].into_iter().enumerate();
                    c as u8 & taken.fold(0, |mask, (n, role)| mask | u8::from(half(role)) << n)
                };
            }
            m.bitop3 = if row.has(Flag::Bitop3, target) { d as u8 } else { 0 };
        }
        Encoding::Vop3p => {
            if !row.has(Flag::PlainHalves, target) && !row.has(Flag::Noopsel, target) {
                m.op_sel = a as u8 & mask;
                m.op_sel_hi = (a >> 8) as u8 & mask | m.op_sel_hi & !mask;
            }
            if row.has(Flag::Mix, target) {
                (m.abs, m.neg) = (b as u8 & 7, (b >> 8) as u8 & 7);
            } else if row.operands.iter().any(|spec| spec.ty.elem.is_float()) {
                (m.neg, m.neg_hi) = (b as u8 & mask, (b >> 8) as u8 & mask);
            }
            m.clamp = row.has(Flag::Clamp, target) && c & 3 == 0;
        }
        Encoding::Vop1Sdwa | Encoding::Vop2Sdwa | Encoding::VopcSdwa => {
            if let Some(sdwa) = &mut m.sdwa {
                let part = |n: u64| PARTS[(n % 7) as usize];
                (sdwa.src0_sel, sdwa.src1_sel) = (part(a >> 8), part(a >> 16));
                if small {
                    let pair = row.name().contains("_pk_");
                    sdwa.src0_sel = PARTS[if pair { 4 + (a & 1) as usize } else { a as usize & 3 }];
                    sdwa.src1_sel = SdwaSel::Dword;
                }
                if encoding != Encoding::VopcSdwa && !row.has(Flag::SdwaNodst, target) {
                    sdwa.dst_sel = part(a >> 24);
                    sdwa.dst_unused =
                        [DstUnused::Pad, DstUnused::Sext, DstUnused::Preserve][(a >> 32) as usize % 3];
                }
            }
            let floats = signs(row);
            if !small {
                m.neg = b as u8 & floats & 3;
                m.abs = (b >> 8) as u8 & floats & 3;
                // Integers have the bit for sign extension.
                let integers = |role| row.operand(role).is_some_and(|spec| !spec.ty.elem.is_float());
                let integers = u8::from(integers(Role::Src0)) | u8::from(integers(Role::Src1)) << 1;
                m.sext = (b >> 16) as u8 & integers & !row.float_mods;
                m.clamp = encoding != Encoding::VopcSdwa && row.has(Flag::Clamp, target) && c & 3 == 0;
                let float = row.operand(Role::Vdst).is_some_and(|spec| spec.ty.elem.is_float());
                m.omod = if float && row.has(Flag::Omod, target) {
                    (c >> 8) as u8 & (c >> 16) as u8 & 3
                } else {
                    0
                };
            }
        }
        Encoding::Vop1Dpp | Encoding::Vop2Dpp => {
            let wide = row.operands.iter().any(|spec| spec.ty.bits() == 64 && spec.ty.elem != Elem::Mask);
            let controls = controls(target, wide);
            m.dpp = Some(Dpp {
                ctrl: controls[(a % controls.len() as u64) as usize],
                row_mask: if b & 1 == 0 { 15 } else { (b >> 8) as u8 & 15 },
                bank_mask: if b & 2 == 0 { 15 } else { (b >> 16) as u8 & 15 },
                bound_ctrl: b & 4 != 0,
            });
            if !small {
                m.neg = c as u8 & signs(row) & 3;
                m.abs = (c >> 8) as u8 & signs(row) & 3;
            }
        }
        _ => {}
    }
}

/// Lane permutations that a target has.
pub(super) fn controls(target: Target, wide: bool) -> Vec<u16> {
    let broadcasts = [0x150, 0x156, 0x15f];
    if wide {
        return broadcasts.to_vec();
    }
    let mut all = vec![0x00, 0xe4, 0x1b, 0xb1, 0x4e, 0xff, 0x93, 0x140, 0x141];
    for n in [1, 2, 7, 15] {
        all.extend([0x100 + n, 0x110 + n, 0x120 + n]);
    }
    all.extend([0x130, 0x134, 0x138, 0x13c, 0x142, 0x143]);
    if target != Target::Gfx906 {
        all.extend(broadcasts);
    }
    all
}

/// A constant, a literal or an SGPR in place of a source.
fn replaced(row: &Entry, encoding: Encoding, random: &mut Random) -> Vec<(Role, Operand)> {
    let mut found = Vec::new();
    for role in [Role::Src0, Role::Src1, Role::Src2] {
        let Some(spec) = row.operand(role) else { continue };
        if spec.ty.elem == Elem::Mask || !random.one_in(3) || spec.ty.dwords() > 2 {
            continue;
        }
        let short = matches!(encoding, Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc);
        let operand = match random.below(8) {
            0..=2 => Operand::Int(random.pick(&[0, 1, 2, 63, 64, -1, -5, -16])),
            3..=5 => Operand::Float(random.pick(InlineFloat::ALL)),
            6 if short => Operand::Literal(bits(random) as u32),
            _ => Operand::Sgpr { first: SCALAR, dwords: spec.ty.dwords() },
        };
        found.push((role, operand));
    }
    found
}

/// Tests of one instruction.
///
/// # Errors
/// Why the model does not know it.
fn row_tests(builder: &mut Builder, op: Op) -> Result<(), Gap> {
    let row = op.row();
    let encodings: Vec<Encoding> = {
        let mut all: Vec<Encoding> = TARGETS.into_iter().flat_map(|t| row.encodings(t)).collect();
        all.dedup();
        let mut unique = Vec::new();
        for encoding in all {
            if !unique.contains(&encoding) {
                unique.push(encoding);
            }
        }
        unique
    };
    let Some(home) = encodings.first().copied() else { return Ok(()) };
    let compares = row.format == Format::Vopc;
    let mut random = Random::of(row.name());
    let obeys_mode = row.has(Flag::Fp, TARGETS[0]) || row.operands.iter().any(|spec| spec.ty.elem.is_float());
    // Special values and edges, in the shortest encoding.
    let plain = instances(op, home, |_, _| {}, &[]);
    let specials = special_sets(row);
    let sets = (0..specials).map(Values::Specials);
    let sets: Vec<Values> = sets.chain((0..if specials > 1 { 1 } else { 2 }).map(Values::Random)).collect();
    for values in sets {
        let set = set(builder, op, values);
        // What has no reference stays on the list of uncovered instructions.
        builder.add(&start(row, home, MODE, set, &mut random), &plain)?;
    }
    // All fields of MODE.
    if obeys_mode {
        for (n, mode) in MODES.into_iter().enumerate().skip(1) {
            let values = if specials > 0 && n % 2 == 1 {
                Values::Specials(n / 2 % specials)
            } else {
                Values::Random(n % 3)
            };
            let set = set(builder, op, values);
            builder.add(&start(row, home, mode, set, &mut random), &plain)?;
        }
    }
    // Modifiers and constants, in every encoding.
    for encoding in encodings {
        let count = match encoding {
            Encoding::Vop3p => 10,
            Encoding::Vop3a | Encoding::Vop3b if encoding == home => 6,
            _ if compares => 3,
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => 2,
            _ => 4,
        };
        let mut made = 0;
        for attempt in 0..4 * count {
            if made == count {
                break;
            }
            let r = random.next();
            let replaced = if attempt % 2 == 0 { Vec::new() } else { replaced(row, encoding, &mut random) };
            let short = matches!(encoding, Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc);
            if short && replaced.is_empty() {
                continue;
            }
            let instances =
                instances(op, encoding, |target, m| modify(row, encoding, target, m, r), &replaced);
            if instances.is_empty() {
                continue;
            }
            let uses_omod = instances[0].modifiers().omod != 0;
            let mode = match () {
                // Where output modifiers have an effect.
                () if uses_omod => random.pick(&[0x000, 0x10c, 0x003, 0x100]),
                () if obeys_mode => random.pick(&MODES),
                () => MODE,
            };
            let set = set(builder, op, Values::Random(random.below(2)));
            let dpp = matches!(encoding, Encoding::Vop1Dpp | Encoding::Vop2Dpp);
            let exec = if dpp || random.one_in(4) { random.pick(&EXECS) } else { u64::MAX };
            let mut start = start(row, encoding, mode, set, &mut random).exec(exec);
            if replaced.iter().any(|(_, operand)| matches!(operand, Operand::Sgpr { .. })) {
                start = start.pair(SCALAR.into(), bits(&mut random));
            }
            // Some uses have no reference; another draw replaces them.
            if builder.add(&start, &instances).is_ok() {
                made += 1;
            }
        }
    }
    Ok(())
}

pub(super) fn tests(builder: &mut Builder, format: Format) {
    for op in Op::ALL.iter().copied().filter(|op| op.row().format == format) {
        if op.row().operand(Role::Sdst).is_some()
            && op.row().operand(Role::Vdst).is_none()
            && format != Format::Vopc
        {
            continue;
        }
        let _ = row_tests(builder, op);
    }
}

/// A row that many tests use, of random bits.
pub(super) fn random_row(name: &str) -> Lanes {
    let mut random = Random::of(name);
    std::array::from_fn(|_| random.next() as u32)
}
