//! Splits a text into words and numbers.

use unicode_normalization::UnicodeNormalization as _;

/// Runs of letters and digits after NFKC, in lower case. A point or comma between digits belongs to
/// its token.
pub fn tokens(text: &str) -> Vec<String> {
    let lower: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let mut tokens = Vec::new();
    let mut token = String::new();
    let mut rest = lower.chars().peekable();
    while let Some(sign) = rest.next() {
        let inner = matches!(sign, '.' | ',')
            && token.ends_with(char::is_numeric)
            && rest.peek().is_some_and(|next| next.is_numeric());
        if sign.is_alphanumeric() || inner {
            token.push(sign);
        } else if !token.is_empty() {
            tokens.push(std::mem::take(&mut token));
        }
    }
    if !token.is_empty() {
        tokens.push(token);
    }
    tokens
}
