//! `wavemill mc` against `llvm-mc-22`: the same output for the same command. LLVM assembles the
//! sources of `wavemill dis` to the same code objects. The texts of `wavemill asm` and `wavemill
//! mc` assemble to the bytes of their sources.

mod common;
#[path = "mc/compiled.rs"]
mod compiled;
#[path = "mc/distances.rs"]
mod distances;
#[path = "mc/values.rs"]
mod values;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use wavemill_object::unlink;
use wavemill_oracle::{Failed, Suite, Tool};

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("options", options);
    suite.oracle_test("options that llvm-mc lists", &[Tool::LlvmMc], listed_options);
    suite.oracle_test("statements and messages", &[Tool::LlvmMc], statements);
    suite.oracle_test("directives", &[Tool::LlvmMc], directives);
    suite.oracle_test("kernel descriptors", &[Tool::LlvmMc], kernel_descriptors);
    suite.oracle_test("literals written as such", &[Tool::LlvmMc], written_literals);
    suite.oracle_test("distances between labels", &[Tool::LlvmMc], distances::agree);
    suite.oracle_test("values of directives and constants", &[Tool::LlvmMc], values::agree);
    suite.oracle_test("operands that are refused", &[Tool::LlvmMc], refused_operands);
    suite.oracle_test("printed texts", &[Tool::LlvmMc], printed_texts);
    suite.oracle_test("options that change nothing", &[Tool::LlvmMc], idle_options);
    suite.test("names of places", names_of_places);
    suite.oracle_test("included files", &[Tool::LlvmMc], included_files);
    suite.oracle_test("bytes that are not UTF-8", &[Tool::LlvmMc], other_bytes);
    suite.oracle_test("machine code", &[Tool::LlvmMc], machine_code);
    for target in ["gfx906", "gfx90a", "gfx942", "gfx950"] {
        suite.oracle_test(format!("kernels of {target}"), &[Tool::LlvmMc], move || kernels(target));
        let tools = [Tool::LlvmMc, Tool::Program("ld.lld-22")];
        suite.oracle_test(format!("sources of {target} with LLVM"), &tools, move || sources(target));
    }
    for path in written_by_hand() {
        let name = path.strip_prefix(repository()).unwrap_or(&path).display().to_string();
        suite.test(format!("text of {name}"), move || {
            let source = std::fs::read_to_string(&path)?.replace("TARGET", "gfx90a");
            // The target that the source names.
            let named = source.split_once("amdgcn-amd-amdhsa--").and_then(|(_, rest)| rest.split('"').next());
            let target = named.unwrap_or("gfx90a").to_owned();
            text_has_the_bytes_of(&source, &target, path.parent().ok_or("no folder")?)
        });
    }
    suite.test("text of directives", || text_has_the_bytes_of(DIRECTIVES, "gfx90a", Path::new(".")));
    suite.test("text of macros and assignments", || text_has_the_bytes_of(MACROS, "gfx90a", Path::new(".")));
    for (name, target, level) in [
        ("sgemm", "gfx90a", "-O2"),
        ("printf", "gfx942", "-O0"),
        ("call_chain", "gfx906", "-O2"),
        ("function_pointers", "gfx950", "-O0"),
        ("crc32", "gfx90a", "-O2 -g"),
        ("litmus", "gfx942", "-O2"),
        ("scan", "gfx950", "-O2 -g"),
    ] {
        suite.oracle_test(format!("text of compiled {name} {target} {level}"), &[Tool::Clang], move || {
            text_has_the_bytes_of(&compile(name, target, level)?, target, Path::new("."))
        });
    }
    compiled::add(&mut suite);
    suite.run()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The repository's hand-written sources without errors.
fn written_by_hand() -> Vec<PathBuf> {
    let folders = [
        "crates/wavemill-asm/tests/llvm_objects",
        "crates/wavemill-object/tests/linked",
        "kernels/faults",
        "examples/assembly",
    ];
    let mut all = Vec::new();
    for folder in folders.map(|folder| repository().join(folder)) {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        all.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
    }
    all.retain(|path| path.extension().is_some_and(|extension| extension == "s"));
    all.sort();
    assert!(all.len() > 12, "{all:?}");
    all
}

/// Macros and repetitions, and values that are known late.
const MACROS: &str = "\
b=3
\t.long b
b = b + 1
\t.long b
.macro m count, to:vararg
before\\@: s_nop \\count
\t.if \\count
\t.long again - start, late, \\to
\t.endif
.endm
start: m 0
again: m 1, 7
.rept 2
1:\ts_nop 2
\ts_cbranch_scc1 1b
\ts_branch 1f
.endr
1:\ts_mov_b32 s0, late
\ts_add_u32 s0, s0, outside@rel32@lo+4
\ts_mov_b32 s1, (again - start) * 2
.irp n, 4, 5
\tv_mov_b32 v\\n, (after - start) + \\n
.endr
.set late, 5
after:
two: three: .ascii \"a;b // c\"
\t.data
x: .byte 1, 2
\t.amdgpu_metadata
---
amdhsa.version:
  - 1
  - 2
amdhsa.kernels: []
...
\t.end_amdgpu_metadata
";

