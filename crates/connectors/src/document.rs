//! Parses JSON without losing digits.

use serde_json::Value;

/// A number that a double cannot represent exactly becomes a string. Returns `None` for invalid
/// JSON.
pub(crate) fn read(text: &str) -> Option<Value> {
    let quoted = quote_inexact(text);
    serde_json::from_str(quoted.as_deref().unwrap_or(text)).ok() // the caller keeps the text
}

fn quote_inexact(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut kept = 0;
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| matches!(letter, '"' | '-' | '0'..='9')) {
        rest = rest.get(start..)?;
        let length = if rest.starts_with('"') {
            string_length(rest)
        } else {
            number_length(rest)
        };
        let token = rest.get(..length)?;
        let at = text.len() - rest.len();
        rest = rest.get(length..)?;
        if !token.starts_with('"') && is_number(token) && !is_exact(token) {
            out.push_str(text.get(kept..at)?);
            out.push('"');
            out.push_str(token);
            out.push('"');
            kept = at + length;
        }
    }
    if kept == 0 {
        return None;
    }
    out.push_str(text.get(kept..)?);
    Some(out)
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn number_length(text: &str) -> usize {
    text.find(|letter: char| !matches!(letter, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
        .unwrap_or(text.len())
}

fn is_number(token: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let is_padded = whole.len() > 1 && whole.starts_with('0');
    digits(whole) && !is_padded && digits(fraction) && digits(exponent)
}

fn is_exact(token: &str) -> bool {
    match serde_json::from_str::<Value>(token) {
        Ok(Value::Number(number)) => {
            let read = number.to_string();
            read == token || normal(&read).is_some_and(|read| normal(token) == Some(read))
        }
        _ => false,
    }
}

/// Returns trimmed digits and a power of ten. The sign is never lost, so it is not compared.
fn normal(token: &str) -> Option<(String, i64)> {
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let exponent: i64 = exponent.parse().ok()?; // more digits than any number has
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?; // no text is that long
    let places = i64::try_from(fraction.len()).ok()?; // no text is that long
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Some((String::new(), 0));
    }
    let power = exponent.checked_sub(places)?.checked_add(zeros)?;
    Some((significant.to_owned(), power))
}

#[cfg(test)]
mod tests;
