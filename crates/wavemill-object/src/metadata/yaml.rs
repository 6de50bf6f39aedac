//! Parses metadata in YAML, from compilers and from people, into a tree whose nodes record their
//! positions.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use super::allowance::Allowance;
use super::model::MOST_ARGUMENTS;
use super::value::{MAX_DEPTH, Value};
use super::yaml_mistakes;

/// An error in the text of metadata and its position. Lines and columns count from 1, columns in
/// characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {detail}")]
pub struct MetadataError {
    /// Line of the YAML text.
    pub line: usize,
    /// Column of the line.
    pub column: usize,
    /// The expectation and the finding.
    pub detail: String,
}

/// A position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    line: usize,
    column: usize,
}

impl Mark {
    /// The start of the text.
    pub(super) const START: Mark = Mark { line: 1, column: 1 };

    /// An error at this position.
    pub(super) fn error(self, detail: impl Into<String>) -> MetadataError {
        MetadataError { line: self.line, column: self.column, detail: detail.into() }
    }
}

impl From<Marker> for Mark {
    fn from(marker: Marker) -> Self {
        Mark { line: marker.line(), column: marker.col() + 1 }
    }
}

/// A node of the text.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) mark: Mark,
    pub(super) tree: Tree,
}

/// The kind of a node and its contents.
#[derive(Debug)]
pub(super) enum Tree {
    /// A scalar, possibly empty.
    Leaf(Value),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the text, without duplicate keys.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The value without its positions.
    pub(super) fn into_value(self) -> Value {
        match self.tree {
            Tree::Leaf(value) => value,
            Tree::List(items) => Value::List(items.into_iter().map(Node::into_value).collect()),
            Tree::Map(entries) => {
                Value::Map(entries.into_iter().map(|(key, node)| (key, node.into_value())).collect())
            }
        }
    }
}

/// A scalar as written.
#[derive(Debug)]
pub(super) struct Scalar<'a> {
    pub(super) text: &'a str,
    /// It is quoted, or is a block scalar.
    pub(super) quoted: bool,
    /// The value is missing.
    pub(super) absent: bool,
    /// `!str`, or `tag:yaml.org,2002:str` for `!!str`.
    pub(super) tag: Option<&'a str>,
}

/// Gives a scalar its type; a missing value may be an empty list.
pub(super) type Typing = fn(&Scalar<'_>) -> Result<Value, String>;

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    typing: Typing,
    last: Mark,
    allowance: Allowance,
}

/// Limit on the memory for a text, as a multiple of its size. Compilers' text needs 5 to 10 times
/// its size.
pub(super) const FACTOR: usize = 12;

/// Keys of lists of arguments, in code object v2 and later.
const ARGUMENTS: [&str; 2] = ["Args", ".args"];

/// Reads the first document of a text; `None` if it has none.
pub(super) fn parse(text: &str, typing: Typing) -> Result<Option<Node>, MetadataError> {
    let allowance = Allowance::new(text.len(), FACTOR);
    let parser = Parser::new_from_str(text);
    let mut reader = Reader { text, parser, typing, last: Mark::START, allowance };
    loop {
        match reader.next()? {
            Some((Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, ..)) => {}
            None | Some((Event::StreamEnd | Event::DocumentEnd, ..)) => return Ok(None),
            Some((event, mark, absent)) => {
                return reader.node(event, mark, absent, (0, usize::MAX)).map(Some);
            }
        }
    }
}

impl<'a> Reader<'a> {
    /// The next event, its position, and whether it is a scalar without any text.
    fn next(&mut self) -> Result<Option<(Event<'a>, Mark, bool)>, MetadataError> {
        match self.parser.next_event() {
            None => Ok(None),
            Some(Ok((event, span))) => {
                self.last = span.start.into();
                Ok(Some((event, self.last, span.start.index() == span.end.index())))
            }
            Some(Err(error)) => {
                let mut mark = Mark::from(*error.marker());
                let expected = yaml_mistakes::expected(error.info());
                if expected == yaml_mistakes::TAB {
                    mark = tab(self.text, mark).unwrap_or(mark);
                }
                Err(mark.error(expected))
            }
        }
    }

    /// The next event inside a list or map.
    fn inner(&mut self) -> Result<(Event<'a>, Mark, bool), MetadataError> {
        match self.next()? {
            Some(event) => Ok(event),
            None => Err(self.last.error("the text ends in the middle of a value")),
        }
    }

