//! Programs whose resources the launch binds by number.
//!
//! As with LLVM and Mesa, r0 has the ids of the work-item in its workgroup, and r1 those of the
//! workgroup, unless the launch binds these registers.

use wavemill_ir::{ExportTarget, LANES, Row, Uni};
use wavemill_isa::cayman::Op;
use wavemill_lift::cayman::{image_target, registers};
use wavemill_machine::{Registers, WaveInit};

use super::llvm::{self, DWORDS, Wave};
use super::{fetch, object};
use crate::abi::{LaunchMemory, Plan, Start};
use crate::argument::Arg;
use crate::binding::{Binding, Location};
use crate::buffer::Buffer;
use crate::image::ImageFormat;
use crate::module::{Compares, Fetches, Kernel, Module, TargetAccess};
use crate::services::ServiceAddresses;
use crate::{Error, Result};

/// Bytes of an entry of the table of resources, of samplers, and of buffers to write.
const RESOURCE: usize = 32;
const SAMPLER: usize = 16;
const WRITE: usize = 16;

/// Entries of the table of semantics.
const SEMANTICS: usize = 256;
/// The bits of the number of a wave in the order of launch.
const ORDER: u32 = 0x7ff;

/// The tables of a launch.
#[derive(Debug)]
pub(super) struct Memory {
    resources: Buffer,
    samplers: Buffer,
    writes: Buffer,
    semantics: Buffer,
    scratch: Buffer,
    fetch_program: Option<Module>,
}

impl Memory {
    pub(super) fn allocate(kernel: &Kernel, plan: &Plan) -> Result<Memory> {
        let table = |name, entries: u16, bytes: usize| {
            let table =
                Buffer::internal(&kernel.module.device, name, (usize::from(entries) * bytes) as u64, 256)?;
            table.protect("the runtime's own")?;
            Ok::<_, Error>(table)
        };
        Ok(Memory {
            resources: table("resources", registers::RESOURCE_ENTRIES, RESOURCE)?,
            samplers: table("samplers", registers::SAMPLERS, SAMPLER)?,
            writes: table("buffers to write", registers::WRITES, WRITE)?,
            semantics: table("semantics", SEMANTICS as u16, 1)?,
            scratch: llvm::scratch(kernel, plan)?,
            fetch_program: fetch::program(kernel, &plan.bindings)?,
        })
    }
}

/// What a location needs that a resource is not.
fn wrong(kernel: &Kernel, binding: &Binding) -> Error {
    let Binding { location, resource } = binding;
    let found = match resource {
        Arg::Buffer(_) => "a buffer".to_owned(),
        Arg::Value(bytes) | Arg::Aligned { bytes, .. } => format!("a value of {} bytes", bytes.len()),
        Arg::Local(_) => "local memory".to_owned(),
        Arg::Image(_) => "an image".to_owned(),
        Arg::Sampler(_) => "a sampler".to_owned(),
    };
    let expected = match location {
        Location::Texture(_) => "an image",
        Location::Target { .. } => "a buffer or an image",
        Location::Sampler(_) => "a sampler",
        Location::Register { .. } => "a buffer with a dword for each work-item, or a value of 4 bytes",
        Location::Semantic(_) => "the number of a register: a value of 4 bytes",
        location if is_number(location) => "a value of 4 bytes",
        _ => "a buffer",
    };
    let problem = format!("{location} is {found}; expected {expected}");
    Error::Launch { kernel: kernel.name().to_owned(), problem }
}

/// Whether a location has a number and no memory.
const fn is_number(location: &Location) -> bool {
    matches!(
        location,
        Location::Parameters
            | Location::Booleans
            | Location::Loop(_)
            | Location::Semantic(_)
            | Location::JumpTable(_)
            | Location::Modes
    )
}

