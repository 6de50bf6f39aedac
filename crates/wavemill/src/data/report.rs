//! Serialises reports of launches that did not finish.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use wavemill_isa::Family;
use wavemill_lift::cayman;

use crate::fault::{
    ArgumentSegment, BufferRange, ClauseKind, ClausePlace, FaultCause, FaultReport, FaultSpace, ImageExtent,
    InlinedCall, Jump, Neighbour, Neighbours, SegmentAccess, SourceLocation, StackOverflow, StallReport,
    Unfinished, UnfinishedWave,
};
use crate::observe::access_name;
use crate::registers::WaveRegisters;
use crate::traps::Exceptions;

/// An address, or a register.
struct Hex(u64);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

/// A function and an offset in it.
#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    offset: u64,
}

fn function(function: &Option<(String, u64)>) -> Option<Function<'_>> {
    function.as_ref().map(|(name, offset)| Function { name, offset: *offset })
}

#[derive(Serialize)]
struct Source<'a> {
    file: &'a str,
    line: u32,
    column: u32,
}

fn source(at: &Option<SourceLocation>) -> Option<Source<'_>> {
    at.as_ref().map(|at| Source { file: &at.file, line: at.line, column: at.column })
}

/// The memory that an access went to. Anything other than global memory, private memory, a data
/// share, a buffer or an image is `other`.
fn space(space: FaultSpace) -> &'static str {
    match space {
        FaultSpace::Global => "global",
        FaultSpace::Scratch => "private",
        FaultSpace::Lds => "lds",
        FaultSpace::Gds => "gds",
        FaultSpace::Buffer(BufferRange::Bytes(_) | BufferRange::Unbound) => "buffer",
        FaultSpace::Buffer(BufferRange::Records(_)) => "buffer records",
        FaultSpace::Image(_) => "image",
        _ => "other",
    }
}

#[derive(Serialize)]
struct Near<'a> {
    name: &'a str,
    address: Hex,
    bytes: u64,
    freed: bool,
}

#[derive(Serialize)]
struct Memory<'a> {
    below: Option<Near<'a>>,
    holds: Option<Near<'a>>,
    above: Option<Near<'a>>,
}

impl<'a> Memory<'a> {
    fn of(all: &'a Neighbours) -> Self {
        fn near(one: Option<&Neighbour>) -> Option<Near<'_>> {
            one.map(|one| Near {
                name: &one.name,
                address: Hex(one.start),
                bytes: one.size,
                freed: one.freed,
            })
        }
        Memory {
            below: near(all.below.as_ref()),
            holds: near(all.holds.as_ref()),
            above: near(all.above.as_ref()),
        }
    }
}

/// A lane whose access was refused.
#[derive(Serialize)]
#[serde(untagged)]
enum Lane {
    Address {
        lane: u8,
        address: Hex,
    },
    Offset {
        lane: u8,
        offset: u64,
    },
    /// Enabled exceptions.
    Raised {
        lane: u8,
        exceptions: Vec<&'static str>,
    },
    /// Private memory and LDS: offsets before the start are negative.
    Signed {
        lane: u8,
        offset: i64,
    },
    /// The coordinate of an image that is outside.
    Coordinate {
        lane: u8,
        coordinate: i64,
    },
}

/// The image that an access left.
#[derive(Serialize)]
struct Image {
    coordinate: &'static str,
    end: u32,
    address: Hex,
    level: u32,
    size: [u32; 3],
    format: String,
}

impl Image {
    fn of(extent: &ImageExtent) -> Self {
        let ImageExtent { coordinate, end, base, level, size, format, .. } = *extent;
        let (coordinate, format) = (coordinate.name(), format.to_string());
        Image { coordinate, end, address: Hex(base), level, size, format }
    }
}

#[derive(Serialize)]
struct Branch<'a> {
    pc: Hex,
    function: Option<Function<'a>>,
    instruction: &'a Option<String>,
}

impl<'a> Branch<'a> {
    fn of(jump: &'a Jump) -> Self {
        Branch { pc: Hex(jump.pc), function: function(&jump.function), instruction: &jump.instruction }
    }
}

#[derive(Serialize)]
struct Inlined<'a> {
    function: &'a str,
    at: Option<Source<'a>>,
}

impl<'a> Inlined<'a> {
    fn of(call: &'a InlinedCall) -> Self {
        Inlined { function: &call.function, at: source(&call.at) }
    }
}

#[derive(Serialize)]
struct Arguments<'a> {
    bytes: u64,
    explicit: &'a Option<Vec<String>>,
    hidden: usize,
    before: bool,
    past: bool,
}

impl<'a> Arguments<'a> {
    fn of(segment: &'a ArgumentSegment) -> Self {
        Arguments {
            bytes: segment.bytes,
            explicit: &segment.explicit,
            hidden: segment.hidden,
            before: segment.access == SegmentAccess::Before,
            past: segment.access == SegmentAccess::Past,
        }
    }
}

