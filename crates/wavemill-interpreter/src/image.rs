//! Accesses to images. The machine computes texels and filters; here are the registers.

use wavemill_ir::{ImageKind, ImageOp, Inst, LANES, LaneMask, Op, Operand};
use wavemill_machine::Access;
use wavemill_machine::image::{ImageAccess, ImageCache, ImageFault, ImageRow, MAX_RESULT};
use wavemill_machine::registers::ROW_BYTES;

use super::atomic::{Data, Location, Locations, Perform, performer};
use super::body::lane_mask;
use super::control::leave;
use super::hostop::{CONST, Ctx, Exit, FLAGS, Handler, HostOp};
use super::mem::for_lanes;

/// The data of an access besides its operands.
#[derive(Debug)]
pub(super) struct Site {
    op: ImageOp,
    /// The operation of an atomic.
    perform: Option<Perform>,
    /// The descriptors of the last execution.
    cache: ImageCache,
}

impl Site {
    fn new(op: &ImageOp, perform: Option<Perform>) -> Site {
        Site { op: *op, perform, cache: ImageCache::default() }
    }

    /// The data of the check before an access.
    pub(super) fn of_check(op: &ImageOp) -> Site {
        Site::new(op, None)
    }
}

/// The site and the handler of an access; `None` if it is not supported.
pub(super) fn compiled(inst: &Inst, op: &ImageOp) -> Option<(Site, Handler)> {
    let is_row = |operand: Operand| matches!(operand, Operand::Row(_));
    let data = op.source_cells() == 0 || is_row(inst.src[3]);
    if !op.is_defined() || !is_row(inst.src[0]) || !data || inst.mask != LaneMask::Active {
        return None;
    }
    let (perform, run): (_, Handler) = match op.kind {
        ImageKind::Store { .. } => (None, store),
        ImageKind::Atomic(atomic, width) => (Some(performer(atomic, width)), self::atomic),
        _ => (None, read),
    };
    Some((Site::new(op, perform), run))
}

/// Rows of a source.
unsafe fn rows<'a>(ctx: *mut Ctx, op: *mut HostOp, source: usize, cells: u16) -> &'a [ImageRow] {
    // SAFETY: the contract of handlers: the rows are inside the register file and next to each
    // other; the slice is not held across writes to them.
    unsafe {
        let first = (*ctx).base.add((*op).src[source] as usize).cast::<ImageRow>();
        std::slice::from_raw_parts(first, cells.into())
    }
}

/// Cells of a descriptor; zeros if there is none.
unsafe fn words<const N: usize>(ctx: *mut Ctx, op: *mut HostOp, source: usize) -> [u32; N] {
    // SAFETY: the contract of handlers: the cells are inside the register file.
    unsafe {
        let offset = (*op).src[source];
        if offset & CONST != 0 {
            let constant = (*op).k[source];
            return std::array::from_fn(|n| if n < 2 { (constant >> (32 * n)) as u32 } else { 0 });
        }
        let cells = (*ctx).base.add((offset & !FLAGS) as usize).cast::<u32>();
        std::array::from_fn(|n| cells.add(n).read())
    }
}

/// Calls `f` with the access that an operation describes with its operands.
unsafe fn with_access<R>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    image: &ImageOp,
    cache: &ImageCache,
    f: impl FnOnce(&ImageAccess<'_>) -> R,
) -> R {
    // SAFETY: the contract of handlers; the map outlives the run.
    unsafe {
        f(&ImageAccess {
            op: image,
            map: &*(*ctx).map,
            resource: words::<8>(ctx, op, 1),
            sampler: if image.has_sampler() { words::<4>(ctx, op, 2) } else { [0; 4] },
            address: rows(ctx, op, 0, image.address_cells()),
            active: lane_mask(ctx, op),
            cache,
        })
    }
}

/// Leaves with a fault.
#[cold]
unsafe fn fault(ctx: *mut Ctx, op: *mut HostOp, fault: ImageFault) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let pc = (*op).pc;
        match fault {
            ImageFault::Descriptor(problem) => leave(ctx, Exit::Descriptor { pc, problem }),
            ImageFault::Memory { access, space, size, lanes } => {
                (*ctx).refused = lanes.iter().map(|lane| (lane.lane, lane.address)).collect();
                leave(ctx, Exit::Memory { pc, access, space, size })
            }
        }
    }
}

