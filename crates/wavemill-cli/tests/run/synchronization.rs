//! Kernels whose workgroups meet at a global wave sync barrier, and the global data share.

use crate::common::{Folder, err, expect, out, repository};

/// Kernels: `meet` counts workgroups, waits for all of them as HIP's `grid.sync()` does, and stores
/// the number that each sees. In `alone`, waves wait for more waves than there are. `share` appends
/// the numbers of its lanes to the global data share.
const SOURCE: &str = r#"
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.amdhsa_code_object_version 5
	.text
	.globl meet
	.p2align 8
	.type meet,@function
meet:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dword s8, s[0:1], 0x10
	v_mov_b32 v2, 0
	v_mov_b32 v3, 1
	v_mov_b32 v0, 0
	s_mov_b32 m0, 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32 v4, s8
	s_mov_b64 exec, 1
	s_lshl_b32 s9, s2, 2
	v_mov_b32 v5, s9
	s_mov_b32 s10, 3
again:
	global_atomic_add v2, v3, s[4:5]
	s_waitcnt vmcnt(0)
	ds_gws_barrier v4 offset:0 gds
	s_waitcnt lgkmcnt(0)
	global_load_dword v6, v2, s[4:5] GLC
	s_waitcnt vmcnt(0)
	v_add_u32 v0, v0, v6
	ds_gws_barrier v4 offset:0 gds
	s_sub_u32 s10, s10, 1
	s_cmp_lg_u32 s10, 0
	s_cbranch_scc1 again
	global_store_dword v5, v0, s[6:7]
	s_endpgm
.Lmeet:
	.size meet, .Lmeet-meet

	.globl alone
	.p2align 8
	.type alone,@function
alone:
	v_mov_b32 v2, 99
	s_mov_b32 m0, 0x10000
	s_nop 0
	ds_gws_init v2 offset:2 gds
	ds_gws_barrier v2 offset:2 gds
	s_endpgm
.Lalone:
	.size alone, .Lalone-alone
SHARE
	.section .rodata,"a",@progbits
KERNELS
	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--TARGET
amdhsa.kernels:
METADATA
.end_amdgpu_metadata
"#;

const SHARE: &str = r#"
	.globl share
	.p2align 8
	.type share,@function
share:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_mov_b32 m0, 0x01000100
	s_nop 0
	ds_append v1 offset:8 gds
	v_mov_b32 v2, 16
	ds_add_rtn_u32 v3, v2, v0 gds
	s_waitcnt lgkmcnt(0)
	v_lshlrev_b32 v4, 2, v0
	s_lshl_b32 s8, s2, 8
	v_add_u32 v4, s8, v4
	global_store_dword v4, v1, s[4:5]
	s_waitcnt vmcnt(0)
	ds_read_b32 v3, v2 gds
	s_waitcnt lgkmcnt(0)
	global_store_dword v4, v3, s[6:7]
	v_mov_b32 v5, BEYOND
	ds_read_b32 v6, v5 gds
	s_endpgm
.Lshare:
	.size share, .Lshare-share
"#;

fn folder(name: &str, target: &str, beyond: &str) -> Folder {
    let folder = Folder::new(&format!("sync_{name}_{target}"));
    let names: &[&str] = if target == "gfx906" { &["meet", "alone", "share"] } else { &["meet", "alone"] };
    let accum = if target == "gfx906" { "" } else { "		.amdhsa_accum_offset 8\n" };
    let kernels: String = names
        .iter()
        .map(|name| {
            format!(
                "	.amdhsa_kernel {name}\n		.amdhsa_kernarg_size 24\n		.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
                 		.amdhsa_next_free_vgpr 8\n		.amdhsa_next_free_sgpr 12\n{accum}	.end_amdhsa_kernel\n"
            )
        })
        .collect();
    let metadata: String = names
        .iter()
        .map(|name| {
            format!(
                "  - .name: {name}
    .symbol: {name}.kd
    .args:
      - {{ .name: a, .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer }}
      - {{ .name: b, .address_space: global, .offset: 8, .size: 8, .value_kind: global_buffer }}
      - {{ .name: n, .offset: 16, .size: 4, .value_kind: by_value }}
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 12
    .vgpr_count: 8
    .wavefront_size: 64
"
            )
        })
        .collect();
    let share = if target == "gfx906" { SHARE.replace("BEYOND", beyond) } else { String::new() };
    let cache = if matches!(target, "gfx942" | "gfx950") { "sc1" } else { "glc" };
    let source = SOURCE.replace("TARGET", target).replace("GLC", cache).replace("SHARE", &share);
    folder.file("k.s", source.replace("KERNELS", &kernels).replace("METADATA", &metadata));
    expect(&folder, 0, &["asm", "k.s", "-o", "k.co"]);
    folder
}

