//! Directives that set attributes and values of symbols.

use wavemill_object::Binding;
use wavemill_object::write::{MAX_ALIGN, SymbolType, Visibility};

use super::Assembler;
use super::symbols::{Meaning, Symbol};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, expression, quoted_name};

impl Assembler<'_> {
    /// Reads the name of a symbol, plain or between quotes.
    pub(super) fn symbol_name(&mut self, cursor: &mut Cursor<'_>) -> Result<String, Fail> {
        let start = cursor.at();
        if cursor.peek() == Some(b'"') {
            let (name, length) = quoted_name(cursor.rest(), start)?;
            cursor.go_to(start + length);
            return Ok(name);
        }
        match cursor.peek_name() {
            "" => Err(cursor.expected("the name of a symbol")),
            "." => {
                let note = "`.` is the address of the statement; `.org` and `. = address` move it";
                Err(cursor.expected("the name of a symbol").note(note))
            }
            _ => Ok(cursor.name().to_owned()),
        }
    }

    /// Handles directives for symbols; false for others.
    pub(super) fn symbol_directive(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Result<bool, Fail> {
        match name {
            ".globl" | ".global" => self.attribute(cursor, |symbol| bind(symbol, Binding::Global))?,
            ".weak" => self.attribute(cursor, |symbol| bind(symbol, Binding::Weak))?,
            ".local" => self.attribute(cursor, |symbol| bind(symbol, Binding::Local))?,
            ".hidden" => self.attribute(cursor, |symbol| see(symbol, Visibility::Hidden))?,
            ".protected" => self.attribute(cursor, |symbol| see(symbol, Visibility::Protected))?,
            ".internal" => self.attribute(cursor, |symbol| see(symbol, Visibility::Internal))?,
            ".type" => self.symbol_type(cursor)?,
            ".size" => {
                let symbol = self.symbol_name(cursor)?;
                cursor.expect(",")?;
                let start = cursor.at();
                let mut size = expression(cursor, &self.symbols)?;
                let span = start..cursor.end();
                self.end(cursor)?;
                self.symbols.bind(&mut size);
                // `.` means the address of the directive.
                let here = (self.sections.current, self.sections.offset());
                let anchored = self.symbols.anchor(size, here);
                let symbol = self.symbols.id(&symbol);
                let place = self.keep_place(cursor.text(), span);
                self.symbols.sizes.push((symbol, anchored, place));
            }
            ".set" | ".equ" | ".equiv" => {
                let at = cursor.at();
                let symbol = self.symbol_name(cursor)?;
                cursor.expect(",")?;
                self.set(&symbol, at, cursor, name != ".equiv")?;
            }
            // LLVM prints `.no_dead_strip` after `.set`; ELF files cannot hold it. LLVM accepts
            // `.extern` and ignores it: undefined symbols are external anyway.
            ".no_dead_strip" | ".extern" => {
                self.symbol_name(cursor)?;
                self.end(cursor)?;
            }
            ".comm" | ".lcomm" | ".amdgpu_lds" => self.common(name, cursor)?,
            ".addrsig" => {
                self.end(cursor)?;
                self.symbols.address_significant.get_or_insert_default();
            }
            ".addrsig_sym" => {
                let symbol = self.symbol_name(cursor)?;
                self.end(cursor)?;
                self.symbols.address_significant.get_or_insert_default().push(symbol);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets an attribute of each symbol of a list.
    fn attribute(
        &mut self,
        cursor: &mut Cursor<'_>,
        set: impl Fn(&mut Symbol) -> Result<(), String>,
    ) -> Result<(), Fail> {
        loop {
            let start = cursor.at();
            let name = self.symbol_name(cursor)?;
            let symbol = self.symbols.entry(&name);
            symbol.used = true;
            set(symbol).map_err(|message| Diagnostic::new(start..cursor.end(), message))?;
            if !cursor.eat(",") {
                return self.end(cursor);
            }
        }
    }

    fn symbol_type(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let name = self.symbol_name(cursor)?;
        cursor.expect(",")?;
        let quoted = cursor.eat("\"");
        let _ = !quoted && (cursor.eat("@") || cursor.eat("%") || cursor.eat("#"));
        let kind = match cursor.peek_name() {
            "function" | "STT_FUNC" => SymbolType::Function,
            "object" | "STT_OBJECT" | "common" | "STT_COMMON" => SymbolType::Object,
            "notype" | "STT_NOTYPE" => SymbolType::None,
            // The type of kernels before version 3 of the code object format.
            "amdgpu_hsa_kernel" => SymbolType::Function,
            _ => {
                return Err(cursor
                    .expected("the type of a symbol")
                    .note("types are @function, @object and @notype"));
            }
        };
        cursor.name();
        if quoted {
            cursor.expect("\"")?;
        }
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
        self.symbols.bind(&mut value);
        let here = (self.sections.current, self.sections.offset());
        let mut value = self.symbols.anchor(value, here);
        // A value that can be computed now is fixed from here on, even if its symbols change.
        if let Ok(Ok(number)) = self.symbols.number_while_reading(&value, here, &span) {
            value = crate::syntax::Expression::Value(number);
        }
        let symbol = self.symbols.entry(name);
        let symbol = match &symbol.meaning {
            Some(Meaning::Set(_)) if again && !symbol.constant => self.symbols.set_again(name),
            None => symbol,
            _ => {
                let message = format!("`{name}` is defined a second time");
                return Err(Diagnostic::new(at..at + name.len(), message));
            }
        };
        symbol.meaning = Some(Meaning::Set(Box::new(value)));
        symbol.constant = !again;
        let counters = self.target.set.family().register_counters();
        if let Some(which) = counters.iter().position(|counter| *counter == name) {
            // The new value may be lower.
            self.kernels.next_free[which] = 0;
            self.kernels.own_next_free[which] = true;
        }
        Ok(())
    }

    /// `.comm name, size, exponent` and related directives.
    fn common(&mut self, directive: &str, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let at = cursor.at();
        let name = self.symbol_name(cursor)?;
        let named = at..cursor.end();
        cursor.expect(",")?;
        let start = cursor.at();
        let size = self.absolute(cursor)?;
        let span = start..cursor.end();
        let size = u64::try_from(size)
            .map_err(|_| Diagnostic::new(span.clone(), format!("expected a size, found {size}")))?;
        let align = match cursor.eat(",") {
            true => Some(self.common_alignment(directive, cursor)?),
            false => None,
        };
        self.end(cursor)?;
        let meaning = match directive {
            ".lcomm" => return self.zeros(&name, named, size, align.unwrap_or(1), span),
            // A symbol that no other file can see is defined in this one.
            ".comm" if self.is_local(&name) => {
                return self.zeros(&name, named, size, align.unwrap_or(1), span);
            }
            ".comm" => Meaning::Common { size, align: align.unwrap_or(1) },
            _ => {
                self.check_local_memory(size, &span)?;
                Meaning::LocalMemory { size, align: align.unwrap_or(4) }
            }
        };
        let symbol = self.symbols.entry(&name);
        if symbol.meaning.as_ref().is_some_and(|known| *known != meaning) {
            return Err(Diagnostic::new(named, format!("`{name}` is defined a second time")));
        }
        symbol.meaning = Some(meaning);
        symbol.kind = symbol.kind.or(Some(SymbolType::Object));
        symbol.binding = symbol.binding.or(Some(Binding::Global));
        symbol.size = Some(size);
        Ok(())
    }

    /// Checks that a workgroup can have this much local memory on every target of the code.
    fn check_local_memory(&self, size: u64, span: &Span) -> Result<(), Fail> {
        if self.target.id.is_none() {
            return Err(super::finish::no_target(span.clone()));
        }
        let set = self.target.set;
        let most = set.family().local_memory(set);
        if size <= most.into() {
            return Ok(());
        }
        let message = format!("expected at most {most} bytes, found {size}");
        Err(Diagnostic::new(span.clone(), message).note(format!("a workgroup on {set} has no more LDS")))
    }

    /// An alignment in bytes. `.comm` writes it as an exponent, the related directives as the
    /// number.
    fn common_alignment(&mut self, directive: &str, cursor: &mut Cursor<'_>) -> Result<u64, Fail> {
        let start = cursor.at();
        let value = self.absolute(cursor)?;
        let (align, expected) = if directive == ".comm" {
            let align = u32::try_from(value).ok().and_then(|exponent| 1u64.checked_shl(exponent));
            (align, format!("an alignment as an exponent from 0 to {}", MAX_ALIGN.ilog2()))
        } else {
            let align = u64::try_from(value).ok().filter(|align| align.is_power_of_two());
            (align, format!("an alignment, a power of two up to {MAX_ALIGN}"))
        };
        align.filter(|align| *align <= MAX_ALIGN).ok_or_else(|| {
            Diagnostic::new(start..cursor.end(), format!("expected {expected}, found {value}"))
        })
    }

    fn is_local(&self, name: &str) -> bool {
        self.symbols.get(name).is_some_and(|symbol| symbol.binding == Some(Binding::Local))
    }

    /// Makes `name` a label of this file, before this many zeros in `.bss`.
    fn zeros(&mut self, name: &str, named: Span, size: u64, align: u64, span: Span) -> Result<(), Fail> {
        if self.symbols.get(name).is_some_and(|symbol| symbol.meaning.is_some()) {
            return Err(Diagnostic::new(named, format!("`{name}` is defined a second time")));
        }
        bind(self.symbols.entry(name), Binding::Local).map_err(|message| Diagnostic::new(named, message))?;
        let bss = self.sections.section_named(".bss");
        let current = std::mem::replace(&mut self.sections.current, bss);
        let offset = self.sections.offset().next_multiple_of(align);
        let padding = offset - self.sections.offset();
        let grown = self.sections.emit_fill(padding, 0).and_then(|()| self.sections.emit_fill(size, 0));
        let section = self.sections.section();
        section.align = section.align.max(align);
        self.sections.current = current;
        grown.map_err(|message| Diagnostic::new(span, message))?;
        // The alignment before it ends a fragment, and so does the code that follows.
        self.symbols.end_fragment(bss);
        let symbol = self.symbols.id(name);
        self.symbols.place_label(symbol, bss, offset);
        let symbol = self.symbols.entry(name);
        symbol.kind = Some(SymbolType::Object);
        symbol.size = Some(size);
        Ok(())
    }
}

/// Sets which files see the symbol. An earlier setting stays, except that a symbol can become weak.
fn bind(symbol: &mut Symbol, binding: Binding) -> Result<(), String> {
    match symbol.binding {
        Some(known) if known != binding && binding != Binding::Weak => {
            let name = &symbol.name;
            let [known, wanted] = [known, binding].map(|binding| match binding {
                Binding::Local => "local",
                Binding::Weak => "weak",
                _ => "global",
            });
            Err(format!("`{name}` cannot be {wanted}: it is already {known}"))
        }
        _ => {
            symbol.binding = Some(binding);
            Ok(())
        }
    }
}

/// Sets who may replace the symbol.
fn see(symbol: &mut Symbol, visibility: Visibility) -> Result<(), String> {
    symbol.visibility = Some(visibility);
    Ok(())
}
