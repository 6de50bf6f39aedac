//! Directives that say what symbols are.

use wavemill_object::Binding;
use wavemill_object::write::{SymbolType, Visibility};

use super::symbols::{Meaning, Symbol};
use super::{Assembler, line};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::{Cursor, expression};

impl Assembler<'_> {
    /// Reads the name of a symbol, plain or between quotes.
    pub(super) fn symbol_name(&mut self, cursor: &mut Cursor<'_>) -> Result<String, Fail> {
        let start = cursor.at();
        if cursor.peek() == Some(b'"') {
            let (name, length) =
                line::string(cursor.rest()).map_err(|message| Diagnostic::new(start..start + 1, message))?;
            cursor.go_to(start + length);
            return line::utf8_name(name, start..start + length);
        }
        match cursor.name() {
            "" => Err(cursor.expected("the name of a symbol")),
            name => Ok(name.to_owned()),
        }
    }

    /// Directives for symbols; false for others.
    pub(super) fn symbol_directive(
        &mut self,
        name: &str,
        start: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<bool, Fail> {
        match name {
            ".globl" | ".global" => {
                self.attribute(cursor, |symbol| symbol.binding = Some(Binding::Global))?
            }
            ".weak" => self.attribute(cursor, |symbol| symbol.binding = Some(Binding::Weak))?,
            ".local" => self.attribute(cursor, |symbol| symbol.binding = Some(Binding::Local))?,
            ".hidden" => self.attribute(cursor, |symbol| symbol.visibility = Some(Visibility::Hidden))?,
            ".protected" => {
                self.attribute(cursor, |symbol| symbol.visibility = Some(Visibility::Protected))?
            }
            ".internal" => self.attribute(cursor, |symbol| symbol.visibility = Some(Visibility::Internal))?,
            ".type" => self.symbol_type(cursor)?,
            ".size" => {
                let symbol = self.symbol_name(cursor)?;
                cursor.expect(",")?;
                let mut size = expression(cursor, &self.symbols)?;
                self.end(cursor)?;
                self.symbols.resolve_numeric(&mut size);
                // The place of the directive is what `.` means in it.
                let here = (self.current, self.offset());
                let anchored = self.symbols.anchor(size, here);
                self.symbols.entry(&symbol).size = Some(anchored);
            }
            ".set" | ".equ" | ".equiv" => {
                let at = cursor.at();
                let symbol = self.symbol_name(cursor)?;
                cursor.expect(",")?;
                self.set(&symbol, at, cursor, name != ".equiv")?;
            }
            // What LLVM prints behind `.set`; ELF files have no place for it.
            ".no_dead_strip" => {
                self.symbol_name(cursor)?;
                self.end(cursor)?;
            }
            ".comm" | ".lcomm" | ".amdgpu_lds" => self.common(name, start, cursor)?,
            ".addrsig" => {
                self.end(cursor)?;
                self.address_significant.get_or_insert_default();
            }
            ".addrsig_sym" => {
                let symbol = self.symbol_name(cursor)?;
                self.end(cursor)?;
                self.address_significant.get_or_insert_default().push(symbol);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn attribute(&mut self, cursor: &mut Cursor<'_>, set: impl Fn(&mut Symbol)) -> Result<(), Fail> {
        loop {
            let name = self.symbol_name(cursor)?;
            let symbol = self.symbols.entry(&name);
            set(symbol);
            symbol.used = true;
            if !cursor.eat(",") {
                return self.end(cursor);
            }
        }
    }

    fn symbol_type(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let name = self.symbol_name(cursor)?;
        cursor.expect(",")?;
        let _ = cursor.eat("@") || cursor.eat("%") || cursor.eat("#");
        let kind = match cursor.peek_name() {
            "function" | "STT_FUNC" => SymbolType::Function,
            "object" | "STT_OBJECT" => SymbolType::Object,
            "notype" | "STT_NOTYPE" => SymbolType::None,
            // What kernels were before version 3 of the code object format.
            "amdgpu_hsa_kernel" => SymbolType::Function,
            _ => {
                return Err(cursor
                    .expected("the type of a symbol")
                    .note("types are @function, @object and @notype"));
            }
        };
        cursor.name();
        self.symbols.entry(&name).kind = Some(kind);
        self.end(cursor)
    }

    /// Sets `name` to the expression that comes next.
    pub(super) fn set(
        &mut self,
        name: &str,
        at: usize,
        cursor: &mut Cursor<'_>,
        again: bool,
    ) -> Result<(), Fail> {
        let start = cursor.at();
        let mut value = expression(cursor, &self.symbols)?;
        let span = start..cursor.end();
        self.end(cursor)?;
        self.symbols.resolve_numeric(&mut value);
        let here = (self.current, self.offset());
        let mut value = self.symbols.anchor(value, here);
        // What can be computed now has its value from now on, whatever its symbols become.
        if let Ok(known) = self.symbols.evaluate(&value, here, &span)
            && let Some(number) = self.symbols.number_of(&known)
        {
            value = crate::syntax::Expression::Value(number);
        }
        let symbol = self.symbols.entry(name);
        match &symbol.meaning {
            Some(Meaning::Set(_)) if again => {}
            None => {}
            _ => {
                let message = format!("`{name}` is defined a second time");
                return Err(Diagnostic::new(at..at + name.len(), message));
            }
        }
        symbol.meaning = Some(Meaning::Set(value));
        Ok(())
    }

    /// `.comm name, size, align` and its kin.
    fn common(&mut self, directive: &str, start: usize, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let name = self.symbol_name(cursor)?;
        cursor.expect(",")?;
        let size = self.absolute(cursor)?;
        let align = if cursor.eat(",") { self.absolute(cursor)? } else { 4 };
        self.end(cursor)?;
        let span = start..cursor.end();
        let size = u64::try_from(size)
            .map_err(|_| Diagnostic::new(span.clone(), "expected a size, found a negative number"))?;
        let align = u64::try_from(align).ok().filter(|align| align.is_power_of_two());
        let align =
            align.ok_or_else(|| Diagnostic::new(span.clone(), "expected an alignment, a power of two"))?;
        if directive == ".lcomm" {
            let bss = self.section_named(".bss");
            let section = &mut self.sections[bss];
            section.align = section.align.max(align);
            section.size = section.size.next_multiple_of(align);
            let offset = section.size;
            section.size = section.size.saturating_add(size).min(super::section::LARGEST);
            let symbol = self.symbols.entry(&name);
            symbol.meaning = Some(Meaning::Label { section: bss, offset });
            symbol.kind = Some(SymbolType::Object);
            symbol.size = Some(crate::syntax::Expression::Value(size as i64));
            return Ok(());
        }
        let symbol = self.symbols.entry(&name);
        if symbol.meaning.is_some() {
            return Err(Diagnostic::new(span, format!("`{name}` is defined a second time")));
        }
        symbol.meaning = Some(if directive == ".comm" {
            Meaning::Common { size, align }
        } else {
            Meaning::LocalMemory { size, align }
        });
        symbol.kind = symbol.kind.or(Some(SymbolType::Object));
        symbol.binding = symbol.binding.or(Some(Binding::Global));
        symbol.size = Some(crate::syntax::Expression::Value(size as i64));
        Ok(())
    }
}
