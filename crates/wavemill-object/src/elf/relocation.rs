//! Relocations: words to fill in once the load address is known
//! (AMDGPUUsage, "Relocation Records").

use std::borrow::Cow;
use std::fmt;

use super::symbol::{Binding, SymbolPlace};

/// How the value of a relocation is computed. S is the symbol's address, A the
/// addend, P the address of the word, B the load address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RelocationKind {
    /// `R_AMDGPU_ABS32_LO`: low half of S + A.
    Abs32Lo,
    /// `R_AMDGPU_ABS32_HI`: high half of S + A.
    Abs32Hi,
    /// `R_AMDGPU_ABS64`: S + A.
    Abs64,
    /// `R_AMDGPU_REL32`: S + A - P.
    Rel32,
    /// `R_AMDGPU_REL64`: S + A - P.
    Rel64,
    /// `R_AMDGPU_ABS32`: S + A.
    Abs32,
    /// `R_AMDGPU_REL32_LO`: low half of S + A - P.
    Rel32Lo,
    /// `R_AMDGPU_REL32_HI`: high half of S + A - P.
    Rel32Hi,
    /// `R_AMDGPU_RELATIVE64`: B + A.
    Relative64,
    /// A number that a loader has no use for.
    Other(u32),
}

impl RelocationKind {
    pub(super) fn from_number(number: u32) -> Self {
        match number {
            1 => RelocationKind::Abs32Lo,
            2 => RelocationKind::Abs32Hi,
            3 => RelocationKind::Abs64,
            4 => RelocationKind::Rel32,
            5 => RelocationKind::Rel64,
            6 => RelocationKind::Abs32,
            10 => RelocationKind::Rel32Lo,
            11 => RelocationKind::Rel32Hi,
            13 => RelocationKind::Relative64,
            other => RelocationKind::Other(other),
        }
    }

    /// Bytes that the relocation fills in; 0 when unknown.
    pub fn width(self) -> usize {
        match self {
            RelocationKind::Abs64 | RelocationKind::Rel64 | RelocationKind::Relative64 => 8,
            RelocationKind::Other(_) => 0,
            _ => 4,
        }
    }

    /// The value to store; `None` for an unknown kind.
    pub(super) fn value(self, symbol: u64, addend: i64, place: u64, base: u64) -> Option<u64> {
        let absolute = symbol.wrapping_add_signed(addend);
        let relative = absolute.wrapping_sub(place);
        Some(match self {
            RelocationKind::Abs64 => absolute,
            RelocationKind::Abs32Lo | RelocationKind::Abs32 => absolute & 0xffff_ffff,
            RelocationKind::Abs32Hi => absolute >> 32,
            RelocationKind::Rel64 => relative,
            RelocationKind::Rel32 | RelocationKind::Rel32Lo => relative & 0xffff_ffff,
            RelocationKind::Rel32Hi => relative >> 32,
            RelocationKind::Relative64 => base.wrapping_add_signed(addend),
            RelocationKind::Other(_) => return None,
        })
    }
}

impl fmt::Display for RelocationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            RelocationKind::Abs32Lo => "R_AMDGPU_ABS32_LO",
            RelocationKind::Abs32Hi => "R_AMDGPU_ABS32_HI",
            RelocationKind::Abs64 => "R_AMDGPU_ABS64",
            RelocationKind::Rel32 => "R_AMDGPU_REL32",
            RelocationKind::Rel64 => "R_AMDGPU_REL64",
            RelocationKind::Abs32 => "R_AMDGPU_ABS32",
            RelocationKind::Rel32Lo => "R_AMDGPU_REL32_LO",
            RelocationKind::Rel32Hi => "R_AMDGPU_REL32_HI",
            RelocationKind::Relative64 => "R_AMDGPU_RELATIVE64",
            RelocationKind::Other(number) => return write!(f, "relocation type {number}"),
        };
        f.pad(name)
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
    /// Where it is defined.
    pub place: SymbolPlace,
    /// A weak symbol that nobody defines is 0.
    pub binding: Binding,
}
