//! One wave that runs a program of Cayman.

use std::num::NonZeroUsize;
use std::sync::Arc;

use wavemill_interpreter::{Interpreter, Tier};
use wavemill_ir::{Block, FaultKind, Uni, verify};
use wavemill_isa::cayman::{FieldId, Inst, Op};
use wavemill_lift::Lift;
use wavemill_lift::cayman::{Cayman, registers};
use wavemill_machine::engine::Export;
use wavemill_machine::registers::CellPair;
use wavemill_machine::{
    BlockSource, FaultCause, Grid, GuestMemory, RegisterCounts, Registers, RunError, RunOptions, WaveInit,
    WaveSnapshot, run,
};

/// Guest address of the program.
pub(crate) const CODE: u64 = 0x1_0000;
/// Denormals are kept.
pub(crate) const MODE: u32 = 0xc;
/// Registers of the wave.
pub(crate) const GPRS: u16 = 16;

/// The program, with a stack of 16 entries.
pub(crate) const FAMILY: Cayman =
    Cayman { program: CODE, gprs: GPRS, temporaries: 0, kills: true, stack: 16 };

/// The machine code of a program in Wavemill's own text.
pub(crate) fn assembled(source: &str) -> Vec<u8> {
    let assembled = wavemill_asm::cayman::assemble(source.as_bytes(), &Default::default());
    assert!(assembled.reports.is_empty(), "{:?}\n{source}", assembled.reports);
    let [program] = &assembled.programs[..] else { panic!("one program in\n{source}") };
    program.bytes.clone()
}

/// Lifts the block, or the instruction, at a position of code at [`CODE`], and checks that it is
/// well formed.
pub(crate) fn lift(code: &[u8], position: u64, context: u32, single: bool) -> Block {
    let mut fetch = |at: u64, into: &mut [u8; 16]| {
        let rest = at.checked_sub(CODE).and_then(|offset| code.get(offset as usize..)).unwrap_or_default();
        let count = rest.len().min(16);
        into[..count].copy_from_slice(&rest[..count]);
        count
    };
    let family = FAMILY;
    let block = match single {
        true => family.instruction(position, context, &mut fetch),
        false => family.block(position, context, &mut fetch),
    };
    if let Err(error) = verify(&block) {
        panic!("{error}\n{}", block.text(family.names()));
    }
    block
}

/// The surroundings of the wave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// Contents of guest buffers. [`Machine::run`]'s closure receives their addresses.
    pub(crate) buffers: Vec<Vec<u32>>,
    /// Bytes of LDS.
    pub(crate) lds: u32,
    /// The context, if it is not [`MODE`].
    pub(crate) context: Option<u32>,
    /// Bytes of private memory of each lane.
    pub(crate) scratch: u32,
}

/// The end of the wave, and the state that it leaves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The position of the fault, its cause, and the registers; `None` if the wave ended.
    pub(crate) fault: Option<(u64, FaultCause, WaveSnapshot)>,
    pub(crate) buffers: Vec<Vec<u32>>,
    /// What the wave exported, if it ended.
    pub(crate) exports: Vec<Export>,
    /// Whether the wave waits for another one, and there is none.
    pub(crate) waits: bool,
}

impl Outcome {
    /// A channel of a register in all lanes, of a program that ended with `halt`.
    pub(crate) fn gpr(&self, register: usize, channel: usize) -> [u32; 64] {
        let (_, cause, snapshot) = self.fault.as_ref().expect("the program stopped");
        assert_eq!(*cause, FaultCause::Instruction(FaultKind::Halted));
        snapshot.rows[0][4 * register + channel]
    }

    /// The same, if all lanes have one value.
    pub(crate) fn value(&self, register: usize, channel: usize) -> u32 {
        let lanes = self.gpr(register, channel);
        assert!(lanes.iter().all(|lane| *lane == lanes[0]), "{lanes:x?}");
        lanes[0]
    }
}

/// HALT: a word whose fault shows the registers.
pub(crate) const HALT_WORD: u64 = 0x87c0_0000_0000_0000;

struct Program<'a> {
    code: &'a [u8],
    single: bool,
}

impl BlockSource for Program<'_> {
    fn block(&self, position: u64, context: u32) -> Arc<Block> {
        Arc::new(lift(self.code, position, context, self.single))
    }

    fn context_key(&self) -> u32 {
        FAMILY.context_key()
    }
}

struct Init<'a> {
    set: &'a (dyn Fn(&mut Registers, &[u64]) + Sync),
    addresses: &'a [u64],
    /// Address and bytes of the private memory of the wave.
    private: Option<(u64, u64)>,
}

impl WaveInit for Init<'_> {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        64
    }

    fn scratch(&self, _: u32) -> Option<(u64, u64)> {
        self.private
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, registers: &mut Registers) {
        // Resources without a bound, unless the test sets others.
        let buffers = (0..self::registers::BUFFERS).map(self::registers::buffer);
        let targets = (0..self::registers::TARGETS).map(self::registers::random_access_target);
        for resource in buffers.chain(targets) {
            registers.set_uni(self::registers::bytes_of(resource), u32::MAX);
        }
        if let Some((address, _)) = self.private {
            registers.set_uni64(self::registers::PRIVATE_MEMORY, address);
        }
        (self.set)(registers, self.addresses);
    }
}