/// The assembly that clang emits for a kernel.
fn compile(kernel: &str, target: &str, level: &str) -> Result<String, Failed> {
    let library = "/usr/lib/clc/amdgcn-amd-amdhsa.bc";
    let output = Command::new(Tool::Clang.path()?)
        .current_dir(repository().join("kernels"))
        .args("-S -x cl -cl-std=CL2.0 -ffp-contract=off -cl-kernel-arg-info -nogpulib".split(' '))
        .args("-Xclang -finclude-default-header -include workitem.h -include fused.h".split(' '))
        .args(["-target", "amdgcn-amd-amdhsa", "-Xclang", "-mlink-builtin-bitcode", "-Xclang", library])
        .args(level.split(' '))
        .args([format!("-mcpu={target}"), format!("{kernel}.cl"), "-o".to_owned(), "-".to_owned()])
        .output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

/// Fails unless the texts of `asm` and `mc` for a source assemble to the same object as the source.
fn text_has_the_bytes_of(source: &str, target: &str, included: &Path) -> Result<(), Failed> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = folder(&format!("text_{}", NEXT.fetch_add(1, Ordering::Relaxed)))?;
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (first, object, cpu) = (path("first.s"), path("object.o"), format!("-mcpu={target}"));
    std::fs::write(&first, source)?;
    let run = |args: &[&str]| -> Result<Vec<u8>, Failed> {
        let output = wavemill(args)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(format!("{args:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    };
    let include = included.to_string_lossy();
    for command in [
        &["asm", "-I", &include, "--target", target][..],
        &["mc", "-I", &include, "-triple=amdgcn-amd-amdhsa", &cpu],
    ] {
        let second = path(&format!("{}.s", command[0]));
        std::fs::write(&second, run(&[command, &[&first]].concat())?)?;
        let mut objects = Vec::new();
        for source in [&first, &second] {
            run(&[command, &["--filetype=obj", source, "-o", &object]].concat())?;
            objects.push(std::fs::read(&object)?);
        }
        if objects.first() != objects.last() {
            return Err(format!("{second} assembles to other bytes than {first}").into());
        }
    }
    Ok(())
}

fn wavemill(args: &[&str]) -> Result<Output, Failed> {
    Ok(Command::new(env!("CARGO_BIN_EXE_wavemill")).args(args).output()?)
}

fn folder(name: &str) -> Result<PathBuf, Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mc_{name}"));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The objects of a target that are directly in its folder.
fn objects(target: &str) -> Result<Vec<PathBuf>, Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin").join(target);
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        all.push(entry?.path());
    }
    all.retain(|path| path.extension().is_some_and(|extension| extension == "co"));
    all.sort();
    assert!(all.len() > 40);
    Ok(all)
}

/// Every option that `llvm-mc` lists is either accepted or rejected with a reason.
fn listed_options() -> Result<(), Failed> {
    let help = Command::new(Tool::LlvmMc.path()?).arg("--help").output()?;
    let help = String::from_utf8(help.stdout)?;
    let mut seen = 0;
    for line in help.lines() {
        let Some(option) = line.trim_start().strip_prefix('-').filter(|_| line.starts_with("  -")) else {
            continue;
        };
        let option = option.trim_start_matches('-');
        let name: String = option.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        // Help and the version are results; -o would consume the name of the file.
        if ["", "help", "version", "color", "o"].contains(&&*name) {
            continue;
        }
        seen += 1;
        let dashed = format!("-{name}");
        // A processor has to be named, unless the option names it.
        let processor = if name == "mcpu" { "-triple=amdgcn" } else { "-mcpu=gfx906" };
        let ours = wavemill(&["mc", processor, &dashed, "no_such_file.s"])?;
        let text = String::from_utf8(ours.stderr)?;
        assert!(!text.contains("unexpected argument"), "{dashed}: {text}");
        let refused = text.contains(&format!("llvm-mc's -{name} is not supported: "));
        // The file's name is not a value of the option.
        let value = text.contains("invalid value") || text.contains("-mcpu: expected");
        assert_eq!(refused, ours.status.code() == Some(2) && !value, "{dashed}: {text}");
    }
    assert!(seen > 30, "{help}");
    Ok(())
}

/// Fails unless both write the same output and end alike. Messages may differ in words, so only
/// `messages` compares them.
fn same(args: &[&str], messages: bool) -> Result<(), Failed> {
    let ours = wavemill(&[&["mc"], args].concat())?;
    let theirs = Command::new(Tool::LlvmMc.path()?).args(args).output()?;
    let differ = |what: &str, ours: &[u8], theirs: &[u8]| -> Result<(), Failed> {
        let [ours, theirs] = [ours, theirs].map(|text| String::from_utf8_lossy(text).into_owned());
        for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
            if ours != theirs {
                let place = format!("{args:?}, {what}, line {}", number + 1);
                return Err(format!("{place}:\n ours   {ours}\n theirs {theirs}").into());
            }
        }
        match ours == theirs {
            true => Ok(()),
            false => Err(format!("{args:?}, {what}: one is longer\n{ours}\n{theirs}").into()),
        }
    };
    differ("standard output", &ours.stdout, &theirs.stdout)?;
    if messages {
        differ("messages", &ours.stderr, &theirs.stderr)?;
    }
    match ours.status.code() == theirs.status.code() {
        true => Ok(()),
        false => Err(format!("{args:?}: {} and {}", ours.status, theirs.status).into()),
    }
}

const STATEMENTS: &str = "\
// A test as LLVM has them: v_add_f32 v0, v1, v2
; RUN: llvm-mc -triple=amdgcn -mcpu=gfx90a -show-encoding %s

v_add_f32 v0, v1, v2 // a comment
start: s_branch start
\ts_cbranch_scc1 12
\ts_add_u32 s0, s0, outside@rel32@lo+4
  s_mov_b32 s1, (start - other) + 4
other:
v_mov_b32 v1, outside
s_mov_b32 s1, outside@abs32@hi
.set x, 3
s_mov_b32 s1, x
.long 1, 2,0x10
.globl outside
.p2align 8
.type start,@function
.size start, .-start
.hidden start
.text
buffer_load_dword v0, off, s[0:3], 0 offset:4095
1: s_branch 1b
s_branch 1f
1:
.long 1b-start
s_mov_b32 s0, (fin-start)*2
fin:
v_fma_mixlo_f16 v0, abs(v1), v2, v3 op_sel:[0,0,0] op_sel_hi:[1,0,0] clamp
.if 1
s_nop 4
.endif
";

