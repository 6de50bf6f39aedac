//! Instances for tests, their texts, and sources that must assemble.
#![allow(dead_code, unreachable_pub, reason = "every test program uses its part of it")]

use wavemill_asm::gcn::print;
use wavemill_asm::{Options, assemble};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Form, Inst, decode};
use wavemill_object::write::Module;
use wavemill_oracle::{Filler, Span};

/// How many fillings may be rejected before a form counts as impossible to fill.
const TRIES: usize = 2000;

/// Fillings of `form` on `target` that decode, the same ones in every run and independent of all other forms.
pub fn examples(form: &'static Form, target: Target) -> impl Iterator<Item = Inst> {
    let name = form.op.row().name();
    let seed =
        name.bytes().chain(form.encoding.name().bytes()).fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    let fields = form.encoding.fields().iter().filter(move |field| field.targets.contains(target));
    let spans: Vec<Span> = fields.map(|field| Span { lo: field.lo, width: field.width }).collect();
    let mut filler = Filler::new(seed);
    (0..TRIES)
        .filter_map(move |_| decode(target, &filler.fill(form.value, form.fixed, &spans)).ok())
        .filter(|inst| inst.op() == form.op && inst.encoding() == form.encoding)
}

/// The first of the fillings of `form` on `target`.
pub fn example(form: &'static Form, target: Target) -> Inst {
    examples(form, target).next().unwrap_or_else(|| {
        let name = form.op.row().name();
        panic!("no filling of {name} ({}) on {target} decodes", form.encoding.name())
    })
}

/// The text of an instance.
pub fn text(inst: &Inst) -> String {
    let mut text = String::new();
    print(&mut text, inst).expect("a String takes any text");
    text
}

/// Assembles a valid source; the error has its first messages.
pub fn assembled(source: &str, options: &Options<'_>) -> Result<Module, String> {
    assemble(source, options).map_err(|reports| {
        let lines = reports
            .iter()
            .take(10)
            .map(|report| format!("{}: {} [{}]", report.line, report.diagnostic, report.text));
        lines.collect::<Vec<_>>().join("\n")
    })
}
