//! Error messages of the command: every message is reviewed here before users read it.

use crate::common::Folder;

/// One folder for all cases, with good and bad files.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    for object in ["vector_add", "reduction", "sgemm"] {
        folder.object("gfx942", object);
    }
    let good = std::fs::read(folder.0.join("vector_add.co")).unwrap();
    folder.file("truncated.co", &good[..good.len() / 3]);
    folder.file("empty.co", "");
    folder.file("kernel.cl", "// adds two vectors\nkernel void add(global float *a) {}\n");
    folder.file("launch.txt", "object = \"vector_add.co\"\ngrid = 4\n");
    folder.file("notes.txt", "nothing but text\n");
    folder.file("kernel.ll", "; ModuleID = 'kernel.cl'\nsource_filename = \"kernel.cl\"\n");
    folder.file("kernel.bc", b"BC\xc0\xde");
    folder.file("host", host_elf());
    folder.file("five.bin", [0; 5]);
    folder.file("eight.bin", [0; 8]);
    folder.file("bad.npy", b"\x93NUMPY\x01\x00\xff\xff");
    std::fs::create_dir(folder.0.join("somewhere")).unwrap();
    folder.file("syntax.toml", "object = \"vector_add.co\"\ngrid = 4\nblock = [256\nargs = []\n");
    folder.file("key.toml", "object = \"vector_add.co\"\ngrid = 4\nblok = 256\n");
    folder.file("type.toml", "object = \"vector_add.co\"\ngrid = 4\nargs = \"a:f32[4]=zeros\"\n");
    folder.file("size.toml", "object = \"vector_add.co\"\ngrid = -4\n");
    folder.file("object.s", &good);
    folder.file("object.cl", &good);
    std::fs::create_dir(folder.0.join("folder.npy")).unwrap();
    folder.file("unknown_target.toml", "object = \"vector_add.co\"\ntarget = \"gfx94\"\n");
    folder.file("object.toml", "grid = 4\n");
    folder.file("nothing.toml", "object = \"nothing.co\"\n");
    folder.file("target.toml", "object = \"{target}/vector_add.co\"\n");
    folder.file(
        "short.toml",
        "object = \"vector_add.co\"\ngrid = 1\nblock = 64\nargs = [\"a:f32[64]=iota\"]\n",
    );
    folder
}

/// The header of an ELF file for x86-64 with nothing after it.
fn host_elf() -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x00");
    for (at, value) in [(16, 3), (18, 62), (20, 1), (52, 64)] {
        header[at] = value;
    }
    header
}

/// Valid arguments of vector_add.
const GOOD: [&str; 4] = ["a:f32[64]=iota", "b:f32[64]=iota", "c:f32[64]=zeros", "n:u32=64"];

const LAUNCH: [&str; 4] = ["--grid", "1", "--block", "64"];

