//! How fast machine code is decoded, printed, read again and assembled: one thread, the code of the kernels for gfx942.
//!
//! `cargo bench -p wavemill-asm --bench text`

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use object::{Object, ObjectSection};
use wavemill_asm::gcn::{parse, print};
use wavemill_asm::{Options, assemble};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Inst, decode};

const TARGET: Target = Target::Gfx942;

/// The code of all kernels, as instructions.
fn instructions() -> Vec<Inst> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin/gfx942");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the kernels are there") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "co") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("the kernel can be read");
        let file = object::File::parse(&*bytes).expect("a code object");
        let text = file.section_by_name(".text").expect("code").data().expect("code").to_vec();
        let mut rest = &text[..];
        while !rest.is_empty() {
            match decode(TARGET, rest) {
                Ok(inst) => {
                    rest = &rest[inst.size()..];
                    all.push(inst);
                }
                Err(_) => rest = rest.get(4..).unwrap_or_default(),
            }
        }
    }
    all
}

fn text_of(inst: &Inst) -> String {
    let mut text = String::new();
    print(&mut text, inst).expect("a String takes any text");
    text
}

fn benches(criterion: &mut Criterion) {
    let instructions = instructions();
    let bytes: Vec<u8> =
        instructions.iter().flat_map(|inst| inst.encode().0[..inst.size()].to_vec()).collect();
    // What the assembler refuses is no line of a source.
    let lines: Vec<String> =
        instructions.iter().map(text_of).filter(|line| parse(TARGET, line).is_ok()).collect();
    let source = format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n{}\n", lines.join("\n"));
    let mut group = criterion.benchmark_group("text");
    group.sample_size(20);
    group.throughput(Throughput::Elements(instructions.len() as u64));
    group.bench_function("decode", |bencher| {
        bencher.iter(|| {
            let mut rest = &bytes[..];
            while let Ok(inst) = decode(TARGET, rest) {
                rest = &rest[inst.size()..];
                black_box(inst);
            }
        });
    });
    group.bench_function("decode and print", |bencher| {
        let mut out = String::new();
        bencher.iter(|| {
            out.clear();
            let mut rest = &bytes[..];
            while let Ok(inst) = decode(TARGET, rest) {
                rest = &rest[inst.size()..];
                print(&mut out, &inst).expect("a String takes any text");
                out.push('\n');
            }
            black_box(out.len());
        });
    });
    group.throughput(Throughput::Elements(lines.len() as u64));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| {
            for line in &lines {
                let _ = black_box(parse(TARGET, line));
            }
        });
    });
    group.bench_function("assemble", |bencher| {
        bencher.iter(|| black_box(assemble(&source, &Options::default()).is_ok()));
    });
    group.finish();
}

criterion_group!(text, benches);
criterion_main!(text);
