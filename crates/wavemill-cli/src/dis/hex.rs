//! Parses machine code in hexadecimal digits.

/// Class of a character: a digit's value, or one of these.
const BLANK: u8 = 0x10;
const COMMENT: u8 = 0x11;
const OTHER: u8 = 0x12;

const KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            digit @ b'0'..=b'9' => digit - b'0',
            digit @ b'a'..=b'f' => digit - b'a' + 10,
            digit @ b'A'..=b'F' => digit - b'A' + 10,
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']' => BLANK,
            b'#' | b';' | b'/' => COMMENT,
            _ => OTHER,
        };
        byte += 1;
    }
    kinds
};

fn kind(byte: u8) -> u8 {
    KINDS[usize::from(byte)]
}

/// Parses the bytes of a line: `0100027e`, `01 00 02 7e`, `0x01,0x00,0x02,0x7e`, each also between
/// brackets. Comments begin with `#`, `;` or `//`. Appends the bytes to `out`.
///
/// # Errors
/// The error in the line.
pub(crate) fn line(line: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let mut rest = line;
    while let Some(&first) = rest.first() {
        match kind(first) {
            BLANK => {
                rest = &rest[1..];
                continue;
            }
            COMMENT => return Ok(()),
            OTHER => {
                let text = String::from_utf8_lossy(rest);
                let found = text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
                return Err(format!("expected hexadecimal digits, found `{}`", found.escape_default()));
            }
            _ => {}
        }
        if let Some(digits) = rest.strip_prefix(b"0x").or_else(|| rest.strip_prefix(b"0X")) {
            let length = digits.iter().take_while(|byte| kind(**byte) < 16).count();
            let value = match digits.get(..length) {
                Some([one]) => kind(*one),
                Some([high, low]) => kind(*high) << 4 | kind(*low),
                _ => {
                    let text = String::from_utf8_lossy(digits.get(..length.min(20)).unwrap_or_default());
                    return Err(format!(
                        "expected one byte after `0x`, found `{text}`: bytes are in memory order"
                    ));
                }
            };
            out.push(value);
            rest = digits.get(length..).unwrap_or_default();
            continue;
        }
        let length = rest.iter().take_while(|byte| kind(**byte) < 16).count();
        let (digits, behind) = rest.split_at(length);
        let (pairs, odd) = digits.as_chunks::<2>();
        if !odd.is_empty() {
            return Err(format!("expected two digits for each byte, found {length} digits"));
        }
        out.extend(pairs.iter().map(|[high, low]| kind(*high) << 4 | kind(*low)));
        rest = behind;
    }
    Ok(())
}

/// Whether a text may be hexadecimal digits, judged by its first characters.
pub(crate) fn looks_like_text(bytes: &[u8]) -> bool {
    let all = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    !bytes.is_empty() && bytes.iter().take(4096).all(all)
}

#[cfg(test)]
mod tests {
    use super::line;

    fn read(text: &str) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        line(text.as_bytes(), &mut out).map(|()| out)
    }

    #[test]
    fn the_forms_of_bytes() {
        let bytes = Ok(vec![1, 0, 2, 0x7e]);
        for text in [
            "0100027e",
            "0100027E",
            "01 00 02 7e",
            " 0x01,0x00,0x02,0x7e ",
            "[0x01,0x00,0x02,0x7e]",
            "0x1 0x0 0x2 0x7E # v_mov",
            "01,00,02,7e ; a comment",
            "0100 027e // another",
        ] {
            assert_eq!(read(text), bytes, "{text}");
        }
        for text in ["", "  ", "# nothing", "[]"] {
            assert_eq!(read(text), Ok(Vec::new()), "{text}");
        }
        for text in ["0", "123", "0x", "0x123", "0x7e020001", "zz", "01 g", "v_mov", "\u{e9}"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
