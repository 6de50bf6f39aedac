//! Relocations: words to fill in once the load address is known
//! (AMDGPUUsage, "Relocation Records").

use std::borrow::Cow;
use std::fmt;

use super::symbol::{Binding, SymbolPlace};

/// Declares the kinds of relocations: variant, name in AMDGPUUsage, number, number of bytes that it
/// fills in.
macro_rules! kinds {
    ($( $(#[$meta:meta])* $variant:ident / $name:literal: $number:literal, $width:literal; )*) => {
        /// How the value of a relocation is computed. S is the symbol's address, A the addend, P the address of the
        /// word, B the load address, GOT the address of the global offset table, G the symbol's offset in it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum RelocationKind {
            $( $(#[$meta])* $variant, )*
            /// A number without a meaning here.
            Other(u32),
        }

        impl RelocationKind {
            /// The kind of a number (AMDGPUUsage, "Relocation Records").
            pub fn from_number(number: u32) -> Self {
                match number {
                    $( $number => RelocationKind::$variant, )*
                    other => RelocationKind::Other(other),
                }
            }

            /// The number of the kind.
            pub fn number(self) -> u32 {
                match self {
                    $( RelocationKind::$variant => $number, )*
                    RelocationKind::Other(number) => number,
                }
            }

            /// Number of bytes that the relocation fills in; 0 if unknown.
            pub fn width(self) -> usize {
                match self {
                    $( RelocationKind::$variant => $width, )*
                    RelocationKind::Other(_) => 0,
                }
            }
        }

        impl fmt::Display for RelocationKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $( RelocationKind::$variant => $name, )*
                    RelocationKind::Other(number) => return write!(f, "relocation type {number}"),
                })
            }
        }
    };
}

kinds! {
    /// `R_AMDGPU_ABS32_LO`: low half of S + A.
    Abs32Lo / "R_AMDGPU_ABS32_LO": 1, 4;
    /// `R_AMDGPU_ABS32_HI`: high half of S + A.
    Abs32Hi / "R_AMDGPU_ABS32_HI": 2, 4;
    /// `R_AMDGPU_ABS64`: S + A.
    Abs64 / "R_AMDGPU_ABS64": 3, 8;
    /// `R_AMDGPU_REL32`: S + A - P.
    Rel32 / "R_AMDGPU_REL32": 4, 4;
    /// `R_AMDGPU_REL64`: S + A - P.
    Rel64 / "R_AMDGPU_REL64": 5, 8;
    /// `R_AMDGPU_ABS32`: S + A.
    Abs32 / "R_AMDGPU_ABS32": 6, 4;
    /// `R_AMDGPU_GOTPCREL`: G + GOT + A - P.
    GotPcRel / "R_AMDGPU_GOTPCREL": 7, 4;
    /// `R_AMDGPU_GOTPCREL32_LO`: low half of G + GOT + A - P.
    GotPcRel32Lo / "R_AMDGPU_GOTPCREL32_LO": 8, 4;
    /// `R_AMDGPU_GOTPCREL32_HI`: high half of G + GOT + A - P.
    GotPcRel32Hi / "R_AMDGPU_GOTPCREL32_HI": 9, 4;
    /// `R_AMDGPU_REL32_LO`: low half of S + A - P.
    Rel32Lo / "R_AMDGPU_REL32_LO": 10, 4;
    /// `R_AMDGPU_REL32_HI`: high half of S + A - P.
    Rel32Hi / "R_AMDGPU_REL32_HI": 11, 4;
    /// `R_AMDGPU_RELATIVE64`: B + A.
    Relative64 / "R_AMDGPU_RELATIVE64": 13, 8;
    /// `R_AMDGPU_REL16`: (S + A - P - 4) / 4, the distance of a branch.
    Rel16 / "R_AMDGPU_REL16": 14, 2;
}

impl RelocationKind {
    /// Whether the value is the distance to the symbol's entry in the global offset table.
    pub fn uses_got(self) -> bool {
        matches!(self, RelocationKind::GotPcRel | RelocationKind::GotPcRel32Lo | RelocationKind::GotPcRel32Hi)
    }

    /// Whether the value depends on the distance between the word and its target, not on the load
    /// address.
    pub fn is_relative(self) -> bool {
        use RelocationKind::*;
        self.uses_got() || matches!(self, Rel32 | Rel64 | Rel32Lo | Rel32Hi | Rel16)
    }

    /// The value to store; `None` for a kind that is unknown or cannot occur in a loadable file.
    pub(super) fn value(self, symbol: u64, addend: i64, place: u64, base: u64) -> Option<u64> {
        match self {
            RelocationKind::Relative64 => Some(base.wrapping_add_signed(addend)),
            _ if self.uses_got() || self == RelocationKind::Rel16 => None,
            _ => self.link_value(symbol, addend, place),
        }
    }

    /// The value that a linker stores. `symbol` is the address of the symbol or, if the kind uses
    /// the global offset table, of its entry. `None` for an unknown kind and for one whose value
    /// only a loader knows.
    pub(crate) fn link_value(self, symbol: u64, addend: i64, place: u64) -> Option<u64> {
        const LOW: u64 = 0xffff_ffff;
        let absolute = symbol.wrapping_add_signed(addend);
        let relative = absolute.wrapping_sub(place);
        Some(match self {
            RelocationKind::Abs64 => absolute,
            RelocationKind::Abs32Lo | RelocationKind::Abs32 => absolute & LOW,
            RelocationKind::Abs32Hi => absolute >> 32,
            RelocationKind::Rel64 => relative,
            RelocationKind::Rel32
            | RelocationKind::Rel32Lo
            | RelocationKind::GotPcRel
            | RelocationKind::GotPcRel32Lo => relative & LOW,
            RelocationKind::Rel32Hi | RelocationKind::GotPcRel32Hi => relative >> 32,
            RelocationKind::Rel16 => ((relative as i64).wrapping_sub(4) / 4) as u64,
            RelocationKind::Relative64 | RelocationKind::Other(_) => return None,
        })
    }
}

/// A dynamic relocation of a code object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation<'a> {
    /// Address of the word to fill in, before loading.
    pub address: u64,
    /// How to compute it.
    pub kind: RelocationKind,
    /// The symbol that it refers to, if any.
    pub symbol: Option<RelocationSymbol<'a>>,
    /// Added to the symbol's address.
    pub addend: i64,
}

/// The symbol of a relocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelocationSymbol<'a> {
    /// Its name; empty for a section.
    pub name: Cow<'a, str>,
    /// Its address before loading, if it is defined.
    pub address: u64,
    /// The location of its definition.
    pub place: SymbolPlace,
    /// Its binding: an undefined weak symbol is 0.
    pub binding: Binding,
}
