//! Counts of the instructions that a launch executed: their kinds, how exact their meanings are,
//! and their cost.

use std::collections::HashMap;
use std::sync::Arc;

use wavemill_interpreter::{OperationCost, Tier, operation_costs};
use wavemill_ir::Block;
use wavemill_isa::Target;
use wavemill_isa::cayman::{Format as ClauseFormat, Inst as ClauseInst};
use wavemill_isa::gcn::{Facet, Fidelity, Format, Inst};
use wavemill_lift::gcn::{Context, exactness};
use wavemill_machine::{BlockCount, MemoryMap, RunStats};

use super::rows::{RowCount, RowCounts, has_lanes};
use crate::code::Code;
use crate::guest::DeviceInner;

/// Guest instructions of a launch by kind.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Launch, RunOptions};
///
/// # let (kernel, args) = given::vector_add(256)?;
/// let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// let mix = stats.mix.ok_or("the options request it")?;
/// println!("{:.0} % vector ALU", 100.0 * mix.valu as f64 / mix.total() as f64);
/// // Four waves load a and b, and store c.
/// assert_eq!(mix.vmem, 4 * 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InstructionMix {
    /// Vector ALU, matrix instructions included.
    pub valu: u64,
    /// Scalar ALU.
    pub salu: u64,
    /// Scalar memory.
    pub smem: u64,
    /// Vector memory: global, flat, scratch, buffers, images.
    pub vmem: u64,
    /// Local data share and lane exchange through it.
    pub lds: u64,
    /// Branches, waits, barriers, no-ops.
    pub control: u64,
}

impl InstructionMix {
    /// All instructions.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.valu + self.salu + self.smem + self.vmem + self.lds + self.control
    }

    fn slot(&mut self, format: Format) -> &mut u64 {
        match format {
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => &mut self.salu,
            Format::Smem => &mut self.smem,
            Format::Sopp => &mut self.control,
            Format::Ds => &mut self.lds,
            Format::Mubuf
            | Format::Mtbuf
            | Format::Mimg
            | Format::Flat
            | Format::Global
            | Format::Scratch => &mut self.vmem,
            _ => &mut self.valu,
        }
    }

    /// The kind of a word of a program with clauses. Each slot of a group counts.
    fn slot_of_clauses(&mut self, word: &ClauseInst) -> &mut u64 {
        match word.format() {
            ClauseFormat::Lds => &mut self.lds,
            format if is_slot(format) => &mut self.valu,
            format if is_control(format) => &mut self.control,
            _ => &mut self.vmem,
        }
    }
}

/// Guest instructions of a launch by what runs them in an engine that makes machine code.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Launch, RunOptions};
/// use wavemill::launch::Engine;
///
/// # let (kernel, args) = given::vector_add(256)?;
/// # let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args).engine(Engine::Jit);
/// # let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// // `stats` of a launch with Engine::Jit and RunOptions::count_blocks; hosts without AVX-512 have none.
/// if let Some(counts) = &stats.machine_code {
///     println!("{:.1} % of the instructions have machine code", 100.0 * counts.share());
///     for (mnemonic, count) in &counts.others {
///         println!("    {mnemonic}: {count}");
///     }
///     assert_eq!(counts.others, [("s_endpgm", 4)]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MachineCodeCounts {
    /// All instructions.
    pub instructions: u64,
    /// Those that machine code does without a call of the interpreter's handlers.
    pub compiled: u64,
    /// The others by mnemonic, most frequent first.
    pub others: Vec<(&'static str, u64)>,
}

impl MachineCodeCounts {
    /// The share of the instructions that has machine code, from 0 to 1; 1 if there were no
    /// instructions.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.instructions == 0 { 1.0 } else { self.compiled as f64 / self.instructions as f64 }
    }
}

/// Whether words of a format are slots of ALU groups.
fn is_slot(format: ClauseFormat) -> bool {
    use ClauseFormat::{Lds, Op2, Op2ExecuteMask, Op2Mova, Op3};
    matches!(format, Lds | Op2 | Op2Mova | Op2ExecuteMask | Op3)
}

/// Whether words of a format only control the flow.
fn is_control(format: ClauseFormat) -> bool {
    use ClauseFormat::{Cf, CfAlu, CfAluExtended, Gws};
    matches!(format, Cf | CfAlu | CfAluExtended | Gws)
}

