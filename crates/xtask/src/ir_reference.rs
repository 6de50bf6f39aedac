//! `docs/ir.md`: what every operation of the IR takes, gives and does, from the lines of `wavemill-ir`.

use std::error::Error;
use std::fmt::Write as _;
use std::process::ExitCode;

use wavemill_ir::{AtomicOp, CvtOp, FloatOp, FloatType, IntOp, LaneOp, Op, ScalarOp, Signature, Value};

use crate::generated::{self, Options};

const PAGE: &str = "docs/ir.md";

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    generated::write(options, PAGE, "ir-reference", &page())
}

const HEAD: &str = "\
# The wave IR

Written by `cargo run -p xtask -- ir-reference` from the lines of operations in `crates/wavemill-ir/src/op`.

An operation works on cells of 32 bits in place. A *row* has a cell for each of the 64 lanes. A
*uniform* cell has one value for the wave. A *mask* is a pair of uniform cells with a bit for each
lane. Results are written in the active lanes. A load or a store can name a mask in temporaries
instead (`lanes=ut4`).

`v_fma_f32 v2, -v1, |s4|, v3 clamp` lifts to one operation on the rows v1, v2 and v3 and the uniform
cell s4. [Loops compiled by hand](internals/compiled-loops.md) shows whole blocks.

```text
v2 = ffma.f32 -v1, |s4|, v3 clamp
```

A source that is listed as a row may also be a uniform cell or a constant, which is the same in all
lanes. These sources must be rows:

- sources whose lanes are permuted;
- sources of `transpose`, `indexed_read`, `indexed_write` and `lane_indexed_read`, the factors of
  `matrix`, the address and the data of `image`;
- sources of more than two cells;
- data for memory of more than one cell.

| value | what it is |
|---|---|
| `b32`, `b64`, `b128` | an integer or a bit pattern of each lane |
| `2 x b16` | two integers of each lane in a cell; selects name halves |
| `2 x b32` | two bit patterns of each lane; selects name cells |
| `f16`, `f32`, `f64`, `2 x f16`, `2 x f32` | a float of each lane, or two: modifiers change the sign of a source, and scale and clamp a result |
| `f32 or f16` | modifiers say which, and in which half |
| `mask` | a bit of each lane |
| `uniform b32` | one value for the wave |

The name of a matrix product has its parts in this order:
`matrix.16x16x16.f16.f16.f32.cut8.24.31`.

| part | meaning |
|---|---|
| `16x16x16`, `4x4x1x16` | M, N, K, and the number of blocks if it is not 1 |
| `f16.f16.f32` | formats of A, of B, and of C and the result |
| `chain` | one fused multiply-add for each k |
| `tree4` | rounded products are added in trees of 4, and denormals are flushed |
| `exact4` | 4 products and the result so far are summed exactly, and rounded once |
| `cut8.24.31` | 8 products are cut at 24 fraction bits; the sum is floored at 31 |
| `cut16.24.31.halves` | the same, with even and odd k summed apart |
| `wrap` | integers modulo 2^32 |
| `sparse1` | A is sparse; set 1 of its indices counts |
| `scale03` | factors have scales, in byte 0 of the scales of A and byte 3 of those of B |
| `share1of4` | block 1 of each 4 blocks of A feeds all of them |
| `half0`, `rotate16`, `quarter3` | lanes of B: one half, rotated by 16, one quarter |
| `neg_a`, `neg_b`, `neg_c` | signs are flipped |

The name of an access to an image has what it does first: `image.sample.level.compare.rgba.array`.

| part | meaning |
|---|---|
| `load`, `store`, `atomic.add`, `atomic.add64` | a texel at integer coordinates |
| `mip` | the address has a level |
| `raw`, `raw.signed` | the bits of the texel, extended with zeros or the sign |
| `size` | width, height, depth and levels |
| `sample`, `gather`, `gather.row`, `gather.packed8` | texels through a sampler: filtered, or one channel of several |
| `get_level` | the level of detail of a sample |
| `bias`, `level`, `zero`, `gradients`, `coarse` | where the level of detail comes from; without one, from the quad |
| `compare`, `clamp`, `offset` | the address has a reference, a lower limit of the level, offsets in texels |
| `rgba`, `r`, `none` | the channels in registers |
| `array` | the address has a slice |
| `texels` | coordinates count texels |
| `short`, `half` | coordinates, data of 16 bits |

Operands have attributes (`Attrs` of `wavemill-ir`), which apply in this order:

1. the lane permutation of a source, its select, sign extension, absolute value and negation;
2. the operation, on the lanes that it computes;
3. output modifier and clamp;
4. the part of the destination that is written.

An operation that traps on an exception which it raises in one of its lanes (`traps`, bits of
`wavemill_float::Exceptions`) is a fault of its instruction instead, and changes nothing.

