//! What the address of an image instruction has besides coordinates (Vega ISA 8.2 to 8.4).
//!
//! The suffixes of the mnemonic name it: `_c` a reference to compare with, `_cl` a limit of the
//! level of detail, `_o` texel offsets; `_l`, `_b`, `_lz`, `_d` and `_cd` say where the level of
//! detail comes from.

use super::Row;
use super::vocabulary::{Format, Role};

/// Where the level of detail of an image instruction with a sampler comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LevelOfDetail {
    /// Differences of coordinates between lanes.
    Quad,
    /// The same, plus a bias in the address (`_b`).
    Bias,
    /// The address has it (`_l`).
    Given,
    /// Level 0 (`_lz`).
    Zero,
    /// Derivatives in the address (`_d`).
    Gradients,
    /// The same; those of the first lane of a quad count (`_cd`).
    CoarseGradients,
}

/// The parts of the address of an image instruction, besides coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageAddress {
    /// Whether the instruction has a sampler. Only then the address may have the other parts.
    pub sampler: bool,
    /// Texel offsets (`_o`).
    pub offset: bool,
    /// A reference that texels are compared with (`_c`).
    pub compare: bool,
    /// A lower limit of the level of detail (`_cl`).
    pub clamp: bool,
    /// Where the level of detail comes from. Instructions without a sampler have
    /// [`LevelOfDetail::Zero`].
    pub level: LevelOfDetail,
}

impl ImageAddress {
    /// The most registers of the address: three coordinates and everything else. Without a sampler,
    /// the fourth register is a mip level or the number of a sample.
    #[must_use]
    pub fn most_registers(&self) -> u8 {
        if !self.sampler {
            return 4;
        }
        let gradients = matches!(self.level, LevelOfDetail::Gradients | LevelOfDetail::CoarseGradients);
        let single = [
            self.offset,
            self.compare,
            self.clamp,
            matches!(self.level, LevelOfDetail::Bias | LevelOfDetail::Given),
        ];
        let single = single.into_iter().filter(|there| *there).count() as u8;
        3 + single + if gradients { 6 } else { 0 }
    }
}

impl Row {
    /// What the address has besides coordinates; `None` if it is no image instruction, or if a
    /// suffix of the mnemonic is unknown.
    #[must_use]
    pub fn image_address(&self) -> Option<ImageAddress> {
        if self.format != Format::Mimg {
            return None;
        }
        let (offset, compare, clamp) = (false, false, false);
        let sampler = self.operand(Role::Ssamp).is_some();
        if !sampler {
            return Some(ImageAddress { sampler, offset, compare, clamp, level: LevelOfDetail::Zero });
        }
        let mut address = ImageAddress { sampler, offset, compare, clamp, level: LevelOfDetail::Quad };
        for suffix in self.name().split('_').skip(2) {
            match suffix {
                "c" => address.compare = true,
                "cl" => address.clamp = true,
                "o" => address.offset = true,
                "l" => address.level = LevelOfDetail::Given,
                "b" => address.level = LevelOfDetail::Bias,
                "lz" => address.level = LevelOfDetail::Zero,
                "d" => address.level = LevelOfDetail::Gradients,
                "cd" => address.level = LevelOfDetail::CoarseGradients,
                // Of `image_get_lod`, `image_gather4h_pck` and `image_gather8h_pck`.
                "lod" | "pck" => {}
                _ => return None,
            }
        }
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Op;
    use super::*;

    #[test]
    fn every_image_instruction_has_an_address() {
        for row in Op::ALL.iter().map(|op| op.row()).filter(|row| row.format == Format::Mimg) {
            let address = row.image_address().unwrap_or_else(|| panic!("{}", row.name()));
            let least = row.operand(Role::Vaddr).map_or(0, |operand| operand.ty.dwords());
            assert!((1..=address.most_registers()).contains(&least), "{}", row.name());
        }
    }

    #[test]
    fn suffixes_name_the_parts() {
        use LevelOfDetail::{Bias, CoarseGradients, Quad, Zero};
        let parts = |name: &str| {
            let row = Op::ALL.iter().map(|op| op.row()).find(|row| row.name() == name).unwrap();
            let address = row.image_address().unwrap();
            let ImageAddress { offset, compare, clamp, level, .. } = address;
            (offset, compare, clamp, level, address.most_registers())
        };
        for (name, expected) in [
            ("image_load_mip_pck_sgn", (false, false, false, Zero, 4)),
            ("image_sample", (false, false, false, Quad, 3)),
            ("image_get_lod", (false, false, false, Quad, 3)),
            ("image_gather4h_pck", (false, false, false, Quad, 3)),
            ("image_gather4_c_b_cl_o", (true, true, true, Bias, 7)),
            ("image_sample_c_cd_cl_o", (true, true, true, CoarseGradients, 12)),
        ] {
            assert_eq!(parts(name), expected, "{name}");
        }
    }
}
