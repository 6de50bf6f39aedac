//! Products: chips as they are sold, and their sizes.

use wavemill_isa::Target;
use wavemill_object::{Feature, Processor, TargetId};

use crate::registers;

/// A product: a chip with its size. For accelerators that appear as two devices, one of the two.
///
/// Compute units are from AMD's product pages. LDS sizes are from the ISA documents, section "Local
/// Data Share".
///
/// ```
/// use wavemill::device::{PRODUCTS, Product};
///
/// for product in PRODUCTS {
///     println!("{:12} {} ({})", product.name, product.title, product.target.name());
/// }
/// let product = Product::from_name("Instinct MI355X").ok_or("no such product")?;
/// assert_eq!((product.name, product.compute_units, product.lds()), ("mi355x", 256, 160 << 10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Product {
    /// Name for command lines: lower case, words joined by `-`.
    pub name: &'static str,
    /// Name for messages.
    pub title: &'static str,
    /// Its instruction set.
    pub target: Target,
    /// Enabled compute units.
    pub compute_units: u32,
    /// Dies with compute units (XCCs) that appear as one device.
    pub(crate) xccs: u32,
}

const fn product(name: &'static str, title: &'static str, target: Target, compute_units: u32) -> Product {
    Product { name, title, target, compute_units, xccs: 1 }
}

impl Product {
    /// A product of several dies that appear as one device.
    const fn of_xccs(self, xccs: u32) -> Product {
        Product { xccs, ..self }
    }
}

/// Every product that has a name, by target. The first product of each target stands for the
/// target.
pub static PRODUCTS: &[Product] = &[
    product("vega64", "Radeon RX Vega 64", Target::Gfx900, 64),
    product("vega56", "Radeon RX Vega 56", Target::Gfx900, 56),
    product("mi25", "Radeon Instinct MI25", Target::Gfx900, 64),
    product("radeon-vii", "Radeon VII", Target::Gfx906, 60),
    product("mi50", "Radeon Instinct MI50", Target::Gfx906, 60),
    product("mi60", "Radeon Instinct MI60", Target::Gfx906, 64),
    product("mi100", "Instinct MI100", Target::Gfx908, 120),
    product("mi210", "Instinct MI210", Target::Gfx90a, 104),
    product("mi250", "Instinct MI250, one of its two dies", Target::Gfx90a, 104),
    product("mi250x", "Instinct MI250X, one of its two dies", Target::Gfx90a, 110),
    product("mi300x", "Instinct MI300X", Target::Gfx942, 304).of_xccs(8),
    product("mi300a", "Instinct MI300A", Target::Gfx942, 228).of_xccs(6),
    product("mi325x", "Instinct MI325X", Target::Gfx942, 304).of_xccs(8),
    product("mi355x", "Instinct MI355X", Target::Gfx950, 256).of_xccs(8),
    product("mi350x", "Instinct MI350X", Target::Gfx950, 256).of_xccs(8),
    product("hd6970", "Radeon HD 6970", Target::Cayman, 24),
    product("hd6950", "Radeon HD 6950", Target::Cayman, 22),
    product("hd6990", "Radeon HD 6990, one of its two chips", Target::Cayman, 24),
];

impl Product {
    /// The product with this name. Case, a leading `instinct-`, and whether `-`, `_` or spaces join
    /// the words do not matter.
    #[must_use]
    pub fn from_name(name: &str) -> Option<&'static Product> {
        let name = name.trim().to_ascii_lowercase().replace([' ', '_'], "-");
        let name = ["amd-", "radeon-instinct-", "instinct-"]
            .iter()
            .fold(name.as_str(), |name, maker| name.strip_prefix(maker).unwrap_or(name));
        // `Radeon HD 6970`, `HD 6970` and `hd6970`.
        let series = name.strip_prefix("radeon-").unwrap_or(name).strip_prefix("hd");
        let number = series.map(|number| format!("hd{}", number.trim_start_matches('-')));
        let name = number.as_deref().unwrap_or(name);
        PRODUCTS.iter().find(|product| product.name == name)
    }

    /// The product that stands for a target without other details.
    #[must_use]
    pub fn of(target: Target) -> &'static Product {
        // The table has one for each target; a test checks this.
        PRODUCTS.iter().find(|product| product.target == target).unwrap_or(&PRODUCTS[0])
    }

    /// Its target, with the features left open.
    #[must_use]
    pub fn target_id(&self) -> TargetId {
        TargetId::new(Processor::from_name(self.target.name()))
    }

    /// Bytes of LDS in a compute unit, and the limit for a workgroup.
    #[must_use]
    pub fn lds(&self) -> u32 {
        self.target.lds_bytes()
    }

    /// Most bytes of private memory of a work-item.
    pub(crate) fn private_bytes(&self) -> u32 {
        self.target.private_bytes()
    }

    /// The location of a wave, by the number of its workgroup among the resident ones and its number
    /// in it. Workgroups go to dies in turn, then to the compute units of each in turn, and waves to the
    /// SIMDs of one in turn (*modelled*).
    pub(crate) fn location(&self, slot: u32, waves: u32, wave: u32) -> registers::Location {
        let simds = self.target.facts().simds.max(1);
        let units = (self.compute_units / self.xccs).max(1);
        let on_xcc = slot / self.xccs;
        let workgroup = on_xcc / units;
        let on_unit = workgroup * waves + wave;
        registers::Location {
            xcc: slot % self.xccs,
            compute_unit: on_xcc % units,
            simd: on_unit % simds,
            slot: on_unit / simds,
            workgroup,
        }
    }

    /// Workgroups that the chip holds at once, at least 1: the limit from registers and LDS on all
    /// compute units. `registers` are those that a wave takes from the register file of its SIMD,
    /// `waves` the waves of a workgroup, and `lds` the bytes allocated for a workgroup.
    pub(crate) fn resident_workgroups(&self, registers: u32, waves: u32, lds: u32) -> u64 {
        let by_waves = (self.target.waves_of_unit(registers) / waves.max(1)).max(1);
        let by_lds = self.lds().checked_div(lds).map_or(u32::MAX, |n| n.max(1));
        u64::from(by_waves.min(by_lds)) * u64::from(self.compute_units)
    }
}