/// The largest number of a location, and its own number.
fn number(location: &Location) -> (u16, u16) {
    match *location {
        Location::Constants(n) => (registers::BANKS - 1, n),
        Location::Buffer { number, .. } => (registers::RESOURCES - 1, number),
        Location::Target { number, .. } => (registers::TARGETS - 1, number),
        Location::Attribute { number, .. } => (fetch::ATTRIBUTES - 1, number),
        Location::Texture(n) => (registers::RESOURCES - 1, n),
        Location::Sampler(n) => (registers::SAMPLERS - 1, n),
        Location::Register { register, channel } => (registers::GPRS - 1, register.max(channel / 4 * 128)),
        Location::Stream { stream, buffer, .. } => (3, stream.max(buffer)),
        Location::Ring { number, .. } => (3, number),
        Location::Loop(n) | Location::JumpTable(n) => (31, n),
        Location::Semantic(n) => (255, n),
        // Other locations have no numbers, or the lifter knows them.
        _ => (0, 0),
    }
}

/// Checks that locations exist, and that resources have the kinds that these need.
pub(super) fn check(kernel: &Kernel, bindings: &[Binding]) -> Result<()> {
    for (index, binding) in bindings.iter().enumerate() {
        let refuse = |problem| Error::Launch { kernel: kernel.name().to_owned(), problem };
        let (most, number) = number(&binding.location);
        if number > most {
            return Err(refuse(format!(
                "there is no location {}; the largest number is {most}",
                binding.location
            )));
        }
        if bindings[..index].iter().any(|other| key(&other.location) == key(&binding.location)) {
            let shares = match binding.location {
                Location::Buffer { .. } | Location::Texture(_) | Location::Attribute { .. } => {
                    "; buffers and textures share numbers, and attribute n is number 160 + n"
                }
                _ => "",
            };
            return Err(refuse(format!("{} is bound more than once{shares}", binding.location)));
        }
        let value = |bytes: &Vec<u8>| bytes.len() == 4;
        let fits = match (&binding.location, &binding.resource) {
            (Location::Texture(_) | Location::Target { .. }, Arg::Image(image)) => {
                image.belongs_to(&kernel.module.device)
            }
            (Location::Sampler(_), Arg::Sampler(sampler)) => sampler.belongs_to(&kernel.module.device),
            (Location::Texture(_) | Location::Sampler(_), _) => false,
            (Location::Semantic(_) | Location::Register { .. }, Arg::Value(bytes)) => value(bytes),
            (location, Arg::Value(bytes)) if is_number(location) => value(bytes),
            (location, _) if is_number(location) => false,
            (_, Arg::Buffer(buffer)) => buffer.belongs_to(&kernel.module.device),
            _ => false,
        };
        if !fits {
            return Err(wrong(kernel, binding));
        }
        let register = match (&binding.location, &binding.resource) {
            (Location::Register { register, .. }, _) => Some(u32::from(*register)),
            (Location::Semantic(_), Arg::Value(bytes)) => Some(dword(bytes)),
            (Location::Attribute { number, .. }, _) => Some(fetch::register(*number)),
            _ => None,
        };
        let gprs = object(kernel)?.config.gprs;
        if let Some(register) = register.filter(|register| *register >= gprs) {
            return Err(refuse(match &binding.location {
                Location::Semantic(_) => {
                    format!("{}={register}: r{register} is none of its {gprs} registers", binding.location)
                }
                Location::Attribute { .. } => {
                    format!("{} goes to r{register}, which is none of its {gprs} registers", binding.location)
                }
                location => format!("{location} is none of its {gprs} registers"),
            }));
        }
        if let (Location::Target { unit, format, .. }, Arg::Image(_)) = (&binding.location, &binding.resource)
            && (format.is_some() || *unit != 4)
        {
            return Err(refuse(format!(
                "{} is an image, which has a format; leave out `format` and `unit`",
                binding.location
            )));
        }
        if let Location::Target { format: Some(format), .. } | Location::Attribute { format, .. } =
            &binding.location
            && !format.is_of_buffers()
        {
            return Err(refuse(format!(
                "{} has the format {}, and buffers have no texels of it",
                binding.location, format.name
            )));
        }
        if let (Location::Modes, Arg::Value(bytes)) = (&binding.location, &binding.resource)
            && dword(bytes) > 0xff
        {
            return Err(refuse(format!("modes is {:#x}; expected two fields of four bits", dword(bytes))));
        }
    }
    let is_bound = |location: Location| bindings.iter().any(|other| key(&other.location) == key(&location));
    let refuse = |problem| Err(Error::Launch { kernel: kernel.name().to_owned(), problem });
    let needs = &object(kernel)?.needs;
    if let Some(n) = needs.semantics.iter().find(|n| !is_bound(Location::Semantic(**n))) {
        return refuse(format!(
            "it fetches semantic {n}; bind the register that receives it, such as semantic{n}=1"
        ));
    }
    if let Some(n) = needs.jump_constants.iter().find(|n| !is_bound(Location::JumpTable(**n))) {
        return refuse(format!("a jump table depends on constant {n}; bind it, such as jumptable{n}=0"));
    }
    let attribute = bindings.iter().find(|binding| fetch::attribute(binding).is_some());
    match (needs.calls_fetch_program, attribute) {
        (true, None) => {
            return refuse(
                "`call_fs` calls a fetch program, which loads the attributes of vertices; bind them, such as \
                 attrib0=positions[format:rgba32f]"
                    .to_owned(),
            );
        }
        (false, Some(binding)) => {
            return refuse(format!(
                "{} is an attribute, and the program calls no fetch program (`call_fs`)",
                binding.location
            ));
        }
        _ => {}
    }
    check_targets(kernel, bindings)?;
    check_fetches(kernel, bindings)?;
    check_comparisons(kernel, bindings)
}