#[derive(Serialize)]
struct Stack {
    bytes: u32,
    used: u32,
    declared: u32,
    larger: Option<u32>,
    dynamic: bool,
}

impl Stack {
    fn of(stack: &StackOverflow) -> Self {
        let StackOverflow { bytes, used, declared, larger, dynamic } = *stack;
        Stack { bytes, used, declared, larger, dynamic }
    }
}

/// An instruction around the fault.
#[derive(Serialize)]
struct Line<'a> {
    pc: Hex,
    text: &'a str,
    here: bool,
}

/// Where an instruction is in a program with clauses.
#[derive(Serialize)]
struct Clause<'a> {
    control: u64,
    control_text: &'a Option<String>,
    kind: Option<&'static str>,
    address: u64,
    number: u32,
    slot: Option<char>,
    constants: &'a Option<String>,
}

impl<'a> Clause<'a> {
    fn of(place: &'a ClausePlace) -> Self {
        let ClausePlace { control, control_text, kind, clause, number, slot, constants, absent_bank: _ } =
            place;
        let kind = kind.map(ClauseKind::name);
        Clause {
            control: *control,
            control_text,
            kind,
            address: *clause,
            number: *number,
            slot: *slot,
            constants,
        }
    }
}

/// The registers of a wave that are the same for all lanes.
#[derive(Serialize)]
#[serde(untagged)]
enum Registers {
    Gcn(Box<GcnRegisters>),
    Clauses(ClauseRegisters),
}

impl Registers {
    fn of(report: &FaultReport) -> Self {
        match report.family {
            Family::Gcn => Registers::Gcn(Box::new(GcnRegisters::of(report))),
            Family::Cayman => Registers::Clauses(ClauseRegisters::of(report)),
        }
    }
}

/// Those of a family with clauses.
#[derive(Serialize)]
struct ClauseRegisters {
    active: Hex,
    stack: u8,
    mode: Hex,
    /// State of control flow that is not zero.
    control: BTreeMap<&'static str, Hex>,
    gprs: usize,
    lds_bytes: u32,
}

impl ClauseRegisters {
    fn of(report: &FaultReport) -> Self {
        let (s, r) = (&report.fault.snapshot, &report.fault.resources);
        let control = cayman::registers::control_state(|cell| s.cell(cell)).into_iter();
        ClauseRegisters {
            active: Hex(s.active),
            stack: cayman::Position::depth(report.fault.pc),
            mode: Hex(s.context.into()),
            control: control.map(|(name, value)| (name, Hex(value))).collect(),
            gprs: s.rows[0].len() / 4,
            lds_bytes: r.lds,
        }
    }
}

/// Those of GCN and CDNA.
#[derive(Serialize)]
struct GcnRegisters {
    status: Hex,
    mode: Hex,
    trapsts: Hex,
    collects_exceptions: bool,
    exec: Hex,
    vcc: Hex,
    scc: bool,
    m0: Hex,
    sgprs: Vec<Hex>,
    vgprs: usize,
    accvgprs: usize,
    lds_bytes: u32,
    private_bytes: u32,
}

impl GcnRegisters {
    fn of(report: &FaultReport) -> Self {
        let (s, r) = (WaveRegisters(&report.fault.snapshot), &report.fault.resources);
        let used = s.sgprs().iter().rposition(|value| *value != 0).map_or(0, |last| last + 1);
        GcnRegisters {
            status: Hex(s.status().into()),
            mode: Hex(s.mode().into()),
            trapsts: Hex(s.trapsts().into()),
            collects_exceptions: report.collects_exceptions,
            exec: Hex(s.exec()),
            vcc: Hex(s.vcc()),
            scc: s.scc(),
            m0: Hex(s.m0().into()),
            sgprs: s.sgprs()[..used].iter().map(|value| Hex((*value).into())).collect(),
            vgprs: s.vgprs().len(),
            accvgprs: s.accvgprs().len(),
            lds_bytes: r.lds,
            private_bytes: r.private,
        }
    }
}

#[derive(Serialize)]
struct FaultData<'a> {
    what: String,
    unsupported: bool,
    kernel: &'a str,
    function: Option<Function<'a>>,
    pc: Hex,
    clause: Option<Clause<'a>>,
    within: Option<Hex>,
    target: Option<Hex>,
    jump: Option<Branch<'a>>,
    instruction: &'a Option<String>,
    source: Option<Source<'a>>,
    source_text: &'a Option<String>,
    inlined: Vec<Inlined<'a>>,
    workgroup: [u32; 3],
    wave: u32,
    waves: u32,
    access: Option<&'static str>,
    space: Option<&'static str>,
    bytes: Option<u32>,
    lanes: Vec<Lane>,
    image: Option<Image>,
    memory: Option<Memory<'a>>,
    arguments: Option<Arguments<'a>>,
    stack: Option<Stack>,
    needs_cooperative: bool,
    only_in_process: bool,
    code: Vec<Line<'a>>,
    registers: Registers,
}

