//! Decodes PostgreSQL names such as `U&"d\0061ta"`.

use ktx_diagnostics::Code;

use crate::refusal::{Refusal, refuse};

const PREFIX: &str = "U&\"";

pub(super) fn starts_escaped_name(rest: &str) -> bool {
    rest.get(..PREFIX.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(PREFIX))
}

/// Accepts `\XXXX`, `\+XXXXXX` and `\\`, but no `UESCAPE` (PostgreSQL 4.1.2.3).
pub(crate) fn plain_name(raw: &str) -> Result<String, Refusal> {
    let body = raw.get(PREFIX.len()..raw.len() - 1).unwrap_or_default();
    let mut name = String::from('"');
    let mut rest = body;
    while let Some((before, escape)) = rest.split_once('\\') {
        name.push_str(before);
        if let Some(tail) = escape.strip_prefix('\\') {
            name.push('\\');
            rest = tail;
            continue;
        }
        let (digits, count) = match escape.strip_prefix('+') {
            Some(digits) => (digits, 6),
            None => (escape, 4),
        };
        let letter = digits
            .get(..count)
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32)
            .filter(|letter| !letter.is_control());
        let Some(letter) = letter else {
            return refuse(
                Code::UnusualCharacter,
                format!(
                    "the escapes of the name {raw} are not supported; write the letters themselves"
                ),
            );
        };
        name.push(letter);
        if letter == '"' {
            name.push(letter);
        }
        rest = digits.get(count..).unwrap_or_default();
    }
    name.push_str(rest);
    name.push('"');
    Ok(name)
}
