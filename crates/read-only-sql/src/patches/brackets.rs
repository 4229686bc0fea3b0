//! Undoes patches that wrapped a part of the text in a select.

use std::ops::Range;

use ktx_diagnostics::Code;
use ktx_sql::Dialect;

use super::text;
use crate::refusal::{Refusal, refuse};

pub(super) fn drop(printed: &str, dialect: Dialect, openings: &[&str]) -> Result<String, Refusal> {
    if !openings.iter().any(|opening| printed.contains(opening)) {
        return Ok(printed.to_owned());
    }
    let mut out = String::with_capacity(printed.len());
    let mut done = 0;
    for range in ranges_to_drop(&text::blank_quotes(printed, dialect)?, openings) {
        match printed.get(done..range.start) {
            Some(kept) => out.push_str(kept),
            None => return refuse(Code::Unprintable, "a clause of the query cannot be printed"),
        }
        done = range.end;
    }
    out.push_str(printed.get(done..).unwrap_or_default());
    Ok(out)
}

fn ranges_to_drop(blanked: &str, openings: &[&str]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut open: Vec<bool> = Vec::new();
    let mut skip_to = 0;
    for (at, letter) in blanked.char_indices() {
        if at < skip_to {
            continue;
        }
        let rest = blanked.get(at..).unwrap_or_default();
        if let Some(opening) = openings.iter().find(|opening| rest.starts_with(**opening)) {
            open.push(true);
            skip_to = at + opening.len();
            ranges.push(at..skip_to);
        } else if letter == '(' {
            open.push(false);
        } else if letter == ')' && open.pop() == Some(true) {
            ranges.push(at..at + 1);
        }
    }
    ranges
}
