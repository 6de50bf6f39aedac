//! Compares written files with the output of `llvm-mc` and `ld.lld`.
//!
//! Reads objects of the assembler and the compiler into a module, writes and links it again, and
//! compares every section, symbol, relocation and header.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU32, Ordering};

use object::elf::SHF_COMPRESSED;
use object::{Object as _, ObjectSection as _, SectionFlags};
use wavemill_object::write::{LinkError, LinkOptions, Undefined, link_with, write_relocatable};
use wavemill_object::{CodeObject, Limits, loadable, read_relocatable};
use wavemill_oracle::{Failed, Suite, Tool, clang, kernels, listed, run, same_linked, same_relocatable};

mod messages;

const LLD: Tool = Tool::Program("ld.lld-22");
const KEEP: LinkOptions = LinkOptions { undefined: Undefined::Keep, symbolic: false, max_size: u64::MAX };

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("messages", messages::messages);
    let tools = [Tool::LlvmMc, LLD];
    for entry in sources() {
        let name = format!("assembly: {}", entry.file_stem().unwrap_or_default().to_string_lossy());
        suite.oracle_test(name, &tools, move || assembly(&entry));
    }
    suite.oracle_test("what the linker refuses", &tools, refused);
    suite.oracle_test("compressed debug information", &[Tool::Clang, LLD], compressed);
    for object in listed(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), "o") {
        let name = format!("fixture: {}", object.file_stem().unwrap_or_default().to_string_lossy());
        suite.oracle_test(name, &[LLD], move || {
            assert!(same_loadable(&Folder::new()?.0, &object)?, "the linker accepts it");
            Ok(())
        });
    }
    suite.oracle_test("target ids and versions", &tools, headers);
    for (at, kernel) in listed(&kernels(), "cl").into_iter().enumerate() {
        let name = kernel.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // One target each for most kernels, all targets for kernels with rare features: calls,
        // tables of functions, texts, variables.
        let all = ["function_pointers", "printf", "call_chain", "scratch", "litmus", "crc32"]
            .contains(&name.as_str());
        for (index, target) in ["gfx906", "gfx90a", "gfx942", "gfx950"].into_iter().enumerate() {
            for level in ["-O0", "-O2"] {
                if all || (at % 4 == index && level == "-O2") {
                    let kernel = kernel.clone();
                    suite.oracle_test(
                        format!("kernel: {name} {target} {level}"),
                        &[Tool::Clang, LLD],
                        move || compiled(&kernel, target, level),
                    );
                }
            }
        }
    }
    suite.run()
}

