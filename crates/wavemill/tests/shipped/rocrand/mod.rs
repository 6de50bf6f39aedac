//! Kernels of rocRAND 5.3.3. The layouts of their arguments come from its public headers; their
//! results follow the publications that `reference` names.

mod distributions;

use wavemill::{Arg, Buffer};
use wavemill_oracle::Failed;

use distributions::{
    Discrete, MANTISSA, NORMAL_F32, NORMAL_F64, WORD, box_muller_f32, box_muller_f64, no_parameters,
    normal_f32, normal_f64, uniform_f16, uniform_f32, uniform_f64,
};

use crate::compare::{Tolerance, close, same};
use crate::gpu::{Gpu, Size, grid};
use crate::random::Random;
use crate::reference::counter_based::{known_answers, philox4x32_10};
use crate::reference::mrg32k3a::{M1, Mrg32k3a};
use crate::reference::sobol;
use crate::reference::xorwow::{Subsequences, Xorwow};

/// Philox: the words of a key from a position on.
fn philox_words(key: [u32; 2], from: usize, count: usize) -> Vec<u32> {
    let word = |at: usize| philox4x32_10([(at / 4) as u32, 0, 0, 0], key)[at % 4];
    (from..from + count).map(word).collect()
}

/// `philox4x32_10_device_engine` at a position: counter, its result, key, number within the result, padding.
fn philox_engine(key: [u32; 2], position: u32) -> Arg {
    let counter = [position / 4, 0, 0, 0];
    let words = [&counter[..], &philox4x32_10(counter, key), &key, &[position % 4, 0]].concat();
    Arg::Value(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

const KEY: [u32; 2] = [0xdead_beef, 0x0123_4567];

/// Launches Philox's generator. `result` may begin anywhere in its buffer.
fn philox(gpu: &Gpu, types: &str, position: u32, result: u64, count: usize, how: Arg) -> Result<(), Failed> {
    let kernel = format!(
        "_ZN12rocrand_host6detailL15generate_kernelI{types}EEvNS0_27philox4x32_10_device_engineEPT_mT0_"
    );
    gpu.launch(
        &kernel,
        grid(4, 256),
        &[philox_engine(KEY, position), result.into(), (count as u64).into(), how],
    )
}

pub(crate) fn philox_integers(gpu: &Gpu) -> Result<(), Failed> {
    known_answers()?;
    // More than the threads write at once, with a remainder; unaligned results for vectors; an
    // engine within a counter's four words.
    for (count, position, skipped) in [(4096 * 4 + 3, 0, 0), (5001, 2, 0), (4099, 0, 1), (2, 7, 3), (1, 3, 0)]
    {
        let result = gpu.room("result", 4 * (count + 8))?;
        let address = result.address() + 4 * skipped as u64;
        philox(gpu, "j20uniform_distributionIjE", position, address, count, no_parameters())?;
        let mut expected = vec![0xa5a5_a5a5; count + 8];
        expected[skipped..skipped + count].copy_from_slice(&philox_words(KEY, position as usize, count));
        same("result", &result.to_vec::<u32>()?, &expected)?;
    }
    let words = philox_words(KEY, 0, 2000);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (types, size, count) in
        [("h20uniform_distributionIhE", 1, 7997), ("t20uniform_distributionItE", 2, 3999)]
    {
        let result = gpu.room("result", count * size)?;
        philox(gpu, types, 0, result.address(), count, no_parameters())?;
        same(types, &result.to_vec::<u8>()?, &bytes[..count * size])?;
    }
    Ok(())
}

pub(crate) fn philox_floats(gpu: &Gpu) -> Result<(), Failed> {
    let count = 5003;
    let words = philox_words(KEY, 0, 4 * count);
    let result = gpu.room("result", 4 * count)?;
    philox(gpu, "f20uniform_distributionIfE", 0, result.address(), count, no_parameters())?;
    let expected: Vec<f32> = words[..count].iter().map(|word| uniform_f32(*word)).collect();
    same("floats", &result.to_vec::<f32>()?, &expected)?;

    let result = gpu.room("result", 8 * count)?;
    philox(gpu, "d20uniform_distributionIdE", 0, result.address(), count, no_parameters())?;
    let expected: Vec<f64> = words.chunks(2).take(count).map(uniform_f64).collect();
    same("doubles", &result.to_vec::<f64>()?, &expected)?;

    let result = gpu.room("result", 2 * count)?;
    philox(gpu, "6__half20uniform_distributionIS2_E", 0, result.address(), count, no_parameters())?;
    let halves = words.iter().flat_map(|word| [*word as u16, (*word >> 16) as u16]);
    let expected: Vec<u16> = halves.take(count).map(uniform_f16).collect();
    same("halves", &result.to_vec::<u16>()?, &expected)
}

pub(crate) fn philox_normal(gpu: &Gpu) -> Result<(), Failed> {
    let count = 6002;
    let words = philox_words(KEY, 0, 2 * count);
    let (mean, deviation) = (1.5, 0.25);
    let scaled = |x: f64| mean + deviation * x;
    let result = gpu.room("result", 4 * count)?;
    let how = normal_f32(mean as f32, deviation as f32);
    philox(gpu, "f19normal_distributionIfE", 0, result.address(), count, how.clone())?;
    let normal: Vec<f64> = words[..count].chunks(2).flat_map(box_muller_f32).map(scaled).collect();
    close("floats", &result.to_vec::<f32>()?, &normal, NORMAL_F32)?;

    philox(gpu, "f23log_normal_distributionIfE", 0, result.address(), count, how)?;
    let logarithmic: Vec<f64> = normal.iter().map(|x| x.exp()).collect();
    close("log-normal floats", &result.to_vec::<f32>()?, &logarithmic, Tolerance::relative(2e-5))?;

    let result = gpu.room("result", 8 * count)?;
    philox(gpu, "d19normal_distributionIdE", 0, result.address(), count, normal_f64(mean, deviation))?;
    let normal: Vec<f64> = words.chunks(4).flat_map(box_muller_f64).map(scaled).collect();
    close("doubles", &result.to_vec::<f64>()?, &normal, NORMAL_F64)
}

pub(crate) fn philox_poisson(gpu: &Gpu) -> Result<(), Failed> {
    let count = 4001;
    let discrete = Discrete::poisson(gpu, 12.5)?;
    let result = gpu.room("result", 4 * count)?;
    let types = "j28rocrand_poisson_distributionIL23rocrand_discrete_method1ELb0EE";
    philox(gpu, types, 0, result.address(), count, discrete.argument.clone())?;
    let words = philox_words(KEY, 0, count);
    let expected: Vec<u32> = words.iter().map(|word| discrete.by_alias(f64::from(*word) * WORD)).collect();
    same("result", &result.to_vec::<u32>()?, &expected)
}

/// Number of engines of a generator whose state is in memory: a power of two.
const ENGINES: usize = 1024;
const ENGINE_GRID: Size = Size { groups: [4, 1, 1], threads: [256, 1, 1] };

/// The numbers of engines in memory when all of them take turns, `of_engine` from each at a time.
fn in_turn<E>(
    engines: &mut [E],
    start: usize,
    of_engine: usize,
    count: usize,
    next: impl Fn(&mut E) -> u32,
) -> Vec<u32> {
    let mut numbers = Vec::new();
    for turn in 0..count.div_ceil(of_engine) {
        let engine = &mut engines[(turn + start) % ENGINES];
        numbers.extend((0..of_engine).map(|_| next(engine)));
    }
    numbers
}

fn xorwow_bytes(engines: &[Xorwow]) -> Vec<u32> {
    engines.iter().flat_map(|engine| [&[engine.d], &engine.x[..]].concat()).collect()
}

fn xorwow_kernel(types: &str) -> String {
    format!("_ZN12rocrand_host6detailL15generate_kernelI{types}EEvPN14rocrand_device13xorwow_engineEjPT_mT0_")
}

/// XORWOW's engines as the library creates them: one for each subsequence; engines before the start
/// are one number ahead.
fn xorwow_engines(seed: u64, start: usize, offset: usize) -> Vec<Xorwow> {
    let jumps = Subsequences::new(10);
    let engine = |number: usize| {
        let mut engine = Xorwow::seeded(seed).subsequence(number, &jumps);
        (0..offset + usize::from(number < start)).for_each(|_| _ = engine.next());
        engine
    };
    (0..ENGINES).map(engine).collect()
}

pub(crate) fn xorwow(gpu: &Gpu) -> Result<(), Failed> {
    let (seed, start, offset) = (0x0123_4567_89ab_cdef, 17, 5);
    let mut engines = xorwow_engines(seed, start, offset);
    let memory = gpu.room("engines", 24 * ENGINES)?;
    gpu.launch(
        "_ZN12rocrand_host6detailL19init_engines_kernelEPN14rocrand_device13xorwow_engineEjyy",
        ENGINE_GRID,
        &[(&memory).into(), (start as u32).into(), seed.into(), (offset as u64).into()],
    )?;
    same("engines", &memory.to_vec::<u32>()?, &xorwow_bytes(&engines))?;

    // Kernels continue from the state that the previous kernel left in the engines.
    let count = 3 * ENGINES + 100;
    let generate = |types: &str, result: &Buffer, count: usize, how: Arg| {
        let args = [(&memory).into(), (start as u32).into(), result.into(), (count as u64).into(), how];
        gpu.launch(&xorwow_kernel(types), ENGINE_GRID, &args)
    };
    let result = gpu.room("result", 4 * count)?;
    generate("j20uniform_distributionIjE", &result, count, no_parameters())?;
    let words = in_turn(&mut engines, start, 1, count, Xorwow::next);
    same("words", &result.to_vec::<u32>()?, &words)?;
    same("engines after words", &memory.to_vec::<u32>()?, &xorwow_bytes(&engines))?;

    generate("f20uniform_distributionIfE", &result, count, no_parameters())?;
    let words = in_turn(&mut engines, start, 1, count, Xorwow::next);
    let floats: Vec<f32> = words.iter().map(|word| uniform_f32(*word)).collect();
    same("floats", &result.to_vec::<f32>()?, &floats)?;

    generate("f19normal_distributionIfE", &result, count, normal_f32(-2.0, 3.0))?;
    let words = in_turn(&mut engines, start, 2, count, Xorwow::next);
    let normal: Vec<f64> = words.chunks(2).flat_map(box_muller_f32).map(|x| -2.0 + 3.0 * x).collect();
    let tolerance = Tolerance { relative: 4e-6, absolute: 3e-5 };
    close("normal floats", &result.to_vec::<f32>()?, &normal[..count], tolerance)?;

    let result = gpu.room("result", 8 * count)?;
    generate("d20uniform_distributionIdE", &result, count, no_parameters())?;
    let words = in_turn(&mut engines, start, 2, 2 * count, Xorwow::next);
    let doubles: Vec<f64> = words.chunks(2).map(uniform_f64).collect();
    same("doubles", &result.to_vec::<f64>()?, &doubles)?;

    let discrete = Discrete::poisson(gpu, 3.25)?;
    let result = gpu.room("result", 4 * count)?;
    let types = "j28rocrand_poisson_distributionIL23rocrand_discrete_method1ELb0EE";
    generate(types, &result, count, discrete.argument.clone())?;
    let words = in_turn(&mut engines, start, 1, count, Xorwow::next);
    let expected: Vec<u32> = words.iter().map(|word| discrete.by_alias(f64::from(*word) * WORD)).collect();
    same("Poisson", &result.to_vec::<u32>()?, &expected)?;
    same("engines at the end", &memory.to_vec::<u32>()?, &xorwow_bytes(&engines))
}

fn mrg32k3a_words(engines: &[Mrg32k3a]) -> Vec<u32> {
    engines.iter().flat_map(|engine| engine.g1.into_iter().chain(engine.g2)).map(|word| word as u32).collect()
}

pub(crate) fn mrg32k3a(gpu: &Gpu) -> Result<(), Failed> {
    let (seed, start, offset) = (12_345, 3, 9);
    let engine = |number: usize| {
        let mut engine = Mrg32k3a::seeded(seed).subsequence(number);
        (0..offset + usize::from(number < start)).for_each(|_| _ = engine.next());
        engine
    };
    let mut engines: Vec<Mrg32k3a> = (0..ENGINES).map(engine).collect();
    let memory = gpu.room("engines", 24 * ENGINES)?;
    gpu.launch(
        "_ZN12rocrand_host6detailL19init_engines_kernelEPN14rocrand_device15mrg32k3a_engineEjyy",
        ENGINE_GRID,
        &[(&memory).into(), (start as u32).into(), u64::from(seed).into(), (offset as u64).into()],
    )?;
    same("engines", &memory.to_vec::<u32>()?, &mrg32k3a_words(&engines))?;

    let count = 2 * ENGINES + 77;
    let generate = |types: &str, result: &Buffer| {
        let kernel = format!(
            "_ZN12rocrand_host6detailL15generate_kernelI{types}EEvPN14rocrand_device15mrg32k3a_engineEjPT_mT0_"
        );
        let args =
            [(&memory).into(), (start as u32).into(), result.into(), (count as u64).into(), no_parameters()];
        gpu.launch(&kernel, ENGINE_GRID, &args)
    };
    let next = |engine: &mut Mrg32k3a| engine.next() as u32;
    let result = gpu.room("result", 4 * count)?;
    generate("j24mrg_uniform_distributionIjE", &result)?;
    // Numbers from 1 to M1 are stretched over all words.
    let stretch = |word: &u32| (f64::from(word - 1) * (u32::MAX as f64 / (M1 - 1) as f64)) as u32;
    let words: Vec<u32> = in_turn(&mut engines, start, 1, count, next).iter().map(stretch).collect();
    let found = result.to_vec::<u32>()?;
    // The library's factor has sixteen digits, so a product close to a whole number may be one
    // less.
    let off = found.iter().zip(&words).filter(|(found, word)| found.abs_diff(**word) > 1).count();
    same("words that differ by more than one", &[off], &[0])?;

    generate("f24mrg_uniform_distributionIfE", &result)?;
    let numbers = in_turn(&mut engines, start, 1, count, next);
    let uniform: Vec<f64> = numbers.iter().map(|number| f64::from(*number) / M1 as f64).collect();
    close("floats", &result.to_vec::<f32>()?, &uniform, Tolerance::relative(6e-8))?;

    let result = gpu.room("result", 8 * count)?;
    generate("d24mrg_uniform_distributionIdE", &result)?;
    let numbers = in_turn(&mut engines, start, 1, count, next);
    let uniform: Vec<f64> = numbers.iter().map(|number| f64::from(*number) / M1 as f64).collect();
    // The library's constant for 1 / M1 is wrong from the tenth digit.
    close("doubles", &result.to_vec::<f64>()?, &uniform, Tolerance::relative(1e-9))?;
    same("engines at the end", &memory.to_vec::<u32>()?, &mrg32k3a_words(&engines))
}

/// Direction numbers of three dimensions: the primitive polynomials 1, x + 1 and x^2 + x + 1.
fn three_dimensions(bits: usize) -> Vec<Vec<u64>> {
    [(0, &[][..]), (0, &[1][..]), (1, &[1, 3][..])]
        .into_iter()
        .map(|(inner, m)| sobol::directions(bits, inner, m))
        .collect()
}

pub(crate) fn sobol32(gpu: &Gpu) -> Result<(), Failed> {
    let dimensions = three_dimensions(32);
    let table: Vec<u32> = dimensions.iter().flatten().map(|word| *word as u32).collect();
    let table = gpu.with("directions", &table)?;
    let (count, offset) = (2300, 11);
    let points: Vec<u32> = dimensions
        .iter()
        .flat_map(|d| (0..count as u64).map(|n| sobol::point(d, n + offset) as u32))
        .collect();
    // The threads of a dimension are a power of two, and loop.
    let size = Size { groups: [4, 3, 1], threads: [256, 1, 1] };
    let generate = |types: &str, width: usize, how: Arg| {
        let result = gpu.room("result", 3 * width * count)?;
        let kernel = format!("_ZN12rocrand_host6detailL15generate_kernelI{types}EEvPT0_mPKjjT1_");
        let args = [(&result).into(), (count as u64).into(), (&table).into(), (offset as u32).into(), how];
        gpu.launch(&kernel, size, &args)?;
        Ok::<_, Failed>(result)
    };
    let result = generate("Lj1Ej26sobol_uniform_distributionIjE", 4, no_parameters())?;
    same("words", &result.to_vec::<u32>()?, &points)?;
    let result = generate("Lj4Eh26sobol_uniform_distributionIhE", 1, no_parameters())?;
    let bytes: Vec<u8> = points.iter().map(|point| (point >> 24) as u8).collect();
    same("bytes", &result.to_vec::<u8>()?, &bytes)?;
    let result = generate("Lj1Ef26sobol_uniform_distributionIfE", 4, no_parameters())?;
    let floats: Vec<f32> = points.iter().map(|point| uniform_f32(*point)).collect();
    same("floats", &result.to_vec::<f32>()?, &floats)?;
    let result = generate("Lj1Ed26sobol_uniform_distributionIdE", 8, no_parameters())?;
    let doubles: Vec<f64> = points.iter().map(|point| (f64::from(*point) + 1.0) * WORD).collect();
    same("doubles", &result.to_vec::<f64>()?, &doubles)?;
    let result = generate("Lj2E6__half26sobol_uniform_distributionIS2_E", 2, no_parameters())?;
    let halves: Vec<u16> = points.iter().map(|point| uniform_f16((point >> 16) as u16)).collect();
    same("halves", &result.to_vec::<u16>()?, &halves)?;
    let discrete = Discrete::poisson(gpu, 7.0)?;
    let types = "Lj1Ej28rocrand_poisson_distributionIL23rocrand_discrete_method2ELb0EE";
    let result = generate(types, 4, discrete.argument.clone())?;
    let expected: Vec<u32> =
        points.iter().map(|point| discrete.by_cumulative(f64::from(*point) * WORD)).collect();
    same("Poisson", &result.to_vec::<u32>()?, &expected)
}

pub(crate) fn sobol64(gpu: &Gpu) -> Result<(), Failed> {
    let dimensions = three_dimensions(64);
    let table = gpu.with("directions", &dimensions.concat())?;
    let (count, offset) = (1100, 1000);
    let points: Vec<u64> =
        dimensions.iter().flat_map(|d| (0..count as u64).map(|n| sobol::point(d, n + offset))).collect();
    let size = Size { groups: [2, 3, 1], threads: [256, 1, 1] };
    let generate = |types: &str, width: usize| {
        let result = gpu.room("result", 3 * width * count)?;
        let kernel = format!("_ZN12rocrand_host6detailL18generate_kernel_64I{types}EEvPT0_mPKyjT1_");
        let args = [
            (&result).into(),
            (count as u64).into(),
            (&table).into(),
            (offset as u32).into(),
            no_parameters(),
        ];
        gpu.launch(&kernel, size, &args)?;
        Ok::<_, Failed>(result)
    };
    let result = generate("Lj1Ej26sobol_uniform_distributionIjE", 4)?;
    let words: Vec<u32> = points.iter().map(|point| (point >> 32) as u32).collect();
    same("words", &result.to_vec::<u32>()?, &words)?;
    let result = generate("Lj2Et26sobol_uniform_distributionItE", 2)?;
    let shorts: Vec<u16> = points.iter().map(|point| (point >> 48) as u16).collect();
    same("shorts", &result.to_vec::<u16>()?, &shorts)?;
    let result = generate("Lj1Ed26sobol_uniform_distributionIdE", 8)?;
    let doubles: Vec<f64> = points.iter().map(|point| ((point >> 11) + 1) as f64 * MANTISSA).collect();
    same("doubles", &result.to_vec::<f64>()?, &doubles)
}

/// Numbers of MTGP32 (Saito and Matsumoto: "Variants of Mersenne Twister Suitable for Graphic
/// Processors", ACM TOMS 39, 2013), for any parameters. The test uses arbitrary parameters; they
/// affect only the length of the period.
struct Mtgp32 {
    status: Vec<u32>,
    offset: usize,
    position: usize,
    shifts: [u32; 2],
    mask: u32,
    recursion: Vec<u32>,
    tempering: Vec<u32>,
}

impl Mtgp32 {
    /// Words of the ring that holds the state, and words of the state.
    const RING: usize = 1024;
    const WORDS: usize = 351;

    fn new(random: &mut Random) -> Self {
        Mtgp32 {
            status: random.words(Self::RING),
            offset: 0,
            // No 256 numbers generated at once may depend on one another.
            position: 50 + random.below(40),
            shifts: [1 + random.below(30) as u32, 1 + random.below(30) as u32],
            mask: 0xfff8_0000,
            recursion: random.words(16),
            tempering: random.words(16),
        }
    }

    /// The engine's words in memory.
    fn words(&self) -> Vec<u32> {
        [
            &[self.offset as u32, 0],
            &self.status[..],
            &[self.position as u32],
            &self.recursion,
            &self.tempering,
            &self.shifts,
            &[0; 16],
            &[self.mask],
        ]
        .concat()
    }

    fn next(&mut self) -> u32 {
        let at = |n: usize| (self.offset + n) % Self::RING;
        let mut x = self.status[at(0)] & self.mask ^ self.status[at(1)];
        x ^= x << self.shifts[0];
        let y = x ^ self.status[at(self.position)] >> self.shifts[1];
        let new = y ^ self.recursion[(y & 15) as usize];
        let mut t = self.status[at(self.position - 1)];
        t ^= t >> 16;
        t ^= t >> 8;
        let place = at(Self::WORDS);
        self.status[place] = new;
        self.offset = at(1);
        new ^ self.tempering[(t & 15) as usize]
    }
}

pub(crate) fn mtgp32(gpu: &Gpu) -> Result<(), Failed> {
    const GROUPS: usize = 3;
    let mut random = Random::new(32);
    let mut engines: Vec<Mtgp32> = (0..GROUPS).map(|_| Mtgp32::new(&mut random)).collect();
    let memory = |engines: &[Mtgp32]| engines.iter().flat_map(Mtgp32::words).collect::<Vec<u32>>();
    let engine_memory = gpu.with("engines", &memory(&engines))?;
    // Two whole rounds of all groups, one more of the first group, and part of one of the second.
    let count = GROUPS * 256 * 2 + 256 + 100;
    let result = gpu.room("result", 4 * count)?;
    let generate = |types: &str| {
        let kernel = format!(
            "_ZN12rocrand_host6detailL15generate_kernelILj256E{types}EEvPN14rocrand_device13mtgp32_engineEPT0_mT1_"
        );
        let args = [(&engine_memory).into(), (&result).into(), (count as u64).into(), no_parameters()];
        gpu.launch(&kernel, grid(GROUPS, 256), &args)
    };
    // A group generates 256 numbers even where it writes fewer.
    let mut numbers = || {
        let mut numbers = Vec::new();
        for round in 0..count.div_ceil(256) {
            numbers.extend((0..256).map(|_| engines[round % GROUPS].next()));
        }
        numbers.truncate(count);
        (numbers, memory(&engines))
    };
    generate("j20uniform_distributionIjE")?;
    let (words, after) = numbers();
    same("words", &result.to_vec::<u32>()?, &words)?;
    same("engines", &engine_memory.to_vec::<u32>()?, &after)?;
    generate("f20uniform_distributionIfE")?;
    let (words, after) = numbers();
    let floats: Vec<f32> = words.iter().map(|word| uniform_f32(*word)).collect();
    same("floats", &result.to_vec::<f32>()?, &floats)?;
    same("engines at the end", &engine_memory.to_vec::<u32>()?, &after)
}
