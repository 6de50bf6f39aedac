//! Options of a launch: the kernel, its grid, its memory; and the target.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use wavemill::device::TargetChoice;

use super::key::{Key, Read, Scope};
use super::late::{self, Late};
use super::{Group, RunArgs};
use crate::failure::Failure;
use crate::run::bind::BindSpec;
use crate::run::size::Size;
use crate::run::spec::{ArgSpec, is_name};
use crate::text::in_toml;
use crate::{amount, input};

/// The heading of the help page.
const LAUNCH: &str = "Launch";

/// Options of a launch.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct LaunchArgs {
    /// The kernel, by its name in the code object or in the source
    ///
    /// Not needed if there is only one.
    #[arg(long, value_name = "NAME", help_heading = LAUNCH)]
    pub kernel: Option<String>,
    /// Size of the grid in workgroups: X, X,Y or XxYxZ
    #[arg(long, value_name = "SIZE", help_heading = LAUNCH)]
    pub grid: Option<Late<Size>>,
    /// Size of the grid in work-items: X, X,Y or XxYxZ
    #[arg(long, value_name = "SIZE", conflicts_with = "grid", help_heading = LAUNCH)]
    pub global_size: Option<Late<Size>>,
    /// Size of a workgroup in work-items: X, X,Y or XxYxZ
    #[arg(long, value_name = "SIZE", help_heading = LAUNCH)]
    pub block: Option<Late<Size>>,
    /// First global id (OpenCL's global work offset): X, X,Y or X,Y,Z
    #[arg(long, value_name = "OFFSET", hide_short_help = true, help_heading = LAUNCH)]
    pub offset: Option<Late<[u64; 3]>>,
    /// Bytes of LDS beyond what the kernel declares, such as 64K
    ///
    /// This is HIP's third launch parameter, the size of `extern __shared__` arrays.
    #[arg(long, value_name = "BYTES", value_parser = amount::lds, help_heading = LAUNCH)]
    pub dynamic_lds: Option<u32>,
    /// Bytes of private memory of a work-item, such as 64K: a larger stack
    ///
    /// Recursion, calls of unknown functions and arrays of variable size need a stack of unknown size: `wavemill info` shows
    /// which kernels need one, and its default is 16K. Other kernels get the size that their code object requests; recursion
    /// in OpenCL, which compilers do not count, needs more. HIP's hipLimitStackSize does the same.
    #[arg(long, value_name = "BYTES", value_parser = amount::stack, hide_short_help = true, help_heading = LAUNCH)]
    pub stack: Option<u32>,
    /// Refuse to run if the chip cannot hold all workgroups at once
    ///
    /// It also prepares grid.sync() of HIP: it sets GWS resource 0 to the number of workgroups minus 1, for
    /// `ds_gws_barrier`, and passes the structure in memory that ROCm 7's device library uses on gfx942 and gfx950.
    /// hipLaunchCooperativeKernel does the same.
    #[arg(long, hide_short_help = true, help_heading = LAUNCH)]
    pub cooperative: bool,
    /// Run waves that trap through this handler: a source, or a file with GPU code
    ///
    /// A wave enters it at `s_trap`, at enabled exceptions, at illegal accesses and instructions, and after each instruction
    /// under MODE.DEBUG. It begins at the first instruction of the file's code, or at the function after a colon:
    /// handler.s:entry.
    #[arg(long, value_name = "FILE", value_parser = HandlerFile::parse, hide_short_help = true, help_heading = LAUNCH)]
    pub trap_handler: Option<HandlerFile>,
    /// Memory of the trap handler, whose address is in TMA: a buffer such as log:u32[64]
    ///
    /// It has the form of an argument. `--print log` prints it, and log=&out is the buffer of the argument out.
    #[arg(long, value_name = "BUFFER", hide_short_help = true, help_heading = LAUNCH)]
    pub trap_memory: Option<Late<ArgSpec>>,
    /// The global data share: a buffer such as counts:u32[64]=@counts.npy
    ///
    /// It has the form of an argument. Its contents are copied to the beginning of the global data share before the launch,
    /// and back after it: `--print counts`, `--out` and `--expect` see what the kernel left. Only cayman, gfx900,
    /// gfx906 and gfx908 have a global data share, of 64 KiB.
    #[arg(long, value_name = "BUFFER", hide_short_help = true, help_heading = LAUNCH)]
    pub gds: Option<Late<ArgSpec>>,
    /// Cayman: a resource of a shader, such as cb0=constants, buf1=data[stride:16], r2.x=ids
    ///
    /// Then arguments are only named, and each has at least one location: cb0 to cb15 (constants), buf0 to buf175, rat0 to
    /// rat11, returns, tex0 to tex175 (an image), smp0 to smp17 (a sampler), r0.x to r127.w (a dword for each work-item, or a
    /// number), stream0.0, ring0, scatter, lds, parameters, booleans, loop0, modes, pix0, pos60 and param0 (exports: four
    /// dwords for each work-item). Repeat the option for each.
    #[arg(long, value_name = "LOCATION=RESOURCE", hide_short_help = true, help_heading = LAUNCH)]
    pub bind: Vec<Late<BindSpec>>,
    /// Launch this many times in a row, on the same buffers
    #[arg(long, value_name = "N", value_parser = amount::times, hide_short_help = true, help_heading = LAUNCH)]
    pub repeat: Option<NonZeroU32>,
    /// Target or product to run on, such as gfx942 or mi210
    ///
    /// Target features may follow: gfx90a:xnack-. `wavemill targets` lists the names. Not needed if the file has code
    /// for one target only. OpenCL C and HIP are compiled for gfx942 by default.
    #[arg(long, value_name = "TARGET", value_parser = input::parse_choice_to_run, help_heading = LAUNCH)]
    pub target: Option<TargetChoice>,
    /// Write a launch file for the kernel instead of running it
    ///
    /// Without a name, it is written to the standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-", conflicts_with = "trace", help_heading = LAUNCH)]
    pub init: Option<PathBuf>,
    /// Whether the command line gives the size of the grid; then the launch file's size does not
    /// count.
    #[arg(skip)]
    is_sized: bool,
}

