//! Shared by the tests of lifting: encoding instructions, and running them on one wave.

#![allow(dead_code, reason = "every test binary uses what it needs")]

pub(crate) mod facts;
pub(crate) mod vector;

use std::num::NonZeroUsize;
use std::sync::Arc;

use wavemill_interpreter::{Interpreter, Tier};
use wavemill_ir::{Block, Uni, verify};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Encoding, FieldId, Op};
use wavemill_lift::gcn::registers;
use wavemill_lift::gcn::{Context, MODE_KEY, lift_block, reads_exceptions};
use wavemill_machine::{
    BlockSource, FaultCause, Grid, GuestMemory, Registers, RunError, RunOptions, WaveInit, WaveSnapshot, run,
};

/// Guest address of the first instruction.
pub(crate) const CODE: u64 = 0x4000;
/// MODE of compute kernels: nearest even, denormals kept, DX10_CLAMP, IEEE.
pub(crate) const MODE: u32 = 0x3f0;
/// `s_trap 2`: how programs end, because the fault report has the registers.
const S_TRAP_2: u32 = 0xbf92_0002;
/// The number of that trap.
const ENDED: u8 = 2;

/// The words of an instruction with these field values; fields that are not named are zero.
///
/// # Panics
/// If the target has no such form, or the encoding no such field.
pub(crate) fn words_of(target: Target, op: Op, encoding: Encoding, fields: &[(FieldId, u32)]) -> Vec<u32> {
    let form = op.row().form(target, encoding).expect("the target has the form");
    let mut bits = form.value;
    for (id, value) in fields {
        let field = encoding.field(target, *id).expect("the encoding has the field");
        assert!(field.width >= 32 || *value < 1 << field.width, "{value:#x} does not fit {id:?}");
        bits |= u128::from(*value) << field.lo;
    }
    let words: Vec<u32> = (0..4).map(|n| (bits >> (32 * n)) as u32).collect();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let inst = wavemill_isa::gcn::decode(target, &bytes).expect("it decodes");
    assert_eq!(inst.op(), op);
    words[..inst.size() / 4].to_vec()
}

/// The words of an instruction in its home encoding.
pub(crate) fn home_words(target: Target, op: Op, fields: &[(FieldId, u32)]) -> Vec<u32> {
    let encoding = op.row().encodings(target).next().expect("the target has the instruction");
    words_of(target, op, encoding, fields)
}

/// Lifts the block at guest address `at` of a program that starts at [`CODE`], and checks that it is well formed.
pub(crate) fn lift_at(context: &Context, code: &[u32], at: u64) -> Block {
    let bytes: Vec<u8> = code.iter().flat_map(|w| w.to_le_bytes()).collect();
    let block = lift_block(context, at, &mut |pc, into| {
        let rest = pc.checked_sub(CODE).and_then(|offset| bytes.get(offset as usize..)).unwrap_or_default();
        let n = rest.len().min(16);
        into[..n].copy_from_slice(&rest[..n]);
        n
    });
    if let Err(error) = verify(&block) {
        panic!("{error}\n{block}");
    }
    block
}

/// Lifts the first block of a program under [`MODE`].
pub(crate) fn lift(target: Target, code: &[u32]) -> Block {
    lift_at(&Context::new(target, MODE, false), code, CODE)
}

/// One wave and its surroundings before it runs.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) target: Target,
    pub(crate) mode: u32,
    /// Whether registers are protected by ECC.
    pub(crate) sramecc: bool,
    pub(crate) registers: RegisterCounts,
    /// Bytes of LDS.
    pub(crate) lds_size: u32,
    /// Allocation granule of LDS in bytes; 0 means no more than `lds_size`.
    pub(crate) lds_granule: u32,
    /// Bytes of private memory of a lane. The wave's scratch allocation is the last buffer, and
    /// FLAT_SCRATCH points to it.
    pub(crate) scratch_size: u32,
    /// Contents of guest buffers.
    pub(crate) buffers: Vec<Vec<u8>>,
}

/// The state that a wave leaves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) wave: Wave,
    pub(crate) buffers: Vec<Vec<u8>>,
}

