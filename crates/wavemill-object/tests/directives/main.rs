//! Compares the directives of kernel descriptors with `llvm-mc`: every directive with every edge
//! value on every target, random ones together, and descriptors that are turned into directives.

use std::collections::HashSet;
use std::process::{Command, ExitCode};

use wavemill_object::{DescriptorBuilder, Directive, DirectiveDefault, DirectiveError, TargetId, express};
use wavemill_oracle::{Failed, SplitMix64, Suite, Tool};

/// Every target, with every setting of `xnack`.
const TARGETS: [&str; 11] = [
    "gfx900",
    "gfx900:xnack-",
    "gfx906",
    "gfx906:xnack-",
    "gfx908:xnack+",
    "gfx90a",
    "gfx90a:xnack-",
    "gfx942",
    "gfx942:xnack-",
    "gfx950",
    "gfx950:xnack+",
];

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("what is built can be expressed", built_can_be_expressed);
    suite.test("what no directive sets is named", inexpressible);
    for target in TARGETS {
        suite.oracle_test(format!("each directive on {target}"), &[Tool::LlvmMc], move || each(target));
        suite.oracle_test(format!("random directives on {target}"), &[Tool::LlvmMc], move || random(target));
        suite.oracle_test(format!("random bytes on {target}"), &[Tool::LlvmMc], move || random_bytes(target));
    }
    suite.run()
}

type Settings = Vec<(String, i64)>;

/// The result of this crate for directives.
fn ours(target: &TargetId, settings: &Settings) -> Result<[u8; 64], Vec<DirectiveError>> {
    let mut builder = DescriptorBuilder::new(target).map_err(|error| vec![error])?;
    let mut errors = Vec::new();
    for (name, value) in settings {
        errors.extend(builder.set(name, *value).err());
    }
    match builder.finish() {
        Ok(bytes) if errors.is_empty() => Ok(bytes),
        Ok(_) => Err(errors),
        Err(more) => Err(errors.into_iter().chain(more).collect()),
    }
}

