//! Memory instructions run on a wave, against references that work lane by lane on plain byte arrays.

mod atomic;
mod buffer;
mod buffer_range;
mod denormals;
mod direct;
mod ecc;
mod evidence;
mod flat;
mod lds;
mod reference;
mod scalar;
mod texel;