/// The registers of a wave.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wave {
    /// Scalar registers by their operand codes.
    pub(crate) scalars: Vec<u32>,
    pub(crate) scc: bool,
    pub(crate) vgprs: Vec<[u32; 64]>,
    pub(crate) accs: Vec<[u32; 64]>,
    pub(crate) mode: u32,
}

impl Wave {
    fn of(snapshot: &WaveSnapshot) -> Wave {
        let [vgprs, accs] = snapshot.rows.clone();
        Wave {
            scalars: (0..128).map(|code| snapshot.cell(registers::scalar(code))).collect(),
            scc: snapshot.cell(registers::SCC) != 0,
            vgprs,
            accs,
            mode: snapshot.context,
        }
    }

    fn pair(&self, code: usize) -> u64 {
        u64::from(self.scalars[code]) | u64::from(self.scalars[code + 1]) << 32
    }

    pub(crate) fn exec(&self) -> u64 {
        self.pair(126)
    }

    pub(crate) fn vcc(&self) -> u64 {
        self.pair(106)
    }
}

/// How many registers a wave has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisterCounts {
    pub(crate) sgprs: u16,
    pub(crate) vgprs: u16,
    pub(crate) accs: u16,
}

impl RegisterCounts {
    pub(crate) const ALL_SGPRS: u16 = registers::MAX_SGPRS;

    fn layout(self) -> wavemill_machine::RegisterCounts {
        wavemill_machine::RegisterCounts {
            cells: registers::CELLS,
            absent: (Uni(self.sgprs.min(registers::FLAT_SCRATCH.0)), registers::FLAT_SCRATCH),
            private_base: wavemill_machine::CellPair::new(registers::FLAT_SCRATCH),
            rows: [self.vgprs, self.accs],
        }
    }
}

struct Program<'a> {
    target: Target,
    sramecc: bool,
    code: &'a [u32],
}

impl BlockSource for Program<'_> {
    fn block(&self, pc: u64, mode: u32) -> Arc<Block> {
        let context = Context::new(self.target, mode, self.sramecc);
        Arc::new(lift_at(&context, self.code, pc))
    }

    fn context_key(&self) -> u32 {
        MODE_KEY
    }

    fn exceptions(&self) -> Option<Uni> {
        let bytes: Vec<u8> = self.code.iter().flat_map(|w| w.to_le_bytes()).collect();
        reads_exceptions(self.target, &bytes).then_some(registers::TRAPSTS)
    }
}

struct Init<'a> {
    set: &'a (dyn Fn(&mut Registers, &[u64]) + Sync),
    addresses: &'a [u64],
    scratch: Option<u64>,
    lds_allocated: u32,
}

impl WaveInit for Init<'_> {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        64
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
        let place = registers::Location::default();
        regs.set_uni(registers::LDS_ALLOC, place.lds_alloc(self.lds_allocated));
        if let Some(address) = self.scratch {
            regs.set_uni64(registers::FLAT_SCRATCH, address);
        }
        (self.set)(regs, self.addresses);
    }
}

impl Machine {
    /// A wave with 32 VGPRs and 8 AccVGPRs, no memory.
    pub(crate) fn new(target: Target) -> Machine {
        Machine {
            target,
            mode: MODE,
            sramecc: false,
            registers: RegisterCounts { sgprs: RegisterCounts::ALL_SGPRS, vgprs: 32, accs: 8 },
            lds_size: 0,
            lds_granule: 0,
            scratch_size: 0,
            buffers: Vec::new(),
        }
    }

    /// Runs the code from its first word to its end on every tier that the host has, checks that
    /// all agree, and returns the outcome. `init` sets the registers; it receives the guest
    /// addresses of the buffers.
    ///
    /// # Panics
    /// If the wave faults, or tiers disagree.
    pub(crate) fn run(&self, code: &[u32], init: impl Fn(&mut Registers, &[u64]) + Sync) -> Outcome {
        match self.try_run(code, init) {
            Ok(outcome) => outcome,
            Err(cause) => panic!("the wave faulted: {cause:?}\n{}", lift(self.target, code)),
        }
    }

