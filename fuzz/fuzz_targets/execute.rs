//! Any bytes run as code until they end, fault, or have used up their instructions: nothing that a kernel does hurts
//! the host.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use wavemill_engine::{BlockSource, Grid, GuestMemory, RegisterCounts, Registers, RunOptions, Tier, WaveInit, run};
use wavemill_ir::{Block, Row, Uni, verify};
use wavemill_isa::Target;
use wavemill_lift::gcn::{Context, lift_block};

const CODE: u64 = 0x4000;

struct Source<'a> {
    target: Target,
    code: &'a [u8],
}

impl BlockSource for Source<'_> {
    fn block(&self, pc: u64, mode: u32) -> Arc<Block> {
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            let start = at.wrapping_sub(CODE);
            let rest = usize::try_from(start).ok().and_then(|s| self.code.get(s..)).unwrap_or_default();
            let n = rest.len().min(16);
            into[..n].copy_from_slice(&rest[..n]);
            n
        };
        let context = Context { target: self.target, mode, sramecc: self.target != Target::Gfx906 };
        let block = lift_block(&context, pc, &mut fetch);
        verify(&block).expect("lifted blocks are well formed");
        Arc::new(block)
    }
}

struct Init {
    buffer: u64,
    scratch: u64,
}

impl WaveInit for Init {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        100
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
        for n in (0..16).step_by(2) {
            regs.set_uni64(Uni(n), self.buffer);
        }
        regs.set_uni64(Uni::FLAT_SCRATCH, self.scratch);
        regs.set_row(Row::vgpr(0), &std::array::from_fn(|lane| lane as u32));
        regs.set_row(Row::vgpr(1), &std::array::from_fn(|lane| 4 * lane as u32));
        regs.set_row(Row::vgpr(2), &[self.buffer as u32; 64]);
        regs.set_row(Row::vgpr(3), &[(self.buffer >> 32) as u32; 64]);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, code)) = data.split_first() else { return };
    let target = Target::ALL[usize::from(*choice) % Target::ALL.len()];
    let memory = GuestMemory::default();
    let buffer = memory.allocate("buffer", 4096, 256).expect("a page");
    let scratch = memory.allocate("scratch", 1 << 16, 256).expect("some pages");
    let map = memory.snapshot();
    let grid = Grid {
        map: &map,
        source: &Source { target, code },
        init: &Init { buffer, scratch },
        workgroups: [2, 1, 1],
        waves_per_group: 2,
        registers: RegisterCounts { vgprs: 32, accs: if target.has_accvgprs() { 8 } else { 0 } },
        lds_size: 1024,
        scratch_size: 64,
        entry: CODE,
        mode: 0x3f0,
        resident: 2,
    };
    let options = RunOptions {
        threads: std::num::NonZeroUsize::new(1),
        max_instructions: Some(2000),
        tier: Some(Tier::ALL[usize::from(*choice / 8) % 3]),
        ..RunOptions::default()
    };
    let _ = run(&grid, &options);
});
