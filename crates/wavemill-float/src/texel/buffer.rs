//! Texels of accesses through buffer resources: formats, and which component goes where.

use wavemill_ir::{TexelAccess, TexelCells, TexelFormat, TexelNumber};

use super::{from_half, pack, to_half, unpack};

/// A component of a texel or of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pick {
    Zero,
    One,
    /// This component.
    Nth(usize),
}

/// An access to texels through a buffer resource, with what the resource says about them.
///
/// The rules for the selections of resources are *modelled*: a public test program for the console
/// GPU of GCN's second generation found them, with all selections, in formats of one to four
/// dwords. Texts about this hardware only say that stores use the selections, too (Vega ISA 8.1.4).
#[derive(Clone, Copy, Debug)]
pub struct BufferTexel {
    access: TexelAccess,
    /// The format; `None` if it does not exist.
    format: Option<TexelFormat>,
    number: TexelNumber,
    /// The selections, if the resource decides.
    select: Option<[u32; 4]>,
    /// Number of dwords that a load copies, if it does nothing else.
    copied: Option<usize>,
}

impl BufferTexel {
    /// The texels of an access; `word` is the last dword of the resource (Vega ISA 8.1.5: bits 11:0
    /// select components, 14:12 are the number format, 18:15 the data format).
    #[must_use]
    pub fn new(access: TexelAccess, word: u32) -> BufferTexel {
        if let Some(format) = access.format {
            let copied = Self::copied(access, Some(format), None);
            return BufferTexel { access, format: Some(format), number: format.number, select: None, copied };
        }
        let number = word >> 12 & 7;
        let format = TexelFormat::of_buffer(word >> 15 & 15, number);
        let select = Some([0, 3, 6, 9].map(|low| word >> low & 7));
        BufferTexel {
            access,
            format,
            number: TexelNumber::from_code(number).unwrap_or(TexelNumber::Unorm),
            select,
            copied: Self::copied(access, format, select),
        }
    }

    /// Number of dwords that a load copies, if it does nothing else: channels of 32 bits in their
    /// order.
    fn copied(access: TexelAccess, format: Option<TexelFormat>, select: Option<[u32; 4]>) -> Option<usize> {
        let (channels, count) = (format?.data.channels(), usize::from(access.count));
        let in_order = |select: [u32; 4]| (4..).zip(&select[..count]).all(|(n, select)| n == *select);
        let is_whole = channels.iter().all(|&(_, width)| width == 32) && access.cells == TexelCells::Dwords;
        let is_plain = select.is_none_or(|select| count <= channels.len() && in_order(select));
        (is_whole && is_plain).then(|| count.min(channels.len()))
    }

    /// Bytes of a texel; 0 if the format does not exist and no memory is accessed.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.format.map_or(0, |format| format.data.bytes())
    }

    /// Number of components of the format, 1 to 4.
    fn channels(&self) -> usize {
        self.format.map_or(4, |format| format.data.channels().len())
    }

    fn one(&self) -> u32 {
        if self.number.is_integer() { 1 } else { 1f32.to_bits() }
    }

    /// The component of the texel that a selection means for a load.
    fn loaded(&self, select: u32) -> Pick {
        let channels = self.channels();
        match select {
            3 if channels == 1 => Pick::Nth(0),
            0 | 3 => Pick::Zero,
            1 | 2 => Pick::One,
            n => Pick::Nth((n as usize - 4) % channels),
        }
    }

    /// The component of the data that a selection means for a store.
    fn named(select: u32) -> Pick {
        match select {
            0 | 3 => Pick::Zero,
            1 | 2 => Pick::One,
            n => Pick::Nth(n as usize - 4),
        }
    }

    /// The components of the data that the components of the texel are, by the selections.
    fn stored(&self, [x, y, z, w]: [u32; 4]) -> [Pick; 4] {
        /// Selects no component.
        const fn is_constant(select: u32) -> bool {
            select < 4
        }
        let named = Self::named;
        match self.channels() {
            1 => {
                let first = match x {
                    _ if self.access.count > 1 => Pick::Nth(if x == 4 { 0 } else { 3 }),
                    4.. => Pick::Nth(0),
                    constant => named(constant),
                };
                [first, Pick::Zero, Pick::Zero, Pick::Zero]
            }
            2 => {
                let (first, second) = if x != 4 && !is_constant(z) {
                    (3, 0)
                } else if is_constant(y) || !is_constant(x) && !is_constant(z) {
                    (0, 3)
                } else if x == 4 {
                    (0, 1)
                } else {
                    (1, 0)
                };
                [Pick::Nth(first), Pick::Nth(second), Pick::Zero, Pick::Zero]
            }
            4 if y != 5 => [w, z, y, x].map(|select| match named(select) {
                Pick::Nth(n) => Pick::Nth(3 - n),
                constant => constant,
            }),
            _ => [x, y, z, w].map(named),
        }
    }

    /// The cells of a load. `words` has the bytes of the texel, lowest first; `None` if it is out of
    /// range. The half of a cell that the load keeps is 0.
    #[must_use]
    pub fn load(&self, words: Option<[u32; 4]>) -> [u32; 4] {
        if let (Some(copied), Some(words)) = (self.copied, words) {
            return std::array::from_fn(|n| if n < copied { words[n] } else { 0 });
        }
        let mut components = match (self.format, words) {
            (Some(format), Some(words)) => unpack(format, words),
            _ => [0; 4],
        };
        match self.select {
            None => components[self.channels()..].fill(0),
            Some(select) => {
                components = select.map(|select| match self.loaded(select) {
                    Pick::Zero => 0,
                    Pick::One => self.one(),
                    Pick::Nth(n) => components[n],
                });
            }
        }
        components[self.access.count.into()..].fill(0);
        let half = |n: usize| u32::from(to_half(self.number, components[n]));
        match self.access.cells {
            TexelCells::Dwords => components,
            TexelCells::Halves => {
                let count = usize::from(self.access.count);
                let halves = [0, 1, 2, 3].map(|n| if n < count { half(n) } else { 0 });
                [halves[0] | halves[1] << 16, halves[2] | halves[3] << 16, 0, 0]
            }
            TexelCells::UpperHalf => [half(0) << 16, 0, 0, 0],
        }
    }

    /// The bytes of the texel that a store of these cells writes, as words, lowest first.
    #[must_use]
    pub fn store(&self, cells: [u32; 4]) -> [u32; 4] {
        let Some(format) = self.format else { return [0; 4] };
        let half = |bits: u32| from_half(self.number, bits as u16);
        let mut data = match self.access.cells {
            TexelCells::Dwords => cells,
            TexelCells::Halves => [0, 1, 2, 3].map(|n| half(cells[n / 2] >> (16 * (n % 2)))),
            TexelCells::UpperHalf => [half(cells[0] >> 16), 0, 0, 0],
        };
        data[self.access.count.into()..].fill(0);
        let picked = |pick: Pick| match pick {
            Pick::Zero => 0,
            Pick::One => self.one(),
            Pick::Nth(n) => data[n],
        };
        pack(format, self.select.map_or(data, |select| self.stored(select).map(picked)))
    }
}
