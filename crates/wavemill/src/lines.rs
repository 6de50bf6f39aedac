//! Line tables out of DWARF debug information.

use std::borrow::Cow;

use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::{Object as _, ObjectSection as _};

use crate::report::SourceLocation;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// All rows of the line programs: address before loading and the location from there on (`None` at the end of a
/// sequence). `None` without usable debug information.
pub(crate) fn rows(object: &[u8]) -> Option<Vec<(u64, Option<SourceLocation>)>> {
    let file = object::File::parse(object).ok()?;
    let load = |id: SectionId| -> Result<Cow<'_, [u8]>, ()> {
        Ok(file.section_by_name(id.name()).and_then(|s| s.uncompressed_data().ok()).unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf: Dwarf<Slice<'_>> = sections.borrow(|s| EndianSlice::new(s, LittleEndian));
    let mut rows = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        // A damaged unit costs its own lines only.
        let _ = unit_rows(&dwarf, header, &mut rows);
    }
    Some(rows)
}

fn unit_rows(
    dwarf: &Dwarf<Slice<'_>>,
    header: gimli::UnitHeader<Slice<'_>>,
    out: &mut Vec<(u64, Option<SourceLocation>)>,
) -> gimli::Result<()> {
    let unit = dwarf.unit(header)?;
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let mut rows = program.rows();
    while let Some((header, row)) = rows.next_row()? {
        if row.end_sequence() {
            out.push((row.address(), None));
            continue;
        }
        let mut path = String::new();
        if let Some(entry) = row.file(header) {
            let text = |v| dwarf.attr_string(&unit, v).ok().map(|s| s.to_string_lossy().into_owned());
            let name = text(entry.path_name()).unwrap_or_default();
            if !name.starts_with('/')
                && let Some(dir) = entry.directory(header).and_then(text)
                && !dir.is_empty()
            {
                path = dir + "/";
            }
            path.push_str(&name);
        }
        let line = row.line().map_or(0, |l| u32::try_from(l.get()).unwrap_or(0));
        let column = match row.column() {
            gimli::ColumnType::LeftEdge => 0,
            gimli::ColumnType::Column(c) => u32::try_from(c.get()).unwrap_or(0),
        };
        // Line 0 says that the code comes from nowhere in particular: the line before it goes on.
        if line > 0 {
            out.push((row.address(), Some(SourceLocation { file: path, line, column })));
        }
    }
    Ok(())
}
