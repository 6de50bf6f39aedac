//! Descriptors of images and samplers as ROCm's device libraries read them (ROCr's image
//! extension): the words of the hardware, then what `get_image_*` functions return.

use wavemill_machine::image::Sampler;

/// The words of an image: the resource, the type and the order of its channels, its width.
pub(super) fn image(resource: &[u32; 8], (channel_type, channel_order): (u32, u32), width: u32) -> Vec<u32> {
    let mut words = resource.to_vec();
    words.extend([channel_type, channel_order, width, 0]);
    words
}

/// The words of a sampler.
pub(super) fn sampler(sampler: &Sampler) -> Vec<u32> {
    sampler.encode().to_vec()
}
