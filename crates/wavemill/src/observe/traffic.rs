//! Counts memory traffic of a launch: accesses, how well lanes coalesce, and conflicts in LDS.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use wavemill_isa::Target;
use wavemill_machine::{Access, Interests, MemoryAccess, MemoryKind, Observer, Reporter, Watcher};

use super::banks::Banks;

/// Granularity in bytes for counting lines: a cache line of these targets is 64 or 128 bytes.
pub const LINE: u64 = 64;

/// Accesses of one kind.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::Launch;
/// # let (kernel, args) = given::vector_add(256)?;
/// # let stats = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args).traffic(true).run()?;
/// use wavemill::observe::Access;
///
/// // `stats` of a launch with Launch::traffic: 256 work-items store a float each.
/// let traffic = stats.traffic.ok_or("the launch requests it")?;
/// let stores = traffic.accesses.iter().find(|count| count.access == Access::Store).ok_or("no store")?;
/// assert_eq!((stores.accesses, stores.bytes), (4, 1024));
/// // Lanes are next to each other: 64 floats are 4 lines of 64 bytes.
/// assert_eq!(stores.lines_per_access(), 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessCount {
    /// The memory path that the instructions use.
    pub kind: MemoryKind,
    /// What they do.
    pub access: Access,
    /// Wave accesses in which at least one lane accessed something. An instruction may make
    /// several.
    pub accesses: u64,
    /// Lanes that accessed something, summed over all accesses.
    pub lanes: u64,
    /// Bytes that they accessed.
    pub bytes: u64,
    /// Different pieces of [`LINE`] bytes that each access touched, summed over all accesses; 0 for
    /// LDS.
    pub lines: u64,
}

impl AccessCount {
    /// Mean lines of an access; 0 in LDS.
    #[must_use]
    pub fn lines_per_access(&self) -> f64 {
        self.lines as f64 / self.accesses.max(1) as f64
    }

    /// Mean lanes of an access.
    #[must_use]
    pub fn mean_lanes(&self) -> f64 {
        self.lanes as f64 / self.accesses.max(1) as f64
    }
}

/// Accesses to LDS, including flat instructions, by the model of banks.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
///
/// # let device = given::device()?;
/// # let code = "v_lshlrev_b32 v1, 7, v0\nds_write_b32 v1, v0\ns_endpgm";
/// # let kernel = given::kernel(&device, code)?;
/// // Lane n writes to byte 128 * n of LDS: all lanes to the same of 32 banks.
/// let launch = Launch::new(&kernel).workgroup_size([64, 1, 1]).dynamic_lds(64 * 128);
/// let lds = launch.traffic(true).run()?.traffic.ok_or("the launch requests it")?.lds;
/// assert_eq!((lds.banks, lds.accesses, lds.conflicting), (32, 1, 1));
/// println!("{} extra cycles", lds.extra_per_access());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LdsCount {
    /// Number of banks in LDS, one dword wide each.
    pub banks: u32,
    /// Accesses of waves.
    pub accesses: u64,
    /// Accesses in which lanes conflicted in a bank.
    pub conflicting: u64,
    /// Cycles of all accesses.
    pub cycles: u64,
    /// Cycles caused by conflicts.
    pub extra_cycles: u64,
}

impl LdsCount {
    /// Mean extra cycles of an access.
    #[must_use]
    pub fn extra_per_access(&self) -> f64 {
        self.extra_cycles as f64 / self.accesses.max(1) as f64
    }
}

/// Memory traffic of a launch.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
///
/// # let (kernel, args) = given::vector_add(256)?;
/// let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// let traffic = launch.traffic(true).run()?.traffic.ok_or("the launch requests it")?;
/// for count in &traffic.accesses {
///     println!("{:?} {:?}: {} bytes by {} accesses", count.kind, count.access, count.bytes, count.accesses);
/// }
/// assert_eq!(traffic.lds.accesses, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Counts by kind and access; combinations that did not occur are omitted.
    pub accesses: Vec<AccessCount>,
    /// Conflicts in LDS.
    pub lds: LdsCount,
}