    /// The node that begins with `event`, at this depth; a list may have at most `longest` items.
    fn node(
        &mut self,
        event: Event<'a>,
        mark: Mark,
        absent: bool,
        (depth, longest): (u16, usize),
    ) -> Result<Node, MetadataError> {
        if depth > MAX_DEPTH {
            return Err(mark.error(format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.allowance.spend::<Node>(1).map_err(|detail| mark.error(detail))?;
        let tree = match event {
            Event::Scalar(text, style, _, tag) => {
                let quoted = style != ScalarStyle::Plain;
                let tag = tag.as_deref().map(spelled);
                self.allowance.spend_text(text.len()).map_err(|detail| mark.error(detail))?;
                let scalar = Scalar { text: &text, quoted, absent: absent && !quoted, tag: tag.as_deref() };
                match (self.typing)(&scalar).map_err(|detail| mark.error(detail))? {
                    Value::List(_) => Tree::List(Vec::new()),
                    value => Tree::Leaf(value),
                }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.inner()? {
                        (Event::SequenceEnd, ..) => break,
                        (_, mark, _) if items.len() == longest => {
                            let detail = format!(
                                "more than {longest} arguments are listed, and no kernel has so many"
                            );
                            return Err(mark.error(detail));
                        }
                        (event, mark, absent) => {
                            items.push(self.node(event, mark, absent, (depth + 1, usize::MAX))?);
                        }
                    }
                }
                items.shrink_to_fit();
                Tree::List(items)
            }
            Event::MappingStart(..) => {
                let mut entries = Vec::new();
                let mut keys = std::collections::HashSet::new();
                loop {
                    let (key, key_mark) = match self.inner()? {
                        (Event::MappingEnd, ..) => break,
                        (Event::Scalar(text, ..), mark, _) => (text.into_owned(), mark),
                        (_, mark, _) => return Err(mark.error("a key should be text")),
                    };
                    // Both the map and the set of known keys hold the key.
                    for _ in 0..2 {
                        let spent = self.allowance.spend::<String>(1);
                        let spent = spent.and_then(|()| self.allowance.spend_text(key.len()));
                        spent.map_err(|detail| key_mark.error(detail))?;
                    }
                    if !keys.insert(key.clone()) {
                        return Err(key_mark.error(format!("the key `{key}` appears twice")));
                    }
                    let (event, mark, absent) = self.inner()?;
                    let longest = if ARGUMENTS.contains(&key.as_str()) { MOST_ARGUMENTS } else { usize::MAX };
                    entries.push((key, self.node(event, mark, absent, (depth + 1, longest))?));
                }
                // Spare capacity for four entries would be most of the memory of a map with one.
                entries.shrink_to_fit();
                Tree::Map(entries)
            }
            Event::Alias(_) => return Err(mark.error(yaml_mistakes::ANCHOR)),
            _ => return Err(mark.error("a value is missing")),
        };
        Ok(Node { mark, tree })
    }
}

/// The first tab that indents a line, from the line of `mark` on: the parser may report the text
/// before the tab.
fn tab(text: &str, mark: Mark) -> Option<Mark> {
    let mut lines = (1..).zip(text.lines()).skip(mark.line.saturating_sub(1));
    lines.find_map(|(line, text)| {
        let blanks = text.chars().take_while(|c| *c == ' ').count();
        (text.chars().nth(blanks) == Some('\t')).then_some(Mark { line, column: blanks + 1 })
    })
}

fn spelled(tag: &Tag) -> String {
    format!("{}{}", tag.handle, tag.suffix)
}

#[cfg(test)]
mod tests {
    use super::super::scalar;
    use super::*;

    fn value(text: &str) -> Option<Value> {
        parse(text, scalar::legacy).ok().flatten().map(Node::into_value)
    }

    #[test]
    fn the_constructs_in_use() {
        let text = "---\nVersion: [ 1, 0 ]\nPrintf:\n  - '1:1:4:it''s %d\\n'\nKernels:\n  - Name: \"a\\tb\"\n    \
                    Args:\n      - Size: 8\n        IsConst: true\n      - Size: 4\n    CodeProps:\n      \
                    Wave: 64\n  - Name: second\n...\n";
        assert_eq!(
            value(text).unwrap().to_string(),
            r#"{Version: [1, 0], Printf: ["1:1:4:it's %d\\n"], Kernels: [{Name: "a\tb", Args: [{Size: 8, IsConst: true}, {Size: 4}], CodeProps: {Wave: 64}}, {Name: "second"}]}"#
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in
            ["a: 1\n    b: 2", "- 1\nkey: 2", "a: 'open", "a: [1, 2", "a: *b", "a: 1\na: 2", "? [1]\n: 2"]
        {
            assert_eq!(value(text), None, "{text:?}");
        }
        let deep: String = (0..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert_eq!(value(&deep), None);
        let deep = "[".repeat(100_000);
        assert_eq!(value(&deep), None);
    }
}
