//! The parts of a device: its chip, its memory and the code in it.
//!
//! Device, buffers, modules, arguments, services, reports and the ABI belong together: an ABI lays out memory of the device
//! for a launch, and the device says which ABI its kernels have.

use std::sync::Mutex;

use wavemill_isa::Target;
use wavemill_machine::GuestMemory;
use wavemill_object::TargetId;

use crate::abi::Abi;
use crate::code::Code;
use crate::heap::Heap;
use crate::product::Product;

#[derive(Debug)]
pub(crate) struct DeviceInner {
    pub target: Target,
    /// The convention that launches its kernels.
    pub abi: &'static dyn Abi,
    pub id: TargetId,
    pub product: &'static Product,
    pub memory: GuestMemory,
    pub code: Code,
    /// The word that fills new buffers; zeros if `None`.
    pub poison: Option<u32>,
    /// The memory that `malloc` in kernels allocates from, once a launch has needed it.
    pub heap: Mutex<Option<Heap>>,
    /// Bytes of the heap, if the user set them.
    pub heap_size: Option<u64>,
}