#[test]
fn wrong_input() {
    let folder = folder("messages");
    let vector_add = |more: &[&'static str]| [&["run", "vector_add.co"][..], &LAUNCH, more].concat();
    let with = |index: usize, argument: &'static str| {
        let mut args = GOOD;
        args[index] = argument;
        vector_add(&args)
    };
    let good = |more: &[&'static str]| vector_add(&[&GOOD[..], more].concat());
    let launched = |more: &[&'static str]| [&["run", "vector_add.co"][..], &GOOD, more].concat();
    let cases: Vec<(&str, Vec<&str>)> = vec![
        ("no_such_file", vec!["run", "vectoradd.co"]),
        ("directory", vec!["info", "somewhere"]),
        ("text", vec!["info", "notes.txt"]),
        ("source", vec!["run", "kernel.cl", "--clang", "nowhere/clang"]),
        ("empty", vec!["dis", "empty.co"]),
        ("truncated", vec!["run", "truncated.co"]),
        ("host_without_gpu_code", vec!["info", "host"]),
        ("llvm_ir", vec!["run", "kernel.ll"]),
        ("llvm_bitcode", vec!["run", "kernel.bc"]),
        ("no_command", vec!["ruin"]),
        ("exchanged_letters", vec!["rnu"]),
        ("no_option", good(&["--prnt", "c"])),
        ("unknown_kernel", vec!["run", "vector_add.co", "--kernel", "vectoradd"]),
        ("kernel_not_given", vec!["run", "reduction.co"]),
        ("all_arguments_missing", vec!["run", "vector_add.co"]),
        ("some_arguments_missing", vector_add(&["n=64", "b:f32[64]=random(1)"])),
        ("arguments_missing_in_launch_file", vec!["run", "short.toml"]),
        ("unknown_argument", with(1, "bb:f32[64]=iota")),
        ("doubled_argument", good(&["n=3"])),
        ("left_over_argument", good(&["7"])),
        ("value_of_wrong_type", with(3, "n:f32=64")),
        ("value_of_wrong_size", with(3, "n:u64=64")),
        ("buffer_of_wrong_type", with(0, "a:i32[64]=iota")),
        ("value_for_a_buffer", with(0, "a=64")),
        ("unknown_type", with(0, "a:float[64]=iota")),
        ("out_of_range", with(3, "n:u32=4294967296")),
        ("negative_for_unsigned", with(3, "n=-1")),
        ("float_for_integer", with(3, "n=1.5")),
        ("float_too_large", with(0, "a[64]=1e39")),
        ("hexadecimal_float", with(0, "a[64]=0x3f800000")),
        ("unknown_contents", with(0, "a[64]=zeroes")),
        ("random_without_seed", with(0, "a[64]=random")),
        ("bad_count", with(0, "a[sixty]=zeros")),
        ("wrong_number_of_values", with(0, "a[64]=[1,2,3]")),
        ("file_of_wrong_size", with(0, "a[64]=@eight.bin")),
        ("file_of_half_elements", with(0, "a=@five.bin")),
        ("damaged_npy", with(0, "a=@bad.npy")),
        ("missing_data_file", with(0, "a=@data.npy")),
        ("same_as_nothing", with(1, "b=&x")),
        ("no_argument_at_all", with(0, "?")),
        ("local_for_a_buffer", with(0, "a=local:64")),
        ("negative_count", with(0, "a[-1]=zeros")),
        ("count_as_a_float", with(0, "a:f32[1e9]=zeros")),
        ("count_with_a_gap", with(0, "a[4,]=zeros")),
        ("count_beyond_memory", with(0, "a[4294967296,4294967296]=zeros")),
        ("word_for_a_value", with(3, "n=two")),
        ("word_for_a_typed_value", with(3, "n:u32=two")),
        ("index_as_a_float", good(&["--print", "c[1e9]"])),
        ("index_before_the_start", good(&["--print", "c[-65]"])),
        ("nothing_for_a_value", with(3, "n=")),
        ("nothing_for_a_typed_value", with(3, "n:u32=")),
        ("contents_for_a_value", with(3, "n=rand")),
        ("whole_number_as_a_float", with(3, "n=1e3")),
        ("word_like_contents", with(0, "a[64]=rand")),
        ("file_without_its_sign", with(0, "a[64]=eight.bin")),
        ("nothing_for_a_buffer", with(0, "a:f32[64]=")),
        ("no_name_behind_the_ampersand", with(0, "a=&")),
        ("open_round_bracket", with(0, "a[64]=iota(1")),
        ("open_square_bracket", with(0, "a[64]=[1,2")),
        ("no_number_between_commas", with(0, "a[64]=random(1,,2)")),
        ("unknown_format_of_values", good(&["--print", "c[:4]:q"])),
        ("format_in_an_expectation", good(&["--expect", "c[:4]:x=0"])),
        ("expectation_of_nothing", good(&["--expect", "c[4:4]=zeros"])),
        ("out_over_a_folder", good(&["--out", "c=folder.npy"])),
        ("coverage_into_no_folder", good(&["--isa-coverage", "nowhere/rows.json"])),
        ("two_code_objects", vec!["run", "vector_add.co", "reduction.co"]),
        ("launch_file_behind_a_code_object", vec!["run", "vector_add.co", "short.toml"]),
        ("code_object_behind_a_launch_file", vec!["run", "short.toml", "vector_add.co"]),
        ("toml_unknown_target", vec!["run", "unknown_target.toml"]),
        ("target_without_instructions", good(&["--target", "gfx1030"])),
        ("size_in_kb", good(&["--dynamic-lds", "64KB"])),
        ("size_as_a_float", good(&["--heap", "1e6"])),
        ("size_of_no_unit", good(&["--stack", "64T"])),
        ("elf_called_source", vec!["run", "object.s"]),
        ("elf_for_asm", vec!["asm", "object.s"]),
        ("elf_called_opencl", vec!["run", "object.cl"]),
        ("mc_unknown_processor", vec!["mc", "-mcpu=gfx94", "empty.co"]),
        ("mc_no_processor", vec!["mc", "empty.co"]),
        ("index_outside", good(&["--out", "c[64]=c.npy"])),
        ("index_of_an_expectation", good(&["--expect", "c[64]=1"])),
        ("bad_slice", good(&["--print", "c[1:2:3:4]"])),
        ("slice_outside", good(&["--print", "c[:100]"])),
        ("too_many_indices", good(&["--print", "c[0,0]"])),
        ("print_of_no_buffer", good(&["--print", "n"])),
        ("out_without_format", good(&["--out", "c=c.jpg"])),
        ("picture_of_a_line", good(&["--out", "c=c.png,range=0:1"])),
        ("expect_of_wrong_size", good(&["--expect", "c=[1,2]"])),
        ("too_many_values_for_random", with(0, "a[64]=random(1,5)")),
        ("float_beyond_all_types", with(0, "a[64]=1e999")),
        ("range_without_picture", good(&["--out", "c=c.npy,range=0:1"])),
        ("unknown_output_option", good(&["--out", "c=c.png,rang=0:1"])),
        ("empty_range", good(&["--out", "c=c.png,range=1:1"])),
        ("range_twice", good(&["--out", "c=c.png,range=0:1,range=0:2"])),
        ("out_into_no_folder", good(&["--out", "c=nowhere/c.npy"])),
        ("tolerance_without_expect", good(&["--tolerance", "ulp=1"])),
        ("endless_tolerance", good(&["--expect", "c=zeros", "--tolerance", "rel=inf"])),
        ("no_threads", good(&["--threads", "0"])),
        ("trace_of_no_workgroup", good(&["--trace", "--trace-workgroup", "1"])),
        ("trace_of_no_wave", good(&["--trace", "--trace-wave", "1"])),
        ("launch_file_without_its_ending", vec!["run", "launch.txt"]),
        ("info_unknown_kernel", vec!["info", "vector_add.co", "--kernel", "nothing"]),
        (
            "dis_kernel_as_objdump",
            vec!["dis", "vector_add.co", "--kernel", "vector_add", "--format", "objdump"],
        ),
        ("bad_tolerance", good(&["--expect", "c=zeros", "--tolerance", "1e-6"])),
        ("no_grid", launched(&["--block", "64"])),
        ("no_block", launched(&["--grid", "1"])),
        ("block_too_large", launched(&["--grid", "1", "--block", "32x32"])),
        ("bad_size", launched(&["--grid", "many", "--block", "64"])),
        ("size_of_zero", launched(&["--grid", "0", "--block", "64"])),
        ("grid_twice", launched(&["--grid", "1", "--global-size", "64", "--block", "64"])),
        (
            "block_not_as_compiled",
            vec![
                "run", "sgemm.co", "--grid", "1", "--block", "64", "a[4]", "b[4]", "c[4]", "m=2", "n=2",
                "k=2", "1", "0",
            ],
        ),
        ("wrong_target", good(&["--target", "gfx906"])),
        ("no_such_target", good(&["--target", "gfx999"])),
        ("no_such_tier", good(&["--tier", "sse"])),
        ("no_such_engine", good(&["--engine", "fast"])),
        ("a_tier_of_the_reference", good(&["--engine", "reference", "--tier", "portable"])),
        ("toml_syntax", vec!["run", "syntax.toml"]),
        ("toml_unknown_key", vec!["run", "key.toml"]),
        ("toml_wrong_type", vec!["run", "type.toml"]),
        ("toml_wrong_size", vec!["run", "size.toml"]),
        ("toml_without_object", vec!["run", "object.toml"]),
        ("toml_with_missing_object", vec!["run", "nothing.toml"]),
        ("toml_without_target", vec!["run", "target.toml"]),
        ("bench_unknown_kernel", vec!["bench", "--kernel", "sgem"]),
        ("bench_unknown_target", vec!["bench", "--target", "gfx1030"]),
        ("dis_unknown_kernel", vec!["dis", "vector_add.co", "--kernel", "nothing"]),
        ("dis_wrong_target", vec!["dis", "vector_add.co", "--target", "gfx906"]),
    ];
    let mut all = String::new();
    for (name, args) in &cases {
        let output = folder.run(args);
        let code = output.status.code();
        assert!(matches!(code, Some(2 | 3)), "{name}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{name}");
        let shown: Vec<_> = args
            .iter()
            .map(|arg| if arg.contains(['[', '&', '?']) { format!("'{arg}'") } else { (*arg).to_owned() })
            .collect();
        all += &format!("# {name}\n$ wavemill {}\n", shown.join(" "));
        all += &String::from_utf8_lossy(&output.stderr);
        all += &format!("[exit code {}]\n\n", code.unwrap_or(-1));
    }
    insta::assert_snapshot!("wrong_input", all);
}

/// Two kernels with metadata: one loads beyond its arguments, and one needs an image.
const METADATA: &str = r#"
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl past
.p2align 8
.type past,@function
past:
    s_load_dword s4, s[0:1], 0x20
    s_waitcnt lgkmcnt(0)
    s_endpgm
.Lend:
    .size past, .Lend - past
.globl enqueue
.p2align 8
.type enqueue,@function
enqueue:
    s_endpgm
.rodata
.p2align 6
.amdhsa_kernel past
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 4
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 16
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel enqueue
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 4
    .amdhsa_kernarg_size 16
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: past
    .symbol: past.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 1
    .max_flat_workgroup_size: 256
    .args:
      - { .name: a, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global, .type_name: 'float*' }
      - { .name: n, .offset: 8, .size: 4, .value_kind: by_value, .type_name: int }
  - .name: enqueue
    .symbol: enqueue.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 1
    .max_flat_workgroup_size: 256
    .args:
      - { .name: target, .offset: 0, .size: 8, .value_kind: queue, .type_name: queue_t }
      - { .name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global, .type_name: 'float*' }
.end_amdgpu_metadata
"#;

/// The most common messages about failing kernels: what happened, the context, and advice.
#[test]
fn wrong_kernels() {
    let folder = Folder::new("wrong_kernels");
    folder.object("gfx942", "vector_add");
    for object in ["control", "source"] {
        let from = crate::common::repository().join(format!("kernels/bin/gfx942/faults/{object}.co"));
        folder.file(&format!("{object}.co"), std::fs::read(from).unwrap());
    }
    folder.file("metadata.s", METADATA);
    crate::common::expect(&folder, 0, &["asm", "metadata.s", "-o", "metadata.co"]);
    folder.file(
        "shipped.toml",
        "object = \"package/library.so\"\ndownload = [\"pip download package==1.0\", \"unzip package-*.whl -d {folder}\"]\n",
    );
    let around = |more: &[&'static str]| {
        [&["--grid", "1", "--block", "64", "u8[8]=0"][..], more, &["u8[8]=0"]].concat()
    };
    let kernel = |object: &'static str, kernel: &'static str, more: &[&'static str]| {
        [&["run", object, "--kernel", kernel][..], &around(more)].concat()
    };
    let launch = |object: &'static str, kernel: &'static str, more: &[&'static str]| {
        [&["run", object, "--kernel", kernel][..], &LAUNCH, more].concat()
    };
    let ones = ["a:f32[64]=ones", "b:f32[64]=iota", "c:f32[64]", "n=64", "--expect"];
    let expect = |more: &[&'static str]| launch("vector_add.co", "vector_add", &[&ones[..], more].concat());
    let cases: Vec<(&str, i32, Vec<&str>)> = vec![
        ("load_past_the_arguments", 4, launch("metadata.co", "past", &["a[4]=0", "n=4"])),
        ("stack_overflow", 4, kernel("source.co", "recursion", &["out:i32[64]", "depth=37"])),
        ("branch_to_itself", 4, kernel("control.co", "endless", &["u64=0"])),
        ("no_end", 4, kernel("control.co", "falls_off", &["u64=0"])),
        ("no_end_with_data_behind_it", 4, kernel("control.co", "falls_into_data", &["u64=0"])),
        ("call_that_is_inlined", 4, kernel("source.co", "one_lane", &["out:i32[64]=1", "lane=37"])),
        ("queue", 2, vec!["run", "metadata.co", "--kernel", "enqueue"]),
        ("queue_argument", 2, launch("metadata.co", "enqueue", &["target:f32[4]=0", "out[4]"])),
        ("launch_file_with_a_queue", 2, vec!["run", "metadata.co", "--kernel", "enqueue", "--init"]),
        ("download", 3, vec!["run", "shipped.toml"]),
        ("slice_that_is_wrong", 1, expect(&["c[:4]=[1,2.0000005,3,5]"])),
        ("slice_of_zeros", 1, expect(&["c[2:4]=0"])),
    ];
    let mut all = String::new();
    for (name, code, args) in &cases {
        let said = crate::common::said(&folder, *code, args);
        let shown: Vec<_> = args
            .iter()
            .map(|arg| if arg.contains('[') { format!("'{arg}'") } else { (*arg).to_owned() })
            .collect();
        all +=
            &format!("# {name}\n$ wavemill {}\n{}\n[exit code {code}]\n\n", shown.join(" "), said.trim_end());
    }
    insta::assert_snapshot!("wrong_kernels", all);
}

#[test]
fn help_pages() {
    let folder = Folder::new("help");
    for page in [
        &["--help"][..],
        &["run", "-h"],
        &["run", "--help"],
        &["dis", "--help"],
        &["info", "--help"],
        &["bench", "--help"],
    ] {
        let output = folder.run(page);
        assert!(output.status.success());
        let name = page.join("_").replace("--", "").replace("-h", "short_help");
        insta::assert_snapshot!(name, String::from_utf8_lossy(&output.stdout));
    }
    // Short help pages fit on one screen.
    let main = folder.run(&["-h"]).stdout;
    let main = String::from_utf8_lossy(&main);
    let commands =
        main.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Lines that begin further right continue the description.
    let commands = commands.filter(|line| !line.starts_with("   "));
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"run") && commands.contains(&"mc"), "{commands:?}");
    for command in commands.into_iter().filter(|command| *command != "help").map(Some).chain([None]) {
        let line: Vec<&str> = command.into_iter().chain(["-h"]).collect();
        let short = folder.run(&line).stdout;
        let lines: Vec<String> = String::from_utf8_lossy(&short).lines().map(str::to_owned).collect();
        let narrow = lines.iter().all(|line| line.chars().count() <= 100);
        assert!((5..=45).contains(&lines.len()) && narrow, "{line:?}: {} lines {lines:#?}", lines.len());
    }
    let version = folder.run(&["--version"]);
    assert_eq!(String::from_utf8_lossy(&version.stdout), format!("wavemill {}\n", env!("CARGO_PKG_VERSION")));
}
