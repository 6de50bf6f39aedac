//! Images as the OpenCL C specification describes them: texels as numbers (8.3, "Conversion Rules"),
//! address modes and filters (8.2, "Image Addressing and Filtering").

/// The components red, green, blue and alpha of a texel, as numbers.
pub(super) type Colour = [f64; 4];

/// How a channel stores a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    Unorm,
    Snorm,
    Uint,
    Sint,
    Float,
}

/// A format by its name, such as `rgba8ui`.
#[derive(Clone, Debug)]
pub(super) struct Format {
    /// The order of channels: the letters of the name.
    order: String,
    pub(super) kind: Kind,
    /// Lowest bit and width of each channel in memory.
    channels: Vec<(u32, u32)>,
}

impl Format {
    pub(super) fn of(name: &str) -> Format {
        let digits = name.find(|c: char| c.is_ascii_digit()).unwrap();
        let (order, rest) = name.split_at(digits);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (bits, kind) = rest.split_at(end);
        let kind = match kind {
            "" => Kind::Unorm,
            "s" => Kind::Snorm,
            "ui" => Kind::Uint,
            "i" => Kind::Sint,
            "f" => Kind::Float,
            other => panic!("{other}"),
        };
        // Packed formats have red in the upper bits.
        let channels = match bits {
            "565" => vec![(11, 5), (5, 6), (0, 5)],
            "555" => vec![(10, 5), (5, 5), (0, 5)],
            "101010" => vec![(20, 10), (10, 10), (0, 10)],
            _ => {
                let bits: u32 = bits.parse().unwrap();
                let count = match order {
                    "r" | "depth" => 1,
                    "rg" => 2,
                    _ => 4,
                };
                (0..count).map(|n| (n * bits, bits)).collect()
            }
        };
        Format { order: order.to_owned(), kind, channels }
    }

    pub(super) fn bytes(&self) -> usize {
        let end = self.channels.iter().map(|(low, bits)| low + bits).max().unwrap();
        end.next_multiple_of(8).next_power_of_two() as usize / 8
    }

    pub(super) fn is_integer(&self) -> bool {
        matches!(self.kind, Kind::Uint | Kind::Sint)
    }

    /// The component of the colour that each channel in memory is.
    fn component(&self, channel: usize) -> usize {
        match (&*self.order, channel) {
            ("bgra", 0) => 2,
            ("bgra", 2) => 0,
            _ => channel,
        }
    }

    fn is_srgb(&self, component: usize) -> bool {
        self.order == "srgba" && component < 3
    }

    /// Whether the texel stores a component.
    pub(super) fn stores(&self, component: usize) -> bool {
        (0..self.channels.len()).any(|channel| self.component(channel) == component)
    }

    /// The colour of a texel. The components that it lacks are 0, and alpha is 1.
    pub(super) fn decode(&self, texel: &[u8]) -> Colour {
        let mut bytes = [0; 16];
        bytes[..texel.len()].copy_from_slice(texel);
        let all = u128::from_le_bytes(bytes);
        let mut colour = [0.0, 0.0, 0.0, 1.0];
        if self.order == "depth" {
            colour[3] = 0.0;
        }
        for (channel, (low, bits)) in self.channels.iter().enumerate() {
            let component = self.component(channel);
            let word = (all >> low) as u64 & ((1 << bits) - 1);
            let signed = (word << (64 - bits)) as i64 >> (64 - bits);
            let value = match (self.kind, bits) {
                (Kind::Unorm, _) => word as f64 / ((1u64 << bits) - 1) as f64,
                (Kind::Snorm, _) => (signed as f64 / ((1u64 << (bits - 1)) - 1) as f64).max(-1.0),
                (Kind::Uint, _) => word as f64,
                (Kind::Sint, _) => signed as f64,
                (Kind::Float, 16) => half::f16::from_bits(word as u16).to_f64(),
                (Kind::Float, _) => f32::from_bits(word as u32).into(),
            };
            colour[component] = match self.is_srgb(component) {
                true if value <= 0.04045 => value / 12.92,
                true => ((value + 0.055) / 1.055).powf(2.4),
                false => value,
            };
        }
        colour
    }

