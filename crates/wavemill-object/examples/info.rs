//! Prints a report of a file:
//!
//! ```text
//! cargo run --release -p wavemill-object --example info -- FILE [TARGET [KERNEL]]
//! ```

use std::error::Error;
use std::io::Write;

use wavemill_object::Limits;
use wavemill_object::report::{FileReport, Filter};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: info FILE [TARGET [KERNEL]]")?;
    let target = arguments.next().map(|target| target.parse()).transpose()?;
    let data = std::fs::read(path)?;
    let report = FileReport::new(
        &data,
        &Filter { target, kernel: arguments.next(), read_code: None },
        &Limits::default(),
    )?;
    write!(std::io::stdout(), "{report}")?;
    Ok(())
}
