//! Compares the layout of matrix instructions with AMD's calculator, with tables of the manual, and
//! with itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wavemill_isa::Target;
use wavemill_isa::gcn::{
    Elem, Matrix, MatrixLayout, MatrixLayoutError, MatrixLocation, MatrixShape, Modifiers, Op, Operand, Role,
};

fn op(name: &str) -> Op {
    Op::from_name(name).unwrap_or_else(|| panic!("no instruction {name}"))
}

fn layout(name: &str, modifiers: &Modifiers) -> MatrixLayout {
    MatrixLayout::with(op(name), modifiers).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every matrix instruction.
fn matrix_ops() -> Vec<Op> {
    Op::ALL.iter().copied().filter(|op| op.row().shape.is_some()).collect()
}

/// FNV-1a with 64 bits.
fn checksum(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The location of an element as the calculator gives it. For a sparse A and its indices, each
/// column of the dense matrix has the location of the pair stored for its group of four.
fn calculated(layout: &MatrixLayout, matrix: Matrix) -> Vec<(u32, u32, u32, MatrixLocation)> {
    if !layout.is_sparse() || !matches!(matrix, Matrix::A | Matrix::Indices) {
        return layout.elements(matrix).collect();
    }
    let shape = layout.shape();
    let mut all = Vec::new();
    for row in 0..shape.rows {
        for k in 0..shape.depth {
            let [first, second] = [0, 1].map(|n| layout.location(matrix, 0, row, k / 4 * 2 + n).unwrap());
            assert_eq!((first.lane, first.bit + u16::from(first.bits)), (second.lane, second.bit));
            all.push((0, row, k, MatrixLocation { bits: 2 * first.bits, ..first }));
        }
    }
    all
}

#[test]
fn layouts_are_those_of_amds_calculator() {
    let mut compared = 0;
    for line in include_str!("data/matrix_calculator.tsv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, matrix, cbsz, abid, blgp, count, sum] = fields[..] else { panic!("{line}") };
        let number = |text: &str| text.parse::<u8>().unwrap();
        let modifiers =
            Modifiers { cbsz: number(cbsz), abid: number(abid), blgp: number(blgp), ..Modifiers::default() };
        let matrix = if matrix == "K" { Matrix::Indices } else { Matrix::from_name(matrix).unwrap() };
        let layout = layout(name, &modifiers);
        let elements = calculated(&layout, matrix);
        let mut text = String::new();
        for (block, row, column, location) in &elements {
            writeln!(text, "{block} {row} {column} {} {} {}", location.lane, location.bit, location.bits)
                .unwrap();
        }
        assert_eq!(elements.len().to_string(), count, "{line}");
        assert_eq!(format!("{:016x}", checksum(&text)), sum, "{line}\n{text}");
        compared += 1;
    }
    assert!(compared > 900, "only {compared} layouts compared");
}

#[test]
fn sizes_follow_from_the_rows() {
    let ops = matrix_ops();
    // CDNA 1 has 20 mnemonics, CDNA 2 27, CDNA 3 32 dense and 14 sparse ones, CDNA 4 38 dense, 2 scaled and 28 sparse ones.
    for (target, count) in [
        (Target::Gfx900, 0),
        (Target::Gfx906, 0),
        (Target::Gfx908, 20),
        (Target::Gfx90a, 27),
        (Target::Gfx942, 46),
        (Target::Gfx950, 68),
    ] {
        assert_eq!(ops.iter().filter(|op| op.row().is_matrix_product(target)).count(), count, "{target}");
    }
    for op in ops {
        let layout = layout(op.row().name(), &Modifiers::default());
        let MatrixShape { rows, columns, depth, blocks } = layout.shape();
        assert!(matches!(rows, 4 | 16 | 32) && rows == columns, "{op}");
        let count = |role| u32::from(op.row().operand(role).unwrap().ty.count);
        let stored = if layout.is_sparse() { depth / 2 } else { depth };
        assert_eq!(count(Role::Src0) * 64, rows * stored * blocks, "{op}: A");
        assert_eq!(count(Role::Src1) * 64, columns * depth * blocks, "{op}: B");
        assert_eq!(count(Role::Vdst) * 64, rows * columns * blocks, "{op}: D");
        // Since CDNA 3, mnemonics include the number of blocks.
        let said = op.row().name().split('_').find_map(|part| part.strip_suffix('b')?.parse::<u32>().ok());
        if let Some(said) = said {
            assert_eq!(blocks, said, "{op}");
        }
    }
}

#[test]
fn every_bit_of_the_registers_has_one_element() {
    for op in matrix_ops() {
        for format in 0..5 {
            let modifiers = match op.row().operand(Role::Src0).unwrap().ty.elem {
                Elem::F8f6f4 => Modifiers { cbsz: format, blgp: 4 - format, ..Modifiers::default() },
                _ => Modifiers::default(),
            };
            let layout = layout(op.row().name(), &modifiers);
            for matrix in layout.matrices() {
                let mut seen = BTreeMap::new();
                for (block, row, column, location) in layout.elements(matrix) {
                    let end = u32::from(location.bit) + u32::from(location.bits);
                    assert!(
                        end <= 32 * layout.registers(matrix) || matrix == Matrix::Indices,
                        "{op} {matrix:?}"
                    );
                    let other = seen.insert((location.lane, location.bit), (block, row, column));
                    assert_eq!(other, None, "{op} {matrix:?} {block} {row} {column}");
                    assert!(location.lane < 64);
                    assert_eq!(location.bit % u16::from(location.bits), 0, "{op} {matrix:?}");
                }
                // Indices and scales do not fill their registers; everything else does.
                let room = 64 * layout.registers(matrix) * 32 / layout.bits(matrix);
                let full = !matches!(matrix, Matrix::Indices | Matrix::ScaleA | Matrix::ScaleB);
                assert!(if full { seen.len() as u32 == room } else { !seen.is_empty() }, "{op} {matrix:?}");
            }
        }
    }
}

/// The first k of each register (or group of registers) and row of 16 lanes, from the manual's
/// tables.
struct Table<'a> {
    name: &'a str,
    /// Format of both A and B, where CBSZ and BLGP select it.
    format: u8,
    matrices: &'a [Matrix],
    /// First register, and k in lanes 0, 16, 32, 48.
    registers: &'a [(u16, [u32; 4])],
}

#[test]
fn layouts_are_those_of_the_manuals_tables() {
    use Matrix::{A, B};
    let both: &[Matrix] = &[A, B];
    let wide = "v_mfma_f32_16x16x128_f8f6f4";
    let tall = "v_mfma_f32_32x32x64_f8f6f4";
    // CDNA4 ISA 7.1.5.1 and 7.5.1.
    let tables = [
        Table {
            name: wide,
            format: 0,
            matrices: both,
            registers: &[(0, [0, 16, 32, 48]), (4, [64, 80, 96, 112])],
        },
        Table {
            name: wide,
            format: 1,
            matrices: both,
            registers: &[(0, [0, 16, 32, 48]), (4, [64, 80, 96, 112])],
        },
        Table {
            name: tall,
            format: 0,
            matrices: both,
            registers: &[(0, [0, 0, 16, 16]), (4, [32, 32, 48, 48])],
        },
        Table {
            name: wide,
            format: 2,
            matrices: both,
            registers: &[(0, [0, 32, 64, 96]), (3, [16, 48, 80, 112])],
        },
        Table {
            name: tall,
            format: 3,
            matrices: both,
            registers: &[(0, [0, 0, 32, 32]), (3, [16, 16, 48, 48])],
        },
        Table { name: wide, format: 4, matrices: both, registers: &[(0, [0, 32, 64, 96])] },
        Table { name: tall, format: 4, matrices: both, registers: &[(0, [0, 0, 32, 32])] },
        Table {
            name: "v_smfmac_f32_16x16x32_f16",
            format: 0,
            matrices: &[B],
            registers: &[
                (0, [0, 8, 16, 24]),
                (1, [2, 10, 18, 26]),
                (2, [4, 12, 20, 28]),
                (3, [6, 14, 22, 30]),
            ],
        },
        Table {
            name: "v_smfmac_f32_32x32x32_bf8_fp8",
            format: 0,
            matrices: &[B],
            registers: &[
                (0, [0, 0, 16, 16]),
                (1, [4, 4, 20, 20]),
                (2, [8, 8, 24, 24]),
                (3, [12, 12, 28, 28]),
            ],
        },
        Table {
            name: "v_smfmac_f32_16x16x64_bf16",
            format: 0,
            matrices: &[B],
            registers: &[
                (0, [0, 8, 16, 24]),
                (3, [6, 14, 22, 30]),
                (4, [32, 40, 48, 56]),
                (7, [38, 46, 54, 62]),
            ],
        },
        Table {
            name: "v_smfmac_f32_32x32x32_f16",
            format: 0,
            matrices: &[B],
            registers: &[
                (0, [0, 0, 8, 8]),
                (3, [6, 6, 14, 14]),
                (4, [16, 16, 24, 24]),
                (7, [22, 22, 30, 30]),
            ],
        },
        Table {
            name: "v_smfmac_i32_16x16x128_i8",
            format: 0,
            matrices: &[B],
            registers: &[
                (0, [0, 16, 32, 48]),
                (3, [12, 28, 44, 60]),
                (4, [64, 80, 96, 112]),
                (7, [76, 92, 108, 124]),
            ],
        },
        Table {
            name: "v_smfmac_f32_32x32x64_fp8_bf8",
            format: 0,
            matrices: &[B],
            registers: &[
                (0, [0, 0, 16, 16]),
                (3, [12, 12, 28, 28]),
                (4, [32, 32, 48, 48]),
                (7, [44, 44, 60, 60]),
            ],
        },
        Table {
            name: "v_mfma_f32_16x16x32_bf16",
            format: 0,
            matrices: both,
            registers: &[(0, [0, 8, 16, 24]), (3, [6, 14, 22, 30])],
        },
    ];
    for Table { name, format, matrices, registers } in tables {
        let layout = layout(name, &Modifiers { cbsz: format, blgp: format, ..Modifiers::default() });
        for &matrix in matrices {
            for &(register, starts) in registers {
                for (group, &k) in starts.iter().enumerate() {
                    for lane in 16 * group as u32..16 * group as u32 + 16 {
                        let along = lane % layout.shape().rows;
                        let (row, column) = if matrix == A { (along, k) } else { (k, along) };
                        let location = layout.location(matrix, 0, row, column).unwrap();
                        assert_eq!(
                            (u32::from(location.lane), location.bit),
                            (lane, 32 * register),
                            "{name} format {format}: {matrix:?}[{row}][{column}]"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn indices_and_scales_are_where_the_manual_has_them() {
    let location = |layout: &MatrixLayout, matrix, row, column| {
        let location = layout.location(matrix, 0, row, column).unwrap();
        (location.lane, location.bit)
    };
    // CDNA4 ISA 7.5.1: sets of 8, 16 and 32 bits; the index of an element is in the lane of the element.
    for (name, sets, bits) in [
        ("v_smfmac_f32_16x16x32_f16", 4, 8),
        ("v_smfmac_i32_32x32x32_i8", 2, 16),
        ("v_smfmac_f32_16x16x64_bf16", 2, 16),
        ("v_smfmac_f32_32x32x64_fp8_fp8", 1, 32),
    ] {
        for abid in 0..4u8 {
            for cbsz in 0..2 {
                let layout = layout(name, &Modifiers { abid, cbsz, ..Modifiers::default() });
                let set = if cbsz == 0 { u16::from(abid) % sets } else { 0 };
                for (_, row, column, element) in layout.elements(Matrix::A) {
                    let item = element.bit / u16::from(element.bits);
                    let expected = (element.lane, set * bits + 2 * item);
                    assert_eq!(
                        location(&layout, Matrix::Indices, row, column),
                        expected,
                        "{name} abid:{abid} cbsz:{cbsz}"
                    );
                }
            }
        }
    }
    // CDNA4 ISA 7.2.1: one scale for 32 elements, lanes by row and then by k; OP_SEL chooses the byte.
    for (op_sel, op_sel_hi, bits) in [(0, 0, [0, 0]), (1, 0, [8, 0]), (2, 1, [16, 8]), (3, 3, [24, 24])] {
        let modifiers = Modifiers { op_sel, op_sel_hi, abid: 1, ..Modifiers::default() };
        let wide = layout("v_mfma_scale_f32_16x16x128_f8f6f4", &modifiers);
        assert_eq!(location(&wide, Matrix::ScaleA, 15, 0), (15, bits[0]));
        assert_eq!(location(&wide, Matrix::ScaleA, 0, 2), (32, bits[0]));
        assert_eq!(location(&wide, Matrix::ScaleB, 3, 15), (63, bits[1]));
        let tall = layout("v_mfma_scale_f32_32x32x64_f8f6f4", &modifiers);
        assert_eq!(location(&tall, Matrix::ScaleA, 16, 0), (16, bits[0]));
        assert_eq!(location(&tall, Matrix::ScaleB, 1, 31), (63, bits[1]));
        assert_eq!(tall.location(Matrix::ScaleA, 0, 0, 2), None);
    }
}

/// A group of lanes (the lanes of one row or column), and the number of an element, byte or nibble
/// in a lane of the group.
type Slot = (u32, u32);

/// What a chip was seen to multiply: for stored column c of A, its slot; for a pair q of them, the
/// nibble with their indices; for row k of B, its slot. Only the pairing is visible from outside,
/// not the numbering of k.
struct Probed {
    name: &'static str,
    a: fn(u32) -> Slot,
    index: fn(u32) -> Slot,
    b: fn(u32) -> Slot,
}

/// Everything visible from outside: for each slot of A, the bits of its index, and the slots of B
/// that the indices 0 to 3 name.
fn pairing(
    layout: &MatrixLayout,
    a: impl Fn(u32) -> Slot,
    index: impl Fn(u32) -> Slot,
    b: impl Fn(u32) -> Slot,
) -> BTreeMap<Slot, (Slot, [Slot; 4])> {
    let stored = layout.extent(Matrix::A).columns;
    let of = |c: u32| {
        let (group, nibble) = index(c / 2);
        (a(c), ((group, 4 * nibble + 2 * (c % 2)), [0, 1, 2, 3].map(|k| b(c / 2 * 4 + k))))
    };
    (0..stored).map(of).collect()
}

#[test]
fn sparse_products_pair_what_the_chip_pairs() {
    // Measured on an MI350 by hip-fpsan (github.com/ROCm/hip-fpsan,
    // include/fpsan/amdgcn_smfmac.hpp).
    let probed = [
        Probed {
            name: "v_smfmac_f32_16x16x32_f16",
            a: |c| (c / 4, c % 4),
            index: |q| (q / 2, q % 2),
            b: |k| (k / 8, k % 8),
        },
        Probed {
            name: "v_smfmac_f32_32x32x16_bf16",
            a: |c| (c / 4, c % 4),
            index: |q| (q / 2, q % 2),
            b: |k| (k / 8, k % 8),
        },
        Probed {
            name: "v_smfmac_f32_16x16x64_f16",
            a: |c| (c / 8, c % 8),
            index: |q| (q / 4, q % 4),
            b: |k| (k % 32 / 8, k / 32 * 8 + k % 8),
        },
        Probed {
            name: "v_smfmac_f32_32x32x32_bf16",
            a: |c| (c / 8, c % 8),
            index: |q| (q / 4, q % 4),
            b: |k| (k % 16 / 8, k / 16 * 8 + k % 8),
        },
        Probed {
            name: "v_smfmac_f32_16x16x64_fp8_bf8",
            a: |c| (c % 16 / 4, c / 16 * 4 + c % 4),
            index: |q| (q % 8 / 2, q / 8 * 2 + q % 2),
            b: |k| (k % 32 / 8, k / 32 * 8 + k % 8),
        },
        Probed {
            name: "v_smfmac_f32_32x32x32_bf8_bf8",
            a: |c| (c % 8 / 4, c / 8 * 4 + c % 4),
            index: |q| (q % 4 / 2, q / 4 * 2 + q % 2),
            b: |k| (k % 16 / 8, k / 16 * 8 + k % 8),
        },
        Probed {
            name: "v_smfmac_f32_16x16x128_fp8_fp8",
            a: |c| ((c >> 5 & 1) * 2 + (c >> 3 & 1), (c >> 2 & 1) * 8 + (c >> 4 & 1) * 4 + c % 4),
            index: |q| (q / 16 * 2 + q / 4 % 2, q / 8 % 2 * 2 + q % 4 / 2 * 4 + q % 2),
            b: |k| (k % 32 / 8, k / 32 * 8 + k % 8),
        },
        Probed {
            name: "v_smfmac_f32_32x32x64_bf8_fp8",
            a: |c| (c >> 4 & 1, (c >> 2 & 1) * 8 + (c >> 3 & 1) * 4 + c % 4),
            index: |q| (q / 8, q % 2 + q / 4 % 2 * 2 + q / 2 % 2 * 4),
            b: |k| (k % 16 / 8, k / 16 * 8 + k % 8),
        },
    ];
    for Probed { name, a, index, b } in probed {
        let layout = layout(name, &Modifiers::default());
        let rows = layout.shape().rows;
        let slot = |matrix, row, column, bits: u32| {
            let location = layout.location(matrix, 0, row, column).unwrap();
            (u32::from(location.lane) / rows, u32::from(location.bit) / bits)
        };
        let bits = layout.bits(Matrix::A);
        let ours = pairing(
            &layout,
            |c| slot(Matrix::A, 0, c, bits),
            |q| slot(Matrix::Indices, 0, 2 * q, 4),
            |k| slot(Matrix::B, k, 0, bits),
        );
        let chip = pairing(&layout, a, index, b);
        assert_eq!(chip.len() as u32, layout.extent(Matrix::A).columns, "{name}: slots of A");
        assert_eq!(ours, chip, "{name}");
    }
}

#[test]
fn what_has_no_layout_says_so() {
    let error = |name, modifiers| MatrixLayout::with(op(name), &modifiers).unwrap_err();
    let modifiers = |cbsz, abid, blgp| Modifiers { cbsz, abid, blgp, ..Modifiers::default() };
    let add = error("v_add_f32", Modifiers::default());
    assert_eq!(add.to_string(), "v_add_f32 is not a matrix instruction");
    let wide = "v_mfma_f32_16x16x128_f8f6f4";
    assert_eq!(
        error(wide, modifiers(5, 0, 0)),
        MatrixLayoutError::ReservedFormat { matrix: Matrix::A, code: 5 }
    );
    assert_eq!(
        error(wide, modifiers(0, 0, 7)).to_string(),
        "blgp:7 is not a format of matrix B; expected 0 to 4"
    );
    // One block is not a group of two; two blocks have no third.
    for (name, cbsz, abid) in [
        ("v_mfma_f32_32x32x2_f32", 1, 0),
        ("v_mfma_f32_32x32x1_2b_f32", 1, 2),
        ("v_mfma_f32_32x32x1_2b_f32", 7, 0),
    ] {
        let error = error(name, modifiers(cbsz, abid, 0));
        assert!(matches!(error, MatrixLayoutError::Broadcast { .. }), "{name}: {error}");
    }
    let plain = layout("v_mfma_f32_32x32x2_f32", &Modifiers::default());
    assert_eq!(plain.location(Matrix::A, 1, 0, 0), None);
    assert_eq!(plain.location(Matrix::A, 0, 32, 0), None);
    assert_eq!(plain.location(Matrix::A, 0, 0, 2), None);
}

#[test]
fn registers_are_as_many_as_the_operands_have() {
    for op in matrix_ops() {
        for target in op.row().targets.iter() {
            for encoding in op.row().encodings(target) {
                for code in 0..5 {
                    let narrow = op.row().operand(Role::Src0).unwrap().ty.elem == Elem::F8f6f4;
                    let mut modifiers = Modifiers::plain(op.row().form(target, encoding).unwrap());
                    if narrow {
                        (modifiers.cbsz, modifiers.blgp) = (code, code);
                    }
                    let layout = MatrixLayout::with(op, &modifiers).unwrap();
                    let sizes = [Matrix::A, Matrix::B].map(|matrix| layout.registers(matrix));
                    let mut builder =
                        wavemill_isa::gcn::Inst::build(target, op, encoding).unwrap().modifiers(modifiers);
                    for spec in op.row().operands {
                        let dwords = match spec.role {
                            Role::Src0 => sizes[0] as u8,
                            Role::Src1 => sizes[1] as u8,
                            _ => spec.ty.dwords(),
                        };
                        let acc = target == Target::Gfx908 && matches!(spec.role, Role::Vdst | Role::Src2);
                        builder = builder.operand(
                            spec.role,
                            match acc {
                                true => Operand::Agpr { first: 0, dwords },
                                false => Operand::Vgpr { first: 0, dwords },
                            },
                        );
                    }
                    let inst = builder.finish().unwrap_or_else(|error| panic!("{op} {target}: {error}"));
                    let same = MatrixLayout::of(&inst).unwrap();
                    for matrix in same.matrices() {
                        let operand = inst.operand(MatrixLayout::role(matrix)).unwrap();
                        assert_eq!(
                            u32::from(operand.dwords()),
                            same.registers(matrix),
                            "{op} {target} {matrix:?}"
                        );
                    }
                }
            }
        }
    }
}
