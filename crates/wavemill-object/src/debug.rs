//! Parameter names and types of kernels from DWARF debug information, for code objects whose
//! metadata lacks them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use gimli::{
    AttributeValue, DebuggingInformationEntry, DwAt, Dwarf, EndianArcSlice, LittleEndian, SectionId, Unit,
    UnitOffset, constants as dw,
};

use crate::elf::CodeObject;

type Reader = EndianArcSlice<LittleEndian>;
type Entry = DebuggingInformationEntry<Reader>;

/// Most nested types to look through: pointers, qualifiers, typedefs.
const DEEPEST: usize = 16;

/// Most parameters of a function that are read; no kernel has that many.
const MOST_PARAMETERS: usize = 1024;

/// Longest name that is read, in bytes.
const LONGEST_NAME: usize = 1024;

/// A parameter of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugParameter {
    /// Its name.
    pub name: Option<String>,
    /// Its type as C++ spells it: `const float*`. Typedefs of arithmetic types are resolved.
    pub type_name: Option<String>,
}

/// The debug information of a code object, parsed at the first query for a kernel.
#[derive(Debug)]
pub struct DebugInfo {
    sections: gimli::DwarfSections<Arc<[u8]>>,
    /// The start addresses of the kernels.
    entries: HashSet<u64>,
    parameters: OnceLock<HashMap<u64, Vec<DebugParameter>>>,
}

impl DebugInfo {
    /// The debug information of a code object; `None` if it has none.
    #[must_use]
    pub fn of(object: &CodeObject<'_>) -> Option<DebugInfo> {
        object.section(SectionId::DebugInfo.name())?;
        let load = |id: SectionId| -> Result<Arc<[u8]>, gimli::Error> {
            Ok(object.section(id.name()).map_or(&[][..], |section| section.contents).into())
        };
        let sections = gimli::DwarfSections::load(load).ok()?;
        let entries = object.kernels().iter().map(|kernel| kernel.entry_address).collect();
        Some(DebugInfo { sections, entries, parameters: OnceLock::new() })
    }

    /// The parameters, in order, of the kernel whose first instruction is at this address before
    /// loading. `None` unless there are exactly `count` of them: optimisation may drop some, and
    /// the caller knows the number.
    #[must_use]
    pub fn parameters(&self, entry: u64, count: usize) -> Option<&[DebugParameter]> {
        let all = self.parameters.get_or_init(|| {
            let dwarf = self.sections.borrow(|section| Reader::new(section.clone(), LittleEndian));
            let mut found = HashMap::new();
            // Damaged debug information ends the list.
            let _ = read(&dwarf, &self.entries, &mut found);
            found
        });
        all.get(&entry).map(Vec::as_slice).filter(|parameters| parameters.len() == count)
    }
}

