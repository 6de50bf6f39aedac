//! Random programs of Cayman, and launches of them in several ways that must give the same result.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering::Relaxed;

use wavemill::binding::{Binding, Location};
use wavemill::device::TargetChoice;
use wavemill::image::{Compare, Dimensions, ImageDesc, ImageFormat, SamplerDesc};
use wavemill::launch::{Engine, Tier};
use wavemill::{Arg, Buffer, Device, Error, Launch, Module, Outcome, RunOptions};
use wavemill_isa::cayman::{FieldId as F, Format, Inst, Op, Slots, decode_group};
use wavemill_isa::gcn::Fidelity;
use wavemill_object::r600::{R600Config, R600Program, R600Stage, write_r600};
use wavemill_oracle::SplitMix64;

use crate::share::Reached;
use crate::watch::Watching;

/// Bytes before the program: registers, stack entries, LDS in units of 64 bytes, and a seed of data.
pub const HEADER: usize = 4;

/// Registers that generated programs use; the first ones have small numbers.
const GPRS: u32 = 8;
const SMALL: u32 = 4;
/// Work-items: one wave, without some of its lanes. Several would race.
const ITEMS: u64 = 50;
/// Dwords of each buffer.
const DWORDS: u64 = 256;
/// Instructions of a launch.
const LIMIT: u64 = 2048;

/// The fields of a word with random values that programs can use: most of them reach something that
/// exists. The fuzzer changes bits beyond that.
fn filled(op: Op, random: &mut SplitMix64) -> Inst {
    let (mut inst, row) = (Inst::new(op), op.row());
    let has_index = !row.format.is_alu();
    for field in op.row().format.fields() {
        let keep = [op.row().format.opcode(), op.row().format.sub_opcode()].contains(&Some(field.id));
        let value = match field.id {
            _ if keep => continue,
            // Addresses and indices are small numbers.
            F::SrcGpr | F::IndexGpr if has_index => random.below(SMALL.into()) as u32,
            F::DstGpr | F::RwGpr => random.below(GPRS.into()) as u32,
            F::Src1Sel if op.is_interpolation() => PARAMETER,
            F::Src0Sel | F::Src1Sel | F::Src2Sel => source(random),
            F::Src0Chan | F::Src1Chan | F::Src2Chan => random.below(4) as u32,
            F::BufferId | F::ResourceId | F::RatId => random.below(3) as u32,
            F::SamplerId => 0,
            F::DataFormat => [13, 14, 1, 26, 29, 34][random.index(6)],
            F::DstSelX | F::DstSelY | F::DstSelZ | F::DstSelW => [0, 1, 2, 3, 4, 5, 7][random.index(7)],
            F::SrcSelX | F::SrcSelY | F::SrcSelZ | F::SrcSelW => random.below(6) as u32,
            F::SelX | F::SelY | F::SelZ | F::SelW => [0, 1, 2, 3, 4, 5, 7][random.index(7)],
            F::BurstCount => u32::from(random.below(8) == 0),
            F::Omod if row.takes_output_modifier() && random.below(6) == 0 => random.below(4) as u32,
            F::Clamp if row.takes_clamp() && random.below(6) == 0 => 1,
            F::Src0Neg if row.takes_negation(0) => u32::from(random.below(4) == 0),
            F::Src1Neg if row.takes_negation(1) && !op.is_interpolation() => u32::from(random.below(4) == 0),
            F::Src2Neg if row.takes_negation(2) => u32::from(random.below(4) == 0),
            F::Src0Abs if row.takes_absolute(0) => u32::from(random.below(4) == 0),
            F::Src1Abs if row.takes_absolute(1) && !op.is_interpolation() => u32::from(random.below(4) == 0),
            F::UpdateExecMask | F::UpdatePred if row.updates_masks() => random.below(2) as u32,
            F::PredSel if random.below(8) == 0 => 2 + random.below(2) as u32,
            F::CompMask | F::NumFormatAll | F::FormatCompAll => {
                random.below(u64::from(field.max()) + 1) as u32
            }
            _ => continue,
        };
        inst = inst.with(field.id, value.min(field.max())).unwrap_or(inst);
    }
    inst
}

/// PV, and the first parameter of pixels.
const PREVIOUS: u32 = 254;
const PARAMETER: u32 = 448;

/// A source of an ALU slot.
fn source(random: &mut SplitMix64) -> u32 {
    match random.below(12) {
        0..7 => random.below(GPRS.into()) as u32,
        // A window of constants.
        7 => 128 + random.below(16) as u32,
        8 => 248 + random.below(5) as u32,
        9 => 253,
        _ => PREVIOUS,
    }
}

