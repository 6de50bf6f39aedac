//! Options for the contents of buffers, and for the output of kernels.

use std::path::Path;

use super::Group;
use super::forms::ExpectText;
use super::key::{Key, Read, Scope};
use super::late::{self, Late};
use crate::amount;
use crate::failure::Failure;
use crate::run::expect::{Expectation, Tolerance};
use crate::run::output::Output;

/// The heading of the help page.
const RESULTS: &str = "Results";

/// Actions on buffers after a launch, or after the last one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub print: Vec<String>,
    pub out: Vec<Output>,
    pub expect: Vec<Expectation>,
}

/// Options about results.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ResultArgs {
    /// Print a buffer or a part of it: y, 'y[:4]', 'y[0,:4]'
    ///
    /// A third number is the step: 'y[10:20:2]'. In hexadecimal: 'y[:4]:x'. `exports` stands for what the kernel exports to
    /// the graphics pipeline, unless a buffer has that name.
    #[arg(long, value_name = "VIEW", help_heading = RESULTS)]
    pub print: Vec<String>,
    /// Write a buffer to a file: y=y.npy, y=y.bin, y=y.png
    ///
    /// A picture may have a range and a palette: y=y.png,range=0:1,palette=heat (or gray, steps).
    #[arg(long, value_name = "VIEW=FILE", help_heading = RESULTS)]
    pub out: Vec<String>,
    /// Compare a buffer with expected contents: y=ref.npy, 'y[:2]=[0,2]'
    ///
    /// Contents have the forms of arguments: 'y=iota(0,2)'.
    #[arg(long, value_name = "VIEW=CONTENTS", help_heading = RESULTS)]
    pub expect: Vec<String>,
    /// Tolerance for floats, any of: abs=1e-6,rel=1e-5,ulp=2
    ///
    /// By default, they must be equal.
    #[arg(long, value_name = "BOUNDS", hide_short_help = true, help_heading = RESULTS)]
    pub tolerance: Option<Late<Tolerance>>,
    /// Bytes of the buffer for OpenCL's printf, such as 64M; 16M by default
    #[arg(long, value_name = "BYTES", value_parser = amount::printf_buffer, hide_short_help = true, help_heading = RESULTS)]
    pub printf_buffer: Option<u64>,
    /// Results requested by the command line, and then by the launch file.
    #[arg(skip)]
    pub wanted: Wanted,
    /// The tolerance of the launch file; the command line's and an expectation's own win over it.
    #[arg(skip)]
    of_file: Option<Tolerance>,
}

impl ResultArgs {
    /// The options for one launch of several: results requested on the command line come after the
    /// last launch.
    pub(crate) fn of_one_launch(&self) -> ResultArgs {
        ResultArgs { wanted: Wanted::default(), of_file: None, ..self.clone() }
    }

    fn expect(&mut self, expectation: &ExpectText, base: &Path) -> Result<(), Failure> {
        let (text, own) = match expectation {
            ExpectText::Plain(text) => (text, None),
            ExpectText::WithTolerance { that, tolerance } => {
                let own = tolerance.parse::<Tolerance>().map_err(|failure| failure.within("tolerance"))?;
                (that, Some(own))
            }
        };
        let tolerance = late::value(&self.tolerance).or(own).or(self.of_file).unwrap_or_default();
        let expectation =
            Expectation::parse(text, base, tolerance).map_err(|failure| failure.within("expect"))?;
        self.wanted.expect.push(expectation);
        Ok(())
    }
}

pub(super) const GROUP: Group = Group {
    keys: &[
        Key {
            name: "print",
            scope: Scope::End,
            read: Read::Texts(|args, texts, _| {
                args.results.wanted.print.splice(0..0, texts.iter().cloned());
                Ok(())
            }),
            is_named: true,
            listed: (12, 10),
            written: None,
        },
        Key {
            name: "out",
            scope: Scope::End,
            read: Read::Texts(|args, texts, base| {
                for text in texts {
                    args.results.wanted.out.push(Output::parse(text, base)?);
                }
                Ok(())
            }),
            is_named: true,
            listed: (13, 11),
            written: None,
        },
        // It is read before the expectations, which use it.
        Key {
            name: "tolerance",
            scope: Scope::EveryEnd,
            read: Read::Text(|args, text, _| {
                args.results.of_file = Some(text.parse()?);
                Ok(())
            }),
            is_named: true,
            listed: (15, 13),
            written: None,
        },
        Key {
            name: "expect",
            scope: Scope::End,
            read: Read::Expectations(|args, expectations, base| {
                expectations.iter().try_for_each(|expectation| args.results.expect(expectation, base))
            }),
            is_named: false,
            listed: (14, 12),
            written: None,
        },
        Key {
            name: "printf-buffer",
            scope: Scope::Run,
            read: Read::Bytes(|args, size, _| {
                // A value that the command line replaces must be valid too.
                let size = amount::printf_buffer(&size.text()).map_err(Failure::usage)?;
                args.results.printf_buffer.get_or_insert(size);
                Ok(())
            }),
            is_named: true,
            listed: (27, 0),
            written: Some((13, |args| args.results.printf_buffer.map(|size| size.to_string()))),
        },
    ],
    settle: |args| {
        let here = Path::new("");
        let results = &mut args.results;
        late::settle(&mut results.tolerance, "--tolerance", str::parse)?;
        results.wanted.print.clone_from(&results.print);
        for text in &results.out {
            let output = Output::parse(text, here).map_err(|failure| failure.within("--out"))?;
            results.wanted.out.push(output);
        }
        let tolerance = late::value(&results.tolerance).unwrap_or_default();
        for text in &results.expect {
            let expectation = Expectation::parse(text, here, tolerance);
            results.wanted.expect.push(expectation.map_err(|failure| failure.within("--expect"))?);
        }
        Ok(())
    },
    complete: |args| match args.results.of_file.is_some() && args.results.wanted.expect.is_empty() {
        true => Err(Failure::usage("tolerance: nothing is compared; add expect = [\"VIEW=CONTENTS\"]")),
        false => Ok(()),
    },
    writes_alone: |args| (!args.results.out.is_empty()).then_some("--out"),
    launch: |args, launch| match args.results.printf_buffer {
        Some(size) => launch.printf_buffer(size),
        None => launch,
    },
    ..Group::NONE
};