Sources are read before results are written. A uniform source may be missing only where its line says
\"none\"; a uniform result may be missing. An operation that no engine has is unsupported: its guest
instruction faults and has no effect. `wavemill_machine::RegisterCounts` handles registers that a wave
lacks, for all engines alike.

\"Saturates\" means that clamping brings the exact result into the range of its type; floats always
clamp. \"Updates\" means that the results are sources, too.

";

/// What people call a value; `own` is the name of the type that an operation has beside it.
fn value_name(value: Value, own: &str) -> String {
    match value {
        Value::None => "-".to_owned(),
        Value::Bits(dwords) => format!("`b{}`", 32 * dwords),
        Value::Halves => "`2 x b16`".to_owned(),
        Value::Pair => "`2 x b32`".to_owned(),
        Value::Float(FloatType::PkF32) if !own.is_empty() => format!("`{own}`"),
        Value::Float(ty) => format!(
            "`{}`",
            match ty {
                FloatType::F16 => "f16",
                FloatType::F32 => "f32",
                FloatType::F64 => "f64",
                FloatType::PkF16 => "2 x f16",
                FloatType::PkF32 => "2 x f32",
            }
        ),
        Value::Mixed => "`f32 or f16`".to_owned(),
        Value::Mask => "`mask`".to_owned(),
        Value::Uniform(0) => format!("`uniform {own}`"),
        Value::Uniform(dwords) => format!("`uniform b{}`", 32 * dwords),
        Value::Address(_) => "`address`".to_owned(),
        Value::Base(_) => "`base`".to_owned(),
        Value::Rows(dwords) | Value::Elements { cells: dwords, .. } => format!("`b{}`", 32 * dwords),
    }
}

/// One line of a table.
fn line(out: &mut String, signature: Signature, own: &str) {
    let names = |values: &[Value]| {
        let last = values.iter().rposition(|value| *value != Value::None);
        let used = &values[..last.map_or(0, |last| last + 1)];
        used.iter().map(|value| value_name(*value, own)).collect::<Vec<_>>().join(", ")
    };
    let flags = [(signature.saturates, "saturates"), (signature.updates, "updates")];
    let flags: Vec<&str> = flags.into_iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
    let doc = sentence(signature.doc);
    writeln!(
        out,
        "| `{}` | {} | {} | {doc} | {} |",
        signature.name,
        names(&signature.sources),
        names(&signature.results),
        flags.join(", ")
    )
    .expect("writing to a string");
}

/// Documentation on one line of a table, without links to Rust items.
fn sentence(doc: &str) -> String {
    let line = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}

fn table<T: Copy>(out: &mut String, title: &str, all: &[T], own: &str, signature: impl Fn(T) -> Signature) {
    write!(out, "## {title}\n\n| name | sources | results | meaning | |\n|---|---|---|---|---|\n")
        .expect("writing to a string");
    for op in all {
        line(out, signature(*op), own);
    }
    out.push('\n');
}

fn page() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("## Kinds of operations\n\n| kind | meaning |\n|---|---|\n");
    for (name, doc) in Op::KINDS {
        writeln!(out, "| `{name}` | {} |", sentence(doc)).expect("writing to a string");
    }
    out.push('\n');
    // Types of no size and of two floats stand for those that are named beside the operation.
    let width = Value::Uniform(0);
    let ty = Value::Float(FloatType::PkF32);
    table(&mut out, "Uniform operations (`Scalar`), of a width", ScalarOp::ALL, "width", |op| {
        op.signature(width)
    });
    table(&mut out, "Integers (`Int`)", IntOp::ALL, "", IntOp::signature);
    table(&mut out, "Floats (`Float`), of a type", FloatOp::ALL, "type", |op| op.signature(ty));
    table(&mut out, "Conversions (`Cvt`)", CvtOp::ALL, "", CvtOp::signature);
    table(&mut out, "Lanes (`Lane`)", LaneOp::ALL, "", LaneOp::signature);
    table(&mut out, "Atomics (`Atomic`, `BufferAtomic`): data", AtomicOp::ALL, "width", |op| {
        op.signature(Value::Bits(1))
    });
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        let page_there = generated::read(PAGE).expect(PAGE);
        assert!(page_there == page(), "docs/ir.md is out of date; run `cargo run -p xtask -- ir-reference`");
    }

    #[test]
    fn every_operation_has_a_sentence_and_a_name_of_its_own() {
        let mut names = std::collections::BTreeSet::new();
        for signature in
            IntOp::ALL.iter().map(|op| op.signature()).chain(LaneOp::ALL.iter().map(|op| op.signature()))
        {
            assert!(signature.doc.trim_end().ends_with('.'), "{}: {}", signature.name, signature.doc);
            assert!(names.insert(signature.name), "{}", signature.name);
        }
    }
}
