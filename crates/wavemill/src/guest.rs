//! What a device is made of: its chip, its memory and the code in it.
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
    /// How its kernels are launched.
    pub abi: &'static dyn Abi,
    pub id: TargetId,
    pub product: &'static Product,
    pub memory: GuestMemory,
    pub code: Code,
    /// What fresh buffers hold; zeros if nothing.
    pub poison: Option<u32>,
    /// What `malloc` in kernels takes memory from, once a launch needed it.
    pub heap: Mutex<Option<Heap>>,
    /// Bytes that it has to have, if somebody said so.
    pub heap_size: Option<u64>,
}