impl Machine {
    /// Runs a program from its first word on every tier, in blocks and one instruction at a time:
    /// all must agree.
    pub(crate) fn run(&self, source: &str, set: impl Fn(&mut Registers, &[u64]) + Sync) -> Outcome {
        self.run_code(&assembled(source), set)
    }

    /// The same with machine code.
    pub(crate) fn run_code(&self, code: &[u8], set: impl Fn(&mut Registers, &[u64]) + Sync) -> Outcome {
        self.run_with_tables(code, |_| Vec::new(), set)
    }

    /// The same with more buffers, whose contents follow from the addresses of [`Machine::buffers`].
    pub(crate) fn run_with_tables(
        &self,
        code: &[u8],
        tables: impl Fn(&[u64]) -> Vec<Vec<u32>>,
        set: impl Fn(&mut Registers, &[u64]) + Sync,
    ) -> Outcome {
        let mut outcomes = Vec::new();
        for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
            for single in [false, true] {
                outcomes.push(self.run_on(tier, code, single, &tables, &set));
            }
        }
        for other in &outcomes {
            assert_eq!(*other, outcomes[0]);
        }
        outcomes.remove(0)
    }

    fn run_on(
        &self,
        tier: Tier,
        code: &[u8],
        single: bool,
        tables: &dyn Fn(&[u64]) -> Vec<Vec<u32>>,
        set: &(dyn Fn(&mut Registers, &[u64]) + Sync),
    ) -> Outcome {
        let memory = GuestMemory::default();
        let allocate = |name: String, dwords: &[u32]| {
            let size = 4 * dwords.len() as u64;
            let address = memory.allocate(&name, size, 256).expect("memory");
            let bytes: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
            memory.write(address, &bytes).expect("the buffer is there");
            address
        };
        let buffers = self.buffers.iter().enumerate();
        let mut addresses: Vec<u64> =
            buffers.map(|(number, dwords)| allocate(format!("buffer {number}"), dwords)).collect();
        for (number, dwords) in tables(&addresses).iter().enumerate() {
            addresses.push(allocate(format!("table {number}"), dwords));
        }
        let size = 64 * u64::from(self.scratch);
        let private =
            (size > 0).then(|| (memory.allocate("private memory", size, 256).expect("memory"), size));
        let map = memory.snapshot();
        let grid = Grid {
            map: &map,
            source: &Program { code, single },
            init: &Init { set, addresses: &addresses, private },
            workgroups: [1, 1, 1],
            waves_per_group: 1,
            registers: RegisterCounts {
                cells: registers::CELLS,
                private_base: CellPair::new(registers::PRIVATE_MEMORY),
                ..RegisterCounts::of_rows([4 * GPRS, registers::SECOND_ROWS])
            },
            lds_size: self.lds,
            lds_granule: 0,
            scratch_size: self.scratch,
            entry: CODE,
            context: self.context.unwrap_or(MODE),
            resident: 1,
        };
        let options = RunOptions {
            threads: NonZeroUsize::new(1),
            max_instructions: Some(1 << 16),
            deterministic: true,
            record_exports: true,
            find_stalls: true,
            ..RunOptions::default()
        };
        let mut waits = false;
        let (fault, exports) = match run(&grid, &Interpreter::on(tier), &options) {
            Err(RunError::Stalled { .. }) => {
                waits = true;
                (None, Vec::new())
            }
            Ok(stats) => (None, stats.exports.into_iter().flat_map(|wave| wave.exports).collect()),
            Err(RunError::Fault(fault)) => (Some((fault.pc, fault.cause, *fault.snapshot)), Vec::new()),
            Err(other) => panic!("{other:?}"),
        };
        let read = |(address, dwords): (&u64, &Vec<u32>)| {
            let mut bytes = vec![0; 4 * dwords.len()];
            memory.read(*address, &mut bytes).expect("the buffer is there");
            bytes.as_chunks::<4>().0.iter().map(|dword| u32::from_le_bytes(*dword)).collect()
        };
        let buffers = addresses.iter().zip(&self.buffers).map(read).collect();
        Outcome { fault, buffers, exports, waits }
    }
}

/// Sets a channel of a register in all lanes.
pub(crate) fn set_gpr(registers: &mut Registers, register: u16, channel: u16, lane: impl Fn(u32) -> u32) {
    let lanes = std::array::from_fn(|number| lane(number as u32));
    registers.set_row(self::registers::gpr(register, channel), &lanes);
}

/// Makes these lanes active.
pub(crate) fn set_active(registers: &mut Registers, lanes: u64) {
    registers.set_uni64(Uni::ACTIVE, lanes);
}

/// A program of one ALU clause with these groups, which then stops.
pub(crate) fn clause(windows: &str, groups: &str) -> String {
    format!("alu clause{windows}\nhalt\nclause: {groups}\n")
}

/// Machine code of one ALU clause of these words, which then stops.
pub(crate) fn clause_code(words: &[u64]) -> Vec<u8> {
    let count = words.len() as u32 - 1;
    let call = Inst::new(Op::Alu).with(FieldId::Addr, 2).and_then(|call| call.with(FieldId::Count, count));
    let call = call.expect("a clause of at most 128 words").word() as u64;
    [call, HALT_WORD].iter().chain(words).flat_map(|word| word.to_le_bytes()).collect()
}