/// The result of `llvm-mc` for several lists of directives: the indices of the rejected lists, and
/// the bytes of the others if it rejects none.
fn theirs(target: &str, cases: &[&Settings]) -> Result<(HashSet<usize>, Vec<[u8; 64]>), Failed> {
    let (processor, xnack) = match target.split_once(":xnack") {
        Some((processor, sign)) => (processor, format!("-mattr={sign}xnack")),
        None => (target, "-mattr=".to_owned()),
    };
    let mut source = String::from(".text\n.globl k\nk:\ns_endpgm\n.section .rodata\n");
    let mut owners = vec![usize::MAX; source.lines().count() + 1];
    for (index, case) in cases.iter().enumerate() {
        // The relocation of the distance to the code is left unresolved.
        let mut lines = vec![format!(".globl k{index}\n.amdhsa_kernel k{index}")];
        lines.extend(case.iter().map(|(name, value)| format!("{name} {value}")));
        lines.push(".end_amdhsa_kernel".to_owned());
        for line in lines.join("\n").lines() {
            source += &format!("{line}\n");
            owners.push(index);
        }
    }
    let folder = std::env::temp_dir().join(format!("wavemill-directives-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let unique = format!("{target}-{}-{:x}", cases.len(), source.len());
    let (file, object) = (folder.join(format!("{unique}.s")), folder.join(format!("{unique}.o")));
    std::fs::write(&file, &source)?;
    let output = Command::new(Tool::LlvmMc.path()?)
        .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj", &format!("-mcpu={processor}"), &xnack])
        .arg(&file)
        .arg("-o")
        .arg(&object)
        .output()?;
    let mut refused = HashSet::new();
    let prefix = format!("{}:", file.display());
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Some((number, rest)) = line.strip_prefix(&prefix).and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        if rest.contains("error:")
            && let Ok(number) = number.parse::<usize>()
        {
            refused.insert(owners.get(number).copied().unwrap_or(usize::MAX));
        }
    }
    assert!(!refused.contains(&usize::MAX), "{}", String::from_utf8_lossy(&output.stderr));
    let mut bytes = Vec::new();
    if refused.is_empty() {
        let data = std::fs::read(&object)?;
        use object::{Object as _, ObjectSection as _};
        let read = object::File::parse(&*data)?;
        let section = read.section_by_name(".rodata").ok_or("no descriptors")?.data()?.to_vec();
        for chunk in section.chunks(64) {
            bytes.push(chunk.try_into()?);
        }
        assert_eq!(bytes.len(), cases.len());
    }
    // Leftover files do no harm.
    let _ = (std::fs::remove_file(&file), std::fs::remove_file(&object), std::fs::remove_dir(&folder));
    Ok((refused, bytes))
}

/// Both must reject the same lists, and produce the same bytes for the others.
fn compare(target: &str, cases: &[Settings]) -> Result<(usize, usize), Failed> {
    let id = target.parse::<TargetId>()?;
    let (mut taken, mut bytes, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases {
        match ours(&id, case) {
            Ok(made) => {
                taken.push(case);
                bytes.push(made);
            }
            Err(errors) => refused.push((case, errors)),
        }
    }
    let (wrong, made) = theirs(target, &taken)?;
    if let Some(&index) = wrong.iter().next() {
        return Err(format!("{target}: llvm-mc refuses {:?}", taken[index]).into());
    }
    for ((case, ours), theirs) in taken.iter().zip(&bytes).zip(&made) {
        assert_eq!(ours, theirs, "{target}: {case:?}");
    }
    let lists: Vec<_> = refused.iter().map(|(case, _)| *case).collect();
    let (wrong, _) = theirs(target, &lists)?;
    for (index, (case, errors)) in refused.iter().enumerate() {
        assert!(
            wrong.contains(&index),
            "{target}: llvm-mc takes {case:?}, which is refused here: {errors:?}"
        );
    }
    Ok((taken.len(), refused.len()))
}

/// The required directives.
fn required(target: &TargetId) -> Settings {
    Directive::all()
        .iter()
        .filter(|row| row.default == DirectiveDefault::Required && row.support.includes(&target.processor))
        .map(|row| (row.name.to_owned(), 8))
        .collect()
}

/// Edge values of a directive, also beyond its range.
fn edges(directive: &Directive, target: &TargetId) -> Vec<i64> {
    let range = directive.range(&target.processor);
    let mut values =
        vec![i64::MIN, -1, 0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, i64::from(i32::MAX), i64::MAX];
    for bound in [*range.start(), *range.end()] {
        values.extend((-4..=4).map(|step| i64::from(bound) + step));
    }
    values.sort_unstable();
    values.dedup();
    values
}

fn each(target: &str) -> Result<(), Failed> {
    let id = target.parse::<TargetId>()?;
    let base = required(&id);
    let mut cases = vec![base.clone(), Vec::new()];
    for directive in Directive::all() {
        let name = directive.name.to_owned();
        let others: Settings = base.iter().filter(|(other, _)| *other != name).cloned().collect();
        // Omit it, then give it twice.
        cases.push(others.clone());
        cases.push([others.clone(), vec![(name.clone(), 1), (name.clone(), 1)]].concat());
        for value in edges(directive, &id) {
            cases.push([others.clone(), vec![(name.clone(), value)]].concat());
        }
    }
    cases.push([base, vec![(".amdhsa_nothing".to_owned(), 1)]].concat());
    let (taken, refused) = compare(target, &cases)?;
    assert!(taken > 100 && refused > 300, "{taken} {refused}");
    Ok(())
}

/// A list of directives that the target has, most of them with values in range.
fn some(target: &TargetId, random: &mut SplitMix64) -> Settings {
    let mut out = Vec::new();
    for directive in Directive::all().iter().filter(|row| row.support.includes(&target.processor)) {
        let range = directive.range(&target.processor);
        let needed = directive.default == DirectiveDefault::Required;
        if !needed && random.next_u64().is_multiple_of(2) {
            continue;
        }
        let span = u64::from(range.end() - range.start()) + 1;
        let mut value = i64::from(*range.start()) + (random.next_u64() % span) as i64;
        match directive.name {
            ".amdhsa_accum_offset" => value &= !3,
            ".amdhsa_reserve_xnack_mask" => value = directive.default_for(target).unwrap_or(0).into(),
            ".amdhsa_kernarg_size" => value %= 256,
            ".amdhsa_user_sgpr_kernarg_preload_offset" => value %= 32,
            ".amdhsa_user_sgpr_count" => value = value.max(20),
            _ => {}
        }
        out.push((directive.name.to_owned(), value));
    }
    out
}

fn random(target: &str) -> Result<(), Failed> {
    let id = target.parse::<TargetId>()?;
    let mut random = SplitMix64::new(0xd12e_c717);
    let cases: Vec<_> = (0..600).map(|_| some(&id, &mut random)).collect();
    let (taken, refused) = compare(target, &cases)?;
    assert!(taken > 60 && taken + refused == 600, "{taken} {refused}");
    Ok(())
}

/// Every built descriptor can be expressed, and its directives build it again.
fn built_can_be_expressed() -> Result<(), Failed> {
    let mut random = SplitMix64::new(0x0e99_2e55);
    for target in TARGETS {
        let id = target.parse::<TargetId>()?;
        let mut seen = 0;
        for _ in 0..4000 {
            let Ok(bytes) = ours(&id, &some(&id, &mut random)) else { continue };
            let settings =
                express(&bytes, &id).map_err(|error| format!("{target}: {error}: {bytes:02x?}"))?;
            let listed: Settings = settings
                .iter()
                .map(|setting| (setting.directive.name.to_owned(), setting.value.into()))
                .collect();
            assert_eq!(ours(&id, &listed), Ok(bytes), "{target}");
            // Defaults may be omitted.
            let short = settings.iter().filter(|setting| !setting.is_default(&id));
            let short =
                short.map(|setting| (setting.directive.name.to_owned(), setting.value.into())).collect();
            assert_eq!(ours(&id, &short), Ok(bytes), "{target}");
            seen += 1;
        }
        assert!(seen > 400, "{target}: {seen}");
    }
    Ok(())
}

/// Bytes with few bits set, so that some can be expressed: their directives reproduce them, in
/// `llvm-mc` too.
fn random_bytes(target: &str) -> Result<(), Failed> {
    let id = target.parse::<TargetId>()?;
    let mut random = SplitMix64::new(0x000b_17e5);
    let (mut cases, mut wanted) = (Vec::new(), Vec::new());
    for _ in 0..3000 {
        let mut bytes = [0_u8; 64];
        // Set bits in fields; a bit outside them makes the descriptor inexpressible.
        for _ in 0..random.next_u64() % 12 {
            let at = [0, 4, 8, 44, 48, 49, 50, 51, 52, 53, 55, 56, 57, 58][random.next_u64() as usize % 14];
            bytes[at] |= 1 << (random.next_u64() % 8);
        }
        let Ok(settings) = express(&bytes, &id) else { continue };
        cases.push(
            settings
                .iter()
                .map(|setting| (setting.directive.name.to_owned(), setting.value.into()))
                .collect(),
        );
        wanted.push(bytes);
    }
    assert!(cases.len() > 50, "{target}: {}", cases.len());
    let (refused, made) = theirs(target, &cases.iter().collect::<Vec<_>>())?;
    assert!(refused.is_empty(), "{target}: {:?}", refused.iter().next().map(|&index| &cases[index]));
    assert_eq!(made, wanted, "{target}");
    Ok(())
}

/// Messages for descriptors that no directives produce.
fn inexpressible() -> Result<(), Failed> {
    let mut out = String::new();
    let mut say = |target: &str, bytes: [u8; 64]| -> Result<(), Failed> {
        let error = express(&bytes, &target.parse()?).err().ok_or("it is expressible")?;
        out += &format!("{target}: {error}\n");
        Ok(())
    };
    let with = |bits: &[(usize, u8)]| {
        let mut bytes = [0; 64];
        for &(at, bits) in bits {
            bytes[at] = bits;
        }
        bytes
    };
    say("gfx906", with(&[(12, 1)]))?;
    say("gfx906", with(&[(30, 2), (42, 3), (60, 5), (63, 8)]))?;
    say("gfx906", with(&[(52, 0x40), (53, 0x80), (50, 0x10), (49, 0x0c)]))?;
    say("gfx906", with(&[(44, 1), (56, 0x80), (59, 1)]))?;
    say("gfx906", with(&[(48, 0xc0), (49, 3)]))?;
    say("gfx90a", with(&[(44, 0x3f), (46, 2)]))?;
    say("gfx942", with(&[(56, 0x01)]))?;
    say("gfx942", with(&[(56, 0x0a)]))?;
    say("gfx950", with(&[(8, 4), (58, 2), (52, 4)]))?;
    say("gfx1100", with(&[]))?;
    insta::assert_snapshot!(out);
    Ok(())
}
