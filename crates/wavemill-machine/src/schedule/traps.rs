//! Waves that handle their own faults.

use super::Traps;
use crate::engine::{Wave, WaveExit};
use crate::fault::FaultCause;

/// The exit of a wave after its program has had the chance to handle it. `stepped` says that it ran
/// one instruction because its context requests that.
pub(super) fn handled(traps: &dyn Traps, wave: &mut Wave, exit: WaveExit, stepped: bool) -> WaveExit {
    let exit = match exit {
        WaveExit::End => return WaveExit::End,
        WaveExit::Fault(fault) => match traps.takes(wave, fault.pc, &fault.cause) {
            true => {
                wave.from = None;
                WaveExit::Preempted
            }
            false => return WaveExit::Fault(fault),
        },
        // A wave at a barrier enters its handler after the barrier.
        exit if stepped => {
            traps.stepped(wave);
            wave.from = None;
            exit
        }
        exit => exit,
    };
    match traps.stops(wave) {
        Some(kind) => WaveExit::fault(wave.pc, FaultCause::Instruction(kind)),
        None => exit,
    }
}