/// A random instruction that belongs.
fn pick(random: &mut SplitMix64, belongs: impl Fn(Op) -> bool) -> Op {
    loop {
        let op = Op::ALL[random.index(Op::ALL.len())];
        if belongs(op) && op.row().fidelity != Fidelity::Unsupported {
            return op;
        }
    }
}

/// A group, as the manual allows it as far as its slots go.
fn group(random: &mut SplitMix64, is_first: bool) -> Vec<u8> {
    let mut slots: Vec<Inst> = Vec::new();
    // Those that continue the result of another channel seldom find one.
    let is_alone = |op: Op| !matches!(op.row().slots, Slots::NotW | Slots::XOrY);
    let op = pick(random, |op| op.row().format.is_alu() && is_alone(op));
    let channels: Vec<u32> = match op.row().slots {
        Slots::All => vec![0, 1, 2, 3],
        Slots::Three => vec![0, 1, 2],
        Slots::Pair if random.below(2) == 0 => vec![2, 3],
        Slots::Pair | Slots::Xy => vec![0, 1],
        Slots::Zw => vec![2, 3],
        Slots::X => vec![0],
        Slots::W => vec![3],
        _ => (0..4).filter(|_| random.below(2) == 0).collect(),
    };
    for channel in channels {
        let op = match op.row().slots {
            Slots::Any if !slots.is_empty() => pick(random, |op| {
                op.row().format.is_alu() && op.row().slots == Slots::Any && op.row().format != Format::Lds
            }),
            _ => op,
        };
        // The slots of a joint operation have the same sources and modifiers.
        let joint = slots
            .last()
            .filter(|_| matches!(op.row().slots, Slots::Three | Slots::All | Slots::Pair))
            .copied();
        let mut inst = joint.unwrap_or_else(|| filled(op, random));
        // Nothing precedes the first group.
        for select in [F::Src0Sel, F::Src1Sel, F::Src2Sel] {
            if is_first && inst.field(select) == Some(PREVIOUS) {
                inst = inst.with(select, 0).unwrap_or(inst);
            }
        }
        slots.push(inst.with(F::DstChan, channel).unwrap_or(inst));
    }
    if slots.is_empty() {
        slots.push(Inst::new(Op::Nop));
    }
    let last = slots.len() - 1;
    let mut bytes = Vec::new();
    for (index, slot) in slots.iter().enumerate() {
        let slot = slot.with(F::Last, u32::from(index == last)).unwrap_or(*slot);
        bytes.extend(&slot.encode().0[..8]);
    }
    // The slots say how many literals follow.
    let literals: [u32; 4] = std::array::from_fn(|_| random.next_u64() as u32 >> random.below(32));
    bytes.extend(literals.iter().flat_map(|literal| literal.to_le_bytes()));
    let size = decode_group(&bytes).map_or(8 * slots.len(), |group| group.size);
    bytes.truncate(size);
    bytes
}

/// A new program: control flow words, then the clauses that they call.
pub fn program(random: &mut SplitMix64) -> Vec<u8> {
    let count = 2 + random.below(8) as usize;
    let mut control: Vec<Inst> = Vec::new();
    let mut clauses: Vec<u8> = Vec::new();
    // Control flow words before the clauses, with the last one.
    let start = 8 * (count + 2).next_multiple_of(2);
    for _ in 0..count {
        let op = match random.below(10) {
            0..4 => Op::Alu,
            4 => [Op::AluPushBefore, Op::AluPopAfter, Op::AluElseAfter][random.index(3)],
            5 => Op::Tex,
            6 => Op::Gds,
            _ => pick(random, |op| op.row().format.is_control()),
        };
        let mut inst = filled(op, random);
        let mut set = |id, value| inst = inst.with(id, value).unwrap_or(inst);
        let at = (start + clauses.len()) as u32 / 8;
        match op.row().format {
            Format::CfAlu => {
                let before = clauses.len();
                for _ in 0..1 + random.below(3) {
                    clauses.extend(group(random, clauses.len() == before));
                }
                set(F::Addr, at);
                set(F::Count, (clauses.len() - before) as u32 / 8 - 1);
                set(F::KcacheMode0, 1);
            }
            Format::Cf if matches!(op, Op::Tex | Op::TcAck | Op::Gds) => {
                clauses.resize(clauses.len().next_multiple_of(16), 0);
                let at = (start + clauses.len()) as u32 / 8;
                let is_share = op == Op::Gds;
                let words = 1 + random.below(2);
                for _ in 0..words {
                    let op = pick(random, |op| {
                        let format = op.row().format;
                        !format.is_control() && !format.is_alu() && format.is_gds() == is_share
                    });
                    let inst = filled(op, random);
                    clauses.extend(&inst.encode().0);
                }
                set(F::Addr, at);
                set(F::Count, words as u32 - 1);
            }
            // Jumps lead to a word behind or before.
            Format::Cf => {
                set(F::Addr, random.below(count as u64 + 1) as u32);
                set(F::PopCount, random.below(2) as u32);
            }
            _ => {}
        }
        control.push(inst);
    }
    let mut bytes: Vec<u8> = control.iter().flat_map(|inst| inst.encode().0[..8].to_vec()).collect();
    // Its registers are what it leaves.
    let export = Inst::new(Op::ExportDone).with(F::BurstCount, GPRS - 1).expect("it fits");
    bytes.extend(&export.encode().0[..8]);
    bytes.extend(&Inst::new(Op::CfEnd).encode().0[..8]);
    bytes.resize(start, 0);
    bytes.extend(clauses);
    bytes
}

