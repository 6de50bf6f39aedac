//! `--format objdump` against `llvm-objdump-22 -d`, line for line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wavemill_oracle::{Failed, Suite, Tool, objdump};

/// The folder of the code objects that the project compiles for its tests.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin")
}

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    for target in ["gfx906", "gfx90a", "gfx942", "gfx950"] {
        suite.oracle_test(format!("kernels of {target}"), &[Tool::LlvmObjdump], move || {
            let mut compared = 0;
            for entry in std::fs::read_dir(fixtures().join(target))? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "co") {
                    compare(&path)?;
                    compared += 1;
                }
            }
            if compared < 19 { Err(format!("{compared} objects compared").into()) } else { Ok(()) }
        });
    }
    let tools = [Tool::LlvmObjdump, Tool::LlvmMc, Tool::Program("ld.lld-22"), Tool::Program("llvm-strip-22")];
    suite.oracle_test("everything but instructions", &tools, odd_object);
    suite.run()
}

/// Compares the listings of a file.
fn compare(path: &Path) -> Result<(), Failed> {
    let object = std::fs::read(path)?;
    for (labels, options) in [(false, &["-d"][..]), (true, &["-d", "--symbolize-operands"])] {
        let theirs = objdump(path, options)?;
        let mut ours = Vec::new();
        wavemill_cli::write_objdump(&mut ours, &path.display().to_string(), &object, labels)?;
        same_listing(path, ours, &theirs)?;
    }
    Ok(())
}

fn same_listing(path: &Path, ours: Vec<u8>, theirs: &str) -> Result<(), Failed> {
    let ours = String::from_utf8(ours)?;
    for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        if ours != theirs {
            let place = format!("{}, line {} of the listing", path.display(), number + 1);
            return Err(format!("{place}:\n ours   {ours}\n theirs {theirs}").into());
        }
    }
    match ours == theirs {
        true => Ok(()),
        false => Err(format!("{}: one listing is longer", path.display()).into()),
    }
}

/// Unknown words, zeros, labels, variables among code, code in several sections, code that ends
/// within a word.
const ODD: &str = r#"
.type first,@function
first:
s_nop 0
.long 0xffffffff
.long 0
s_nop 1
.quad 0
s_nop 2
.quad 0
.long 0
s_branch label
s_branch first
s_branch second
s_cbranch_scc0 third
s_branch -3
s_call_b64 s[4:5], first
s_call_b64 s[4:5], label
s_branch -1000
label:
v_add_f32 v0, v1, v2
.type second,@function
.type third,@function
third:
second:
s_endpgm
.byte 1,2,3
.section .more,"ax",@progbits
s_nop 0
.type variable,@object
variable:
.quad 0x4142430044454647
.long 0x20304
.type last,@function
last:
s_endpgm
.byte 7
"#;

fn odd_object() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [source, object, linked, stripped] =
        ["odd.s", "odd.o", "odd.co", "odd_stripped.co"].map(|name| folder.join(name));
    std::fs::write(&source, ODD)?;
    let run = |tool: Tool, arguments: &[&std::ffi::OsStr]| -> Result<(), Failed> {
        let output = std::process::Command::new(tool.path()?).args(arguments).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    };
    let (triple, cpu) = ("-triple=amdgcn-amd-amdhsa".as_ref(), "-mcpu=gfx942".as_ref());
    let to = "-o".as_ref();
    let obj = "-filetype=obj".as_ref();
    run(Tool::LlvmMc, &[triple, cpu, obj, source.as_ref(), to, object.as_ref()])?;
    run(Tool::Program("ld.lld-22"), &["-shared".as_ref(), object.as_ref(), to, linked.as_ref()])?;
    compare(&linked)?;
    run(Tool::Program("llvm-strip-22"), &["--strip-all".as_ref(), linked.as_ref(), to, stripped.as_ref()])?;
    compare(&stripped)
}
