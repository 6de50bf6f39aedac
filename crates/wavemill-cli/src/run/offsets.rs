//! A warning about kernels whose global ids begin at a wrong hidden argument.

use serde_json::json;
use wavemill::Kernel;

use super::job::Job;
use crate::message::{self, Kind};
use wavemill_object::printable::Printable;

/// Warns about each such kernel once.
pub(super) fn warn(job: &Job, kernels: &[Kernel]) {
    let mut names: Vec<&str> = Vec::new();
    for (launch, kernel) in job.launches.iter().zip(kernels) {
        if names.contains(&kernel.name()) {
            continue;
        }
        let Some(misread) = kernel.misread_global_offset(launch.options.launch.offset()) else { continue };
        let name = Printable(kernel.name());
        let dimension = misread.dimension;
        let reads = if misread.is_certain { "reads" } else { "may read" };
        let text = match misread.reads {
            None => format!(
                "`{name}` reads the number of workgroups in place of the global offset: get_global_id begins at 1, not at 0, in \
                 most grids\n  It was linked with libclc, which reads the offset where code objects before version 5 have it.\n  \
                 Compile it with -mcode-object-version=4, or run its source with `wavemill run kernel.cl`."
            ),
            Some(begin) => format!(
                "`{name}` {reads} the wrong part of the global offset: get_global_id({dimension}) begins at {begin}, not at {}\n  It was \
                 linked with libclc, which reads the offsets as three numbers of 32 bits, from the fifth byte on.\n  Link it with \
                 ROCm's device libraries (`wavemill run kernel.cl --rocm-path FOLDER` does that), or add the offset in the kernel.",
                launch.options.launch.offset()[dimension],
            ),
        };
        message::say_with(Kind::Warning, &text, &json!({ "kernel": kernel.name() }));
        names.push(kernel.name());
    }
}
