//! Counts of what waves execute, where the scheduler has checked the grid for stalls meanwhile.

use std::num::NonZeroUsize;

use wavemill::observe::{Access, MemoryKind};
use wavemill::{Arg, Launch, RunOptions};
use wavemill_kernels::Target;

use crate::assembled::Source;

const GROUPS: u32 = 3;
/// So many that the grid is checked before they end.
const ROUNDS: u64 = 4_000_000;

/// Workgroup 1 computes and loads in each round, the others wait for it. Checks run its wave by
/// single instructions, which count like others.
#[test]
fn counts_are_complete_where_a_grid_is_checked_for_stalls() {
    let body = format!(
        "
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_mov_b32 v0, {last}
    s_mov_b32 m0, 0
    s_mov_b32 s6, {ROUNDS}
    s_waitcnt lgkmcnt(0)
    s_cmp_lg_u32 s2, 1
    s_cbranch_scc1 meet
again:
    s_load_dword s7, s[4:5], 0x0 glc
    s_waitcnt lgkmcnt(0)
    s_add_u32 s8, s8, s7
    s_sub_u32 s6, s6, 1
    s_cmp_lg_u32 s6, 0
    s_cbranch_scc1 again
meet:
    ds_gws_barrier v0 gds
    s_waitcnt lgkmcnt(0)",
        last = GROUPS - 1
    );
    let directives = ".amdhsa_system_sgpr_workgroup_id_x 1";
    let (device, module) = Source { body: &body, directives, functions: "" }.load(Target::Gfx906);
    let buffer = device.buffer("out", 256).expect("memory");
    let kernel = module.kernel("kernel").expect("the kernel is there");
    for threads in [1, 2] {
        for traffic in [false, true] {
            let options = RunOptions {
                threads: NonZeroUsize::new(threads),
                find_stalls: true,
                count_blocks: true,
                ..RunOptions::default()
            };
            let launch = Launch::new(&kernel).workgroups([GROUPS, 1, 1]).workgroup_size([64, 1, 1]);
            let launch = launch.arg(Arg::from(&buffer)).cooperative(true).traffic(traffic).options(options);
            let stats = launch.run().expect("the launch finishes");
            let case = format!("{threads} threads, traffic: {traffic}");
            assert!(!stats.run.stepped_counts.is_empty(), "{case}: the grid was not checked");
            // Ten instructions outside the loop, and six in it.
            let all = 10 * u64::from(GROUPS) + 6 * ROUNDS;
            assert_eq!(stats.run.instructions, all, "{case}");
            assert_eq!(stats.mix.expect("it is requested").total(), all, "{case}");
            assert_eq!(stats.fidelity.expect("it is requested").total(), all, "{case}");
            assert_eq!(stats.operations.expect("the interpreter runs it").guest, all, "{case}");
            let rows = stats.rows.expect("it is requested");
            let count = |name| rows.list().iter().find(|row| row.name == name).map(|row| row.count);
            for name in ["s_load_dword", "s_add_u32", "s_sub_u32"] {
                assert_eq!(count(name), Some(ROUNDS), "{case}: {name}");
            }
            assert_eq!(count("s_cbranch_scc1"), Some(ROUNDS + u64::from(GROUPS)), "{case}");
            assert_eq!(count("ds_gws_barrier"), Some(GROUPS.into()), "{case}");
            if let Some(traffic) = stats.traffic {
                let is_load = |kind, access| (kind, access) == (MemoryKind::Scalar, Access::Load);
                let loads = traffic.accesses.iter().find(|count| is_load(count.kind, count.access));
                let loads = loads.map(|count| (count.accesses, count.bytes));
                let groups = u64::from(GROUPS);
                assert_eq!(loads, Some((ROUNDS + groups, 4 * ROUNDS + 8 * groups)), "{case}");
            }
        }
    }
}