/// Guest instructions of a launch by how exact their meanings are ([`Fidelity`]).
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Launch, RunOptions};
/// # let (kernel, args) = given::vector_add(256)?;
/// # let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// # let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// // `stats` of a launch with RunOptions::count_blocks.
/// let fidelity = stats.fidelity.ok_or("the options request it")?;
/// println!("{} of {} instructions are exact", fidelity.exact, fidelity.total());
/// for one in &fidelity.inexact {
///     println!("{}: {:?}, {} times", one.mnemonic, one.fidelity, one.count);
/// }
/// assert_eq!(fidelity.total(), stats.run.instructions);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FidelityCounts {
    /// All bits, except those of facets, are fixed by a cited text or an outside oracle.
    pub exact: u64,
    /// Correctly rounded where the manual gives an error bound or no accuracy.
    pub rounded: u64,
    /// A documented choice where the manual is silent or contradicts itself about the whole meaning.
    pub modelled: u64,
    /// Without a meaning. These end a launch, so a launch that succeeds has none.
    pub unsupported: u64,
    /// The instructions that are not exact, most frequent first.
    pub inexact: Vec<InexactCount>,
    /// The facets of the executed instructions, most frequent first. An instruction with several
    /// facets counts for each.
    pub facets: Vec<FacetCount>,
}

/// How often instructions with a facet ran.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Launch, RunOptions};
/// # let (kernel, args) = given::vector_add(256)?;
/// # let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// # let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// // `stats` of a launch with RunOptions::count_blocks: what is open about its instructions.
/// let fidelity = stats.fidelity.ok_or("the options request it")?;
/// for facet in &fidelity.facets {
///     println!("{}: {} times", facet.facet.name, facet.count);
///     for (mnemonic, count) in &facet.instructions {
///         println!("    {mnemonic}: {count}");
///     }
/// }
/// # for facet in &fidelity.facets {
/// #     assert_eq!(facet.count, facet.instructions.iter().map(|(_, count)| count).sum::<u64>());
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FacetCount {
    /// The facet.
    pub facet: &'static Facet,
    /// How often waves ran instructions that have it.
    pub count: u64,
    /// These instructions, most frequent first.
    pub instructions: Vec<(&'static str, u64)>,
}

/// How often an instruction without an exact meaning ran.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Launch, RunOptions};
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "v_rcp_f32 v1, 2.0\nv_rcp_f32 v1, 4.0\ns_endpgm")?;
/// # let stats = Launch::new(&kernel).options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// // `stats` of a kernel that runs `v_rcp_f32` twice. The manual only bounds its error.
/// let fidelity = stats.fidelity.ok_or("the options request it")?;
/// let inexact = &fidelity.inexact[0];
/// assert_eq!((inexact.mnemonic, inexact.count), ("v_rcp_f32", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InexactCount {
    /// The mnemonic.
    pub mnemonic: &'static str,
    /// How exact it is.
    pub fidelity: Fidelity,
    /// Its facets that concern the executed instances. An instruction appears once for each set of
    /// facets.
    pub facets: Vec<&'static Facet>,
    /// How often waves ran it.
    pub count: u64,
}

impl FidelityCounts {
    /// All instructions.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.exact + self.rounded + self.modelled + self.unsupported
    }

    /// The instructions of a level.
    #[must_use]
    pub fn of(&self, fidelity: Fidelity) -> u64 {
        match fidelity {
            Fidelity::Exact => self.exact,
            Fidelity::Rounded => self.rounded,
            Fidelity::Modelled => self.modelled,
            Fidelity::Unsupported => self.unsupported,
        }
    }

    fn slot(&mut self, fidelity: Fidelity) -> &mut u64 {
        match fidelity {
            Fidelity::Exact => &mut self.exact,
            Fidelity::Rounded => &mut self.rounded,
            Fidelity::Modelled => &mut self.modelled,
            Fidelity::Unsupported => &mut self.unsupported,
        }
    }
}

