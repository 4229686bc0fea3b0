//! Limits the texts of a request.

use ktx_diagnostics::{Code, Failure};
use ktx_semantic_layer::Query;

pub const LONGEST_TEXT: usize = 4 << 10;

/// In bytes, enough for two expressions at their own limit. Compile time grows with it.
pub const LONGEST_QUERY: usize = 64 << 10;

pub(crate) fn check_text(argument: &str, text: &str) -> Result<(), Failure> {
    check(argument, text.len(), LONGEST_TEXT)
}

pub(crate) fn check_query(query: &Query) -> Result<(), Failure> {
    let name = |name: &Option<String>| name.as_ref().map_or(0, String::len);
    let parts = [
        (
            "measures",
            total(&query.measures, |one| one.expr.len() + name(&one.name)),
        ),
        (
            "dimensions",
            total(&query.dimensions, |one| {
                one.field.len() + name(&one.granularity)
            }),
        ),
        ("filters", total(&query.filters, String::len)),
        ("segments", total(&query.segments, String::len)),
        ("order_by", total(&query.order_by, |one| one.field.len())),
    ];
    let all = parts.iter().map(|(_, bytes)| bytes).sum();
    let longest = parts.iter().max_by_key(|(_, bytes)| *bytes);
    match longest {
        Some((argument, bytes)) if *bytes > LONGEST_QUERY => check(argument, *bytes, LONGEST_QUERY),
        _ => check("query", all, LONGEST_QUERY),
    }
}

fn total<T>(parts: &[T], bytes: impl Fn(&T) -> usize) -> usize {
    parts.iter().map(bytes).sum()
}

fn check(argument: &str, bytes: usize, limit: usize) -> Result<(), Failure> {
    if bytes <= limit {
        return Ok(());
    }
    Err(Failure::new(
        Code::TextTooLong,
        format!("`{argument}` has {bytes} bytes; the limit is {limit} bytes"),
    ))
}
