//! Source positions from DWARF debug information.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use addr2line::{Context, Location};
use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};
use object::{Object as _, ObjectSection as _};
use wavemill_object::kernel_of_body;

use crate::source::{InlinedCall, SourceLocation};

type Reader = EndianArcSlice<LittleEndian>;

/// Bytes of code before an address to search for a source line, where no function is known.
const NEAR: u64 = 1 << 10;

/// The debug information of a code object. It is parsed at the first query.
pub(crate) struct Lines {
    sections: gimli::DwarfSections<Arc<[u8]>>,
    context: OnceLock<Option<Mutex<Context<Reader>>>>,
    /// Guest addresses are file addresses plus this.
    bias: u64,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lines")
    }
}

/// Debug information for an address.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub source: Option<SourceLocation>,
    /// Calls that were inlined at the address, the innermost one first.
    pub inlined: Vec<InlinedCall>,
}

impl Lines {
    /// The debug information of a code object that is loaded with `bias`; `None` if it has none.
    pub(crate) fn of(object: &[u8], bias: u64) -> Option<Lines> {
        let file = object::File::parse(object).ok()?;
        file.section_by_name(SectionId::DebugLine.name())?;
        let load = |id: SectionId| -> Result<Arc<[u8]>, ()> {
            let section = file.section_by_name(id.name());
            Ok(section.and_then(|s| s.uncompressed_data().ok()).unwrap_or_default().into())
        };
        let sections = gimli::DwarfSections::load(load).ok()?;
        Some(Lines { sections, context: OnceLock::new(), bias })
    }

    /// Debug information for an address. `function` is the start of the function around it.
    pub(crate) fn at(&self, pc: u64, function: Option<u64>) -> Place {
        let context = self.context.get_or_init(|| {
            let dwarf: Dwarf<Reader> = self.sections.borrow(|s| Reader::new(s.clone(), LittleEndian));
            Context::from_dwarf(dwarf).ok().map(Mutex::new)
        });
        let Some(context) = context else { return Place::default() };
        let context = context.lock().unwrap_or_else(|e| e.into_inner());
        let (first, pc) = searched(pc, function, self.bias);
        // Damaged debug information counts as none.
        place(&context, pc, first).unwrap_or_default()
    }
}

/// File addresses of a search for a source line: where it begins, and the address that it is for.
fn searched(pc: u64, function: Option<u64>, bias: u64) -> (u64, u64) {
    // The bias wraps where file addresses are above memory addresses; the distance to search does
    // not.
    let in_file = |address: u64| address.wrapping_sub(bias);
    let pc = in_file(pc);
    (function.map_or(pc.saturating_sub(NEAR), in_file).min(pc), pc)
}

fn place(context: &Context<Reader>, pc: u64, first: u64) -> gimli::Result<Place> {
    let mut frames = context.find_frames(pc).skip_all_loads()?;
    let mut place = Place::default();
    // The function that was inlined at the next frame's location.
    let mut callee: Option<String> = None;
    let mut innermost = true;
    while let Some(frame) = frames.next()? {
        let location = frame.location.as_ref().and_then(position);
        if innermost {
            place.source = location;
        } else {
            place.inlined.push(InlinedCall { function: callee.take().unwrap_or_default(), at: location });
        }
        callee = frame.function.and_then(|name| name.raw_name().ok().map(|name| name.into_owned()));
        innermost = false;
    }
    // A kernel that Clang has split is one function in the source.
    let split =
        |call: &InlinedCall| kernel_of_body(&call.function).is_some_and(|k| callee.as_deref() == Some(k));
    if place.inlined.last().is_some_and(split) {
        place.inlined.pop();
    }
    if place.source.is_none() {
        // Line 0 means that the code has no particular source: the line before it continues.
        let rows = context.find_location_range(first, pc.saturating_add(1))?;
        place.source = rows.filter_map(|(_, _, location)| position(&location)).last();
    }
    Ok(place)
}

/// A location with a line.
fn position(location: &Location<'_>) -> Option<SourceLocation> {
    Some(SourceLocation {
        file: location.file.unwrap_or_default().to_owned(),
        line: location.line?,
        column: location.column.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_stays_in_the_file() {
        let base = 0x10_0000_0000;
        assert_eq!(searched(base + 0x2000, Some(base + 0x1f00), base), (0x1f00, 0x2000));
        assert_eq!(searched(base + 0x2000, None, base), (0x2000 - NEAR, 0x2000));
        // Code near the beginning of the file, and code at a higher address there than in memory.
        assert_eq!(searched(base + 0x100, None, base), (0, 0x100));
        assert_eq!(searched(0x2000, None, 0u64.wrapping_sub(0x10_0000)), (0x10_2000 - NEAR, 0x10_2000));
        assert_eq!(searched(0x100, Some(0x200), 0), (0x100, 0x100));
    }
}