/// Checks that accesses to targets that are images are accesses to texels.
fn check_targets(kernel: &Kernel, bindings: &[Binding]) -> Result<()> {
    let images = bindings.iter().filter_map(|binding| match (&binding.location, &binding.resource) {
        (Location::Target { number, .. }, Arg::Image(image)) if !image.desc().is_buffer => {
            Some((*number, image.desc().format))
        }
        _ => None,
    });
    for (image, format) in images {
        for &TargetAccess { op, number, is_indexed, reaches_images } in &object(kernel)?.needs.target_accesses
        {
            let is_there = if is_indexed { image >= number } else { image == number };
            // The dwords of a texel would need as many of the return buffer.
            let reads = matches!(op, Op::MemRatNopRtn | Op::MemRatCachelessNopRtn);
            let is_wide = reads && format.texel.data.bytes() > 4;
            let problem = match is_there {
                true if !reaches_images => {
                    "only typed stores and atomic operations of one texel, without an index register, access images"
                }
                true if is_wide => "only texels of up to 32 bits are returned",
                _ => continue,
            };
            let op = wavemill_asm::cayman::mnemonic(op);
            let problem = format!("rat{image} is an image, and `{op}` accesses rat{number}: {problem}");
            return Err(Error::Launch { kernel: kernel.name().to_owned(), problem });
        }
    }
    Ok(())
}

/// Checks that fetches from buffers find buffers, and those from textures find textures.
fn check_fetches(kernel: &Kernel, bindings: &[Binding]) -> Result<()> {
    for Fetches { op, number, is_texture } in &object(kernel)?.needs.fetches {
        let found = bindings.iter().find_map(|binding| match (&binding.location, &binding.resource) {
            (Location::Buffer { number: n, .. }, _) if n == number => Some((false, true)),
            (Location::Texture(n), Arg::Image(image)) if n == number => Some((true, image.desc().is_buffer)),
            _ => None,
        });
        let problem = match (is_texture, found) {
            (false, Some((true, false))) => format!(
                "`{}` fetches from buffer {number}, but tex{number} is an image; bind buf{number} to a buffer, or an \
                 image1d_buffer",
                wavemill_asm::cayman::mnemonic(*op)
            ),
            (true, Some((false, _))) => format!(
                "`{}` fetches from texture {number}, but buf{number} is a buffer; bind tex{number} to an image",
                wavemill_asm::cayman::mnemonic(*op)
            ),
            _ => continue,
        };
        return Err(Error::Launch { kernel: kernel.name().to_owned(), problem });
    }
    Ok(())
}

