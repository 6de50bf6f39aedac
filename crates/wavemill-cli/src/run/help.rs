//! The text after the options in the help page of `wavemill run`.

use crate::failure::Exit;

const HELP: &str = "\
Arguments of the kernel:
  name:type[count]=contents   a buffer: y:f32[1024]=zeros, img:u8[480,640,3]=@photo.npy
  name:type=value             a value: n:i32=1024, a:f32=-2.5, mask:u64=0xff
  name=local:4096             a __local pointer (dynamic LDS) of that many bytes; also local:4K
  name=&other                 the same buffer again, or a buffer of an earlier launch
  name:image2d[rgba8,64x48]=@p.png   an image: a format, a size, contents; also mips=4, samples=4
  name:sampler[linear]        a sampler: linear, normalized, repeat, ...
  name=null                   a null pointer
  name=bytes:00ff             a structure by value; also name=@file.bin

  Types: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64
  Contents: zeros, ones, iota, iota(START,STEP), random(SEED), random(SEED,LOW,HIGH),
            a number, [1,2,3], @file.npy, @file.bin (raw, little-endian)

  If the code object has names and types, n=1024 is enough; otherwise pass arguments
  by position, with types.

Sizes in bytes: 65536, 0x10000, 64K or 64KiB, 16M, 1G; units are powers of 1024.

Examples:
  wavemill run k.co --grid 4 --block 256 y:f32[1024]=zeros n:i32=1024 --print 'y[:4]'
  wavemill run k.co --kernel scale        show its parameters and a complete line to copy
  wavemill run k.co --init=k.toml         write a launch file to fill in
  wavemill run examples/mandelbrot.toml   run a launch file
  wavemill run k.toml --target mi210 --timeout 60
  wavemill run k.toml --trace --trace-workgroup 3 --trace-wave 0
  wavemill run k.toml --trace --trace-pc scale+0x40..0x80 --trace-format json --trace-file t.jsonl
  wavemill run k.toml --expect y=ref.npy --tolerance rel=1e-6 --out y=y.npy --stats

Results go to the standard output, everything else to the standard error.";

/// The end of the short help.
pub(crate) const SHORT_HELP: &str = "\
Example: wavemill run k.co --grid 4 --block 256 y:f32[1024]=zeros n:i32=1024 --print 'y[:4]'
--help lists all options, the forms of arguments, examples and exit codes.";

/// The end of the help page.
pub(crate) fn help() -> String {
    format!("{HELP}\n\n{}", Exit::help(Exit::ALL))
}