/// Order of accesses in [`Traffic::accesses`].
const ORDER: [Access; 3] = [Access::Load, Access::Store, Access::Atomic];

#[derive(Clone, Debug, Default)]
struct Counts {
    accesses: BTreeMap<(MemoryKind, usize), [u64; 4]>,
    lds: LdsCount,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        for (key, counts) in &other.accesses {
            let sums = self.accesses.entry(*key).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        }
        self.lds.accesses += other.lds.accesses;
        self.lds.conflicting += other.lds.conflicting;
        self.lds.cycles += other.lds.cycles;
        self.lds.extra_cycles += other.lds.extra_cycles;
    }
}

/// Counts the accesses of all waves.
#[derive(Debug)]
pub(crate) struct TrafficCounter {
    target: Target,
    all: Mutex<Counts>,
}

impl TrafficCounter {
    pub(crate) fn new(target: Target) -> Self {
        TrafficCounter { target, all: Mutex::default() }
    }

    pub(crate) fn finish(self) -> Traffic {
        let counts = self.all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let one = |((kind, access), [accesses, lanes, bytes, lines]): ((MemoryKind, usize), [u64; 4])| {
            AccessCount { kind, access: ORDER[access], accesses, lanes, bytes, lines }
        };
        let accesses = counts.accesses.into_iter().map(one).collect();
        Traffic { accesses, lds: LdsCount { banks: self.target.lds_banks(), ..counts.lds } }
    }
}

impl Observer for TrafficCounter {
    fn interests(&self) -> Interests {
        Interests { memory: true, ..Interests::default() }
    }

    fn watcher(&self, _: Reporter) -> Box<dyn Watcher + '_> {
        let banks = Banks::new(self.target);
        Box::new(ThreadCounter { all: self, own: Counts::default(), lines: Vec::new(), banks })
    }
}

/// Counts of one host thread, which are added to the others when it ends.
struct ThreadCounter<'a> {
    all: &'a TrafficCounter,
    own: Counts,
    lines: Vec<u64>,
    banks: Banks,
}

impl ThreadCounter<'_> {
    /// How many lines an access touches.
    fn lines(&mut self, access: &MemoryAccess<'_>) -> u64 {
        self.lines.clear();
        let mut ascending = true;
        for piece in access.pieces {
            let Some(address) = piece.location.address() else { continue };
            let last = address.wrapping_add(u64::from(piece.size) - 1) / LINE;
            for line in address / LINE..=last {
                match self.lines.last() {
                    Some(known) if *known == line => {}
                    known => {
                        ascending &= known.is_none_or(|known| *known < line);
                        self.lines.push(line);
                    }
                }
            }
        }
        if !ascending {
            self.lines.sort_unstable();
            self.lines.dedup();
        }
        self.lines.len() as u64
    }
}

impl Watcher for ThreadCounter<'_> {
    fn memory(&mut self, access: &MemoryAccess<'_>) {
        if access.pieces.is_empty() {
            return;
        }
        let bytes: u64 = access.pieces.iter().map(|piece| u64::from(piece.size)).sum();
        // The pieces of a lane follow one another.
        let lanes = access.pieces.chunk_by(|a, b| a.lane == b.lane).count() as u64;
        let lines = self.lines(access);
        let what = ORDER.iter().position(|one| *one == access.access).unwrap_or(0);
        let sums = self.own.accesses.entry((access.kind, what)).or_default();
        sums.iter_mut().zip([1, lanes, bytes, lines]).for_each(|(sum, n)| *sum += n);
        if matches!(access.kind, MemoryKind::Lds | MemoryKind::Flat)
            && let Some((cycles, least)) = self.banks.cycles(access)
        {
            let lds = &mut self.own.lds;
            lds.accesses += 1;
            lds.conflicting += u64::from(cycles > least);
            lds.cycles += cycles;
            lds.extra_cycles += cycles - least;
        }
    }
}

impl Drop for ThreadCounter<'_> {
    fn drop(&mut self) {
        self.all.all.lock().unwrap_or_else(PoisonError::into_inner).add(&self.own);
    }
}
