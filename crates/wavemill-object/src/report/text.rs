//! Reports as text.

use std::fmt::{self, Display, Formatter};

use crate::printable::Printable;

use super::{
    ArgumentReport, BundleReport, EntryReport, FileReport, GlobalReport, KernelReport, ObjectReport,
};

/// A count with its noun: `1 kernel`, `2 kernels`.
struct Count(usize, &'static str);

impl Display for Count {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}

/// A number that may be unknown.
struct Known(Option<u32>);

impl Display for Known {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => write!(f, "{number}"),
            None => f.write_str("?"),
        }
    }
}

/// Widest column of a table. Longer texts overflow, and the column does not grow with them.
const WIDEST: usize = 64;

/// The width of a column with these texts.
fn column<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0).min(WIDEST)
}

impl Display for FileReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Printable(&self.description))?;
        for bundle in &self.bundles {
            write!(f, "{bundle}")?;
        }
        Ok(())
    }
}

impl Display for BundleReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(compression) = &self.compression {
            write!(f, "\nbundle at offset {:#x}, {} bytes", self.offset, self.size)?;
            if let Some(size) = self.uncompressed_size {
                write!(f, ", {size} bytes decompressed ({compression})")?;
            }
            if let Some(section) = &self.section {
                write!(f, ", section {}", Printable(section))?;
            }
            writeln!(f)?;
            let width = column(self.entries.iter().map(|entry| entry.id.as_str()));
            for entry in &self.entries {
                write!(f, "  {:width$}  {:>8} bytes", Printable(&entry.id), entry.size)?;
                if let Some(first) = entry.same_as {
                    write!(f, ", same code as entry {}", first + 1)?;
                }
                if entry.repeated != 0 {
                    write!(f, ", {} times in the table", entry.repeated + 1)?;
                }
                writeln!(f)?;
            }
        } else if self.offset != 0 {
            writeln!(f, "\ncode object at offset {:#x}, {} bytes", self.offset, self.size)?;
        }
        if self.checksum_matches == Some(false) {
            writeln!(f, "  problem: the contents do not match the checksum; the file may be damaged")?;
        }
        if let Some(error) = &self.error {
            writeln!(f, "  error: {}", Printable(error))?;
        }
        self.entries.iter().try_for_each(|entry| entry.fmt(f))
    }
}

impl Display for EntryReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(error) = &self.error {
            writeln!(f, "\n{}: error: {}", Printable(&self.id), Printable(error))?;
        }
        match &self.object {
            Some(object) => object.fmt(f),
            None => Ok(()),
        }
    }
}

impl Display for ObjectReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.relocatable { "relocatable file, code object" } else { "code object" };
        write!(f, "\n{}: {kind} {}, e_flags {:#x}", self.target, self.version, self.flags)?;
        if let Some(version) = self.generic_version {
            write!(f, ", version {version} of the generic processor")?;
        }
        if let Some(spelled) = &self.metadata_target {
            write!(f, ", target {}", Printable(spelled))?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "  {}, {}, {}, {}",
            Count(self.kernel_count, "kernel"),
            Count(self.function_count, "other function"),
            Count(self.globals.len(), "global"),
            Count(self.relocation_count, "relocation"),
        )?;
        if self.relocatable {
            writeln!(f, "  addresses are those after linking")?;
        }
        for problem in &self.problems {
            writeln!(f, "  problem: {}", Printable(problem))?;
        }
        for kernel in &self.kernels {
            write!(f, "{kernel}")?;
        }
        if !self.globals.is_empty() {
            writeln!(f, "\n  globals")?;
        }
        for global in &self.globals {
            write!(f, "{global}")?;
        }
        if !self.printf.is_empty() {
            writeln!(f, "\n  printf formats")?;
        }
        for format in &self.printf {
            writeln!(f, "    {}", Printable(format))?;
        }
        Ok(())
    }
}

impl Display for KernelReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n  kernel {}", Printable(self.demangled.as_deref().unwrap_or(&self.name)))?;
        if self.demangled.is_some() {
            writeln!(f, "    symbol     {}", Printable(&self.name))?;
        }
        if let Some(language) = &self.language {
            writeln!(f, "    language   {}", Printable(language))?;
        }
        write!(f, "    code       ")?;
        if let Some(size) = self.code_size {
            write!(f, "{size} bytes ")?;
        }
        writeln!(f, "at {:#x}", self.entry_address)?;
        self.registers(f)?;
        self.memory(f)?;
        self.launch(f)?;
        self.arguments(f)
    }
}

