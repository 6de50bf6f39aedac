//! The global data share of a launch: a buffer that is copied to it, and back.

use wavemill::Device;

use super::buffers::Buffers;
use super::element::ElementText as _;
use super::ended::failure_of;
use super::image::Memory;
use super::plan::Planned;
use super::spec::ArgSpec;
use crate::failure::Failure;
use crate::text::Plural;

/// The index of the buffer with the contents of the global data share: a new one, or an existing
/// one.
///
/// # Errors
/// The target has no global data share, or the argument is no buffer that fits into it.
pub(super) fn plan(argument: &ArgSpec, device: &Device, buffers: &mut Buffers<'_>) -> Result<usize, Failure> {
    let wrong = |what: String| Failure::usage(format!("gds `{}`: {what}", argument.shown()));
    if !device.has_gds() {
        let target = device.target().processor.name();
        return Err(wrong(format!(
            "{target} has no global data share; cayman, gfx900, gfx906 and gfx908 have one"
        )));
    }
    let Planned::Buffer(index) = buffers.plan_alone(argument)? else {
        return Err(wrong("expected a buffer, found a value".to_owned())
            .help("Write a number of elements, such as counts:u32[64]."));
    };
    let buffer = &buffers.list[index];
    if buffer.image.is_some() {
        return Err(wrong("expected a buffer, found an image".to_owned()));
    }
    match buffer.shape.size() {
        Some(size) if size <= u64::from(Device::GDS_BYTES) => Ok(index),
        _ => Err(wrong(format!(
            "the global data share has {}, and {} do not fit",
            Plural(Device::GDS_BYTES.into(), "byte"),
            buffer.shape.element.count(buffer.shape.count())
        ))),
    }
}

/// Copies a buffer to the beginning of the global data share.
pub(super) fn load(device: &Device, buffer: &Memory) -> Result<(), Failure> {
    let mut bytes = vec![0; buffer.size() as usize];
    let done = buffer.read_bytes(0, &mut bytes).and_then(|()| device.write_gds(0, &bytes));
    done.map_err(|error| failure_of(&error))
}

/// Copies the beginning of the global data share to a buffer.
pub(super) fn store(device: &Device, buffer: &Memory) -> Result<(), Failure> {
    let mut bytes = vec![0; buffer.size() as usize];
    let done = device.read_gds(0, &mut bytes).and_then(|()| buffer.write_bytes(0, &bytes));
    done.map_err(|error| failure_of(&error))
}
