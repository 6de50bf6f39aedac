//! Text of Cayman: the output of LLVM's r600 backend is parsed and printed, and a text determines
//! the whole word.

use std::process::{Command, ExitCode};

use wavemill_asm::cayman::{Word, parse, print};
use wavemill_asm::{Options, assemble};
use wavemill_isa::Target;
use wavemill_isa::cayman::{Inst, Op};
use wavemill_object::write::Contents;
use wavemill_oracle::{Failed, SplitMix64, Suite, Tool, run};

/// The output of `llc-22 -mtriple=r600-- -mcpu=cayman -show-mc-encoding` for `probe.ll`: the lines
/// whose instructions have rows.
const ENCODINGS: &str = include_str!("probe.encodings");

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("what LLVM wrote is read and written", || ENCODINGS.lines().try_for_each(agrees));
    suite.oracle_test("what LLVM writes is read and written", &[Tool::Program("llc-22")], what_llc_writes);
    suite.test("texts are all that words say", texts_are_all_that_words_say);
    suite.test("fields stand by name", fields_stand_by_name);
    suite.test("sources have labels and groups", sources_have_labels_and_groups);
    suite.test("errors are reported where they are", errors);
    suite.test("directives of an ABI are refused", directives_of_an_abi_are_refused);
    suite.run()
}

fn text(word: &Word) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = print(&mut text, word);
    text
}

/// One blank between words, and no final comma, which LLVM writes after the operands of slots.
fn normal(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches(',').to_owned()
}

/// Compares a line of LLVM, its text and its bytes, with ours.
fn agrees(line: &str) -> Result<(), Failed> {
    let (theirs, bytes) = line.split_once(';').ok_or("no bytes")?;
    let bytes: Result<Vec<u8>, _> = bytes
        .trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .split(',')
        .map(|byte| u8::from_str_radix(byte.trim().trim_start_matches("0x"), 16))
        .collect();
    let bytes = bytes.map_err(|error| format!("{line}: {error}"))?;
    let theirs = normal(theirs);
    let word = parse(&theirs).map_err(|error| format!("{theirs}: {error}"))?;
    let (encoded, size) = word.encode();
    // For a store of two dwords, LLVM writes the register alone, as for a store of four. COMP_MASK
    // is 3 in its bytes.
    let two_dwords = theirs.starts_with("MEM_RAT") && bytes[5] >> 4 == 3;
    if two_dwords {
        let shown = theirs.replacen(',', ".XY,", 1);
        let word = parse(&shown).map_err(|error| format!("{shown}: {error}"))?;
        assert_eq!(word.encode().0[..8], bytes, "{shown}");
        assert_eq!(text(&word), shown);
        return Ok(());
    }
    assert_eq!(encoded[..size], bytes, "{theirs}");
    assert_eq!(text(&word), theirs);
    Ok(())
}

fn what_llc_writes() -> Result<(), Failed> {
    let probe = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cayman/probe.ll");
    let llc = Tool::Program("llc-22").path()?;
    let arguments = ["-mtriple=r600--", "-mcpu=cayman", "-show-mc-encoding", probe, "-o", "-"];
    let output = String::from_utf8(run(Command::new(llc).args(arguments))?)?;
    let mut compared = 0;
    for line in output.lines().filter_map(|line| line.trim().split_once("; encoding: [0x")) {
        let name = line.0.split_whitespace().next().unwrap_or_default();
        let stem = name.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit());
        let has_row = Op::ALL.iter().any(|op| op.row().name.split(' ').next() == Some(stem));
        if has_row || name.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            agrees(&format!("{}; 0x{}", line.0, line.1))?;
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared} lines of {output}");
    Ok(())
}

/// A random word of an instruction: each field is zero, its default or random.
fn random_word(op: Op, random: &mut SplitMix64) -> Inst {
    let format = op.row().format;
    format.fields().iter().fold(Inst::new(op), |inst, field| {
        let value = match random.below(3) {
            0 => 0,
            1 => field.default,
            _ => random.next_u64() as u32 & field.max(),
        };
        // The opcode does not change.
        inst.with(field.id, value).unwrap_or(inst)
    })
}

