//! Arguments and options of launches that few kernels need: null pointers, stacks of no known size,
//! names from debug information.

use crate::common::{Folder, expect, out, repository, said};

/// A source of one kernel for gfx942, with directives of its descriptor and its metadata.
fn source(code: &str, directives: &str, metadata: &str) -> String {
    format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n{code}\n\
         .size k, .-k\n.section .rodata,\"a\",@progbits\n.p2align 6\n.amdhsa_kernel k\n\
         .amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_next_free_vgpr 4\n.amdhsa_next_free_sgpr 8\n\
         .amdhsa_accum_offset 4\n{directives}\n.end_amdhsa_kernel\n.amdgpu_metadata\namdhsa.version: [1, 2]\n\
         amdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n    .wavefront_size: 64\n    .sgpr_count: 8\n    .vgpr_count: 4\n\
         \x20   .max_flat_workgroup_size: 256\n    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 0\n{metadata}\
         .end_amdgpu_metadata\n"
    )
}

const LAUNCH: [&str; 6] = ["run", "k.co", "--grid", "1", "--block", "64"];

fn launch<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&LAUNCH[..], more].concat()
}

/// Like Triton's kernels: no names, no types, no language, and two pointers after the arguments of
/// the source.
fn triton_like(name: &str) -> Folder {
    let folder = Folder::new(name);
    // It traps unless both of the last pointers are null.
    let code = "s_load_dwordx4 s[4:7], s[0:1], 0x8\ns_waitcnt lgkmcnt(0)\ns_or_b64 s[4:5], s[4:5], s[6:7]\n\
                s_cmp_eq_u64 s[4:5], 0\ns_cbranch_scc1 right\ns_trap 2\nright:\ns_endpgm";
    let argument = |at: u32| {
        format!("      - {{ .address_space: global, .offset: {at}, .size: 8, .value_kind: global_buffer }}\n")
    };
    let arguments: String = [0, 8, 16].map(argument).concat();
    let metadata =
        format!("    .private_segment_fixed_size: 0\n    .kernarg_segment_size: 24\n    .args:\n{arguments}");
    folder.file("k.s", source(code, ".amdhsa_kernarg_size 24", &metadata));
    expect(&folder, 0, &["asm", "k.s", "-o", "k.co"]);
    folder
}

#[test]
fn pointers_can_be_null() {
    let folder = triton_like("null");
    let proposal = said(&folder, 2, &launch(&[]));
    assert!(proposal.contains("\n  arg1  ?  buffer; if Triton added it, null\n"), "{proposal}");
    assert!(proposal.trim_end().ends_with("'arg0:TYPE[1024]=zeros' arg1=null arg2=null"), "{proposal}");
    expect(&folder, 0, &launch(&["x:f32[4]", "null", "profile=null"]));
    expect(&folder, 4, &launch(&["x:f32[4]", "y:f32[4]", "null"]));
    folder.file("k.toml", "object = 'k.co'\ngrid = 1\nblock = 64\nargs = ['x:f32[4]', 'a=null', 'b=null']\n");
    expect(&folder, 0, &["run", "k.toml"]);
    let message = said(&folder, 2, &launch(&["x:f32[4]", "y:f32[4]=null", "null"]));
    assert!(message.contains("argument `y:f32[4]=null`: a null pointer has no elements"), "{message}");
    let message = said(&folder, 2, &launch(&["x:f32[4]", "a=null", "b=null", "--print", "a"]));
    assert!(message.contains("there is no buffer `a` among the arguments; the buffers are x"), "{message}");
}

