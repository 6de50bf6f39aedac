//! Files that hold code objects.
//!
//! Compilers rarely emit bare code objects. HIP wraps one code object per target into an offload
//! bundle (Clang Offload Bundler, "Bundled Code Object Layout"), compresses it, and puts one bundle
//! per source file into a section of the host program.

mod budget;
mod bundle;
mod compressed;
mod host;

use std::borrow::Cow;
use std::collections::HashSet;

pub use bundle::{Bundle, BundleFormat, Entry, EntryId, OffloadKind, OpenBundle};
pub use compressed::{CompressedHeader, Compression};

use budget::Budget;
pub(crate) use bundle::PLAIN_MAGIC;
pub(crate) use compressed::{MAGIC as COMPRESSED_MAGIC, contents};

use crate::Limits;
use crate::elf::{CodeObject, may_define};
use crate::error::{Error, Result};
use crate::loadable;
use crate::name::{Match, Search};
use crate::sniff;
use crate::target::TargetId;

/// What kind of file a [`Container`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerKind {
    /// A bare code object.
    CodeObject,
    /// One or more consecutive offload bundles.
    Bundle,
    /// A host program, library or object file.
    Host {
        /// A description of the file: "a 64-bit ELF file for x86-64".
        description: String,
    },
}

/// A file that holds code objects.
#[derive(Debug, Clone)]
pub struct Container<'a> {
    kind: ContainerKind,
    bundles: Vec<Bundle<'a>>,
}

/// A code object within a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The index into [`Container::bundles`].
    pub bundle: usize,
    /// The entry of that bundle.
    pub entry: Entry,
}

