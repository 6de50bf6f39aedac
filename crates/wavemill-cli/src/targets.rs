//! `wavemill targets`: lists the values of `--target`.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Value, json};
use wavemill::device::{PRODUCTS, Product};
use wavemill_asm::InstructionSet;
use wavemill_isa::Target;

use crate::failure::Failure;
use crate::message::{Kind, with_kind};

/// The names of the features that can be set for a target.
fn features(target: Target) -> Vec<&'static str> {
    let Some(info) = Product::of(target).target_id().processor.info() else { return Vec::new() };
    let all = [("sramecc", info.sramecc), ("xnack", info.xnack)];
    all.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect()
}

/// Processors whose instructions are known, but that cannot run kernels here.
fn assembled_only() -> Vec<&'static str> {
    let runs = |name: &&str| Target::ALL.iter().any(|target| target.name() == *name);
    InstructionSet::processors().filter(|name| !runs(name)).collect()
}

/// The table of targets and products.
fn table() -> String {
    let width = PRODUCTS.iter().map(|product| product.name.len()).max().unwrap_or(0);
    let titles = PRODUCTS.iter().map(|product| product.title.len()).max().unwrap_or(0);
    let mut out =
        String::from("Targets and their products. A target alone means the first of its products.\n");
    for target in Target::ALL {
        let features = match &features(target)[..] {
            [] => String::new(),
            names => format!("  features: {}", names.join(", ")),
        };
        // Writing to a string does not fail.
        let _ = writeln!(out, "\n{target}{features}");
        for product in PRODUCTS.iter().filter(|product| product.target == target) {
            let _ = writeln!(
                out,
                "  {:width$}  {:titles$}  {:3} compute units, {:3} KiB of LDS",
                product.name,
                product.title,
                product.compute_units,
                product.lds() >> 10
            );
        }
    }
    let _ = writeln!(out, "\nOnly assembled and disassembled: {}.", assembled_only().join(", "));
    out += "\nFeatures follow the name, on (+) or off (-): gfx90a:sramecc+:xnack-, mi250x:xnack-. Full triples work, too:\n\
            amdgcn-amd-amdhsa--gfx90a:xnack-, amdgpu9.42-amd-amdhsa--.\n";
    out
}

/// The table as JSON.
fn list() -> Value {
    let product = |product: &Product| {
        json!({
            "name": product.name,
            "title": product.title,
            "compute_units": product.compute_units,
            "lds_bytes": product.lds(),
        })
    };
    let target = |target: Target| {
        let products = PRODUCTS.iter().filter(|product| product.target == target);
        json!({
            "name": target.name(),
            "features": features(target),
            "products": products.map(product).collect::<Vec<_>>(),
        })
    };
    with_kind(
        Kind::Targets,
        json!({ "targets": Target::ALL.map(target), "assembled_only": assembled_only() }),
    )
}

/// Options of `wavemill targets`.
#[derive(clap::Args, Debug)]
pub(crate) struct TargetsArgs {
    /// Write one JSON object instead of text (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Prints the table.
pub(crate) fn targets(args: &TargetsArgs) -> Result<(), Failure> {
    let text = if args.json { format!("{:#}\n", list()) } else { table() };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}
