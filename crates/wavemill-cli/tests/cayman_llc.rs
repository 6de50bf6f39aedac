//! Object files of LLVM's r600 backend are disassembled and assembled to the same programs.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use common::{Folder, err, out};
use wavemill_object::r600::R600Object;
use wavemill_oracle::{Failed, Suite, Tool, kernels, listed, random_r600_program, run, whole_suites};

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

/// Random programs of a whole run, and of a sample.
const RANDOM_PROGRAMS: usize = 300;
const RANDOM_SAMPLE: usize = 30;

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("objects of the corpus come back", corpus_comes_back);
    suite.oracle_test("objects of LLVM come back", &[Tool::Program("llc-22")], objects_come_back);
    suite.oracle_test("objects of random programs come back", &[Tool::Program("llc-22")], random_programs);
    if !whole_suites() {
        suite.left_out(RANDOM_PROGRAMS - RANDOM_SAMPLE);
    }
    suite.run()
}

/// Disassembles the object file, assembles the text, and compares: code, the names and registers of
/// programs, relocations.
fn comes_back(folder: &Folder, object: &Path) -> Result<(), Failed> {
    for args in [
        &["dis", &object.to_string_lossy(), "-o", "ours.s"][..],
        &["asm", "--target", "cayman", "ours.s", "-o", "ours.o"],
        &["info", &object.to_string_lossy()],
    ] {
        let output = folder.run(args);
        // LLVM reserves less of the stack for masks than the manual says, has barriers in branches
        // that all lanes take, and does not keep relative accesses apart.
        let known =
            ["a stack of", "GROUP_BARRIER outside of branches", "a group between an AR-relative access"];
        let said = err(&output);
        let mut warnings = said.lines().filter(|line| line.starts_with("warning"));
        let other = warnings.any(|line| !known.iter().any(|text| line.contains(text)));
        if !output.status.success() || other {
            return Err(format!("{}: {args:?}: {}{}", object.display(), out(&output), said).into());
        }
    }
    let (ours, theirs) = (folder.0.join("ours.o"), object);
    let (ours, theirs) = (std::fs::read(ours)?, std::fs::read(theirs)?);
    let (ours, theirs) = (R600Object::parse(&ours)?, R600Object::parse(&theirs)?);
    let about = object.display();
    let differs = ours.text.iter().zip(theirs.text).position(|(one, other)| one != other);
    if let Some(at) = differs {
        return Err(format!("{about}: another byte at {at:#x} of the code").into());
    }
    if ours != theirs {
        let of = |object: &R600Object<'_>| {
            format!("{} bytes, {:?}, {:?}", object.text.len(), object.parts, object.relocations)
        };
        return Err(format!("{about}:\nexpected {}\nfound {}", of(&theirs), of(&ours)).into());
    }
    Ok(())
}

/// The object files that `kernels/cayman/build.sh` makes.
fn corpus_comes_back() -> Result<(), Failed> {
    let folder = Folder::new("cayman_corpus");
    let objects = listed(&kernels().join("bin/cayman"), "o");
    assert!(objects.len() >= 36, "{}", objects.len());
    objects.iter().try_for_each(|object| comes_back(&folder, &object.canonicalize()?))
}

fn random_programs() -> Result<(), Failed> {
    let count = if whole_suites() { RANDOM_PROGRAMS } else { RANDOM_SAMPLE };
    let folder = Folder::new("cayman_random");
    let llc = Tool::Program("llc-22").path()?;
    let (source, object) = (folder.0.join("random.ll"), folder.0.join("theirs.o"));
    let mut refused = 0;
    for seed in 0..count as u64 {
        folder.file("random.ll", random_r600_program(seed));
        let arguments = ["-mtriple=r600--", "-mcpu=cayman", "-filetype=obj", "-o"];
        if !Command::new(&llc).args(arguments).arg(&object).arg(&source).output()?.status.success() {
            refused += 1;
            continue;
        }
        comes_back(&folder, &object).map_err(|error| format!("seed {seed}: {error:?}"))?;
    }
    println!("{count} random programs, of which llc refuses {refused}");
    assert!(5 * refused < count, "{refused}");
    Ok(())
}

fn objects_come_back() -> Result<(), Failed> {
    let folder = Folder::new("cayman_llc");
    let probes = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../wavemill-isa/tests/data/cayman"));
    folder.file("table.ll", TABLE);
    let mut files = listed(&probes, "ll");
    files.push(folder.0.join("table.ll"));
    assert_eq!(files.len(), 12);
    let llc = Tool::Program("llc-22").path()?;
    let object = folder.0.join("theirs.o");
    for file in files {
        let arguments = ["-mtriple=r600--", "-mcpu=cayman", "-filetype=obj", "-o"];
        run(Command::new(&llc).args(arguments).arg(&object).arg(&file))?;
        comes_back(&folder, &object)?;
    }
    Ok(())
}