fn statements() -> Result<(), Failed> {
    let folder = folder("statements")?;
    let file = folder.join("statements.s");
    let name = file.to_str().ok_or("no name")?;
    std::fs::write(&file, STATEMENTS)?;
    for args in [
        &["-triple=amdgcn", "-mcpu=gfx90a", "-show-encoding"][..],
        &["--arch=amdgcn", "--mcpu=gfx90a"],
        &["-triple", "amdgcn", "-mcpu", "gfx942", "--show-encoding", "-defsym=y=2"],
        &["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-mattr=-xnack,+sramecc"],
        &["-triple=amdgcn", "-mcpu=gfx90a", "-filetype=null"],
    ] {
        same(&[args, &[name]].concat(), true)?;
    }
    // The header says which system a file is for.
    let object = folder.join("statements.o");
    let out = object.to_str().ok_or("no name")?;
    for triple in ["amdgcn", "amdgcn-amd-amdpal", "amdgcn-mesa-mesa3d", "amdgcn-amd-amdhsa"] {
        for features in ["", "-xnack", "+xnack,-sramecc"] {
            let (triple, features) = (format!("-triple={triple}"), format!("-mattr={features}"));
            let args = [&*triple, &*features, "-mcpu=gfx90a", "-filetype=obj", "-o", out, name];
            same(&args, true)?;
            let theirs = std::fs::read(&object)?;
            assert!(wavemill(&[&["mc"][..], &args].concat())?.status.success());
            let ours = std::fs::read(&object)?;
            let header = |file: &[u8]| (file[..16].to_vec(), file[48..52].to_vec());
            assert_eq!(header(&ours), header(&theirs), "{args:?}");
        }
    }
    // Warnings, and options that change them.
    std::fs::write(&file, "s_nop 0\n.warning \"old\"\n")?;
    for args in [&[][..], &["-no-warn"], &["-W"], &["-fatal-warnings"]] {
        let command = [&["-triple=amdgcn", "-mcpu=gfx906", name], args].concat();
        same(&command, true)?;
    }
    // Valid lines are printed in spite of errors in others.
    std::fs::write(&file, "s_nop 0\nv_no_such v0\ns_nop 1\n")?;
    same(&["-triple=amdgcn", "-mcpu=gfx906", "-show-encoding", name], false)?;
    let ours = wavemill(&["mc", "-triple=amdgcn", "-mcpu=gfx906", name])?;
    let message = String::from_utf8_lossy(&ours.stderr).into_owned();
    assert!(message.starts_with(&format!("{name}:2:1: error: ")), "{message}");
    assert!(message.contains("\nv_no_such v0\n^\n"), "{message}");
    let absent = folder.join("absent.s");
    same(&["-triple=amdgcn", "-mcpu=gfx906", absent.to_str().ok_or("no name")?], false)
}

/// Directives whose output differs from the source.
const DIRECTIVES: &str = "\
b = 3
.long b, b+1, -1, 0xffffffff, 'a', 0b101, 010
.byte b, 255, 300-45
.short b
.quad b, 0x8000000000000000, -1
.set c, b+2
.long c
.set d, lab
.long d, lab+4, lab-lab2, (lab2-lab)/4
lab:
s_nop 0
lab2:
.long lab2-lab+b, lab - 4 + 2, lab-(lab2-4)
.set e2, .
.long .
.long late
late = 7
.long late
.set b, b+6
.long b, undefined+b
.fill 3, 4, 0x0000007e
.fill 2
.fill b, 1, b
.space 4
.skip 4, 1
.zero 8
.p2align 4
.p2align 4, 1
.p2align 4,,8
.align 8
.balign 16
.ascii \"abc\", \"a\\n\\t\\\"\\\\\\001\\x41\", \"a\", \"\", \"with zero\\000\"
.asciz \"abc\"
.string \"a\", \"\"
.globl lab, lab2
.weak outside
.type lab,@function
.type lab2, STT_OBJECT
.size lab, 0x10
.size lab2, .-lab2+4
.org 0x400
.float 1.5, -2.0
.double 1.5
.value 1, 'a', -1, 0xffff
.dc.b 1
.dc.w 1, 2
.dc 3
.dc.l 'a'+1, lab-4
.dc.a 1, .
.dc.s 1.5, 1
.dc.d -1.5
.dcb.b b, 2+1
.dcb 2, -1
.dcb.w 2, 0x10
.dcb.l 3, 'a'
.dcb.b 0, 1
.dcb.s 2, -inf
.dcb.d 1, 0x1p3
.ds.b 1+1
.ds 1
.ds.w 2
.ds.l b-b
.ds.s 1
.ds.d 1
.ds.p 2
.ds.x 1
.float inf, -inf, +Infinity, nan, -NaN, - 1.5
.float 0x1p3, -0x1.8p3, 0x1.8p-130, 0x.8p0, 0x1p-150, 010, 5., .5, -0
.float 16777217.00000000001, 16777217
.double inf, -inf, nan, -nan, 0x1p3, -0x1.8p3, 1e-400, -1.5
.octa 1, 0x123456789abcdef0fedcba9876543210, 010, 0b11
.octa 0x8000000000000000, 0xffffffffffffffffffffffffffffffff, 18446744073709551616
.uleb128 0, 1, 127, 128, 300, -1, b, lab2-lab, .-lab, 0x4000
.uleb128 late_one
late_one = 5
.sleb128 0, 1, -1, 63, 64, -64, -65, -200, 100000, b
.sleb128 -9223372036854775808
.p2alignl 4
.p2alignl 4, 0x12345678
.p2alignl 4, -1, 12
.p2alignl 2, , 3
.p2alignw 4, 7, 14
.balignw 16, -1
.balignl 16
.balignl 1, 7
.balignl 0
.p2align 4, -1
.zero 0
.skip b-b
.byte
.ascii
.comm common, 4
.comm common2, 0x10, 16
.lcomm local, 2 + 2
.addrsig_sym common
.macro m

