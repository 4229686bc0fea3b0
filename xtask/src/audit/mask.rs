//! Blanks out ignored parts of Rust text without moving byte offsets.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MaskedText {
    /// Without comments and literals.
    pub(crate) code: String,
    /// Without comments.
    pub(crate) with_literals: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code,
    Literal,
    Comment,
}

/// Keeps line ends.
pub(crate) fn mask(text: &str) -> MaskedText {
    let bytes = text.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut with_literals = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        for (kind, length) in pieces(bytes, at) {
            let end = (at + length).min(bytes.len());
            for &byte in bytes.get(at..end).unwrap_or_default() {
                let blank = if byte == b'\n' { b'\n' } else { b' ' };
                code.push(if kind == Kind::Code { byte } else { blank });
                with_literals.push(if kind == Kind::Comment { blank } else { byte });
            }
            at = end;
        }
    }
    MaskedText {
        code: text_of(&code),
        with_literals: text_of(&with_literals),
    }
}

/// Only whole characters are blanked, so this is valid UTF-8.
fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Lengths of the pieces at `at`; quotes count as code.
fn pieces(bytes: &[u8], at: usize) -> Vec<(Kind, usize)> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(b"//") {
        let end = rest
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(rest.len());
        return vec![(Kind::Comment, end)];
    }
    if rest.starts_with(b"/*") {
        return vec![(Kind::Comment, block_comment(rest))];
    }
    let starts_word = !at
        .checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let prefix = if starts_word { literal_prefix(rest) } else { 0 };
    let after = rest.get(prefix..).unwrap_or_default();
    if prefix > 0 || after.starts_with(b"\"") {
        let raw = rest
            .get(..prefix)
            .is_some_and(|letters| letters.contains(&b'r'));
        return if raw {
            raw_string(after, prefix)
        } else {
            string(after, prefix)
        };
    }
    match character(rest) {
        Some(body) => vec![(Kind::Code, 1), (Kind::Literal, body), (Kind::Code, 1)],
        None => vec![(Kind::Code, 1)],
    }
}

/// Letters before a string literal (`r`, `b`, `c`, `br`, `cr`); 0 without a string.
fn literal_prefix(rest: &[u8]) -> usize {
    for letters in ["br", "cr", "r", "b", "c"] {
        let Some(after) = rest.strip_prefix(letters.as_bytes()) else {
            continue;
        };
        let hashes = after.iter().take_while(|&&byte| byte == b'#').count();
        let quoted = after.get(hashes) == Some(&b'"');
        if quoted && (hashes == 0 || letters.contains('r')) {
            return letters.len();
        }
    }
    0
}

fn string(quoted: &[u8], prefix: usize) -> Vec<(Kind, usize)> {
    let mut end = 1;
    while let Some(&byte) = quoted.get(end) {
        match byte {
            b'"' => break,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    vec![
        (Kind::Code, prefix + 1),
        (Kind::Literal, end - 1),
        (Kind::Code, 1),
    ]
}

fn raw_string(quoted: &[u8], prefix: usize) -> Vec<(Kind, usize)> {
    let hashes = quoted.iter().take_while(|&&byte| byte == b'#').count();
    let closing: Vec<u8> = std::iter::once(b'"')
        .chain(std::iter::repeat_n(b'#', hashes))
        .collect();
    let body = quoted.get(hashes + 1..).unwrap_or_default();
    let length = body
        .windows(closing.len())
        .position(|found| found == closing)
        .unwrap_or(body.len());
    vec![
        (Kind::Code, prefix + hashes + 1),
        (Kind::Literal, length),
        (Kind::Code, hashes + 1),
    ]
}

/// Length inside a character literal; `None` for a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    let body = rest.strip_prefix(b"'")?;
    if body.first() == Some(&b'\\') {
        let end = body.iter().skip(2).position(|&byte| byte == b'\'')?;
        return Some(end + 2);
    }
    let width = match body.first()? {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    };
    (body.get(width) == Some(&b'\'')).then_some(width)
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = rest.get(at..).unwrap_or_default();
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth = depth.saturating_sub(1);
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}