/// A kernel that [`Container::find_kernel`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<'a> {
    /// Where its code object is.
    pub selected: Selected,
    /// Its name in the code object.
    pub kernel: String,
    /// The code object; linked, if the container has a relocatable file.
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> Container<'a> {
    /// Finds the bundles in a file. Compressed ones are not decompressed yet.
    ///
    /// # Errors
    /// [`Error::Foreign`] if the file holds no AMD GPU code, otherwise the error of the first
    /// bundle that cannot be read.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        if crate::elf::is_gpu_elf(data) {
            // Reading rejects other GPU objects later, such as the 32-bit ones of Cayman.
            let bundles = vec![Bundle::code_object(data, 0, None)];
            return Ok(Container { kind: ContainerKind::CodeObject, bundles });
        }
        if data.starts_with(PLAIN_MAGIC) || data.starts_with(COMPRESSED_MAGIC) {
            let bundles = bundle::parse_all(data, 0, None)?;
            return Ok(Container { kind: ContainerKind::Bundle, bundles });
        }
        let bundles = host::find(data)?;
        let description = sniff::describe(data).0;
        Ok(Container { kind: ContainerKind::Host { description }, bundles })
    }

    /// What kind of file it is.
    pub fn kind(&self) -> &ContainerKind {
        &self.kind
    }

    /// The bundles, in the order of the file. A bare code object counts as a
    /// bundle with one entry.
    pub fn bundles(&self) -> &[Bundle<'a>] {
        &self.bundles
    }

    /// Selects from every bundle the entry that fits `device` best. Omits bundles without a fitting
    /// entry: a library may have code for a target in some of its source files only.
    ///
    /// # Errors
    /// [`Error::NoMatch`] if no bundle has a fitting entry, or the error of a bundle whose table
    /// cannot be read.
    pub fn select(&self, device: &TargetId, limits: &Limits) -> Result<Vec<Selected>> {
        let mut found = Vec::new();
        // All targets in the order of the file, without duplicates.
        let mut available = Vec::new();
        let mut seen = HashSet::new();
        for (at, bundle) in self.bundles.iter().enumerate() {
            let mut best = None;
            for entry in bundle.entries(limits)? {
                let Some(target) = entry.id.target.as_ref().filter(|_| entry.size != 0) else { continue };
                let fit = target.fit(device);
                if seen.insert(target.clone()) {
                    available.push(target.to_string());
                }
                if fit > best.as_ref().and_then(|(fit, _)| *fit) {
                    best = Some((fit, entry));
                }
            }
            if let Some((Some(_), entry)) = best {
                found.push(Selected { bundle: at, entry });
            }
        }
        match found.is_empty() {
            true => Err(Error::NoMatch { wanted: device.to_string(), available }),
            false => Ok(found),
        }
    }

    /// Finds the first code object that fits `device` and has the kernel that `name` stands for
    /// ([`name`](crate::name)), and the name of the kernel in it. Skips code objects whose string
    /// table has no such symbol, so a search of a library with hundreds of code objects reads one
    /// or two. If the name leaves nothing out, the search ends at the first match.
    ///
    /// # Errors
    /// Fails as [`select`](Self::select) does, if a code object that may have the kernel is
    /// invalid, and with [`Error::Ambiguous`] if several kernels fit equally well.
    pub fn find_kernel(&self, device: &TargetId, name: &str, limits: &Limits) -> Result<Option<Found<'a>>> {
        let mut search = Search::new(name);
        // The code object of the latest match.
        let mut held = None;
        for (selected, bytes) in self.read_all(&self.select(device, limits)?, limits) {
            let bytes = bytes?;
            if !may_define(&bytes, name) {
                continue;
            }
            let mut found = false;
            let bytes = loadable(bytes, limits)?;
            for kernel in CodeObject::parse(&bytes)?.kernels() {
                search.add(&kernel.name, || {
                    found = true;
                    (selected.clone(), kernel.name.clone())
                });
            }
            if found {
                held = Some((selected.bundle, bytes));
            }
            if search.is_certain() {
                break;
            }
        }
        match search.finish() {
            Match::None => Ok(None),
            Match::One((selected, kernel)) => {
                let held = held.filter(|(bundle, _)| *bundle == selected.bundle);
                let bytes = match held {
                    Some((_, bytes)) => bytes,
                    None => loadable(self.read(&selected, limits)?, limits)?,
                };
                Ok(Some(Found { selected, kernel, bytes }))
            }
            Match::Several(all) => {
                let kernels = all.into_iter().map(|(_, kernel)| kernel).collect();
                Err(Error::Ambiguous { name: name.to_owned(), kernels })
            }
        }
    }

    /// Opens the bundles lazily, one after the other. Their decompressed sizes add up: after the
    /// first bundle that exceeds the limit for the file, all compressed bundles fail.
    pub fn open_all<'s>(
        &'s self,
        limits: &'s Limits,
    ) -> impl Iterator<Item = (&'s Bundle<'a>, Result<OpenBundle<'a>>)> {
        let mut budget = Budget::new(limits, &self.bundles);
        self.bundles.iter().map(move |bundle| {
            let admitted = budget.spend(bundle, u64::MAX);
            (bundle, admitted.and_then(|()| bundle.open(limits)))
        })
    }

    /// Reads the entries that [`select`](Self::select) found lazily, one after the other. Their
    /// decompressed sizes add up as in [`open_all`](Self::open_all).
    pub fn read_all<'s>(
        &'s self,
        selected: &'s [Selected],
        limits: &'s Limits,
    ) -> impl Iterator<Item = (&'s Selected, Result<Cow<'a, [u8]>>)> {
        let mut budget = Budget::new(limits, &self.bundles);
        selected.iter().map(move |one| {
            let end = one.entry.offset.saturating_add(one.entry.size);
            let admitted = self.bundles.get(one.bundle).map_or(Ok(()), |bundle| budget.spend(bundle, end));
            (one, admitted.and_then(|()| self.read(one, limits)))
        })
    }

    /// The bytes of an entry that [`select`](Self::select) found.
    ///
    /// # Errors
    /// Fails if the compressed data is invalid, or with [`Error::Truncated`] if the entry belongs
    /// to another container.
    pub fn read(&self, selected: &Selected, limits: &Limits) -> Result<Cow<'a, [u8]>> {
        match self.bundles.get(selected.bundle) {
            Some(bundle) => bundle.read(&selected.entry, limits),
            None => Err(Error::Truncated {
                what: "list of bundles",
                offset: selected.bundle as u64,
                needed: 1,
                end: self.bundles.len() as u64,
            }),
        }
    }
}