impl KernelReport {
    fn registers(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "    registers  {} VGPRs ({} allocated)", Known(self.vgprs), Known(self.vgprs_allocated))?;
        match (self.agprs, self.accum_offset) {
            (None | Some(0), _) => {}
            (Some(agprs), Some(offset)) => write!(f, ", {agprs} of them AGPRs from v{offset}")?,
            (Some(agprs), None) => write!(f, " and {agprs} AGPRs")?,
        }
        write!(f, ", {} SGPRs ({} allocated)", Known(self.sgprs), Known(self.sgprs_allocated))?;
        match (self.vgpr_spills, self.sgpr_spills) {
            (None | Some(0), None | Some(0)) => writeln!(f),
            (vgprs, sgprs) => {
                writeln!(f, ", spilled: {} VGPRs, {} SGPRs", vgprs.unwrap_or(0), sgprs.unwrap_or(0))
            }
        }
    }

    fn memory(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "    memory     {} bytes LDS per workgroup", self.lds)?;
        match &self.code {
            Some(code) if self.has_lds_of_unknown_size() => {
                let plural = if code.lds_instructions == 1 { "" } else { "s" };
                let n = code.lds_instructions;
                write!(f, " and more at launch (its code has {n} instruction{plural} that access LDS)")?;
            }
            _ if self.dynamic_lds => write!(f, " and more at launch")?,
            _ => {}
        }
        write!(f, ", {} bytes scratch per work-item", self.scratch)?;
        if self.dynamic_stack {
            write!(f, " and more for a stack of unknown depth")?;
        }
        writeln!(f)
    }

    fn launch(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "    launch     waves of {} lanes, workgroups of ", self.wavefront_size)?;
        match (self.required_workgroup_size, self.max_workgroup_size) {
            (Some([x, y, z]), _) => write!(f, "exactly {x}x{y}x{z} work-items")?,
            (None, Some(most)) => write!(f, "up to {most} work-items")?,
            (None, None) => write!(f, "unknown size")?,
        }
        writeln!(f, "{}", if self.uniform_workgroups { ", never partial" } else { "" })
    }

    fn arguments(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "    arguments  {} bytes", self.kernarg_size)?;
        if self.kernarg_preload_words != 0 {
            write!(f, ", {} words of them in registers", self.kernarg_preload_words)?;
            if self.kernarg_preload_offset != 0 {
                write!(f, " from word {} on", self.kernarg_preload_offset)?;
            }
        }
        if !self.arguments_known {
            return writeln!(f, ", not described");
        }
        writeln!(f)?;
        let kinds = column(self.arguments.iter().map(|arg| arg.kind.as_str()));
        let types = column(self.arguments.iter().filter_map(|arg| arg.type_name.as_deref()));
        let names = column(self.arguments.iter().filter_map(|arg| arg.name.as_deref()));
        for arg in &self.arguments {
            let kind = Printable(&arg.kind);
            let type_name = Printable(arg.type_name.as_deref().unwrap_or("?"));
            let name = Printable(arg.name.as_deref().unwrap_or("?"));
            let mut line = format!("      {:>6} {:>4}  {kind:kinds$}", arg.offset, arg.size);
            if types != 0 {
                line += &format!("  {type_name:types$}");
            }
            if names != 0 {
                line += &format!("  {name:names$}");
            }
            let qualifiers = arg.qualifiers.join(" ");
            writeln!(f, "{}", format!("{line}  {}", Printable(&qualifiers)).trim_end())?;
        }
        let mut hidden = self.hidden_arguments.iter().filter(|arg| arg.kind != "hidden_none");
        if let Some(first) = hidden.next() {
            let name = |arg: &ArgumentReport| arg.kind.trim_start_matches("hidden_").to_owned();
            write!(f, "      hidden: {} at {}", Printable(&name(first)), first.offset)?;
            for arg in hidden {
                write!(f, ", {} {}", Printable(&name(arg)), arg.offset)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Display for GlobalReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "    {}  {} bytes, {}",
            Printable(self.demangled.as_deref().unwrap_or(&self.name)),
            self.size,
            self.place
        )?;
        match self.address {
            Some(address) => writeln!(f, " at {address:#x}"),
            None => writeln!(f),
        }
    }
}
