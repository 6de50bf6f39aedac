//! Warnings about launches whose results may be wrong.

use serde_json::{Value, json};
use wavemill::launch::{LdsSize, OutOfRange};

use crate::text::{Grouped, Plural};

/// The warning about accesses to LDS beyond the bytes of the workgroup, with details for JSON.
/// `dynamic` is the size of `--dynamic-lds`.
pub(super) fn lds(counts: OutOfRange, size: LdsSize, dynamic: u32) -> Option<(String, Value)> {
    if counts.all_lds() == 0 {
        return None;
    }
    let granule = format!("reached the rest of the {} that the chip allocates", bytes(size.allocated));
    let fate = match (counts.lds, counts.lds_granule) {
        (1, 0) => "read 0 or was dropped".to_owned(),
        (_, 0) => "read 0 or were dropped".to_owned(),
        (0, _) => granule,
        (dropped, there) => {
            format!("({} read 0 or were dropped, {} {granule})", Grouped(dropped), Grouped(there))
        }
    };
    let in_arguments = size.asked - size.declared - dynamic;
    let cure = match (in_arguments, dynamic) {
        (1.., _) => format!("the {} of `local:` arguments may be too few", bytes(in_arguments)),
        (0, 1..) => format!("`--dynamic-lds {dynamic}` may be too small"),
        (0, 0) if size.declared == 0 => "pass `--dynamic-lds BYTES`".to_owned(),
        // The index may be wrong instead.
        (0, 0) => "pass `--dynamic-lds BYTES` if the kernel uses more LDS than it declares".to_owned(),
    };
    let all = counts.all_lds();
    let accesses = if all == 1 { "access" } else { "accesses" };
    let text = format!(
        "{} LDS {accesses} beyond the workgroup's {} {fate}; {cure}",
        Grouped(all),
        bytes(size.asked)
    );
    let parts = json!({
        "lds_size": size.asked,
        "lds_allocated": size.allocated,
        "lds_accesses_dropped": counts.lds,
        "lds_accesses_in_granule": counts.lds_granule,
    });
    Some((text, parts))
}

fn bytes(n: u32) -> Plural {
    Plural(n.into(), "byte")
}