s_nop 3
.endm
m

.rept 2

s_nop 1
.endr
.if 0

s_nop 5
.endif
 ; a comment
/* another */
.type \"a b\",@function
.long \"a b\"
s_branch \"a b\"
v_add_u16 v0, -4.0, v1
s_mov_b32 s0, g@GOTPCREL
s_mov_b32 s0, (lab2+4)-lab
s_mov_b64 [exec_lo, exec_hi], s[2:3]
.rodata
.p2align 6
.bss
.data
.p2align 3
.p2alignl 4
.balignw 4
.balignw 4, , 2
.extern nothing
.ifeqs \"a\", \"a\"
.byte 1
.endif
.ifeqs \"a\", \"b\" /* a comment */
.ifnes \"a\", \"b\"
.endif
.byte 2
.else
.ifnes \"a\", \"a\"

.else
.byte 3
.endif
.endif
.if 0
.ifeqs \"a\", \"a\"
.endif
.endif
.ifnes \"a\", \"b\" // a comment
.byte 4
.endif
s_branch -5
s_branch 65531
s_branch 0 - ( 5 )
s_cbranch_scc1 -1
s_call_b64 s[0:1], -32768
s_cbranch_i_fork s[0:1], (1-2)
s_branch b-b-1
s_branch b
s_movk_i32 s0, -1
s_cmpk_eq_i32 s0, -5
named: .ifnes \"a;b\", \"b\"
.endif
.macro n
.ifeqs \"a\", \"a\"
.byte 5
.endif
.endm
n
n
.ifc a,a
.byte 6
.endif
";

fn directives() -> Result<(), Failed> {
    let file = folder("directives")?.join("directives.s");
    std::fs::write(&file, DIRECTIVES)?;
    let name = file.to_str().ok_or("no name")?;
    same(&["-triple=amdgcn", "-mcpu=gfx90a", "-show-encoding", name], true)?;
    // LLVM warns about limits that have no effect.
    std::fs::write(&file, ".p2align 4, 1, 16\n.p2alignl 2, , 8\n.balign 4, 1, 4\n.p2align 0, 1, 1\n")?;
    same(&["-triple=amdgcn", "-mcpu=gfx90a", name], false)?;
    // Symbols that the platform predefines.
    let symbols = "\
.long .amdgcn.gfx_generation_number, .amdgcn.gfx_generation_minor, .amdgcn.gfx_generation_stepping
.byte .amdgcn.gfx_generation_number+1
.set x, .amdgcn.gfx_generation_stepping
.long x
.fill .amdgcn.gfx_generation_minor
s_mov_b32 s0, .amdgcn.gfx_generation_number
";
    std::fs::write(&file, symbols)?;
    for target in ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"] {
        same(&["-triple=amdgcn-amd-amdhsa", &format!("-mcpu={target}"), name], true)?;
    }
    let data: Vec<&str> = symbols.lines().filter(|line| !line.starts_with("s_mov")).collect();
    std::fs::write(&file, data.join("\n") + "\n")?;
    same(&["-triple=amdgcn", "-mcpu=gfx942", name], true)
}

/// All directives of the target are printed, with defaults for missing ones.
fn kernel_descriptors() -> Result<(), Failed> {
    let file = folder("descriptors")?.join("descriptors.s");
    let name = file.to_str().ok_or("no name")?;
    let head = "\t.amdhsa_kernel k\n\t.amdhsa_next_free_vgpr 8\n\n\t.amdhsa_next_free_sgpr 2*8\n";
    for target in ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"] {
        let unified = matches!(target, "gfx90a" | "gfx942" | "gfx950");
        let accum = if unified {
            "\t.amdhsa_accum_offset 8\n\t.amdhsa_user_sgpr_kernarg_preload_length 3\n"
        } else {
            ""
        };
        let all =
            "\t.amdhsa_kernarg_size 0x40\n\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t.amdhsa_ieee_mode 0\n";
        for version in ["", ".amdhsa_code_object_version 4\n", ".amdhsa_code_object_version 5\n"] {
            for settings in ["", all] {
                let source = format!(
                    ".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n{version}k:\ns_endpgm\n{head}{accum}{settings}.end_amdhsa_kernel\n\n.text\n"
                );
                std::fs::write(&file, source)?;
                same(&["-triple=amdgcn-amd-amdhsa", &format!("-mcpu={target}"), name], true)?;
            }
        }
    }
    // Preloading uses more registers than the source names; without preloading, the source's number
    // is printed.
    for settings in [
        "kernarg_segment_ptr 1\n.amdhsa_user_sgpr_kernarg_preload_length 14",
        "private_segment_buffer 1\n.amdhsa_user_sgpr_count 7\n.amdhsa_user_sgpr_kernarg_preload_length 1",
        "private_segment_buffer 1\n.amdhsa_user_sgpr_kernarg_segment_ptr 1",
    ] {
        let source = format!(
            ".amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 2\n.amdhsa_accum_offset 4\n.amdhsa_user_sgpr_{settings}\n.end_amdhsa_kernel\n"
        );
        std::fs::write(&file, source)?;
        same(&["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", name], true)?;
    }
    // Text may have versions that no object has.
    let source = ".amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 1\n.amdhsa_accum_offset 4\n.end_amdhsa_kernel\n.text\nk: s_endpgm\n";
    std::fs::write(&file, source)?;
    for version in ["0", "2", "3", "4", "5", "6", "7", "4294967295"] {
        let version = format!("--amdhsa-code-object-version={version}");
        for kind in ["asm", "null"] {
            let kind = format!("-filetype={kind}");
            same(&["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", &version, &kind, name], true)?;
        }
    }
    for (version, message) in [
        ("3", "-amdhsa-code-object-version: expected 4, 5 or 6 for an object, found 3"),
        ("7", "-amdhsa-code-object-version: expected 4, 5 or 6 for an object, found 7"),
        ("-1", "invalid value '-1' for '--amdhsa-code-object-version"),
        ("4294967296", "4294967296 is not in 0..=4294967295"),
    ] {
        let version = format!("-amdhsa-code-object-version={version}");
        let output =
            wavemill(&["mc", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=obj", &version, name])?;
        let told = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(2), "{version}: {told}");
        assert!(told.contains(message), "{version}: {told}");
    }
    Ok(())
}

