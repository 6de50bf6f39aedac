// What the examples in the documentation of this crate start from. An example that needs it includes it in a hidden
// line, as a module of its own.

use std::error::Error;

use wavemill::device::TargetChoice;
use wavemill::fault::FaultReport;
use wavemill::module::{CodeLocation, RawCode};
use wavemill::{Arg, Device, Kernel, Launch, Module};
use wavemill_isa::Target;
use wavemill_kernels as kernels;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The code object of `kernels/vector_add.cl` for gfx942.
pub fn vector_add_object() -> Result<&'static [u8]> {
    Ok(kernels::fixture(kernels::Target::Gfx942, "vector_add").ok_or("there is no vector_add")?)
}

/// Its kernel, and arguments for 256 work-items: `c` becomes `a + b`, in which all elements are 1
/// and 2. `c` has room for this many elements.
pub fn vector_add(elements: u64) -> Result<(Kernel, [Arg; 4])> {
    let object = vector_add_object()?;
    let device = Device::for_object(object)?;
    let a = device.buffer_from("a", &[1.0f32; 256])?;
    let b = device.buffer_from("b", &[2.0f32; 256])?;
    let c = device.buffer("c", 4 * elements)?;
    let kernel = Module::load(&device, object)?.kernel("vector_add")?;
    Ok((kernel, [Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(256u32)]))
}

/// A device of gfx942.
pub fn device() -> Result<Device> {
    Ok(Device::builder(TargetChoice::parse("gfx942").ok_or("there is no gfx942")?).build()?)
}

/// Machine code of gfx942, from one instruction or `.long` a line.
pub fn machine_code(text: &str) -> Result<Vec<u8>> {
    let mut code = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(word) = line.strip_prefix(".long 0x") {
            code.extend(u32::from_str_radix(word, 16)?.to_le_bytes());
        } else {
            let (bytes, size) = wavemill_asm::gcn::parse(Target::Gfx942, line)?.encode();
            code.extend(&bytes[..size]);
        }
    }
    Ok(code)
}

/// A kernel of such code, with two user SGPRs.
pub fn kernel(device: &Device, text: &str) -> Result<Kernel> {
    let code = machine_code(text)?;
    let raw = RawCode { rsrc2: 2 << 1, ..RawCode::new("kernel", CodeLocation::Bytes(&code)) };
    Ok(Module::from_code(device, &raw)?.kernel("kernel")?)
}

/// The code object of an assembly source for gfx942.
pub fn assembled(source: &str) -> Result<Vec<u8>> {
    let target = "amdgcn-amd-amdhsa--gfx942".parse().map_err(|_| "there is no gfx942")?;
    let options = wavemill_asm::Options { target: Some(target), ..Default::default() };
    let module = wavemill_asm::assemble(source, &options).map_err(|reports| format!("{reports:?}"))?;
    Ok(wavemill_object::write::link(&module)?)
}

/// A file of `kernels/bin/gfx942`.
pub fn built(name: &str) -> Result<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/bin/gfx942");
    Ok(std::fs::read(format!("{folder}/{name}"))?)
}

/// The report of a launch that ends with a fault.
pub fn fault(launch: Launch<'_>) -> Result<Box<FaultReport>> {
    match launch.run() {
        Err(wavemill::Error::Fault(report)) => Ok(report),
        other => Err(format!("expected a fault, found {other:?}").into()),
    }
}
