//! Redacts values by the option before them.

use super::named;

/// `--password value`, `--token=value`, `"--password", "value"`
pub(super) fn values(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, option) = rest.split_at(at + 2);
        out.push_str(before);
        rest = option;
        let begins = !before
            .trim_end_matches("--")
            .ends_with(|letter: char| letter.is_alphanumeric() || letter == '-');
        let end = option.find(|letter: char| {
            !(letter.is_ascii_alphanumeric() || letter == '-' || letter == '_')
        });
        let (name, after) = option.split_at(end.unwrap_or(option.len()));
        if !begins || !named::is_secret(name) {
            continue;
        }
        let value = after.trim_start_matches([' ', '\t', ',', '=', '"', '\'', '\\']);
        let lead = after.get(..after.len() - value.len()).unwrap_or_default();
        let value = value_of(lead, value);
        if !is_secret(lead, value) {
            continue;
        }
        for part in [name, lead, "***"] {
            out.push_str(part);
        }
        rest = after.get(lead.len() + value.len()..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn value_of<'t>(lead: &str, text: &'t str) -> &'t str {
    let quote = lead
        .chars()
        .next_back()
        .filter(|sign| "\"'".contains(*sign));
    let end = match quote {
        Some(quote) => text.find(quote),
        None => text.find(|letter: char| letter.is_whitespace() || "\"'`".contains(letter)),
    };
    let value = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    if quote.is_some() {
        value.trim_end_matches('\\')
    } else {
        value
    }
}

fn is_secret(lead: &str, value: &str) -> bool {
    let is_reference = value.starts_with("env:") || value.starts_with("file:");
    let is_other = value.starts_with(['-', '<', '*']) && !lead.contains('=');
    let parts = lead.contains(['=', ' ', '\t', ',']);
    parts && !value.is_empty() && !is_reference && !is_other && value != "***"
}
