//! Assembles a file: `cargo run --example assemble SOURCE OBJECT [co]`.

use std::error::Error;

use wavemill_asm::{Options, assemble};
use wavemill_object::write::{link, write_relocatable};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(source), Some(object)) = (arguments.next(), arguments.next()) else {
        return Err("expected the path of a source and that of an object".into());
    };
    let text = std::fs::read_to_string(&source)?;
    let module = assemble(&text, &Options::default()).map_err(|reports| {
        let lines = reports.iter().map(|report| {
            format!("{source}:{}:{}: {}", report.line, report.diagnostic.span.start + 1, report.diagnostic)
        });
        lines.collect::<Vec<_>>().join("\n")
    })?;
    let file =
        if arguments.next().as_deref() == Some("co") { link(&module)? } else { write_relocatable(&module)? };
    std::fs::write(&object, file)?;
    Ok(())
}
