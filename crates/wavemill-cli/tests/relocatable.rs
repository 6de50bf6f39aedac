//! Relocatable files are linked in memory: they run, and are described.

use crate::common::{Folder, err, out, repository};

/// A kernel that calls a function and reads a variable, whose names are undefined unless `more`
/// defines them.
fn source(more: &str) -> String {
    format!(
        "
	.amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"
	.amdhsa_code_object_version 5
	.text
	.globl kernel
	.p2align 8
	.type kernel,@function
kernel:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, factor@rel32@lo+4
	s_addc_u32 s5, s5, factor@rel32@hi+12
	s_load_dword s8, s[4:5], 0x0
	s_getpc_b64 s[6:7]
	s_add_u32 s6, s6, multiply@rel32@lo+4
	s_addc_u32 s7, s7, multiply@rel32@hi+12
	s_waitcnt lgkmcnt(0)
	s_swappc_b64 s[30:31], s[6:7]
	v_lshlrev_b32_e32 v1, 2, v0
	global_store_dword v1, v2, s[2:3]
	s_endpgm
	.size kernel, .-kernel
{more}
	.rodata
	.amdhsa_kernel kernel
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 8
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 32
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: kernel
    .symbol: kernel.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - .name: out
        .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
	.end_amdgpu_metadata
"
    )
}

const DEFINED: &str = "
	.section .text.multiply,\"ax\"
	.p2align 8
	.type multiply,@function
multiply:
	v_mul_lo_u32 v2, v0, s8
	s_setpc_b64 s[30:31]
	.size multiply, .-multiply
	.section .data.factor,\"aw\"
	.p2align 2
	.type factor,@object
factor:
	.long 7
	.size factor, 4
";

#[test]
fn what_defines_all_its_symbols_runs() {
    let folder = Folder::new("relocatable_runs");
    folder.file("whole.s", source(DEFINED));
    let run = |args: &[&str]| {
        let output = folder.run(args);
        assert!(output.status.success(), "{args:?}: {}", err(&output));
        out(&output)
    };
    run(&["asm", "whole.s", "-o", "whole.o"]);
    run(&["asm", "whole.s", "-o", "whole.co"]);
    for file in ["whole.o", "whole.co"] {
        let line = ["run", file, "--grid", "1", "--block", "64", "out:u32[64]", "--print", "out[60:]"];
        assert_eq!(run(&line), "out[60:] = [420, 427, 434, 441]\n", "{file}");
    }
    // Both describe the same layout, which listings have, too.
    let report = run(&["info", "whole.o"]);
    assert!(report.starts_with("a relocatable file\n"), "{report}");
    let code = |report: &str| {
        let line = report.lines().find(|line| line.trim_start().starts_with("code  ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{report}"))
    };
    assert_eq!(code(&report), code(&run(&["info", "whole.co"])));
    let start = code(&report).rsplit_once("0x").map(|(_, digits)| digits.to_owned()).unwrap();
    let listing = run(&["dis", "--format", "listing", "whole.o"]);
    let line = listing.lines().find(|line| line.contains("s_load_dwordx2")).unwrap();
    assert!(line.trim_start().starts_with(&format!("{start:0>8}")), "{start}: {line}");
    let listing = run(&["dis", "--format", "objdump", "whole.o"]);
    let line = listing.lines().find(|line| line.contains("s_load_dwordx2")).unwrap();
    assert!(line.contains(&format!("// {start:0>12}: ")), "{start}: {line}");
    // The text of a relocatable file is still that of the file.
    let text = run(&["dis", "whole.o"]);
    assert!(text.contains("relocatable file") && text.contains("multiply@rel32@lo"), "{text}");
}

#[test]
fn what_needs_other_files_is_an_error() {
    let folder = Folder::new("relocatable_needs");
    folder.file("part.s", source(""));
    assert!(folder.run(&["asm", "part.s", "-o", "part.o"]).status.success());
    // The literal of an instruction follows its first word.
    let expected = "error: part.o: the relocatable file cannot be linked, for 2 reasons

undefined symbol `factor`, used at .text+0x10 in `kernel`, .text+0x18 in `kernel`
undefined symbol `multiply`, used at .text+0x2c in `kernel`, .text+0x34 in `kernel`
Link it with the files that define the symbols: `ld.lld -shared -o LINKED.co FILE.o OTHER.o`.
";
    for args in [
        &["run", "part.o", "--grid", "1", "--block", "64", "out:u32[64]"][..],
        &["info", "part.o"],
        &["dis", "--format", "listing", "part.o"],
    ] {
        let output = folder.run(args);
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert_eq!(err(&output), expected, "{args:?}");
    }
    assert!(folder.run(&["dis", "part.o"]).status.success());
}

/// The output of clang has source lines.
#[test]
fn faults_of_compiled_files_name_the_line() {
    let folder = Folder::new("relocatable_fault");
    let fixtures = repository().join("crates/wavemill-object/tests/fixtures");
    folder.file("fault.o", std::fs::read(fixtures.join("gfx942-relocatable.o")).unwrap());
    folder.file("relocatable.cl", std::fs::read(fixtures.join("relocatable.cl")).unwrap());
    let line = ["run", "fault.o", "--kernel", "blend", "--grid", "1", "--block", "64"];
    let arguments = ["out:f32[64]", "in:f32[32]=iota", "rank:i32=3"];
    let output = folder.run(&[&line[..], &arguments].concat());
    let text = err(&output);
    assert!(text.contains("just past the end of `in`") && text.contains("tile[l] = in[i];"), "{text}");
}
