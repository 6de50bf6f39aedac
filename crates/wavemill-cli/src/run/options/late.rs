//! Values of the command line that clap leaves as text.

use crate::failure::Failure;

/// A value whose text is parsed by its group, which has its own message for an invalid one.
#[derive(Clone, Debug)]
pub(crate) struct Late<T> {
    text: String,
    /// Set once the text has been parsed.
    value: Option<T>,
}

/// clap creates it from text.
impl<T> From<String> for Late<T> {
    fn from(text: String) -> Self {
        Late { text, value: None }
    }
}

impl<T: Clone> Late<T> {
    /// A value from a launch file.
    pub(super) fn read(value: T) -> Self {
        Late { text: String::new(), value: Some(value) }
    }

    /// The value, once it has been parsed.
    pub(crate) fn value(&self) -> Option<T> {
        self.value.clone()
    }

    /// Parses the text.
    pub(super) fn settle(&mut self, read: impl FnOnce(&str) -> Result<T, Failure>) -> Result<(), Failure> {
        self.value = Some(read(&self.text)?);
        Ok(())
    }
}

/// Parses the text of an option, if it is given; messages begin with the option.
pub(super) fn settle<T: Clone>(
    late: &mut Option<Late<T>>,
    option: &str,
    read: impl FnOnce(&str) -> Result<T, Failure>,
) -> Result<(), Failure> {
    match late {
        Some(late) => late.settle(read).map_err(|failure| failure.within(option)),
        None => Ok(()),
    }
}

/// The value of an option, if it is given.
pub(crate) fn value<T: Clone>(late: &Option<Late<T>>) -> Option<T> {
    late.as_ref().and_then(Late::value)
}
