//! Explains YAML syntax errors to people: the parser's own messages describe its internals.

/// The expectation for each message of the parser.
const EXPECTED: [(&str, &str); 42] = [
    // Indentation.
    (
        "while parsing a block mapping, did not find expected key",
        "expected a `key: value` that begins in the column of those above",
    ),
    (
        "while parsing a block collection, did not find expected '-' indicator",
        "expected a `- item` that begins in the column of those above",
    ),
    ("invalid indentation", "expected a line that begins in the column of one of the keys above"),
    ("invalid indentation for anchor", "expected a line that begins in the column of one of the keys above"),
    ("invalid indentation in flow construct", "expected a line that is indented further than its key"),
    ("invalid indentation in quoted scalar", "expected a line that is indented further than its key"),
    (
        "wrongly indented line in block scalar",
        "expected a line that is indented like the first line of this text",
    ),
    ("tab cannot be used as indentation", TAB),
    ("tabs disallowed in this context", TAB),
    ("tabs disallowed within this context (block indentation)", TAB),
    ("while scanning a plain scalar, found a tab", TAB),
    ("a block scalar content cannot start with a tab", TAB),
    // Keys and values.
    ("illegal placement of ':' indicator", COLON),
    ("mapping values are not allowed in this context", COLON),
    ("mapping keys are not allowed in this context", "expected a value, found a second key on the line"),
    ("simple key expected", "expected a `:` after the key"),
    ("simple key expect ':'", "expected a `:` after the key"),
    ("while parsing a node, did not find expected node content", VALUE),
    ("unexpected end of plain scalar", VALUE),
    ("unexpected eof", VALUE),
    ("did not find expected next token", VALUE),
    ("'-' must be followed by a valid YAML whitespace", "expected a space after `-`"),
    ("':' must be followed by a valid YAML whitespace", "expected a space after `:`"),
    ("':' may not precede any of `[{` in flow mapping", "expected a space after `:`"),
    ("block sequence entries are not allowed in this context", "expected a `- item` on a line of its own"),
    (
        "plain scalar cannot start with '-' followed by ,[]{}",
        "expected a value; text that begins with `-` needs quotes",
    ),
    ("while parsing node, found unknown anchor", ANCHOR),
    (
        "while scanning an anchor or alias, did not find expected alphabetic or numeric character",
        "expected a value; text that begins with `&` or `*` needs quotes",
    ),
    // Lists and mappings between brackets.
    (r#""-" is only valid inside a block"#, "expected a value: between brackets, commas separate the items"),
    (
        "while parsing a flow mapping, did not find expected ',' or '}'",
        "expected `,` or `}` to continue or end the mapping between braces",
    ),
    (
        "while parsing a flow sequence, expected ',' or ']'",
        "expected `,` or `]` to continue or end the list between brackets",
    ),
    ("misplaced bracket", "this bracket has no matching `[` or `{`"),
    ("recursion limit exceeded", "lists and mappings nest too deep"),
    // Texts.
    (
        "while scanning a quoted scalar, found unexpected end of stream",
        "expected a quote that ends this text, found the end of the metadata",
    ),
    (
        "while scanning a quoted scalar, found unexpected document indicator",
        "expected a quote that ends this text, found the end of the document",
    ),
    (
        "invalid trailing content after double-quoted scalar",
        "expected the end of the line after the text between quotes",
    ),
    (
        "while parsing a quoted scalar, found unknown escape character",
        "invalid escape; write a `\\` as `\\\\` between double quotes",
    ),
    (
        "while parsing a quoted scalar, did not find expected hexadecimal number",
        "expected hexadecimal digits in the escape",
    ),
    (
        "while parsing a quoted scalar, found invalid Unicode character escape code",
        "the escape is not a valid character number",
    ),
    (
        "comments must be separated from other tokens by whitespace",
        "expected a space before the `#` of the comment",
    ),
    (
        "comment intercepting the multiline text",
        "expected the rest of the text, found a comment in the middle of it",
    ),
    ("found unprintable character", "expected text, found a character that cannot be printed"),
];

/// Only blanks can indent.
pub(super) const TAB: &str = "expected spaces, found a tab: YAML does not allow tabs for indentation";
const COLON: &str = "expected no `:` here: a key begins its line, or a `[`, `{` or quote above is not closed";
const VALUE: &str = "expected a value";
/// A reference refers to an anchor.
pub(super) const ANCHOR: &str = "references to anchors (`*name`) are not supported";

/// The expectation, from the message of the parser.
pub(super) fn expected(message: &str) -> String {
    if let Some((_, own)) = EXPECTED.iter().find(|(theirs, _)| *theirs == message) {
        return (*own).to_owned();
    }
    let about = |words: &str| message.contains(words);
    if about("unexpected character") {
        let found = message.split('`').nth(1).and_then(|rest| rest.chars().next()).unwrap_or('%');
        // A backtick would end the quotation.
        let found = if found == '`' { "a backtick".to_owned() } else { format!("`{found}`") };
        format!("expected a value; text that begins with {found} needs quotes")
    } else if about("block scalar") {
        "expected the end of the line after `|` or `>`, or an indentation from 1 to 9".to_owned()
    } else if about("document start") || about("document-start") {
        "expected `---` and the metadata after it".to_owned()
    } else if about("directive") || about("handle") {
        "metadata must not have lines that begin with `%`".to_owned()
    } else if about("tag") || about("TAG") {
        "expected a tag such as `!!str`".to_owned()
    } else if about("byte order mark") {
        "expected text, found a byte order mark in the middle of it".to_owned()
    } else {
        // There is one document, and nothing after it.
        "expected the end of the metadata: the text above is complete".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{scalar, yaml};
    use super::EXPECTED;

    /// Every invalid text has a message of our own, and the list contains the parser's wording.
    #[test]
    fn messages_are_our_own() {
        let cases = [
            ("a: 1\n    b: 2", "expected no `:` here"),
            ("a:\n  b: 1\n c: 2", "expected a `key: value` that begins in the column"),
            ("a:\n  - 1\n  b: 2", "expected a `- item` that begins in the column"),
            ("a:\n\t- 1", "line 2, column 1: expected spaces, found a tab"),
            ("a:\n  - 1\n\t- 2", "line 3, column 1: expected spaces, found a tab"),
            ("a: 'open", "expected a quote that ends this text"),
            ("a: [1, 2", "expected `,` or `]`"),
            ("a: {b: 1", "expected `,` or `}`"),
            ("a: [1, 2\nb: 3", "expected no `:` here"),
            ("a: ]", "no matching `[` or `{`"),
            ("a: @b", "begins with `@` needs quotes"),
            ("a: \"\\q\"", "invalid escape"),
            ("a: \"\\xzz\"", "expected hexadecimal digits"),
            ("a: \"b\" c", "expected the end of the line after the text"),
            ("a: *b", "references to anchors"),
            ("a: 1\nb\nc: 2", "expected a `:` after the key"),
            ("a: - 1", "expected a `- item` on a line of its own"),
            ("a: b: c", "expected no `:` here"),
            ("%FOO", "expected `---`"),
            ("%YAML x\n---\na: 1", "metadata must not have lines that begin with `%`"),
            ("a: |x\n  b", "expected the end of the line after `|`"),
            ("- 1\nkey: 2", "expected a `- item`"),
        ];
        for (text, message) in cases {
            let error = yaml::parse(text, scalar::legacy).map(drop).expect_err(text);
            assert!(error.to_string().contains(message), "{text:?}: {error}");
        }
        for (theirs, own) in EXPECTED {
            assert!(theirs != own && !own.contains("scalar"), "{theirs}");
        }
    }
}
