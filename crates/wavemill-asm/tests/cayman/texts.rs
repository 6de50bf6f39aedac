//! Words and groups.

use wavemill_asm::cayman::{parse, parse_group, print, print_group};
use wavemill_isa::cayman::{
    FieldId as F, Group, Inst, Op, decode_control, decode_fetch, decode_gds, decode_group,
};
use wavemill_oracle::{Failed, SplitMix64};

/// A random word of an instruction: each field is zero, its default or random.
pub(crate) fn random_word(op: Op, random: &mut SplitMix64) -> Inst {
    let inst = Inst::new(op);
    // UPDATE_EXEC_MASK decides which fields there are.
    let start = inst.with(F::UpdateExecMask, random.below(2) as u32).unwrap_or(inst);
    start.format().fields().iter().fold(start, |inst, field| {
        let value = match random.below(3) {
            0 => 0,
            1 => field.default,
            _ => random.next_u64() as u32 & field.max(),
        };
        // The opcode does not change.
        if field.id == F::UpdateExecMask { inst } else { inst.with(field.id, value).unwrap_or(inst) }
    })
}

pub(crate) fn words() -> Result<(), Failed> {
    let mut random = SplitMix64::new(15);
    for &op in Op::ALL.iter().filter(|op| !op.row().format.is_alu()) {
        for _ in 0..1_000 {
            let word = random_word(op, &mut random);
            let text = print(&word);
            assert_eq!(parse(&text).map_err(|error| format!("{text}: {error}"))?, word, "{text}");
        }
    }
    Ok(())
}

/// The group of these slots, in ascending channels, with random literals.
pub(crate) fn group_of(slots: &[Inst], random: &mut SplitMix64) -> Result<Group, Failed> {
    let mut bytes = Vec::new();
    for (at, slot) in slots.iter().enumerate() {
        let slot = slot.with(F::Last, u32::from(at + 1 == slots.len()))?;
        bytes.extend_from_slice(&slot.encode().0[..8]);
    }
    for _ in 0..4 {
        let literal = match random.below(6) {
            0 => 0,
            1 => 2,
            2 => 1.5f32.to_bits(),
            3 => 1.0f32.to_bits(),
            4 => (-2.5f32).to_bits(),
            _ => random.next_u64() as u32,
        };
        bytes.extend_from_slice(&literal.to_le_bytes());
    }
    Ok(decode_group(&bytes)?)
}

pub(crate) fn groups() -> Result<(), Failed> {
    let mut random = SplitMix64::new(16);
    let all: Vec<Op> = Op::ALL.iter().copied().filter(|op| op.row().format.is_alu()).collect();
    for number in 0..all.len() * 600 {
        let mut slots = Vec::new();
        for channel in 0..4 {
            if random.below(2) == 0 && (channel < 3 || !slots.is_empty()) {
                continue;
            }
            // Every instruction stands first in as many groups.
            let random_op = all[random.below(all.len() as u64) as usize];
            let op = if slots.is_empty() { all[number % all.len()] } else { random_op };
            let mut slot = random_word(op, &mut random).with(F::DstChan, channel)?;
            // Literals and constants are rare among random codes.
            for id in [F::Src0Sel, F::Src1Sel, F::Src2Sel] {
                if random.below(3) == 0 {
                    let code = [253, 248, 249, 251, 252, 130, 254, 221, 223][random.below(9) as usize];
                    slot = slot.with(id, code).unwrap_or(slot);
                }
            }
            slots.push(slot);
        }
        let group = group_of(&slots, &mut random)?;
        for separator in [" ", "\n"] {
            let text = print_group(&group, separator);
            let back = parse_group(&text).map_err(|error| format!("{text}: {error}"))?;
            assert_eq!(back, group, "{text}");
        }
    }
    Ok(())
}

