//! Prints kernel descriptors as `llvm-mc` does: every directive that the target has, given or not.

use std::collections::HashMap;
use std::fmt::Write;

use wavemill_object::{Directive, DirectiveDefault};

use super::text::Text;

/// A descriptor whose directives are being read.
#[derive(Debug)]
pub(super) struct Descriptor {
    kernel: String,
    /// The directives that the source has: the text of the value, and the value if it is known.
    given: HashMap<String, (String, Option<i64>)>,
}

impl Text {
    /// Handles the directives of a kernel descriptor; returns false for others.
    pub(super) fn kernel(&mut self, name: &str, rest: &str) -> bool {
        match name {
            ".amdhsa_code_object_version" => {
                self.version = rest.parse().unwrap_or(self.version);
                false
            }
            ".amdhsa_kernel" => {
                self.descriptor = Some(Descriptor { kernel: rest.to_owned(), given: HashMap::new() });
                true
            }
            ".end_amdhsa_kernel" => {
                if let Some(descriptor) = self.descriptor.take() {
                    self.print_descriptor(&descriptor);
                }
                true
            }
            _ if self.descriptor.is_none() => false,
            _ => {
                let value = self.expressions(rest).and_then(|all| all.into_iter().next());
                if let Some(descriptor) = &mut self.descriptor {
                    let value = value.unwrap_or_else(|| (rest.to_owned(), None));
                    descriptor.given.insert(name.to_owned(), value);
                }
                true
            }
        }
    }

    fn print_descriptor(&mut self, descriptor: &Descriptor) {
        let given = &descriptor.given;
        // User SGPRs that the given directives enable.
        let needed = || -> u32 {
            let all = Directive::all().iter();
            all.map(|directive| {
                let value = given.get(directive.name).and_then(|(_, value)| u32::try_from((*value)?).ok());
                directive.user_sgprs(value.unwrap_or(0))
            })
            .sum()
        };
        // Writing to a String does not fail.
        let _ = writeln!(self.out, "\t.amdhsa_kernel {}", descriptor.kernel);
        for directive in Directive::all() {
            let name = directive.name;
            if !directive.support.includes(&self.target.processor)
                // Before version 5 there are no dynamic stacks. Outside versions 4 and 5, the
                // target decides about the XNACK mask.
                || name == ".amdhsa_uses_dynamic_stack" && self.version < 5
                || name == ".amdhsa_reserve_xnack_mask" && !matches!(self.version, 4 | 5)
            {
                continue;
            }
            let known = |name: &str| given.get(name).and_then(|(_, value)| u32::try_from((*value)?).ok());
            let value = match (given.get(name), directive.default_for(&self.target), directive.default) {
                // Preloaded arguments are in SGPRs that the source need not count.
                (Some(_), ..)
                    if name == ".amdhsa_next_free_sgpr"
                        && known(".amdhsa_user_sgpr_kernarg_preload_length")
                            .is_some_and(|length| length > 0)
                        && known(name).is_some() =>
                {
                    let user = known(".amdhsa_user_sgpr_count").unwrap_or_else(needed);
                    known(name).unwrap_or_default().max(user).to_string()
                }
                (Some((text, _)), ..) => text.clone(),
                (None, Some(value), _) => value.to_string(),
                (None, None, DirectiveDefault::EnabledUserSgprs) => needed().to_string(),
                (None, None, _) => continue,
            };
            let _ = writeln!(self.out, "\t\t{name} {value}");
        }
        // LLVM prints an empty line after it, and none before.
        self.out.push_str("\t.end_amdhsa_kernel\n\n");
    }
}
