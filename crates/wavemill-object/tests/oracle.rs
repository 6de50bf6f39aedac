//! Compares the results for the same files with LLVM's tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use wavemill_object::{CodeObject, CodeObjectVersion, KernelDescriptor};
use wavemill_oracle::{Failed, SplitMix64, Suite, Tool, objdump};

mod support;
use support::{CODE_OBJECTS, fixture, path};

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.oracle_test("descriptors of the fixtures", &[Tool::LlvmObjdump], || {
        // The tool only decodes descriptors of version 3 and later.
        CODE_OBJECTS[1..].iter().try_for_each(|name| descriptors(&path(name)))
    });
    suite.oracle_test("random descriptors", &[Tool::LlvmObjdump], random_descriptors);
    suite.oracle_test("symbols", &[Tool::LlvmObjdump], symbols);
    suite.oracle_test("relocations", &[Tool::LlvmObjdump], relocations);
    suite.oracle_test("metadata", &[READELF], metadata);
    suite.oracle_test("target and features", &[READELF], targets);
    suite.run()
}

const READELF: Tool = Tool::Program("llvm-readelf-22");

fn readelf(options: &[&str], name: &str) -> Result<String, Failed> {
    let output = Command::new(READELF.path()?).args(options).arg(path(name)).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The directives for a descriptor.
fn directives(kd: &KernelDescriptor, object: &CodeObject<'_>) -> BTreeMap<&'static str, i64> {
    let processor = &object.target().processor;
    let registers = kd.registers(processor).expect("a known processor");
    let (one, two, properties) = (kd.rsrc1, kd.rsrc2, kd.properties);
    let mut out = BTreeMap::from([
        ("group_segment_fixed_size", i64::from(kd.group_segment_fixed_size)),
        ("private_segment_fixed_size", kd.private_segment_fixed_size.into()),
        ("kernarg_size", kd.kernarg_size.into()),
        ("next_free_vgpr", registers.vgprs.into()),
        // The tool prints the encoded number, in units of 8; Vega allocates in units of 16.
        ("next_free_sgpr", ((one.granulated_sgpr_count() + 1) * 8).into()),
        ("float_round_mode_32", one.float_round_mode_32().into()),
        ("float_round_mode_16_64", one.float_round_mode_16_64().into()),
        ("float_denorm_mode_32", one.float_denorm_mode_32().into()),
        ("float_denorm_mode_16_64", one.float_denorm_mode_16_64().into()),
        ("dx10_clamp", one.dx10_clamp().into()),
        ("ieee_mode", one.ieee_mode().into()),
        ("fp16_overflow", one.fp16_overflow().into()),
        ("system_sgpr_workgroup_id_x", two.workgroup_id_x().into()),
        ("system_sgpr_workgroup_id_y", two.workgroup_id_y().into()),
        ("system_sgpr_workgroup_id_z", two.workgroup_id_z().into()),
        ("system_sgpr_workgroup_info", two.workgroup_info().into()),
        ("system_vgpr_workitem_id", two.workitem_id().into()),
        ("exception_fp_ieee_invalid_op", two.exception_fp_invalid().into()),
        ("exception_fp_denorm_src", two.exception_fp_denormal_source().into()),
        ("exception_fp_ieee_div_zero", two.exception_fp_divide_by_zero().into()),
        ("exception_fp_ieee_overflow", two.exception_fp_overflow().into()),
        ("exception_fp_ieee_underflow", two.exception_fp_underflow().into()),
        ("exception_fp_ieee_inexact", two.exception_fp_inexact().into()),
        ("exception_int_div_zero", two.exception_int_divide_by_zero().into()),
        ("user_sgpr_dispatch_ptr", properties.dispatch_ptr().into()),
        ("user_sgpr_queue_ptr", properties.queue_ptr().into()),
        ("user_sgpr_kernarg_segment_ptr", properties.kernarg_segment_ptr().into()),
        ("user_sgpr_dispatch_id", properties.dispatch_id().into()),
        ("user_sgpr_private_segment_size", properties.private_segment_size().into()),
    ]);
    // Only version 4 hides this bit from the tool, which treats version 3 as the newest.
    if object.version() != CodeObjectVersion::V4 {
        out.insert("uses_dynamic_stack", properties.uses_dynamic_stack().into());
    }
    let name = processor.name();
    let unified = registers.accum_offset.is_some();
    if let Some(offset) = registers.accum_offset {
        out.insert("accum_offset", offset.into());
        out.insert("tg_split", kd.rsrc3_gfx90a().tg_split().into());
    }
    // Zero is the default, and the tool omits it.
    if unified && kd.kernarg_preload.length() != 0 {
        out.insert("user_sgpr_kernarg_preload_length", kd.kernarg_preload.length().into());
    }
    if unified && kd.kernarg_preload.offset() != 0 {
        out.insert("user_sgpr_kernarg_preload_offset", kd.kernarg_preload.offset().into());
    }
    if unified && name != "gfx90a" {
        // Architected flat scratch: other names, and no buffer.
        out.insert("enable_private_segment", two.enable_private_segment().into());
    } else {
        out.insert("system_sgpr_private_segment_wavefront_offset", two.enable_private_segment().into());
        out.insert("user_sgpr_private_segment_buffer", properties.private_segment_buffer().into());
        out.insert("user_sgpr_flat_scratch_init", properties.flat_scratch_init().into());
    }
    out
}

/// Compares every descriptor of a file with the output of `llvm-objdump`.
fn descriptors(file: &Path) -> Result<(), Failed> {
    let data = std::fs::read(file)?;
    let object = CodeObject::parse(&data)?;
    let text = objdump(file, &["-D", "-j", ".rodata"])?;
    let mut seen = 0;
    for block in text.split(".amdhsa_kernel ").skip(1) {
        let mut lines = block.lines();
        let name = lines.next().unwrap_or_default().trim();
        let kernel =
            object.kernels().iter().find(|kernel| kernel.name == name).ok_or("a kernel unknown here")?;
        let theirs: BTreeMap<_, _> = lines
            .take_while(|line| !line.contains(".end_amdhsa_kernel"))
            .filter_map(|line| line.trim().strip_prefix(".amdhsa_")?.split_once(' '))
            // The tool cannot separate these from the counts that include them.
            .filter(|(key, _)| !key.starts_with("reserve_"))
            .filter_map(|(key, value)| Some((key, value.trim().parse::<i64>().ok()?)))
            .collect();
        assert_eq!(directives(&kernel.descriptor, &object), theirs, "{}: {name}", file.display());
        seen += 1;
    }
    assert_eq!(seen, object.kernels().len(), "{}", file.display());
    Ok(())
}

/// Descriptors with random values in every field; reserved bits stay 0.
fn random_descriptors() -> Result<(), Failed> {
    // rsrc1 without PRIORITY, PRIV, DEBUG_MODE, BULKY, CDBG_USER and reserved bits.
    const RSRC1: u32 = 0x04af_f3ff;
    // rsrc2 without the trap handler, address watch, memory exceptions and the size of local memory.
    const RSRC2: u32 = 0x7f00_1fbf;
    let folder = Folder::new()?;
    let mut random = SplitMix64::new(0x0b1e_c7f1_1e50);
    for (name, properties) in
        [("gfx906-v4.co", 0x7f), ("gfx90a-v5.co", 0x87f), ("gfx942-v5.co", 0x85e), ("gfx950-v6.co", 0x85e)]
    {
        for round in 0..16 {
            let mut data = fixture(name);
            let places: Vec<_> = {
                let object = CodeObject::parse(&data)?;
                let segments = object.segments().to_vec();
                let place = |address: u64| {
                    let segment = segments.iter().find(|segment| segment.holds(address, 64))?;
                    Some((segment.file_offset + address - segment.address) as usize)
                };
                object.kernels().iter().filter_map(|kernel| place(kernel.descriptor_address)).collect()
            };
            assert_eq!(places.len(), 3);
            for at in places {
                let mut put = |offset: usize, value: u32| {
                    data[at + offset..at + offset + 4].copy_from_slice(&value.to_le_bytes());
                };
                let mut word = |mask: u32| random.next_u64() as u32 & mask;
                put(0, word(0xffff));
                put(4, word(0xffff));
                put(8, word(0xffff));
                put(48, word(RSRC1));
                put(52, word(RSRC2));
                let unified = !name.starts_with("gfx906");
                put(44, if unified { word(0x1_003f) } else { 0 });
                let preload = if unified { word(0xffff) } else { 0 };
                put(56, word(properties) | preload << 16);
            }
            let file = folder.0.join(format!("{round}-{name}"));
            std::fs::write(&file, &data)?;
            descriptors(&file)?;
        }
    }
    Ok(())
}

/// A folder for this run, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failed> {
        let path = std::env::temp_dir().join(format!("wavemill-object-oracle-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn symbols() -> Result<(), Failed> {
    for name in CODE_OBJECTS {
        let data = fixture(name);
        let object = CodeObject::parse(&data)?;
        let text = objdump(&path(name), &["-t"])?;
        // address, flags, section, tab, size, visibility, name
        let mut theirs: Vec<_> = text
            .lines()
            .filter_map(|line| {
                let (left, right) = line.split_once('\t')?;
                let address = u64::from_str_radix(left.split(' ').next()?, 16).ok()?;
                let size = u64::from_str_radix(right.split(' ').next()?, 16).ok()?;
                Some((right.rsplit(' ').next()?.to_owned(), address, size))
            })
            .filter(|(name, ..)| !name.is_empty())
            .collect();
        let mut ours: Vec<_> = object
            .symbols()
            .iter()
            .map(|symbol| (symbol.name.to_string(), symbol.address, symbol.size))
            .collect();
        theirs.sort();
        ours.sort();
        assert!(!ours.is_empty());
        assert_eq!(ours, theirs, "{name}");
    }
    Ok(())
}

fn relocations() -> Result<(), Failed> {
    let mut total = 0;
    for name in CODE_OBJECTS {
        let data = fixture(name);
        let object = CodeObject::parse(&data)?;
        let text = objdump(&path(name), &["-R"])?;
        // address, type, symbol+addend
        let theirs: Vec<_> = text
            .lines()
            .filter(|line| line.contains("R_AMDGPU_"))
            .map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let ours: Vec<_> = object
            .relocations()
            .iter()
            .map(|relocation| {
                let symbol = relocation.symbol.as_ref().map_or("*ABS*", |symbol| &symbol.name);
                let value = match relocation.addend {
                    0 => symbol.to_owned(),
                    addend => format!("{symbol}+{addend:#x}"),
                };
                vec![format!("{:016x}", relocation.address), relocation.kind.to_string(), value]
            })
            .collect();
        assert_eq!(ours, theirs, "{name}");
        total += ours.len();
    }
    assert!(total >= 10);
    Ok(())
}

/// Arguments and sizes, from the metadata that the tool prints as YAML.
fn metadata() -> Result<(), Failed> {
    for name in &CODE_OBJECTS[1..] {
        let data = fixture(name);
        let object = CodeObject::parse(&data)?;
        let text = readelf(&["--notes"], name)?;
        let theirs = |key: &str| -> Vec<String> {
            let values = text.lines().filter_map(|line| {
                let (found, value) = line.trim_start_matches([' ', '-']).split_once(':')?;
                (found == key).then(|| value.trim().trim_matches('\'').to_owned())
            });
            values.collect()
        };
        let kernels = &object.metadata().ok_or("no metadata")?.kernels;
        let args = || kernels.iter().flat_map(|kernel| &kernel.args);
        let numbers = |values: &mut dyn Iterator<Item = Option<u32>>| -> Vec<String> {
            values.flatten().map(|value| value.to_string()).collect()
        };
        let texts =
            |values: &mut dyn Iterator<Item = &str>| -> Vec<String> { values.map(str::to_owned).collect() };
        assert!(!kernels.is_empty());
        assert_eq!(texts(&mut args().map(|arg| arg.value_kind.as_str())), theirs(".value_kind"), "{name}");
        assert_eq!(numbers(&mut args().map(|arg| Some(arg.offset))), theirs(".offset"), "{name}");
        assert_eq!(numbers(&mut args().map(|arg| Some(arg.size))), theirs(".size"), "{name}");
        let types = &mut args().filter_map(|arg| arg.type_name.as_deref());
        assert_eq!(texts(types), theirs(".type_name"), "{name}");
        let spaces = &mut args().filter_map(|arg| arg.address_space.as_ref().map(|space| space.as_str()));
        assert_eq!(texts(spaces), theirs(".address_space"), "{name}");
        assert_eq!(
            texts(&mut kernels.iter().map(|kernel| kernel.symbol.as_str())),
            theirs(".symbol"),
            "{name}"
        );
        for (key, value) in [
            (".vgpr_count", kernels.iter().map(|kernel| kernel.vgpr_count).collect::<Vec<_>>()),
            (".sgpr_count", kernels.iter().map(|kernel| kernel.sgpr_count).collect()),
            (".agpr_count", kernels.iter().map(|kernel| kernel.agpr_count).collect()),
            (".kernarg_segment_size", kernels.iter().map(|kernel| kernel.kernarg_segment_size).collect()),
            (".kernarg_segment_align", kernels.iter().map(|kernel| kernel.kernarg_segment_align).collect()),
            (
                ".max_flat_workgroup_size",
                kernels.iter().map(|kernel| kernel.max_flat_workgroup_size).collect(),
            ),
        ] {
            assert_eq!(numbers(&mut value.into_iter()), theirs(key), "{name}: {key}");
        }
    }
    Ok(())
}

/// `e_flags`, which the tool prints as `0x63f, gfx90a, xnack-, sramecc`.
fn targets() -> Result<(), Failed> {
    for name in &CODE_OBJECTS[2..] {
        let data = fixture(name);
        let object = CodeObject::parse(&data)?;
        let text = readelf(&["-h"], name)?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix("Flags:")).ok_or("no flags")?;
        let mut parts = line.split(',').map(str::trim);
        assert_eq!(parts.next(), Some(format!("{:#x}", object.flags()).as_str()), "{name}");
        assert_eq!(parts.next(), Some(object.target().processor.name().as_ref()), "{name}");
        let mut features: Vec<_> = parts.filter(|part| part.ends_with(['+', '-'])).collect();
        features.sort_unstable();
        let target = object.target().to_string();
        assert_eq!(features, target.split(':').skip(1).collect::<Vec<_>>(), "{name}");
    }
    Ok(())
}
