//! Failing kernels as users run them: the whole message, the exit code, a host that continues, and
//! buffers that stay unchanged. The sources are in `kernels/faults`.

mod absurd;
mod case;
mod control;
mod memory;

use std::fmt::Write as _;

use wavemill::device::AddressMode;

pub(crate) use case::{Case, folder};

use case::without_addresses;

const TARGETS: [&str; 4] = ["gfx906", "gfx90a", "gfx942", "gfx950"];

/// All cases on a target.
pub(crate) fn cases(target: &str) -> Vec<Case> {
    [memory::cases(target), control::cases()].concat()
}

/// The error in the message of the command, without the advice.
fn error_of(said: &str) -> &str {
    let error = said.split_once("error: ").map_or("", |(_, error)| error);
    error.split_once("\n\n").map_or(error, |(error, _)| error).trim_end()
}

/// Runs cases of one kind on a target through the command and the library in both address modes,
/// and compares the messages with the snapshot.
fn check(group: &str, target: &str, cases: &[Case]) {
    let folder = folder(group, target);
    let mut all = String::new();
    for case in cases {
        let said = case.command(&folder, AddressMode::Sandbox, &[]);
        let error = error_of(&said);
        unchanged(case, target, AddressMode::Sandbox, error, |text| text.to_owned());
        let identity = case.command(&folder, AddressMode::Identity, &[]);
        let same = |text: &str| without_addresses(text, case.far);
        assert_eq!(same(error_of(&identity)), same(error), "{} in identity mode", case.name);
        unchanged(case, target, AddressMode::Identity, error_of(&identity), same);
        let line = case.line(AddressMode::Sandbox).join(" ");
        // Writing to a string does not fail.
        let _ = writeln!(all, "# {}\n$ wavemill {line}", case.name);
        let _ = writeln!(all, "{}\n[exit code {}]\n", said.trim_end(), case.exit);
    }
    insta::assert_snapshot!(format!("{group}_{target}"), all);
}

/// The library reports the same as the command did, and no buffer has changed.
fn unchanged(case: &Case, target: &str, mode: AddressMode, error: &str, same: impl Fn(&str) -> String) {
    let (result, data) = case.library(target, mode, None);
    let result = result.expect_err(case.name);
    assert_eq!(same(result.to_string().trim_end()), same(error), "{}", case.name);
    assert!(data == case.contents(), "{}: the buffer has changed", case.name);
}

#[test]
fn addresses_are_all_that_is_left_out() {
    let text = "illegal store of 4 bytes at 0x1000004fa0: 7 bytes past the end of `c`\n  \
                lanes        0..63 (64 of 64 active) at 0x7f0012345678 0x12345678\n  \
                memory       0x1000004000..0x1000004fa0 `c`, 4000 bytes, ends 0 bytes below\n               \
                0x1000006000..0x1000006001 `d`, 1 byte, begins 4192 bytes above\n    \
                mode     000003f0  round\n    s[0:3]   0000b000 00000010\n  * v0    00004fa0\n";
    let left = "illegal store of 4 bytes at <address>: 7 bytes past the end of `c`\n  \
                lanes        0..63 (64 of 64 active) at <address> 0x12345678\n<memory>\n    \
                mode     000003f0  round\n    s[0:3]   <address> <address>\n  * v0    <address>\n";
    assert_eq!(without_addresses(text, false), left);
    assert!(without_addresses(text, true).starts_with("illegal store of 4 bytes at <address>\n"));
}

/// An index that is far out of range hits no other buffer, and no memory of the runtime.
#[test]
fn far_overruns_hit_nothing() {
    let folder = folder("far", "gfx942");
    folder.object("gfx942", "vector_add");
    folder.object("gfx942", "printf");
    let wrong = |words: &str, past: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let output = folder.run(&words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{words:?}: {said}");
        assert!(error_of(&said).lines().next().is_some_and(|line| line.ends_with(past)), "{words:?}: {said}");
    };
    let run = "run vector_add.co --grid 1 --block 64";
    wrong(
        &format!("{run} a:f32[64]=ones b:f32[8192]=iota c:f32[8192] n:u32=8192 --offset 2048"),
        "7936 bytes past the end of `a`",
    );
    wrong(
        &format!("{run} a:f32[8192]=ones b:f32[8192]=ones c:f32[64] n:u32=8192 --offset 4096"),
        "16128 bytes past the end of `c`",
    );
    let far = "27999744 bytes past the end of `a`";
    wrong(&format!("{run} a:f32[64] b:f32[64] c:f32[64] n:u32=9999999 --offset 7000000"), far);
    for last in [2048, 100_000, 1 << 28] {
        let line = "run printf.co --kernel printf_then_store --grid 1 --block 64 stored:u32[8] n:u32=8";
        let past = format!("{} bytes past the end of `stored`", 4 * last - 32);
        wrong(&format!("{line} last:u32={last}"), &past);
    }
}