/// Cost of the guest instructions of a launch in the interpreter.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Launch, RunOptions};
/// # let (kernel, args) = given::vector_add(256)?;
/// # let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// # let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// // `stats` of a launch with RunOptions::count_blocks, on the interpreter.
/// let operations = stats.operations.ok_or("the interpreter ran it, and the options request it")?;
/// assert_eq!(operations.guest, stats.run.instructions);
/// println!("{:.2} host operations for each instruction", operations.host_per_guest());
/// for (mnemonic, count) in &operations.opaque_by_instruction {
///     println!("lane by lane: {mnemonic}, {count} times");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperationCounts {
    /// Guest instructions.
    pub guest: u64,
    /// Operations of the wave IR from these instructions, including ends of blocks.
    pub ir: u64,
    /// Operations of the interpreter: the IR operations, and the steps around them that modifiers
    /// require.
    pub host: u64,
    /// IR operations that run lane by lane in scalar code, as [`OperationCost::opaque`] marks them.
    pub opaque: u64,
    /// Opaque operations by the instruction that they come from, most frequent first.
    pub opaque_by_instruction: Vec<(&'static str, u64)>,
    /// The groups of ALU slots among the guest instructions.
    pub groups: GroupCounts,
}

/// Groups of ALU slots that waves ran. There are none on targets without groups.
///
/// ```
/// use wavemill::{Arg, Device, Launch, Module, RunOptions};
///
/// # use wavemill_kernels::{Target, fixture};
/// # let object = fixture(Target::Cayman, "vector_add").ok_or("there is no vector_add")?;
/// # let device = Device::for_object(object)?;
/// # let kernel = Module::load(&device, object)?.kernel("vector_add")?;
/// # let [a, b, c] = [device.buffer("a", 4)?, device.buffer("b", 4)?, device.buffer("c", 4)?];
/// # let args = [Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(1u32)];
/// // A kernel of Cayman, whose ALU has groups of up to four slots.
/// let launch = Launch::new(&kernel).args(args);
/// let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// let groups = stats.operations.ok_or("the options request it")?.groups;
/// assert!((1.0..=4.0).contains(&groups.slots_per_group()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupCounts {
    /// Groups.
    pub groups: u64,
    /// Their slots.
    pub slots: u64,
    /// Operations of the wave IR from these groups.
    pub ir: u64,
}

impl GroupCounts {
    /// Slots of a group on average; 0 if there were no groups.
    #[must_use]
    pub fn slots_per_group(&self) -> f64 {
        ratio(self.slots, self.groups)
    }

    /// Operations of the IR for each slot; 0 if there were none.
    #[must_use]
    pub fn ir_per_slot(&self) -> f64 {
        ratio(self.ir, self.slots)
    }
}

impl OperationCounts {
    /// Operations of the IR for each guest instruction; 0 if there were none.
    #[must_use]
    pub fn ir_per_guest(&self) -> f64 {
        ratio(self.ir, self.guest)
    }

    /// Operations of the interpreter for each guest instruction; 0 if there were none.
    #[must_use]
    pub fn host_per_guest(&self) -> f64 {
        ratio(self.host, self.guest)
    }

    /// Share of the IR's operations that are opaque, 0 to 1.
    #[must_use]
    pub fn opaque_share(&self) -> f64 {
        ratio(self.opaque, self.ir)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// An instruction that a wave ran.
enum Executable {
    Gcn(Inst),
    /// The words of an instruction of a program with clauses: several for a group.
    Words(Vec<ClauseInst>),
}

impl Executable {
    fn at(code: &Code, map: &MemoryMap, pc: u64) -> Option<Executable> {
        let gcn = code.gcn(map, pc).map(Executable::Gcn);
        gcn.or_else(|| Some(Executable::Words(code.in_clause(map, pc)?.words())))
    }

    fn mnemonic(&self) -> Option<&'static str> {
        match self {
            Executable::Gcn(inst) => Some(inst.mnemonic()),
            Executable::Words(words) => words.first().map(|word| wavemill_asm::cayman::mnemonic(word.op())),
        }
    }
}

/// Everything that counts of blocks reveal about the instructions of a launch.
#[derive(Debug)]
pub(crate) struct Executed {
    pub rows: RowCounts,
    pub mix: InstructionMix,
    pub fidelity: FidelityCounts,
    /// Their cost, if the interpreter ran them.
    pub operations: Option<OperationCounts>,
    /// What has machine code, if the engine makes some.
    pub machine_code: Option<MachineCodeCounts>,
    /// Whether code reads floating-point exceptions.
    collects: bool,
    inexact: HashMap<(&'static str, Fidelity, Vec<&'static Facet>), u64>,
    facets: HashMap<&'static Facet, HashMap<&'static str, u64>>,
    opaque: HashMap<&'static str, u64>,
    without_code: HashMap<&'static str, u64>,
    by_row: HashMap<&'static str, RowCount>,
}

impl Executed {
    /// Empty counts. `interpreted` is whether to count the cost in the interpreter, `collects` whether
    /// code reads floating-point exceptions.
    fn new(target: Target, interpreted: bool, collects: bool) -> Self {
        Executed {
            collects,
            rows: RowCounts::new(target, Vec::new()),
            mix: InstructionMix::default(),
            fidelity: FidelityCounts::default(),
            operations: interpreted.then(OperationCounts::default),
            machine_code: None,
            without_code: HashMap::new(),
            inexact: HashMap::new(),
            facets: HashMap::new(),
            opaque: HashMap::new(),
            by_row: HashMap::new(),
        }
    }

