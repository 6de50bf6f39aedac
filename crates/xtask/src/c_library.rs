//! Installs the C interface as libwavemill: libraries, header, and a file for pkg-config.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Args;
use serde_json::Value;

use crate::generated;

#[derive(Args)]
pub(crate) struct Options {
    /// The folder that gets include, lib and lib/pkgconfig
    #[arg(long, value_name = "FOLDER")]
    prefix: PathBuf,
    /// The folder in which PREFIX is made, for packages
    #[arg(long, value_name = "FOLDER")]
    destdir: Option<PathBuf>,
}

/// The crate.
const PACKAGE: &str = "wavemill-c";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A change of this number may break programs.
const MAJOR: &str = env!("CARGO_PKG_VERSION_MAJOR");

/// Builds the libraries in the release profile, and returns their paths.
fn build() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--package", PACKAGE, "--message-format=json-render-diagnostics"]);
    let output = command.current_dir(generated::path("")).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?} failed").into());
    }
    let mut files = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let message: Value = serde_json::from_str(line)?;
        if message["target"]["name"] == "wavemill_c" && message["reason"] == "compiler-artifact" {
            let names = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
            files.extend(names.map(PathBuf::from));
        }
    }
    Ok(files)
}

/// Makes a link, instead of what is there.
#[cfg(unix)]
fn link(to: &str, at: &Path) -> std::io::Result<()> {
    if at.symlink_metadata().is_ok() {
        fs::remove_file(at)?;
    }
    std::os::unix::fs::symlink(to, at)
}

/// Copies what a link would lead to.
#[cfg(not(unix))]
fn link(to: &str, at: &Path) -> std::io::Result<()> {
    fs::copy(at.with_file_name(to), at).map(drop)
}

/// Copies a file, instead of what is there: a program may be using that.
fn install(from: &Path, to: &Path) -> std::io::Result<()> {
    if to.symlink_metadata().is_ok() {
        fs::remove_file(to)?;
    }
    fs::copy(from, to).map(drop)
}

/// The file for pkg-config.
fn pkg_config(prefix: &Path) -> String {
    format!(
        "prefix={}\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\n\
         Name: Wavemill\nDescription: Runs AMD GPU machine code on the CPU\nVersion: {VERSION}\n\
         Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -lwavemill\n\
         Libs.private: -lgcc_s -lpthread -lm -ldl\n",
        prefix.display()
    )
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let prefix = std::path::absolute(&options.prefix)?;
    let root = match &options.destdir {
        Some(folder) => std::path::absolute(folder)?.join(prefix.strip_prefix("/").unwrap_or(&prefix)),
        None => prefix.clone(),
    };
    let [include, lib, pkgconfig] = ["include", "lib", "lib/pkgconfig"].map(|folder| root.join(folder));
    let built = build()?;
    let with = |suffix: &str| {
        let found = built.iter().find(|path| path.to_string_lossy().ends_with(suffix));
        found.ok_or_else(|| format!("the build of {PACKAGE} made no *{suffix}, but {built:?}"))
    };
    for folder in [&include, &lib, &pkgconfig] {
        fs::create_dir_all(folder)?;
    }
    let dll = std::env::consts::DLL_SUFFIX;
    let versioned = |version: &str| match dll {
        ".dylib" => format!("libwavemill.{version}.dylib"),
        other => format!("libwavemill{other}.{version}"),
    };
    install(with(dll)?, &lib.join(versioned(VERSION)))?;
    link(&versioned(VERSION), &lib.join(versioned(MAJOR)))?;
    link(&versioned(MAJOR), &lib.join(format!("libwavemill{dll}")))?;
    install(with(".a")?, &lib.join("libwavemill.a"))?;
    install(&generated::path("crates/wavemill-c/include/wavemill.h"), &include.join("wavemill.h"))?;
    fs::write(pkgconfig.join("wavemill.pc"), pkg_config(&prefix))?;
    println!("{} is written", root.display());
    Ok(ExitCode::SUCCESS)
}