/// `lit(...)` stays where the source has it.
fn written_literals() -> Result<(), Failed> {
    let file = folder("literals")?.join("literals.s");
    let name = file.to_str().ok_or("no name")?;
    let text = "\
s_mov_b32 s0, lit(1.0)
s_mov_b32 s0, lit(100)
v_add_f32 v0, lit(1.5), v1
v_add_f32 v0, |lit(1.5)|, v1
v_add_f32 v0, -|lit(1.5)|, v1
v_add_f32 v0, neg(lit(1.5)), v1
v_add_f32 v0, abs(lit(1.5)), v1
v_add_f32 v0, lit( -1 ), v1
x = 3
v_add_u16 v0, lit((x-5)*2), v1
v_ceil_f64 v[0:1], lit(1.0)
v_ceil_f64 v[0:1], lit(1)
v_ceil_f64 v[0:1], |lit(1.0)|
v_add_f16 v0, lit(0x3c00), v1
v_madmk_f32 v0, v1, lit(1.0), v2
v_madak_f16 v0, v1, v2, lit(1.0)
s_add_u32 s0, lit(1), lit(1)
s_add_u32 s0, lit(1), 1
s_cmp_eq_u32 s0, lit(-16)
s_nop lit(4)
s_setreg_imm32_b32 hwreg(1), lit(5)
s_setreg_imm32_b32 hwreg(1), lit(-5)
s_setreg_imm32_b32 hwreg(1), lit(0x500)
s_setreg_imm32_b32 hwreg(1), 0x12345678
v_ceil_f32 v1, |-(1+1)|
";
    std::fs::write(&file, text)?;
    same(&["-triple=amdgcn", "-mcpu=gfx90a", "-show-encoding", name], true)
}

/// Operands that LLVM rejects, and that could be mistaken for symbols.
fn refused_operands() -> Result<(), Failed> {
    let file = folder("refused")?.join("refused.s");
    let name = file.to_str().ok_or("no name")?;
    for line in [
        "v_add_f32 v0, lit, v1",
        "s_mov_b32 s0, lit",
        "s_mov_b32 s0, lit+1",
        "s_branch lit(4)",
        "s_branch s0",
        "s_branch vcc",
        "s_call_b64 s[0:1], exec+4",
        "s_cbranch_scc0 v256",
        "v_madmk_f32 v0, v1, symbol, v2",
        "s_setreg_imm32_b32 hwreg(1), symbol",
        "v_readlane_b32 m0, v0, s1",
        "s_mov_b32 s0, -lit(1)",
        "v_add_f32 v0, lit(symbol), v1",
        "s_mov_b32 s0, tba_lo",
        "s_mov_b64 s[0:1], tma",
        "v_ceil_f32 v0, --1",
        "v_add_f32 v0, - -1, v1",
        "s_sub_u32 s0, u, u",
        "s_sub_u32 s0, u, u1",
        "s_mov_b64 s[0:1], u",
        "v_add_u16 v0, u, v0",
        "v_ceil_f64 v[0:1], u",
        "s_sendmsg sendmsg(MSG_GS, GS_OP_NOP)",
        "s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP, 0)",
        "s_sendmsg sendmsg(MSG_SYSMSG, SYSMSG_OP_ECC_ERR_INTERRUPT, 0)",
        "s_sendmsg sendmsg(MSG_SYSMSG, 0)",
    ] {
        std::fs::write(&file, format!("{line}\n"))?;
        // Wavemill finds some of them when all symbols are known, after the text.
        let args = ["-triple=amdgcn", "-mcpu=gfx90a", "-filetype=null", name];
        same(&args, false)?;
        let ours = wavemill(&[&["mc"][..], &args].concat())?;
        assert_eq!(ours.status.code(), Some(1), "{line}");
    }
    Ok(())
}