    /// The instructions in the blocks that were entered. With `stepped`, the run executed only the
    /// first instruction of each block, as checks for stalls do anyway. `tier` is the tier of the interpreter, if it ran
    /// them; `has_code` says which instructions of a block have machine code, if the engine makes some.
    pub(crate) fn of(
        device: &DeviceInner,
        map: &MemoryMap,
        tier: Option<Tier>,
        has_code: &dyn Fn(&Arc<Block>) -> Option<Vec<bool>>,
        run: &RunStats,
        stepped: bool,
    ) -> Self {
        let mut all = Executed::new(device.target, tier.is_some(), device.code.reads_exceptions());
        let blocks = run.block_counts.iter().map(|count| (count, stepped));
        let steps = run.stepped_counts.iter().map(|count| (count, true));
        for (count, stepped) in blocks.chain(steps) {
            let mut block = device.code.block(map, count.pc, count.context);
            if stepped {
                block = Arc::new(block.first());
            }
            let costs = tier.map_or_else(Vec::new, |tier| operation_costs(&block, tier));
            let context = device.code.context(count.context);
            let instruction = |at| Executable::at(&device.code, map, at);
            all.add(&block, &costs, count, &context, instruction);
            if let Some(has_code) = has_code(&block).filter(|_| !stepped) {
                all.add_machine_code(&block, &has_code, count.entered, instruction);
            }
        }
        all.finish()
    }

    fn add(
        &mut self,
        block: &Block,
        costs: &[OperationCost],
        count: &BlockCount,
        context: &Context,
        instruction: impl Fn(u64) -> Option<Executable>,
    ) {
        let entered = count.entered;
        let mut groups = GroupCounts::default();
        for (number, at) in (0..).zip(&block.guest) {
            let lanes = count.lanes_at(number);
            match instruction(*at) {
                Some(Executable::Gcn(inst)) => self.instruction(context, &inst, entered, lanes),
                Some(Executable::Words(words)) => {
                    words.iter().for_each(|word| self.word(word, entered, lanes));
                    if words.first().is_some_and(|word| is_slot(word.format())) {
                        groups.groups += 1;
                        groups.slots += words.len() as u64;
                        groups.ir += block.insts.iter().filter(|op| op.guest == number).count() as u64;
                    }
                }
                None => {}
            }
        }
        let Some(operations) = &mut self.operations else { return };
        operations.guest += entered * block.guest.len() as u64;
        // The block's end is one more operation.
        operations.ir += entered * (costs.len() as u64 + 1);
        operations.host += entered;
        operations.groups.groups += entered * groups.groups;
        operations.groups.slots += entered * groups.slots;
        operations.groups.ir += entered * groups.ir;
        for (op, cost) in block.insts.iter().zip(costs) {
            operations.host += entered * u64::from(cost.host_operations);
            if cost.opaque {
                operations.opaque += entered;
                let inst = instruction(block.position(op.guest as usize));
                let name = inst.and_then(|inst| inst.mnemonic()).unwrap_or("?");
                *self.opaque.entry(name).or_default() += entered;
            }
        }
    }

