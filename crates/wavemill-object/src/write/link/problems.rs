//! Collects everything that prevents a link.

use super::{LinkError, LinkProblem};
use crate::write::module::{Definition, Module, Place, SectionId, SymbolId, SymbolType};

/// Bytes of text that the problems of a module may have. Many words may refer to a few long names,
/// so the memory would be out of proportion to the size of the module.
const ROOM: usize = 4 << 20;

/// The problems of a module.
#[derive(Debug)]
pub(super) struct Problems {
    list: Vec<LinkProblem>,
    /// Bytes of text left.
    room: usize,
    /// Number of problems that found no room.
    omitted: usize,
}

impl Problems {
    pub(super) fn new() -> Self {
        Problems { list: Vec::new(), room: ROOM, omitted: 0 }
    }

    /// Takes the room of a text of this length, if there is enough.
    fn take(&mut self, length: usize) -> bool {
        let left = self.room.checked_sub(length);
        self.room = left.unwrap_or(0);
        left.is_some()
    }

    pub(super) fn push(&mut self, problem: LinkProblem) {
        if self.take(problem.to_string().len()) {
            self.list.push(problem);
        } else {
            self.omitted += 1;
        }
    }

    /// Adds an undefined symbol with the locations that use it.
    pub(super) fn undefined(&mut self, module: &Module, id: SymbolId, uses: &[(SectionId, u64)]) {
        let Some(symbol) = module.symbols.get(id.0).map(|symbol| &symbol.name) else { return };
        if !self.take(symbol.len()) {
            self.omitted += uses.len();
            return;
        }
        let mut places = Vec::new();
        for &(section, offset) in uses {
            let place = module.place(section, offset);
            if self.take(place.name.len().max(size_of::<Place>())) {
                places.push(place);
            } else {
                self.omitted += 1;
            }
        }
        self.list.push(LinkProblem::Undefined { symbol: symbol.clone(), places });
    }

    /// The error, if there are problems.
    pub(super) fn finish(mut self, module: &Module) -> Result<(), LinkError> {
        if self.list.is_empty() && self.omitted == 0 {
            return Ok(());
        }
        self.name_places(module);
        if self.omitted != 0 {
            self.list.push(LinkProblem::More { count: self.omitted });
        }
        Err(LinkError::Problems(self.list))
    }

    /// Fills in the functions and variables that contain the locations.
    fn name_places(&mut self, module: &Module) {
        let mut symbols: Vec<(SectionId, u64, u64, &str)> = module
            .symbols
            .iter()
            .filter(|symbol| matches!(symbol.kind, SymbolType::Function | SymbolType::Object))
            .filter_map(|symbol| match symbol.definition {
                Definition::Section { section, offset } => {
                    Some((section, offset, offset.saturating_add(symbol.size), symbol.name.as_str()))
                }
                _ => None,
            })
            .collect();
        symbols.sort_unstable();
        for place in self.list.iter_mut().flat_map(LinkProblem::places) {
            let behind =
                symbols.partition_point(|symbol| (symbol.0, symbol.1) <= (place.section, place.offset));
            let before = behind.checked_sub(1).and_then(|at| symbols.get(at));
            let Some((.., name)) =
                before.filter(|(section, _, end, _)| *section == place.section && place.offset < *end)
            else {
                continue;
            };
            let Some(left) = self.room.checked_sub(name.len()) else { return };
            self.room = left;
            place.within = Some((*name).into());
        }
    }
}
