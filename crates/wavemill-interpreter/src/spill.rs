//! Accesses to private memory through buffer resources, as compilers make them for some targets.
//!
//! If the resource is that of the launch, they move as those of scratch instructions do. Otherwise
//! the code for all kinds of buffers runs.

use wavemill_ir::{BufferAddr, MemType};

use super::Tier;
use super::body::{Body, handler, rare_handler};
use super::buffer;
use super::hostop::{Ctx, Handler, HostOp};
use super::mem::{is_rare, ty, with_type};
use super::scratch;
use super::simd::Simd;

/// Whether accesses with an address of this form have the handlers of this module.
pub(super) fn fits(addr: BufferAddr) -> bool {
    !addr.plain && !addr.idxen
}

struct Load<const TYPE: u8, const OFFEN: bool>;

impl<const TYPE: u8, const OFFEN: bool> Body for Load<TYPE, OFFEN> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            match buffer::private_area::<OFFEN>(ctx, op) {
                Some(area) if scratch::load::<S, TYPE>(ctx, op, area) => HostOp::next(op),
                _ => buffer::load::<TYPE, OFFEN, false>(ctx, op),
            }
        }
    }
}

struct Store<const TYPE: u8, const OFFEN: bool>;

impl<const TYPE: u8, const OFFEN: bool> Body for Store<TYPE, OFFEN> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: as above.
        unsafe {
            match buffer::private_area::<OFFEN>(ctx, op) {
                Some(area) if scratch::store::<S, TYPE, 3>(ctx, op, area) => {
                    (*ctx).unordered_store = true;
                    HostOp::next(op)
                }
                _ => buffer::store::<TYPE, OFFEN, false>(ctx, op),
            }
        }
    }
}

fn load<const TYPE: u8, const OFFEN: bool>(tier: Tier) -> Handler {
    if const { is_rare(TYPE) } {
        rare_handler::<Load<TYPE, OFFEN>>()
    } else {
        handler::<Load<TYPE, OFFEN>>(tier)
    }
}

fn store<const TYPE: u8, const OFFEN: bool>(tier: Tier) -> Handler {
    if const { is_rare(TYPE) } {
        rare_handler::<Store<TYPE, OFFEN>>()
    } else {
        handler::<Store<TYPE, OFFEN>>(tier)
    }
}

/// The handler of a load.
pub(super) fn load_handler(t: MemType, offen: bool, tier: Tier) -> Handler {
    if offen { with_type!(t, load, true)(tier) } else { with_type!(t, load, false)(tier) }
}

/// The handler of a store.
pub(super) fn store_handler(t: MemType, offen: bool, tier: Tier) -> Handler {
    if offen { with_type!(t, store, true)(tier) } else { with_type!(t, store, false)(tier) }
}