fn texts_are_all_that_words_say() -> Result<(), Failed> {
    let mut random = SplitMix64::new(15);
    for &op in Op::ALL {
        for _ in 0..2_000 {
            let word = Word::Inst(random_word(op, &mut random));
            let text = text(&word);
            assert_eq!(parse(&text).map_err(|error| format!("{text}: {error}"))?, word, "{text}");
        }
    }
    for _ in 0..2_000 {
        let word = Word::Literals([random.next_u64() as u32, random.next_u64() as u32]);
        let text = text(&word);
        assert_eq!(parse(&text).map_err(|error| format!("{text}: {error}"))?, word, "{text}");
    }
    Ok(())
}

/// Derived by hand from HD 6900 ISA 9.
fn fields_stand_by_name() -> Result<(), Failed> {
    for (text, word) in [
        // CLAMP is bit 63, OMOD 38:37, SRC0_ABS 32, SRC1_NEG 25, BANK_SWIZZLE 52:50, WRITE_MASK 36, LAST 31.
        (
            "ADD_SAT * T1.Y (MASKED) * 4.0, |T2.X|, -1.0 BS:VEC_120",
            1u64 << 63 | 1 << 61 | 1 << 53 | 2 << 50 | 2 << 37 | 1 << 32 | 1 << 31 | 1 << 25 | 249 << 13 | 2,
        ),
        // -1 is code 251; the negated 1 is a field.
        ("MOV T0.X, -1", 25 << 39 | 1 << 36 | 251),
        ("MOV T0.X, 1 src0_neg:1", 25 << 39 | 1 << 36 | 1 << 12 | 250),
        ("MOV T0.X, KC2[31].W Pred_sel_one", 25 << 39 | 1 << 36 | 3 << 29 | 3 << 10 | 287),
        ("MOV T0.X, T1.X src1_sel:9 src1_chan:2", 25 << 39 | 1 << 36 | 2 << 23 | 9 << 13 | 1),
        (
            "LDS_READ_RET * OQAP, T1.W idx_offset:18",
            50 << 53 | 17 << 45 | 1 << 44 | 1 << 31 | 1 << 12 | 3 << 10 | 1,
        ),
        ("CF_END barrier:0", 32 << 54),
        ("TEX 15 @1048576", 1 << 63 | 1 << 54 | 15 << 42 | 1 << 20),
        (
            "ALU 127, @3, KC0[CB15:16-32], KC1[]",
            1 << 63 | 8 << 58 | 127 << 50 | 1 << 34 | 1 << 30 | 15 << 22 | 3,
        ),
        (
            "MEM_RAT_CACHELESS STORE_DWORD T127.XYW, T5.X rat_id:11 mark:1",
            1 << 63 | 1 << 62 | 87 << 54 | 11 << 44 | 5 << 23 | 127 << 15 | 1 << 13 | 20 << 4 | 11,
        ),
    ] {
        let parsed = parse(text).map_err(|error| format!("{text}: {error}"))?;
        assert_eq!(parsed.encode().0[..8], word.to_le_bytes(), "{text}");
        assert_eq!(self::text(&parsed), text);
    }
    for (text, canonical) in [
        ("END", "CF_END"),
        ("TC 0 @2", "TEX 0 @2"),
        ("MOV T0.X, T1.X ;;", "MOV * T0.X, T1.X"),
        ("MOV T0.X, T1.X, BS:VEC_021/SCL_122", "MOV T0.X, T1.X BS:VEC_021"),
        ("VTX_READ T1, T2.Y, 4, #3 data_format:13", "VTX_READ_32 T1.____, T2.Y, 4, #3"),
        ("VTX_READ_128 T1.WZ01, T2.Y, 4, #3", "VTX_READ_128 T1.WZ01, T2.Y, 4, #3"),
        ("-2, 0x10", "-2(nan), 16(2.242078e-44)"),
    ] {
        let parsed = parse(text).map_err(|error| format!("{text}: {error}"))?;
        assert_eq!(self::text(&parsed), canonical, "{text}");
    }
    Ok(())
}

