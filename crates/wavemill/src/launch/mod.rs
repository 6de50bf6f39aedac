//! Launches: their options ([`Launch`]), how they run, and how they end ([`Outcome`]).

mod builder;
mod engine;
mod exports;
mod host_memory;
mod outcome;
mod plan;
mod prepare;
mod run;
pub(crate) mod stats;

pub use builder::Launch;
pub use engine::Engine;
pub use host_memory::HostMemory;
pub use outcome::Outcome;
pub use plan::LdsSize;

pub use crate::abi::MisreadOffset;
pub use crate::argument::Arg;
pub use crate::services::{Output, PRINTF_BUFFER_SIZES};
pub use crate::traps::{Exceptions, TrapHandler, UnknownException};
/// The vector hardware for a launch ([`Engine::Interpreter`]).
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
/// use wavemill::launch::{Engine, Tier};
///
/// # let (kernel, args) = given::vector_add(256)?;
/// // All tiers of this host give the same bits, at different speeds.
/// for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
///     let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args.clone());
///     let stats = launch.engine(Engine::Interpreter(Some(tier))).run()?;
///     assert_eq!(stats.engine.tier(), Some(tier));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use wavemill_interpreter::Tier;
/// What a launch accessed out of range, without a fault.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
///
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "v_mov_b32 v1, 64\nds_read_b32 v2, v1\ns_endpgm")?;
/// // The kernel reads byte 64 of LDS, and has no LDS: the chip reads 0.
/// let stats = Launch::new(&kernel).run()?;
/// assert_eq!(stats.run.out_of_range.lds, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use wavemill_machine::OutOfRange;
/// Stops a launch, and reads its progress.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use wavemill::launch::RunControl;
/// use wavemill::{Launch, Outcome, RunOptions};
///
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "s_branch -1")?;
/// let control = Arc::new(RunControl::default());
/// let options = RunOptions { control: Some(control.clone()), ..RunOptions::default() };
/// // Another thread, such as one that reads input of the user.
/// std::thread::spawn(move || {
///     std::thread::sleep(Duration::from_millis(20));
///     println!("{} workgroups are done", control.workgroups_done());
///     control.stop();
/// });
/// // The kernel branches to itself.
/// let outcome = Launch::new(&kernel).options(options).outcome()?;
/// assert!(matches!(outcome, Outcome::Stopped(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use wavemill_machine::RunControl;
/// How a launch runs ([`Launch::options`]).
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use std::num::NonZeroUsize;
///
/// use wavemill::{Launch, RunOptions};
///
/// # let (kernel, args) = given::vector_add(256)?;
/// let options = RunOptions {
///     threads: NonZeroUsize::new(1),
///     // Reads of registers, LDS and private memory before a write show.
///     poison: Some(0xdead_beef),
///     count_blocks: true,
///     ..RunOptions::default()
/// };
/// let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args).options(options);
/// let stats = launch.run()?;
/// assert_eq!(stats.run.threads, 1);
/// assert!(!stats.run.block_counts.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use wavemill_machine::RunOptions;
/// Further faults ([`RunOptions::strict`]).
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::launch::Strict;
/// use wavemill::{Launch, Outcome, RunOptions};
///
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "v_mov_b32 v1, 64\nds_read_b32 v2, v1\ns_endpgm")?;
/// // The kernel reads byte 64 of LDS, and has no LDS.
/// let strict = Strict { lds: true, ..Strict::default() };
/// let options = RunOptions { strict, ..RunOptions::default() };
/// let outcome = Launch::new(&kernel).options(options).outcome()?;
/// assert!(matches!(outcome, Outcome::Fault(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use wavemill_machine::Strict;
pub use wavemill_machine::{CHECKS_ACCESSES, MAX_THREADS};
