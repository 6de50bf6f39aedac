//! `wavemill explain`: describes an instruction in detail.

mod subject;

use std::io::{BufWriter, Write};

use serde::Serialize;
use wavemill_asm::gcn::explain::{InstructionFacts, MatrixReport, explain};
use wavemill_isa::Target;
use wavemill_isa::gcn::MatrixLayoutError;

use crate::cayman::{self, Described};
use crate::failure::Failure;
use crate::input;
use crate::message::{Kind, with_kind};
use subject::Subject;

pub(crate) const HELP: &str = "\
Machine code is read as bytes in memory order (0203027e, or 02 03 02 7e), as words after 0x
(0x7e020302), or as llvm-mc prints it ([0x02,0x03,0x02,0x7e]). Without --target, it is decoded for
the newest target that has the instruction.

Examples:
  wavemill explain v_add_f32
  wavemill explain v_add_f32_e64 --target gfx942
  wavemill explain 0xd1cb8100 0x2809e501
  wavemill explain v_mfma_f32_32x32x8_f16 --layout
  wavemill explain v_mfma_f32_16x16x128_f8f6f4 cbsz:4 blgp:2 --layout=elements --json";

/// How layouts are shown.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum LayoutView {
    /// The elements in each register, lanes side by side (default)
    Lanes,
    /// The register and lane of each element, in the shape of the matrices
    Elements,
}

/// Options of `wavemill explain`.
#[derive(clap::Args, Debug)]
pub(crate) struct ExplainArgs {
    /// Machine code in hexadecimal, or a mnemonic such as v_add_f32 or v_add_f32_e64
    #[arg(required = true, value_name = "INSTRUCTION")]
    instruction: Vec<String>,
    /// The target or product of the instruction, such as gfx942 or mi210; by default, a mnemonic is shown for all targets
    #[arg(long, value_name = "TARGET", value_parser = input::parse_target_to_describe)]
    target: Option<Target>,
    /// Show which lanes and registers have the elements of a matrix instruction
    #[arg(long, value_enum, value_name = "VIEW", num_args = 0..=1, require_equals = true, default_missing_value = "lanes")]
    layout: Option<LayoutView>,
    /// Write JSON instead of text
    #[arg(long)]
    json: bool,
    /// Cayman: the kind of clause that machine code is of
    #[arg(
        long,
        value_enum,
        value_name = "KIND",
        default_value_t,
        hide_default_value = true,
        requires = "target"
    )]
    clause: cayman::Clause,
}

/// Explains an instruction.
pub(crate) fn explain_instruction(args: &ExplainArgs) -> Result<(), Failure> {
    if args.target == Some(Target::Cayman) {
        if args.layout.is_some() {
            return Err(Failure::usage("--layout is not for cayman"));
        }
        return explain_cayman(args);
    }
    let subject = subject::read(&args.instruction, args.target)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    match (args.layout, subject) {
        (Some(view), subject) => {
            let report = match subject {
                Subject::Instance(inst) => MatrixReport::of(&inst),
                Subject::Mnemonic { mnemonic, modifiers } => MatrixReport::with(mnemonic.op, &modifiers),
            };
            let report = report.map_err(no_layout)?;
            match (args.json, view) {
                (true, _) => write_json(&mut out, Kind::MatrixLayout, &report)?,
                (false, LayoutView::Lanes) => write!(out, "{}", report.by_lanes())?,
                (false, LayoutView::Elements) => write!(out, "{}", report.by_elements())?,
            }
        }
        (None, Subject::Instance(inst)) => {
            let explanation = explain(&inst);
            match args.json {
                true => write_json(&mut out, Kind::Explanation, &explanation)?,
                false => write!(out, "{explanation}")?,
            }
        }
        (None, Subject::Mnemonic { mnemonic, .. }) => {
            let facts = InstructionFacts::of_mnemonic(mnemonic, args.target);
            match args.json {
                true => write_json(&mut out, Kind::Instruction, &facts)?,
                false => write!(out, "{facts}")?,
            }
        }
    }
    out.flush()?;
    Ok(())
}

/// Explains an instruction or machine code of Cayman.
fn explain_cayman(args: &ExplainArgs) -> Result<(), Failure> {
    let described = cayman::explain(&args.instruction, args.clause)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    match (args.json, &described) {
        (false, Described::Instruction(facts)) => write!(out, "{facts}")?,
        (false, Described::Code(code)) => write!(out, "{code}")?,
        (true, Described::Instruction(facts)) => write_json(&mut out, Kind::CaymanInstruction, facts)?,
        (true, Described::Code(code)) => write_json(&mut out, Kind::CaymanExplanation, code)?,
    }
    Ok(out.flush()?)
}

/// Writes the common start of all JSON output, and a structure.
fn write_json(out: &mut impl Write, kind: Kind, value: &impl Serialize) -> Result<(), Failure> {
    let failed = |error: serde_json::Error| Failure::output("the standard output", &error.into());
    let value = serde_json::to_value(value).map_err(failed)?;
    serde_json::to_writer_pretty(&mut *out, &with_kind(kind, value)).map_err(failed)?;
    writeln!(out)?;
    Ok(())
}

/// The failure for an instruction without a layout.
fn no_layout(error: MatrixLayoutError) -> Failure {
    match error {
        MatrixLayoutError::NotMatrix(_) => Failure::usage(format!("--layout: {error}"))
            .help("Matrix instructions are v_mfma_*, v_smfmac_* and v_mfma_scale_*."),
        _ => Failure::input(error.to_string()),
    }
}
