//! The operation names the locations that the layout of the row names, which `wavemill explain
//! --layout` prints.

use wavemill_ir::{MatrixOp, MatrixOperand, Op as IrOp};
use wavemill_isa::gcn::{Matrix, MatrixLayout, MatrixLocation};

use super::{TARGETS, parse, products, text};
use crate::common::lift;

fn product(target: wavemill_isa::Target, line: &str) -> (MatrixOp, MatrixLayout) {
    let inst = parse(target, line);
    let block = lift(target, &inst.words()[..inst.size() / 4]);
    let op = block.insts.iter().find_map(|inst| match inst.op {
        IrOp::Matrix(op) => Some(op),
        _ => None,
    });
    let layout = MatrixLayout::of(&inst).expect("it has a layout");
    (op.unwrap_or_else(|| panic!("`{line}` does not lift to a product: {block}")), layout)
}

fn compare(line: &str, op: &MatrixOp, layout: &MatrixLayout) {
    let location = |location: MatrixLocation| {
        (u32::from(location.lane), u32::from(location.bit), u32::from(location.bits))
    };
    for matrix in layout.matrices() {
        for (block, row, column, expected) in layout.elements(matrix) {
            let (found, bits) = match matrix {
                Matrix::A => (op.a_location(block, row, column), op.a.bits()),
                Matrix::B => (op.b_location(block, row, column), op.b.bits()),
                Matrix::C | Matrix::D => (op.c_location(block, row, column), op.c.bits()),
                Matrix::Indices => (op.index_location(row, column), 2),
                Matrix::ScaleA => (op.scale_location(MatrixOperand::A, row, 32 * column), 8),
                Matrix::ScaleB => (op.scale_location(MatrixOperand::B, column, 32 * row), 8),
            };
            let found = (found.lane, found.bit, bits);
            assert_eq!(
                found,
                location(expected),
                "`{line}`, {} of block {block}, {row}, {column}",
                matrix.name()
            );
        }
    }
}

#[test]
fn locations_are_those_of_the_rows() {
    let mut compared = 0;
    for target in TARGETS {
        for row in products(target) {
            let layout = MatrixLayout::with(row, &Default::default()).expect("defaults are legal");
            let mut modifiers = vec![String::new()];
            let is_mixed = row.row().name().contains("f8f6f4");
            if is_mixed {
                for (a, b) in (0..5).flat_map(|a| (0..5).map(move |b| (a, b))) {
                    modifiers.push(format!("cbsz:{a} blgp:{b}"));
                }
            } else if layout.is_sparse() {
                modifiers.extend([1, 2, 3].map(|abid| format!("abid:{abid}")));
                modifiers.push("cbsz:1 abid:1".to_owned());
            } else if layout.permutes() {
                modifiers.extend((1..8).map(|blgp| format!("blgp:{blgp}")));
                let log = layout.shape().blocks.ilog2();
                modifiers
                    .extend((1..=log).map(|cbsz| format!("cbsz:{cbsz} abid:{} blgp:3", (1 << cbsz) - 1)));
            }
            for modifiers in modifiers {
                let line = text(target, row, &modifiers);
                let (op, layout) = product(target, &line);
                compare(&line, &op, &layout);
                compared += 1;
            }
        }
    }
    // 20, 27, 46 and 68 rows, each with its modifiers.
    assert_eq!(compared, 1311, "instances");
}

#[test]
fn bytes_of_scales_are_selected() {
    let target = wavemill_isa::Target::Gfx950;
    for (byte_a, byte_b) in (0..4u8).flat_map(|a| (0..4u8).map(move |b| (a, b))) {
        let line = format!(
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[96:99], v[8:15], v[16:23], v[32:35], v64, v65 \
             op_sel:[{},{},0] op_sel_hi:[{},{},0]",
            byte_a & 1,
            byte_b & 1,
            byte_a >> 1,
            byte_b >> 1
        );
        let (op, layout) = product(target, &line);
        assert_eq!(op.scales, Some([byte_a, byte_b]), "`{line}`");
        compare(&line, &op, &layout);
    }
}
