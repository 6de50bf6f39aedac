//! Whole programs: what is disassembled assembles to the same bytes.

use std::process::Command;

use wavemill_asm::cayman::{Assembled, Listing, Options, assemble, disassemble};
use wavemill_isa::cayman::{FieldId as F, Format, Inst, Op};
use wavemill_oracle::{Failed, SplitMix64, Tool, run};

use crate::texts::{group_of, random_word};

/// The lines that count of `llc-22 -mtriple=r600-- -mcpu=cayman -show-mc-encoding` for programs.
const LLC: &str = include_str!("../../../wavemill-isa/tests/data/cayman/llc.s");

/// The machine code of each function in the output of llc.
pub(crate) fn code_of(output: &str) -> Result<Vec<Vec<u8>>, Failed> {
    let mut functions: Vec<Vec<u8>> = Vec::new();
    for line in output.lines() {
        if line.contains("; @") {
            functions.push(Vec::new());
        } else if let Some((_, bytes)) = line.split_once("; encoding: [0x") {
            let function = functions.last_mut().ok_or("a line without a function")?;
            for byte in bytes.trim_end_matches(']').split(',') {
                function.push(u8::from_str_radix(byte.trim_start_matches("0x"), 16)?);
            }
        }
    }
    functions.retain(|function| !function.is_empty());
    Ok(functions)
}

/// Assembles a text; it must have no errors.
pub(crate) fn assembled(text: &str) -> Result<Assembled, Failed> {
    let assembled = assemble(text.as_bytes(), &Options::default());
    match assembled.reports.first() {
        None => Ok(assembled),
        Some(report) => Err(format!("line {}: {}\n{text}", report.line, report.diagnostic).into()),
    }
}

pub(crate) fn comes_back(bytes: &[u8]) -> Result<String, Failed> {
    let text = disassemble(bytes, &Listing::default());
    let assembled = assembled(&text)?;
    assert_eq!(assembled.programs.len(), 1, "{text}");
    assert_eq!(assembled.programs[0].bytes, bytes, "{text}");
    // Comments do not count.
    let plain = disassemble(bytes, &Listing { addresses: false });
    assert!(!plain.contains("//"), "{plain}");
    assert_eq!(self::assembled(&plain)?.programs, assembled.programs, "{plain}");
    Ok(text)
}

/// Programs of LLVM come back, need no field by name that its compiler does not set, and have no
/// data but padding.
pub(crate) fn what_llvm_wrote() -> Result<(), Failed> {
    of_llvm(LLC, 11)
}

pub(crate) fn what_llc_writes() -> Result<(), Failed> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../wavemill-isa/tests/data/cayman");
    let llc = Tool::Program("llc-22").path()?;
    let mut count = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ll") {
            let arguments = ["-mtriple=r600--", "-mcpu=cayman", "-show-mc-encoding", "-o", "-"];
            of_llvm(&String::from_utf8(run(Command::new(&llc).args(arguments).arg(&path))?)?, 1)?;
            count += 1;
        }
    }
    assert_eq!(count, 11);
    Ok(())
}

fn of_llvm(output: &str, count: usize) -> Result<(), Failed> {
    let functions = code_of(output)?;
    assert_eq!(functions.len(), count);
    for bytes in functions {
        let text = comes_back(&bytes)?;
        assert!(!text.contains(".quad") || text.contains(".quad 0x0000000000000000"), "{text}");
        for name in ["reserved", "_sel:", "_chan:", " lit.", "literals", "bs:", "count:", ".in_order", "@"] {
            let is_label = name == "@" && text.contains("@l");
            assert!(is_label || !text.contains(name), "{name}: {text}");
        }
        let assembled = assembled(&text)?;
        let warnings: Vec<String> = assembled.warnings.iter().map(|one| one.diagnostic.to_string()).collect();
        assert_eq!(warnings, [""; 0], "{text}");
    }
    Ok(())
}