/// The arguments of a parameter pack all have the same name, and a file can give an argument any
/// name.
#[test]
fn proposed_names_can_be_used() {
    let folder = Folder::new("argument_names");
    let argument = |(index, name): (usize, &str)| {
        let offset = 8 * index;
        format!(
            "      - .name: !str \"{name}\"\n        .type_name: \"int*\"\n        .offset: {offset}\n        .size: 8\n        \
             .value_kind: global_buffer\n        .address_space: global\n"
        )
    };
    let names = ["args", "args", "args.2", "args", "a=b", "c d", "", "\\e[1m"];
    let arguments = names.into_iter().enumerate().map(argument).collect::<String>();
    let metadata =
        format!("    .kernarg_segment_size: 64\n    .private_segment_fixed_size: 0\n    .args:\n{arguments}");
    folder.file("k.s", source("s_endpgm", "", &metadata));
    expect(&folder, 0, &["asm", "k.s", "-o", "k.co"]);
    let message = said(&folder, 2, &["run", "k.co"]);
    let proposed = message.lines().last().unwrap_or_default().trim();
    let line = proposed.strip_prefix("wavemill ").unwrap_or_else(|| panic!("{message}"));
    let words: Vec<&str> = line.split(' ').map(|word| word.trim_matches('\'')).collect();
    let arguments: Vec<&str> = words.iter().filter_map(|word| word.strip_suffix("[1024]=zeros")).collect();
    let wanted = ["args", "args.3", "args.2", "args.4", "arg4", "arg5", "arg6", "arg7"];
    assert_eq!(arguments, wanted.map(|name| format!("{name}:i32")));
    expect(&folder, 0, &words);
    let printed = out(&expect(&folder, 0, &[&words[..], &["--print", "args.3[:2]"]].concat()));
    assert_eq!(printed, "args.3[:2] = [0, 0]\n");
}

#[test]
fn stacks_of_no_known_size_are_set_by_the_launch() {
    let folder = Folder::new("stack");
    // It stores 20,000 bytes above the beginning of its private memory.
    let code = "s_movk_i32 s2, 0x4e20\nv_mov_b32 v0, 7\nscratch_store_dword off, v0, s2\ns_waitcnt vmcnt(0)\ns_endpgm";
    let object = |file: &str, dynamic: bool| {
        let directives = format!(
            ".amdhsa_private_segment_fixed_size 16\n.amdhsa_enable_private_segment 1\n.amdhsa_uses_dynamic_stack {}",
            u8::from(dynamic)
        );
        let metadata = format!(
            "    .private_segment_fixed_size: 16\n    .kernarg_segment_size: 0\n    .uses_dynamic_stack: {dynamic}\n"
        );
        folder.file("k.s", source(code, &directives, &metadata));
        expect(&folder, 0, &["asm", "k.s", "-o", file]);
    };
    object("k.co", true);
    object("fixed.co", false);
    for size in ["20004", "32K", "64_000"] {
        expect(&folder, 0, &launch(&["--stack", size]));
    }
    for size in [&["--stack", "20000"][..], &["--stack=4K"], &["--stack", "0"], &[]] {
        expect(&folder, 4, &launch(size));
    }
    let message = said(&folder, 2, &launch(&["--stack", "1M"]));
    let wanted = "1048576 bytes of private memory for a work-item; the maximum is 131056";
    assert!(message.contains(wanted), "{message}");
    // The declared size may be too small, but never too large.
    let fixed = |size| ["run", "fixed.co", "--grid", "1", "--block", "64", "--stack", size];
    expect(&folder, 0, &fixed("20004"));
    expect(&folder, 4, &fixed("20000"));
    expect(&folder, 4, &fixed("16"));
    expect(&folder, 4, &["run", "fixed.co", "--grid", "1", "--block", "64"]);
    let message = said(&folder, 2, &fixed("15"));
    let wanted = "error: a stack of 15 bytes is too small for `k`: its code needs 16 bytes of private memory per work-item\n";
    assert!(message.starts_with(wanted), "{message}");
    let message = said(&folder, 2, &fixed("1M"));
    assert!(message.contains("the maximum is 131056"), "{message}");
    folder.file(
        "k.s",
        source("s_endpgm", "", "    .private_segment_fixed_size: 0\n    .kernarg_segment_size: 0\n"),
    );
    expect(&folder, 0, &["asm", "k.s", "-o", "none.co"]);
    let message = said(&folder, 2, &["run", "none.co", "--grid", "1", "--block", "64", "--stack", "4K"]);
    assert!(message.starts_with("error: `k` uses no private memory, so it has no stack\n"), "{message}");
    folder.file("k.toml", "object = 'k.co'\ngrid = 1\nblock = 64\nstack = '32K'\n");
    expect(&folder, 0, &["run", "k.toml"]);
    let written = out(&expect(&folder, 0, &launch(&["--stack", "32K", "--init"])));
    assert!(written.contains("\nstack = 32768\n"), "{written}");
}

