//! The names of foreign tools.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

const LONGEST: usize = 48;

const TAIL: usize = 8;

/// Returns `mcp__<server>__<tool>`. A name that is too long or has other characters than letters,
/// digits, `_` and `-` ends with a hash of the whole name.
pub fn tool_name(server: &str, tool: &str) -> String {
    let whole = format!("mcp__{server}__{tool}");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if whole.len() <= LONGEST && whole.chars().all(is_plain) {
        return whole;
    }
    let plain = whole
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '_' });
    let mut name: String = plain.take(LONGEST - TAIL - 1).collect();
    name.push('_');
    for byte in Sha256::digest(whole.as_bytes()).iter().take(TAIL / 2) {
        write!(name, "{byte:02x}").unwrap_or_default();
    }
    name
}