    /// Adds the instructions of a block by whether they have machine code.
    fn add_machine_code(
        &mut self,
        block: &Block,
        has_code: &[bool],
        entered: u64,
        instruction: impl Fn(u64) -> Option<Executable>,
    ) {
        let counts = self.machine_code.get_or_insert_default();
        for (at, has_code) in block.guest.iter().zip(has_code) {
            counts.instructions += entered;
            if *has_code {
                counts.compiled += entered;
            } else {
                let name = instruction(*at).and_then(|inst| inst.mnemonic()).unwrap_or("?");
                *self.without_code.entry(name).or_default() += entered;
            }
        }
    }

    fn instruction(&mut self, context: &Context, inst: &Inst, entered: u64, lanes: u64) {
        let row = inst.row();
        let (fidelity, facets) = exactness(inst, context, self.collects);
        *self.mix.slot(row.format) += entered;
        let (name, mnemonic, format) = (row.name(), row.mnemonic(context.target), row.format.name());
        let is_vector = has_lanes(row.format);
        self.count(RowCount { name, mnemonic, format, is_vector, count: entered, lanes });
        self.level(inst.mnemonic(), fidelity, &facets, entered);
    }

    /// A word of a program with clauses.
    fn word(&mut self, word: &ClauseInst, entered: u64, lanes: u64) {
        let row = word.row();
        *self.mix.slot_of_clauses(word) += entered;
        let mnemonic = wavemill_asm::cayman::mnemonic(row.op);
        let is_vector = !is_control(row.format);
        let (name, format) = (row.name, row.format.name());
        self.count(RowCount { name, mnemonic, format, is_vector, count: entered, lanes });
        self.level(mnemonic, row.fidelity, row.facets, entered);
    }

    /// Adds executions of a row.
    fn count(&mut self, of: RowCount) {
        let known = self.by_row.entry(of.name).or_insert(RowCount { count: 0, lanes: 0, ..of });
        known.count += of.count;
        known.lanes += of.lanes;
    }

    /// Adds executions by their level and facets.
    fn level(&mut self, mnemonic: &'static str, fidelity: Fidelity, facets: &[&'static Facet], entered: u64) {
        *self.fidelity.slot(fidelity) += entered;
        if fidelity != Fidelity::Exact {
            *self.inexact.entry((mnemonic, fidelity, facets.to_vec())).or_default() += entered;
        }
        for facet in facets {
            *self.facets.entry(facet).or_default().entry(mnemonic).or_default() += entered;
        }
    }

    fn finish(mut self) -> Self {
        self.rows = RowCounts::new(self.rows.target(), self.by_row.drain().map(|(_, row)| row).collect());
        let inexact = self.inexact.drain().map(|((mnemonic, fidelity, facets), count)| InexactCount {
            mnemonic,
            fidelity,
            facets,
            count,
        });
        self.fidelity.inexact = inexact.filter(|one| one.count > 0).collect();
        let names = |one: &InexactCount| one.facets.iter().map(|facet| facet.name).collect::<Vec<_>>();
        self.fidelity.inexact.sort_by_key(|one| (std::cmp::Reverse(one.count), one.mnemonic, names(one)));
        let facets = self.facets.drain().map(|(facet, instructions)| {
            let mut instructions: Vec<_> = instructions.into_iter().filter(|(_, n)| *n > 0).collect();
            instructions.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
            FacetCount { facet, count: instructions.iter().map(|(_, n)| n).sum(), instructions }
        });
        self.fidelity.facets = facets.filter(|one| one.count > 0).collect();
        self.fidelity.facets.sort_by_key(|one| (std::cmp::Reverse(one.count), one.facet.name));
        if let Some(operations) = &mut self.operations {
            operations.opaque_by_instruction = by_count(&mut self.opaque);
        }
        if let Some(counts) = &mut self.machine_code {
            counts.others = by_count(&mut self.without_code);
        }
        self
    }
}

/// Names with how often they ran, most frequent first.
fn by_count(counts: &mut HashMap<&'static str, u64>) -> Vec<(&'static str, u64)> {
    let mut sorted: Vec<_> = counts.drain().filter(|(_, n)| *n > 0).collect();
    sorted.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    sorted
}

#[cfg(test)]
mod tests {
    use wavemill_ir::FaultKind;
    use wavemill_ir::Terminator;
    use wavemill_isa::gcn::decode;
    use wavemill_lift::gcn::{Context, MatrixRule, lift_block};