#[test]
fn debug_information_names_what_metadata_does_not() {
    let folder = Folder::new("debug_names");
    let object = repository().join("kernels/bin/gfx942/O0/hip/hip_malloc.co");
    std::fs::copy(object, folder.0.join("k.co")).unwrap();
    let proposal = said(&folder, 2, &["run", "k.co", "--kernel", "hip_malloc_free"]);
    // uint **blocks, ulong bytes, uint *found, uint n
    let table = "\n  blocks  unsigned int**  buffer\n  bytes   unsigned long   value of 8 bytes\n  \
                 found   unsigned int*   buffer\n  n       unsigned int    value of 4 bytes\n";
    assert!(proposal.contains(table), "{proposal}");
    assert!(proposal.contains(" bytes:u64=1 'found:u32[1024]=zeros' n:u32=1"), "{proposal}");
    let line = ["run", "k.co", "--kernel", "hip_malloc_list", "--grid", "1", "--block", "64", "n=40"];
    let result = expect(&folder, 0, &[&line[..], &["sums[64]", "--print", "sums[30:34]"]].concat());
    // The sums below 30 and 31; the sums at 32 and 33 add 0 and 1 numbers.
    assert_eq!(out(&result), "sums[30:34] = [435, 465, 0, 0]\n");
    let message = said(&folder, 2, &[&line[..], &["total[64]"]].concat());
    assert!(message.contains("the kernel has no parameter `total`; it has sums, n"), "{message}");
    let report = out(&expect(&folder, 0, &["info", "k.co", "--kernel", "hip_malloc_list"]));
    assert!(report.contains("global_buffer  unsigned int*  sums  global"), "{report}");
    assert!(report.contains("by_value       unsigned int   n"), "{report}");
}

/// Without metadata, the kernel descriptor still has the size of the arguments.
#[test]
fn the_descriptor_counts_arguments_without_metadata() {
    let folder = Folder::new("descriptor_counts");
    let text = source("s_endpgm", ".amdhsa_kernarg_size 20", "    .kernarg_segment_size: 20\n");
    let (text, _) = text.split_once(".amdgpu_metadata").expect("metadata at the end");
    folder.file("k.s", text);
    expect(&folder, 0, &["asm", "k.s", "-o", "k.co"]);
    let ran = said(&folder, 0, &launch(&["x:f32[4]", "y:f32[4]", "n:u32=4"]));
    assert!(!ran.contains("warning"), "{ran}");
    let few = said(&folder, 0, &launch(&["x:f32[4]", "y:f32[4]"]));
    assert!(
        few.contains("warning: the arguments of `k` have 16 bytes; its descriptor has room for 20"),
        "{few}"
    );
    let many = said(&folder, 2, &launch(&["x:f32[4]", "y:f32[4]", "n:u32=4", "z:f64=3"]));
    assert!(many.contains("the arguments of `k` have 32 bytes; its descriptor has room for 20"), "{many}");
}

#[test]
fn a_missing_bracket_is_named() {
    let folder = triton_like("bracket");
    let message = said(&folder, 2, &launch(&["x[4", "null", "null"]));
    assert!(message.contains("a `]` is missing"), "{message}");
}

#[test]
fn sources_without_a_kernel_say_why() {
    let folder = Folder::new("no_kernel");
    folder.file("f.s", ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\nf:\ns_endpgm\n");
    let message = said(&folder, 3, &["run", "f.s"]);
    assert!(
        message.contains("has no kernel that can run") && message.contains(".amdhsa_kernel"),
        "{message}"
    );
}
