//! XORWOW (Marsaglia: "Xorshift RNGs", Journal of Statistical Software 8, 2003), and jumps ahead in it.

/// Bits of the xorshift part.
const BITS: usize = 160;

/// State: five xorshift words, and the Weyl sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Xorwow {
    pub x: [u32; 5],
    pub d: u32,
}

/// The xorshift part's next state, which is linear over GF(2).
fn step(x: [u32; 5]) -> [u32; 5] {
    let t = x[0] ^ x[0] >> 2;
    [x[1], x[2], x[3], x[4], x[4] ^ x[4] << 4 ^ t ^ t << 1]
}

/// A linear map of xorshift states: the image of each bit.
#[derive(Clone)]
struct Map(Vec<[u32; 5]>);

impl Map {
    /// The map of one step.
    fn step() -> Self {
        let unit = |bit: usize| {
            let mut x = [0; 5];
            x[bit / 32] = 1 << (bit % 32);
            x
        };
        Map((0..BITS).map(|bit| step(unit(bit))).collect())
    }

    fn apply(&self, x: [u32; 5]) -> [u32; 5] {
        let mut out = [0; 5];
        for (_, image) in self.0.iter().enumerate().filter(|(bit, _)| x[bit / 32] >> (bit % 32) & 1 != 0) {
            (0..5).for_each(|n| out[n] ^= image[n]);
        }
        out
    }

    /// The map of twice as many steps.
    fn twice(&self) -> Self {
        Map(self.0.iter().map(|image| self.apply(*image)).collect())
    }
}

/// Jumps by multiples of 2^67 steps: the k-th map is that of 2^(67 + k) steps.
pub(crate) struct Subsequences(Vec<Map>);

impl Subsequences {
    /// Jumps by up to 2^`bits` subsequences.
    pub(crate) fn new(bits: usize) -> Self {
        let first = (0..67).fold(Map::step(), |map, _| map.twice());
        let mut maps = vec![first];
        while maps.len() < bits {
            maps.push(maps[maps.len() - 1].twice());
        }
        Subsequences(maps)
    }
}

impl Xorwow {
    /// Marsaglia's state, scrambled with a seed as rocRAND does.
    pub(crate) fn seeded(seed: u64) -> Self {
        let low = (seed as u32 ^ 0x2c7f_967f).wrapping_mul(1_228_688_033);
        let high = ((seed >> 32) as u32 ^ 0xa036_97cb).wrapping_mul(2_073_658_381);
        Xorwow {
            x: [
                123_456_789u32.wrapping_add(low),
                362_436_069 ^ low,
                521_288_629u32.wrapping_add(high),
                88_675_123 ^ high,
                5_783_321u32.wrapping_add(low),
            ],
            d: 6_615_241u32.wrapping_add(low).wrapping_add(high),
        }
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.x = step(self.x);
        self.d = self.d.wrapping_add(362_437);
        self.x[4].wrapping_add(self.d)
    }

    /// The state `number` subsequences of 2^67 numbers later. The Weyl sequence is unchanged.
    pub(crate) fn subsequence(mut self, number: usize, jumps: &Subsequences) -> Self {
        for (_, map) in jumps.0.iter().enumerate().filter(|(bit, _)| number >> bit & 1 != 0) {
            self.x = map.apply(self.x);
        }
        self
    }
}