impl Serialize for FaultReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fault = &self.fault;
        let (access, bytes, place) = match &fault.cause {
            FaultCause::Memory { access, size, space: place, .. } => {
                (Some(access_name(*access)), Some(*size), Some(space(*place)))
            }
            FaultCause::MisalignedAtomic { size, .. } => (Some("atomic"), Some(*size), None),
            _ => (None, None, None),
        };
        let target = match &fault.cause {
            FaultCause::BadJump { target } => Some(Hex(*target)),
            _ => None,
        };
        let image = match &fault.cause {
            FaultCause::Memory { space: FaultSpace::Image(extent), .. } => Some(Image::of(extent)),
            _ => None,
        };
        let lane = |lane: &crate::fault::FaultLane| match &fault.cause {
            FaultCause::Memory { space: FaultSpace::Scratch | FaultSpace::Lds, .. } => {
                Lane::Signed { lane: lane.lane, offset: lane.address as i64 }
            }
            FaultCause::Memory { space: FaultSpace::Buffer(_) | FaultSpace::Gds, .. } => {
                Lane::Offset { lane: lane.lane, offset: lane.address }
            }
            FaultCause::Memory { space: FaultSpace::Image(_), .. } => {
                Lane::Coordinate { lane: lane.lane, coordinate: lane.address as i64 }
            }
            _ => Lane::Address { lane: lane.lane, address: Hex(lane.address) },
        };
        let raised = |lane: &crate::fault::RaisedLane| Lane::Raised {
            lane: lane.lane,
            exceptions: Exceptions::from_bits(lane.raised).names().collect(),
        };
        FaultData {
            what: self.to_string().lines().next().unwrap_or_default().to_owned(),
            unsupported: self.is_unsupported(),
            kernel: &self.kernel,
            function: function(&self.function),
            pc: Hex(self.address),
            clause: self.clause.as_ref().map(Clause::of),
            within: self.within.map(Hex),
            target,
            jump: self.jump.as_ref().map(Branch::of),
            instruction: &self.instruction,
            source: source(&self.source),
            source_text: &self.source_text,
            inlined: self.inlined.iter().map(Inlined::of).collect(),
            workgroup: fault.workgroup,
            wave: fault.wave,
            waves: fault.resources.waves,
            access,
            space: place,
            bytes,
            lanes: self.refused().iter().map(lane).chain(self.raised().iter().map(raised)).collect(),
            image,
            memory: self.neighbours.as_ref().map(Memory::of),
            arguments: self.arguments.as_ref().map(Arguments::of),
            stack: self.stack.as_ref().map(Stack::of),
            needs_cooperative: self.needs_cooperative,
            only_in_process: self.only_in_process,
            code: self
                .window
                .iter()
                .map(|(pc, text, here)| Line { pc: Hex(*pc), text, here: *here })
                .collect(),
            registers: Registers::of(self),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct LookedAt<'a> {
    name: &'a str,
    byte: u64,
}

#[derive(Serialize)]
struct WaveData<'a> {
    workgroup: [u32; 3],
    wave: u32,
    pc: Hex,
    function: Option<Function<'a>>,
    instruction: &'a Option<String>,
    clause: Option<Clause<'a>>,
    source: Option<Source<'a>>,
    source_text: &'a Option<String>,
    state: String,
    polls: Option<Hex>,
    buffer: Option<LookedAt<'a>>,
}

impl Serialize for UnfinishedWave {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WaveData {
            workgroup: self.workgroup,
            wave: self.wave,
            pc: Hex(self.pc),
            function: function(&self.function),
            instruction: &self.instruction,
            clause: self.clause.as_ref().map(Clause::of),
            source: source(&self.source),
            source_text: &self.source_text,
            state: self.state(),
            polls: self.spins.as_ref().and_then(|spin| spin.address).map(Hex),
            buffer: self.looks_at.as_ref().map(|(name, byte)| LookedAt { name, byte: *byte }),
        }
        .serialize(serializer)
    }
}

/// A grid that did not finish, for any reason.
#[derive(Serialize)]
struct GridData<'a> {
    kernel: &'a str,
    waves: &'a [UnfinishedWave],
    workgroups_not_started: u64,
}

impl Serialize for StallReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let workgroups_not_started = self.not_started;
        GridData { kernel: &self.kernel, waves: &self.waves, workgroups_not_started }.serialize(serializer)
    }
}

impl Serialize for Unfinished {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let workgroups_not_started = self.not_started;
        GridData { kernel: &self.kernel, waves: &self.waves, workgroups_not_started }.serialize(serializer)
    }
}