#[test]
fn workgroups_of_a_cooperative_launch_meet() {
    for target in ["gfx906", "gfx90a", "gfx942", "gfx950"] {
        let folder = folder("meet", target, "0");
        for engine in ["interpreter", "reference"] {
            for threads in ["1", "4"] {
                // Each sees all 90 in each of three rounds: 90 + 180 + 270.
                let line =
                    ["run", "k.co", "--kernel", "meet", "--grid", "90", "--block", "64", "--cooperative"];
                let more = ["a:u32[1]", "b:u32[90]", "n:u32=89", "--expect", "b=540", "--expect", "a=270"];
                let how = ["--engine", engine, "--threads", threads];
                expect(&folder, 0, &[&line[..], &more, &how].concat());
            }
        }
    }
}

#[test]
fn waves_that_wait_for_more_waves_than_there_are() {
    for target in ["gfx906", "gfx942"] {
        let folder = folder("alone", target, "0");
        // Several workgroups wait in turns of one thread, or of two. Each sets the resource first.
        for (engine, grid, threads) in [
            ("interpreter", "1", "1"),
            ("reference", "1", "1"),
            ("interpreter", "3", "1"),
            ("interpreter", "3", "2"),
        ] {
            let line = ["run", "k.co", "--kernel", "alone", "--grid", grid, "--block", "64"];
            let how = ["--engine", engine, "--threads", threads];
            let arguments = ["a:u32[1]", "b:u32[1]", "n:u32=0"];
            let output = expect(&folder, 4, &[&line[..], &how, &arguments].concat());
            let message = err(&output);
            for part in [
                "the grid can never finish: its waves wait, and no wave can end the wait",
                "workgroup (0, 0, 0), wave 0: waits at the barrier of GWS resource 3 for 99 more waves\n",
                "ds_gws_barrier v2 offset:2 gds",
                "--cooperative",
            ] {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
    }
}

/// The wave number in M0 is 5, and no wave has the numbers before it.
#[test]
fn waves_that_wait_for_a_turn() {
    let folder = folder("turn", "gfx906", "0");
    let source = std::fs::read_to_string(folder.0.join("k.s")).unwrap();
    let source = source.replace("m0, 0x10000\n", "m0, 5\n").replace("ds_gws_init v2 offset:2 gds", "s_nop 0");
    folder.file(
        "k.s",
        source.replace("ds_gws_barrier v2 offset:2 gds", "ds_ordered_count v2, v2 offset:768 gds"),
    );
    expect(&folder, 0, &["asm", "k.s", "-o", "k.co"]);
    let line = ["run", "k.co", "--kernel", "alone", "--grid", "1", "--block", "64"];
    let message = err(&expect(&folder, 4, &[&line[..], &["a:u32[1]", "b:u32[1]", "n:u32=0"]].concat()));
    assert!(message.contains("waits for turn 5 of ordered count 0, which is at turn 0"), "{message}");
    assert!(message.contains("wave number in M0") && !message.contains("--cooperative"), "{message}");
}

#[test]
fn the_global_data_share() {
    for engine in ["interpreter", "reference"] {
        let run = |exit: i32, beyond: &str, name: &str| {
            let folder = folder(&format!("{name}_{engine}"), "gfx906", beyond);
            let line = ["run", "k.co", "--kernel", "share", "--grid", "3", "--block", "64", "--threads", "1"];
            let more = ["a:u32[3,64]", "b:u32[3,64]", "n:u32=0", "--engine", engine];
            let checks = ["--print", "a[:,5]", "--print", "b[:,9]"];
            expect(&folder, exit, &[&line[..], &more, &checks].concat())
        };
        // The counter before each wave of 64 lanes; three times the sum of 0 to 63.
        let text = out(&run(0, "0xfc", "inside"));
        assert_eq!(text, "a[:,5] = [0, 64, 128]\nb[:,9] = [2016, 4032, 6048]\n");
        let message = err(&run(4, "0x100", "beyond"));
        let wanted = "illegal load of 4 bytes at byte 512 of the global data share";
        assert!(message.contains(wanted), "{message}");
    }
}

/// The counter of `share` is word 66 of the global data share, and its sum word 68.
#[test]
fn contents_of_the_global_data_share() {
    let folder = folder("contents", "gfx906", "0");
    let line =
        ["run", "k.co", "--kernel", "share", "--grid", "3", "--block", "64", "a:u32[3,64]", "b:u32[3,64]"];
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut all: Vec<u32> = (0..69).map(|n| 1000 + n).collect();
    folder.file("before.bin", words(&all));
    let more = ["n:u32=0", "--gds", "share:u32[69]=@before.bin", "--out", "share=after.bin"];
    let print = ["--print", "share[65:]", "--print", "share[66:]:x", "--expect", "share[:66]=iota(1000)"];
    // 192 lanes; three times the sum of 0 to 63.
    let text = out(&expect(&folder, 0, &[&line[..], &more, &print].concat()));
    let lines = "share[65:] = [1065, 1258, 1067, 7116]\nshare[66:] = [0x000004ea, 0x0000042b, 0x00001bcc]\n";
    assert!(text.starts_with(lines), "{text}");
    (all[66], all[68]) = (1258, 7116);
    assert_eq!(std::fs::read(folder.0.join("after.bin")).unwrap(), words(&all));
    // Rounds continue from one another. What `--init` writes does the same.
    let more = ["n:u32=0", "--gds", "share:u32[69]=0", "--repeat", "2", "--print", "share[66:]"];
    let expected = "share[66:] = [384, 0, 12096]\n";
    assert_eq!(out(&expect(&folder, 0, &[&line[..], &more].concat())), expected);
    expect(&folder, 0, &[&line[..], &more, &["--init=share.toml"]].concat());
    assert_eq!(out(&expect(&folder, 0, &["run", "share.toml"])), expected);
    // A launch without the option continues with the contents, and leaves the buffer alone.
    folder.file(
        "four.toml",
        "object = 'k.co'\nargs = ['a:u32[3,64]', 'b:u32[3,64]', 'n:u32=0']\nprint = ['later[66:]']\n\
         [[launch]]\nkernel = 'share'\ngrid = 3\nblock = 64\ngds = 'share:u32[69]=1'\n\
         [[launch]]\nkernel = 'share'\ngrid = 1\nblock = 64\nprint = ['share[66:]', 'a[0,0]']\n\
         [[launch]]\nkernel = 'share'\ngrid = 1\nblock = 64\ngds = 'again=&share'\nprint = ['share[66:]', 'a[0,0]']\n\
         [[launch]]\nkernel = 'share'\ngrid = 1\nblock = 64\ngds = 'later:u32[69]=2'\n",
    );
    let text = out(&expect(&folder, 0, &["run", "four.toml"]));
    let lines = [
        "share[66:] = [193, 1, 6049]",
        "a[0,0] = 193",
        "share[66:] = [257, 1, 8065]",
        "a[0,0] = 193",
        "later[66:] = [66, 2, 2018]",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn contents_that_the_global_data_share_cannot_have() {
    let gfx906 = folder("no_contents", "gfx906", "0");
    let kernel = ["run", "k.co", "--kernel", "meet", "--grid", "1", "--block", "64"];
    let line = [&kernel[..], &["a:u32[1]", "b:u32[1]", "n:u32=0"]].concat();
    let refused = |folder: &Folder, gds: &str, message: &str| {
        let text = err(&expect(folder, 2, &[&line[..], &["--gds", gds]].concat()));
        assert!(text.contains(message), "{text}");
    };
    refused(
        &gfx906,
        "s:u32[16385]",
        "the global data share has 65,536 bytes, and 16,385 elements of u32 do not fit",
    );
    refused(&gfx906, "s:u32=4", "gds `s:u32=4`: expected a buffer, found a value");
    refused(&gfx906, "a:u32[4]", "there is already a buffer `a`");
    refused(&gfx906, "s:u32[", "--gds");
    let gfx942 = folder("no_share", "gfx942", "0");
    let message =
        "gds `s:u32[1]`: gfx942 has no global data share; cayman, gfx900, gfx906 and gfx908 have one";
    refused(&gfx942, "s:u32[1]", message);
}

/// HIP's `grid.sync()`, by global wave sync and by the structure in memory.
#[test]
fn grids_of_hip_synchronise() {
    for target in ["gfx906", "gfx90a", "gfx942", "gfx950"] {
        let folder = Folder::new(&format!("sync_hip_{target}"));
        let object = repository().join(format!("kernels/bin/{target}/hip/hip_grid_sync.co"));
        folder.file("k.co", std::fs::read(object).unwrap());
        let run = |exit: i32, kernel: &str, more: &[&str]| {
            let line = ["run", "k.co", "--kernel", kernel, "--grid", "9", "--block", "64"];
            let args = ["u32*[576]=iota", "u32*[576]", "u32=576", "u32=2", "--print", "arg0[:4]"];
            expect(&folder, exit, &[&line[..], &args, more].concat())
        };
        for kernel in ["hip_grid_steps", "hip_grid_steps_in_memory"] {
            // Number i becomes 3 (i + 288) + i, then 3 (3 i + 288 + i + 288) + i + 1 with i of the other half.
            let text = out(&run(0, kernel, &["--cooperative"]));
            assert_eq!(text, "arg0[:4] = [865, 878, 891, 904]\n", "{target} {kernel}");
        }
        let message = err(&run(4, "hip_grid_steps_in_memory", &[]));
        for part in [
            "illegal load of 4 bytes at 0x28: ",
            "  grid sync    the launch is not cooperative: it has no structure for `grid.sync()`\n",
            "If the kernel calls `grid.sync()`, pass --cooperative.",
        ] {
            assert!(message.contains(part), "{target}: {part}: {message}");
        }
    }
}