/// Derived by hand from HD 6900 ISA 9: the texts, and the bits of the words.
pub(crate) fn forms() -> Result<(), Failed> {
    let cf = |word: u64| decode_control(&word.to_le_bytes());
    for (text, word) in [
        ("end", cf(1 << 63 | 32 << 54)?),
        ("end barrier:0", cf(32 << 54)?),
        ("nop eop", cf(1 << 63 | 1 << 53)?),
        ("jump @5 pop:1", cf(1 << 63 | 10 << 54 | 1 << 32 | 5)?),
        ("loop_start @9 const:3 cond:bool", cf(1 << 63 | 4 << 54 | 2 << 40 | 3 << 35 | 9)?),
        ("tc @1048576 count:15", cf(1 << 63 | 1 << 54 | 15 << 42 | 1 << 20)?),
        ("wait_ack 2", cf(1 << 63 | 26 << 54 | 2)?),
        (
            "alu @3 count:127, kc0=cb15[16:31]",
            cf(1 << 63 | 8 << 58 | 127 << 50 | 1 << 34 | 1 << 30 | 15 << 22 | 3)?,
        ),
        (
            "alu_push_before @3 count:1, kc0=cb0[0:31], kc1=cb2[al+32:63] wqm",
            cf(1 << 63 | 1 << 62 | 9 << 58 | 1 << 50 | 2 << 42 | 3 << 32 | 2 << 30 | 2 << 26 | 3)?,
        ),
        (
            "mem_rat_cacheless store_dword rat11, r127.xy_w, [r5.x] type:write_ind mark",
            cf(1 << 63 | 1 << 62 | 87 << 54 | 11 << 44 | 5 << 23 | 127 << 15 | 1 << 13 | 20 << 4 | 11)?,
        ),
        ("export_done pix0, r1.xyz1", cf(1 << 63 | 84 << 54 | 5 << 41 | 2 << 38 | 1 << 35 | 1 << 15)?),
        (
            "mem_ring r2.xyzw type:write base:8 size:3",
            cf(1 << 63 | 82 << 54 | 15 << 44 | 3 << 32 | 2 << 15 | 8)?,
        ),
    ] {
        assert_eq!(print(&word), text);
        assert_eq!(parse(text).map_err(|error| format!("{text}: {error}"))?, word, "{text}");
    }
    let fetch = |low: u64, high: u64| (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
    let masked: u64 = 7 << 44 | 7 << 47 | 7 << 50;
    for (text, word) in [
        (
            "vfetch r1.x___, r1.x, buf:1 fmt:32 int index:none offset:16",
            decode_fetch(&fetch(1 << 60 | 13 << 54 | masked | 1 << 32 | 1 << 16 | 1 << 8 | 2 << 5, 16))?,
        ),
        (
            "sample r2.xyzw, r3.xyzz, res:0 smp:0 ct:nnnn offset_x:-2",
            decode_fetch(&fetch(
                15 << 60 | 3 << 50 | 2 << 47 | 1 << 44 | 2 << 32 | 3 << 16 | 16,
                0x1e | 1 << 23 | 2 << 26 | 2 << 29,
            ))?,
        ),
        (
            "gds_add_ret r1.x___, r2.xy0 uav_id:3",
            decode_gds(&fetch(
                3 << 58 | 32 << 41 | 1 << 32 | 4 << 26 | 1 << 23 | 2 << 11 | 4 << 8 | 2,
                7 << 3 | 7 << 6 | 7 << 9,
            ))?,
        ),
    ] {
        assert_eq!(print(&word), text);
        assert_eq!(parse(text).map_err(|error| format!("{text}: {error}"))?, word, "{text}");
    }
    // CLAMP is bit 63, OMOD 38:37, SRC0_ABS 32, SRC1_NEG 25, BANK_SWIZZLE 52:50, WRITE_MASK 36,
    // LAST 31.
    for (text, words) in [
        (
            "y: add _.y, |r2.x|, -1.0 mul:4 clamp bs:120 dst_gpr:1 ;;",
            &[1u64 << 63
                | 1 << 61
                | 1 << 53
                | 2 << 50
                | 2 << 37
                | 1 << 32
                | 1 << 31
                | 1 << 25
                | 249 << 13
                | 2][..],
        ),
        ("x: mov r0.x, -1 ;;", &[1 << 31 | 25 << 39 | 1 << 36 | 251]),
        ("x: mov r0.x, -(1) ;;", &[1 << 31 | 25 << 39 | 1 << 36 | 1 << 12 | 250]),
        ("x: mov r0.x, kc2[31].w ?p1 ;;", &[1 << 31 | 25 << 39 | 1 << 36 | 3 << 29 | 3 << 10 | 287]),
        (
            "x: mov r0.x, r1.x src1_sel:9 src1_chan:2 ;;",
            &[1 << 31 | 25 << 39 | 1 << 36 | 2 << 23 | 9 << 13 | 1],
        ),
        (
            "x: lds_read_ret r1.w offset:18 ;;",
            &[1 << 31 | 50 << 53 | 17 << 45 | 1 << 44 | 1 << 12 | 3 << 10 | 1],
        ),
        ("z: mov r1.z, oqa.pop ;;", &[1 << 31 | 2 << 61 | 1 << 53 | 25 << 39 | 1 << 36 | 221]),
        (
            "x: pred_sete_int _.x, pv.y, 0 exec ;;",
            &[1 << 31 | 66 << 39 | 1 << 34 | 248 << 13 | 1 << 10 | 254],
        ),
        (
            "x: pred_sete_int _.x, pv.y, 0 exec:break pred ;;",
            &[1 << 31 | 66 << 39 | 1 << 37 | 3 << 34 | 248 << 13 | 1 << 10 | 254],
        ),
        ("x: mova_int cf_idx0, r1.x ;;", &[1 << 31 | 2 << 53 | 204 << 39 | 1]),
        ("w: lshl_int r0.w, r0.x, 0x2 ;;", &[3 << 61 | 23 << 39 | 1 << 36 | 1 << 31 | 253 << 13, 2]),
        // Two uses of one value, and a float.
        (
            "x: mul r0.x, r0.x, 2.5 y: mul r0.y, 2.5, -3.0 ;;",
            &[
                1 << 39 | 1 << 36 | 253 << 13,
                1 << 61 | 1 << 39 | 1 << 36 | 1 << 31 | 1 << 23 | 253 << 13 | 253,
                0xc040_0000_4020_0000,
            ],
        ),
        // The value has a code of its own, and the order is another.
        ("x: mov r0.x, lit(0x0) ;;", &[1 << 31 | 25 << 39 | 1 << 36 | 253, 0]),
        (
            "x: mov r0.x, lit.y literals 0x7, 0x8 ;;",
            &[1 << 31 | 25 << 39 | 1 << 36 | 1 << 10 | 253, 8 << 32 | 7],
        ),
        (
            "x: mov r[ar+3].x, r[ar+5].y ;;",
            &[1 << 60 | 3 << 53 | 25 << 39 | 1 << 36 | 1 << 31 | 1 << 10 | 1 << 9 | 5],
        ),
        ("x: interp_load_p0 r0.x, param3.x ;;", &[224 << 39 | 1 << 36 | 1 << 31 | 451]),
        ("x: group_barrier ;;", &[84 << 39 | 1 << 31]),
        (
            "w: muladd_ieee r1.w, r2.x, -r3.x, 0.5 ;;",
            &[3 << 61 | 1 << 53 | 24 << 45 | 252 << 32 | 1 << 31 | 1 << 25 | 3 << 13 | 2],
        ),
    ] {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let group = decode_group(&bytes)?;
        assert_eq!(print_group(&group, " "), text);
        assert_eq!(parse_group(text).map_err(|error| format!("{text}: {error}"))?, group, "{text}");
    }
    Ok(())
}

/// What is read, and how it is written.
pub(crate) fn spellings() -> Result<(), Failed> {
    for (text, printed) in [
        ("cf_end", "end"),
        ("tex @2 count:0", "tc @2 count:0"),
        ("end_loop @2", "loop_end @2"),
        ("jump @5, pop_count:1 barrier", "jump @5 pop:1"),
        (
            "vfetch r1.xyzw, r2.y, buf:3, fmt:32_32, norm",
            "vfetch r1.xyzw, r2.y, buf:3 fmt:32_32 norm index:none",
        ),
        ("vtx_read r1.xyzw, r2.y, buf:3 fmt:8", "vfetch r1.xyzw, r2.y, buf:3 fmt:8 int index:none"),
        ("gds_write r2.xyz", "gds_write r0.____, r2.xyz"),
        ("gds_add r2.xy0 offset:1", "gds_add r0.____, r2.xy0 offset:1"),
        ("gds_add r2.xy0, offset:1", "gds_add r0.____, r2.xy0 offset:1"),
        (
            "mem_rat_cacheless store_dword rat0, r0.x__, [r1.x]",
            "mem_rat_cacheless store_dword rat0, r0.x, [r1.x] type:write_ind",
        ),
    ] {
        let parsed = parse(text).map_err(|error| format!("{text}: {error}"))?;
        assert_eq!(print(&parsed), printed, "{text}");
    }
    for (text, printed) in [
        ("x: lshl r0.x, r1.x, 2 ;;", "x: lshl_int r0.x, r1.x, 0x2 ;;"),
        ("x: mov _, 0.0 ;;", "x: mov _.x, 0 ;;"),
        ("x: mov r0.x, -0.0 ;;", "x: mov r0.x, -0.0 ;;"),
        // The sign of a zero counts where the source is a float.
        ("x: mov r0.x, -0 ;;", "x: mov r0.x, -0.0 ;;"),
        ("x: add r0.x, -0, r1.x ;;", "x: add r0.x, -0.0, r1.x ;;"),
        ("x: muladd r0.x, -0, r1.x, -0.0 ;;", "x: muladd r0.x, -0.0, r1.x, -0.0 ;;"),
        ("x: add r0.x, lit(-0), r1.x ;;", "x: add r0.x, 0x80000000, r1.x ;;"),
        ("x: add_int r0.x, -0, r1.x ;;", "x: add_int r0.x, 0, r1.x ;;"),
        ("x: mov r0.x, 3.4028235e38 ;;", "x: mov r0.x, 0x7f7fffff ;;"),
        ("x: add_int r0.x, r1.x, -1.0 ;;", "x: add_int r0.x, r1.x, 0xbf800000 ;;"),
        ("x: add_int r0.x, r1.x, -5 ;;", "x: add_int r0.x, r1.x, 0xfffffffb ;;"),
        ("x: mov r0.x, 1\n   y: mov r0.y, 1.0\n ;;", "x: mov r0.x, 1 y: mov r0.y, 1.0 ;;"),
        ("x: mov r0.x, 3.0 bs:012 y: mov r0.y, 4.0 ;;", "x: mov r0.x, 3.0 y: mov r0.y, 4.0 ;;"),
    ] {
        let parsed = parse_group(text).map_err(|error| format!("{text}: {error}"))?;
        assert_eq!(print_group(&parsed, " "), printed, "{text}");
    }
    // A source with its sign, and none without.
    let negated = |text: &str| -> Result<_, Failed> {
        let group = parse_group(text).map_err(|error| format!("{text}: {error}"))?;
        let slot = group.slots[0].ok_or("slot x")?;
        Ok((slot.get(F::Src0Sel), slot.get(F::Src0Neg)))
    };
    // 248 is the constant 0.
    assert_eq!(negated("x: add r0.x, -0, r1.x ;;")?, (248, 1));
    assert_eq!(negated("x: add_int r0.x, -0, r1.x ;;")?, (248, 0));
    Ok(())
}

/// No text panics, and an error has a position in it.
pub(crate) fn any_text() -> Result<(), Failed> {
    let pieces = [
        "x:",
        "y:",
        "w:",
        "mov",
        "muladd",
        "alu",
        "jump",
        "mem_rat",
        " store_dword",
        "vfetch",
        "sample",
        " r1",
        " r[",
        "ar+",
        ".x",
        ".xyzw",
        ",",
        " @",
        " kc0[",
        "=cb0[",
        "0:31]",
        "|",
        "-",
        "(",
        ")",
        "9",
        "1.5",
        " lit",
        " literals",
        " pop:",
        " bs:",
        " fmt:",
        " exec",
        " ?p0",
        ";;",
        "]",
        "é",
        "_",
        "\n",
    ];
    let mut random = SplitMix64::new(7);
    for _ in 0..100_000 {
        let count = random.below(12);
        let text: String = (0..count).map(|_| pieces[random.below(pieces.len() as u64) as usize]).collect();
        let flat = text.replace('\n', " ");
        for error in [parse(&text).err(), parse_group(&text).err()].into_iter().flatten() {
            assert!(flat.get(error.span.clone()).is_some(), "{text}: {:?}", error.span);
        }
    }
    Ok(())
}
