//! Descriptors with what is computed once from them. Engines keep the last ones of an access,
//! because most executions of an instruction have the same.

use std::cell::RefCell;
use std::sync::Arc;

use super::descriptor::{DescriptorProblem, Resource, Sampler, Select};
use super::surface::{Layout, MAX_LEVELS};

/// Components that are no channel, by their number after the channels.
const ZERO: usize = 4;
const ONE: usize = 5;

/// An image.
#[derive(Debug)]
pub(super) struct Image {
    pub resource: Resource,
    pub layout: Layout,
    /// The component 1.
    pub one: u32,
    /// For each component: the number of a channel, [`ZERO`] or [`ONE`].
    picks: [usize; 4],
    /// Sizes of the levels of the view.
    sizes: [[u32; 3]; MAX_LEVELS as usize],
}

impl Image {
    fn new(resource: Resource) -> Image {
        let mut sizes = [[0; 3]; MAX_LEVELS as usize];
        for (level, size) in (0..=resource.levels.1 - resource.levels.0).zip(&mut sizes) {
            *size = resource.size(level);
        }
        let picks = resource.select.map(|select| match select {
            Select::Zero => ZERO,
            Select::One => ONE,
            Select::Channel(n) => usize::from(n) & 3,
        });
        Image { layout: resource.layout(), one: resource.format.one(), picks, sizes, resource }
    }

    /// Size of a level of the view; zeros for a level that it lacks.
    pub(super) fn size(&self, level: u32) -> [u32; 3] {
        self.sizes.get(level as usize).copied().unwrap_or_default()
    }

    /// Address of a sample of a texel. The level counts from that of the memory, and the third
    /// coordinate is the slice in memory.
    #[inline(always)]
    pub(super) fn address(&self, level: u32, texel: [u32; 3], sample: u32) -> u64 {
        self.resource.base.wrapping_add(self.layout.offset(level, texel, sample))
    }

    /// The components that the resource selects from the channels of a texel; `one` is the
    /// component 1.
    #[inline(always)]
    pub(super) fn selected(&self, channels: [u32; 4], one: u32) -> [u32; 4] {
        let [x, y, z, w] = channels;
        let from = [x, y, z, w, 0, one, 0, 0];
        let [x, y, z, w] = self.picks;
        [from[x & 7], from[y & 7], from[z & 7], from[w & 7]]
    }
}

/// The last descriptors of an access.
#[derive(Debug, Default)]
pub struct ImageCache {
    image: RefCell<Option<([u32; 8], Arc<Image>)>>,
    sampler: RefCell<Option<([u32; 4], Sampler)>>,
}

impl ImageCache {
    /// The image that a resource describes.
    pub(super) fn image(&self, words: &[u32; 8]) -> Result<Arc<Image>, DescriptorProblem> {
        if let Some((known, image)) = &*self.image.borrow()
            && known == words
        {
            return Ok(image.clone());
        }
        let image = Arc::new(Image::new(Resource::decode(words)?));
        *self.image.borrow_mut() = Some((*words, image.clone()));
        Ok(image)
    }

    /// The sampler with these words.
    pub(super) fn sampler(&self, words: &[u32; 4]) -> Result<Sampler, DescriptorProblem> {
        if let Some((known, sampler)) = &*self.sampler.borrow()
            && known == words
        {
            return Ok(*sampler);
        }
        let sampler = Sampler::decode(words)?;
        *self.sampler.borrow_mut() = Some((*words, sampler));
        Ok(sampler)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instruction in a loop may get other descriptors each time.
    #[test]
    fn changed_words_are_decoded_again() {
        let cache = ImageCache::default();
        // A rectangle of bytes, as wide as it is said here.
        let words = |width: u32| [0, 1 << 20, width - 1, 9 << 28, 0, 0, 0, 0];
        let width = |width: u32| cache.image(&words(width)).map(|image| image.size(0)[0]);
        assert_eq!((width(8), width(8), width(9), width(8)), (Ok(8), Ok(8), Ok(9), Ok(8)));
        let first = cache.image(&words(8)).unwrap();
        assert!(Arc::ptr_eq(&first, &cache.image(&words(8)).unwrap()), "it is decoded once");
        assert!(cache.image(&[0; 8]).is_err());
        assert_eq!(width(8), Ok(8));
        let bias = |bias: u32| cache.sampler(&[0, 0, bias, 0]).map(|sampler| sampler.bias);
        assert_eq!((bias(3), bias(4), bias(3)), (Ok(3), Ok(4), Ok(3)));
    }
}