/// Checks that samplers that compare have a comparison.
fn check_comparisons(kernel: &Kernel, bindings: &[Binding]) -> Result<()> {
    let compares = &object(kernel)?.needs.compares;
    // An index register may lead to any of them: one that compares is enough.
    let without = |wanted: &Compares| {
        let samplers = || {
            bindings.iter().filter_map(|binding| match (&binding.location, &binding.resource) {
                (Location::Sampler(n), Arg::Sampler(sampler)) => Some((*n, sampler.compare())),
                _ => None,
            })
        };
        let fits = |n: u16| if wanted.is_indexed { n >= wanted.sampler } else { n == wanted.sampler };
        let mut those = samplers().filter(|(n, _)| fits(*n));
        let (first, _) = those.clone().next()?;
        those.all(|(_, compare)| compare.is_none()).then_some(first)
    };
    let missing = compares.iter().find_map(|wanted| Some((wanted, without(wanted)?)));
    let Some((wanted, number)) = missing else { return Ok(()) };
    let op = wavemill_asm::cayman::mnemonic(wanted.op);
    let problem = format!(
        "smp{number} is a sampler without a comparison, and `{op}` compares through it; add a comparison, such \
         as sampler[compare_less_equal]"
    );
    Err(Error::Launch { kernel: kernel.name().to_owned(), problem })
}

/// What tells locations apart: strides and formats do not.
fn key(location: &Location) -> (u8, u16) {
    match *location {
        Location::Constants(n) => (0, n),
        // Buffers and textures share their numbers (HD 6900 ISA 9.3, 9.4).
        Location::Buffer { number, .. } | Location::Texture(number) => (1, number),
        Location::Attribute { number, .. } => (1, fetch::resource(number)),
        Location::Target { number, .. } => (2, number),
        Location::Returns => (3, 0),
        Location::Sampler(n) => (5, n),
        Location::Register { register, channel } => (6, 4 * register + channel),
        Location::Stream { stream, buffer, .. } => (7, registers::stream_entry(stream, buffer)),
        Location::Ring { number, .. } => (8, number),
        Location::Scatter { .. } => (9, 0),
        Location::Lds => (10, 0),
        Location::Parameters => (11, 0),
        Location::Booleans => (12, 0),
        Location::Loop(n) => (13, n),
        Location::Modes => (14, 0),
        Location::Semantic(n) => (21, n),
        Location::JumpTable(n) => (22, n),
        Location::Export(target) => match target {
            ExportTarget::Colour(n) => (15, n.into()),
            ExportTarget::Depth => (16, 0),
            ExportTarget::Nothing => (17, 0),
            ExportTarget::Position(n) => (18, n.into()),
            ExportTarget::Parameter(n) => (19, n.into()),
            ExportTarget::Other(n) => (20, n.into()),
        },
    }
}