    /// As [`Machine::run`], but a fault is returned.
    pub(crate) fn try_run(
        &self,
        code: &[u32],
        init: impl Fn(&mut Registers, &[u64]) + Sync,
    ) -> Result<Outcome, FaultCause> {
        let tiers = Tier::ALL.into_iter().filter(|tier| tier.is_available());
        let mut results = tiers.map(|tier| (tier, self.run_on(tier, code, &init)));
        let (_, first) = results.next().expect("the portable tier is always there");
        for (tier, other) in results {
            assert!(first == other, "{tier:?} differs from the portable tier: {first:?} and {other:?}");
        }
        first
    }

    /// As [`Machine::try_run`], on one tier.
    pub(crate) fn run_on(
        &self,
        tier: Tier,
        code: &[u32],
        init: &(dyn Fn(&mut Registers, &[u64]) + Sync),
    ) -> Result<Outcome, FaultCause> {
        let mut code = code.to_vec();
        code.push(S_TRAP_2);
        let memory = GuestMemory::default();
        let mut addresses = Vec::new();
        for (n, bytes) in self.buffers.iter().enumerate() {
            let address = memory.allocate(&format!("buffer {n}"), bytes.len() as u64, 256).expect("memory");
            memory.write(address, bytes).expect("the buffer is there");
            addresses.push(address);
        }
        let scratch = (self.scratch_size > 0)
            .then(|| memory.allocate("scratch", 64 * u64::from(self.scratch_size), 256).expect("memory"));
        let map = memory.snapshot();
        let grid = Grid {
            map: &map,
            source: &Program { target: self.target, sramecc: self.sramecc, code: &code },
            init: &Init {
                set: init,
                addresses: &addresses,
                scratch,
                lds_allocated: self.lds_size.next_multiple_of(self.lds_granule.max(1)),
            },
            workgroups: [1, 1, 1],
            waves_per_group: 1,
            registers: self.registers.layout(),
            lds_size: self.lds_size,
            lds_granule: self.lds_granule,
            scratch_size: self.scratch_size,
            entry: CODE,
            context: self.mode,
            resident: 1,
        };
        let options = RunOptions {
            threads: NonZeroUsize::new(1),
            max_instructions: Some(1 << 20),
            deterministic: true,
            ..RunOptions::default()
        };
        match run(&grid, &Interpreter::on(tier), &options) {
            Err(RunError::Fault(fault)) if fault.cause == FaultCause::Trap(ENDED) => {
                let read = |(address, bytes): (&u64, &Vec<u8>)| {
                    let mut now = vec![0; bytes.len()];
                    memory.read(*address, &mut now).expect("the buffer is there");
                    now
                };
                let buffers = addresses.iter().zip(&self.buffers).map(read).collect();
                Ok(Outcome { wave: Wave::of(&fault.snapshot), buffers })
            }
            Err(RunError::Fault(fault)) => Err(fault.cause),
            other => panic!("the program did not end in its trap: {other:?}"),
        }
    }
}

impl Outcome {
    /// An SGPR or another scalar cell.
    pub(crate) fn sgpr(&self, n: usize) -> u32 {
        self.wave.scalars[n]
    }

    /// A pair of scalar cells.
    pub(crate) fn sgpr64(&self, n: usize) -> u64 {
        u64::from(self.sgpr(n)) | u64::from(self.sgpr(n + 1)) << 32
    }

    /// The dwords of a buffer.
    pub(crate) fn dwords(&self, buffer: usize) -> Vec<u32> {
        let dword = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        self.buffers[buffer].chunks(4).map(dword).collect()
    }
}

/// 32-bit integers where operations change their behaviour.
pub(crate) const EDGES: [u32; 16] = [
    0,
    1,
    2,
    31,
    32,
    33,
    0x7f,
    0x80,
    0xffff,
    0x8000,
    0x0020_0004,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xdead_beef,
    0xffff_ffff,
];

/// 64-bit integers where operations change their behaviour.
pub(crate) const EDGES64: [u64; 12] = [
    0,
    1,
    63,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x00ff_00f0_0001_8421,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xdead_beef_0bad_f00d,
    0xffff_ffff_0000_0000,
    0xffff_ffff_ffff_ffff,
];
