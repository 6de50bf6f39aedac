//! AMD GPU code objects: ELF, metadata, kernel descriptors, offload bundles.
