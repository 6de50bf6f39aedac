//! Writes results to files.

use crate::input::Shown as _;
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use png::EncodingError;

use super::element::{ElementText as _, Number};
use super::npy;
use super::view::{self, Shape, View};
use crate::failure::Failure;
use crate::files;

/// A result to be written to a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    /// As the user wrote it.
    pub text: String,
    /// Name of the buffer.
    pub buffer: String,
    slice: Option<String>,
    file: PathBuf,
    kind: Kind,
    /// The range of values from black to white.
    range: Option<(f64, f64)>,
    palette: Palette,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Raw,
    Npy,
    Png,
}

/// Colours for numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Palette {
    /// Black to white.
    #[default]
    Gray,
    /// Black over red and yellow to white.
    Heat,
    /// Colours that cycle at a logarithmic rate, for counts of steps; the top of the range is
    /// black.
    Steps,
}

impl FromStr for Palette {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match text {
            "gray" => Ok(Palette::Gray),
            "heat" => Ok(Palette::Heat),
            "steps" => Ok(Palette::Steps),
            _ => Err(Failure::usage(format!(
                "there is no palette `{text}`; expected gray, heat or steps",
                text = text.shown()
            ))),
        }
    }
}

impl Palette {
    /// The colour of a value in a range.
    fn colour(self, value: f64, (low, high): (f64, f64)) -> [u8; 3] {
        const HEAT: &[[f64; 3]] = &[[0.0; 3], [200.0, 0.0, 0.0], [255.0, 200.0, 0.0], [255.0; 3]];
        const WHEEL: &[[f64; 3]] = &[
            [8.0, 16.0, 84.0],
            [28.0, 110.0, 190.0],
            [226.0, 246.0, 250.0],
            [252.0, 178.0, 40.0],
            [132.0, 40.0, 18.0],
        ];
        if value.is_nan() {
            return [255, 0, 255];
        }
        let part = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        match self {
            Palette::Gray => [(part * 255.0).round() as u8; 3],
            Palette::Heat => blend(HEAT, part * (HEAT.len() - 1) as f64),
            Palette::Steps if value >= high => [0; 3],
            Palette::Steps => blend(WHEEL, (1.0 + (value - low).max(0.0)).ln() * 1.25),
        }
    }
}

/// The colour at a position in a cyclic list of colours.
fn blend(stops: &[[f64; 3]], place: f64) -> [u8; 3] {
    let (from, part) = (place.floor(), place.fract());
    let a = stops[from as usize % stops.len()];
    let b = stops[(from as usize + 1) % stops.len()];
    // At the very end of a list that does not cycle, `part` is zero.
    std::array::from_fn(|c| (a[c] + (b[c] - a[c]) * part).round() as u8)
}

impl Output {
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Parses `y=file.npy` or `y=file.png,range=0:1,palette=heat`; file names are relative to the
    /// folder `base`.
    pub(crate) fn parse(text: &str, base: &Path) -> Result<Self, Failure> {
        let fail = || {
            Failure::usage(format!(
                "`{text}` is not an output; expected y=file.npy, y=file.bin or y=file.png, where y is a buffer",
                text = text.shown()
            ))
        };
        let (what, mut file) = text.split_once('=').ok_or_else(fail)?;
        let (buffer, slice) = view::split(what)?;
        let mut range: Option<(f64, f64)> = None;
        let mut palette: Option<Palette> = None;
        while let Some((rest, option)) = file.rsplit_once(',') {
            let Some((key, value)) = option.split_once('=') else { break };
            let twice = match key {
                "range" => {
                    let ends =
                        value.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    let ends = ends.filter(|(low, high): &(f64, f64)| low < high && (high - low).is_finite());
                    range
                        .replace(ends.ok_or_else(|| {
                            Failure::usage(format!(
                                "`{value}` is not a range; expected range=LOW:HIGH with LOW below HIGH, such as range=0:1", value = value.shown()))
                        })?)
                        .is_some()
                }
                "palette" => palette.replace(value.parse()?).is_some(),
                _ => {
                    return Err(Failure::usage(format!(
                        "`{option}`: there is no option `{key}`; expected range=LOW:HIGH or palette=NAME",
                        option = option.shown(),
                        key = key.shown()
                    )));
                }
            };
            if twice {
                return Err(Failure::usage(format!("`{key}` is given twice", key = key.shown())));
            }
            file = rest;
        }
        let extension =
            Path::new(file).extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let kind = match extension.as_str() {
            "npy" => Kind::Npy,
            "png" => Kind::Png,
            "bin" | "raw" | "dat" => Kind::Raw,
            _ => {
                return Err(Failure::usage(format!(
                    "`{file}`: the extension selects the format; expected .npy, .bin (raw bytes) or .png",
                    file = file.shown()
                )));
            }
        };
        if kind != Kind::Png && (range.is_some() || palette.is_some()) {
            return Err(Failure::usage(format!(
                "`{text}`: a range and a palette are for pictures (.png)",
                text = text.shown()
            )));
        }
        let (buffer, slice) = (buffer.to_owned(), slice.map(str::to_owned));
        let palette = palette.unwrap_or_default();
        Ok(Output { text: text.to_owned(), buffer, slice, file: base.join(file), kind, range, palette })
    }

