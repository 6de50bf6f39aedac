//! Text form, for people and snapshots.

use std::fmt;

use crate::{
    Attrs, Block, BufferAddr, Cond, FloatType, Inst, IntType, LaneMask, MemType, MemoryScope, Names, NoNames,
    Omod, Op, Operand, Space, SrcMods, SubDword, Terminator, TexelAccess, TexelCells, Width,
};

fn lower(f: &mut fmt::Formatter<'_>, v: &dyn fmt::Debug) -> fmt::Result {
    let text = format!("{v:?}");
    f.write_str(&text.to_ascii_lowercase())
}

struct OpName(Op);

impl fmt::Display for OpName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |w: Width| if w == Width::W64 { "64" } else { "" };
        let float = |t: FloatType| match t {
            FloatType::F16 => "f16",
            FloatType::F32 => "f32",
            FloatType::F64 => "f64",
            FloatType::PkF16 => "pkf16",
            FloatType::PkF32 => "pkf32",
        };
        let int = |t: IntType| match t {
            IntType::I16 => "i16",
            IntType::U16 => "u16",
            IntType::I32 => "i32",
            IntType::U32 => "u32",
            IntType::I64 => "i64",
            IntType::U64 => "u64",
        };
        let space = |s: Space| match s {
            Space::Global => "global",
            Space::Flat => "flat",
            Space::Lds => "lds",
            Space::Scratch => "scratch",
            Space::Gds => "gds",
        };
        let mem = |t: MemType| match t {
            MemType::Dwords(n) => format!("b{}", 32 * u32::from(n)),
            other => format!("{other:?}").to_ascii_lowercase(),
        };
        let address = |a: BufferAddr| match (a.idxen, a.offen, a.plain) {
            (false, false, false) => "",
            (false, true, false) => ".off",
            (true, false, false) => ".idx",
            (true, true, false) => ".idx.off",
            (false, false, true) => ".plain",
            (false, true, true) => ".off.plain",
            (true, false, true) => ".idx.plain",
            (true, true, true) => ".idx.off.plain",
        };
        let texel = |t: TexelAccess| {
            let cells = match t.cells {
                TexelCells::Dwords => "x",
                TexelCells::Halves => "h",
                TexelCells::UpperHalf => "hi",
            };
            let format = t.format.map_or_else(|| "resource".to_owned(), |format| format.to_string());
            format!("{format}.{cells}{}", t.count)
        };
        let bits = |dwords: u8| 32 * u32::from(dwords);
        let name = self.0.signature().name;
        match self.0 {
            Op::Scalar(_, w) => write!(f, "s.{name}{}", width(w)),
            Op::ScalarCmp(p, t) | Op::IntCmp(p, t) | Op::IntSelect(p, t) => {
                write!(f, "{name}.")?;
                lower(f, &p)?;
                write!(f, ".{}", int(t))
            }
            Op::Float(_, t) | Op::FloatClass(t) => write!(f, "{name}.{}", float(t)),
            Op::FloatCmp(p, t) | Op::FloatSelect(p, t) => {
                write!(f, "{name}.")?;
                lower(f, &p)?;
                write!(f, ".{}", float(t))
            }
            Op::Cvt(_) => write!(f, "cvt.{name}"),
            Op::FormatCvt(c) => {
                let rounding = if c.stochastic { ".sr" } else { "" };
                write!(f, "{name}.{}.{}x{}{rounding}", c.to.name(), c.from.name(), c.count)
            }
            Op::Matrix(matrix) => write!(f, "{name}.{matrix}"),
            Op::Image(image) => write!(f, "{name}.{image}"),
            Op::Transpose(n) => write!(f, "{name}.b{n}"),
            Op::ScalarLoad(n)
            | Op::ScalarBufferLoad(n)
            | Op::ScalarStore(n)
            | Op::ScalarBufferStore(n)
            | Op::IndexedRead(n)
            | Op::IndexedWrite(n) => write!(f, "{name}.b{}", bits(n)),
            Op::LaneIndexedRead(rows) | Op::LaneIndexedWrite(rows) => {
                write!(f, "{name}.{:?}..{:?}.x{}", rows.first, rows.end, rows.stride)
            }
            Op::Load(s, t) | Op::Store(s, t) => write!(f, "{name}.{}.{}", space(s), mem(t)),
            Op::Atomic(op, s, w) => write!(f, "{name}.{}.{}{}", space(s), op.name(), width(w)),
            Op::ScalarAtomic(op, w) | Op::ScalarBufferAtomic(op, w) => {
                write!(f, "{name}.{}{}", op.name(), width(w))
            }
            Op::BufferLoad(t, a) | Op::BufferStore(t, a) => write!(f, "{name}.{}{}", mem(t), address(a)),
            Op::BufferLoadTexel(t, a) | Op::BufferStoreTexel(t, a) => {
                write!(f, "{name}.{}{}", texel(t), address(a))
            }
            Op::BufferAtomic(op, w, a) => write!(f, "{name}.{}{}{}", op.name(), width(w), address(a)),
            Op::Fence(s) => {
                write!(f, "{name}.")?;
                lower(f, &s)
            }
            Op::ReadStatus(status) => {
                write!(f, "{name}.")?;
                lower(f, &status)
            }
            Op::MoveRelSource(w, _) | Op::MoveRelDest(w, _) => write!(f, "{name}{}", width(w)),
            Op::Swizzle(pattern) => {
                write!(f, "{name}.")?;
                lower(f, &pattern)
            }
            Op::Export(export) => write!(f, "{name}.{export}"),
            Op::Counter(_, s) => write!(f, "{name}.{}", space(s)),
            Op::Int(_) | Op::Lane(_) | Op::LdsDirect | Op::Message | Op::Sync(_) | Op::Parameter(_) => {
                f.write_str(name)
            }
        }
    }
}