/// The file with a trap handler, and the handler's function in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandlerFile {
    pub file: PathBuf,
    pub function: Option<String>,
}

impl HandlerFile {
    /// Parses `FILE` or `FILE:FUNCTION`. A colon in a folder's name is part of the file.
    fn parse(text: &str) -> Result<HandlerFile, String> {
        let (file, function) = match text.rsplit_once(':') {
            Some((file, function)) if !file.is_empty() && is_name(function) => (file, Some(function)),
            _ => (text, None),
        };
        if file.is_empty() {
            return Err("expected a file, or FILE:FUNCTION".to_owned());
        }
        Ok(HandlerFile { file: file.into(), function: function.map(str::to_owned) })
    }

    /// As on a command line.
    fn text(&self) -> String {
        match &self.function {
            Some(function) => format!("{}:{function}", self.file.display()),
            None => self.file.display().to_string(),
        }
    }
}

impl LaunchArgs {
    /// Workgroups of the grid.
    pub(crate) fn grid(&self) -> Option<Size> {
        late::value(&self.grid)
    }

    /// Work-items of the grid.
    pub(crate) fn global_size(&self) -> Option<Size> {
        late::value(&self.global_size)
    }

    /// Work-items of a workgroup.
    pub(crate) fn block(&self) -> Option<Size> {
        late::value(&self.block)
    }

    /// The first global id.
    pub(crate) fn offset(&self) -> [u64; 3] {
        late::value(&self.offset).unwrap_or_default()
    }

    /// Bytes of LDS beyond what the kernel declares.
    pub(crate) fn dynamic_lds(&self) -> u32 {
        self.dynamic_lds.unwrap_or(0)
    }

    /// The memory of the trap handler.
    pub(crate) fn trap_memory(&self) -> Option<ArgSpec> {
        late::value(&self.trap_memory)
    }

    /// The buffer of the global data share.
    pub(crate) fn gds(&self) -> Option<ArgSpec> {
        late::value(&self.gds)
    }

    /// Resources at locations.
    pub(crate) fn bindings(&self) -> Vec<BindSpec> {
        self.bind.iter().filter_map(Late::value).collect()
    }

    /// How often the launch runs.
    pub(crate) fn times(&self) -> u32 {
        self.repeat.map_or(1, NonZeroU32::get)
    }
}