/// The dword of a value.
fn dword(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The cells of a buffer: address, bytes, format.
fn cells(buffer: &Buffer, format: u32) -> [u32; 4] {
    let address = buffer.address();
    [address as u32, (address >> 32) as u32, u32::try_from(buffer.size()).unwrap_or(u32::MAX), format]
}

impl LaunchMemory for Memory {
    fn fill(self: Box<Self>, kernel: &Kernel, plan: &Plan, _: &ServiceAddresses) -> Result<Start> {
        let Memory { resources, samplers, writes, semantics, scratch, fetch_program } = *self;
        let mut init = InitialState {
            wave: llvm::wave(plan, &scratch),
            cells: Vec::new(),
            rows: Vec::new(),
            lds: Vec::new(),
            loops: [0; LANES],
            jump_tables: [0; LANES],
        };
        let refuse = |problem| Err(Error::Launch { kernel: kernel.name().to_owned(), problem });
        if plan.geometry.offset != [0; 3] {
            return refuse("a launch with bindings has no global offset".to_owned());
        }
        let mut registers_of_semantics = [0; SEMANTICS];
        for (cell, table) in [
            (registers::RESOURCE_TABLE, &resources),
            (registers::SAMPLER_TABLE, &samplers),
            (registers::WRITE_TABLE, &writes),
            (registers::SEMANTIC_TABLE, &semantics),
        ] {
            init.set_pair(cell, table.address());
        }
        let mut context = llvm::modes(&plan.bindings);
        if let Some(module) = &fetch_program {
            init.set_pair(registers::FETCH_PROGRAM, fetch::address(module)?);
            // A binding of r0.x comes later.
            init.rows.push((registers::gpr(0, 0), Source::Number));
        }
        for Binding { location, resource } in &plan.bindings {
            match (location, resource) {
                (Location::Attribute { number, stride, format }, Arg::Buffer(buffer)) => {
                    let texels = cells(buffer, format.buffer_word());
                    init.set_buffer(&resources, fetch::resource(*number), texels, *stride)?;
                }
                (Location::Constants(n), Arg::Buffer(buffer)) => {
                    init.set_pair(registers::bank(*n), buffer.address());
                }
                (Location::Buffer { number, stride }, Arg::Buffer(buffer)) => {
                    init.set_buffer(&resources, *number, cells(buffer, DWORDS), *stride)?;
                }
                (Location::Target { number, unit, format }, Arg::Buffer(buffer)) => {
                    let format = format.map_or(DWORDS, ImageFormat::buffer_word);
                    init.set_all(registers::random_access_target(*number), cells(buffer, format));
                    init.cells.push((registers::target_unit(*number), *unit));
                }
                (Location::Target { number, .. }, Arg::Image(image)) if image.desc().is_buffer => {
                    let format = image.desc().format;
                    let texels = cells(image.memory(), format.buffer_word());
                    init.set_all(registers::random_access_target(*number), texels);
                    init.cells.push((registers::target_unit(*number), format.texel.data.bytes()));
                }
                (Location::Target { number, .. }, Arg::Image(image)) => {
                    let entry = registers::target_image(*number);
                    write(&resources, usize::from(entry) * RESOURCE, &image.words()?)?;
                    context |= image_target(*number);
                }
                (Location::Returns, Arg::Buffer(buffer)) => {
                    init.set_all(registers::RETURN_BUFFER, cells(buffer, DWORDS));
                }
                (Location::Texture(n), Arg::Image(image)) if image.desc().is_buffer => {
                    let format = image.desc().format;
                    let texels = cells(image.memory(), format.buffer_word());
                    // A fetch from a texture finds that the resource is a buffer.
                    write(&resources, usize::from(*n) * RESOURCE, &texels)?;
                    init.set_buffer(&resources, *n, texels, format.texel.data.bytes())?;
                }
                (Location::Texture(n), Arg::Image(image)) => {
                    let words = image.words()?;
                    write(&resources, usize::from(*n) * RESOURCE, &words)?;
                }
                (Location::Sampler(n), Arg::Sampler(sampler)) => {
                    let words = sampler.words()?;
                    write(&samplers, usize::from(*n) * SAMPLER, &words)?;
                }
                (Location::Register { register, channel }, value) => {
                    let row = registers::gpr(*register, *channel);
                    let source = match value {
                        Arg::Buffer(buffer) => {
                            let items: u64 = plan.geometry.global_size.iter().product();
                            if buffer.size() / 4 < items {
                                let size = buffer.size();
                                return refuse(format!(
                                    "{location} is a buffer of {size} bytes; expected 4 bytes for each of \
                                     {items} work-items"
                                ));
                            }
                            Source::Items(buffer.to_vec::<u32>()?)
                        }
                        Arg::Value(bytes) => Source::Value(dword(bytes)),
                        _ => continue,
                    };
                    init.rows.push((row, source));
                }
                (Location::Stream { stream, buffer: number, stride }, Arg::Buffer(buffer)) => {
                    let entry = registers::stream_entry(*stream, *number);
                    write(&writes, usize::from(entry) * WRITE, &cells(buffer, *stride))?;
                }
                (Location::Ring { number, stride }, Arg::Buffer(buffer)) => {
                    let entry = registers::ring_entry(*number);
                    write(&writes, usize::from(entry) * WRITE, &cells(buffer, *stride))?;
                }
                (Location::Scatter { stride }, Arg::Buffer(buffer)) => {
                    let entry = registers::SCATTER_ENTRY;
                    write(&writes, usize::from(entry) * WRITE, &cells(buffer, *stride))?;
                }
                (Location::Lds, Arg::Buffer(buffer)) => {
                    let (size, lds) = (buffer.size(), plan.lds);
                    if size > lds.into() {
                        return refuse(format!(
                            "lds is a buffer of {size} bytes, but a workgroup has {lds} bytes of LDS; request more dynamic LDS"
                        ));
                    }
                    init.lds = buffer.to_vec::<u8>()?;
                }
                (Location::Parameters, Arg::Value(bytes)) => {
                    init.cells.push((registers::PARAMETERS, dword(bytes)));
                }
                (Location::Booleans, Arg::Value(bytes)) => {
                    init.cells.push((registers::BOOLEANS, dword(bytes)));
                }
                (Location::Loop(n), Arg::Value(bytes)) => {
                    init.loops[usize::from(*n) % LANES] = dword(bytes);
                }
                (Location::JumpTable(n), Arg::Value(bytes)) => {
                    init.jump_tables[usize::from(*n) % LANES] = dword(bytes);
                }
                (Location::Semantic(n), Arg::Value(bytes)) => {
                    registers_of_semantics[usize::from(*n) % SEMANTICS] = dword(bytes) as u8;
                }
                // `check` has refused these.
                _ => {}
            }
        }
        semantics.write_bytes(0, &registers_of_semantics)?;
        Ok(Start {
            init: Box::new(init),
            entry: kernel.entry(),
            context,
            arguments: None,
            absent_grid_sync: None,
            _memory: vec![resources, samplers, writes, semantics, scratch],
            _code: fetch_program,
        })
    }
}

/// Writes dwords of a table.
fn write(table: &Buffer, offset: usize, words: &[u32]) -> Result<()> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    table.write_bytes(offset as u64, &bytes)
}

