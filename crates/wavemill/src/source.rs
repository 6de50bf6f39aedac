//! Positions in sources, out of debug information.

use std::fmt;

/// A position in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// File as the compiler recorded it.
    pub file: String,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
        }
        Ok(())
    }
}

/// A call that the compiler has replaced by the body of the function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedCall {
    /// The function, mangled for C++; empty if the debug information does not say it.
    pub function: String,
    /// Where it was called.
    pub at: Option<SourceLocation>,
}