    use super::*;

    /// Counts for a program that is entered this often, on gfx906.
    fn counts(words: &[u32], entered: u64) -> Executed {
        counts_on(&Context::new(Target::Gfx906, 0x3f0, false), words, entered)
    }

    fn counts_on(context: &Context, words: &[u32], entered: u64) -> Executed {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let code = |at: u64| {
            let rest = &bytes[(at - 0x1000) as usize..];
            let mut out = [0; 16];
            let n = rest.len().min(16);
            out[..n].copy_from_slice(&rest[..n]);
            (out, n)
        };
        let block = lift_block(context, 0x1000, &mut |at, into| {
            let (bytes, n) = code(at);
            *into = bytes;
            n
        });
        assert_ne!(block.terminator, Terminator::Fault(FaultKind::Unsupported));
        let costs = operation_costs(&block, Tier::Portable);
        assert!(costs.iter().all(|cost| !cost.unsupported));
        let mut all = Executed::new(context.target, true, false);
        // All lanes are active, except in the last instruction.
        let last = block.guest.len() as u32 - 1;
        let lanes = vec![(0, 64 * entered), (last, 0)];
        let count = BlockCount { pc: block.start, context: context.mode, entered, lanes };
        all.add(&block, &costs, &count, context, |at| {
            let (bytes, n) = code(at);
            decode(context.target, &bytes[..n]).ok().map(Executable::Gcn)
        });
        all.finish()
    }

    #[test]
    fn levels_and_costs_are_counted() {
        // v_add_f32 v0, v1, v2; v_sqrt_f32 v0, v1; s_memtime s[0:1]; ds_swizzle_b32 v0, v1; s_endpgm
        let program = [0x0200_0501, 0x7e00_4f01, 0xc090_0000, 0, 0xd87a_0000, 0x0000_0001, 0xbf81_0000];
        let all = counts(&program, 3);
        let f = &all.fidelity;
        assert_eq!((f.exact, f.rounded, f.modelled, f.unsupported), (9, 3, 3, 0));
        assert_eq!((f.total(), all.mix.total()), (15, 15));
        let names: Vec<_> = f.inexact.iter().map(|one| (one.mnemonic, one.fidelity, one.count)).collect();
        assert_eq!(names, [("s_memtime", Fidelity::Modelled, 3), ("v_sqrt_f32", Fidelity::Rounded, 3)]);
        let facets: Vec<_> =
            f.facets.iter().map(|one| (one.facet.name, one.count, &one.instructions[..])).collect();
        let nan = [("v_add_f32", 3), ("v_sqrt_f32", 3)];
        let time = [("s_memtime", 3)];
        assert_eq!(facets, [("nan_choice", 6, &nan[..]), ("clocks", 3, &time[..])]);
        assert_eq!(f.inexact[0].facets, [f.facets[1].facet]);
        // Exceptions matter if they are enabled.
        let enabled = counts_on(&Context::new(Target::Gfx906, 0x3f0 | 1 << 12, false), &program, 3).fidelity;
        let facets: Vec<_> = enabled.facets.iter().map(|one| (one.facet.name, one.count)).collect();
        let wanted = [("exceptions", 6), ("nan_choice", 6), ("approximate_exceptions", 3), ("clocks", 3)];
        assert_eq!(facets, wanted);
        let o = all.operations.as_ref().expect("the interpreter runs it");
        assert_eq!((o.guest, o.ir, o.host, o.opaque), (15, 15, 15, 3));
        assert_eq!(o.opaque_by_instruction, [("ds_swizzle_b32", 3)]);
        assert_eq!((o.ir_per_guest(), o.opaque_share()), (1.0, 0.2));
        let rows: Vec<_> =
            all.rows.list().iter().map(|r| (r.name, r.format, r.count, r.mean_lanes())).collect();
        let wanted = [
            ("ds_swizzle_b32", Format::Ds, 3, Some(64.0)),
            ("s_endpgm", Format::Sopp, 3, None),
            ("s_memtime", Format::Smem, 3, None),
            ("v_add_f32", Format::Vop2, 3, Some(64.0)),
            ("v_sqrt_f32", Format::Vop1, 3, Some(64.0)),
        ];
        assert_eq!(rows, wanted.map(|(name, format, count, lanes)| (name, format.name(), count, lanes)));
    }