pub(super) const GROUP: Group = Group {
    keys: &[
        Key {
            name: "target",
            scope: Scope::Run,
            read: Read::Text(|args, text, _| {
                if args.launch.target.is_none() {
                    let target = input::parse_choice_to_run(text).map_err(Failure::usage)?;
                    args.launch.target = Some(target);
                }
                Ok(())
            }),
            is_named: true,
            listed: (3, 0),
            written: Some((1, |args| {
                args.launch.target.as_ref().map(|choice| in_toml(&target_text(choice)))
            })),
        },
        Key {
            name: "kernel",
            scope: Scope::LAUNCH,
            read: Read::Text(|args, name, _| {
                args.launch.kernel.get_or_insert_with(|| name.clone());
                Ok(())
            }),
            is_named: true,
            listed: (4, 1),
            written: None,
        },
        Key {
            name: "grid",
            scope: Scope::Launch { unless: "global-size" },
            read: Read::Size(|args, size, _| {
                if !args.launch.is_sized {
                    args.launch.grid = Some(Late::read(size.size()?));
                }
                Ok(())
            }),
            is_named: true,
            listed: (6, 3),
            written: None,
        },
        Key {
            name: "global-size",
            scope: Scope::Launch { unless: "grid" },
            read: Read::Size(|args, size, _| {
                if !args.launch.is_sized {
                    args.launch.global_size = Some(Late::read(size.size()?));
                }
                Ok(())
            }),
            is_named: true,
            listed: (5, 2),
            written: None,
        },
        Key {
            name: "block",
            scope: Scope::LAUNCH,
            read: Read::Size(|args, size, _| {
                if args.launch.block.is_none() {
                    args.launch.block = Some(Late::read(size.size()?));
                }
                Ok(())
            }),
            is_named: true,
            listed: (7, 4),
            written: None,
        },
        Key {
            name: "offset",
            scope: Scope::LAUNCH,
            read: Read::Size(|args, offset, _| {
                if args.launch.offset.is_none() {
                    args.launch.offset = Some(Late::read(offset.offset()?));
                }
                Ok(())
            }),
            is_named: true,
            listed: (8, 5),
            written: Some((7, |args| {
                let offset = args.launch.offset();
                (offset != [0; 3]).then(|| format!("{offset:?}"))
            })),
        },
        Key {
            name: "dynamic-lds",
            scope: Scope::LAUNCH,
            read: Read::Bytes(|args, size, _| {
                if args.launch.dynamic_lds.is_none() {
                    args.launch.dynamic_lds = Some(amount::lds(&size.text()).map_err(Failure::usage)?);
                }
                Ok(())
            }),
            is_named: true,
            listed: (9, 6),
            written: Some((8, |args| {
                args.launch.dynamic_lds.filter(|size| *size > 0).map(|size| size.to_string())
            })),
        },
        Key {
            name: "stack",
            scope: Scope::LAUNCH,
            read: Read::Bytes(|args, size, _| {
                let size = amount::stack(&size.text()).map_err(Failure::usage)?;
                args.launch.stack.get_or_insert(size);
                Ok(())
            }),
            is_named: true,
            listed: (10, 7),
            written: Some((9, |args| args.launch.stack.map(|size| size.to_string()))),
        },
        Key {
            name: "cooperative",
            scope: Scope::LAUNCH,
            read: Read::Flag(|args, on, _| {
                args.launch.cooperative |= *on;
                Ok(())
            }),
            is_named: true,
            listed: (26, 8),
            written: Some((10, |args| args.launch.cooperative.then(|| "true".to_owned()))),
        },
        Key {
            name: "trap-handler",
            scope: Scope::LAUNCH,
            read: Read::Text(|args, text, base| {
                if args.launch.trap_handler.is_none() {
                    let handler = HandlerFile::parse(text).map_err(Failure::usage)?;
                    args.launch.trap_handler = Some(HandlerFile { file: base.join(handler.file), ..handler });
                }
                Ok(())
            }),
            is_named: true,
            listed: (33, 15),
            written: Some((26, |args| args.launch.trap_handler.as_ref().map(|own| in_toml(&own.text())))),
        },
        Key {
            name: "trap-memory",
            scope: Scope::LAUNCH,
            read: Read::Text(|args, text, base| {
                if args.launch.trap_memory.is_none() {
                    args.launch.trap_memory = Some(Late::read(ArgSpec::parse(text, base)?));
                }
                Ok(())
            }),
            is_named: true,
            listed: (34, 16),
            written: Some((27, |args| args.launch.trap_memory().map(|own| in_toml(&own.text)))),
        },
        Key {
            name: "gds",
            scope: Scope::LAUNCH,
            read: Read::Text(|args, text, base| {
                if args.launch.gds.is_none() {
                    args.launch.gds = Some(Late::read(ArgSpec::parse(text, base)?));
                }
                Ok(())
            }),
            is_named: true,
            listed: (36, 17),
            written: Some((29, |args| args.launch.gds().map(|own| in_toml(&own.text)))),
        },
        Key {
            name: "bind",
            scope: Scope::LAUNCH,
            read: Read::Texts(|args, texts, _| {
                if args.launch.bind.is_empty() {
                    for text in texts {
                        args.launch.bind.push(Late::read(BindSpec::parse(text)?));
                    }
                }
                Ok(())
            }),
            is_named: true,
            listed: (37, 18),
            written: Some((30, |args| {
                let texts: Vec<String> =
                    args.launch.bindings().iter().map(|binding| in_toml(binding.text())).collect();
                (!texts.is_empty()).then(|| format!("[{}]", texts.join(", ")))
            })),
        },
        Key {
            name: "repeat",
            scope: Scope::OneLaunch { question: "which one is repeated?" },
            read: Read::Whole(|args, times, _| {
                let times = amount::times(&times.text()).map_err(Failure::usage)?;
                args.launch.repeat.get_or_insert(times);
                Ok(())
            }),
            is_named: true,
            listed: (16, 14),
            written: Some((19, |args| args.launch.repeat.map(|times| times.to_string()))),
        },
    ],
    settle: |args| {
        let launch = &mut args.launch;
        late::settle(&mut launch.grid, "--grid", str::parse)?;
        late::settle(&mut launch.global_size, "--global-size", str::parse)?;
        late::settle(&mut launch.block, "--block", str::parse)?;
        late::settle(&mut launch.offset, "--offset", Size::offset)?;
        late::settle(&mut launch.trap_memory, "--trap-memory", |text| ArgSpec::parse(text, Path::new("")))?;
        late::settle(&mut launch.gds, "--gds", |text| ArgSpec::parse(text, Path::new("")))?;
        for bind in &mut launch.bind {
            bind.settle(BindSpec::parse).map_err(|failure| failure.within("--bind"))?;
        }
        launch.is_sized = launch.grid.is_some() || launch.global_size.is_some();
        Ok(())
    },
    complete: complete_size,
    of_one_launch: |args| {
        let own = &args.launch;
        let given = [
            ("--kernel", own.kernel.is_some()),
            ("--grid", own.grid.is_some()),
            ("--global-size", own.global_size.is_some()),
            ("--block", own.block.is_some()),
            ("--offset", own.offset.is_some()),
            ("--dynamic-lds", own.dynamic_lds.is_some()),
            ("--stack", own.stack.is_some()),
            ("--cooperative", own.cooperative),
            ("--gds", own.gds.is_some()),
            ("--bind", !own.bind.is_empty()),
            ("--repeat", own.repeat.is_some()),
            ("--init", own.init.is_some()),
        ];
        given.into_iter().find_map(|(option, given)| given.then_some(option))
    },
    writes_alone: |args| args.launch.init.as_ref().map(|_| "--init"),
    launch: |args, launch| {
        let own = &args.launch;
        let launch =
            launch.global_offset(own.offset()).dynamic_lds(own.dynamic_lds()).cooperative(own.cooperative);
        match own.stack {
            Some(bytes) => launch.stack(bytes),
            None => launch,
        }
    },
    ..Group::NONE
};

/// Rejects two sizes of a grid.
fn complete_size(args: &RunArgs) -> Result<(), Failure> {
    match (args.launch.is_sized, &args.launch.grid, &args.launch.global_size) {
        (false, Some(_), Some(_)) => {
            Err(Failure::usage("grid (workgroups) and global-size (work-items) are both given; write one"))
        }
        _ => Ok(()),
    }
}

/// A target as on a command line: the product, if one was named, with the features that were set.
pub(crate) fn target_text(choice: &TargetChoice) -> String {
    let target = choice.target().to_string();
    match choice.product() {
        Some(product) => target.replacen(product.target.name(), product.name, 1),
        None => target,
    }
}