/// Programs of LLVM with some bits changed decode to anything, and come back.
pub(crate) fn changed_bits_come_back() -> Result<(), Failed> {
    let functions = code_of(LLC)?;
    let mut random = SplitMix64::new(18);
    for _ in 0..1_500 {
        let mut bytes = functions[random.below(functions.len() as u64) as usize].clone();
        for _ in 0..=random.below(12) {
            // The first words decide about the rest.
            let most = if random.below(2) == 0 { 48.min(bytes.len()) } else { bytes.len() };
            let at = random.below(most as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        bytes.truncate(bytes.len() - random.below(2) as usize * random.below(9) as usize);
        comes_back(&bytes)?;
    }
    Ok(())
}

/// Random words with clauses before, behind and between them come back.
pub(crate) fn random_programs_come_back() -> Result<(), Failed> {
    let mut random = SplitMix64::new(19);
    let of = |fits: fn(Format) -> bool| -> Vec<Op> {
        Op::ALL.iter().copied().filter(|op| fits(op.row().format)).collect()
    };
    let (control, slots) = (of(Format::is_control), of(Format::is_alu));
    let (fetches, shares) = (of(Format::is_fetch), of(Format::is_gds));
    let pick = |all: &[Op], random: &mut SplitMix64| all[random.below(all.len() as u64) as usize];
    for _ in 0..800 {
        let mut bytes: Vec<u8> = Vec::new();
        let count = 1 + random.below(8);
        let length = 8 * (count as u32 + 24);
        for _ in 0..count {
            let inst = random_word(pick(&control, &mut random), &mut random);
            let near = inst.with(F::Addr, random.below(u64::from(length / 8)) as u32).unwrap_or(inst);
            let short = near.with(F::Count, random.below(6) as u32).unwrap_or(near);
            bytes.extend_from_slice(&short.encode().0[..short.size()]);
        }
        for _ in 0..random.below(8) {
            match random.below(4) {
                0 => {
                    let slot = random_word(pick(&slots, &mut random), &mut random);
                    let group = group_of(&[slot], &mut random)?;
                    let slot = group.slots.into_iter().flatten().next().ok_or("no slot")?;
                    bytes.extend_from_slice(&slot.encode().0[..8]);
                    group.literals.iter().take((group.size - 8) / 4).for_each(|literal| {
                        bytes.extend_from_slice(&literal.to_le_bytes());
                    });
                }
                1 => bytes.extend_from_slice(&random.next_u64().to_le_bytes()),
                kind => {
                    let ops = if kind == 2 { &fetches } else { &shares };
                    let inst: Inst = random_word(pick(ops, &mut random), &mut random);
                    bytes.resize(bytes.len().next_multiple_of(16), 0);
                    bytes.extend_from_slice(&inst.encode().0);
                }
            }
        }
        comes_back(&bytes)?;
    }
    Ok(())
}

/// The program of the form: clauses behind the control flow, in another order, and before
/// it.
pub(crate) fn clauses_stand_anywhere() -> Result<(), Failed> {
    let control = "
        .stack 1
        alu_push_before cond, kc0=cb0[0:31]
        jump   @end pop:1
        tc     loads
        mem_rat_cacheless store_dword rat0, r0.x, [r1.x] type:write_ind
end:    pop    @next pop:1
next:   end
";
    let cond = "
cond:   x: mullo_int     _.x, kc0[1].z, r1.x
        y: mullo_int     r0.y, kc0[1].z, r1.x
        z: mullo_int     _.z, kc0[1].z, r1.x
        w: mullo_int     _.w, kc0[1].z, r1.x ;;
        x: pred_sete_int _.x, pv.y, 0 exec ;;   // a comment
        w: lshl_int      r0.w, r0.x, 0x2 bs:201 ;;
        x: lds_read_ret  r0.w ;;
        z: mov           r1.z, oqa.pop ;;
";
    let loads = "
loads:  vfetch r1.x___, r1.x, buf:1 fmt:32 int index:none
        sample r2.xyzw, r3.xyzz, res:0 smp:0 ct:nnnn
";
    let mut all = Vec::new();
    for (order, address) in [
        ([control, cond, loads], [6, 16]),
        ([cond, control, loads], [6, 16]),
        ([loads, control, cond], [10, 6]),
        ([cond, loads, control], [6, 16]),
    ] {
        let text = order.concat();
        let assembled = assembled(&text)?;
        let code = &assembled.programs[0];
        let words: Vec<u64> = code
            .bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
            .collect();
        // Eight slots and a pair of literals are nine words; two fetches are two.
        let [alu, tc] = address;
        assert_eq!(words[0], 1 << 63 | 9 << 58 | 8 << 50 | 2 << 30 | alu, "{text}");
        assert_eq!(words[1], 1 << 63 | 10 << 54 | 1 << 32 | 4, "{text}");
        assert_eq!(words[2], 1 << 63 | 1 << 54 | 1 << 42 | tc, "{text}");
        assert_eq!(words[4], 1 << 63 | 14 << 54 | 1 << 32 | 5, "{text}");
        assert_eq!((code.stack, code.gprs), (Some(1), 4));
        let back = disassemble(&code.bytes, &Listing::default());
        assert_eq!(self::assembled(&back)?.programs[0].bytes, code.bytes, "{back}");
        let warnings: Vec<String> = assembled.warnings.iter().map(|one| one.diagnostic.to_string()).collect();
        all.push(warnings);
    }
    assert_eq!(all, vec![Vec::<String>::new(); 4]);
    Ok(())
}