fn sources() -> Vec<PathBuf> {
    listed(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linked"), "s")
}

/// A folder for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failed> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wavemill-linked-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Assembles a source with LLVM.
fn assemble(source: &Path, target: &str, object: &Path) -> Result<(), Failed> {
    let (processor, features) = target.split_once(':').unwrap_or((target, ""));
    let features: Vec<_> = features
        .split(':')
        .filter(|feature| !feature.is_empty())
        .map(|feature| {
            let (name, sign) = feature.split_at(feature.len() - 1);
            format!("{sign}{name}")
        })
        .collect();
    run(Command::new(Tool::LlvmMc.path()?)
        .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj", &format!("-mcpu={processor}")])
        .arg(format!("-mattr={}", features.join(",")))
        .arg(source)
        .arg("-o")
        .arg(object))?;
    Ok(())
}

fn lld(object: &Path, linked: &Path, options: &[&str]) -> Result<(), Failed> {
    run(Command::new(LLD.path()?).arg("-shared").args(options).arg(object).arg("-o").arg(linked))?;
    Ok(())
}

/// Reads an object from LLVM, writes it and links it, and compares both files with those of LLVM's
/// tools.
fn check(folder: &Path, object: &Path) -> Result<(), Failed> {
    let theirs = std::fs::read(object)?;
    let module = read_relocatable(&theirs, &Limits::default())?;
    let ours = write_relocatable(&module)?;
    same_relocatable(&theirs, &ours)?;

    let (linked, linked_from_ours) = (folder.join("theirs.so"), folder.join("from-ours.so"));
    lld(object, &linked, &[])?;
    let linked = std::fs::read(linked)?;
    let own = folder.join("ours.o");
    std::fs::write(&own, &ours)?;
    lld(&own, &linked_from_ours, &[])?;
    assert_eq!(linked, std::fs::read(linked_from_ours)?, "the linker sees a difference between the objects");

    let ours = link_with(&module, &KEEP)?;
    std::fs::write(folder.join("ours.so"), &ours)?;
    same_linked(&linked, &ours)?;
    let (theirs, ours) = (CodeObject::parse(&linked)?, CodeObject::parse(&ours)?);
    assert_eq!(theirs.kernels(), ours.kernels());
    assert_eq!(theirs.metadata(), ours.metadata());
    assert_eq!((theirs.target(), theirs.version()), (ours.target(), ours.version()));
    Ok(())
}

/// Compares what is loaded for a relocatable file with what the linker makes of it. Both reject the
/// same files. Returns whether they accept it.
fn same_loadable(folder: &Path, object: &Path) -> Result<bool, Failed> {
    let linked = folder.join("loadable.so");
    let theirs = lld(object, &linked, &["--no-undefined", "-Bsymbolic"]);
    let object = std::fs::read(object)?;
    match (theirs, loadable(&object, &Limits::default())) {
        (Ok(()), Ok(ours)) => same_linked(&std::fs::read(&linked)?, &ours).map(|()| true),
        (Err(_), Err(_)) => Ok(false),
        (theirs, ours) => Err(format!("{theirs:?}, but {:?}", ours.map(drop)).into()),
    }
}

fn assembly(source: &Path) -> Result<(), Failed> {
    let folder = Folder::new()?;
    for target in ["gfx906", "gfx90a", "gfx942", "gfx950"] {
        let object = folder.0.join("theirs.o");
        assemble(source, target, &object)?;
        check(&folder.0, &object).map_err(|error| format!("{target}: {error:?}"))?;
        same_loadable(&folder.0, &object)?;
    }
    Ok(())
}

fn compiled(source: &Path, target: &str, level: &str) -> Result<(), Failed> {
    let folder = Folder::new()?;
    let object = folder.0.join("theirs.o");
    let debug = if level == "-O0" { " -g" } else { "" };
    run(clang(source, target, &format!("-c -fno-ident {level}{debug}"))?.arg("-o").arg(&object))?;
    check(&folder.0, &object)?;
    assert!(same_loadable(&folder.0, &object)?, "a compiled kernel needs no other file");
    Ok(())
}

/// The linker decompresses debug information.
fn compressed() -> Result<(), Failed> {
    let folder = Folder::new()?;
    let object = folder.0.join("compressed.o");
    for method in ["zlib", "zstd"] {
        let source = kernels().join("softmax.cl");
        run(clang(&source, "gfx942", &format!("-c -fno-ident -g -gz={method}"))?.arg("-o").arg(&object))?;
        let file = std::fs::read(&object)?;
        let file = object::File::parse(&*file)?;
        let compressed = |section: object::Section<'_, '_>| {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
            sh_flags.0 & SHF_COMPRESSED.0 != 0
        };
        assert!(file.sections().any(compressed), "clang compresses with {method}");
        assert!(same_loadable(&folder.0, &object)?, "{method}");
    }
    Ok(())
}

/// Both linkers reject the same modules. For a module that both accept, the files are equal. The
/// columns: whether they accept a module, and whether it can be loaded alone.
fn refused() -> Result<(), Failed> {
    let folder = Folder::new()?;
    let code = [
        ("a distance to a symbol that may be replaced", "s_add_u32 s0, s0, shown@rel32@lo+4", false, true),
        ("a distance to a symbol that may not", "s_add_u32 s0, s0, guarded@rel32@lo+4", true, true),
        ("a distance to a number", "s_add_u32 s0, s0, number@rel32@lo+4", false, false),
        ("a distance to what is undefined", "s_add_u32 s0, s0, nowhere@rel32@lo+4", false, false),
        ("an address in code", ".quad guarded", false, false),
        ("half an address", ".section .data\n.long guarded", false, false),
        ("an address in data", ".section .data\n.quad guarded", true, true),
        ("an address of what is undefined", ".section .data\n.quad nowhere", true, false),
        (
            "an address of what is undefined and hidden",
            ".hidden lost\n.section .data\n.quad lost",
            false,
            false,
        ),
        ("a number in code", ".long fixed", true, true),
        ("a weak symbol", ".section .data\n.quad perhaps", true, true),
        ("a weak symbol in code", ".quad perhaps", false, false),
        ("a weak symbol that is hidden", ".quad unlikely", true, true),
    ];
    for (what, line, fine, fine_alone) in code {
        let source = folder.0.join("source.s");
        let text = format!(
            "\t.text\n\t.globl shown\nshown:\n\ts_nop 0\n\t.globl guarded\n\t.protected guarded\nguarded:\n\ts_endpgm\n\
             \t.globl number\nnumber = 5\n\t.globl fixed\n\t.hidden fixed\nfixed = 7\n             \t.weak perhaps\n\t.weak unlikely\n\t.hidden unlikely\n\t{}\n",
            line.replace('\n', "\n\t")
        );
        std::fs::write(&source, text)?;
        let (object, linked) = (folder.0.join("object.o"), folder.0.join("linked.so"));
        assemble(&source, "gfx90a", &object)?;
        let theirs = lld(&object, &linked, &[]);
        let ours = link_with(&read_relocatable(&std::fs::read(&object)?, &Limits::default())?, &KEEP);
        assert_eq!(theirs.is_ok(), fine, "{what}: {theirs:?}");
        match ours {
            Ok(ours) => {
                assert!(fine, "{what}");
                same_linked(&std::fs::read(&linked)?, &ours)?;
            }
            Err(LinkError::Problems(problems)) => {
                assert!(!fine && problems.len() == 1, "{what}: {problems:?}")
            }
            Err(error) => return Err(format!("{what}: {error}").into()),
        }
        let alone = same_loadable(&folder.0, &object).map_err(|error| format!("{what}: {error:?}"))?;
        assert_eq!(alone, fine_alone, "{what}, loaded alone");
    }
    Ok(())
}

/// Header flags of every target, feature setting and version.
fn headers() -> Result<(), Failed> {
    let folder = Folder::new()?;
    let (source, object) = (folder.0.join("source.s"), folder.0.join("object.o"));
    for target in [
        "gfx900",
        "gfx900:xnack+",
        "gfx900:xnack-",
        "gfx906",
        "gfx906:sramecc-:xnack+",
        "gfx908:sramecc+",
        "gfx90a",
        "gfx90a:sramecc-:xnack-",
        "gfx90a:sramecc+:xnack+",
        "gfx942:xnack+",
        "gfx950:sramecc-",
        "gfx9-generic",
        "gfx9-generic:xnack-",
        "gfx9-4-generic:sramecc+:xnack-",
    ] {
        // Generic processors have a version, which only version 6 can hold.
        let versions = if target.contains("generic") { &[6][..] } else { &[4, 5, 6] };
        for version in versions {
            let text = format!(
                ".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n.amdhsa_code_object_version {version}\ns_endpgm\n"
            );
            std::fs::write(&source, text)?;
            assemble(&source, target, &object)?;
            check(&folder.0, &object).map_err(|error| format!("{target} v{version}: {error:?}"))?;
        }
    }
    Ok(())
}
