//! The wave IR of Wavemill: types, builder, verifier, text form, passes.