fn sources_have_labels_and_groups() -> Result<(), Failed> {
    let source = "
        ; A comment, as LLVM has them.
        .text
main:   ALU 3, @clause, KC0[CB0:0-16]   // another
        TEX 0 @fetch ; behind a word
        CF_END
        .p2align 4
fetch:  VTX_READ_32 T0.X, T0.X, 0, #1
clause: MOV T0.X, T1.X
        ADD_INT T3.Y, KC0[2].Y, literal.x ;; ends the group
";
    let failed = assemble(source, &options()?).expect_err("words behind `;;` are none");
    assert_eq!((failed.len(), failed[0].line), (1, 10));
    let source = source.replace(" ends the group", "\n        5(7.006492e-45), 0\n");
    let module = assemble(&source, &options()?).map_err(|reports| format!("{reports:?}"))?;
    let text = module.sections.iter().find(|section| section.name == ".text").ok_or("no .text")?;
    let Contents::Bytes(bytes) = &text.contents else { return Err("no bytes".into()) };
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
        .collect();
    // The clause begins at byte 48, the fetch at byte 32.
    assert_eq!(words[0], 1 << 63 | 8 << 58 | 3 << 50 | 1 << 30 | 6);
    assert_eq!(words[1], 1 << 63 | 1 << 54 | 4);
    assert_eq!(words[2], 1 << 63 | 32 << 54);
    assert_eq!(words[3], 0);
    assert_eq!(words[6], 25 << 39 | 1 << 36 | 1);
    assert_eq!(words[7], 1 << 61 | 3 << 53 | 52 << 39 | 1 << 36 | 1 << 31 | 253 << 13 | 1 << 10 | 130);
    assert_eq!((words[8], words.len()), (5, 9));
    for (line, message) in [
        ("TEX 0 @missing", "expected a label of this section, or a number"),
        ("a: .byte 0\n.text\nTEX 0 @a+1", "expected an address that is a multiple of 8, found 1"),
    ] {
        let failed = assemble(line, &options()?).expect_err("an error");
        assert_eq!(failed[0].diagnostic.message, message);
    }
    Ok(())
}

fn options() -> Result<Options<'static>, Failed> {
    Ok(Options { target: Some("cayman".parse()?), ..Options::default() })
}