/// A way of running a program.
#[derive(Clone, Copy, Debug)]
struct Way {
    engine: Engine,
    single_steps: bool,
    watched: bool,
    limit: u64,
}

/// What a launch left.
#[derive(Debug, PartialEq)]
struct Left {
    ended: String,
    /// Contents of the buffers, in an order that does not change.
    buffers: Vec<Vec<u8>>,
}

/// A program and what its launch needs.
#[derive(Debug)]
pub struct Machine {
    object: Vec<u8>,
    seed: u8,
    /// Registers, and bytes of LDS: a launch does not take bindings beyond them.
    gprs: u32,
    lds: u32,
}

impl Machine {
    /// The machine of an input; `None` if the input is too short.
    #[must_use]
    pub fn of(input: &[u8]) -> Option<Machine> {
        let (header, code) = input.split_at_checked(HEADER)?;
        if code.len() < 8 {
            return None;
        }
        let config = R600Config {
            stage: if header[0] & 0x80 == 0 { R600Stage::Compute } else { R600Stage::Pixel },
            gprs: 1 + u32::from(header[0] & 0x1f),
            stack: u32::from(header[1] & 7),
            lds: 64 * u32::from(header[2] & 15),
            kills: false,
        };
        let program = R600Program {
            name: "fuzzed".to_owned(),
            bytes: code[..code.len() / 8 * 8].to_vec(),
            alignment: 256,
            config: Some(config),
            relocations: Vec::new(),
        };
        let object = write_r600(&[program]).expect("a small program");
        Some(Machine { object, seed: header[3], gprs: config.gprs, lds: config.lds })
    }

    /// Runs the program in all ways, and compares what they leave.
    #[must_use]
    pub fn check(&self) -> Reached {
        let first =
            Way { engine: Engine::Interpreter(None), single_steps: false, watched: true, limit: LIMIT };
        let (wanted, instructions) = self.run(first);
        // A limit ends a launch at the end of a block: where that is depends on the way.
        let compared = !wanted.ended.starts_with("limit");
        let others = Way { watched: false, limit: 2 * LIMIT, ..first };
        for way in [
            others,
            Way { single_steps: true, ..others },
            Way { engine: Engine::Interpreter(Some(Tier::Portable)), ..others },
            Way { engine: Engine::Jit, ..others },
            Way { engine: Engine::Reference, ..others },
        ] {
            let (found, _) = self.run(way);
            assert!(!compared || found == wanted, "{way:?}: {}", difference(&wanted, &found));
        }
        Reached { instructions, compared }
    }