/// A device to run on, as a user names it: a target id or a product, with or without features.
///
/// ```
/// use wavemill::Device;
/// use wavemill::device::TargetChoice;
///
/// // As a user of a command writes it.
/// let choice = TargetChoice::parse("mi300x").ok_or("no such target or product")?;
/// assert_eq!(choice.to_string(), "gfx942 (mi300x)");
/// let device = Device::builder(choice).build()?;
/// assert_eq!(device.compute_units(), 304);
/// assert_eq!(TargetChoice::parse("mi9000"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetChoice {
    target: TargetId,
    product: Option<&'static Product>,
}

impl TargetChoice {
    /// The target.
    #[must_use]
    pub fn target(&self) -> &TargetId {
        &self.target
    }

    /// The product, if one was named.
    #[must_use]
    pub fn product(&self) -> Option<&'static Product> {
        self.product
    }

    /// Parses a target id in any of the spellings of [`TargetId::parse`], or a product with or
    /// without target features: `mi250x`, `mi250x:xnack-`. `None` if it is neither.
    #[must_use]
    pub fn parse(text: &str) -> Option<TargetChoice> {
        let (name, features) = text.split_at(text.find(':').unwrap_or(text.len()));
        match Product::from_name(name) {
            Some(product) => {
                let target = TargetId::parse(&format!("{}{features}", product.target.name()))?;
                let has = product.target_id();
                // A feature that the processor lacks cannot be set.
                let sound =
                    |set: Feature, has: Feature| has != Feature::Unsupported || set == Feature::Unsupported;
                (sound(target.xnack, has.xnack) && sound(target.sramecc, has.sramecc))
                    .then_some(TargetChoice { target, product: Some(product) })
            }
            None => TargetId::parse(text).map(|target| TargetChoice { target, product: None }),
        }
    }
}

impl From<&TargetId> for TargetChoice {
    fn from(id: &TargetId) -> TargetChoice {
        TargetChoice::from(id.clone())
    }
}

impl From<&TargetChoice> for TargetChoice {
    fn from(choice: &TargetChoice) -> TargetChoice {
        choice.clone()
    }
}

impl From<TargetId> for TargetChoice {
    fn from(target: TargetId) -> TargetChoice {
        TargetChoice { target, product: None }
    }
}

impl std::fmt::Display for TargetChoice {
    /// The target, and the product in brackets: `gfx90a:xnack- (mi250x)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.target)?;
        match self.product {
            Some(product) => write!(f, " ({})", product.name),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_product_and_names_are_unique() {
        for target in Target::ALL {
            assert_eq!(Product::of(target).target, target);
        }
        for product in PRODUCTS {
            assert_eq!(Product::from_name(product.name), Some(product));
            assert!(product.target_id().processor.info().is_some(), "{}", product.name);
        }
    }

    #[test]
    fn choices() {
        let read = |text: &str| TargetChoice::parse(text).map(|choice| choice.to_string());
        for (text, wanted) in [
            ("gfx90a", Some("gfx90a")),
            ("gfx90a:sramecc+:xnack-", Some("gfx90a:sramecc+:xnack-")),
            ("amdgcn-amd-amdhsa--gfx90a:xnack-", Some("gfx90a:xnack-")),
            ("amdgpu9.42-amd-amdhsa--", Some("gfx942")),
            ("mi250x", Some("gfx90a (mi250x)")),
            ("mi250x:xnack+", Some("gfx90a:xnack+ (mi250x)")),
            ("Instinct MI300X", Some("gfx942 (mi300x)")),
            ("Radeon VII", Some("gfx906 (radeon-vii)")),
            ("radeon_instinct_mi50", Some("gfx906 (mi50)")),
            ("Radeon HD 6970", Some("cayman (hd6970)")),
            ("hd6990", Some("cayman (hd6990)")),
            ("radeon", None),
            ("vega64:sramecc+", None),
            ("mi250x:tea+", None),
            ("mi250x:", None),
            ("mi9000", None),
            ("", None),
        ] {
            assert_eq!(read(text).as_deref(), wanted, "{text}");
        }
        assert_eq!(TargetChoice::parse("mi355x").unwrap().product.unwrap().lds(), 160 << 10);
    }
}