    /// Checks, before the kernel runs, that a buffer of this shape can be written to the file.
    pub(crate) fn check(&self, shape: &Shape) -> Result<(), Failure> {
        let view = View::parse(shape, self.slice.as_deref())?;
        if self.kind == Kind::Png {
            self.layout(shape, &view)?;
        }
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let cannot =
            |why: String| Err(Failure::input(format!("cannot write `{}`: {why}", self.file.shown())));
        match folder.filter(|folder| !folder.is_dir()) {
            Some(folder) => cannot(format!("there is no folder `{}`", folder.shown())),
            None if self.file.is_dir() => cannot("it is a folder".to_owned()),
            // An existing file stays unchanged until there is something to write.
            None if self.file.is_file() => match OpenOptions::new().append(true).open(&self.file) {
                Ok(_) => Ok(()),
                Err(error) => cannot(error.to_string()),
            },
            None => Ok(()),
        }
    }

    /// Checks that a missing file can be created. It creates a temporary file in the folder, as
    /// permissions alone do not decide this.
    pub(crate) fn check_folder(&self) -> Result<(), Failure> {
        if self.file.symlink_metadata().is_ok() {
            return Ok(());
        }
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let made =
            tempfile::Builder::new().prefix(".wavemill-").tempfile_in(folder.unwrap_or(Path::new(".")));
        // The error names the temporary file, which would confuse.
        made.map(|_| ()).map_err(|error| {
            Failure::input(format!(
                "cannot write `{}`: {}",
                self.file.shown(),
                std::io::Error::from(error.kind())
            ))
        })
    }

    /// Writes a buffer's contents, piece by piece; `read` copies bytes of it from an offset on.
    pub(crate) fn write(
        &self,
        shape: &Shape,
        read: impl FnMut(u64, &mut [u8]) -> Result<(), Failure>,
    ) -> Result<String, Failure> {
        let view = View::parse(shape, self.slice.as_deref())?;
        let path = self.file.shown().to_string();
        let failed = |error| Failure::output(&format!("`{path}`"), &error);
        let mut file = BufWriter::new(files::create(&self.file)?);
        if self.kind == Kind::Png {
            self.picture(shape, &view, read, &mut file)?;
        } else {
            if self.kind == Kind::Npy {
                file.write_all(&npy::header(shape.element, &view.shape)).map_err(failed)?;
            }
            view.each_piece(shape.element.size(), read, |piece| file.write_all(piece).map_err(failed))?;
        }
        file.flush().map_err(failed)?;
        Ok(path)
    }

    /// Height, width and channels of a picture.
    fn layout(&self, shape: &Shape, view: &View) -> Result<(u32, u32, usize), Failure> {
        use super::element::Element::{U8, U32};
        let refuse = |what: &str| {
            Err(Failure::usage(format!(
                "`{}` cannot be a picture: {what}; expected u8[height,width], u8[height,width,3], u8[height,width,4], \
                 u32[height,width] with red in the lowest byte, or any other type [height,width] with range=LOW:HIGH",
                self.buffer.shown()
            )))
        };
        let (height, width, channels) = match (view.shape[..].first_chunk::<2>(), view.shape.get(2)) {
            (Some(&[height, width]), None) => (height, width, 1),
            (Some(&[height, width]), Some(&channels)) if view.shape.len() == 3 => (height, width, channels),
            _ => return refuse(&format!("its shape is {:?}", view.shape)),
        };
        let channels = match (shape.element, channels, self.range) {
            (_, 1, Some(_)) => 3,
            (U8, 1, None) => 1,
            (U8, 3 | 4, None) => channels as usize,
            (U32, 1, None) => 4,
            (_, _, Some(_)) => return refuse("a range needs one number for each pixel"),
            (element, 1, None) => {
                return refuse(&format!("the range of its {} values is not given", element.name()));
            }
            (element, _, None) => {
                return refuse(&format!("it has {channels} numbers of {} for each pixel", element.name()));
            }
        };
        match (u32::try_from(height), u32::try_from(width)) {
            (Ok(height @ 1..), Ok(width @ 1..)) => Ok((height, width, channels)),
            _ => refuse(&format!("it would have {width} x {height} pixels")),
        }
    }

