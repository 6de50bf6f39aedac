//! Accesses to aligned dwords at the edge of an allocation: exchanges of values of 8 or 16 bits
//! ([`Edge`], [`Head`]). All other accesses there are refused, and come here first.

use std::cell::RefCell;
use std::collections::HashMap;

use wavemill_machine::engine::Head;
use wavemill_machine::{Access, BlockSource, CHECKS_ACCESSES, Edge};

use super::atomic::{Data, datum};
use super::hostop::{Ctx, HostOp};

/// The loads that a thread has refused at first, and what the code behind them says.
pub(super) struct Heads<'a> {
    source: &'a dyn BlockSource,
    /// By address and context.
    known: RefCell<HashMap<(u64, u32), Option<Head>>>,
}

impl<'a> Heads<'a> {
    pub(super) fn new(source: &'a dyn BlockSource) -> Heads<'a> {
        Heads { source, known: RefCell::default() }
    }

    /// Forgets what it knows of code.
    pub(super) fn forget(&self) {
        self.known.borrow_mut().clear();
    }

    fn find(&self, pc: u64, context: u32) -> Option<Head> {
        let key = (pc, context & self.source.context_key());
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let head = Head::find(self.source, key.0, key.1);
        self.known.borrow_mut().insert(key, head);
        head
    }
}

/// The dword at an address for a load that begins an exchange.
#[cold]
#[inline(never)]
pub(super) unsafe fn loaded(ctx: *mut Ctx, op: *mut HostOp, address: u64) -> Option<u32> {
    if !CHECKS_ACCESSES {
        return None;
    }
    // SAFETY: the contract of handlers: the map and the heads outlive the run, and rows are inside the register file.
    unsafe {
        let edge = (*(*ctx).map).edge(address, Access::Load)?;
        let head = (*(*ctx).heads).find((*op).pc, (*ctx).context)?;
        head.applies(&*(*ctx).registers).then(|| edge.load())
    }
}

/// The dword at an address for an atomic of a lane on 32 bits that changes nothing beyond the edge.
#[cold]
#[inline(never)]
pub(super) unsafe fn exchanged(
    ctx: *mut Ctx,
    op: *mut HostOp,
    data: Data,
    lane: usize,
    address: u64,
) -> Option<Edge> {
    if !CHECKS_ACCESSES {
        return None;
    }
    // SAFETY: the contract of handlers: the map outlives the run.
    unsafe {
        let edge = (*(*ctx).map).edge(address, Access::Atomic)?;
        let atomic = (*op).own.atomic.op;
        let value = datum::<false>(ctx, op, data.source, 0, lane) as u32;
        let second = match atomic.has_second_datum() {
            true => datum::<false>(ctx, op, 3, data.follows, lane) as u32,
            false => 0,
        };
        edge.allows(atomic, value, second).then_some(edge)
    }
}