fn select(s: SubDword) -> &'static str {
    match s {
        SubDword::Byte0 => ".b0",
        SubDword::Byte1 => ".b1",
        SubDword::Byte2 => ".b2",
        SubDword::Byte3 => ".b3",
        SubDword::Word0 => ".w0",
        SubDword::Word1 => ".w1",
        SubDword::Dword => "",
    }
}

fn source(f: &mut fmt::Formatter<'_>, s: Operand, m: SrcMods, names: &dyn Names) -> fmt::Result {
    if m.sext {
        f.write_str("sext ")?;
    }
    if m.neg {
        f.write_str("-")?;
    }
    if m.abs {
        f.write_str("|")?;
    }
    write!(f, "{}{}", s.text(names), select(m.sel))?;
    if m.abs {
        f.write_str("|")?;
    }
    if m.hi_sel {
        f.write_str(".hi")?;
    }
    if m.neg_hi {
        f.write_str(".neghi")?;
    }
    Ok(())
}

fn tail(f: &mut fmt::Formatter<'_>, a: &Attrs, mask: LaneMask) -> fmt::Result {
    if a.imm != 0 {
        write!(f, " imm={:#x}", a.imm)?;
    }
    match a.omod {
        Omod::None => {}
        Omod::Mul2 => f.write_str(" *2")?,
        Omod::Mul4 => f.write_str(" *4")?,
        Omod::Div2 => f.write_str(" /2")?,
    }
    if a.clamp {
        f.write_str(" clamp")?;
    }
    if a.dst_sel != SubDword::Dword {
        write!(f, " dst{}", select(a.dst_sel))?;
        write!(f, " {:?}", a.dst_unused)?;
    }
    if let Some(l) = a.lanes {
        write!(f, " lanes(src{} ", l.source)?;
        lower(f, &l.pattern)?;
        if l.written != !0 {
            write!(f, " to {:#x}", l.written)?;
        }
        write!(f, "{})", if l.zero_fill { " or 0" } else { "" })?;
    }
    if a.traps != 0 {
        write!(f, " traps={:#x}", a.traps)?;
    }
    if a.scope != MemoryScope::Wave {
        write!(f, " scope={}", a.scope.name())?;
    }
    match mask {
        LaneMask::Active => Ok(()),
        LaneMask::All => f.write_str(" all-lanes"),
        LaneMask::Given(pair) => write!(f, " lanes={pair:?}"),
    }
}

/// A value displayed with the names of an instruction family.
struct Named<'a, T>(&'a T, &'a dyn Names);

impl fmt::Display for Named<'_, Inst> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named(inst, names) = self;
        for (n, d) in inst.dst.iter().filter(|d| !d.is_none()).enumerate() {
            write!(f, "{}{}", if n > 0 { ", " } else { "" }, d.text(*names))?;
        }
        if inst.dst.iter().any(|d| !d.is_none()) {
            f.write_str(" = ")?;
        }
        write!(f, "{}", OpName(inst.op))?;
        let last = inst.src.iter().rposition(|s| !s.is_none());
        for (i, s) in inst.src.iter().enumerate().take(last.map_or(0, |l| l + 1)) {
            f.write_str(if i == 0 { " " } else { ", " })?;
            source(f, *s, inst.attrs.src.get(i).copied().unwrap_or_default(), *names)?;
        }
        tail(f, &inst.attrs, inst.mask)
    }
}

impl fmt::Display for Named<'_, Terminator> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named(end, names) = self;
        match end {
            Terminator::Jump(to) => write!(f, "jump {to:#x}"),
            Terminator::Branch { cond, taken, next } => {
                let (cell, width) = cond.cell();
                let is = if matches!(cond, Cond::Zero(..)) { "==" } else { "!=" };
                let wide = if width == Width::W64 { ".64" } else { "" };
                write!(f, "if {}{wide} {is} 0 {taken:#x} else {next:#x}", Operand::Uni(cell).text(*names))
            }
            Terminator::Indirect(cells) => write!(f, "jump {}", Operand::Uni(*cells).text(*names)),
            Terminator::Barrier(next) => write!(f, "barrier {next:#x}"),
            Terminator::Yield(next) => write!(f, "yield {next:#x}"),
            Terminator::End => f.write_str("end"),
            Terminator::SetContext { value, next } => {
                write!(f, "context {}, {next:#x}", value.text(*names))
            }
            Terminator::Resume { context, at } => {
                write!(f, "resume {}, {}", context.text(*names), at.text(*names))
            }
            Terminator::InvalidateCode(next) => write!(f, "invalidate code, {next:#x}"),
            Terminator::Trap(id) => write!(f, "trap {id}"),
            Terminator::Fault(kind) => write!(f, "fault {kind:?}"),
        }
    }
}

impl fmt::Display for Named<'_, Block> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named(block, names) = self;
        writeln!(
            f,
            "block {:#x} ({} bytes, {} guest instructions)",
            block.start,
            block.bytes(),
            block.guest.len()
        )?;
        for inst in &block.insts {
            let offset = block.position(inst.guest as usize).wrapping_sub(block.start);
            writeln!(f, "  {offset:5x}: {}", Named(inst, *names))?;
        }
        writeln!(f, "  {}", Named(&block.terminator, *names))
    }
}

macro_rules! text {
    ($($ty:ty),*) => {$(
        impl $ty {
            /// Its text, with the names of an instruction family.
            #[must_use]
            pub fn text(&self, names: &dyn Names) -> String {
                Named(self, names).to_string()
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Named(self, &NoNames).fmt(f)
            }
        }
    )*};
}

text!(Inst, Terminator, Block);
