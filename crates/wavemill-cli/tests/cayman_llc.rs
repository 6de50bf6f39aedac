//! Object files of LLVM's r600 backend are disassembled and assembled to the same programs.

mod common;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use common::{Folder, err, out};
use wavemill_oracle::{Failed, Suite, Tool, run};

/// A kernel that reads a table, which LLVM puts into the code, and one more.
const TABLE: &str = "@t = internal addrspace(4) constant [4 x i32] [i32 7, i32 11, i32 13, i32 17]
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %i) {
  %p = getelementptr [4 x i32], ptr addrspace(4) @t, i32 0, i32 %i
  %v = load i32, ptr addrspace(4) %p
  store i32 %v, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @k2(ptr addrspace(1) %o, i32 %i) {
  store i32 %i, ptr addrspace(1) %o
  ret void
}
";

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.oracle_test("objects of LLVM come back", &[Tool::Program("llc-22")], objects_come_back);
    suite.run()
}

/// A section of an object, as digits.
fn section(path: &std::path::Path, name: &str) -> Result<Vec<u8>, Failed> {
    let bytes = std::fs::read(path)?;
    let object = wavemill_object::r600::R600Object::parse(&bytes)?;
    match name {
        "text" => Ok(object.text.to_vec()),
        _ => Ok(format!("{:?} {:?}", object.parts, object.relocations).into_bytes()),
    }
}

fn objects_come_back() -> Result<(), Failed> {
    let folder = Folder::new("cayman_llc");
    let probes = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../wavemill-isa/tests/data/cayman"));
    folder.file("table.ll", TABLE);
    let mut files = vec![folder.0.join("table.ll")];
    for entry in std::fs::read_dir(probes)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ll") {
            files.push(path);
        }
    }
    assert_eq!(files.len(), 12);
    let llc = Tool::Program("llc-22").path()?;
    for file in files {
        let object = folder.0.join("theirs.o");
        let arguments = ["-mtriple=r600--", "-mcpu=cayman", "-filetype=obj", "-o"];
        run(Command::new(&llc).args(arguments).arg(&object).arg(&file))?;
        for args in [
            &["dis", "theirs.o", "-o", "ours.s"][..],
            &["asm", "--target", "cayman", "ours.s", "-o", "ours.o"],
            &["info", "theirs.o"],
        ] {
            let output = folder.run(args);
            // LLVM reserves less of the stack for masks than the manual says.
            let said = err(&output);
            let other = said.lines().any(|line| line.starts_with("warning") && !line.contains("a stack of"));
            if !output.status.success() || other {
                return Err(format!("{}: {args:?}: {}{}", file.display(), out(&output), said).into());
            }
        }
        for name in ["text", "parts"] {
            let ours = section(&folder.0.join("ours.o"), name)?;
            assert!(
                ours == section(&object, name)?,
                "{}: {name}: {}",
                file.display(),
                String::from_utf8_lossy(&ours)
            );
        }
    }
    Ok(())
}