    fn run(&self, way: Way) -> (Left, usize) {
        let target = TargetChoice::parse("cayman").expect("a target");
        let device = Device::builder(target).build().expect("a device");
        let module = Module::load(&device, &self.object).expect("a whole object");
        let kernel = module.kernel("fuzzed").expect("its program");
        let mut random = SplitMix64::new(self.seed.into());
        let mut buffers: Vec<Buffer> = Vec::new();
        let mut buffer = |name: &str, dwords: u64| {
            let small = random.below(2) == 0;
            let value = |random: &mut SplitMix64| match random.below(4) {
                0 if small => random.below(64) as u32,
                1 => (random.below(200) as f32 / 7.0 - 9.0).to_bits(),
                _ => random.next_u64() as u32,
            };
            let words: Vec<u32> = (0..dwords).map(|_| value(&mut random)).collect();
            let buffer = device.buffer_from(name, &words).expect("a small buffer");
            buffers.push(buffer.clone());
            Arg::Buffer(buffer)
        };
        let mut bindings = Vec::new();
        let mut bind = |name: &str, resource: Arg| {
            let location = Location::from_name(name).expect("the name of a location");
            bindings.push(Binding { location, resource });
        };
        for name in ["cb0", "cb1", "buf0", "buf170", "rat0", "rat1", "stream0.0", "ring0", "scatter"] {
            bind(name, buffer(name, DWORDS));
        }
        bind("returns", buffer("returns", 1 << 14));
        if self.lds >= 64 {
            bind("lds", buffer("lds", 16));
        }
        for name in ["pos60", "param0"] {
            bind(name, buffer(name, 4 * ITEMS));
        }
        for target in 0..GPRS {
            let name = format!("pix{target}");
            bind(&name, buffer(&name, 4 * ITEMS));
        }
        for register in 2..GPRS.min(self.gprs) {
            for channel in ["x", "y", "z", "w"] {
                let name = format!("r{register}.{channel}");
                let value = match register {
                    0..SMALL => Arg::from(4 * (register + u32::from(self.seed & 7))),
                    _ => buffer(&name, ITEMS),
                };
                bind(&name, value);
            }
        }
        let format = ImageFormat::from_name("rgba8").expect("a format");
        let image =
            device.image("image", &ImageDesc::new(Dimensions::D2, format, [8, 8, 1])).expect("a small image");
        bind("tex1", Arg::Image(image));
        let compares = SamplerDesc { compare: Some(Compare::LessEqual), ..SamplerDesc::default() };
        bind("smp0", Arg::Sampler(device.sampler(&compares).expect("a sampler")));
        // Some semantics have no register.
        for semantic in 0..=255 {
            let register = (semantic * 7 + u32::from(self.seed)) % (self.gprs + 8);
            if register < self.gprs {
                bind(&format!("semantic{semantic}"), Arg::from(register));
            }
        }
        for constant in 0..32 {
            bind(&format!("jumptable{constant}"), Arg::from(u32::from(self.seed).wrapping_mul(0x0102_0304)));
        }
        bind("booleans", Arg::from(u32::from(self.seed) * 0x0101_0101));
        bind("loop0", Arg::from(3u32 | 1 << 24));

        let watching = Watching::everything();
        let options = RunOptions {
            threads: NonZeroUsize::new(1),
            max_instructions: Some(way.limit),
            single_steps: way.single_steps,
            // Waves can wait for one another, and for nothing.
            find_stalls: true,
            ..RunOptions::default()
        };
        let mut launch = Launch::new(&kernel)
            .global_size([ITEMS, 1, 1])
            .workgroup_size([64, 1, 1])
            .stack(256)
            .bindings(bindings)
            .engine(way.engine)
            .options(options);
        if way.watched {
            launch = launch.observer(&watching);
        }
        let ended = match launch.outcome() {
            Ok(Outcome::Finished(stats)) => format!("finished after {} instructions", stats.run.instructions),
            Ok(Outcome::Fault(report) | Outcome::Unsupported(report)) => report.to_string(),
            Ok(Outcome::Stalled(_)) => "stalled".to_owned(),
            Ok(Outcome::InstructionLimit(_)) => "limit".to_owned(),
            Ok(other) => panic!("{other:?}"),
            // A program that fetches from an image, or samples a buffer. If all programs ended so, too few inputs would
            // reach execution.
            Err(Error::Launch { problem, .. }) => format!("refused: {problem}"),
            Err(error) => panic!("{error}"),
        };
        let buffers = buffers.iter().map(|buffer| buffer.bytes().expect("it is readable")).collect();
        (Left { ended, buffers }, watching.instructions.load(Relaxed) as usize)
    }
}

/// What differs between two launches.
fn difference(wanted: &Left, found: &Left) -> String {
    if wanted.ended != found.ended {
        return format!("it ended with\n{}\nexpected\n{}", found.ended, wanted.ended);
    }
    let all = wanted.buffers.iter().zip(&found.buffers).enumerate();
    let buffer = all.clone().find(|(_, (wanted, found))| wanted != found);
    let Some((index, (wanted, found))) = buffer else { return "the buffers have other sizes".to_owned() };
    let at = wanted.iter().zip(found).position(|(wanted, found)| wanted != found).unwrap_or(0);
    format!("buffer {index} differs from byte {at} on: found {:#x}, expected {:#x}", found[at], wanted[at])
}
