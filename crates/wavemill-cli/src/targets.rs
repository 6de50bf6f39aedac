//! `wavemill targets`: what `--target` can be.

use std::fmt::Write as _;
use std::io::Write as _;

use wavemill::{PRODUCTS, Product};
use wavemill_isa::Target;

use crate::failure::Failure;

/// The table of targets and products.
fn table() -> String {
    let width = PRODUCTS.iter().map(|product| product.name.len()).max().unwrap_or(0);
    let titles = PRODUCTS.iter().map(|product| product.title.len()).max().unwrap_or(0);
    let mut out = String::from(
        "Targets, and the products that have them. A target alone stands for the first of its products.\n",
    );
    for target in Target::ALL {
        let features = Product::of(target).target_id().processor.info().map_or(String::new(), |info| {
            let names = [("sramecc", info.sramecc), ("xnack", info.xnack)];
            let names: Vec<&str> = names.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
            if names.is_empty() { String::new() } else { format!("  features: {}", names.join(", ")) }
        });
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
    out += "\nFeatures go behind the name, on (+) or off (-): gfx90a:sramecc+:xnack-, mi250x:xnack-. Whole triples do too:\n\
            amdgcn-amd-amdhsa--gfx90a:xnack-, amdgpu9.42-amd-amdhsa--.\n";
    out
}

/// Prints the table.
pub(crate) fn targets() -> Result<(), Failure> {
    std::io::stdout().lock().write_all(table().as_bytes())?;
    Ok(())
}
