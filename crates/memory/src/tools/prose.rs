//! Finds columns and measures that a text names, such as `orders.amount` in backticks.

use std::collections::BTreeSet;

use ktx_diagnostics::nearest;
use ktx_semantic_layer::{Catalog, Source};

const ENDINGS: [&str; 12] = [
    "csv", "json", "lkml", "lookml", "md", "parquet", "py", "sql", "txt", "view", "yaml", "yml",
];

/// Ignores names that the text contained before.
pub(super) fn unknown(catalog: &Catalog, before: Option<&str>, text: &str) -> Option<String> {
    let before: BTreeSet<(&str, &str)> = before.into_iter().flat_map(dotted_names).collect();
    dotted_names(text)
        .filter(|pair| !before.contains(pair))
        .find_map(|(source, part)| {
            let found = catalog.source(source)?;
            let parts = parts(found);
            if parts.iter().any(|known| known.eq_ignore_ascii_case(part)) {
                return None;
            }
            let near = nearest(part, parts.iter().copied());
            let meant = near
                .first()
                .map(|name| format!("; there is `{source}.{name}`"));
            Some(format!(
                "the text names `{source}.{part}`, and `{source}` has no such column, measure or segment{}",
                meant.unwrap_or_default()
            ))
        })
}

fn parts(source: &Source) -> Vec<&str> {
    let columns = source.columns.iter().map(|column| column.name.as_str());
    let measures = source.measures.iter().map(|measure| measure.name.as_str());
    let segments = source.segments.iter().map(|segment| segment.name.as_str());
    columns.chain(measures).chain(segments).collect()
}

fn dotted_names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let quoted = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter_map(|name| {
        let (source, part) = name.split_once('.')?;
        let is_plain = |name: &str| {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            !name.is_empty() && name.chars().all(is_letter)
        };
        let is_file = ENDINGS.contains(&part.to_ascii_lowercase().as_str());
        (is_plain(source) && is_plain(part) && !is_file).then_some((source, part))
    })
}