/// `.print` prints on the standard output in all kinds of output, and is not a warning.
fn printed_texts() -> Result<(), Failed> {
    let folder = folder("printed")?;
    let file = folder.join("printed.s");
    let name = file.to_str().ok_or("no name")?;
    let text = "s_nop 0\n.print \"a\\n\\\"b\"\n.macro m\n.print \"in m\"\n.endm\nm\n.if 0\n.print \"no\"\n.endif\ns_nop 1\n";
    std::fs::write(&file, text)?;
    let base = ["-triple=amdgcn", "-mcpu=gfx906", name];
    let object = folder.join("printed.o");
    let object = object.to_str().ok_or("no name")?;
    for args in [&[][..], &["-filetype=null"], &["-filetype=obj", "-o", object], &["-fatal-warnings"]] {
        same(&[&base[..], args].concat(), true)?;
    }
    std::fs::write(&file, ".print x\n.print\n.print \"a\" \"b\"\n")?;
    same(&base, false)?;
    // `asm` reports it as a note.
    std::fs::write(&file, text)?;
    let asm = |options: &[&str]| wavemill(&[&["asm", "--target", "gfx906"], options, &[name]].concat());
    let output = asm(&["--message-format", "short"])?;
    let (out, told) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert_eq!(out, "\ts_nop 0\n\ts_nop 1\n");
    assert_eq!(told, format!("{name}:2: note: a\\n\\\"b\n{name}:6: note: in m\n"));
    let told = String::from_utf8(asm(&["--message-format", "json"])?.stderr)?;
    assert!(told.contains("\"kind\":\"note\"") && told.contains("\"line\":6"), "{told}");
    let lines = String::from_utf8(asm(&["--json"])?.stdout)?;
    assert_eq!(lines.lines().nth(1), Some(r#"{"line":2,"print":"a\\n\\\"b"}"#));
    Ok(())
}

/// Options that llvm-mc accepts and that change nothing.
fn idle_options() -> Result<(), Failed> {
    let folder = folder("idle")?;
    let file = folder.join("idle.s");
    let name = file.to_str().ok_or("no name")?;
    std::fs::write(&file, STATEMENTS)?;
    for options in [
        "-mc-relax-all",
        "-no-exec-stack",
        "-output-asm-variant=0",
        "-print-imm-hex",
        "-dwarf-version=5",
        "-large-code-model -position-independent",
        "-main-file-name=x -fdebug-compilation-dir=/x",
        "-compress-debug-sections=none",
        "-save-temp-labels",
        "-target-abi=x -runs=1",
        "-show-encoding=0",
        "-show-encoding=true",
        "-fatal-warnings -no-warn",
        "-color",
        "-mattr -xnack",
        "-preserve-comments=false",
        // The last one counts, unless both add something.
        "-mcpu=gfx906 -triple=amdgcn -show-encoding -show-encoding",
        "-mattr=-xnack -mattr=+sramecc -defsym=A=1 -defsym=B=2",
    ] {
        let all: Vec<&str> =
            options.split(' ').chain(["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", name]).collect();
        same(&all, true)?;
    }
    // Both stay silent about it, and succeed.
    std::fs::write(&file, ".warning \"old\"\n")?;
    same(&["-triple=amdgcn", "-mcpu=gfx906", "-fatal-warnings", "-no-warn", name], true)?;
    let told = |options: &[&str]| -> Result<String, Failed> {
        let output = wavemill(&[&["mc", "-triple=amdgcn", "-mcpu=gfx906", name], options].concat())?;
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        Ok(String::from_utf8(output.stderr)?)
    };
    assert!(told(&["-no-exec-stack", "-filetype=obj"])?.contains("-no-exec-stack is not supported: "));
    assert!(told(&["-g"])?.contains("`.file` and `.loc` in the source make line tables"));
    assert!(told(&["-show-encoding=maybe"])?.contains("-show-encoding: expected 1 or 0, found `maybe`"));
    Ok(())
}

/// Labels of the source are not generated again.
fn names_of_places() -> Result<(), Failed> {
    let folder = folder("places")?;
    let file = folder.join("places.s");
    let name = file.to_str().ok_or("no name")?;
    std::fs::write(folder.join("inner.s"), ".Ltmp2:\n")?;
    std::fs::write(
        &file,
        "1: s_branch 1b\n.long .-.Ltmp0\n.Ltmp0: s_nop 0\n.include \"inner.s\"\n.long .Ltmp2, .\n",
    )?;
    let include = folder.to_str().ok_or("no name")?;
    let output = wavemill(&["mc", "-triple=amdgcn", "-mcpu=gfx906", "-I", include, name])?;
    assert!(output.status.success(), "{output:?}");
    let wanted = "\
.Ltmp1:
\ts_branch .Ltmp1
.Ltmp3:
\t.long\t.Ltmp3-.Ltmp0
.Ltmp0:
\ts_nop 0

.Ltmp2:

\t.long\t.Ltmp2
.Ltmp4:
\t.long\t.Ltmp4
";
    assert_eq!(String::from_utf8(output.stdout)?, wanted);
    text_has_the_bytes_of(&std::fs::read_to_string(&file)?, "gfx906", &folder)
}

/// Where included files are searched, and the positions of errors in them.
fn included_files() -> Result<(), Failed> {
    let folder = folder("included")?;
    std::fs::create_dir_all(folder.join("sub"))?;
    for (name, text) in [
        ("main.s", "s_nop 0\n.include \"outer.s\"\nv_no_such\n"),
        ("outer.s", "s_nop 1\n\n.include \"inner.s\"\n"),
        ("inner.s", "s_nop 2\nv_no_such\n.warning \"old\"\n"),
        ("sub/outer.s", "s_nop 9\n"),
        ("sub/main.s", ".include \"outer.s\"\n"),
        ("sub/alone.s", "s_nop 3\n"),
        ("needs.s", ".include \"alone.s\"\n"),
        ("empty.s", ""),
        ("unended.s", "s_nop 6"),
        (
            "lines.s",
            ".include \"sub/alone.s\" // a comment\n\t.include \"nested.s\" /* another */\nlab: .include \"empty.s\"\n.if 0\n.include \"empty.s\"\n.endif\n.rept 2\n.include \"unended.s\"\n.endr\n\ns_nop 0\n.include \"nested.s\"\n",
        ),
        ("nested.s", "s_nop 4\n.include \"sub/alone.s\"\n"),
    ] {
        std::fs::write(folder.join(name), text)?;
    }
    let in_folder = |program: &Path, args: &[&str]| {
        Command::new(program)
            .current_dir(&folder)
            .args(["-triple=amdgcn", "-mcpu=gfx90a"])
            .args(args)
            .output()
    };
    for args in
        [&["main.s"][..], &["sub/main.s"], &["sub/../needs.s"], &["needs.s", "-I", "sub"], &["lines.s"]]
    {
        let ours = Command::new(env!("CARGO_BIN_EXE_wavemill"))
            .current_dir(&folder)
            .args(["mc", "-triple=amdgcn", "-mcpu=gfx90a"])
            .args(args)
            .output()?;
        let theirs = in_folder(&Tool::LlvmMc.path()?, args)?;
        // Ours has other words for errors, and notes.
        let places = |output: &Output| {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let place = |line: &str| {
                let end =
                    [": error: ", ": warning: "].iter().find_map(|kind| Some(line.find(kind)? + kind.len()));
                end.and_then(|end| line.get(..end).map(str::to_owned))
            };
            let mut all: Vec<String> = Vec::new();
            let mut includers: Vec<&str> = Vec::new();
            for line in text.lines() {
                if line.starts_with("Included from ") {
                    includers.push(line);
                } else if line.contains(": note: ") {
                    includers.clear();
                } else if let Some(place) = place(line) {
                    all.push(format!("{} {place}", includers.join(" ")));
                    includers.clear();
                }
            }
            // Here, warnings come after errors.
            all.sort();
            all
        };
        assert_eq!(places(&ours), places(&theirs), "{args:?}");
        assert_eq!(ours.status.code(), theirs.status.code(), "{args:?}");
        // One continues after errors, the other not always.
        if theirs.status.success() {
            let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(text(&ours), text(&theirs), "{args:?}");
        }
    }
    Ok(())
}

/// Bytes of comments and strings stay unchanged.
fn other_bytes() -> Result<(), Failed> {
    let folder = folder("bytes")?;
    let [file, ours, theirs] = ["bytes.s", "ours.o", "theirs.o"].map(|name| folder.join(name));
    let name = |path: &Path| path.to_string_lossy().into_owned();
    std::fs::write(&file, b"s_nop 0 // caf\xe9\n/* \xff */ .data\n.ascii \"a\xffb\xc3\xa9\xef\x9c\x81\"\n")?;
    let args = ["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=obj"];
    let output = wavemill(&[&["mc"], &args[..], &[&name(&file), "-o", &name(&ours)]].concat())?;
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let output =
        Command::new(Tool::LlvmMc.path()?).args(args).args([&name(&file), "-o", &name(&theirs)]).output()?;
    assert!(output.status.success(), "{output:?}");
    let wanted: &[u8] = b"a\xffb\xc3\xa9\xef\x9c\x81";
    for object in [&ours, &theirs] {
        let bytes = std::fs::read(object)?;
        assert!(bytes.windows(wanted.len()).any(|part| part == wanted), "{}", object.display());
    }
    same(&["-triple=amdgcn", "-mcpu=gfx90a", &name(&file)], true)?;
    std::fs::write(&file, b"s_nop 0\n\ts_b\xffranch x\n")?;
    let output = wavemill(&["mc", "-triple=amdgcn", "-mcpu=gfx90a", &name(&file)])?;
    let message = String::from_utf8(output.stderr)?;
    assert!(
        message.contains(
            "bytes.s:2:5: error: expected UTF-8 outside of strings and comments, found the byte 0xff\n"
        ),
        "{message}"
    );
    Ok(())
}

fn machine_code() -> Result<(), Failed> {
    let file = folder("machine_code")?.join("code.txt");
    let name = file.to_str().ok_or("no name")?;
    for text in [
        "0x01,0x02,0x02,0x7e\n[0x00,0x00,0x81,0xbf] # a comment\n0xff,0xff,0xff,0xff\n0x01,0x02,0x02,0x7e\n",
        "0xff,0xff,0xff,0xff\n0x01,0x02,0x02,0x7e\n0x00 0x00 0x80\n",
        "[0xff,0xff,0xff,0xff,0x01,0x02,0x02,0x7e]\n[0x01,0x02,0x02,0x7e]\n# only a comment\n",
        "0x01,0x02,0x02,0x7e\n0x1ff\n0x01,0x02,0x02,0x7e\n",
        "1 2 2 126 0x0, 0x0 129 191\n",
        "",
    ] {
        std::fs::write(&file, text)?;
        for args in [&[][..], &["-show-encoding"]] {
            let command = [&["-triple=amdgcn", "-mcpu=gfx90a", "-disassemble"], args, &[name]].concat();
            same(&command, true)?;
        }
    }
    std::fs::write(&file, "0102027e 000081bf\n")?;
    same(&["-triple=amdgcn", "-mcpu=gfx90a", "-disassemble", "-hex", name], true)
}

/// The instructions of the kernels, assembled and disassembled.
fn kernels(target: &str) -> Result<(), Failed> {
    let folder = folder(target)?;
    let (cpu, file) = (format!("-mcpu={target}"), folder.join("kernel.s"));
    let name = file.to_str().ok_or("no name")?;
    for object in objects(target)?.iter().step_by(4) {
        let source = wavemill(&["dis", "--no-show-raw-insn", object.to_str().ok_or("no name")?])?.stdout;
        let source = String::from_utf8(source)?;
        let code = |line: &&str| {
            line.starts_with(".LBB")
                || line.starts_with('\t') && !line.starts_with("\t.") && !line.starts_with("\t\t")
        };
        let lines: Vec<&str> = source.lines().filter(code).collect();
        assert!(lines.len() > 20, "{}", object.display());
        std::fs::write(&file, lines.join("\n") + "\n")?;
        same(&["-triple=amdgcn", &cpu, "-show-encoding", name], true)?;
        let output = wavemill(&["mc", "-triple=amdgcn", &cpu, "-show-encoding", name])?.stdout;
        let output = String::from_utf8(output)?;
        let encodings =
            output.lines().filter_map(|line| Some(line.split_once("; encoding: [")?.1.trim_end_matches(']')));
        let bytes: Vec<&str> = encodings.filter(|list| !list.contains('A')).collect();
        std::fs::write(&file, bytes.join("\n") + "\n")?;
        same(&["-triple=amdgcn", &cpu, "-disassemble", name], true)?;
    }
    Ok(())
}

/// Sources that `wavemill dis` writes, assembled and linked by LLVM.
fn sources(target: &str) -> Result<(), Failed> {
    let folder = folder(&format!("sources_{target}"))?;
    let [source, object, linked] = ["kernel.s", "kernel.o", "kernel.co"].map(|name| folder.join(name));
    for path in objects(target)?.iter().step_by(2) {
        let output = wavemill(&["dis", path.to_str().ok_or("no name")?])?;
        std::fs::write(&source, output.stdout)?;
        let run = |command: &mut Command| -> Result<(), Failed> {
            let output = command.output()?;
            match output.status.success() {
                true => Ok(()),
                false => {
                    Err(format!("{}: {}", path.display(), String::from_utf8_lossy(&output.stderr)).into())
                }
            }
        };
        run(Command::new(Tool::LlvmMc.path()?)
            .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj", &format!("-mcpu={target}")])
            .arg(&source)
            .arg("-o")
            .arg(&object))?;
        run(Command::new(Tool::Program("ld.lld-22").path()?)
            .arg("-shared")
            .arg(&object)
            .arg("-o")
            .arg(&linked))?;
        let (first, second) = (unlink(&std::fs::read(path)?)?, unlink(&std::fs::read(&linked)?)?);
        let differences = first.differences(&second);
        if !differences.is_empty() {
            return Err(format!("{}: {differences:#?}", path.display()).into());
        }
    }
    Ok(())
}

fn options() -> Result<(), Failed> {
    let message = |args: &[&str], code: i32| -> Result<String, Failed> {
        let output = wavemill(args)?;
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        Ok(String::from_utf8(output.stderr)?)
    };
    let text = message(&["mc", "-mcpu=gfx906", "-show-encodin"], 2)?;
    assert!(
        text.contains("unexpected argument '--show-encodin'") && text.contains("'--show-encoding'"),
        "{text}"
    );
    let text = message(&["mc", "-triple=x86_64", "-mcpu=gfx906"], 2)?;
    assert!(text.contains("expected amdgcn or a triple such as amdgcn-amd-amdhsa, found `x86_64`"), "{text}");
    let text = message(&["mc", "-triple=amdgcn", "-"], 2)?;
    assert!(text.contains("the processor is missing: name it with -mcpu"), "{text}");
    assert!(message(&["mc", "-mcpu=gfx1030", "-"], 2)?.contains("gfx1030"));
    let text = message(&["mc", "-mcpu=gfx906", "-show-inst", "-"], 2)?;
    assert!(
        text.contains("-show-inst is not supported: it prints numbers and names from LLVM's internal tables"),
        "{text}"
    );
    assert!(message(&["mc", "-mcpu=gfx906", "no_such_file.s"], 1)?.contains("there is no file"));
    let source = folder("options")?.join("warning.s");
    std::fs::write(&source, "s_nop X\n.warning \"old\"\n")?;
    let name = source.to_str().ok_or("no name")?;
    let base = ["mc", "-triple=amdgcn", "-mcpu=gfx906", name];
    let ended = |options: &[&str]| -> Result<(Option<i32>, String, String), Failed> {
        let output = wavemill(&[&base[..], options].concat())?;
        Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
    };
    // All symbols are defined, whatever the number of options.
    let (code, text, _) = ended(&["-defsym=Y=1", "-defsym=X=5", "-defsym=Z=1"])?;
    assert!(code == Some(0) && text.contains("s_nop 5\n"), "{text}");
    // Numbers are parsed as in sources.
    for (value, number) in [("X=010", 8), ("X=0b11", 3), ("X=0X10", 16), ("X=7", 7)] {
        let (code, text, _) = ended(&["-defsym", value])?;
        assert_eq!((code, text.contains(&format!("s_nop {number}\n"))), (Some(0), true), "{value}: {text}");
    }
    for value in ["X", "X=", "=1", "X=1.5", "X=1 2", "X=08"] {
        assert_eq!(ended(&["-defsym", value])?.0, Some(2), "{value}");
    }
    let (code, _, told) = ended(&["-defsym=X=1", "--fatal-warnings"])?;
    assert!(code == Some(1) && told.contains("warning.s:2:1: error: old"), "{code:?} {told}");
    let (code, _, told) = ended(&["-defsym=X=1", "-no-warn"])?;
    assert_eq!((code, told.as_str()), (Some(0), ""));
    let (_, _, told) = ended(&["-no-such-option"])?;
    assert!(told.contains("--no-such-option") && !told.contains("tip:"), "{told}");
    let (_, _, told) = ended(&["--message-format", "json", "-defsym=X=1"])?;
    assert!(told.starts_with("{\"") && told.contains("\"line\":2"), "{told}");
    let help = wavemill(&["mc", "-triple=amdgcn", "-mcpu=help"])?;
    assert!(help.status.success() && String::from_utf8(help.stdout)?.contains("gfx90a"));
    let named = wavemill(&["mc", "-triple=amdgpu9.50-amd-amdhsa", "-defsym=X=1", name])?;
    assert!(String::from_utf8(named.stdout)?.contains("gfx950"));
    let version = wavemill(&["mc", "-version"])?;
    assert!(version.status.success() && String::from_utf8(version.stdout)?.starts_with("wavemill "));
    Ok(())
}
