//! Serialises statistics of launches.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use wavemill_interpreter::Tier;

use crate::observe::access_name;
use crate::stats::{
    AccessCount, Facet, FacetCount, Fidelity, FidelityCounts, FormatCount, InexactCount, InstructionMix,
    LINE, LaunchStats, LdsCount, MachineCodeCounts, OperationCounts, RowCount, RowCounts,
};

#[derive(Serialize)]
struct Mix {
    valu: u64,
    salu: u64,
    smem: u64,
    vmem: u64,
    lds: u64,
    control: u64,
}

impl Mix {
    fn of(mix: &InstructionMix) -> Self {
        let InstructionMix { valu, salu, smem, vmem, lds, control } = *mix;
        Mix { valu, salu, smem, vmem, lds, control }
    }
}

#[derive(Serialize)]
struct Inexact<'a> {
    mnemonic: &'a str,
    fidelity: &'static str,
    note: String,
    facets: Vec<&'static str>,
    count: u64,
}

#[derive(Serialize)]
struct FacetData<'a> {
    name: &'static str,
    kind: &'static str,
    count: u64,
    open: &'static str,
    settled_by: &'static str,
    instructions: Vec<Counted<'a>>,
}

#[derive(Serialize)]
struct FidelityData<'a> {
    /// Instructions by the name of their level.
    #[serde(flatten)]
    levels: BTreeMap<&'static str, u64>,
    inexact: Vec<Inexact<'a>>,
    facets: Vec<FacetData<'a>>,
}

#[derive(Serialize)]
struct Counted<'a> {
    mnemonic: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct Operations<'a> {
    guest: u64,
    ir: u64,
    host: u64,
    opaque: u64,
    ir_per_guest: f64,
    opaque_share: f64,
    opaque_by_instruction: Vec<Counted<'a>>,
}

#[derive(Serialize)]
struct MachineCode<'a> {
    instructions: u64,
    compiled: u64,
    share: f64,
    others: Vec<Counted<'a>>,
}

#[derive(Serialize)]
struct FormatData {
    format: &'static str,
    rows: usize,
    count: u64,
    mean_lanes: Option<f64>,
}

#[derive(Serialize)]
struct RowData {
    name: &'static str,
    mnemonic: &'static str,
    format: &'static str,
    count: u64,
    mean_lanes: Option<f64>,
}

#[derive(Serialize)]
struct Accesses {
    kind: &'static str,
    access: &'static str,
    accesses: u64,
    lanes: u64,
    bytes: u64,
    lines: u64,
    lines_per_access: f64,
    line_bytes: u64,
}

#[derive(Serialize)]
struct Lds {
    banks: u32,
    accesses: u64,
    conflicting: u64,
    cycles: u64,
    extra_cycles: u64,
    extra_per_access: f64,
}

#[derive(Serialize)]
struct OutOfRangeData {
    lds: u64,
    lds_granule: u64,
    buffer: u64,
    image: u64,
}

#[derive(Serialize)]
struct StatsData<'a> {
    instructions: u64,
    workgroups: u64,
    waves: u64,
    work_items: u64,
    threads: usize,
    engine: &'static str,
    tier: Option<&'static str>,
    lds_size: u32,
    lds_allocated: u32,
    out_of_range: OutOfRangeData,
    mix: Option<Mix>,
    fidelity: Option<FidelityData<'a>>,
    operations: Option<Operations<'a>>,
    machine_code: Option<MachineCode<'a>>,
    mean_lanes: Option<f64>,
    formats: Option<Vec<FormatData>>,
    rows: Option<Vec<RowData>>,
    memory: Option<Vec<Accesses>>,
    lds: Option<Lds>,
}

