//! The oracles answer, survive crashes, and report when they are missing.

use std::path::Path;
use std::process::ExitCode;

use wavemill_oracle::{
    Failed, Filler, LlvmOracle, REQUIRE_VARIABLE, Span, SplitMix64, Suite, Tool, Verdict, assemble, objdump,
};

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("fillings are deterministic and respect the mask", fillings);
    suite.test("an unknown program is missing", || {
        let missing = Tool::Program("no-such-program-anywhere").require();
        assert_eq!(
            missing.map_err(|error| error.to_string()),
            Err("no-such-program-anywhere is not installed".into())
        );
        Ok(())
    });
    suite.test("an absent oracle skips visibly, or fails where it is required", absent_oracle);
    suite.oracle_test("disassembles", &[Tool::LibLlvm], disassembles);
    suite.oracle_test("survives a crash", &[Tool::LibLlvm], survives_a_crash);
    suite.oracle_test("batches keep their order", &[Tool::LibLlvm], batches_keep_their_order);
    suite.oracle_test("refuses an unknown target", &[Tool::LibLlvm], || {
        assert!(LlvmOracle::open("gfx9999").is_err());
        Ok(())
    });
    suite.oracle_test("assembles", &[Tool::LlvmMc], assembles);
    suite.oracle_test("dumps objects", &[Tool::LlvmObjdump], dumps_objects);
    suite.run()
}

/// Runs one test of this binary again, with a library that does not exist.
fn absent_oracle() -> Result<(), Failed> {
    let run = |required: &str| {
        std::process::Command::new(std::env::current_exe()?)
            .args(["disassembles"])
            .env("WAVEMILL_LIBLLVM", "/no/such/library.so")
            .env(REQUIRE_VARIABLE, required)
            .output()
    };
    let skipped = run("0")?;
    let text = String::from_utf8_lossy(&skipped.stdout).into_owned();
    assert!(skipped.status.success(), "{text}");
    assert!(text.contains("... ignored") && text.contains("[skipped: libLLVM 22 is not installed"), "{text}");
    let last = text.trim_end().lines().last().unwrap_or_default();
    assert!(
        last.starts_with("oracle tests skipped: ") && last.contains("libLLVM 22 is not installed"),
        "{last}"
    );
    let failed = run("1")?;
    let text = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(!failed.status.success() && text.contains("... FAILED"), "{text}");
    Ok(())
}

fn dumps_objects() -> Result<(), Failed> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin/gfx942");
    let text = objdump(&kernels.join("flat.co"), &["-d"])?;
    assert!(text.contains("s_endpgm"), "{text}");
    let absent = objdump(&kernels.join("no-such-object.co"), &["-d"]);
    assert!(absent.is_err_and(|error| error.to_string().contains("no-such-object.co")));
    Ok(())
}

fn fillings() -> Result<(), Failed> {
    assert_eq!(SplitMix64::new(1234567).next_u64(), 6457827717110365317);
    let spans = [Span { lo: 0, width: 9 }, Span { lo: 9, width: 8 }, Span { lo: 17, width: 8 }];
    let (fixed, mask) = (0x7e00_0000, 0xfe00_0000);
    let words = |seed| {
        let mut filler = Filler::new(seed);
        (0..4096).map(|_| filler.fill(fixed, mask, &spans)).collect::<Vec<_>>()
    };
    let (first, again, other) = (words(7), words(7), words(8));
    assert_eq!(first, again);
    assert_ne!(first, other);
    let numbers: Vec<u128> = first.iter().map(|word| u128::from_le_bytes(*word)).collect();
    assert!(numbers.iter().all(|word| word & mask == fixed));
    assert!(numbers.iter().filter(|&&word| word & 0x1ff == 0).count() > 1000, "zero fields are common");
    assert!(numbers.iter().any(|word| word & 0x1ff == 255), "the literal escape is reached");
    assert!(numbers.iter().any(|word| word >> 96 != 0), "bits that no span covers are filled");
    Ok(())
}

fn decoded(size: usize, text: &str) -> Verdict {
    Verdict::Decoded { size, text: text.to_owned(), comment: String::new() }
}

fn disassembles() -> Result<(), Failed> {
    let mut llvm = LlvmOracle::open("gfx906")?;
    let words: [&[u8]; 5] = [
        &[0x00, 0x00, 0x81, 0xbf],
        &[0x02, 0x06, 0x02, 0x02],
        &[0xff, 0x00, 0x00, 0x80, 0x78, 0x56, 0x34, 0x12],
        &[0x00, 0x00, 0x81],
        &[0xff, 0xff, 0xff, 0xff],
    ];
    let expected = [
        decoded(4, "s_endpgm"),
        decoded(4, "v_add_f32_e32 v1, s2, v3"),
        decoded(8, "s_add_u32 s0, 0x12345678, s0"),
        Verdict::Invalid,
        Verdict::Invalid,
    ];
    assert_eq!(llvm.disassemble(&words), expected);
    Ok(())
}

fn survives_a_crash() -> Result<(), Failed> {
    let mut llvm = LlvmOracle::open("gfx90a")?;
    let crasher = [0x05, 0x40, 0xa3, 0xd3, 0x01, 0xff, 0x09, 0x1c];
    let end = [0x00, 0x00, 0x81, 0xbf, 0, 0, 0, 0];
    let verdicts = llvm.disassemble(&[end, crasher, end, crasher, crasher, end]);
    let fine = decoded(4, "s_endpgm");
    // A later patch release may fix the crash; then the word is rejected or decoded, and the other
    // answers do not change.
    for index in [0, 2, 5] {
        assert_eq!(verdicts[index], fine);
    }
    assert_eq!(verdicts[1], verdicts[3]);
    assert_eq!(verdicts[1], verdicts[4]);
    Ok(())
}

fn batches_keep_their_order() -> Result<(), Failed> {
    let mut llvm = LlvmOracle::open("gfx942")?;
    let words: Vec<[u8; 4]> = (0..20_000u32).map(|n| (0xbf80_0000 | (n & 7)).to_le_bytes()).collect();
    for (n, verdict) in llvm.disassemble(&words).into_iter().enumerate() {
        assert_eq!(verdict, decoded(4, &format!("s_nop {}", n & 7)));
    }
    Ok(())
}

fn assembles() -> Result<(), Failed> {
    let lines = [
        "s_nop 3",
        "no_such_thing v1",
        "s_endpgm",
        "s_nop 0\ns_nop 1",
        "s_branch wavemill_line_0",
        "s_add_u32 s0, s1, 0x12345",
    ]
    .map(String::from);
    let results = assemble("gfx906", &lines)?;
    assert_eq!(results[0], Ok(vec![3, 0, 0x80, 0xbf]));
    assert!(
        results[1]
            .as_ref()
            .is_err_and(|refusal| refusal.message == "invalid instruction" && refusal.column == 0),
        "{results:?}"
    );
    assert_eq!(results[2], Ok(vec![0, 0, 0x81, 0xbf]));
    assert!(results[3].is_err());
    assert!(results[4].is_err(), "a relocation is not plain bytes: {results:?}");
    assert_eq!(results[5], Ok(vec![0x01, 0xff, 0x00, 0x80, 0x45, 0x23, 0x01, 0x00]));
    Ok(())
}