    #[test]
    fn modifiers_cost_steps_and_may_have_a_facet() {
        // v_add_f32_e64 v0, v1, v2 mul:2; v_mov_b32_dpp v0, v1 row_mirror; s_endpgm
        let program = [0xd101_0000, 0x0802_0501, 0x7e00_02fa, 0xff01_4001, 0xbf81_0000];
        let all = counts(&program, 1);
        assert_eq!((all.fidelity.exact, all.fidelity.modelled), (3, 0));
        let facets: Vec<_> = all.fidelity.facets.iter().map(|one| (one.facet.name, one.count)).collect();
        assert_eq!(facets, [("nan_choice", 1), ("output_modifier", 1)]);
        let o = all.operations.expect("the interpreter runs it");
        assert_eq!((o.ir, o.host), (3, 4));
        assert_eq!(o.opaque_by_instruction, [("v_mov_b32", 1)]);
    }

    /// Fast sums are not the chip's, except where the chip's cores add one product after the other,
    /// and those of integers.
    #[test]
    fn fast_sums_are_at_best_modelled() {
        // v_mfma_f32_32x32x8_f16, v_mfma_f32_32x32x2_f32 and v_mfma_i32_16x16x32_i8 on gfx942; s_endpgm
        let program =
            [0xd3cc_0000, 0x0402_2510, 0xd3c4_0000, 0x0402_0300, 0xd3d7_0000, 0x0402_0d08, 0xbf81_0000];
        let exact = Context::new(Target::Gfx942, 0x3f0, false);
        for (matrix, modelled) in [(MatrixRule::Exact, 0), (MatrixRule::Fast, 5)] {
            let fidelity = counts_on(&Context { matrix, ..exact }, &program, 5).fidelity;
            assert_eq!((fidelity.exact, fidelity.modelled), (20 - modelled, modelled), "{matrix:?}");
            let fast = fidelity.facets.iter().find(|one| one.facet.name == "fast_sums");
            let which: &[(&str, u64)] = fast.map_or(&[], |one| &one.instructions);
            let wanted = [("v_mfma_f32_32x32x8_f16", 5)];
            assert_eq!(which, &wanted[..usize::from(modelled > 0)], "{matrix:?}");
            let inexact = fidelity.inexact.iter().all(|one| one.facets.iter().any(|f| f.name == "fast_sums"));
            assert!(inexact, "{matrix:?}");
        }
    }

    /// What ran, not what its row can be.
    #[test]
    fn facets_concern_what_ran() {
        let mode = 0x3f0;
        for (target, words, mode, wanted) in [
            // v_lshl_add_u64 v[0:1], v[2:3], 2, v[4:5], and with the shift in v0
            (Target::Gfx942, [0xd208_0000, 0x0411_0502], mode, [0, 1, 0]),
            (Target::Gfx942, [0xd208_0000, 0x0412_0102], mode, [1, 1, 0]),
            // s_store_dword s0, s[2:3], 0x10, and with s7
            (Target::Gfx906, [0xc042_0001, 0x10], mode, [0, 1, 0]),
            (Target::Gfx906, [0xc040_0001, 7], mode, [1, 1, 0]),
            // s_rfe_b64 s[0:1] in the trap handler, and outside
            (Target::Gfx906, [0xbe80_1f00, 0xbf80_0000], mode | 1 << 31, [0, 1, 0]),
            (Target::Gfx906, [0xbe80_1f00, 0xbf80_0000], mode, [1, 0, 1]),
        ] {
            let program = [words[0], words[1], 0xbf81_0000];
            let found = counts_on(&Context::new(target, mode, false), &program, 1).fidelity;
            let inexact = found.inexact.iter().map(|one| one.count).sum();
            // The end of the program is exact; a jump is the end of its block.
            let exact = found.exact - u64::from(words[0] != 0xbe80_1f00);
            assert_eq!([found.facets.len() as u64, exact, inexact], wanted, "{words:x?} in {mode:#x}");
        }
    }

    #[test]
    fn nothing_has_no_ratios() {
        let none = OperationCounts::default();
        assert_eq!((none.ir_per_guest(), none.host_per_guest(), none.opaque_share()), (0.0, 0.0, 0.0));
    }
}
