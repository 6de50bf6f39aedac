//! Options for compiling sources: the compiler's own options.

use super::Group;
use super::key::{Key, Read, Scope};
use crate::compile;
use crate::text::in_toml;

pub(super) const GROUP: Group = Group {
    keys: &[Key {
        name: "clang-args",
        scope: Scope::Run,
        read: Read::Texts(|args, texts, base| {
            let arguments = compile::arguments_of_launch_file(texts, base)?;
            // Arguments of the command line come last, and win.
            args.compile.clang_arg.splice(0..0, arguments);
            Ok(())
        }),
        is_named: false,
        listed: (1, 0),
        written: Some((2, |args| {
            let arguments: Vec<String> = args.compile.clang_arg.iter().map(|text| in_toml(text)).collect();
            (!arguments.is_empty()).then(|| format!("[{}]", arguments.join(", ")))
        })),
    }],
    ..Group::NONE
};