/// Loads, samples, gathers and queries.
unsafe fn read(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; the site lives as long as the code that points to it. The
    // result is written after all sources are read.
    unsafe {
        let Site { op: image, cache, .. } = &*(*op).own.image;
        let mut result = [[0; LANES]; MAX_RESULT];
        match with_access(ctx, op, image, cache, |access| access.read(&mut result)) {
            Ok(outside) => (*ctx).out_of_range.image += outside,
            Err(refused) => return fault(ctx, op, refused),
        }
        let mask = lane_mask(ctx, op);
        for (n, values) in result.iter().take(image.result_cells().into()).enumerate() {
            let row = (*ctx).base.add((*op).dst as usize + n * ROW_BYTES as usize).cast::<u32>();
            match mask {
                u64::MAX => row.copy_from_nonoverlapping(values.as_ptr(), LANES),
                _ => for_lanes(mask, |lane| row.add(lane).write(values[lane])),
            }
        }
        HostOp::next(op)
    }
}

unsafe fn store(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let Site { op: image, cache, .. } = &*(*op).own.image;
        (*ctx).unordered_store = true;
        let data = rows(ctx, op, 3, image.source_cells());
        match with_access(ctx, op, image, cache, |access| access.store(data)) {
            Ok(outside) => {
                (*ctx).out_of_range.image += outside;
                HostOp::next(op)
            }
            Err(refused) => fault(ctx, op, refused),
        }
    }
}

/// The check of a strict run before an access.
unsafe fn check(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let Site { op: image, cache, .. } = &*(*op).own.image;
        match with_access(ctx, op, image, cache, |access| access.check()) {
            Ok(()) => HostOp::next(op),
            Err(refused) => fault(ctx, op, refused),
        }
    }
}

/// The handler of the check; it needs the site of the access.
pub(super) fn check_handler() -> Handler {
    check
}

unsafe fn atomic(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above; the machine has checked the addresses for atomics.
    unsafe {
        let Site { op: image, perform, cache } = &*(*op).own.image;
        let found = with_access(ctx, op, image, cache, |access| access.atomic_addresses());
        let addresses = match found {
            Ok(addresses) => addresses,
            Err(refused) => return fault(ctx, op, refused),
        };
        (*ctx).unordered_store = true;
        let ImageKind::Atomic(_, width) = image.kind else { return HostOp::next(op) };
        let size = 4 * u64::from(width.dwords());
        let mut locations = [Location::Nowhere; LANES];
        for (location, address) in locations.iter_mut().zip(addresses) {
            if let Some(host) = address.and_then(|address| (*(*ctx).map).resolve(address, size)) {
                *location = Location::Shared(host);
            }
        }
        let mask = lane_mask(ctx, op);
        let inside = |lane: usize| addresses[lane].is_some();
        for_lanes(mask, |lane| (*ctx).out_of_range.image += u64::from(!inside(lane)));
        if let Some(perform) = perform {
            let data = Data { source: 3, follows: width.dwords().into() };
            perform(ctx, op, data, Locations::Each(&locations), mask);
        }
        HostOp::next(op)
    }
}

/// Calls `f` for each texel that an operation accesses; returns the bytes of a texel.
pub(super) unsafe fn for_texels(
    ctx: *mut Ctx,
    op: *mut HostOp,
    image: &ImageOp,
    f: impl FnMut(usize, u64, u32),
) -> u32 {
    // SAFETY: the contract of handlers.
    unsafe {
        with_access(ctx, op, image, &ImageCache::default(), |access| {
            access.for_texels(f);
            access.texel_bytes()
        })
    }
}

/// Kind of memory access of an operation; `None` if it accesses no memory.
pub(super) fn access_kind(op: Op) -> Option<Access> {
    match op {
        Op::Image(image) => ImageAccess::kind(&image),
        _ => None,
    }
}
