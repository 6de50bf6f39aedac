//! One file for each source in `kernels/`: the launches of its kernels, and their references.

mod atomics;
mod atomics_classic;
mod atomics_flag;
mod atomics_float;
mod atomics_packed;
mod bitonic_sort;
mod black_scholes;
pub(crate) mod blend_half;
mod bytecode;
mod call_chain;
pub(crate) mod callee;
mod convolution;
mod crc32;
mod daxpy;
mod dgemm;
mod divide64;
mod explicit_stack;
mod fft1024;
mod flat;
pub(crate) mod flushed;
mod function_pointers;
mod gemv_i8;
mod handoff;
mod histogram;
mod launch_state;
mod layer_norm;
mod life;
mod litmus;
mod lockstep;
pub(crate) mod mandelbrot;
mod nbody;
pub(crate) mod preload;
mod printf;
mod reduction;
pub(crate) mod reduction_two_pass;
pub(crate) mod rounded;
mod scan;
mod scratch;
mod sgemm;
mod sgemm_naive;
mod sha256;
mod softmax;
pub(crate) mod spmv;
mod string_search;
mod transpose;
mod vector_add;
mod xorshift;

use crate::case::{Case, Size};

/// A case that can be made in either size.
#[derive(Clone, Copy, Debug)]
pub struct KernelCase {
    /// The case's name; most are the kernel's.
    pub name: &'static str,
    make: fn(Size) -> Case,
}

impl KernelCase {
    /// Generates the inputs. Every call returns the same.
    pub fn make(&self, size: Size) -> Case {
        Case { name: self.name, ..(self.make)(size) }
    }
}

macro_rules! kernels {
    ($($name:literal: $make:path),+ $(,)?) => {
        /// Every case, by file and then in the order of the source.
        pub const KERNELS: &[KernelCase] = &[$(KernelCase { name: $name, make: $make }),+];
    };
}

kernels! {
    "atomics_global32": atomics::global32,
    "atomics_global64": atomics::global64,
    "atomics_local32": atomics::local32,
    "atomics_local64": atomics::local64,
    "atomics_classic_global": atomics_classic::global,
    "atomics_classic_local": atomics_classic::local,
    "atomics_flag": atomics_flag::flag,
    "atomics_lock": atomics_flag::lock,
    "atomics_fence": atomics_flag::fence,
    "atomics_float_global": atomics_float::global,
    "atomics_float_local": atomics_float::local,
    "atomics_packed": atomics_packed::packed,
    "atomics_generic": atomics_packed::generic,
    "bitonic_sort_local": bitonic_sort::local,
    "bitonic_sort_step": bitonic_sort::step,
    "black_scholes": black_scholes::case,
    "blend_half": blend_half::half,
    "blend_half_storage": blend_half::storage,
    "bytecode": bytecode::case,
    "call_chain": call_chain::case,
    "callee_plain": callee::plain,
    "callee_flush": callee::flush,
    "callee_round": callee::round,
    "convolution": convolution::case,
    "crc32_table": crc32::table,
    "crc32_bitwise": crc32::bitwise,
    "daxpy": daxpy::case,
    "dgemm": dgemm::case,
    "divide_u64": divide64::unsigned,
    "divide_i64": divide64::signed,
    "divide_constant": divide64::constant,
    "quicksort": explicit_stack::quicksort,
    "queens": explicit_stack::queens,
    "fft1024": fft1024::table,
    "fft1024_native": fft1024::native,
    "flat": flat::flat,
    "flat_atomic": flat::flat_atomic,
    "flushed": flushed::case,
    "function_pointers": function_pointers::by_lane,
    "function_pointers_uniform": function_pointers::uniform,
    "gemv_i8": gemv_i8::plain,
    "gemv_i8_dot4": gemv_i8::dot4,
    "handoff_ring": handoff::ring,
    "handoff_chain": handoff::chain,
    "histogram_local": histogram::local,
    "histogram_global": histogram::global,
    "launch_state_1d": launch_state::line,
    "launch_state_2d": launch_state::plane,
    "launch_state_3d": launch_state::space,
    "layer_norm": layer_norm::case,
    "life": life::bytes,
    "life_bits": life::bits,
    "litmus_store_buffering": litmus::store_buffering,
    "litmus_message_passing": litmus::message_passing,
    "litmus_iriw": litmus::iriw,
    "lockstep_scan": lockstep::scan,
    "lockstep_barrier": lockstep::barrier,
    "mandelbrot": mandelbrot::case,
    "nbody": nbody::case,
    "preload": preload::case,
    "printf_kinds": printf::kinds,
    "printf_items": printf::items,
    "printf_then_store": printf::then_store,
    "reduction": reduction::case,
    "reduction_single_pass": reduction::single_pass,
    "norm_first_pass": reduction_two_pass::first,
    "norm_second_pass": reduction_two_pass::second,
    "rounded_f32": rounded::single,
    "rounded_f64": rounded::double,
    "scan_groups": scan::groups,
    "scan_add": scan::add,
    "scratch_sort": scratch::sort,
    "scratch_bytes": scratch::bytes,
    "sgemm": sgemm::case,
    "sgemm_naive": sgemm_naive::case,
    "sha256": sha256::case,
    "softmax": softmax::case,
    "spmv_scalar": spmv::scalar,
    "spmv_vector": spmv::vector,
    "string_search": string_search::case,
    "transpose": transpose::case,
    "vector_add": vector_add::case,
    "xorshift": xorshift::xorshift,
    "xorshift64star": xorshift::xorshift64star,
}

/// The case of that name, if there is one.
pub fn case(name: &str, size: Size) -> Option<Case> {
    KERNELS.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.make(size))
}