/// What a register has at the start.
#[derive(Debug)]
enum Source {
    /// The same in all lanes.
    Value(u32),
    /// A dword for each work-item.
    Items(Vec<u32>),
    /// The number of the work-item.
    Number,
}

/// Everything that the initial state of a wave depends on.
#[derive(Debug)]
struct InitialState {
    wave: Wave,
    cells: Vec<(Uni, u32)>,
    rows: Vec<(Row, Source)>,
    lds: Vec<u8>,
    loops: [u32; LANES],
    jump_tables: [u32; LANES],
}

impl InitialState {
    fn set_pair(&mut self, first: Uni, value: u64) {
        self.cells.extend([(first, value as u32), (first.plus(1), (value >> 32) as u32)]);
    }

    fn set_all(&mut self, first: Uni, words: [u32; 4]) {
        self.cells.extend((0..).zip(words).map(|(n, word)| (first.plus(n), word)));
    }

    /// A buffer of fetches: cells, or an entry of the table of resources.
    fn set_buffer(&mut self, resources: &Buffer, number: u16, words: [u32; 4], stride: u32) -> Result<()> {
        if number < registers::BUFFERS {
            self.set_all(registers::buffer(number), words);
            self.cells.push((registers::stride(number), stride));
            return Ok(());
        }
        let entry: Vec<u32> = words.into_iter().chain([stride]).collect();
        write(resources, usize::from(number) * RESOURCE, &entry)
    }
}

impl WaveInit for InitialState {
    fn work_items(&self, workgroup: [u32; 3]) -> u32 {
        self.wave.work_items(workgroup)
    }

    fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        self.wave.init(workgroup, wave, slot, regs);
        for (cell, value) in &self.cells {
            regs.set_uni(*cell, *value);
        }
        regs.set_row(registers::LOOP_CONSTANTS, &self.loops);
        regs.set_row(registers::JUMPTABLE_CONSTANTS, &self.jump_tables);
        let first = self.wave.first_item(workgroup, wave) as usize;
        // The order of launch. The counter of ordered counts is the first dword of the share.
        regs.set_uni(registers::ORDERED_COUNT, self.wave.number(workgroup, wave) & ORDER);
        // A vertex has the element of its number in streams and rings.
        regs.set_row(registers::WRITE_INDEX, &std::array::from_fn(|lane| (first + lane) as u32));
        for (row, source) in &self.rows {
            let value = |lane: usize| match source {
                Source::Value(value) => *value,
                Source::Number => (first + lane) as u32,
                Source::Items(items) => items.get(first + lane).copied().unwrap_or(0),
            };
            regs.set_row(*row, &std::array::from_fn(value));
        }
    }

    fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        self.wave.scratch(slot)
    }

    fn lds(&self) -> &[u8] {
        &self.lds
    }
}