fn fidelity(counts: &FidelityCounts) -> FidelityData<'_> {
    let one = |one: &InexactCount| Inexact {
        mnemonic: one.mnemonic,
        fidelity: one.fidelity.name(),
        note: match one.fidelity {
            Fidelity::Modelled => one.facets.iter().map(|facet| facet.open).collect::<Vec<_>>().join("; "),
            _ => String::new(),
        },
        facets: one.facets.iter().map(|facet| facet.name).collect(),
        count: one.count,
    };
    let facet = |one: &'_ FacetCount| {
        let Facet { name, kind, open, settled_by } = *one.facet;
        FacetData {
            name,
            kind: kind.name(),
            count: one.count,
            open,
            settled_by,
            instructions: one.instructions.iter().map(counted).collect(),
        }
    };
    FidelityData {
        levels: Fidelity::ALL.iter().map(|level| (level.name(), counts.of(*level))).collect(),
        inexact: counts.inexact.iter().map(one).collect(),
        facets: counts.facets.iter().map(facet).collect(),
    }
}

fn counted<'a>((mnemonic, count): &(&'a str, u64)) -> Counted<'a> {
    Counted { mnemonic, count: *count }
}

fn machine_code(counts: &MachineCodeCounts) -> MachineCode<'_> {
    MachineCode {
        instructions: counts.instructions,
        compiled: counts.compiled,
        share: counts.share(),
        others: counts.others.iter().map(counted).collect(),
    }
}

fn operations(counts: &OperationCounts) -> Operations<'_> {
    Operations {
        guest: counts.guest,
        ir: counts.ir,
        host: counts.host,
        opaque: counts.opaque,
        ir_per_guest: counts.ir_per_guest(),
        opaque_share: counts.opaque_share(),
        opaque_by_instruction: counts.opaque_by_instruction.iter().map(counted).collect(),
    }
}

fn formats(counts: &RowCounts) -> Vec<FormatData> {
    let one = |format: &FormatCount| FormatData {
        format: format.format,
        rows: format.rows,
        count: format.count,
        mean_lanes: format.mean_lanes(),
    };
    counts.formats().iter().map(one).collect()
}

fn rows(counts: &RowCounts) -> Vec<RowData> {
    let one = |row: &RowCount| RowData {
        name: row.name,
        mnemonic: row.mnemonic,
        format: row.format,
        count: row.count,
        mean_lanes: row.mean_lanes(),
    };
    counts.list().iter().map(one).collect()
}

fn accesses(count: &AccessCount) -> Accesses {
    Accesses {
        kind: count.kind.name(),
        access: access_name(count.access),
        accesses: count.accesses,
        lanes: count.lanes,
        bytes: count.bytes,
        lines: count.lines,
        lines_per_access: count.lines_per_access(),
        line_bytes: LINE,
    }
}

fn lds(lds: &LdsCount) -> Lds {
    Lds {
        banks: lds.banks,
        accesses: lds.accesses,
        conflicting: lds.conflicting,
        cycles: lds.cycles,
        extra_cycles: lds.extra_cycles,
        extra_per_access: lds.extra_per_access(),
    }
}

impl Serialize for LaunchStats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = &self.run;
        StatsData {
            instructions: run.instructions,
            workgroups: run.workgroups,
            waves: run.waves,
            work_items: self.work_items,
            threads: run.threads,
            engine: self.engine.name(),
            tier: self.engine.tier().map(Tier::name),
            lds_size: self.lds_size,
            lds_allocated: self.lds_allocated,
            out_of_range: OutOfRangeData {
                lds: run.out_of_range.lds,
                lds_granule: run.out_of_range.lds_granule,
                buffer: run.out_of_range.buffer,
                image: run.out_of_range.image,
            },
            mix: self.mix.as_ref().map(Mix::of),
            fidelity: self.fidelity.as_ref().map(fidelity),
            operations: self.operations.as_ref().map(operations),
            machine_code: self.machine_code.as_ref().map(machine_code),
            mean_lanes: self.rows.as_ref().and_then(RowCounts::mean_lanes),
            formats: self.rows.as_ref().map(formats),
            rows: self.rows.as_ref().map(rows),
            memory: self.traffic.as_ref().map(|traffic| traffic.accesses.iter().map(accesses).collect()),
            lds: self.traffic.as_ref().map(|traffic| lds(&traffic.lds)),
        }
        .serialize(serializer)
    }
}
