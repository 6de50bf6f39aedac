//! Writes the statements about symbols.

use std::fmt;
use wavemill_object::printable::Printable;

use wavemill_object::Binding;
use wavemill_object::write::{Definition, SectionId, Symbol, SymbolId, SymbolType, Visibility};

use super::Writer;

fn binding(binding: Binding) -> Option<&'static str> {
    match binding {
        Binding::Local => None,
        Binding::Global => Some(".globl"),
        Binding::Weak => Some(".weak"),
    }
}

fn visibility(visibility: Visibility) -> Option<&'static str> {
    match visibility {
        Visibility::Default => None,
        Visibility::Internal => Some(".internal"),
        Visibility::Hidden => Some(".hidden"),
        Visibility::Protected => Some(".protected"),
    }
}

impl Writer<'_> {
    fn attributes(&mut self, name: &str, symbol: &Symbol, seen: Visibility) -> fmt::Result {
        if let Some(directive) = binding(symbol.binding) {
            self.statement(format_args!("{directive}\t{name}"))?;
        }
        if let Some(directive) = visibility(seen) {
            self.statement(format_args!("{directive}\t{name}"))?;
        }
        Ok(())
    }

    fn kind(&mut self, name: &str, kind: SymbolType) -> fmt::Result {
        match kind {
            SymbolType::Function => self.statement(format_args!(".type\t{name},@function")),
            SymbolType::Object => self.statement(format_args!(".type\t{name},@object")),
            _ => Ok(()),
        }
    }

    /// Writes symbols without a section: numbers, symbols of other modules, and memory that the
    /// linker provides.
    pub(super) fn placeless_symbols(&mut self) -> fmt::Result {
        let module = self.module;
        for (index, symbol) in module.symbols.iter().enumerate() {
            let name = self.names.of(SymbolId(index)).to_owned();
            match symbol.definition {
                Definition::Section { .. } => continue,
                Definition::Undefined => {}
                Definition::Absolute(value) => self.statement(format_args!(".set\t{name}, {value:#x}"))?,
                Definition::Common { align } => {
                    // LLVM reads the alignment as an exponent here.
                    let exponent = align.trailing_zeros();
                    self.statement(format_args!(".comm\t{name},{},{exponent}", symbol.size))?;
                }
                Definition::LocalMemory { align } => {
                    self.statement(format_args!(".amdgpu_lds {name}, {}, {align}", symbol.size))?;
                }
            }
            self.attributes(&name, symbol, symbol.visibility)?;
            self.kind(&name, symbol.kind)?;
            if symbol.size != 0 && matches!(symbol.definition, Definition::Absolute(_)) {
                self.statement(format_args!(".size\t{name}, {}", symbol.size))?;
            }
        }
        Ok(())
    }

    /// Writes binding and visibility of a symbol in a section, unless already written.
    pub(super) fn attributes_once(&mut self, id: SymbolId) -> fmt::Result {
        let module = self.module;
        let Some(symbol) = module.symbols.get(id.0).filter(|_| self.said.insert(id)) else { return Ok(()) };
        // The directives of a descriptor protect the code's symbol. They protect their own symbol
        // only if the source protects the code's symbol first.
        let own = self.descriptors.of_code(id).and_then(|descriptor| module.symbols.get(descriptor.0));
        let implied = own.is_some_and(|own| own.visibility == Visibility::Default);
        let seen = match symbol.visibility {
            Visibility::Protected if implied => Visibility::Default,
            seen => seen,
        };
        let name = self.names.of(id).to_owned();
        self.attributes(&name, symbol, seen)
    }

    /// Writes the label of a symbol, with its attributes.
    pub(super) fn label(&mut self, id: SymbolId) -> fmt::Result {
        let module = self.module;
        let Some(symbol) = module.symbols.get(id.0) else { return Ok(()) };
        if symbol.kind == SymbolType::Section {
            return Ok(());
        }
        let name = self.names.of(id).to_owned();
        self.written.functions += u64::from(symbol.kind == SymbolType::Function);
        if self.names.is_changed(id) {
            self.remark(format_args!("called {:?} in the file", symbol.name))?;
        }
        self.attributes_once(id)?;
        self.kind(&name, symbol.kind)?;
        if self.unlinked.legacy_kernels.contains(&id) {
            self.remark(format_args!("{}", self.abi.legacy_kernel().remark))?;
        }
        self.out.write_str(&name)?;
        self.out.write_str(":")?;
        if self.options.addresses
            && symbol.kind != SymbolType::None
            && let Some(full) = wavemill_object::demangle(&symbol.name)
        {
            write!(self.out, "  // {}", Printable(&full))?;
        }
        self.out.write_char('\n')
    }

    /// Writes the size of a symbol that ends here, or anywhere.
    pub(super) fn size(&mut self, id: SymbolId, here: Option<(SectionId, u64)>) -> fmt::Result {
        let Some(symbol) = self.module.symbols.get(id.0) else { return Ok(()) };
        let name = self.names.of(id).to_owned();
        match (symbol.definition, here) {
            (Definition::Section { section, offset }, Some(here))
                if Some(here.1) == offset.checked_add(symbol.size) && section == here.0 =>
            {
                self.statement(format_args!(".size\t{name}, .-{name}"))
            }
            _ => self.statement(format_args!(".size\t{name}, {}", symbol.size)),
        }
    }

    /// Writes binding and visibility of a descriptor's symbol where they differ from the code's
    /// symbol.
    pub(super) fn attributes_of_descriptor(&mut self, id: SymbolId, code: SymbolId) -> fmt::Result {
        let module = self.module;
        let (Some(symbol), Some(code)) = (module.symbols.get(id.0), module.symbols.get(code.0)) else {
            return Ok(());
        };
        let name = self.names.of(id).to_owned();
        if symbol.binding != code.binding {
            let directive = binding(symbol.binding).unwrap_or(".local");
            self.statement(format_args!("{directive}\t{name}"))?;
        }
        if symbol.visibility != code.visibility
            && let Some(directive) = visibility(symbol.visibility)
        {
            self.statement(format_args!("{directive}\t{name}"))?;
        }
        Ok(())
    }
}
