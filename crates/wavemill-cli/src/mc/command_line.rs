//! Rewrites command lines of `llvm-mc` for clap.

use std::ffi::OsString;

use super::llvm_options;
use super::options::Known;
use crate::failure::Failure;

/// The command line without the options of llvm-mc that change nothing. `command` is all of
/// `wavemill`.
///
/// # Errors
/// An option of llvm-mc that is not accepted.
pub(crate) fn settled(mut args: Vec<OsString>, command: &clap::Command) -> Result<Vec<OsString>, Failure> {
    if let Some(at) = command_place(&args, command) {
        let options = args.split_off(at + 1);
        args.extend(llvm_options::settled(options, &Known::of_mc())?);
    }
    Ok(args)
}

/// Whether a command line runs `mc`.
pub(crate) fn is_command(args: &[OsString], command: &clap::Command) -> bool {
    command_place(args, command).is_some()
}

/// The index of `mc` on a command line that runs it.
fn command_place(args: &[OsString], command: &clap::Command) -> Option<usize> {
    // Options of all commands may come before it.
    let at = args.iter().skip(1).position(|arg| arg == "mc")? + 1;
    let known = Known::of_all_commands(command);
    let takes_value = |option: &OsString| {
        option.to_str().and_then(|text| text.strip_prefix("--")).is_some_and(|name| known.takes_value(name))
    };
    let in_front = args.get(1..at).unwrap_or_default();
    let only_options = in_front.iter().enumerate().all(|(index, arg)| {
        let before = index.checked_sub(1).and_then(|before| in_front.get(before));
        before.is_some_and(takes_value) || arg.to_str().is_some_and(|arg| arg.starts_with("--"))
    });
    let is_value = at > 1 && args.get(at - 1).is_some_and(takes_value);
    (only_options && !is_value).then_some(at)
}

/// Rewrites options with one dash to two dashes, which clap knows. llvm-mc's `-color` has no value.
pub(crate) fn with_two_dashes(args: Vec<OsString>, command: &clap::Command) -> Vec<OsString> {
    let Some(at) = command_place(&args, command) else { return args };
    let known = Known::of_mc();
    let mut behind = false;
    let mut rewritten: Vec<OsString> = Vec::with_capacity(args.len());
    let mut args = args.into_iter().enumerate().peekable();
    while let Some((index, arg)) = args.next() {
        behind |= arg == "--";
        let text = arg.to_str().unwrap_or_default();
        if index <= at || behind || !text.starts_with('-') {
            rewritten.push(arg);
            continue;
        }
        let long = text.len() > 2 && !text.starts_with("--") && !known.is_joined(text);
        let option = if long { format!("-{text}").into() } else { arg.clone() };
        let next = args.peek().and_then(|(_, next)| next.to_str());
        let option = match (option.to_str(), next) {
            (Some("--color"), Some("auto" | "always" | "never")) => option,
            (Some("--color" | "--color=1" | "--color=true"), _) => "--color=always".into(),
            (Some("--color=0" | "--color=false"), _) => "--color=never".into(),
            _ => option,
        };
        let value = known.takes_value(option.to_str().unwrap_or_default().trim_start_matches('-'));
        rewritten.push(option);
        if value {
            rewritten.extend(args.next().map(|(_, value)| value));
        }
    }
    rewritten
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{Arg, Command};

    use super::with_two_dashes;

    /// A command with options that may come before it.
    fn command() -> Command {
        let option = |name: &'static str| Arg::new(name).long(name).global(true);
        Command::new("wavemill").arg(option("color")).arg(option("log-file"))
    }

    #[test]
    fn one_dash_is_two() {
        let rewritten = |line: &str| {
            let args = with_two_dashes(line.split(' ').map(OsString::from).collect(), &command());
            args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        for (line, wanted) in [
            ("wavemill mc -mcpu=gfx906 -show-encoding -", "wavemill mc --mcpu=gfx906 --show-encoding -"),
            ("wavemill mc --mcpu gfx906 -o a.o a.s", "wavemill mc --mcpu gfx906 -o a.o a.s"),
            ("wavemill mc -Ifolder -oa.o -- -name", "wavemill mc -Ifolder -oa.o -- -name"),
            ("wavemill --color never mc -arch=amdgcn", "wavemill --color never mc --arch=amdgcn"),
            ("wavemill mc -color a.s", "wavemill mc --color=always a.s"),
            ("wavemill mc --color never -color=0", "wavemill mc --color never --color=never"),
            ("wavemill mc -mattr -xnack -hex", "wavemill mc --mattr -xnack --hex"),
            ("wavemill run -mc mc", "wavemill run -mc mc"),
            ("wavemill --log-file mc dis -x", "wavemill --log-file mc dis -x"),
            ("wavemill info mc -x", "wavemill info mc -x"),
        ] {
            assert_eq!(rewritten(line), wanted);
        }
    }
}