/// Reads the parameters of the functions that begin at `entries`.
fn read(
    dwarf: &Dwarf<Reader>,
    entries: &HashSet<u64>,
    found: &mut HashMap<u64, Vec<DebugParameter>>,
) -> gimli::Result<()> {
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = UnitInfo { dwarf, unit: dwarf.unit(header)? };
        // The function that contains the cursor, and its depth.
        let mut inside: Option<(u64, isize)> = None;
        let mut cursor = unit.unit.entries();
        while let Some(entry) = cursor.next_dfs()? {
            if inside.is_some_and(|(_, depth)| entry.depth() <= depth) {
                inside = None;
            }
            match entry.tag() {
                dw::DW_TAG_subprogram => {
                    if let Some(address) = unit.address(entry).filter(|address| entries.contains(address)) {
                        found.insert(address, Vec::new());
                        inside = Some((address, entry.depth()));
                    }
                }
                dw::DW_TAG_formal_parameter => {
                    let Some((address, depth)) = inside else { continue };
                    let list = found.entry(address).or_default();
                    if entry.depth() == depth + 1
                        && list.len() < MOST_PARAMETERS
                        && !unit.is_artificial(entry)
                    {
                        list.push(unit.parameter(entry));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// A unit of the debug information.
struct UnitInfo<'a> {
    dwarf: &'a Dwarf<Reader>,
    unit: Unit<Reader>,
}

impl UnitInfo<'_> {
    /// The start address of a function.
    fn address(&self, entry: &Entry) -> Option<u64> {
        self.dwarf.attr_address(&self.unit, entry.attr_value(dw::DW_AT_low_pc)?).ok()?
    }

    fn is_artificial(&self, entry: &Entry) -> bool {
        matches!(self.attribute(entry, dw::DW_AT_artificial), Some(AttributeValue::Flag(true)))
    }

    /// An attribute of an entry, or of its abstract origin.
    fn attribute(&self, entry: &Entry, name: DwAt) -> Option<AttributeValue<Reader>> {
        entry.attr_value(name).or_else(|| match entry.attr_value(dw::DW_AT_abstract_origin)? {
            AttributeValue::UnitRef(origin) => self.unit.entry(origin).ok()?.attr_value(name),
            _ => None,
        })
    }

    fn name(&self, entry: &Entry) -> Option<String> {
        let name = self.dwarf.attr_string(&self.unit, self.attribute(entry, dw::DW_AT_name)?).ok()?;
        let bytes = name.bytes();
        (bytes.len() <= LONGEST_NAME).then(|| String::from_utf8_lossy(bytes).into_owned())
    }

    fn parameter(&self, entry: &Entry) -> DebugParameter {
        DebugParameter { name: self.name(entry), type_name: self.type_of(entry, DEEPEST) }
    }

    /// The location of the description of an entry's type.
    fn type_place(&self, entry: &Entry) -> Option<UnitOffset> {
        match self.attribute(entry, dw::DW_AT_type)? {
            AttributeValue::UnitRef(place) => Some(place),
            _ => None,
        }
    }

    /// The type of an entry, as C++ spells it.
    fn type_of(&self, entry: &Entry, depth: usize) -> Option<String> {
        let ty = self.unit.entry(self.type_place(entry)?).ok()?;
        self.type_name(&ty, depth.checked_sub(1)?)
    }

    /// The type that an entry describes.
    fn type_name(&self, ty: &Entry, depth: usize) -> Option<String> {
        let inner = || self.type_of(ty, depth);
        // An absent type is `void`.
        let or_void = || if self.type_place(ty).is_some() { inner() } else { Some("void".to_owned()) };
        let qualified = |word: &str| {
            or_void().map(|inner| match inner.ends_with(['*', '&']) {
                true => format!("{inner} {word}"),
                false => format!("{word} {inner}"),
            })
        };
        match ty.tag() {
            dw::DW_TAG_pointer_type => or_void().map(|inner| inner + "*"),
            dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => inner().map(|inner| inner + "&"),
            dw::DW_TAG_const_type => qualified("const"),
            dw::DW_TAG_volatile_type => qualified("volatile"),
            dw::DW_TAG_restrict_type | dw::DW_TAG_atomic_type => or_void(),
            dw::DW_TAG_typedef => self.named(ty, depth),
            dw::DW_TAG_array_type => self.vector(ty, depth),
            dw::DW_TAG_subroutine_type => Some("void ()".to_owned()),
            _ => self.name(ty),
        }
    }

    /// A typedef. Typedefs of arithmetic types and pointers are resolved.
    fn named(&self, ty: &Entry, depth: usize) -> Option<String> {
        let place = self.type_place(ty)?;
        let target = self.unit.entry(place).ok()?;
        match target.tag() {
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => self.name(ty),
            _ => self.type_name(&target, depth.checked_sub(1)?).or_else(|| self.name(ty)),
        }
    }

    /// A vector type of the compiler: `float4`.
    fn vector(&self, ty: &Entry, depth: usize) -> Option<String> {
        ty.attr_value(dw::DW_AT_GNU_vector)?;
        let element = self.type_of(ty, depth)?;
        let mut cursor = self.unit.entries_at_offset(ty.offset()).ok()?;
        cursor.next_dfs().ok()?;
        let range = cursor.next_dfs().ok()??;
        let count = range.attr_value(dw::DW_AT_count)?.udata_value()?;
        Some(format!("{}{count}", element.replace("unsigned ", "u")))
    }
}
