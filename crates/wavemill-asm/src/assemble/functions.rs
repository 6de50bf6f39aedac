//! The functions of expressions (AMDGPUUsage, "Assembler expressions"; the compiler writes them where what a kernel needs
//! depends on the functions that it calls).

use wavemill_isa::Target;
use wavemill_object::{Processor, SpecialSgprs};

/// The value of `name(arguments)`.
pub(super) fn call(name: &str, arguments: &[i64], target: Target) -> Result<i64, String> {
    let take = |count: usize| match arguments.len() == count {
        true => Ok(()),
        false => Err(format!("`{name}` takes {count} numbers, found {}", arguments.len())),
    };
    match name {
        "max" => arguments.iter().copied().max().ok_or_else(|| "`max` takes one number at least".to_owned()),
        "or" => Ok(arguments.iter().fold(0, |all, value| all | value)),
        "alignto" => {
            take(2)?;
            match arguments {
                [value, align] if *align > 0 => {
                    let rest = value.rem_euclid(*align);
                    Ok(if rest == 0 { *value } else { value.wrapping_add(align - rest) })
                }
                _ => Err("the second number of `alignto` is 1 at least".to_owned()),
            }
        }
        "extrasgprs" => {
            take(3)?;
            let used = |index: usize| arguments.get(index).is_some_and(|value| *value != 0);
            let special = SpecialSgprs { vcc: used(0), flat_scratch: used(1), xnack_mask: used(2) };
            Ok(special.count(&Processor::from_name(target.name())).into())
        }
        // With one register file for both, the accumulation registers begin at a multiple of four.
        "totalnumvgprs" => {
            take(2)?;
            match arguments {
                [0, vgprs] => Ok(*vgprs),
                [agprs, vgprs] if target.has_unified_vgprs() => Ok((vgprs + 3) / 4 * 4 + agprs),
                _ => Ok(arguments.iter().copied().max().unwrap_or(0)),
            }
        }
        _ => Err(format!(
            "there is no function `{name}`; there are max, or, alignto, extrasgprs and totalnumvgprs"
        )),
    }
}