/// No ABI describes kernels of Cayman: descriptors and metadata of another ABI would be wrong.
fn directives_of_an_abi_are_refused() -> Result<(), Failed> {
    for (line, directive) in [
        (".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"", ".amdgcn_target"),
        (".amdhsa_code_object_version 5", ".amdhsa_code_object_version"),
        (".amdhsa_kernel k", ".amdhsa_kernel"),
        (".amdhsa_next_free_vgpr 4", ".amdhsa_next_free_vgpr"),
        (".end_amdhsa_kernel", ".end_amdhsa_kernel"),
        (".amdgpu_metadata", ".amdgpu_metadata"),
        (".end_amdgpu_metadata", ".end_amdgpu_metadata"),
    ] {
        let source = format!("MOV T0.X, T1.X\n{line}\nMOV T0.X, T1.X\n");
        let reports = assemble(&source, &options()?).expect_err(line);
        assert_eq!(reports.len(), 1, "{line}: {reports:?}");
        let (report, diagnostic) = (&reports[0], &reports[0].diagnostic);
        assert_eq!((report.line, diagnostic.span.clone()), (2, 0..directive.len()), "{line}");
        assert_eq!(
            diagnostic.message,
            format!("`{directive}` describes kernels of an ABI; cayman has no ABI")
        );
        assert_eq!(
            diagnostic.notes,
            ["omit the directive, or assemble for one of gfx900, gfx906, \
              gfx908, gfx90a, gfx942, gfx950, gfx9-generic, gfx9-4-generic"]
        );
    }
    // Other directives do not belong to an ABI, and get no suggestion.
    let reports = assemble(".amdhsa_kernal k\n", &options()?).expect_err("no directive");
    assert_eq!(reports[0].diagnostic.message, "there is no directive `.amdhsa_kernal`");
    assert!(assemble("MOV T0.X, T1.X\n.long 1\n.ident \"x\"\n", &options()?).is_ok());
    Ok(())
}

fn errors() -> Result<(), Failed> {
    for (text, part, message) in [
        ("MOVE T0.X, T1.X", "MOVE", "Wavemill has no Cayman instruction `MOVE`"),
        ("MOV T128.X, T1.X", "T128.X", "expected a register from T0 to T127, found T128"),
        ("MOV T0, T1.X", "T0", "expected a channel after the register: .X, .Y, .Z or .W"),
        ("MOV T0.X, 2.0", "2.0", ""),
        ("MOV T0.X T1.X", "T1.X", "expected `,`, found `T1.X`"),
        ("MOV T0.X, KC0[32].X", "KC0[32].X", "expected a constant from KC0[0] to KC3[31]"),
        ("MULADD_IEEE T0.X, T0.X, T0.X, |T0.X|", "|", "the third source has no absolute value"),
        ("CF_END addr:16777216", "16777216", "expected 0 to 16777215 for `addr`, found 16777216"),
        ("CF_END last:1", "last", "words of format cf have no field `last`"),
        ("CF_END cf_inst:1", "cf_inst", "`cf_inst` is the opcode, which the mnemonic gives"),
        (
            "CF_END later",
            "later",
            "expected a field such as `barrier:0`, or the end of the line, found `later`",
        ),
        ("ALU 0, @0, KC0[CB0:0-64]", "0-64", "expected one or two lines of 16 constants, such as 0-32"),
        (
            "MEM_RAT_CACHELESS T0.X, T1.X",
            "T0.X",
            "expected the operation of the access, as in `MEM_RAT_CACHELESS NOP`, found `T0.X`",
        ),
        (
            "MEM_RAT_CACHELESS STORE_DWORD T0.YX, T1.X",
            "T0.YX",
            "expected some of X, Y, Z and W in this order",
        ),
        ("VTX_READ_32 T0.XYZWX, T1.X, 0, #1", "T0.XYZWX", "expected at most four channels"),
        ("0x100000000, 0", "0x100000000", "expected a 32-bit number, found 4294967296"),
        ("TEX 0 @label", "label", "the symbol has no value here"),
    ] {
        let error = parse(text).err().ok_or(format!("{text} is accepted"))?;
        let start = text.rfind(part).filter(|_| part == "T1.X" || part == "T0.X").or_else(|| text.find(part));
        assert_eq!(Some(error.span.start), start, "{text}: {error}");
        assert!(message.is_empty() || error.message == message, "{text}: {}", error.message);
    }
    // Any text is either parsed or rejected.
    let pieces = [
        "MOV",
        "ALU",
        "MEM_RAT_CACHELESS",
        " STORE_DWORD",
        "VTX_READ_32",
        " T1",
        ".X",
        ",",
        " @",
        "KC0[",
        "|",
        "-",
        "9",
        "(",
        ";;",
        "é",
    ];
    let mut random = SplitMix64::new(7);
    for _ in 0..20_000 {
        let count = random.below(9);
        let text: String = (0..count).map(|_| pieces[random.below(pieces.len() as u64) as usize]).collect();
        if let Err(error) = parse(&text) {
            assert!(text.get(error.span.clone()).is_some(), "{text}: {:?}", error.span);
        }
    }
    // GCN texts are not valid for a target of another family.
    for text in
        ["v_add_f32 v0, v1, v2", "s_endpgm", "buffer_load_dword v0, off, s[0:3], 0", "MOV T0.X, T1.X", ""]
    {
        assert!(wavemill_asm::gcn::parse(Target::Cayman, text).is_err(), "{text}");
    }
    Ok(())
}