    /// Writes a picture.
    fn picture(
        &self,
        shape: &Shape,
        view: &View,
        read: impl FnMut(u64, &mut [u8]) -> Result<(), Failure>,
        file: &mut impl Write,
    ) -> Result<(), Failure> {
        let (height, width, channels) = self.layout(shape, view)?;
        let failed = |error: EncodingError| match error {
            EncodingError::IoError(error) => Failure::output(&format!("`{}`", self.file.shown()), &error),
            error => Failure::input(format!("cannot make a picture of `{}`: {error}", self.buffer.shown())),
        };
        let mut encoder = png::Encoder::new(file, width, height);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_color(match channels {
            1 => png::ColorType::Grayscale,
            3 => png::ColorType::Rgb,
            _ => png::ColorType::Rgba,
        });
        let mut writer = encoder.write_header().map_err(failed)?;
        let mut pixels = writer.stream_writer().map_err(failed)?;
        let size = shape.element.size();
        let value = |bytes: &[u8]| match shape.element.get(bytes) {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        };
        let mut coloured = Vec::new();
        view.each_piece(size, read, |piece| {
            let written = match self.range {
                None => pixels.write_all(piece),
                Some(range) => {
                    coloured.clear();
                    let values = piece.chunks_exact(size);
                    coloured.extend(values.flat_map(|bytes| self.palette.colour(value(bytes), range)));
                    pixels.write_all(&coloured)
                }
            };
            written.map_err(|error| failed(error.into()))
        })?;
        pixels.finish().map_err(failed)?;
        writer.finish().map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::element::Element;
    use super::*;

    fn layout(text: &str, element: Element, dims: &[u64]) -> Result<(u32, u32, usize), String> {
        let output = Output::parse(text, Path::new("")).map_err(|failure| failure.message)?;
        let shape = Shape { name: "y".to_owned(), element, dims: dims.to_vec() };
        let view = View::parse(&shape, output.slice.as_deref()).unwrap();
        output.layout(&shape, &view).map_err(|failure| failure.message)
    }

    #[test]
    fn pictures() {
        for (text, element, dims, wanted) in [
            ("y=a.png", Element::U8, &[2, 3][..], Some((2, 3, 1))),
            ("y=a.png", Element::U8, &[2, 3, 3], Some((2, 3, 3))),
            ("y=a.png", Element::U8, &[2, 3, 4], Some((2, 3, 4))),
            ("y=a.png", Element::U8, &[2, 3, 2], None),
            ("y=a.png", Element::U32, &[2, 3], Some((2, 3, 4))),
            ("y=a.png", Element::F32, &[2, 3], None),
            ("y=a.png,range=0:1", Element::F32, &[2, 3], Some((2, 3, 3))),
            ("y=a.png,range=0:1,palette=heat", Element::F16, &[2, 3], Some((2, 3, 3))),
            ("y=a.png,range=0:1,palette=red", Element::F16, &[2, 3], None),
            ("y[0]=a.png", Element::U8, &[5, 2, 3], Some((2, 3, 1))),
            ("y=a.png", Element::U8, &[6], None),
            ("y=a.png", Element::U8, &[0, 3], None),
            ("y=a.jpg", Element::U8, &[2, 3], None),
            ("y", Element::U8, &[2, 3], None),
        ] {
            let found = layout(text, element, dims);
            assert_eq!(found.as_ref().ok(), wanted.as_ref(), "{text} {dims:?}: {found:?}");
        }
    }

    #[test]
    fn colours() {
        assert_eq!(Palette::Gray.colour(0.5, (0.0, 1.0)), [128; 3]);
        assert_eq!(Palette::Gray.colour(7.0, (0.0, 1.0)), [255; 3]);
        assert_eq!(Palette::Heat.colour(0.0, (0.0, 1.0)), [0; 3]);
        assert_eq!(Palette::Heat.colour(1.0, (0.0, 1.0)), [255; 3]);
        assert_eq!(Palette::Steps.colour(100.0, (0.0, 100.0)), [0; 3]);
        assert_ne!(Palette::Steps.colour(99.0, (0.0, 100.0)), [0; 3]);
    }

    #[test]
    fn pixels_survive() {
        let output = Output::parse("y=a.png", Path::new("")).unwrap();
        let shape = Shape { name: "y".to_owned(), element: Element::U8, dims: vec![2, 2, 3] };
        let bytes: Vec<u8> = (0..12).map(|n| n * 20).collect();
        let view = View::parse(&shape, None).unwrap();
        let mut file = Vec::new();
        let read = |offset: u64, into: &mut [u8]| {
            into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
            Ok(())
        };
        output.picture(&shape, &view, read, &mut file).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; 12];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height, info.color_type), (2, 2, png::ColorType::Rgb));
        assert_eq!(pixels, bytes);
    }
}