    /// How far a stored component may be from `value` that was written, and the value it may be far
    /// from: the nearest one that the format has. Normalised numbers may be 0.6 steps away (8.3.1),
    /// halves may be rounded in any way.
    pub(super) fn written(&self, component: usize, value: f64) -> (f64, f64) {
        let bits = self.channels.iter().map(|(_, bits)| *bits);
        let channel = (0..self.channels.len()).find(|n| self.component(*n) == component);
        let bits = bits.clone().nth(channel.unwrap()).unwrap();
        let steps = |n: u32| ((1u64 << n) - 1) as f64;
        match self.kind {
            // A step of sRGB is at most 1.055 * 2.4 / 255 wide.
            Kind::Unorm if self.is_srgb(component) => (value.clamp(0.0, 1.0), 0.6 * 2.6 / 255.0),
            Kind::Unorm => (value.clamp(0.0, 1.0), 0.6 / steps(bits)),
            Kind::Snorm => (value.clamp(-1.0, 1.0), 0.6 / steps(bits - 1)),
            Kind::Uint => (value.clamp(0.0, steps(bits)), 0.0),
            Kind::Sint => (value.clamp(-steps(bits - 1) - 1.0, steps(bits - 1)), 0.0),
            Kind::Float if bits == 16 => (value, value.abs() / 1024.0),
            Kind::Float => (value, 0.0),
        }
    }
}

/// What a coordinate outside the image means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Address {
    ClampToEdge,
    Clamp,
    Repeat,
    MirroredRepeat,
}

/// A sampler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sampler {
    pub(super) address: Address,
    pub(super) linear: bool,
    pub(super) normalised: bool,
}

/// One level of an image.
pub(super) struct Texels {
    /// Dimensions with coordinates; a further one counts slices.
    pub(super) axes: usize,
    pub(super) is_array: bool,
    /// Width, height, depth or slices.
    pub(super) size: [usize; 3],
    pub(super) colours: Vec<Colour>,
    pub(super) border: Colour,
}

/// The texels on an axis with their weights; `None` is the border.
type Along = Vec<(Option<usize>, f64)>;

/// The filter on an axis (8.2).
fn along(sampler: Sampler, coordinate: f64, size: usize) -> Along {
    let n = size as f64;
    let (s, inside) = (coordinate, |i: f64| (i >= 0.0 && i < n).then_some(i as usize));
    let u = match (sampler.address, sampler.normalised) {
        (Address::Repeat, _) => (s - s.floor()) * n,
        (Address::MirroredRepeat, _) => (s - 2.0 * (0.5 * s).round_ties_even()).abs() * n,
        (_, true) => s * n,
        (_, false) => s,
    };
    let place = |i: f64| match sampler.address {
        Address::ClampToEdge => Some(i.clamp(0.0, n - 1.0) as usize),
        Address::Clamp => inside(i),
        Address::Repeat if i < 0.0 => inside(i + n),
        Address::Repeat if i > n - 1.0 => inside(i - n),
        Address::Repeat => inside(i),
        Address::MirroredRepeat => Some(i.clamp(0.0, n - 1.0) as usize),
    };
    if !sampler.linear {
        return vec![(place(u.floor()), 1.0)];
    }
    let corner = (u - 0.5).floor();
    let weight = u - 0.5 - corner;
    vec![(place(corner), 1.0 - weight), (place(corner + 1.0), weight)]
}

impl Texels {
    /// The colour at a coordinate, and the greatest distance between texels of the filter.
    pub(super) fn sample(&self, sampler: Sampler, at: [f64; 3]) -> (Colour, f64) {
        let mut parts: [Along; 3] = std::array::from_fn(|_| vec![(Some(0), 1.0)]);
        for (axis, part) in parts.iter_mut().enumerate().take(self.axes) {
            *part = along(sampler, at[axis], self.size[axis]);
        }
        if self.is_array {
            let slices = self.size[2] as f64;
            let slice = at[self.axes].round_ties_even().clamp(0.0, slices - 1.0);
            parts[2] = vec![(Some(slice as usize), 1.0)];
        }
        let mut sum = [0.0; 4];
        let (mut least, mut most) = ([f64::MAX; 4], [f64::MIN; 4]);
        for (z, wz) in &parts[2] {
            for (y, wy) in &parts[1] {
                for (x, wx) in &parts[0] {
                    let colour = match (x, y, z) {
                        (Some(x), Some(y), Some(z)) => {
                            self.colours[(z * self.size[1] + y) * self.size[0] + x]
                        }
                        _ => self.border,
                    };
                    for n in 0..4 {
                        sum[n] += wx * wy * wz * colour[n];
                        least[n] = least[n].min(colour[n]);
                        most[n] = most[n].max(colour[n]);
                    }
                }
            }
        }
        let range = (0..4).map(|n| most[n] - least[n]).fold(0.0, f64::max);
        (sum, range)
    }
}
